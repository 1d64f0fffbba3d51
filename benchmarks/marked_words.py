"""How well do the words that people marked tell the label, and how well do all others?

    python benchmarks/marked_words.py --data-dir data --out results

A linear classifier on words and pairs of neighbours learns from whole texts; then it reads the annotated texts whole,
without what people did not mark, and without what they did. Where the rest of a text tells the label nearly as well,
a rationalizer that predicts well need not select what people marked.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline

from rationales.data import Example, load
from rationales.reproduce.ver_table1 import SETTINGS
from rationales.results import Row, write


def seen(example: Example, marked: bool) -> str:
    """The characters that people marked, or the others; spaces stand for the rest."""
    assert example.rationale is not None
    text = example.texts[0]
    inside = np.zeros(len(text), dtype=bool)
    for start, end in example.rationale[0]:
        inside[start:end] = True
    return "".join(letter if here == marked else " " for letter, here in zip(text, inside, strict=True))


def accuracy(model: LogisticRegression, texts: Sequence[str], examples: Sequence[Example]) -> float:
    """In per cent, each class counting the same."""
    said = model.predict(texts)
    return 100 * float(balanced_accuracy_score([example.label for example in examples], said))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", default=None)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    rows = []
    for name, setting in SETTINGS.items():
        train, dev, test = (
            list(load(source, split=split, data_dir=options.data_dir))
            for source, split in ((setting.train or name, "train"), (name, "dev"), (name, "test"))
        )
        words = TfidfVectorizer(min_df=3, ngram_range=(1, 2), sublinear_tf=True)
        model = make_pipeline(words, LogisticRegression(C=4, max_iter=300, class_weight="balanced"))
        model.fit([example.texts[0] for example in train], [example.label for example in train])
        readings = {
            "dev, whole texts": (dev, [example.texts[0] for example in dev]),
            "annotated, whole texts": (test, [example.texts[0] for example in test]),
            "annotated, marked words only": (test, [seen(example, True) for example in test]),
            "annotated, all other words": (test, [seen(example, False) for example in test]),
        }
        for what, (examples, texts) in readings.items():
            rows.append(Row(what, accuracy(model, texts, examples), data=name, n=len(texts)))
            print(name, what, f"{rows[-1].mean:.1f}", flush=True)
    print(write("marked_words", rows, seeds=[], directory=options.out))


if __name__ == "__main__":
    main()
