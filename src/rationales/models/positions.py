"""How many tokens an encoder can read, and where its positions start."""

from __future__ import annotations

from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rationales.errors import InputError

UNBOUNDED = 100_000
"""Tokenizers that know no limit say 10^30; anything above this counts as none."""


def position_offset(model: PreTrainedModel) -> int:
    """Where positions start: 0, or padding_idx + 1 in the RoBERTa family, whose position table tells it."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return 0 if module.padding_idx is None else module.padding_idx + 1
    return 0


FIELD = "trained_max_length"
"""Where a model's configuration says at how many tokens its training texts were cut, if that was chosen."""


def checked_length(wanted: int | None, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str) -> int:
    """The tokens at which texts are cut: as many as wanted, if the model can read so many.

    Else as many as it read in training, or all it can.
    """
    possible = getattr(model.config, "max_position_embeddings", None) or UNBOUNDED
    possible = possible - position_offset(model) if possible > 0 else UNBOUNDED
    if tokenizer.model_max_length < UNBOUNDED:
        possible = min(possible, tokenizer.model_max_length)
    if wanted is not None and not 0 < wanted <= possible:
        raise InputError(f"max_length must lie in 1 … {possible} for {name}, got {wanted}")
    return wanted or min(getattr(model.config, FIELD, None) or possible, possible)
