"""Ctrl-C, a polite kill and `kill -9` at any moment: a line, the right exit status, and nothing lost."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from rationales.comparison import Comparison
from rationales.explanation import Explanations
from rationales.explanation.sequence import to_json

INT, TERM, KILL = int(signal.SIGINT), int(signal.SIGTERM), int(signal.SIGKILL)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More than can be explained in the time that a test has."""
    path = tmp_path_factory.mktemp("data") / "rows.txt"
    texts = (f"the soup was good and bad and again very {word} , but slow\n" for word in ("good", "awful", "rude"))
    path.write_text("".join(itertools.islice(itertools.cycle(texts), 9000)))
    return path


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize(("number", "status"), [(INT, 130), (TERM, 143)])
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_explaining_that_is_stopped_leaves_the_file_of_before(
    apart, model_directory, rows, tmp_path, ending, number, status
):
    out = tmp_path / f"found.{ending}"
    out.write_text("of before")
    explains = ("explain", "-m", model_directory, "--method", "leave_one_out", "--data", rows, "--out", out)
    wanted = [(status, "", "stopped\n"), "of before", [out.name]]
    for after in (0.1, 0.3, 0.8):
        for _ in range(2):  # once in a blue moon a signal comes between two steps that belong together
            ended = apart(*explains, signal=number, after=after)
            seen = [(ended.status, ended.out, ended.err), out.read_text(), files(tmp_path)]
            if seen == wanted:
                break
            for file in set(tmp_path.iterdir()) - {out}:
                file.unlink()
        assert seen == wanted


def test_ctrl_c_in_a_process_that_a_user_started(model_directory, rows, tmp_path):
    command = [sys.executable, "-m", "rationales", "explain", "-m", str(model_directory), "--data", str(rows)]
    with subprocess.Popen(
        [*command, "--method", "leave_one_out", "--out", str(tmp_path / "found.parquet")],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # tests that run in the background ignore it
    ) as process:
        deadline = time.monotonic() + 60
        while not files(tmp_path) and time.monotonic() < deadline:  # the temporary file of the running writer
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "stopped\n")
    assert files(tmp_path) == []


def test_training_that_is_stopped_goes_on(apart, model_directory, tmp_path):
    data = tmp_path / "rows.csv"
    data.write_text("text,label\n" + "".join(f"{word} soup,{word}\n" for word in ("good", "bad") * 150))

    def training(out: str) -> tuple[object, ...]:
        given = ("--data", data, "--dev", data, "--encoder", model_directory, "--epochs", 6, "--batch-size", 8)
        return ("train", "classifier", *given, "--out", tmp_path / out)

    whole = apart(*training("whole"))
    assert whole.status == 0, whole.err
    for number, after in ((INT, 0.5), (KILL, 0.6), (TERM, 0.7)):
        ended = apart(*training("stopped"), signal=number, after=whole.seconds * after)
        assert ended.status in (128 + number, -number, 0)
        said = r"(.*: going on after epoch \d of 6\n)?(epoch \d of 6: loss .*\n)*(stopped\n)?"
        assert re.fullmatch(said, ended.err) or ended.status == 0
    assert apart(*training("stopped")).status == 0
    one, other = (tmp_path / out / "model.safetensors" for out in ("whole", "stopped"))
    assert one.read_bytes() == other.read_bytes()


# ---------------------------------------------------------------------------------------------------------------------
# Comparing


@pytest.fixture(scope="module")
def compares(model_directory: Path, tmp_path_factory: pytest.TempPathFactory):
    """A comparison of 40 texts, which are three parts."""
    data = tmp_path_factory.mktemp("data") / "rows.jsonl"
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(["good", "bad", "soup", "the", "was", "very"], 8)) for _ in range(40)]
    lines = [{"text": text, "label": place % 2, "rationale": [0, 1]} for place, text in enumerate(texts)]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = "--method gradient --method attention --method leave_one_out --metric comprehensiveness --metric auroc"

    def command(out: Path) -> tuple[object, ...]:
        given = ("--data", data, "--rationale-format", "token_indices", "--no-page", *asked.split())
        return ("compare", "-m", model_directory, *given, "--out", out)

    return command


def content(directory: Path) -> dict[str, object]:
    """All that a comparison holds, to the last bit, but for the time that it took."""
    found: dict[str, object] = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.suffix == ".parquet":
            found[name] = [to_json(one) for one in Explanations.load(path)]
        elif path.suffix == ".json":
            data = json.loads(path.read_text())
            data.pop("seconds", None)
            data.pop("command", None)
            for standing in data.get("standings", ()):
                standing.pop("seconds_per_1000_tokens")
            found[name] = data
        elif path.is_file():
            found[name] = "a file that does not belong here"
    return found


def test_a_comparison_that_is_killed_fifty_times_ends_like_one_that_never_was(apart, compares, tmp_path):
    whole = apart(*compares(tmp_path / "whole"))
    assert whole.status == 0, whole.err
    wanted = content(tmp_path / "whole")
    draw = np.random.default_rng(0)
    killed = finished = 0
    while killed < 50:
        out = tmp_path / f"killed-{finished}"
        while True:  # killed again and again, until one run comes through
            ended = apart(*compares(out), signal=KILL, after=draw.uniform(0.02, 1.1) * whole.seconds)
            if ended.status == 0:
                break
            assert ended.status == -KILL, ended.err
            killed += 1
        for left in out.rglob(".*.tmp"):  # what was being written in that moment
            left.unlink()
        assert content(out) == wanted
        finished += 1
    assert finished > 1


@pytest.mark.parametrize(("number", "status"), [(INT, 130), (TERM, 143)])
def test_a_comparison_that_is_stopped_goes_on(apart, compares, tmp_path, number, status):
    whole = apart(*compares(tmp_path / "whole"))
    ended = apart(*compares(tmp_path / "stopped"), signal=number, after=0.6 * whole.seconds)
    assert (ended.status, ended.out) == (status, "")
    assert re.fullmatch(r"(\w+ finished: \d+ of 160 explanations done, .* left\n)*stopped\n", ended.err)
    assert not list((tmp_path / "stopped").rglob("*.tmp"))
    assert apart(*compares(tmp_path / "stopped")).status == 0
    assert content(tmp_path / "stopped") == content(tmp_path / "whole")
    assert len(Comparison.load(tmp_path / "stopped").explanations("gradient")) == 40
