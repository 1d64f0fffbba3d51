"""The training pairs of SNLI: those of two named sets, each once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rationales.errors import InputError
from rationales.reproduce.snli import held_out, training_pairs


def write(path: Path, rows: list[tuple[str, str, str]], **more: list[object]) -> None:
    premises, hypotheses, labels = zip(*rows, strict=True)
    columns = {
        "premise": premises,
        "hypothesis": hypotheses,
        "label": labels,
        "pair_id": list(map(str, range(len(rows)))),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({**columns, **more}), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    first = [("A boy eats.", "A child eats.", "entailment"), ("A boy eats.", "A girl eats.", "contradiction")]
    write(tmp_path / "nli/snli/train_first100k.parquet", first)
    write(tmp_path / "nli/snli/train_extra.parquet", [("A boy eats.", "A child eats.", "neutral")])
    more = [("a boy eats.", "A child eats.", "neutral"), ("A child eats.", "A boy eats.", "neutral")]
    unmarked = pa.array([None, None], pa.list_(pa.int32()))
    write(
        tmp_path / "nli/esnli/train_subset.parquet",
        more,
        explanation_1=["because", "because"],
        premise_highlights_1=unmarked,
        hypothesis_highlights_1=unmarked,
        source=["ukp", "ukp"],
    )
    write(tmp_path / "nli/snli/dev.parquet", first)
    return tmp_path


def test_each_pair_once_whatever_its_capitals_with_its_first_label(folder: Path) -> None:
    found = training_pairs(folder)
    assert [example.texts for example in found] == [
        ("A boy eats.", "A child eats."),
        ("A boy eats.", "A girl eats."),
        ("A child eats.", "A boy eats."),
    ]
    names = held_out("dev", folder).labels
    assert names is not None
    assert [names[example.label] for example in found] == ["entailment", "contradiction", "neutral"]


def test_files_that_are_not_there(folder: Path) -> None:
    with pytest.raises(InputError, match=r"snli is wanted at .*test\.parquet"):
        held_out("test", folder)
