"""Table 1 of the paper on VER: rationalizers on beer and hotel reviews, against what people marked.

Two things differ from the paper. The data, because they had to: for beer only the papers' dev files are to be had,
which are split into train and dev here; hotel reviews are another sample, in which whole sentences are marked. And the
schedule: 300 epochs at a learning rate of 0.0001 make some 80,000 updates there; here a learning rate of 0.0005 and a
quarter of the published weights of sparsity and continuity need 5,000. That, and that the reviews of all four files are
used for aroma and palate, was chosen by dev accuracy; docs/results.md tells what was tried. The wanted share of tokens
is a little below the share that people marked, on which the share of chosen tokens then settles; the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rationales.data import load
from rationales.errors import InputError
from rationales.models.loading import checked_device
from rationales.reproduce.rationalizers import BestByLime, Run, own_choice, rows_beside, trained_and_scored
from rationales.reproduce.tables import Found, Options, Table, tables
from rationales.results import Row
from rationales.train.labels import read_task
from rationales.train.rationalizers import rationalizers


@dataclass(frozen=True)
class Setting:
    """The numbers of one data set: share of tokens, weights of sparsity and continuity; and where it is larger."""

    sparsity: float
    sparsity_weight: float
    continuity_weight: float
    train: str = ""


SETTINGS = {
    "beer-appearance": Setting(0.175, 2.75, 3.0),
    "beer-aroma": Setting(0.145, 3.0, 2.5, "beer-aroma/all"),
    "beer-palate": Setting(0.115, 2.5, 2.5, "beer-palate/all"),
    "hotel-location": Setting(0.17, 2.0, 2.5),
    "hotel-service": Setting(0.22, 2.5, 2.5),
    "hotel-cleanliness": Setting(0.22, 2.5, 3.0),
}
"""A quarter of the weights that are published for VER and FR."""

TWO = ("beer-appearance", "hotel-service")

PARTS: dict[str, tuple[str, tuple[str, ...], tuple[float, ...]]] = {
    "rnp": ("ver", tuple(SETTINGS), (0.0, 0.3)),
    "longer": ("ver", ("beer-aroma", "beer-palate"), (0.0, 0.3)),
    "narrowed": ("ver", tuple(SETTINGS), (0.0, 0.3)),
    "nir": ("nir", TWO, (0.0, 0.3)),
    "fr": ("fr", TWO, (0.0, 0.3)),
    "dmr": ("dmr", TWO, (0.0,)),
    "a2i": ("a2i", TWO, (0.0,)),
    "attention": ("attention", TWO, (0.0,)),
    "lime": ("full_text", TWO, (0.0,)),
}
"""What is trained together: the variant, its data sets, and shares of tokens to exchange (VER)."""

LEARNING_RATE, UPDATES, LONGER, NARROWING, EVERY = 0.0005, 5000, 12_000, 2000, 250
"""5,000 updates are few for aroma and palate, whose dev accuracy still rises by then: they have a longer run too."""
OTHERWISE = ("longer", "narrowed")
"""Parts that are `rnp` in another way, the second with all tokens shown at first."""

_PAPER = """
beer-appearance LIME 15.1 nan 53.1 43.3 47.7
hotel-service LIME 15.2 nan 11.9 15.7 13.5
beer-appearance Attention 15.1 nan 46.5 37.9 41.8
hotel-service Attention 15.1 nan 14.1 18.5 16.0
beer-appearance RNP 14.7 78.2 75.0 59.7 66.5
beer-appearance NIR 15.5 80.8 73.3 61.3 66.8
beer-appearance DMR 15.0 80.7 75.0 60.1 66.7
beer-appearance A2I 14.9 81.0 75.2 60.6 67.1
beer-appearance VER 14.4 81.5 82.2 64.1 72.0
beer-aroma RNP 15.2 81.7 67.0 64.7 65.8
beer-aroma NIR 15.2 82.1 69.8 67.9 68.8
beer-aroma DMR 15.2 82.6 68.3 66.3 67.2
beer-aroma A2I 14.8 82.7 69.4 65.9 67.6
beer-aroma VER 14.9 84.2 71.8 68.6 70.0
beer-palate RNP 15.4 75.0 46.3 57.4 51.2
beer-palate NIR 14.3 82.4 49.8 57.4 53.3
beer-palate DMR 15.2 81.9 47.1 57.5 52.0
beer-palate A2I 15.3 81.3 50.9 62.0 55.8
beer-palate VER 15.0 83.9 54.8 65.9 59.9
hotel-location RNP 14.7 97.6 41.4 72.0 52.6
hotel-location NIR 13.9 97.3 42.2 69.3 52.5
hotel-location DMR 14.8 97.2 41.6 72.7 52.9
hotel-location A2I 15.0 97.5 41.7 73.1 53.1
hotel-location VER 14.6 97.8 44.3 76.3 56.1
hotel-service RNP 15.3 96.5 41.0 54.6 46.8
hotel-service NIR 15.0 96.9 40.9 53.5 46.3
hotel-service DMR 14.8 96.6 41.2 54.1 46.9
hotel-service A2I 15.1 96.7 41.4 54.6 47.1
hotel-service VER 14.9 97.1 42.4 55.3 48.0
hotel-cleanliness RNP 15.3 97.2 28.1 48.7 35.6
hotel-cleanliness NIR 15.5 96.7 28.0 49.2 35.7
hotel-cleanliness DMR 14.9 97.0 28.5 48.1 35.9
hotel-cleanliness A2I 15.3 96.8 28.8 49.7 36.5
hotel-cleanliness VER 15.3 97.3 30.3 52.3 38.3
"""
"""Data, method, S, accuracy, precision, recall and F1 in percent, as published (Liu et al., 2025, Table 1)."""


def runs(part: str, seeds: Sequence[int], vectors: str, learning_rate: float = LEARNING_RATE) -> list[Run]:
    """All runs of a part, which are trained together."""
    method, names, shares = PARTS[part]
    config = rationalizers[method].Config
    return [
        Run(
            _named(part, share),
            name,
            config(
                out=Path(part),
                vectors=vectors,
                learning_rate=learning_rate,
                seed=seed,
                perturb=share,
                narrowing=NARROWING if part == "narrowed" else 0,
                sparsity=SETTINGS[name].sparsity,
                sparsity_weight=SETTINGS[name].sparsity_weight,
                continuity_weight=SETTINGS[name].continuity_weight,
            ),
            BestByLime(SETTINGS[name].sparsity) if part == "lime" else own_choice,
        )
        for name in names
        for share in shares
        for seed in seeds
    ]


def _named(part: str, share: float) -> str:
    if part == "attention":
        return "Attention"
    if part in OTHERWISE:
        return f"{_named('rnp', share)}, {part}"
    if not share:
        return part.upper()
    return "VER" if part == "rnp" else f"{part.upper()} + VER"


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Train and measure the runs of a part."""
    if not options.vectors:
        raise InputError("ver-table1 needs word vectors, such as --vectors glove.6B.100d.txt")
    some = runs(part, options.seeds, options.vectors)
    names = list(dict.fromkeys(run.data for run in some))

    def opened(name: str, split: str) -> Any:
        return load(name, split=split, data_dir=options.data_dir or None)

    return trained_and_scored(
        PARTS[part][0],
        some,
        {name: read_task(opened(SETTINGS[name].train or name, "train"), opened(name, "dev")) for name in names},
        {name: list(opened(name, "test")) for name in names},
        updates=options.updates or (LONGER if part == "longer" else UPDATES),
        every=EVERY,
        balance=True,
        device=str(checked_device(options.device or None)),
        report=report,
    )


def rows(found: Sequence[dict[str, Any]]) -> list[Row]:
    """Means and standard deviations over seeds, in percent, beside what was published."""
    return rows_beside(found, _PAPER)


tables("ver-table1")(
    Table(
        "ver-table1",
        "Rationalizers on beer and hotel reviews: what they select, against what people marked (VER).",
        tuple(PARTS),
        compute,
        rows,
    )
)
