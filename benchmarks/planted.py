"""Planted truth: does the encoder learn the reviews, and which explainer finds the words that decide them?

python benchmarks/planted.py                       writes results/planted.json
python benchmarks/planted.py --seeds 0 --encoder DIR --out results

For each seed the encoder is fine-tuned on planted reviews; held-out reviews are explained by every method and held
against the planted words.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from rationales import evaluate, explain, load_model, results
from rationales.data import gold_selection
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.explainers import explainers
from rationales.train.classifier import Config, train

METRICS = ("auroc", "auprc", "sufficiency", "comprehensiveness", "decision_flip")
TRAINING = {"epochs": 2, "learning_rate": 2e-4}


def one_seed(seed: int, encoder: str, size: int, methods: list[str]) -> list[tuple[str | None, str, float, str]]:
    """(explainer, metric, value, note) of one trained model."""
    figures: list[tuple[str | None, str, float, str]] = []
    dev = list(reviews(500, seed=1000 + seed))
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        config = Config(out=Path(directory) / "model", encoder=encoder, seed=seed, **TRAINING)
        model = load_model(train(config, reviews(1200, seed=seed), dev[:200], labels=REVIEW_LABELS))
        figures.append((None, "training_seconds", time.monotonic() - began, "1,200 reviews, evaluation included"))
        predicted = [item.target.index for item in explain(model, dev, "random")]
        correct = np.mean([a == example.label for a, example in zip(predicted, dev, strict=True)])
        figures.append((None, "accuracy", 100 * float(correct), f"{len(dev)} dev reviews"))
        held_out = list(reviews(size, seed=2000 + seed))
        gold = [gold_selection(example) for example in held_out]
        for name in methods:
            began = time.monotonic()
            found = explain(model, held_out, name)
            seconds = time.monotonic() - began
            note = f"{size} held-out reviews"
            figures += [
                (name, row.metric, row.aggregate.mean, note) for row in evaluate(model, found, METRICS, gold=gold)
            ]
            if "completeness_error" in found[0].checks:
                worst = max(item.checks["completeness_error"] for item in found)
                figures.append((name, "worst_completeness_error", worst, note))
            tokens = sum(len(item.tokens) for item in found)
            figures.append((name, "seconds_per_1000_tokens", 1000 * seconds / tokens, note))
            print(seed, name, f"{seconds:.1f} s", [f"{v:.3f}" for n, m, v, _ in figures if n == name], flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--encoder", default="", help="directory of the encoder; the embedded one by default")
    parser.add_argument("--size", type=int, default=100, help="held-out reviews to explain")
    parser.add_argument("--methods", nargs="+", default=list(explainers))
    parser.add_argument("--table", default="planted")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("always")
    runs = [one_seed(seed, options.encoder, options.size, options.methods) for seed in options.seeds]
    rows = []
    for same in zip(*runs, strict=True):
        explainer, metric, _, note = same[0]
        values = [value for _, _, value, _ in same]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        rows.append(
            results.Row(
                metric,
                float(np.mean(values)),
                method="classifier",
                explainer=explainer,
                data="planted-reviews",
                model=Path(options.encoder).name or "all-MiniLM-L6-v2",
                std=spread,
                n=len(values),
                note=note,
            )
        )
    print(results.write(options.table, rows, seeds=options.seeds, directory=options.out))


if __name__ == "__main__":
    main()
