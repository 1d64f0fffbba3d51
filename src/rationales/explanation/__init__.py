"""What an explanation is, how to look at it, and how to keep it. Free of torch."""

from rationales.explanation.eraser import from_eraser
from rationales.explanation.files import ExplanationWriter
from rationales.explanation.foreign import from_captum, from_shap
from rationales.explanation.inseq import from_inseq
from rationales.explanation.sequence import Explanations, read_jsonl, write_jsonl
from rationales.explanation.types import (
    Alignment,
    Body,
    Explanation,
    Provenance,
    Scores,
    Selection,
    Sentence,
    Target,
    Token,
)

__all__ = [
    "Alignment",
    "Body",
    "Explanation",
    "ExplanationWriter",
    "Explanations",
    "Provenance",
    "Scores",
    "Selection",
    "Sentence",
    "Target",
    "Token",
    "from_captum",
    "from_eraser",
    "from_inseq",
    "from_shap",
    "read_jsonl",
    "write_jsonl",
]
