"""Looking into the game: how far the selector still explores, and how the predictor judges what was not selected.

These are the measures by which Liu et al. (2025) show that a predictor overfits to what its selector happens to choose:
how different two choices in a row are, what the predictor makes of the tokens that people marked, and how steep it is.
Each takes a model as it is now and texts that were encoded once; `diagnosis.py` follows whole runs with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rationales.errors import DataError
from rationales.models import Batch
from rationales.models.batch import Encoded
from rationales.models.packer import over_rows
from rationales.models.rationalizer import Rationalizer, gumbel_draw, likelier
from rationales.train.labels import Part


@dataclass(frozen=True, eq=False)
class Texts:
    """Encoded texts, their classes [N], and the tokens that people marked [N, T]: none where nobody was asked."""

    batch: Batch
    targets: Tensor
    marked: Tensor

    def __len__(self) -> int:
        return len(self.batch)


def texts_of(model: Rationalizer, part: Part) -> Texts:
    """All texts of a part."""
    batch = model.encode(part.examples, warn=False)
    marked = torch.zeros(batch.content.shape, dtype=torch.bool)
    for row, source in enumerate(batch.sources):
        for column, token in enumerate(source.tokens):
            spans = _spans(source, token.segment)
            marked[row, column] = any(token.start < end and start < token.end for start, end in spans)
    return Texts(replace(batch, sources=()), part.targets.to(model.device), marked.to(model.device))


def with_marks(part: Part) -> Part:
    """The examples of a part in which people marked something."""
    rows = [row for row, example in enumerate(part.examples) if any(example.rationale or ())]
    if not rows:
        raise DataError(
            f"in none of the {len(part.examples)} texts to measure on did people mark words; give data with rationales "
            "(--rationale-column), or further data that have them (--marked)"
        )
    return Part([part.examples[row] for row in rows], part.targets[rows])


def marked_texts(model: Rationalizer, part: Part) -> Texts:
    """The texts of a part in which people marked some of the tokens that the model reads."""
    texts = texts_of(model, with_marks(part))
    rows = texts.marked.any(-1).nonzero().flatten()
    if not len(rows):
        raise DataError(f"all that people marked lies behind the first {model.max_length} tokens; raise max_length")
    return Texts(texts.batch.take(rows), texts.targets[rows], texts.marked[rows])


def _spans(source: Encoded, segment: int) -> Sequence[tuple[int, int]]:
    """What people marked in a text; nothing in special tokens, which are no part of one."""
    rationale = source.example.rationale
    return () if rationale is None or segment < 0 else rationale[segment]


# What is selected


def selected(model: Rationalizer, texts: Texts, generator: torch.Generator | None = None) -> Tensor:
    """The tokens that the selector chooses, [N, T]: the likelier choice, or with a generator a random one (Gumbel)."""

    def compute(part: Batch, _rows: Tensor) -> Tensor:
        wanted = model.wanted(model.embed(part), part)
        if generator is None:
            return likelier(wanted, part.content)
        return gumbel_draw(wanted, part.content, generator=generator).hard

    with torch.no_grad(), model.borrowed():
        return over_rows(model, texts.batch, compute, tokens=True)


def non_overlap(one: Tensor, other: Tensor) -> float:
    """How much two choices [N, T] from the same texts differ: ‖m¹ - m²‖₁ / (‖m¹‖₁ + ‖m²‖₁), averaged over the texts.

    0: the same tokens, also where none is chosen; 1: no token in common. Of two random choices, before and after some
    updates, it says how far the selector still explores (figure 2a).
    """
    different, both = (one ^ other).sum(-1), one.sum(-1) + other.sum(-1)
    return float((different / both.clamp(min=1)).mean())


class Match(NamedTuple):
    """Chosen tokens against marked ones, all texts taken together."""

    sparsity: float
    precision: float
    recall: float
    f1: float


def match(texts: Texts, chosen: Tensor) -> Match:
    """How well a choice [N, T] agrees with what people marked; 0 where nothing is chosen."""
    content = texts.batch.content
    both, mine, theirs = (int(some.sum()) for some in (chosen & texts.marked, chosen, texts.marked))
    return Match(
        mine / max(int(content.sum()), 1), both / max(mine, 1), both / max(theirs, 1), 2 * both / max(mine + theirs, 1)
    )


# What the predictor makes of it


class Judged(NamedTuple):
    """Share of the texts that are classified rightly, and the median of their cross-entropies."""

    accuracy: float
    entropy: float


def judged(model: Rationalizer, texts: Texts, shown: Tensor) -> Judged:
    """What the predictor makes of the tokens `shown` [N, T], whoever chose them.

    Shown what people marked (`texts.marked`), a predictor that has overfitted to its selector is often wrong, though
    nothing says more of the class (figures 3 and 10). The median, since a few texts may have any cross-entropy.
    """

    def compute(part: Batch, rows: Tensor) -> Tensor:
        return model.predict(model.embed(part), part, part.trimmed(shown[rows]))

    with torch.no_grad(), model.borrowed():
        logits = over_rows(model, texts.batch, compute).float()
    entropies = cross_entropy(logits, texts.targets, reduction="none")
    right = (logits.argmax(-1) == texts.targets).float().mean()
    return Judged(float(right), float(entropies.quantile(0.5)))


def lipschitz(model: Rationalizer, texts: Texts, chosen: Tensor) -> float:
    """How steep the predictor is at its steepest: max over texts of ‖mean over chosen i of ∂p(y) / ∂(z_i x_i)‖₂.

    x_i is the word embedding of a token, z_i = 1 where it is `chosen` [N, T], and p(y) the probability of the right
    class; with two classes the other's slopes are the same. An estimate of the predictor's Lipschitz constant, which
    rises as it overfits (figure 4); texts of which nothing is chosen do not count. Liu et al. (2023), "Decoupled
    Rationalization with Asymmetric Learning Rates", appendix A.4.

    The authors' program takes absolute values of the slopes before it averages them over the tokens, divides by the
    batch size, since it derives a mean over the batch, and multiplies by 1,000: its curves can be compared with these
    by their shapes only.
    """

    def compute(part: Batch, rows: Tensor) -> Tensor:
        kept = part.trimmed(chosen[rows])
        embeddings = model.embed(part).detach().requires_grad_()
        with torch.enable_grad():
            likely = model.predict(embeddings, part, kept).float().softmax(-1)
            right = likely.gather(-1, texts.targets[rows].unsqueeze(-1)).sum()
        (slopes,) = torch.autograd.grad(right, embeddings)
        mean = (slopes * kept.unsqueeze(-1)).sum(1) / kept.sum(-1, keepdim=True).clamp(min=1)
        steepness: Tensor = torch.linalg.vector_norm(mean, dim=-1)
        return steepness

    with model.borrowed():
        return float(over_rows(model, texts.batch, compute).max())
