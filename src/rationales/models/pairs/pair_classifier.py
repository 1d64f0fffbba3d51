"""A classifier of two texts that compares their words by co-attention, as a `Model`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.models.batch import Batch
from rationales.models.borrow import borrowed
from rationales.models.guiding import Guide, guided_batch
from rationales.models.loading import PAIR_CLASSIFIER, checked_device, load_tokenizer, loading
from rationales.models.own_model import WEIGHTS, OwnModel, read_config, write_model
from rationales.models.pairs.networks import DecomposableAttention, Esim, PairNetwork, Side
from rationales.models.tokenising import Tokenising, encoded

Kind: TypeAlias = Literal["da", "esim"]
KINDS: Mapping[Kind, type[DecomposableAttention | Esim]] = {"da": DecomposableAttention, "esim": Esim}


@dataclass(frozen=True)
class Architecture:
    """All that is needed to build the network anew: what a saved model keeps in its config."""

    kind: Kind
    labels: tuple[str, ...]
    words: int
    vector_size: int = 100
    hidden: int = 200
    dropout: float = 0.2
    max_length: int = 256

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"kind must be one of {', '.join(get_args(Kind))}; got {self.kind!r}")

    def network(self) -> Network:
        """With new weights."""
        reader = KINDS[self.kind](self.vector_size, len(self.labels), self.hidden, self.dropout)
        return Network(nn.Embedding(self.words, self.vector_size), reader)


class Network(nn.Module):
    """Word vectors and what reads them, as one module, whose state is what is saved."""

    def __init__(self, vectors: nn.Embedding, reader: PairNetwork) -> None:
        super().__init__()
        self.vectors, self.reader = vectors, reader


class PairClassifier(OwnModel):
    """Decomposable Attention or ESIM on words.

    `params` say how it was trained. Texts longer than `max_length` tokens, by default as in training, are cut at the
    end, the longer one first. A `guide` may be set, which says how far the words of two texts may be linked.
    """

    guide: Guide | None = None

    def __init__(
        self,
        network: Network,
        tokenizer: PreTrainedTokenizerBase,
        architecture: Architecture,
        *,
        name: str = PAIR_CLASSIFIER,
        params: Mapping[str, Any] | None = None,
        max_length: int | None = None,
        budget: int | None = None,
    ) -> None:
        self.network, self.tokenizer, self.architecture = network, tokenizer, architecture
        self.name, self.params = name, dict(params or {})
        self.labels = tuple(architecture.labels)
        self.max_length = architecture.max_length if max_length is None else max_length
        if self.max_length < 2:
            raise InputError(f"max_length must be at least 2, a token of each text; got {self.max_length}")
        self.budget = budget or (2048 if self.device.type == "cpu" else 65_536)
        self._tokenise = Tokenising(tokenizer, types=False)

    @property
    def device(self) -> torch.device:
        return self.network.vectors.weight.device

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        *,
        device: str | torch.device | None = None,
        max_length: int | None = None,
        budget: int | None = None,
    ) -> PairClassifier:
        """From a directory that `save_pretrained` wrote."""
        path = Path(source)
        with loading(source, PAIR_CLASSIFIER):
            config = read_config(path, PAIR_CLASSIFIER)
            try:
                given = config["architecture"]
                architecture = Architecture(**{**given, "labels": tuple(given["labels"])})
                params = dict(config["params"])
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"its config.json is damaged: {error!r}") from error
            network = architecture.network()
            missing, unexpected = network.load_state_dict(load_file(path / WEIGHTS), strict=False)
            if odd := [*unexpected, *missing]:
                raise ValueError(f"its weights are not those of its config: {odd[0]} and {len(odd) - 1} more")
            tokenizer = load_tokenizer(path)
        network.to(checked_device(device)).eval()
        return cls(
            network, tokenizer, architecture, name=str(source), params=params, max_length=max_length, budget=budget
        )

    def save_pretrained(self, directory: str | Path) -> None:
        """Config, weights and tokenizer."""
        config = {"params": self.params, "architecture": asdict(self.architecture)}
        write_model(directory, PAIR_CLASSIFIER, config, self.network.state_dict(), self.tokenizer)

    def encode(self, examples: Sequence[Example], *, warn: bool = True) -> Batch:
        single = next((example.id for example in examples if len(example.texts) != 2), None)
        if single is not None:
            raise InputError(f"{self.name} compares two texts, and {single!r} is one; give it pairs")
        batch = encoded(self._tokenise, examples, self.max_length, name=self.name, pad_id=self._pad_id, warn=warn)
        return guided_batch(batch, self.guide, self.network.vectors.weight.dtype).to(self.device)

    def borrowed(self) -> AbstractContextManager[None]:
        return borrowed(self.network)

    def embed(self, batch: Batch) -> Tensor:
        """Word vectors, [B, T, d]."""
        vectors: Tensor = self.network.vectors(batch.ids)
        return vectors if batch.zeroed is None else vectors * ~batch.zeroed.unsqueeze(-1)

    def logits(self, batch: Batch, alignment: Tensor | None = None) -> Tensor:
        if alignment is not None:
            batch = batch.aligned(alignment)
        return self.logits_from(self.embed(batch), batch)

    def logits_from(self, embeddings: Tensor, batch: Batch) -> Tensor:
        sizes = (None, None) if batch.alignment is None else batch.alignment.shape[1:]
        first, second = (_side(embeddings, batch, number, size) for number, size in enumerate(sizes))
        logits: Tensor = self.network.reader(first, second, batch.alignment)
        return logits

    def coattention(self, batch: Batch) -> Tensor:
        embeddings = self.embed(batch)
        return self.network.reader.coattention(*(_side(embeddings, batch, number) for number in (0, 1)))


def _side(embeddings: Tensor, batch: Batch, segment: int, size: int | None = None) -> Side:
    """One text of each pair, its words moved together, with room for at least one."""
    members = batch.members(segment, size)
    return Side(members.to(embeddings) @ embeddings, members.any(-1))
