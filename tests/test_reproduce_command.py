"""`rationales reproduce` at sizes that take seconds: its parts, files, resumption and errors."""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from rationales.cli import main
from rationales.data.example import Example
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import InputError, QualityWarning
from rationales.explainers.lime import Lime
from rationales.metrics import jaccard
from rationales.models.rationalizer import Rationalizer
from rationales.reproduce import (
    Options,
    Table,
    planted_rationalizers,
    regex_table1,
    regex_table2,
    regex_table3,
    regex_table4,
    regex_table6,
    regex_training,
    reproduce,
    tables,
    ver_table1,
    ver_table3,
)
from rationales.reproduce.products import quick_products
from rationales.reproduce.rationalizers import BestByLime, marked_share, rows_beside, scored, texts_to_test
from rationales.results import Row
from rationales.run import explain
from rationales.train import regex
from rationales.train.rationalizers import full_text, rnp, train
from rationales.train.rationalizers.game import GameConfig
from tiny import classifier, network, tokenizer


@pytest.fixture
def call(monkeypatch, capsys):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rationales", "reproduce", *arguments])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QualityWarning)
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_tables_are_listed(call) -> None:
    status, out, _ = call()
    assert status == 0
    assert [line.partition(":")[0] for line in out.splitlines()] == list(tables)


def test_a_table_is_computed_and_resumed(call, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(planted_rationalizers, "SIZES", {"train": 48, "dev": 12, "test": 12})
    arguments = ("planted-rationalizers", "--seeds", "1", "--part", "reviews", "--updates", "2", "--out", str(tmp_path))
    status, out, err = call(*arguments)
    assert (status, out.strip()) == (0, str(tmp_path / "planted-rationalizers.md")), err
    assert "2 of 2 updates" in err
    content = json.loads((tmp_path / "planted-rationalizers.json").read_text())
    assert {row["method"] for row in content["rows"]} == {"RNP", "VER"}
    assert {"S", "accuracy", "precision", "recall", "F1"} < {row["metric"] for row in content["rows"]}
    assert all(0 <= row["mean"] <= 100 for row in content["rows"])
    kept = tmp_path / "planted-rationalizers" / "reviews.json"
    elsewhere = json.loads(kept.read_text())
    elsewhere["made"]["hardware"] = {"accelerator": "another machine"}
    kept.write_text(json.dumps(elsewhere))
    _, _, err = call(*arguments)
    assert "finished before" in err
    content = json.loads((tmp_path / "planted-rationalizers.json").read_text())
    assert content["hardware"] == content["parts"]["reviews"]["hardware"] == {"accelerator": "another machine"}
    status, _, err = call(*arguments[:2], "3", *arguments[3:])
    assert status == 2
    assert "other options" in err
    status, _, _ = call(*arguments[:2], "3", *arguments[3:], "--overwrite")
    assert status == 0


def test_planted_reviews_are_also_read_by_an_encoder(call, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(planted_rationalizers, "SIZES", {"train": 8, "dev": 4, "test": 4})
    monkeypatch.setattr(planted_rationalizers, "EPOCHS", 1)
    monkeypatch.setattr(planted_rationalizers, "NARROWING", 0)
    encoder = tmp_path / "encoder"
    network("bert").base_model.save_pretrained(encoder)
    tokenizer().save_pretrained(encoder)
    short = [Example(str(number), ("good food",), number % 2, rationale=(((0, 4),),)) for number in range(8)]
    monkeypatch.setattr(planted_rationalizers, "reviews", lambda size, seed: short[:size])
    monkeypatch.setitem(planted_rationalizers.WANTED, "max_length", 32)
    arguments = ("--part", "reviews-encoder", "--seeds", "1", "--encoder", str(encoder), "--device", "cpu")
    status, out, err = call("planted-rationalizers", *arguments, "--out", str(tmp_path))
    assert status == 0, err
    rows = json.loads(Path(out.strip()).with_suffix(".json").read_text())["rows"]
    assert {row["method"] for row in rows} == {"RNP", "VER"}
    assert {row["data"] for row in rows} == {"reviews-encoder"}


def test_parts_of_other_seeds_stand_in_one_table(tmp_path: Path) -> None:
    def compute(part: str, options: Options, _report) -> list[dict[str, object]]:
        return [{"part": part, "seed": seed} for seed in options.seeds]

    def rows(found) -> list[Row]:
        return [Row("runs", sum(run["part"] == part for run in found), data=part) for part in ("a", "b")]

    table = Table("toy", "A table.", ("a", "b"), compute, rows)
    told: list[str] = []
    reproduce(table, Options(tmp_path, seeds=(1, 2, 3), parts=("a",)), told.append)
    path = reproduce(table, Options(tmp_path, seeds=(1, 4), parts=("b",)), told.append)
    content = json.loads(path.read_text())
    assert [row["mean"] for row in content["rows"]] == [3, 2]
    assert content["seeds"] == [1, 2, 3, 4]
    path = reproduce(table, Options(tmp_path, seeds=(1, 4), updates=7, parts=("b",), overwrite=True), told.append)
    assert [row["mean"] for row in json.loads(path.read_text())["rows"]] == [0, 2]
    assert told == ["a: left out of the table, since it was computed with other options"]


def test_beer_reviews_need_their_files_and_vectors(call, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path))
    status, _, err = call("ver-table1", "--part", "rnp", *out)
    assert status == 2
    assert "needs word vectors" in err
    status, _, err = call("ver-table1", "--part", "rnp", "--vectors", "v.txt", "--data-dir", str(tmp_path), *out)
    assert status == 2
    assert "is wanted at" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ver-table2",), "no table is called 'ver-table2'"),
        (("ver-table1", "--part", "shap"), "has no part 'shap'; it has rnp"),
        (("ver-table1", "--seeds", "one"), "seeds are whole numbers with commas"),
        (("ver-table1", "--seeds", "1,1"), "seeds must be different numbers"),
        (("ver-table3", "--encoder", "e", "--updates", "5"), "--updates has no meaning"),
        (("ver-table3", "--part", "fever"), "needs a pretrained encoder"),
    ],
)
def test_bad_input(call, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    status, _, err = call(*arguments, "--out", str(tmp_path))
    assert status == 2
    assert message in err


def test_table_1_has_all_runs_with_the_numbers_of_their_data() -> None:
    runs = ver_table1.runs("rnp", (1, 2), "vectors.txt")
    assert len(runs) == 6 * 2 * 2
    assert {(run.name, run.config.perturb) for run in runs} == {("RNP", 0.0), ("VER", 0.3)}
    for run in runs:
        assert run.config.sparsity == ver_table1.SETTINGS[run.data].sparsity
    assert {run.name for run in ver_table1.runs("fr", (1,), "vectors.txt")} == {"FR", "FR + VER"}
    assert {run.name for run in ver_table1.runs("longer", (1,), "vectors.txt")} == {"RNP, longer", "VER, longer"}
    narrowed = ver_table1.runs("narrowed", (1,), "vectors.txt")
    assert {(run.name, run.config.narrowing) for run in narrowed} == {("RNP, narrowed", 2000), ("VER, narrowed", 2000)}


def test_lime_selects_as_many_as_are_wanted_after_the_fact(tmp_path: Path) -> None:
    config = full_text.Config(tmp_path / "whole", hidden=8, vector_size=4, batch_size=8, epochs=1)
    path = train("full_text", config, reviews(16, seed=0), reviews(8, seed=1), labels=REVIEW_LABELS)
    model = Rationalizer.from_pretrained(path, device="cpu")
    texts = texts_to_test(model, list(reviews(3, seed=2)))
    with model.borrowed():
        chosen = BestByLime(0.2)(model, texts)
        scores = Lime().attribute(model, texts.batch, model.logits(texts.batch).argmax(-1)).values
    assert not (chosen & ~texts.batch.content).any()
    for row, own in enumerate(texts.batch.content):
        assert int(chosen[row].sum()) == np.ceil(0.2 * int(own.sum()))
        assert scores[row, chosen[row]].min() >= scores[row, own & ~chosen[row]].max()
    assert scored(model, texts, BestByLime(0.2)).sparsity == pytest.approx(
        float(chosen.sum() / texts.batch.content.sum())
    )
    assert scored(model, texts).sparsity == 1


def eraser(folder: Path) -> None:
    """A few questions with documents, in the layout of ERASER."""
    folder.mkdir(parents=True)
    (folder / "docs").mkdir()
    (folder / "docs" / "d1").write_text("the cat sat .\na dog ran .")
    for split in ("train", "val", "test"):
        rows = [
            {
                "annotation_id": f"{split}-{number}",
                "classification": ("False", "True")[number % 2],
                "query": "did the cat sit ?",
                "evidences": [[{"docid": "d1", "start_token": 1, "end_token": 3, "text": "cat sat"}]],
            }
            for number in range(4)
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_table_3_selects_from_the_document_alone(call, tmp_path: Path, monkeypatch) -> None:
    eraser(tmp_path / "multirc")
    encoder = tmp_path / "encoder"
    network("bert").base_model.save_pretrained(encoder)
    tokenizer().save_pretrained(encoder)
    monkeypatch.setattr(ver_table3, "EPOCHS", 1)
    monkeypatch.setattr(ver_table3, "NARROWING", 0)
    monkeypatch.setattr(ver_table3, "LENGTH", 32)
    monkeypatch.setitem(ver_table3.SLOWER, "epochs", 1)
    begun, alone = [], ver_table3.trained_alone

    def noted(method: str, config: GameConfig, *others: Any) -> dict[str, Any]:
        begun.append((method, Path(config.encoder).name, config.pooling))
        return alone(method, config, *others)

    monkeypatch.setattr(ver_table3, "trained_alone", noted)
    status, out, err = call(
        "ver-table3", "--part", "multirc", "--part", "multirc-tuned", "--part", "multirc-controls", "--seeds", "1",
        "--encoder", str(encoder), "--data-dir", str(tmp_path),
        "--out", str(tmp_path / "results"), "--device", "cpu",
    )  # fmt: skip
    assert status == 0, err
    content = json.loads(Path(out.strip()).with_suffix(".json").read_text())
    metrics: dict[str, set[str]] = {}
    for row in content["rows"]:
        metrics.setdefault(row["method"], set()).add(row["metric"])
    assert metrics["RNP"] == metrics["VER"] == metrics["VER, from a classifier"] > {"F1", "accuracy"}
    assert begun == [
        *((method, "encoder", "max") for method in ("rnp", "ver")),
        *(
            (method, f"{name},-from-a-classifier-1-classifier", "first")
            for method, name in (("rnp", "RNP"), ("ver", "VER"))
        ),
    ]
    assert metrics["first text alone"] == metrics["both texts"] == {"accuracy", "dev accuracy"}


def test_what_is_selected_is_compared_with_what_is_marked(tmp_path: Path) -> None:
    config = rnp.Config(tmp_path / "rnp", hidden=8, vector_size=4, batch_size=8, epochs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)
        path = train("rnp", config, reviews(16, seed=0), reviews(8, seed=1), labels=REVIEW_LABELS)
    model = Rationalizer.from_pretrained(path, device="cpu")
    examples = [
        Example("a", ("the soup was fine, the place was not",), label=1, rationale=(((4, 17),),)),
        Example("b", ("no idea",), label=0, rationale=((),)),
    ]
    texts = texts_to_test(model, examples)
    assert marked_share(texts) == pytest.approx(3 / 11)  # soup, was, fine; the comma is a token of its own

    class Always:
        """Chooses the first two tokens of each text, and says 1."""

        budget, device = 64, model.device
        embed, borrowed = model.embed, model.borrowed

        def chosen(self, batch):
            return torch.arange(batch.width).expand_as(batch.ids) < 2

        def logits(self, batch):
            return torch.tensor([[0.0, 1.0]]).expand(len(batch), 2)

    assert scored(Always(), texts) == pytest.approx((4 / 11, 0.5, 1 / 4, 1 / 3, 2 / 7))
    with pytest.raises(InputError, match="need class numbers"):
        texts_to_test(model, [Example("c", ("no idea",), label="good")])


def test_rows_stand_beside_what_was_published() -> None:
    runs = [
        {"name": "VER", "data": "toy", "marked": 0.1, "sparsity": s, "accuracy": 1.0, "precision": 0.5, "recall": 0.5,
         "f1": 0.5}
        for s in (0.1, 0.2)
    ]  # fmt: skip
    rows = rows_beside(runs, "toy VER 15.0 80.0 60.0 40.0 48.0")
    share = next(row for row in rows if row.metric == "S")
    assert (share.mean, share.n, share.paper) == (pytest.approx(15.0), 2, 15.0)
    assert share.std == pytest.approx(100 * np.std([0.1, 0.2], ddof=1))
    assert next(row for row in rows if row.metric == "F1").paper == 48.0


def put_sst2(folder: Path) -> None:
    """A few sentences where the named set looks for them."""
    texts = ["good food", "the food was bad", "so good", "awful soup", "great and tasty", "we hated it"]
    for split in ("train", "dev", "test"):
        table = pa.table({"text": texts * 2, "label": [1, 0, 1, 0, 1, 0] * 2})
        (folder / "cls" / "sst2").mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / "cls" / "sst2" / f"{split}.parquet")


@pytest.fixture
def small(tmp_path: Path, monkeypatch) -> tuple[str, ...]:
    """Options for tables about REGEX that take seconds."""
    put_sst2(tmp_path)
    encoder = tmp_path / "encoder"
    network("bert").base_model.save_pretrained(encoder)
    tokenizer().save_pretrained(encoder)
    monkeypatch.setattr(regex_training, "EPOCHS", {"sst2": 1})
    monkeypatch.setattr(regex_training, "LENGTH", 32)
    return (
        "--encoder", str(encoder), "--data-dir", str(tmp_path), "--out", str(tmp_path / "results"), "--device", "cpu",
    )  # fmt: skip


def test_regex_is_compared_with_its_baseline(call, small) -> None:
    status, out, err = call("regex-table4", "--seeds", "1", "--part", "terms", *small)
    assert status == 0, err
    rows = json.loads(Path(out.strip()).with_suffix(".json").read_text())["rows"]
    assert {row["method"] for row in rows} == set(regex_table4.ABLATIONS)
    figures = [row for row in rows if row["metric"] in ("sufficiency", "comprehensiveness")]
    assert {row["explainer"] for row in figures} == set(regex_table1.ATTRIBUTIONS)
    assert all(0 <= row["mean"] <= 1 for row in rows)


@pytest.mark.parametrize(
    ("setting", "option", "value"), [("lighter", "gradient_weight", 0.01), ("stronger", "size", 0.5)]
)
def test_a_setting_of_its_own_stands_in_the_same_table(call, small, monkeypatch, setting, option, value) -> None:
    monkeypatch.setattr(regex_table1, "TESTS", {"sst2": ("sst2",)})
    status, out, err = call("regex-table1", "--part", f"sst2-{setting}", "--seeds", "1", *small)
    assert status == 0, err
    rows = json.loads(Path(out.strip()).with_suffix(".json").read_text())["rows"]
    assert {(row["method"], row["train"], row["data"]) for row in rows} == {(f"REGEX, {setting}", "sst2", "sst2")}
    assert [0 <= row["mean"] <= 1 for row in rows if row["metric"] == "saturation"] == [True]
    (made,) = (Path(small[5]) / "models").glob(f"*/REGEX,-{setting}-1/rationales.json")
    assert json.loads(made.read_text())["run"]["config"][option] == value != regex_training.REGEX[option]


def test_other_tables_share_the_models(call, small, monkeypatch) -> None:
    monkeypatch.setattr(regex_table2, "TESTS", {"sst2": ("sst2", "yelp")})
    monkeypatch.setattr(regex_table2, "splits", lambda _, data_dir: regex_training.splits("sst2", data_dir))
    monkeypatch.setattr(regex_table2, "MEASURED", 5)
    metrics = {}
    for table in ("regex-table2", "regex-table3", "regex-table6"):
        status, out, err = call(table, "--part", "sst2", "--seeds", "1,2", *small)
        assert status == 0, err
        rows = json.loads(Path(out.strip()).with_suffix(".json").read_text())["rows"]
        assert {row["method"] for row in rows} == {"baseline", "REGEX"}
        metrics[table] = {row["metric"] for row in rows}
        if table == "regex-table2":
            known = {(row["data"], row["method"], row["explainer"]): row["paper"] for row in rows[::2]}
            assert all(row["metric"].startswith("agreement") and 0 <= row["mean"] <= 100 for row in rows[1::2])
            assert known.keys() == {key for key in regex_table2.published() if key[0] != "imdb"}
            assert known["yelp", "REGEX", "attention"] == 76.5
            (made, *_) = (Path(small[5]) / "models").glob("*/REGEX-1-fresh/attention/fresh.json")
            sizes = json.loads(made.read_text())["texts"]
            assert sizes["yelp"] == 5 < sizes["sst2"]
    assert metrics["regex-table2"] == {"macro F1 of rationales", "agreement with what is explained"}
    assert metrics["regex-table3"] == {"Jaccard between seeds", "Jaccard with untrained"}
    assert "success rate" in metrics["regex-table6"]
    models = sorted((Path(small[5]) / "models" / "regex-sst2").iterdir())
    assert {path.name for path in models} >= {"baseline-1", "baseline-2", "REGEX-1", "REGEX-2"}


def test_trainings_go_on_in_several_processes(call, small) -> None:
    status, out, err = call("regex-table6", "--part", "sst2", "--seeds", "1", "--workers", "2", *small)
    assert status == 0, err
    assert "2 of 2 are done" in err
    rows = json.loads(Path(out.strip()).with_suffix(".json").read_text())["rows"]
    assert [row["method"] for row in rows[:: len(rows) // 2]] == ["baseline", "REGEX"]


def test_overlap_of_tokens_is_that_of_the_metric(tmp_path: Path, monkeypatch) -> None:
    assert regex_table3._jaccard([[0, 1], [2]], [[1, 2], [2]]) == pytest.approx((1 / 3 + 1) / 2)
    put_sst2(tmp_path)
    options = Options(out=tmp_path, data_dir=str(tmp_path), seeds=(0, 1), device="cpu")
    jobs = regex_training.jobs({"REGEX": {}}, "sst2", options)
    monkeypatch.setattr(regex_training.Job, "trained", lambda job: classifier("bert", seed=job.config.seed))
    one, other = (regex_table3.best_tokens(job)[0]["chosen"] for job in jobs)
    texts = regex_training.sample(regex_training.splits("sst2", str(tmp_path))[2])
    explained = [list(explain(job.trained(), texts, "scaled_attention")) for job in jobs]
    overlaps = jaccard(None, *explained)
    assert 0 < overlaps.mean() < 1
    assert regex_table3._jaccard(one, other) == pytest.approx(overlaps.mean())


def test_attacks_stand_beside_the_papers_where_the_data_are_its_own() -> None:
    shares = {"accuracy": 0.9, "accuracy_under_attack": 0.8, "success_rate": 0.1, "words_changed": 0.2, "queries": 30.0}
    flipped = {"sst2": math.nan, "imdb": 0.3}  # of nothing, and of something
    found = [
        {"name": "REGEX", "data": data, **shares, "words_changed_flipped": flipped[data]}
        for data in ("sst2", "imdb", "imdb")
    ]
    rows = {(row.data, row.metric): row for row in regex_table6.attack_rows(found)}
    assert rows["imdb", "success rate"].mean == pytest.approx(10)
    assert rows["imdb", "success rate"].paper == 3.23
    assert rows["imdb", "queries"].mean == 30
    assert rows["imdb", "queries"].n == 2
    assert rows["sst2", "queries"].paper is None
    assert rows["imdb", "words changed where it flipped"].mean == pytest.approx(30)
    assert rows["imdb", "words changed where it flipped"].paper == 39.06
    assert rows["imdb", "words changed"].paper is None
    assert ("sst2", "words changed where it flipped") not in rows


@pytest.mark.parametrize(
    ("name", "removed"),
    [
        ("without robustness", {"gradient_weight", "adversarial_weight"}),
        ("without guidance", {"guidance_weight"}),
        ("without adversarial term", {"adversarial_weight"}),
        ("without gradient term", {"gradient_weight"}),
    ],
)
def test_without_a_term_all_others_are_as_they_were(name: str, removed: set[str]) -> None:
    whole, less = (regex.Config(**regex_table4.ABLATIONS[kind]) for kind in ("REGEX", name))
    changed = {field for field, value in vars(whole).items() if vars(less)[field] != value}
    assert changed - {"site", "size"} == removed  # which say nothing where nothing is perturbed
    assert not any(vars(less)[field] for field in removed)
    assert "site" not in changed or "adversarial_weight" in removed


def test_figures_of_the_paper_are_read() -> None:
    known = regex_table1.published()
    assert known["sst2", "sst2", "REGEX"]["sufficiency", "scaled_attention"] == pytest.approx(0.68 * 1.2)
    assert known["yelp", "imdb", "baseline"]["comprehensiveness", "integrated_gradients"] == pytest.approx(0.24 * 1.2)
    assert known["amazon-digital-music", "amazon-musical-instruments", "baseline"]["macro F1", ""] == pytest.approx(
        0.612
    )
    assert {len(figures) for figures in known.values()} == {13}
    assert len(known) == 13 * 2


def found_of(name: str, seed: int, value: float, train: str = "sst2", **more: float) -> dict[str, object]:
    """What `regex-table1` finds in a training whose figures are all the same."""
    figures = {each: {"sufficiency": value, "comprehensiveness": value} for each in regex_table1.ATTRIBUTIONS}
    return {"name": name, "train": train, "data": train, "seed": seed, "macro_f1": value, **figures, **more}


def test_gains_are_differences_between_trainings_with_the_same_seed() -> None:
    found = [
        *(found_of("baseline", seed, value) for seed, value in ((1, 0.3), (2, 0.5), (3, 0.9))),
        *(found_of("REGEX", seed, value) for seed, value in ((1, 0.35), (2, 0.57))),
        found_of("REGEX, lighter", 7, 0.5),
    ]
    gains = regex_table1.gains(found)
    assert {row.method for row in gains} == {"REGEX − baseline"}
    assert {(row.metric, row.explainer) for row in gains} == {
        ("macro F1", None),
        *((metric, name) for metric in regex_table1.METRICS for name in regex_table1.ATTRIBUTIONS),
    }
    for row in gains:
        assert (row.mean, row.n, row.std) == (pytest.approx(0.06), 2, pytest.approx(0.02 / math.sqrt(2)))
        assert row.margin == pytest.approx(12.706 * 0.01, rel=1e-3)  # Student's t with one degree of freedom
    by_place = {(row.metric, row.explainer): row for row in gains}
    assert by_place["comprehensiveness", "attention"].note == "wanted: +0.08 at least; missed"
    assert by_place["comprehensiveness", "deeplift"].note == "wanted: +0.04 at least"
    assert by_place["comprehensiveness", "deeplift"].paper == pytest.approx(1.2 * (0.52 - 0.25))
    assert by_place["comprehensiveness", "random"].note is None


def test_saturation_is_shown_where_it_was_measured() -> None:
    runs = [found_of("baseline", 1, 0.3, saturation=0.1), found_of("REGEX", 1, 0.4, saturation=0.25)]
    (gain,) = (row for row in regex_table1.gains(runs) if row.metric == "saturation")
    assert gain.mean == pytest.approx(0.15)
    shares = {row.method: row.mean for row in regex_table1.rows(runs) if row.metric == "saturation"}
    assert shares == {"baseline": 0.1, "REGEX": 0.25}
    assert all(row.metric != "saturation" for row in regex_table1.rows([*runs, found_of("REGEX", 2, 0.4)][1:]))


def test_every_training_of_the_ablation_is_published() -> None:
    known = regex_table4.published()
    trained = set(regex_table4.ABLATIONS) | set(regex_table4.GUIDES)
    assert {name for _, _, name in known} == trained - {"REGEX", "baseline"}
    settings = [regex.Config(**kind) for kind in regex_table4.GUIDES.values()]
    assert len({(each.guide, each.aggregate) for each in settings}) == 7
    assert known["sst2", "sst2", "without guidance"]["macro F1", ""] == pytest.approx(0.8519)
    assert known["sst2", "sst2", "deeplift, mean"]["comprehensiveness", "attention"] == pytest.approx(0.66 * 1.2)
    assert ("macro F1", "") not in known["sst2", "sst2", "without gradient term"]


def test_products_are_exact_again_after_a_table() -> None:
    @quick_products()
    def compute() -> None:
        inside.append(torch.get_float32_matmul_precision())
        raise KeyError

    inside: list[str] = []
    before = torch.get_float32_matmul_precision()
    with pytest.raises(KeyError):
        compute()
    assert inside == ["high"]
    assert torch.get_float32_matmul_precision() == before


def test_whoever_chose_how_exact_products_are_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def mixed() -> str:
        raise RuntimeError("mix of the legacy and new APIs")

    before = torch.get_float32_matmul_precision()
    with monkeypatch.context() as patch:
        patch.setattr(torch, "get_float32_matmul_precision", mixed)
        with quick_products():
            pass
    assert torch.get_float32_matmul_precision() == before
