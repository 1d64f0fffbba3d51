"""`python -m rationales`, the same as the command `rationales`."""

from rationales.cli import main

if __name__ == "__main__":
    main()
