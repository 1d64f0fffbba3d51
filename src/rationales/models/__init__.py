"""Models: what they can do, the Transformers adapter, the attention tap, the packer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from rationales.errors import InputError
from rationales.models.batch import Batch, Encoded, Erasure
from rationales.models.embedded import embedded_encoder
from rationales.models.loading import GATES, OWN_KINDS, PAIR_CLASSIFIER, checked_device, kind_of
from rationales.models.packer import erased_logits, over, over_rows, packed, rounds
from rationales.models.pairs import PairClassifier
from rationales.models.protocols import Attentive, CoAttentive, Differentiable, Model, SelfExplaining, demand
from rationales.models.rationalizer import Rationalizer
from rationales.models.tap import Tap
from rationales.models.targets import Output, chosen, pick, predict, predicted, resolve_targets
from rationales.models.transformers_classifier import TransformersClassifier

__all__ = [
    "Attentive",
    "Batch",
    "CoAttentive",
    "Differentiable",
    "Encoded",
    "Erasure",
    "Model",
    "Output",
    "PairClassifier",
    "Rationalizer",
    "SelfExplaining",
    "Tap",
    "TransformersClassifier",
    "chosen",
    "demand",
    "embedded_encoder",
    "erased_logits",
    "load",
    "over",
    "over_rows",
    "packed",
    "pick",
    "predict",
    "predicted",
    "resolve_targets",
    "rounds",
]


def load(
    source: Any, tokenizer: Any = None, *, device: str | torch.device | None = None, max_length: int | None = None
) -> Model:
    """A `Model` from whatever the user has.

    `source` is a `Model` already, a directory or a hub name (with its own tokenizer, unless `tokenizer` is given), a
    Transformers model (then `tokenizer` too), or a Transformers pipeline. Directories hold classifiers of Transformers,
    rationalizers, or classifiers of pairs by co-attention; their configs tell.
    """
    if isinstance(source, Model):
        return source
    kind = kind_of(source) if isinstance(source, (str, Path)) else None
    if kind == GATES:
        raise InputError(f"{source} holds gates of diffmask and no model; give the model, and --gates {source}")
    if kind in OWN_KINDS:
        if tokenizer is not None:
            raise InputError(f"{source} holds a {kind}, which keeps its own tokenizer; leave out the other")
        own = PairClassifier if kind == PAIR_CLASSIFIER else Rationalizer
        return own.from_pretrained(source, device=device, max_length=max_length)
    if isinstance(source, (str, Path)):
        return TransformersClassifier.from_pretrained(source, device=device, max_length=max_length, tokenizer=tokenizer)
    if tokenizer is None and hasattr(source, "model") and hasattr(source, "tokenizer"):
        source, tokenizer = source.model, source.tokenizer
    if isinstance(source, PreTrainedModel):
        if tokenizer is None:
            raise InputError("a live model needs its tokenizer: load(model, tokenizer)")
        if device is not None:
            torch.nn.Module.to(source, checked_device(device))
        return TransformersClassifier(source, tokenizer, max_length=max_length)
    raise InputError(
        f"a model is a directory, a hub name, a Transformers model with its tokenizer, or a pipeline; got {source!r}"
    )
