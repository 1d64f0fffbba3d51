"""DiffMask for two texts: a small network that was trained once says in one pass which links suffice for an answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import linear

from rationales.errors import InputError, ModelError
from rationales.explainers.alignment import Aligner, cells, kept_checks, widened
from rationales.explainers.base import Links, aligners, warn
from rationales.explainers.hard_concrete import likelier
from rationales.models import Batch, CoAttentive, Model, over_rows
from rationales.models.loading import GATES, loading
from rationales.models.own_model import WEIGHTS, write_model
from rationales.registry import option

_HOW = "rationales train diffmask --model {} --data PAIRS --out GATES"


@runtime_checkable
class EmbeddedCoAttentive(CoAttentive, Protocol):
    """A model that links the tokens of two texts by attention, and has word vectors."""

    def embed(self, batch: Batch) -> Tensor:
        """Word vectors without their context, [B, T, d]."""
        ...


@dataclass(frozen=True)
class Design:
    """What saved gates keep in their config: their sizes, and the name and the labels of the model they belong to."""

    vector_size: int
    hidden: int
    model: str
    labels: tuple[str, ...]


class Gates(nn.Module):
    """log α of the link between two words, from their vectors: one hidden layer on [p; h; p - h; p ⊙ h].

    In the beginning log α is about `start`. `params` say how the gates were trained. Vectors are divided by `scale`,
    the root of their mean square in the training data, so that what is learned does not depend on the model's units.
    """

    scale: Tensor

    def __init__(self, design: Design, start: float = 0.5, params: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.design, self.params = design, dict(params or {})
        self.inner = nn.Linear(4 * design.vector_size, design.hidden)
        self.outer = nn.Linear(design.hidden, 1)
        nn.init.constant_(self.outer.bias, start)
        self.register_buffer("scale", torch.ones(()))

    @classmethod
    def from_pretrained(cls, source: str | Path) -> Gates:
        """From a directory that `save_pretrained` wrote."""
        path = Path(source)
        if not path.is_dir():
            raise InputError(f"there is no directory {source} with gates; train some: {_HOW.format('MODEL')}")
        with loading(source, "gate network"):
            config = json.loads((path / "config.json").read_text(encoding="utf-8"))
            if config.get("model_type") != GATES:
                raise ModelError(
                    f"{source} holds a {config.get('model_type')} and no gates; train some for it: "
                    f"{_HOW.format(source)}"
                )
            try:
                given = config["design"]
                design, params = Design(**{**given, "labels": tuple(given["labels"])}), dict(config["params"])
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"its config.json is damaged: {error!r}") from error
            gates, weights = cls(design, params=params), load_file(path / WEIGHTS)
            wanted = {name: tensor.shape for name, tensor in gates.state_dict().items()}
            if wanted != {name: tensor.shape for name, tensor in weights.items()}:
                raise ValueError("its config and its weights do not go together")
            gates.load_state_dict(weights)
        return gates.eval()

    def save_pretrained(self, directory: str | Path) -> None:
        """Config and weights."""
        write_model(directory, GATES, {"params": self.params, "design": asdict(self.design)}, self.state_dict())

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """log α, [B, P, H], from the vectors of both texts, [B, P, d] and [B, H, d]."""
        of_first, of_second, of_difference, of_product = self.inner.weight.chunk(4, 1)
        # the layer is linear, so the four parts need not be laid side by side for each link
        alone = linear(first, of_first + of_difference, self.inner.bias)
        other = linear(second, of_second - of_difference)
        both = linear(first.unsqueeze(2) * second.unsqueeze(1), of_product)
        log_alpha: Tensor = self.outer(torch.tanh(both + alone.unsqueeze(2) + other.unsqueeze(1)))
        return log_alpha.squeeze(-1)

    def of(self, model: EmbeddedCoAttentive, batch: Batch) -> Tensor:
        """log α of the links between a batch's texts, [B, P, H]."""
        vectors = model.embed(batch).to(self.scale) / self.scale
        if vectors.shape[-1] != self.design.vector_size:
            raise InputError(
                f"these gates are for the word vectors of {self.design.model}, of {self.design.vector_size} numbers, "
                f"and those of {model.name} have {vectors.shape[-1]}; train some for it: {_HOW.format(model.name)}"
            )
        first, second = (batch.members(side).to(vectors) @ vectors for side in (0, 1))
        log_alpha: Tensor = self(first, second)
        return log_alpha.to(batch.ids.device, vectors.dtype)  # mixed precision ends here

    def check(self, model: Model) -> None:
        """Refuse a model with other labels than that they were trained on, and say so if only its name is another."""
        ours, theirs = Path(self.design.model), Path(model.name)
        if self.design.labels != tuple(model.labels):
            raise InputError(
                f"these gates were trained on {ours} ({', '.join(self.design.labels)}), and this model is {theirs} "
                f"({', '.join(model.labels)}); train some for it: {_HOW.format(theirs)}"
            )
        if ours.resolve() != theirs.resolve():
            warn(
                f"these gates were trained on {ours}, and this model is {theirs}; unless both are the same, train some "
                f"for it: {_HOW.format(theirs)}",
                UserWarning,
            )

    def checksum(self) -> str:
        """Of their weights: gates that were trained anew have another."""
        found = hashlib.blake2b(digest_size=12)
        for name, tensor in sorted(self.state_dict().items()):
            found.update(name.encode() + tensor.detach().cpu().numpy().tobytes())
        return found.hexdigest()


@aligners("diffmask")
@dataclass(frozen=True)
class DiffMask(Aligner):
    """The links that a network, trained once on many pairs, says suffice for the model's answer (two forward passes).

    log α = FFN([p; h; p - h; p ⊙ h]) on the vectors of two words without their context, trained on AREC's loss by
    `rationales train diffmask`. Weights are log α; a link is kept where log α > 0. Records the distance of the logits
    that the kept links give (`fidelity`) and whether they give the same answer. De Cao et al. (2020), for links as in
    Jiang et al. (2021).
    """

    needs: ClassVar[type] = EmbeddedCoAttentive
    explains_whole_answer: ClassVar[bool] = True

    gates: str = option("", "directory of gates that rationales train diffmask made for the model")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.gates:
            raise InputError(
                f"diffmask needs gates that were trained for the model: {_HOW.format('MODEL')}; then give gates=GATES"
            )
        object.__setattr__(self, "gates", str(self.gates))  # a path is as good
        _ = self._network  # read now, before time is spent on a model

    @cached_property
    def _network(self) -> Gates:
        return Gates.from_pretrained(self.gates)

    @property
    def fingerprint(self) -> str:
        """A directory may hold other gates the next time."""
        return self._network.checksum()

    def align(self, model: CoAttentive, batch: Batch, targets: Tensor) -> Links:  # noqa: ARG002
        assert isinstance(model, EmbeddedCoAttentive)
        self._network.check(model)
        gates = self._network.to(batch.ids.device)
        there = cells(batch)
        with torch.no_grad():
            log_alpha = over_rows(model, batch, lambda part, _: widened(gates.of(model, part), there.shape))
        keep = likelier(log_alpha) & there
        return Links(log_alpha, keep, kept_checks(model, batch, keep))
