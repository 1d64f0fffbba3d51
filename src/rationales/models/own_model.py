"""What models share that are not those of Transformers: their files, and what they do with tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from rationales import __version__
from rationales.errors import ModelError
from rationales.models.batch import Batch, Erasure, erase
from rationales.models.loading import share_files

WEIGHTS = "model.safetensors"
CONFIG = "config.json"


class OwnModel:
    """Classifies texts that its own tokenizer reads; padding is its padding token, or the first there is."""

    regression = False
    tokenizer: PreTrainedTokenizerBase

    @property
    def _pad_id(self) -> int:
        return int(self.tokenizer.pad_token_id or 0)

    def probabilities(self, logits: Tensor) -> Tensor:
        return logits.softmax(-1)

    def erase(self, batch: Batch, drop: Tensor, how: Erasure) -> Batch:
        return erase(batch, drop, how, mask_id=self.tokenizer.mask_token_id, pad_id=self._pad_id)


def write_model(
    directory: str | Path,
    kind: str,
    config: Mapping[str, Any],
    state: Mapping[str, Tensor],
    tokenizer: PreTrainedTokenizerBase | None = None,
) -> None:
    """Weights, a config that says of which `kind` they are, and the tokenizer where there is one."""
    path = Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}
    save_file(tensors, path / WEIGHTS, metadata={"format": "pt"})
    content = {"model_type": kind, **config, "version": __version__}
    (path / CONFIG).write_text(json.dumps(content, indent=1, default=_plain) + "\n", encoding="utf-8")
    if tokenizer is not None:
        tokenizer.save_pretrained(str(path))
    share_files(path)


def _plain(value: Any) -> Any:
    """What JSON does not know: sets as lists, paths and the like as text."""
    return list(value) if isinstance(value, Set) else str(value)


def read_config(source: str | Path, kind: str) -> dict[str, Any]:
    """The config that `write_model` wrote of that kind."""
    config: dict[str, Any] = json.loads((Path(source) / CONFIG).read_text(encoding="utf-8"))
    if config.get("model_type") != kind:
        raise ModelError(f"{source} holds a {config.get('model_type')} and not a {kind}")
    return config
