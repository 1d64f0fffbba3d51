"""DiffMask for two texts: train gates that say in one pass which links between words suffice for a model's answer.

    from rationales.train.diffmask import Config, train

    train(Config(out=Path("gates")), train_data, dev_data, model="my-classifier")
    DiffMask(gates="gates")(model, batch)

The gates give log α of a HardConcrete mask on the attention between the texts, as AREC looks for it, but from the two
words' vectors, log α = FFN([p; h; p - h; p ⊙ h]), by one network for all pairs. It learns on a training set what AREC
minimises for each pair, E‖M(x) - M^z(x)‖₂ + λ (Σ P(z ≠ 0) + Σ P(three of a 2 × 2 window ≠ 0)), where λ is `weight`
times the share of a pair's samples that keep the answer; the model is frozen, and labels play no part. De Cao et al.
(2020), "How do Decisions Emerge across Layers in Neural Models?", for links as in appendix C of Jiang et al. (2021).

Epochs are compared by what a user would get: minus the mean of ‖M(x) - M^k(x)‖₂ + `weight` (kept links + windows of
which just three are kept), where the mask k is 1 on the kept links and 0 elsewhere. In it λ is not lowered where the
answer is lost, which would be a reward for losing it.
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from rationales.data.example import Example
from rationales.errors import DataError, InputError, ModelError, QualityWarning
from rationales.explainers.alignment import cells, kept_checks
from rationales.explainers.arec import alignment_loss, compactness_loss, contiguity_loss
from rationales.explainers.diffmask import Design, EmbeddedCoAttentive, Gates
from rationales.explainers.hard_concrete import drawn, likelier
from rationales.models import Batch, demand, load, predict
from rationales.registry import option
from rationales.train.encoding import encoded_parts
from rationales.train.labels import Part
from rationales.train.loop import Settings, fit, gathered, session

log = logging.getLogger(__name__)

SCORE = "minus loss"
_MEASURED = 256
"""Pairs whose word vectors are measured."""
_ASKED = 4
"""Pairs by whose answers a model is known."""
NOTHING, EVERYTHING = 0.0005, 0.95
"""Shares of kept links beyond which the gates tell nothing."""


@dataclass(frozen=True)
class Config(Settings):
    """Train gates that give the links between two texts that suffice for a model's answer (DiffMask)."""

    out: Path = option(Path("gates"), "Directory for the gates; a run that was stopped goes on from there.")
    learning_rate: float = option(3e-4, "Highest learning rate, reached after the warm-up.")
    hidden: int = option(200, "Units of the hidden layer.")
    samples: int = option(4, "Masks that are drawn for each pair in each step.")
    weight: float = option(0.15, "Weight of compactness and contiguity; lower it if nothing is kept.")
    start: float = option(0.5, "log α in the beginning; from 1.5 on, everything tends to stay.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("hidden", "samples"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.weight < float("inf"):
            raise InputError(f"weight must be a number from 0 up, got {self.weight}")


def train(
    config: Config,
    train_data: Iterable[Example],
    dev_data: Iterable[Example],
    *,
    model: Any,
    tokenizer: Any = None,
    tell: Callable[[str], None] = log.info,
) -> Path:
    """Train gates for a model (whatever `rationales.explain` takes), and return their directory.

    `tell` hears how well the kept links of the dev pairs do in the end.
    """
    with session(config) as accelerator:
        explained = load(model, tokenizer)
        demand(explained, EmbeddedCoAttentive, "diffmask")
        assert isinstance(explained, EmbeddedCoAttentive)
        pairs, dev_pairs = _checked(train_data, "training"), _checked(dev_data, "dev")
        facts = {"model": explained.name, "labels": explained.labels, "answers": _answers(explained, pairs)}
        run = config.run("diffmask", {**facts, **_facts(pairs, dev_pairs)})
        if run.finished():
            return run.out
        with explained.borrowed():
            table = Pairs.of(explained, pairs, "training", warn=accelerator.is_main_process)
            dev = Pairs.of(explained, dev_pairs, "dev", warn=accelerator.is_main_process)
            gates = new_gates(config, table).to(table.batch([0]).ids.device)

            def evaluate() -> float:
                return -Outcome.of(accelerator, gates, dev, config).loss

            fit(
                config,
                run,
                accelerator,
                Objective(gates, table, config),
                table.lengths,
                evaluate=evaluate,
                save=gates.save_pretrained,
                score=SCORE,
            )
            best = Gates.from_pretrained(run.out).to(gates.scale.device)
            outcome = Outcome.of(accelerator, best, dev, config)
        if accelerator.is_main_process:
            tell(str(outcome))
            outcome.warn()
    return run.out


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of texts that have words on both sides, their lengths, and the model that reads them."""

    model: EmbeddedCoAttentive
    examples: Sequence[Example]
    lengths: Sequence[int]

    @classmethod
    def of(cls, model: EmbeddedCoAttentive, examples: Sequence[Example], what: str, *, warn: bool) -> Pairs:
        """Says how many pairs have no link and are left out, and how many had to be cut."""
        chosen: list[Example] = []
        lengths: list[int] = []
        part = Part(list(examples), torch.zeros(len(examples)))  # nothing is to be predicted
        for batch in encoded_parts(model, part, what, warn=warn):
            linked = cells(batch).flatten(1).any(1).tolist()
            for source, length, has_links in zip(batch.sources, batch.lengths.tolist(), linked, strict=True):
                if has_links:
                    chosen.append(source.example)
                    lengths.append(length)
        if not chosen:
            raise DataError(f"none of the {len(examples)} {what} pairs has words in both texts")
        if warn and len(chosen) < len(examples):
            left_out = len(examples) - len(chosen)
            warnings.warn(
                f"{left_out} of {len(examples)} {what} pairs have a text without words and are left out", stacklevel=3
            )
        return cls(model, chosen, lengths)

    def batch(self, rows: Sequence[int]) -> Batch:
        return self.model.encode([self.examples[row] for row in rows], warn=False)


def new_gates(config: Config, table: Pairs) -> Gates:
    """Gates before training, for the vectors of the model."""
    batch = table.batch(range(min(_MEASURED, len(table.examples))))
    vectors = table.model.embed(batch)[batch.content].detach()
    design = Design(vectors.shape[-1], config.hidden, table.model.name, table.model.labels)
    params = {name: value for name, value in vars(config).items() if name not in ("out", "overwrite")}
    gates = Gates(design, config.start, params)
    gates.scale.copy_(vectors.square().mean().sqrt().clamp(min=torch.finfo(gates.scale.dtype).tiny))
    return gates


class Objective(nn.Module):
    """The mean loss of some pairs, each under its own masks."""

    def __init__(self, gates: Gates, table: Pairs, config: Config) -> None:
        super().__init__()
        self.gates, self.table, self.config = gates, table, config

    def forward(self, rows: list[int]) -> Tensor:
        batch = self.table.batch(rows)
        log_alpha = self.gates.of(self.table.model, batch)
        size, *sides = log_alpha.shape
        noise = torch.rand(size, self.config.samples, *sides, device=log_alpha.device)
        return losses(self.table.model, batch, log_alpha, noise, self.config.weight).mean()


def losses(model: EmbeddedCoAttentive, batch: Batch, log_alpha: Tensor, noise: Tensor, weight: float) -> Tensor:
    """Of each pair, [B]: how far its masks move the logits, and how many links they keep and how scattered.

    `noise` [B, n, P, H] are uniform numbers that make n masks of log α [B, P, H].
    """
    there = cells(batch)
    with torch.no_grad():
        logits = model.logits(batch)
    size, samples = noise.shape[:2]
    many = batch.take(torch.arange(size, device=noise.device).repeat_interleave(samples))
    masks = drawn(log_alpha.unsqueeze(1), noise)
    answers = model.logits(many, masks.flatten(0, 1)).view(size, samples, -1)
    return alignment_loss(answers, logits, log_alpha, there, weight)


@dataclass(frozen=True)
class Outcome:
    """What the kept links of dev pairs come to, on average; see the top of the file for the loss."""

    loss: float
    distance: float
    same: float
    share: float

    @classmethod
    def of(cls, accelerator: Accelerator, gates: Gates, dev: Pairs, config: Config) -> Outcome:
        def compute(rows: list[int]) -> Tensor:
            batch = dev.batch(rows)
            there = cells(batch)
            keep = likelier(gates.of(dev.model, batch)) & there
            figures = torch.stack(list(kept_checks(dev.model, batch, keep).values()), 1)
            gone = (~keep).to(figures)
            kept = compactness_loss(gone, there)
            loss = figures[:, 0] + config.weight * (kept + contiguity_loss(gone, there))
            return torch.cat([loss.unsqueeze(1), figures, (kept / there.sum((1, 2))).unsqueeze(1)], 1)

        found = gathered(accelerator, compute, dev.lengths, 4 * config.batch_size).double().mean(0)
        if not bool(found.isfinite().all()):
            raise ModelError(f"{dev.model.name} answers NaN or infinity to dev pairs; look at its weights")
        return cls(*found.tolist())

    def __str__(self) -> str:
        return (
            f"kept links of the dev pairs: {self.share:.1%} of all; alone they give the same answer to {self.same:.1%} "
            f"of the pairs and move the logits by {self.distance:.3f}"
        )

    def warn(self) -> None:
        """Say so if nothing was learned that could be shown."""
        if NOTHING < self.share < EVERYTHING:
            return
        what, change = ("no", "lower") if self.share <= NOTHING else ("nearly all", "higher")
        warnings.warn(
            f"the gates keep {what} links of the dev pairs; train longer (more epochs or a smaller batch_size), or "
            f"with a {change} weight",
            QualityWarning,
            stacklevel=3,
        )


def _checked(data: Iterable[Example], what: str) -> list[Example]:
    """All the examples, if they are pairs."""
    examples = list(data)
    if not examples:
        raise DataError(f"the {what} data are empty; give more data, or a dev set of its own (--dev)")
    single = next((example.id for example in examples if len(example.texts) != 2), None)
    if single is not None:
        raise DataError(
            f"diffmask links the words of two texts, and {what} example {single!r} is one; say which column holds the "
            "second (--pair-column)"
        )
    return examples


def _answers(model: EmbeddedCoAttentive, pairs: Sequence[Example]) -> str:
    """What tells a model from others of the same name: a checksum of its logits of a few pairs.

    They are rounded to a thousandth of the largest, since another device gives slightly others.
    """
    batch = model.encode(pairs[:_MEASURED], warn=False)
    rows = torch.nonzero(cells(batch).flatten(1).any(1)).flatten()[:_ASKED]
    if not len(rows):
        return ""
    with model.borrowed(), torch.no_grad():
        logits = predict(model, batch.take(rows)).double().cpu()
    shares = (1000 * logits / logits.abs().max().clamp(min=torch.finfo(logits.dtype).tiny)).round() + 0.0  # no -0
    return hashlib.blake2b(repr(shares.tolist()).encode(), digest_size=8).hexdigest()


def _facts(pairs: Sequence[Example], dev: Sequence[Example]) -> Mapping[str, Any]:
    """What tells these data from others, as plain JSON: sizes and a checksum of the texts."""
    checksum = hashlib.blake2b(digest_size=8)
    for example in (*pairs, *dev):
        checksum.update(repr(example.texts).encode())
    return {"data": {"train": len(pairs), "dev": len(dev), "checksum": checksum.hexdigest()}}
