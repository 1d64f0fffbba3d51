"""Guided alignments: tell a model which words of two texts it may link.

A guide is set on a model, `model.guide = RoleGuide()`, or for a while, `with guided(model, RoleGuide()): …`. All that
the model then encodes carries the guide's factors of attention, and so do predictions, explanations and metrics.
"""

from rationales.guidance.accuracy import Accuracy, accuracy
from rationales.guidance.guide import RoleGuide, guided, on_tokens, set_guide
from rationales.guidance.mask_files import Mask, MaskGuide
from rationales.guidance.masks import Outside, role_links
from rationales.guidance.roles import Frame, Labelled, Labeller
from rationales.guidance.spacy_labeller import SpacyLabeller
from rationales.models.guiding import Guide

__all__ = [
    "Accuracy",
    "Frame",
    "Guide",
    "Labelled",
    "Labeller",
    "Mask",
    "MaskGuide",
    "Outside",
    "RoleGuide",
    "SpacyLabeller",
    "accuracy",
    "guided",
    "on_tokens",
    "role_links",
    "set_guide",
]
