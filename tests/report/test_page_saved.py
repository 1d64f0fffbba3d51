"""Saved explanations on a page: what belongs together is put together, and what does not is refused."""

from pathlib import Path

import pytest
from made_cases import cases, explanation

from rationales.comparison.types import Case
from rationales.data.gold import gold_selection
from rationales.data.planted import reviews
from rationales.errors import FileFormatError, InputError
from rationales.explanation import Explanation, Explanations, Provenance, Target
from rationales.report import cases_of


def saved(path: Path, explanations: list[Explanation]) -> Path:
    if path.suffix == ".jsonl":
        Explanations(explanations).to_jsonl(path)
    else:
        Explanations(explanations).save(path)
    return path


def by(method: str, ids: str, model: str = "m") -> list[Explanation]:
    return [explanation(f"text {id}", id=id, method=method, model=model) for id in ids]


def laid_out(found: list[Case]) -> list[tuple[str, str, list[str]]]:
    return [(case.model, case.id, list(case.explanations)) for case in found]


def test_files_side_by_side_in_the_order_they_are_given(tmp_path):
    given = list(cases(40))
    methods = ["lime", "human", "gradient"]
    files = [saved(tmp_path / f"{name}.parquet", [case.explanations[name] for case in given]) for name in methods]
    found = list(cases_of(files))
    assert laid_out(found) == [("reviews-model", case.id, methods) for case in given]
    for one, other in zip(found, given, strict=True):
        assert (one.predicted, one.probability, one.texts) == (other.predicted, other.probability, other.texts)
        assert one.explanations["lime"].body.values.tolist() == other.explanations["lime"].body.values.tolist()


def test_other_orders_and_missing_texts(tmp_path):
    files = [
        saved(tmp_path / "one.parquet", by("one", "abcd")),
        saved(tmp_path / "two.jsonl", by("two", "dxba")),
        saved(tmp_path / "three.parquet", by("three", "yxc")),
    ]
    assert laid_out(list(cases_of(files))) == [
        ("m", "a", ["one", "two"]),
        ("m", "b", ["one", "two"]),
        ("m", "c", ["one", "three"]),
        ("m", "d", ["one", "two"]),
        ("m", "x", ["two", "three"]),
        ("m", "y", ["three"]),
    ]


def test_models_are_kept_apart_and_what_is_of_none_goes_with_all(tmp_path):
    people = [explanation(f"text {id}", id=id, method="human", model="") for id in "zab"]
    files = [
        saved(tmp_path / "people.parquet", people),
        saved(tmp_path / "other_tool.parquet", by("shap", "bq", model="")),
        saved(tmp_path / "big.parquet", by("lime", "ab", model="big")),
        saved(tmp_path / "small.parquet", by("lime", "ab", model="small")),
    ]
    names = ["lime (big)", "lime (small)"]
    assert laid_out(list(cases_of(files))) == [
        ("big", "a", ["human", names[0]]),
        ("big", "b", ["human", "shap", names[0]]),
        ("small", "a", ["human", names[1]]),
        ("small", "b", ["human", "shap", names[1]]),
        ("", "q", ["shap"]),  # nobody else has it, but it is not lost
    ]


def test_people_alone_are_enough(tmp_path):
    gold = [gold_selection(example) for example in reviews(3)]
    found = list(cases_of([saved(tmp_path / "gold.parquet", gold)]))
    assert [list(case.explanations) for case in found] == [["human"]] * 3


def test_the_true_label_is_what_people_explain(tmp_path):
    def target(explained: Explanation, index: int, label: str, method: str) -> Explanation:
        made = Provenance(method, {}, "" if method == "human" else "m")
        return Explanation(explained.id, explained.texts, explained.tokens, Target(index, label), explained.body, made)

    base = by("x", "abcd")
    said = [target(one, 1, "good", "lime") for one in base]
    people = [target(base[0], 1, "1", "human"), target(base[1], 0, "0", "human"), target(base[2], -1, "good", "human")]
    people.append(target(base[3], -1, "", "human"))
    files = [saved(tmp_path / "lime.parquet", said), saved(tmp_path / "people.parquet", people)]
    found = list(cases_of(files))
    assert [(case.label, case.right) for case in found] == [("good", True), ("0", False), ("good", True), (None, None)]


def test_names_of_files_tell_equal_methods_apart(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    files = [saved(tmp_path / name / "lime.parquet", by("lime", "x")) for name in ("a", "b")]
    files.append(saved(tmp_path / "lime20.parquet", by("lime", "x")))
    (found,) = cases_of(files)
    assert list(found.explanations) == [f"lime ({files[0]})", f"lime ({files[1]})", "lime (lime20)"]


def test_files_that_do_not_go_on_one_page(tmp_path):
    lime = saved(tmp_path / "lime.parquet", by("lime", "ab"))
    mixed = saved(tmp_path / "mixed.parquet", by("lime", "a") + by("random", "b"))
    with pytest.raises(InputError, match="by lime and by random; save each method to a file of its own"):
        list(cases_of([mixed]))
    twice = saved(tmp_path / "twice.parquet", by("shap", "aa"))
    with pytest.raises(InputError, match="explains 'a' twice"):
        list(cases_of([lime, twice]))
    other = saved(tmp_path / "other.parquet", [explanation("another text", id="b", method="shap")])
    with pytest.raises(InputError, match="different texts under the id 'b'"):
        list(cases_of([lime, other]))
    with pytest.raises(InputError, match="is given twice"):
        list(cases_of([lime, lime]))
    with pytest.raises(InputError, match="there are no explanations in"):
        list(cases_of([lime, saved(tmp_path / "empty.parquet", [])]))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="there is no file or directory"):
        list(cases_of([tmp_path / "missing.parquet"]))
    (tmp_path / "table.csv").write_text("text")
    with pytest.raises(InputError, match=r"read from \.parquet or \.jsonl"):
        list(cases_of([tmp_path / "table.csv"]))
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(FileFormatError, match="damaged"):
        list(cases_of([tmp_path / "damaged.parquet"]))


def test_equal_orders_are_read_side_by_side(tmp_path):
    """Nothing waits longer than it must."""
    from rationales.report.saved import _Source

    one, two = (_Source(saved(tmp_path / f"{name}.parquet", by(name, "abcdefgh"))) for name in ("one", "two"))
    for explained in one.rest():
        assert two.take(explained) is not None
        assert not two._waiting
