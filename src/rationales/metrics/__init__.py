"""Metrics: functions that give one number per explanation; importing this package registers them all."""

from rationales.metrics.alignment import aorc, compactness, contiguity, fidelity
from rationales.metrics.alignment_plausibility import (
    alignment_f1,
    alignment_included,
    alignment_recall,
    largest_alignment_f1,
)
from rationales.metrics.base import Metric, metric, metrics
from rationales.metrics.erasure import perturbation_curve
from rationales.metrics.faithfulness import (
    comprehensiveness,
    decision_flip,
    log_odds,
    normalised_comprehensiveness,
    normalised_sufficiency,
    saturation,
    sufficiency,
)
from rationales.metrics.plausibility import (
    auprc,
    auroc,
    average_precision,
    iou_f1,
    token_f1,
    token_precision,
    token_recall,
)
from rationales.metrics.stability import jaccard, rank_correlation

__all__ = [
    "Metric",
    "alignment_f1",
    "alignment_included",
    "alignment_recall",
    "aorc",
    "auprc",
    "auroc",
    "average_precision",
    "compactness",
    "comprehensiveness",
    "contiguity",
    "decision_flip",
    "fidelity",
    "iou_f1",
    "jaccard",
    "largest_alignment_f1",
    "log_odds",
    "metric",
    "metrics",
    "normalised_comprehensiveness",
    "normalised_sufficiency",
    "perturbation_curve",
    "rank_correlation",
    "saturation",
    "sufficiency",
    "token_f1",
    "token_precision",
    "token_recall",
]
