import json
import logging
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rationales.data import Columns, Example, gold_selection, load
from rationales.data.tables import Parquet
from rationales.errors import DataError, InputError


def jsonl(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def only(dataset):
    (example,) = dataset
    return example


def marked(example):
    return [
        [text[start:end] for start, end in spans] for text, spans in zip(example.texts, example.rationale, strict=True)
    ]


def test_the_same_rows_in_every_format(tmp_path):
    rows = [{"text": "a dull film", "label": 0}, {"text": "a warm, clever film", "label": 1}]
    (tmp_path / "same.csv").write_text('text,label\na dull film,0\n"a warm, clever film",1\n')
    (tmp_path / "same.tsv").write_text("text\tlabel\na dull film\t0\na warm, clever film\t1\n")
    jsonl(tmp_path / "same.jsonl", *rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "same.parquet")
    expected = [Example("same-1", ("a dull film",), 0), Example("same-2", ("a warm, clever film",), 1)]
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        dataset = load(tmp_path / f"same.{suffix}")
        assert dataset.name == "same"
        assert dataset.labels is None
        assert list(dataset) == expected
        assert list(dataset) == expected, "a second iteration reads the file again"


def test_plain_text(tmp_path):
    (tmp_path / "lines.txt").write_text("one\n\ntwo\n")
    assert list(load(tmp_path / "lines.txt")) == [Example("lines-1", ("one",)), Example("lines-3", ("two",))]


def test_pairs_regression_ids_and_meta(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", {"s": "Guten Tag", "t": "Good day", "q": 0.5, "key": 7, "lang": "de-en"})
    columns = Columns(text="s", pair="t", label="q", id="key", meta="lang")
    example = only(load(path, columns=columns))
    assert example == Example("7", ("Guten Tag", "Good day"), 0.5, meta={"lang": "de-en"})


def test_explanations_in_several_columns_and_in_lists(tmp_path):
    path = jsonl(
        tmp_path / "a.jsonl",
        {"text": "a", "explanation_1": "first", "explanation_2": None, "why": ["second", " ", "third"]},
    )
    assert only(load(path)).sentences == ("first",)
    columns = Columns(explanation="explanation_1, explanation_2, why")
    assert only(load(path, columns=columns)).sentences == ("first", "second", "third")


def test_multiple_choice_as_a_list_and_in_columns(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", {"question": "Which is warm?", "choices": ["ice", "fire"], "answer": "B"})
    example = only(load(path))
    assert (example.texts, example.choices, example.label) == (("Which is warm?",), ("ice", "fire"), 1)
    (tmp_path / "b.csv").write_text("context,end0,end1,label\nIt rained and,he got wet,he got dry,0\n")
    example = only(load(tmp_path / "b.csv", columns=Columns(text="context", choices="end0,end1")))
    assert (example.choices, example.label) == (("he got wet", "he got dry"), 0)


def test_tokens_are_joined_and_flags_count_them(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", {"tokens": ["New York", "is", "big"], "label": 1, "rationale": [1, 0, 1]})
    example = only(load(path))
    assert example.texts == ("New York is big",)
    assert marked(example) == [["New York", "big"]]


def test_tokens_beside_the_raw_text(tmp_path):
    row = {"text": 'Such "art"!', "tokens": ["Such", '"', "art", '"', "!"], "rationale": [0, 0, 1, 1, 1]}
    columns = Columns(text="text", tokens="tokens", rationale="rationale")
    assert marked(only(load(jsonl(tmp_path / "a.jsonl", row), columns=columns))) == [['art"!']]


def test_tokens_that_are_no_tokens(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", {"text": "so odd", "rationale": [1], "tokens": 5})
    columns = Columns(tokens="tokens", rationale_format="token_indices")
    with pytest.raises(DataError, match="row 1: column 'tokens' must hold tokens, got int"):
        list(load(path, columns=columns))


def test_rationales_of_a_pair_on_one_side_and_of_several_people(tmp_path):
    row = {
        "premise": "A man sleeps outside",
        "hypothesis": "A man runs fast",
        "p1": [2],
        "h1": [2],
        "p2": None,
        "h2": [2, 3],
    }
    path = jsonl(tmp_path / "a.jsonl", row)
    columns = Columns(rationale="p1,p2", pair_rationale="h1,h2")
    assert marked(only(load(path, columns=columns))) == [["sleeps"], ["runs fast"]]
    assert marked(only(load(path, columns=Columns(pair_rationale="h1")))) == [[], ["runs"]]
    assert only(load(path, columns=Columns(rationale="p2"))).rationale is None


def test_marked_and_unmarked_and_not_asked(tmp_path):
    path = jsonl(
        tmp_path / "a.jsonl",
        {"text": "a b c", "rationale": [0, 2]},
        {"text": "a b c", "rationale": []},
        {"text": "a b c", "rationale": None},
        {"text": "a b c"},
    )
    assert [example.rationale for example in load(path)] == [(((0, 1), (4, 5)),), ((),), None, None]


PAIR = {"premise": "a red hat", "hypothesis": "blue it is"}
LINKS = Columns(alignment="links")


def test_links_between_two_texts(tmp_path):
    links = [[[2, 5], [0, 4]], [[6, 9], [5, 7]]]
    rows = [{**PAIR, "links": value} for value in (links, json.dumps(links), [], None, "")]
    found = [example.alignment for example in load(jsonl(tmp_path / "p.jsonl", *rows), columns=LINKS)]
    assert found == [(((2, 5), (0, 4)), ((6, 9), (5, 7)))] * 2 + [(), None, None]
    pq.write_table(pa.Table.from_pylist(rows[:1]), tmp_path / "p.parquet")
    assert only(load(tmp_path / "p.parquet", columns=LINKS)).alignment == found[0]
    assert only(load(tmp_path / "p.parquet")).alignment is None  # only where it is said


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (PAIR | {"links": [[[2, 5]]]}, "links must be a list of"),
        (PAIR | {"links": [[2, 5], [0, 4]]}, "links must be a list of"),
        (PAIR | {"links": [[[2, 5], [0, 4.5]]]}, "links must be a list of"),
        (PAIR | {"links": "red: blue"}, "got 'red: blue'"),
        (PAIR | {"links": 3}, "got 3"),
        (PAIR | {"links": [[[2, 5], [0, 40]]]}, r"span \[0, 40\) does not lie in text 1"),
        ({"text": "a red hat", "links": [[[2, 5], [0, 4]]]}, r"span \[0, 4\) does not lie in text 1"),
    ],
)
def test_links_that_are_none(tmp_path, row, reason):
    with pytest.raises(DataError, match=reason):
        list(load(jsonl(tmp_path / "p.jsonl", row), columns=LINKS))


@pytest.mark.parametrize(
    ("rationales", "format"),
    [
        ([[0, 0, 1], [1, 0, 0]], "token_flags"),
        ([[2], [0, 1]], "token_indices"),
        ([[[4, 6]], [[0, 3]]], "char_spans"),  # one row ends behind the last token, so tokens are not meant
    ],
)
def test_the_format_of_rationales_is_told_from_the_rows(tmp_path, rationales, format):
    path = jsonl(tmp_path / "a.jsonl", *({"text": "so odd here", "rationale": one} for one in rationales))
    assert load(path).columns.rationale_format == format


@pytest.mark.parametrize(
    ("rationales", "choices"),
    [
        ([[[0, 1]], [[1, 3]]], "char_spans or token_spans"),
        ([[0, 1, 0], [1, 2]], "token_flags or token_indices"),
    ],
)
def test_an_ambiguous_format_must_be_said(tmp_path, rationales, choices):
    path = jsonl(tmp_path / "a.jsonl", *({"text": "so odd here", "rationale": one} for one in rationales))
    with pytest.raises(
        InputError, match=rf"a\.jsonl: the rationales could be {choices}; say which with rationale_format"
    ):
        load(path)


def test_the_format_is_looked_for_in_good_rows_and_in_no_more_than_needed(tmp_path):
    rows = [{"text": "", "rationale": [1]}, *[{"text": "so odd here", "rationale": [1, 2]}] * 201]
    path = jsonl(tmp_path / "a.jsonl", *rows, {"text": "so odd here", "rationale": [0, 1, 0]})
    assert load(path).columns.rationale_format == "token_indices"


def test_a_format_that_is_said(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", {"text": "so odd here", "rationale": [[0, 2]]})
    assert marked(only(load(path, columns=Columns(rationale_format="token_spans")))) == [["so odd"]]
    assert marked(only(load(path, columns=Columns(rationale_format="char_spans")))) == [["so"]]


def test_loaded_rationales_become_gold_explanations(tmp_path):
    (tmp_path / "a.csv").write_text("text,label,rationale\na truly dull film,0,0 1 1 0\n")
    gold = gold_selection(only(load(tmp_path / "a.csv")))
    assert gold is not None
    assert [token.text for token, keep in zip(gold.tokens, gold.body.keep, strict=True) if keep] == ["truly", "dull"]


BAD_ROWS = (
    ({"label": 1}, "no text in column 'text'"),
    ({"text": None, "label": 1}, "no text in column 'text'"),
    ({"text": 5}, "column 'text' must hold a text, got int"),
    ({"text": ["a", 5]}, "column 'text' must hold a text, got list"),
    ({"text": " \t "}, "empty text in column 'text'"),
    ({"text": []}, "empty text in column 'text'"),
    ({"text": "half \ud83d"}, "'half \\ud83d' holds a character that does not exist"),
    ({"text": "a", "why": "half \ud83d"}, "a character that does not exist"),
    ({"text": "a", "id": "half \ud83d"}, "a character that does not exist"),
    ({"text": "a b", "rationale": [1]}, "1 flags, but the text has 2 tokens"),
    ({"text": "a b", "rationale": "much"}, "a rationale must be a list"),
    ({"text": "a", "label": {"x": 1}}, "a label must be a number or a name, got dict"),
    ({"text": "a", "why": 3}, "column 'why' must hold reasons in words, got int"),
)


@pytest.mark.parametrize(("row", "reason"), BAD_ROWS)
def test_bad_rows_are_reported_with_file_row_and_reason(tmp_path, row, reason):
    path = jsonl(tmp_path / "a.jsonl", {"id": 1, "text": "fine", "label": 0, "rationale": [1], "why": ""}, row)
    columns = Columns(rationale_format="token_flags", explanation="why")
    with pytest.raises(DataError) as caught:
        list(load(path, columns=columns))
    assert (caught.value.file, caught.value.row) == (str(path), 2)
    assert str(caught.value).startswith(f"{path}, row 2: ")
    assert reason in caught.value.reason


def test_bad_rows_can_be_skipped_and_are_counted(tmp_path, caplog):
    rows = [{"text": f"row {number}" if number % 2 else ""} for number in range(100)]
    dataset = load(jsonl(tmp_path / "a.jsonl", *rows), on_error="skip")
    with caplog.at_level(logging.WARNING, logger="rationales.data"):
        assert len(list(dataset)) == 50
    assert dataset.skipped_count == 50
    assert [error.row for error in dataset.skipped] == list(range(1, 40, 2)), "only the first are kept"
    assert "a: skipped 50 bad rows, such as: " in caplog.text
    assert f"{tmp_path / 'a.jsonl'}, row 1: empty text" in caplog.text
    assert len(list(dataset)) == 50
    assert dataset.skipped_count == 50, "each iteration counts anew"


def test_skipping_everything_is_an_error(tmp_path):
    dataset = load(jsonl(tmp_path / "a.jsonl", {"text": ""}, {"text": ""}), on_error="skip")
    with pytest.raises(DataError, match=r"all 2 rows are bad; the first: .*row 1: empty text"):
        list(dataset)


def test_a_limit_does_not_read_on(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", {"text": "one"}, {"text": "two"}, {"text": ""})
    assert [example.texts[0] for example in load(path, limit=2)] == ["one", "two"]
    assert list(load(path, limit=0)) == []


def test_folds_share_no_text_and_lose_none(tmp_path):
    path = jsonl(tmp_path / "a.jsonl", *({"text": f"text {number % 150}"} for number in range(300)))
    data = load(path)
    parts = [[example.texts for example in data.folds([number])] for number in range(10)]
    assert sum(map(len, parts)) == 300
    assert all(parts)
    assert sum(len(set(part)) for part in parts) == 150
    assert [example.texts for example in data.folds(range(9)).folds([3, 9])] == parts[3]
    with pytest.raises(InputError, match="from 0 to 9"):
        data.folds([10])


@pytest.mark.parametrize("options", [{"on_error": "ignore"}, {"limit": -1}])
def test_bad_options(tmp_path, options):
    with pytest.raises(InputError, match=next(iter(options))):
        load(jsonl(tmp_path / "a.jsonl", {"text": "a"}), **options)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("nowhere/at/all.csv", "no file or directory is at"),
        ("nowhere.csv", "no file or directory is at"),
        ("./nowhere", "no file or directory is at"),
        ("sst3", "is no file, no directory and no named data set.*Named sets: .*sst2"),
    ],
)
def test_sources_that_do_not_exist(source, reason):
    with pytest.raises(InputError, match=reason):
        load(source)


def test_a_file_has_no_splits(tmp_path):
    with pytest.raises(InputError, match="has no splits"):
        load(jsonl(tmp_path / "a.jsonl", {"text": "a"}), split="train")


def test_a_directory_with_one_file_per_split(tmp_path):
    jsonl(tmp_path / "train.jsonl", {"text": "a"})
    (tmp_path / "validation.csv").write_text("text\nb\n")
    (tmp_path / "README.md").write_text("words")
    assert only(load(tmp_path, split="dev")).texts == ("b",)
    with pytest.raises(InputError, match="has the splits train, validation; choose one"):
        load(tmp_path)


def test_a_directory_without_data(tmp_path):
    with pytest.raises(InputError, match="holds no data: wanted are files"):
        load(tmp_path)


ANSWERS = [{"question": "Was it good?", "answer": f"Yes, it was good {number}.", "label": 1} for number in range(3)]


@pytest.mark.parametrize("columns", [Columns(), Columns(text="question"), Columns(meta="label", label="")])
def test_a_column_of_texts_that_is_left_out_is_told(tmp_path, columns):
    path = jsonl(tmp_path / "a.jsonl", *ANSWERS)
    with pytest.warns(UserWarning, match=r"from the column 'question'.*; left out: 'answer', .*--pair-column answer"):
        dataset = load(path, columns=columns)
    assert [example.texts for example in dataset] == [("Was it good?",)] * 3


def test_what_is_left_out_of_alike_splits_is_told_once(tmp_path):
    for split in ("train", "dev"):
        jsonl(tmp_path / f"{split}.jsonl", *ANSWERS)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for split in ("train", "dev"):
            load(tmp_path, split=split)
    assert len(told) == 1


@pytest.mark.parametrize(
    "columns", [Columns(pair="answer"), Columns(pair=""), Columns(meta="answer"), Columns(explanation="answer")]
)
def test_a_column_that_is_named_is_not_told(tmp_path, columns):
    load(jsonl(tmp_path / "a.jsonl", *ANSWERS), columns=columns)


@pytest.mark.parametrize(
    "values",
    [
        ["Ann Lee", "Bob Ray", "Cy Hu"],
        ["2024-05-01 10:00:00 +00:00 1 2", "2024-05-02 10:00:00 +00:00 3 4"],
        ["https://example.org/a-long-way/to/a/page", "https://example.org/b"],
        ["c0ffee-12-ab", "deadbeef-34-cd"],
        ["very good", "so very good", "bad", ""],
        [3, "it was so good", "it was so bad"],
        [["a", "b", "c"], ["d", "e", "f"]],
        [None, None],
    ],
)
def test_what_is_no_text_may_be_left_out(tmp_path, values):
    load(jsonl(tmp_path / "a.jsonl", *({"text": "It was good.", "other": value} for value in values)))


def test_a_column_that_cannot_be_decoded_may_be_left_out(tmp_path, monkeypatch):
    rows = Parquet.rows

    def read(table, columns=None):
        if "picture" in columns:
            raise ImportError("no decoder")
        return rows(table, columns)

    monkeypatch.setattr(Parquet, "rows", read)
    pq.write_table(pa.table({"text": ["It was good."], "picture": [b"\x00"]}), tmp_path / "a.parquet")
    assert only(load(tmp_path / "a.parquet")).texts == ("It was good.",)
