"""Every method on one planted review, for the pictures on the pages of methods.

python docs/make_pictures.py                     writes docs/pictures/review.jsonl
python docs/make_pictures.py --model DIR         with a model that was trained before

The review is held out, and three of its four opinions speak against its label: a method that looks for opinions in
general marks the wrong ones. The site draws the pictures from the file when it is built.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from rationales import explain, load_model
from rationales.data import gold_selection
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.explainers import explainers
from rationales.explanation import Explanation, Scores, write_jsonl
from rationales.explanation.types import FloatArray
from rationales.models import Model
from rationales.train.classifier import Config, train

HERE = Path(__file__).parent
SEED, NUMBER = 2, 2
"""Which review: seeds 0 and 1 are those of the training and dev data."""


def trained(directory: Path) -> Path:
    """The embedded encoder, fine-tuned on planted reviews; about a minute on two cores."""
    config = Config(out=directory / "model", epochs=2, learning_rate=2e-4)
    return train(config, reviews(1200, seed=0), reviews(200, seed=1), labels=REVIEW_LABELS)


def write(model: Model, path: Path) -> None:
    """What people would mark, then one explanation per method."""
    review = reviews(NUMBER + 1, seed=SEED)[NUMBER]
    found = [shorter(explain(model, review, name)[0]) for name in explainers]
    path.parent.mkdir(exist_ok=True)
    write_jsonl([gold_selection(review), *found], path)


def shorter(explanation: Explanation) -> Explanation:
    """Scores with four digits: enough for a picture, and the file stays small."""
    values, errors = explanation.body.values, explanation.body.standard_error
    return explanation.with_body(Scores(_digits(values), None if errors is None else _digits(errors)))


def _digits(values: FloatArray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def main() -> None:
    """Parse, train or load, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="directory of a model trained on planted reviews")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        model = load_model(options.model or trained(Path(directory)))
        model.name = "all-MiniLM-L6-v2 fine-tuned on planted reviews"
        write(model, HERE / "pictures" / "review.jsonl")


if __name__ == "__main__":
    main()
