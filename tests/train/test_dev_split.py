"""What `rationales train` says where no dev data are given, and some of the training data take their place."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rationales.cli.train import splits
from rationales.data import load


def written(path: Path, *labels: object) -> str:
    path.write_text("text,label\n" + "".join(f"soup {number},{label}\n" for number, label in enumerate(labels)))
    return str(path)


def test_it_is_said_how_many_texts_are_set_aside(tmp_path, capsys):
    file = written(tmp_path / "rows.csv", *(("yes", "no") * 100))
    training, dev = splits(file, None, None, load)
    sizes = len(list(training)), len(list(dev))
    assert min(sizes) > 0
    assert f"no dev data are given: {sizes[1]} of 200 texts are set aside" in capsys.readouterr().err
    splits(file, None, 10, partial(load))
    assert "10 of 20 texts are set aside" in capsys.readouterr().err


def test_nothing_is_said_of_dev_data_that_are_given(tmp_path, capsys):
    for split in ("train", "dev"):
        written(tmp_path / f"{split}.csv", "yes", "no")
    splits(str(tmp_path), None, None, load)
    splits(str(tmp_path / "train.csv"), str(tmp_path / "dev.csv"), None, load)
    assert capsys.readouterr().err == ""


def test_labels_that_are_not_among_them_are_pointed_out(tmp_path, capsys):
    common = ("no",) * 50
    splits(written(tmp_path / "one.csv", *common, "y\x1bs"), None, None, load)
    assert "warning: no text that is set aside is labelled y\ufffds, so" in capsys.readouterr().err
    rare = (f"rare{number}" for number in range(7))
    splits(written(tmp_path / "seven.csv", *common, *rare), None, None, load)
    assert "labelled rare0, rare1, rare2, rare3, rare4 and 2 more, so" in capsys.readouterr().err


def test_numbers_to_predict_need_not_come_back(tmp_path, capsys):
    splits(written(tmp_path / "rows.csv", *(number / 8 + 0.01 for number in range(60))), None, None, load)
    err = capsys.readouterr().err
    assert "of 60 texts are set aside" in err
    assert "warning" not in err


def test_texts_without_a_label_are_no_label(tmp_path, capsys):
    splits(written(tmp_path / "rows.csv", *("yes", "no") * 30, ""), None, None, load)
    err = capsys.readouterr().err
    assert "of 61 texts are set aside" in err
    assert "warning" not in err
