"""Classifiers of two texts by co-attention: Decomposable Attention and ESIM."""

from rationales.models.pairs.pair_classifier import Architecture, Kind, PairClassifier

__all__ = ["Architecture", "Kind", "PairClassifier"]
