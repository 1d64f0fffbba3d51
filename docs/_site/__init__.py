"""What the docs site needs beyond Sphinx."""
