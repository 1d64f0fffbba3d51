"""Metrics: functions that give one number per explanation; importing this package registers them all."""

from rationales.metrics.base import Metric, metric, metrics
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
    "auprc",
    "auroc",
    "average_precision",
    "iou_f1",
    "jaccard",
    "metric",
    "metrics",
    "rank_correlation",
    "token_f1",
    "token_precision",
    "token_recall",
]
