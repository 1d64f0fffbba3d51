"""How bad is the perturbation that REGEX trains against? Beside one of the same size in a random direction.

    python benchmarks/perturbation.py --model my-classifier --data sst2 --data-dir data --out results

The published ascent is two steps of 0.001 times the gradient, from a random start of 0.00001. Whatever it gives, the
perturbation is then brought to the size that is wanted: what counts is how far its direction has turned. For each site,
size and length of steps: how far the prediction moves, KL(clean ‖ perturbed), and how often it changes, over the same
texts. The perturbation is found as in training, with dropout, and what it does is measured without; beside it one that
is found without dropout too, as in a model that has none.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch

from rationales.data import load
from rationales.models import TransformersClassifier
from rationales.results import Row, write
from rationales.train import regex
from rationales.train.encoding import EncodedTexts
from rationales.train.labels import read_task
from rationales.train.regex_terms import divergence

SITES: dict[str, dict[str, Any]] = {
    "words, a quarter of their magnitude": {"site": "word", "size": 0.25},
    "words, half of it": {"site": "word", "size": 0.5},
    "output of the embedding layer": {"site": "output", "size": 1.0},
}
WAYS: dict[str, dict[str, Any]] = {
    "random direction": {"ascents": 1, "ascent_rate": 0.0},
    "2 steps of 0.001, as published": {},
    "2 steps of 1": {"ascent_rate": 1.0},
    "2 steps of 1,000": {"ascent_rate": 1e3},
}


def moved(texts: EncodedTexts, options: dict[str, Any], size: int, *, dropout: bool) -> tuple[float, float]:
    """The mean divergence, and the share of other answers."""
    objective = regex.Objective(texts, regex.Config(Path("model"), **options))
    distance, changed = 0.0, 0
    torch.manual_seed(0)
    rows = range(len(texts.lengths))
    for start in range(0, len(rows), size):
        batch, _ = texts.batch(list(rows[start : start + size]))
        delta = objective.train(dropout).perturbation(batch)
        objective.eval()
        with torch.no_grad():
            clean = objective.model.logits(batch)
            perturbed = objective.perturbed(batch, objective.model.embed(batch), delta)
        distance += float(divergence(clean, perturbed)) * len(batch)
        changed += int((clean.argmax(-1) != perturbed.argmax(-1)).sum())
    return distance / len(rows), changed / len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a fine-tuned classifier")
    parser.add_argument("--data", default="sst2")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--data-dir", default=None)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--device", default=None)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    model = TransformersClassifier.from_pretrained(options.model, device=options.device)
    data = load(options.data, split=options.split, data_dir=options.data_dir, limit=options.texts)
    task = read_task(list(data), list(data), data.labels)
    texts = EncodedTexts(model, task.train, "", warn=False)
    rows = []
    for where, site in SITES.items():
        for how, way in WAYS.items():
            for note, dropout in (("found with dropout", True), ("found without", False)):
                distance, changed = moved(texts, {**site, **way}, options.batch_size, dropout=dropout)
                known = {"method": f"{where}: {how}", "data": options.data, "n": len(texts.lengths), "note": note}
                rows += [Row("divergence", distance, **known), Row("share of other answers", changed, **known)]
                print(f"{where}: {how}, {note}: {distance:.5f}, {changed:.3f}", flush=True)
    print(write("perturbation", rows, seeds=[0], directory=options.out))


if __name__ == "__main__":
    main()
