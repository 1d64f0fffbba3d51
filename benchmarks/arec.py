"""AREC on many pairs at once against the same optimisation pair by pair: one run, the same model, pairs and noise.

    python benchmarks/arec.py --models da esim minilm --out results

Models are trained on planted pairs for a moment, so that there is something to find. Both sides take the same steps
with the same random masks; what counts is pairs per second, beside the share of cells on which both agree.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from rationales.data.example import Example
from rationales.data.planted import PAIR_LABELS, Planted
from rationales.explainers import Arec
from rationales.explanation import Alignment, Explanation
from rationales.models import Model
from rationales.models import load as load_model
from rationales.models.loading import checked_device
from rationales.reproduce.planted_links import planted
from rationales.results import Row, write
from rationales.train import classifier, da, esim

BAR, AGREEING = 30, 0.95


def trained(kind: str, encoder: str, data: Planted, dev: Planted, folder: Path, device: torch.device) -> Model:
    """A model of the kind, on the device."""
    out = folder / kind
    if kind == "da":
        da.train(da.Config(out=out, epochs=2), data, dev, labels=PAIR_LABELS)
    elif kind == "esim":
        esim.train(esim.Config(out=out, epochs=2), data, dev, labels=PAIR_LABELS)
    else:
        rate = 3e-4  # for so few pairs
        config = classifier.Config(out=out, encoder=encoder, epochs=1, learning_rate=rate, batch_size=16)
        classifier.train(config, data, dev, labels=PAIR_LABELS)
    return load_model(out, device=device)


def timed(
    model: Model, explainer: Arec, pairs: list[Example], at_once: int, device: torch.device
) -> tuple[float, list[Explanation]]:
    """Pairs per second, so many at once, and their explanations."""
    found: list[Explanation] = []
    _wait(device)
    began = time.perf_counter()
    for start in range(0, len(pairs), at_once):
        found += explainer(model, model.encode(pairs[start : start + at_once]))
    _wait(device)
    return len(pairs) / (time.perf_counter() - began), found


def agreement(some: list[Explanation], others: list[Explanation]) -> float:
    """The share of all cells that both keep or both leave out."""
    same = []
    for one, other in zip(some, others, strict=True):
        assert isinstance(one.body, Alignment)
        assert isinstance(other.body, Alignment)
        same.append(np.equal(one.body.keep, other.body.keep).ravel())  # type: ignore[arg-type]
    return float(np.concatenate(same).mean())


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=["da", "esim", "minilm"], default=["da", "esim", "minilm"])
    parser.add_argument("--encoder", default="", help="directory of the pretrained encoder; empty: the embedded MiniLM")
    parser.add_argument("--pairs", type=int, default=512, help="pairs at once")
    parser.add_argument("--alone", type=int, default=8, help="pairs one by one")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--training", type=int, default=1200, help="planted pairs to train on")
    parser.add_argument("--device", default=None)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    device = checked_device(options.device)
    data, dev, pairs = planted(options.training, 0), planted(200, 1), list(planted(options.pairs, 2))
    explainer = Arec(steps=options.steps, patience=0)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.models:
            model = trained(kind, options.encoder, data, dev, Path(folder), device)
            timed(model, Arec(steps=3, patience=0), pairs, len(pairs), device)  # to warm up
            fast, together = timed(model, explainer, pairs, len(pairs), device)
            slow, alone = timed(model, explainer, pairs[: options.alone], 1, device)
            same = agreement(together[: options.alone], alone)
            note = f"{options.steps} steps of {explainer.samples} masks"
            rows += [
                Row("pairs per second", slow, method="pair by pair", model=kind, n=options.alone, note=note),
                Row("pairs per second", fast, method="all at once", model=kind, n=len(pairs), note=note),
                Row("times faster", fast / slow, method="all at once", model=kind, note=f"wanted: at least {BAR}"),
                Row("cells alike", same, method="all at once", model=kind, note=f"wanted: at least {AGREEING}"),
            ]
            for row in rows[-4:]:
                print(row.model, row.method, row.metric, f"{row.mean:.4g}", row.note)
    print(write(f"arec_{'gpu' if device.type == 'cuda' else 'cpu'}", rows, seeds=[0], directory=options.out))


if __name__ == "__main__":
    main()
