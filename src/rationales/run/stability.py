"""How alike are models explained that differ only in their seed, and a model and one that was never trained?

The Different-Initialisation and the Untrained-Model Test of Zafar et al. (2021): the Jaccard similarity of the best
tokens of each text by one method on two models. Models that do the same for the same reasons should be explained alike.
An explanation that looks the same on a model that has learnt nothing does not show what was learnt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from rationales.comparison.types import Likeness, Overlap, Pair, Stability
from rationales.explanation import Explanation, Scores, Selection
from rationales.explanation.types import BoolArray, FloatArray
from rationales.explanation.views import token_scores, words
from rationales.metrics.aggregate import aggregate
from rationales.metrics.stability import chance_overlap, selected
from rationales.run.ranking import listed

Unit = Literal["tokens", "words"]

DIFFER = 0.1
"""Advice says so if models explain different labels for more than this share of the texts."""


def shared_unit(texts: Iterable[Sequence[Explanation]]) -> Unit:
    """Tokens, if all models cut all texts alike; else words. `texts` gives each text's explanations, one per model."""
    alike = all(other.tokens == first.tokens for first, *others in texts for other in others)
    return "tokens" if alike else "words"


def likeness(
    method: str,
    models: Sequence[str],
    untrained: str,
    texts: Iterable[Sequence[Explanation]],
    *,
    share: float,
    unit: Unit,
    seed: int = 0,
) -> Likeness:
    """How alike a method explains the models; `texts` gives each text's explanations, one per model."""
    pairs = list(combinations(range(len(models)), 2))
    columns = tuple(np.array(pairs, dtype=np.intp).reshape(-1, 2).T)
    found = [_compared(explanations, columns, share, unit) for explanations in texts]
    values, chance, same = (
        np.array(part, dtype=np.float64).reshape(-1, len(pairs)) for part in zip(*found, strict=True)
    )
    with_untrained = np.array([untrained in (models[i], models[j]) for i, j in pairs], dtype=np.bool_)

    def overlap(some: BoolArray) -> Overlap | None:
        if not some.any():
            return None
        means = [_means(part[:, some], values[:, some]) for part in (values, chance, same)]
        return _overlap(means[0], means[1], means[2], seed)

    gap = aggregate(_means(values[:, ~with_untrained]) - _means(values[:, with_untrained]), seed=seed)
    return Likeness(
        method,
        tuple(
            Pair(models[i], models[j], _overlap(values[:, column], chance[:, column], same[:, column], seed))
            for column, (i, j) in enumerate(pairs)
        ),
        overlap(~with_untrained),
        overlap(with_untrained),
        (gap.low, gap.high),
    )


def _compared(
    explanations: Sequence[Explanation], columns: tuple[np.ndarray, ...], share: float, unit: Unit
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Of one text and each pair of models: the Jaccard similarity, that of chance, whether the label is the same.

    NaN where a score is, and for explanations without best tokens, such as sentences.
    """
    ours, theirs = columns
    labels = np.array([explanation.target.label for explanation in explanations])
    same: BoolArray = labels[ours] == labels[theirs]
    if not all(isinstance(explanation.body, Scores | Selection) for explanation in explanations):
        return np.full(len(ours), np.nan), np.full(len(ours), np.nan), same
    if unit == "words":
        explanations = [words(explanation) for explanation in explanations]
    content = explanations[0].content
    kept = np.stack([selected(explanation, share)[content] for explanation in explanations]).astype(np.float64)
    unknown = np.array([np.isnan(token_scores(explanation)[content]).any() for explanation in explanations])
    sizes = kept.sum(1)
    shared = (kept @ kept.T)[ours, theirs]
    with np.errstate(invalid="ignore"):
        values = shared / (sizes[ours] + sizes[theirs] - shared)
    values[unknown[ours] | unknown[theirs]] = np.nan
    total = int(content.sum())
    chance = [chance_overlap(total, int(sizes[i]), int(sizes[j])) for i, j in zip(ours, theirs, strict=True)]
    return values, np.array(chance), same


def _means(part: FloatArray, where: FloatArray | None = None) -> FloatArray:
    """The mean of each row over the columns that are defined there, [N]; NaN where none is."""
    defined = ~np.isnan(part if where is None else where)
    with np.errstate(invalid="ignore"):
        found: FloatArray = np.where(defined, part, 0.0).sum(1) / defined.sum(1)
    return found


def _overlap(values: FloatArray, chance: FloatArray, same: FloatArray, seed: int) -> Overlap:
    own, gain, defined = aggregate(values, seed=seed), aggregate(values - chance, seed=seed), ~np.isnan(values)
    return Overlap(
        own.mean,
        own.low,
        own.high,
        own.count,
        own.undefined,
        (gain.low, gain.high),
        float(chance[defined].mean()) if own.count else np.nan,
        float(same[defined].mean()) if own.count else np.nan,
    )


def stability_of(
    methods: Iterable[Likeness], *, share: float, unit: Unit, models: Sequence[str], untrained: str
) -> Stability:
    """All methods, the one that explains trained models most alike first, with what to take from it."""
    ordered = sorted(methods, key=_order)
    advice = _advice(ordered, share, unit, trained=len(models) - bool(untrained))
    return Stability(share, unit, tuple(models), untrained, tuple(ordered), advice)


def _order(item: Likeness) -> tuple[bool, float]:
    """The most alike between trained models first; with one trained model, the least like the untrained."""
    mean = -item.trained.mean if item.trained else item.untrained.mean if item.untrained else np.nan
    return bool(np.isnan(mean)), mean


def _advice(methods: Sequence[Likeness], share: float, unit: Unit, *, trained: int) -> str:
    """In plain words; says so where a method fails a test."""
    between = [item for item in methods if item.trained is not None and item.trained.count]
    apart = [item for item in methods if item.untrained is not None and item.untrained.count]
    if not between and not apart:
        return "No method explained two of the models, so nothing can be said of stability."
    sentences = []
    if unit == "words":
        sentences.append("The models cut texts into different tokens, so whole words are compared.")
    if between:
        sentences += _between(between, share, unit, trained)
    if apart:
        sentences += _apart(apart)
    return " ".join(sentences + _labels(methods))


def _between(methods: Sequence[Likeness], share: float, unit: Unit, trained: int) -> list[str]:
    first = methods[0].trained
    assert first is not None
    sentences = [
        f"Between the {trained} trained models, `{methods[0].method}` is the most alike: the best {100 * share:g} % of "
        f"the {unit} overlap by {first.mean:.2f} (95 % interval {first.low:.2f} to {first.high:.2f}); "
        f"chance gives {first.chance:.2f}."
    ]
    if lost := [item.method for item in methods if item.trained and not item.trained.beats_random]:
        sentences.append(f"No more alike than chance: {listed(lost)}.")
    return sentences


def _apart(methods: Sequence[Likeness]) -> list[str]:
    """What the untrained model says of the methods: those that look the same there, and those that look alike."""
    sentences = []
    both = [item for item in methods if item.trained is not None]
    blind = [item.method for item in both if not item.tells_training]
    if blind:
        sentences.append(
            f"Not clearly less alike beside the untrained model: {listed(blind)}. What these show need not come from "
            "training."
        )
    elif both:
        sentences.append("Beside the untrained model every method is clearly less alike, as it should be.")
    beyond = [item for item in methods if item.untrained and item.untrained.beats_random and item.method not in blind]
    beyond.sort(key=lambda item: -item.untrained.mean if item.untrained else 0.0)
    if beyond:
        named = ", ".join(f"`{item.method}` ({item.untrained.mean:.2f})" for item in beyond if item.untrained)
        sentences.append(
            f"More like the untrained model than chance: {named}. Part of what these show does not come from training."
        )
    elif not both:
        sentences.append("No method is more like the untrained model than chance, as it should be.")
    return sentences


def _labels(methods: Sequence[Likeness]) -> list[str]:
    """A sentence if models explain different labels, since then unlike explanations may both be right."""
    sentences = []
    for who, overlaps in (
        ("the trained models", [item.trained for item in methods]),
        ("a trained and the untrained model", [item.untrained for item in methods]),
    ):
        apart = [1 - overlap.same_label for overlap in overlaps if overlap is not None and overlap.count]
        if apart and max(apart) > DIFFER:
            sentences.append(
                f"For {100 * max(apart):.0f} % of the texts {who} explain different labels; "
                "a fixed target (--target) leaves that out."
            )
    return sentences
