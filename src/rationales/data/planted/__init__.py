"""English texts with planted evidence: which words decide each label is known, because we put them there.

`reviews` are restaurant reviews in which one aspect alone decides the label; `pairs` are premises and hypotheses
with their word alignment and a reason in words. Both are written by rule from a seed, so any number of examples is
at hand at once, without a file or a network, and an explanation of a model trained on them can be held against
the truth.
"""

from rationales.data.planted.compose import Planted
from rationales.data.planted.restaurant import ASPECTS, REVIEW_LABELS, reviews
from rationales.data.planted.scenes import PAIR_LABELS, pairs

__all__ = ["ASPECTS", "PAIR_LABELS", "REVIEW_LABELS", "Planted", "pairs", "reviews"]
