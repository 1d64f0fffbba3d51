"""Every method on one planted text, for the pictures on its page: a review, or a pair for methods that link two texts.

python docs/make_pictures.py                          writes docs/pictures/review.jsonl and pair.jsonl
python docs/make_pictures.py review --model DIR       one of them, with a model that was trained before
python docs/make_pictures.py pair --model DIR --gates DIR

The review is held out, and three of its four opinions speak against its label: a method that looks for opinions in
general marks the wrong ones. The pair is the first that is held out. The site draws the pictures from the files when it
is built.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from rationales import explain, load_model
from rationales.data import gold_alignment, gold_selection
from rationales.data.planted import PAIR_LABELS, REVIEW_LABELS, reviews
from rationales.explainers import DiffMask, aligners, explainers
from rationales.explanation import Alignment, Explanation, Scores, write_jsonl
from rationales.explanation.types import FloatArray
from rationales.models import Model
from rationales.reproduce.planted_links import planted
from rationales.train import diffmask
from rationales.train.classifier import Config, train

HERE = Path(__file__).parent
SEED, NUMBER = 2, 2
"""Which review: seeds 0 and 1 are those of the training and dev data."""


def review_model(directory: Path) -> Path:
    """The embedded encoder, fine-tuned on planted reviews; about a minute on two cores."""
    config = Config(out=directory / "review-model", epochs=2, learning_rate=2e-4)
    return train(config, reviews(1200, seed=0), reviews(200, seed=1), labels=REVIEW_LABELS)


def pair_model(directory: Path) -> Path:
    """The embedded encoder, fine-tuned on planted pairs; about a minute on two cores."""
    config = Config(out=directory / "pair-model", epochs=2, learning_rate=3e-4, batch_size=16)
    return train(config, planted(1200, 0), planted(200, 1), labels=PAIR_LABELS)


def trained_gates(directory: Path, model: Model) -> Path:
    """DiffMask's, for the model of pairs; some minutes on two cores."""
    config = diffmask.Config(out=directory / "gates", epochs=8, batch_size=16, learning_rate=1e-3, hidden=64, samples=2)
    return diffmask.train(config, planted(600, 0), planted(60, 1), model=model)


def write_review(model: Model) -> None:
    """What people would mark, then one explanation per method."""
    review = reviews(NUMBER + 1, seed=SEED)[NUMBER]
    found = [shorter(explain(model, review, name)[0]) for name in explainers]
    write_jsonl([gold_selection(review), *found], HERE / "pictures" / "review.jsonl")


def write_pair(model: Model, gates: Path) -> None:
    """What people would link, then one explanation per method."""
    (pair,) = planted(1, SEED)
    methods = [DiffMask(gates=str(gates)) if name == "diffmask" else name for name in aligners]
    found = [_nameless(shorter(explain(model, pair, method)[0])) for method in methods]
    write_jsonl([gold_alignment(pair), *found], HERE / "pictures" / "pair.jsonl")


def _nameless(explanation: Explanation) -> Explanation:
    """Without the name of a directory that will be gone."""
    made = explanation.provenance
    params = {name: "gates" if name == "gates" else value for name, value in made.params.items()}
    return replace(explanation, provenance=replace(made, params=params))


def shorter(explanation: Explanation) -> Explanation:
    """Numbers with four digits: enough for a picture, and the file stays small."""
    match explanation.body:
        case Scores(values=values, standard_error=errors):
            return explanation.with_body(Scores(_digits(values), None if errors is None else _digits(errors)))
        case Alignment(weights=weights, keep=keep):
            return explanation.with_body(Alignment([_digits(row) for row in weights], keep))
    return explanation


def _digits(values: FloatArray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def main() -> None:
    """Parse, train or load, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="?", choices=["review", "pair"], help="one of the pictures; else both")
    parser.add_argument("--model", type=Path, help="directory of a model trained on planted reviews, or pairs")
    parser.add_argument("--gates", type=Path, help="directory of gates that were trained for the model of pairs")
    options = parser.parse_args()
    if options.which is None and (options.model or options.gates):
        parser.error("say which of the pictures the model is for: review or pair")
    with tempfile.TemporaryDirectory() as directory:
        if options.which != "pair":
            model = load_model(options.model or review_model(Path(directory)))
            model.name = "all-MiniLM-L6-v2 fine-tuned on planted reviews"
            write_review(model)
        if options.which != "review":
            model = load_model(options.model or pair_model(Path(directory)))
            model.name = "all-MiniLM-L6-v2 fine-tuned on planted pairs"
            write_pair(model, options.gates or trained_gates(Path(directory), model))


if __name__ == "__main__":
    main()
