"""Planted pairs of which one link decides: do methods that link two texts find it?

Somebody does something to an animal in both texts, and only which animal decides: a poodle is a dog (entailment), an
animal need not be one (neutral), a parrot is none (contradiction). A classifier learns it, and its links are compared
with the planted one, word by word. One of the answers a model gives without any link at all; there nothing is needed,
so those pairs are counted apart. Scores keep links as in `arec-table1`: to the fidelity of AREC, plus 0.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rationales.data import Example, gold_alignment
from rationales.data.planted import PAIR_LABELS, Planted, pairs
from rationales.explainers import aligners
from rationales.explanation import Explanation
from rationales.metrics import metrics
from rationales.models import CoAttentive
from rationales.models import load as load_model
from rationales.models.loading import checked_device
from rationales.reproduce.arec_table1 import SCORING, explained
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.results import Row
from rationales.train import classifier

TRAINING, HELD_OUT, MEASURED = 1200, 200, 60
BAR = 0.8
METHODS = (*SCORING, "link_integrated_gradients", "link_random", "arec")
NEEDED, NOT_NEEDED = "links are needed", "no link is needed"


def planted(size: int, seed: int) -> Planted:
    """Pairs in which only the animal decides."""
    return pairs(size, seed=seed, deciding=("object",), scenes=1, details=0)


def deciding(pair: Example) -> Explanation | None:
    """The planted link that decides."""
    assert pair.rationale is not None
    first, second = pair.rationale
    links = tuple(link for link in pair.alignment or () if link[0] in first and link[1] in second)
    return gold_alignment(replace(pair, alignment=links))


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Train a model for each seed, and measure all methods on it."""
    found: Found = []
    for seed in options.seeds:
        model = _trained(seed, options)
        examples = list(planted(MEASURED, 1000 + seed))
        gold = [deciding(pair) for pair in examples]
        needed, right = _needed(model, examples)
        report(f"seed {seed}: {right:.1%} are right; {needed.mean():.1%} need a link")
        before: dict[str, float] = {}
        for name in ("arec", *(method for method in METHODS if method != "arec")):
            explanations = explained(model, examples, aligners[name](), before)
            if name == "arec":
                before = {each.id: each.checks["fidelity"] for each in explanations}
            values = metrics["alignment_f1"](model, explanations, gold)
            kept = metrics["compactness"](model, explanations)
            for which, chosen in ((NEEDED, needed), (NOT_NEEDED, ~needed)):
                figures = {"f1": values[chosen], "compactness": kept[chosen]}
                means = {key: float(np.nanmean(own)) if len(own) else None for key, own in figures.items()}
                entry = {"part": part, "seed": seed, "explainer": name, "which": which, "n": int(chosen.sum())}
                found.append({**entry, **means})
            report(f"seed {seed}: {name}: F1 {np.nanmean(values[needed]):.3f}")
    return found


def _trained(seed: int, options: Options) -> CoAttentive:
    out = Path(options.models or Path(options.out) / "models") / f"planted-links-{seed}"
    config = classifier.Config(out=out, encoder=options.encoder, epochs=2, learning_rate=3e-4, batch_size=16, seed=seed)
    directory = classifier.train(config, planted(TRAINING, 0), planted(HELD_OUT, 1), labels=PAIR_LABELS)
    model = load_model(directory, device=checked_device(options.device or None))
    assert isinstance(model, CoAttentive)
    return model


def _needed(model: CoAttentive, examples: Sequence[Example]) -> tuple[np.ndarray, float]:
    """Whether the answer changes without any link, [N], and the share of right answers."""
    batch = model.encode(examples)
    with model.borrowed(), torch.no_grad():
        whole = model.logits(batch)
        none = model.logits(batch, torch.zeros_like(model.coattention(batch)))
    labels = torch.tensor([example.label for example in examples], device=whole.device)
    return (whole.argmax(-1) != none.argmax(-1)).cpu().numpy(), float((whole.argmax(-1) == labels).float().mean())


def rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Means over seeds."""
    table = []
    for which in (NEEDED, NOT_NEEDED):
        for name in METHODS:
            own = [entry for entry in found if (entry["explainer"], entry["which"]) == (name, which) and entry["n"]]
            if not own:
                continue
            known = {"explainer": name, "data": f"planted pairs: {which}", "n": sum(entry["n"] for entry in own)}
            for metric, key, unit in (("alignment_f1", "f1", 1.0), ("compactness", "compactness", 100.0)):
                values = [unit * entry[key] for entry in own]
                spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
                wanted = metric == "alignment_f1" and which == NEEDED and name == "arec"
                note = f"wanted: at least {BAR}, above all others" if wanted else None
                table.append(Row(metric, float(np.mean(values)), std=spread, note=note, **known))
    return table


tables("planted-links")(
    Table("planted-links", "Whether links are those that were planted.", ("pairs",), compute, rows, seeds=(1, 2, 3))
)
