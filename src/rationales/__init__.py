"""Train, extract, measure and show explanations of neural text models."""

__version__ = "0.1.0"
