"""A model that has not learnt the task: what explanations of the trained one are held against."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from rationales.errors import InputError, ModelError
from rationales.models.loading import check_shapes, load_tokenizer, loading
from rationales.models.protocols import Model
from rationales.models.transformers_classifier import TransformersClassifier

RANDOM_WEIGHTS = "random"
"""Instead of a pretrained encoder: every weight is drawn."""


def untrained(like: Model, encoder: str | Path, *, seed: int = 0) -> TransformersClassifier:
    """A model of the same architecture, labels and device that never saw the task.

    `encoder` is the directory or hub name of the pretrained model that training began from: it is taken as it is, with
    its own tokenizer, and all layers on top of it are drawn anew (the untrained model of Zafar et al., 2021). With
    "random" every weight is, and the tokenizer is that of the model. The same seed draws the same weights.
    """
    if not isinstance(like, TransformersClassifier):
        raise InputError(
            f"an untrained model can be made only of a classifier of Transformers, and {like.name} is a "
            f"{type(like).__name__}; pass one of your own as `untrained` in Python"
        )
    with torch.random.fork_rng(), loading(encoder if encoder != RANDOM_WEIGHTS else like.name, "untrained model"):
        torch.manual_seed(seed)
        network: PreTrainedModel = AutoModelForSequenceClassification.from_config(deepcopy(like.model.config))
        tokenizer = like.tokenizer
        if encoder != RANDOM_WEIGHTS:
            tokenizer = _take_encoder(network, like, encoder)
    network.to(device=like.device, dtype=like.model.dtype).eval()  # type: ignore[call-overload]
    return TransformersClassifier(
        network,
        tokenizer,
        name=f"untrained {encoder}",
        max_length=like.max_length,
        truncation=like.truncation,
        padding=like.padding,
        budget=like.budget,
    )
