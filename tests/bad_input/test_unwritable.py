"""Places that cannot be written, and disks that are full: said by name, before or during the work; nothing is lost."""

from __future__ import annotations

import errno
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from rationales import compare, explain
from rationales.comparison import Comparison
from rationales.errors import InputError, RationalesError, WriteError
from rationales.explanation import Explanations, Scores
from rationales.explanation.files import check_writable, replacing
from rationales.explanation.sequence import to_json
from rationales.train.classifier import Config, train
from tiny import TEXTS, classifier, singles


@pytest.fixture(scope="module")
def many() -> Explanations:
    """Enough, and different enough, to fill several row groups."""
    draw = np.random.default_rng(0)
    found = explain(classifier("bert"), TEXTS * 150, "random")
    return Explanations(one.with_body(Scores(draw.normal(size=len(one.tokens)))) for one in found)


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


# ---------------------------------------------------------------------------------------------------------------------
# No place to write


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_a_place_that_cannot_be_is_said_before_the_model_is_loaded(refused, tmp_path, ending):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / f"directory.{ending}").mkdir()
    for path, message in (
        (tmp_path / "file" / f"x.{ending}", f"cannot be written: {tmp_path / 'file'} is not a directory"),
        (tmp_path / "file" / "deeper" / f"x.{ending}", f"{tmp_path / 'file'} is not a directory"),
        (tmp_path / f"directory.{ending}", "is a directory; give the name of a file to write"),
        (tmp_path / f"{'x' * 300}.{ending}", "cannot be written: File name too long"),
        (Path("/proc/nowhere") / f"x.{ending}", "cannot be written: "),
    ):
        line = refused("explain", "-m", "./there-is-no-model", "--method", "random", "--out", path, "good soup")
        assert message in line
        with pytest.raises((WriteError, InputError), match=r"to write|be written"):
            check_writable(path)
    assert names(tmp_path) == [f"directory.{ending}", "file"]


def test_an_unwritable_place_is_an_os_error_and_ours(many, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="is not a directory") as caught:
        many.save(tmp_path / "file" / "x.parquet")
    assert isinstance(caught.value, RationalesError)


def test_permission(monkeypatch, many, tmp_path):
    """As any user but root, who may write everywhere."""

    def touch(self, *_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "touch", touch)
    for write in (many.save, many.to_jsonl, check_writable):
        with pytest.raises(WriteError, match=r"x cannot be written: Permission denied$"):
            write(tmp_path / "x")


def test_looking_whether_a_place_can_be_written_leaves_no_trace(tmp_path):
    (tmp_path / "x.parquet").write_text("of before")
    check_writable(tmp_path / "x.parquet")
    check_writable(tmp_path / "new" / "x.parquet")
    assert (tmp_path / "x.parquet").read_text() == "of before"
    assert names(tmp_path) == ["new", "x.parquet"]


def test_a_long_name_has_room_for_its_temporary_neighbour(tmp_path):
    path = tmp_path / ("ü" * 124 + ".jsonl")  # 254 of 255 bytes
    with replacing(path) as beside:
        beside.write_text("content")
    assert path.read_text() == "content"


def test_directories_that_training_and_comparing_cannot_use(refused, model_directory, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\n" + "good soup,1\nbad soup,0\n" * 10)
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    training = ("train", "classifier", "--data", rows, "--dev", rows, "--encoder", model_directory, "--epochs", 1)
    comparing = ("compare", "-m", model_directory, "--data", rows, "--method", "gradient")
    assert "cannot be used as output directory" in refused(*training, "--out", tmp_path / "file")
    assert "cannot be used as output directory" in refused(*training, "--out", tmp_path / "file" / "deeper")
    assert "is not empty and holds no run" in refused(*training, "--out", tmp_path / "full")
    assert "file is not a directory" in refused(*comparing, "--out", tmp_path / "file")
    assert "file is not a directory" in refused(*comparing, "--out", tmp_path / "file" / "deeper")
    assert "holds no comparison to go on with" in refused(*comparing, "--out", tmp_path / "full")
    assert names(tmp_path) == ["file", "full", "full/thesis.tex", "rows.csv"]


# ---------------------------------------------------------------------------------------------------------------------
# No room to write


@pytest.mark.parametrize("size", [0, 3, 100, 5_000, 30_000])
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_a_full_disk_leaves_the_file_of_before(many, small_disk, tmp_path, ending, size):
    path = tmp_path / f"found.{ending}"
    save = many.save if ending == "parquet" else many.to_jsonl
    path.write_text("of before")
    with small_disk(size), pytest.raises(WriteError, match=rf"found\.{ending} could not be written: .*as it was"):
        save(path)
    assert path.read_text() == "of before"
    assert names(tmp_path) == [path.name]
    save(path)
    read = Explanations.load if ending == "parquet" else Explanations.from_jsonl
    assert [to_json(one) for one in read(path)] == [to_json(one) for one in many]


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_the_command_says_that_the_disk_is_full(refused, small_disk, model_directory, tmp_path, ending):
    rows, path = tmp_path / "rows.txt", tmp_path / f"found.{ending}"
    rows.write_text("".join(f"good soup {number}\n" for number in range(200)))
    path.write_text("of before")
    with small_disk(1000):
        line = refused("explain", "-m", model_directory, "--method", "random", "--data", rows, "--out", path)
    assert f"{path} could not be written: File too large" in line
    assert path.read_text() == "of before"
    assert names(tmp_path) == [path.name, "rows.txt"]


class Failing:
    """A file of which one write goes wrong."""

    def __init__(self, file: io.TextIOWrapper, wrong: int, number: int) -> None:
        self.file, self.wrong, self.number, self.count = file, wrong, number, 0

    def __enter__(self) -> Failing:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, text: str) -> None:
        self.count += 1
        if self.count == self.wrong:
            raise OSError(self.number, os.strerror(self.number))
        self.file.write(text)


@pytest.mark.parametrize("wrong", [1, 2, 100, 751])  # the first line, a line in between, the last
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_fails_at_any_moment(many, monkeypatch, tmp_path, wrong, number):
    path, opened = tmp_path / "found.jsonl", Path.open
    path.write_text("of before")
    monkeypatch.setattr(Path, "open", lambda self, *a, **k: Failing(opened(self, *a, **k), wrong, number))
    with pytest.raises(WriteError, match=rf"found\.jsonl could not be written: {os.strerror(number)}"):
        many.to_jsonl(path)
    monkeypatch.undo()
    assert path.read_text() == "of before"
    assert names(tmp_path) == ["found.jsonl"]


def test_an_error_of_what_is_to_be_written_stays_what_it_is(many, tmp_path):
    def texts():
        yield TEXTS[0]
        raise ConnectionResetError(errno.ECONNRESET, "the line is dead")

    with pytest.raises(ConnectionResetError, match="the line is dead"):
        explain(classifier("bert"), texts(), "random", out=tmp_path / "found.parquet")
    assert names(tmp_path) == []


@pytest.mark.parametrize("size", [100, 3_000, 40_000])
def test_training_on_a_full_disk_goes_on_when_there_is_room(small_disk, model_directory, tmp_path, size):
    data = [type(example)(example.id, example.texts, place % 2) for place, example in enumerate(singles())]
    for out in ("whole", "broken"):
        config = Config(out=tmp_path / out, encoder=str(model_directory), epochs=2)
        if out == "broken":
            with small_disk(size), pytest.raises(WriteError, match="Make room; the same command goes on after epoch 0"):
                train(config, data, data)
            assert not (tmp_path / out / "rationales.json").exists()
        train(config, data, data)
    whole, broken = (tmp_path / out / "model.safetensors" for out in ("whole", "broken"))
    assert whole.read_bytes() == broken.read_bytes()


@pytest.mark.parametrize("size", [100, 2_000, 6_000])
def test_a_comparison_on_a_full_disk_goes_on_when_there_is_room(small_disk, tmp_path, size):
    model, texts = classifier("bert"), [f"good soup {number}" for number in range(20)]

    def values(found: Comparison) -> list[list[float]]:
        return [one.body.values.tolist() for one in found.explanations("gradient")]

    with small_disk(size), pytest.raises(WriteError, match="could not be written"):
        compare(model, texts, ["gradient"], out=tmp_path / "broken")
    found = compare(model, texts, ["gradient"], out=tmp_path / "broken")
    assert values(found) == values(compare(model, texts, ["gradient"]))
    assert not list((tmp_path / "broken").rglob("*.tmp"))


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_standard_output_that_is_full(apart, model_directory, form):
    explains = ("explain", "-m", model_directory, "--method", "random", *form, "good soup")
    ended = apart(*explains, stdout="/dev/full")
    assert (ended.status, ended.err) == (2, "error: [Errno 28] No space left on device\n")


def test_results_are_written_whole_or_not_at_all(small_disk, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"of": "before"}))
    with small_disk(50), pytest.raises(WriteError, match=r"results\.json could not be written"):  # noqa: SIM117
        with replacing(path) as beside:
            beside.write_text("x" * 100)
    assert json.loads(path.read_text()) == {"of": "before"}
