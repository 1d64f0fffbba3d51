"""A model that has not learnt the task: what explanations of the trained one are held against."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import TypeAlias

import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from rationales.errors import InputError, ModelError
from rationales.models.embedded import embedded_encoder
from rationales.models.loading import check_shapes, load_tokenizer, loading
from rationales.models.protocols import Model
from rationales.models.transformers_classifier import TransformersClassifier

RANDOM_WEIGHTS = "random"
"""Instead of a pretrained encoder: every weight is drawn."""


def untrained(like: Model, encoder: str | Path, *, seed: int = 0) -> TransformersClassifier:
    """A model of the same architecture, labels and device that never saw the task.

    `encoder` is the directory or hub name of the pretrained model that training began from, or empty for the embedded
    one: it is taken as it is, with its own tokenizer, and all layers on top of it are drawn anew (the untrained model
    of Zafar et al., 2021). With "random" every weight is, and the tokenizer is that of the model. The same seed draws
    the same weights.
    """
    if not isinstance(like, TransformersClassifier):
        raise InputError(
            f"an untrained model can be made only of a classifier of Transformers, and {like.name} is a "
            f"{type(like).__name__}; pass one of your own as `untrained` in Python"
        )
    encoder = encoder or embedded_encoder()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network, tokenizer = _drawn(like) if encoder == RANDOM_WEIGHTS else _on_top(encoder, like)
    torch.nn.Module.to(network, like.device, like.model.dtype).eval()
    return TransformersClassifier(
        network,
        tokenizer,
        name=f"untrained {encoder}",
        max_length=like.max_length,
        truncation=like.truncation,
        padding=like.padding,
        budget=like.budget,
    )


Parts: TypeAlias = tuple[PreTrainedModel, PreTrainedTokenizerBase]


def _drawn(like: TransformersClassifier) -> Parts:
    return type(like.model)(deepcopy(like.model.config)), like.tokenizer


def _on_top(encoder: str | Path, like: TransformersClassifier) -> Parts:
    """The encoder with new layers on top, also where it has some, as a classifier of other things does."""
    config = like.model.config
    with loading(encoder, "pretrained model"):
        pretrained, report = AutoModelForSequenceClassification.from_pretrained(
            encoder,
            num_labels=config.num_labels,
            id2label=config.id2label,
            label2id=config.label2id,
            problem_type=config.problem_type,
            ignore_mismatched_sizes=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
        check_shapes(report, f"{pretrained.base_model_prefix}.")
        tokenizer = load_tokenizer(encoder)
    if pretrained.config.model_type != config.model_type:
        raise ModelError(
            f"{encoder} is of type {pretrained.config.model_type}, and {like.name} of type {config.model_type}; give "
            "the pretrained model that training began from"
        )
    network = type(pretrained)(deepcopy(pretrained.config))
    network.base_model.load_state_dict(pretrained.base_model.state_dict())
    return network, tokenizer
