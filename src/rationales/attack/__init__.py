"""Harmless edits (contractions, names, places, numbers) that turn a classifier's right answers into wrong ones.

The edits are those of behavioural tests: Ribeiro et al. (2020), Beyond Accuracy: Behavioral Testing of NLP Models with
CheckList.
"""

from rationales.attack.attacking import attack
from rationales.attack.edits import KINDS, Change, Edit, applied, candidates
from rationales.attack.results import Attacked, Figures, Paired
from rationales.attack.search import Outcome, Search

__all__ = [
    "KINDS",
    "Attacked",
    "Change",
    "Edit",
    "Figures",
    "Outcome",
    "Paired",
    "Search",
    "applied",
    "attack",
    "candidates",
]
