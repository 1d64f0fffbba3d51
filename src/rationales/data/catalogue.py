"""The data sets that have a name: what is in their files, split by split. `docs/data.md` shows them as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any

from rationales.data.columns import Columns
from rationales.data.named import Files, Hub, NamedSet, fold, named_sets
from rationales.data.originals import BEER_ASPECTS, beer_annotations, beer_reviews, eraser_split, hotel_reviews
from rationales.data.spans import replaced
from rationales.data.tables import Row

__all__ = ["named_sets"]

_SENTIMENT = ("negative", "positive")
_NLI = ("entailment", "neutral", "contradiction")
_TRAIN, _DEV, _TEST = range(8), (8,), (9,)  # folds of sets that come without splits

# All parts are stated, so that nothing is guessed.
_BARE = Columns(text="text", pair="", label="", id="", choices="", explanation="", rationale="", pair_rationale="")
_SINGLE = replace(_BARE, label="label")
_PAIR = replace(_BARE, text="premise", pair="hypothesis", label="label")
_FLAGS = replace(_BARE, text="tokens", label="label", rationale="rationale", rationale_format="token_flags")


def _labelled(row: Row) -> Row | None:
    return row if row["label"] not in (None, "") else None


def _in_folds(folds: Collection[int]) -> Callable[[Row], Row | None]:
    return lambda row: row if fold(row["text"]) in folds else None


def _linked(row: Row) -> Row:
    """With links between the words in which a pair of sentences differs."""
    first, second = row["premise"], row["hypothesis"]
    if not (isinstance(first, str) and isinstance(second, str)):
        return row  # a bad row, which is reported when it is converted
    return {**row, "alignment": replaced(first, second) or None}


def _beer_score(row: Row, aspect: str) -> Row | None:
    """The customary classes: 2 stars of 5 or less, 3 or more; what lies between is left out."""
    score = row[f"score_{aspect}"]
    if 0.4 + 1e-6 < score < 0.6 - 1e-6:  # scores are single precision: 0.4 is stored as 0.40000001
        return None
    return {**row, "label": int(score > 0.5)}


def _beer_folds(aspect: str, folds: Collection[int]) -> Callable[[Row], Row | None]:
    return lambda row: _beer_score(row, aspect) if row["fold"] in folds else None


def _beer_marked(aspect: str, marked: Callable[[list[Any]], bool]) -> Callable[[Row], Row | None]:
    return lambda row: _beer_score(row, aspect) if marked(row[f"rationale_{aspect}"]) else None


def _beer(aspect: str) -> NamedSet:
    score, marks = f"score_{aspect}", f"rationale_{aspect}"
    heldout = (f"cls/beer_advocate/{aspect}_heldout.parquet",)
    folders = ("", "beer", "data/beer", "cls/beer_advocate")

    def folds(numbers: Collection[int], paths: tuple[str, ...] = heldout) -> Files:
        return Files(paths, _SINGLE, _beer_folds(aspect, numbers), (score, "fold"))

    def original(part: str) -> Files:
        return Files(
            (f"reviews.aspect{BEER_ASPECTS.index(aspect)}.{part}.txt.gz",),
            replace(_SINGLE, id="id"),
            lambda row: _beer_score(row, aspect),
            (score,),
            reader=partial(beer_reviews, stem=f"{aspect}_{part}"),
            folders=folders,
        )

    flags = replace(_FLAGS, id="review_id", rationale=marks)
    spans = replace(_FLAGS, rationale=marks, rationale_format="token_spans")
    needs = (score, marks)
    return NamedSet(
        f"Beer reviews by their score for {aspect}; people marked the words about it in the test split.",
        {
            "train": (folds(range(8)), original("train")),
            "dev": (folds((8, 9)), original("heldout")),
            "test": (
                Files(("cls/beer_advocate/annotations.parquet",), flags, _beer_marked(aspect, any), needs),
                Files(
                    ("annotations.json",),
                    spans,
                    _beer_marked(aspect, bool),
                    needs,
                    reader=beer_annotations,
                    folders=folders,
                ),
            ),
        },
        _SENTIMENT,
        balance=20226666,  # the seed in the code of Liu et al.
        larger=(folds(range(8), tuple(f"cls/beer_advocate/{each}_heldout.parquet" for each in BEER_ASPECTS[:4])),),
        notes="In the Parquet files, folds 0 to 7 of the published dev file are train, 8 and 9 are dev; in the first "
        "release each is a file. A score up to 0.4 is negative, from 0.6 positive; others, and reviews in which "
        f"nothing is marked, are left out. Not balanced; the train split of beer-{aspect}/balanced is. That of "
        f"beer-{aspect}/all is made of the Parquet files of four aspects: four times as large, but there what is said "
        "of one aspect tells more of the others.",
    )


def _hotel(aspect: str) -> NamedSet:
    path = f"cls/hotel_reviews/{aspect}"
    identified = replace(_SINGLE, id="review_id")

    def original(file: str, part: str, columns: Columns) -> Files:
        return Files(
            (file.format(aspect.capitalize()),),
            replace(columns, id="id"),
            _labelled,
            ("label",),
            reader=partial(hotel_reviews, stem=f"{aspect}_{part}"),
            folders=("", "data", "hotel", "cls/hotel_reviews"),
        )

    return NamedSet(
        f"Hotel reviews by their rating of {aspect}; people marked what is about it in the test split.",
        {
            "train": (
                Files((f"{path}_train.parquet",), identified),
                original("oracle/hotel_{}.train", "train", _SINGLE),
            ),
            "dev": (
                Files((f"{path}_dev.parquet",), identified),
                original("oracle/hotel_{}.dev", "dev", _SINGLE),
            ),
            "test": (
                Files((f"{path}_annotations.parquet",), replace(_FLAGS, id="review_id"), _labelled, ("label",)),
                original("target/hotel_{}.train", "annotations", replace(_FLAGS, text="text")),
            ),
        },
        _SENTIMENT,
        notes="In the Parquet files whole sentences are marked, in the first release words. Reviews without a label "
        "are left out.",
    )


def _amazon(products: str, stem: str) -> NamedSet:
    files, meta = (f"cls/{stem}/all.parquet",), replace(_SINGLE, meta="stars")
    folds = {"train": _TRAIN, "dev": _DEV, "test": _TEST}
    return NamedSet(
        f"Amazon reviews of {products} in three classes.",
        {split: (Files(files, meta, _in_folds(numbers), ("text",)),) for split, numbers in folds.items()},
        ("negative", "neutral", "positive"),
        notes="No published splits: folds of the texts' hash, 0 to 7 train, 8 dev, 9 test. Most reviews are positive.",
    )


def _asked(row: Row) -> Row:
    return {**row, "query": f"{row['query']} || {row['answer']}"}  # as the benchmark's own files write it


_READ = replace(
    _PAIR,
    text="query",
    pair="document",
    id="annotation_id",
    pair_rationale="rationale",
    rationale_format="token_flags",
)


_MARKED = replace(_READ, label="classification", pair_rationale="document_rationale", rationale_format="token_spans")


def _eraser(name: str, split: str, columns: Columns = _MARKED) -> Files:
    """The benchmark's own files."""
    folders = (name, f"eraser_{name}", f"data/{name}", f"cls/eraser_{name}")
    return Files((f"{split}.jsonl",), columns, reader=eraser_split, folders=folders)


def _movies(split: str) -> tuple[Files, ...]:
    marked = replace(_MARKED, text="document", pair="", rationale="document_rationale", pair_rationale="")
    files = Files((f"cls/eraser_movies/{split}.parquet",), replace(_FLAGS, id="doc_id"))
    return files, _eraser("movies", split, marked)


def _multirc(split: str, file: str) -> tuple[Files, ...]:
    documents = "cls/eraser_multirc/docs.parquet"
    files = Files((f"cls/eraser_multirc/{file}.parquet",), _READ, _asked, ("query", "answer"), documents)
    return files, _eraser("multirc", split)


def _fever(split: str) -> tuple[Files, ...]:
    files = Files((f"cls/eraser_fever/{split}.parquet",), _READ, documents="cls/eraser_fever/docs.parquet")
    return files, _eraser("fever", split)


_QUALITY = replace(
    _PAIR,
    text="source",
    pair="translation",
    label="da_z_mean",
    label_format="number",
    tokens="src_tok",
    pair_tokens="mt_tok",
    rationale="src_tags",
    pair_rationale="mt_tags",
    rationale_format="token_flags",
    meta="lang_pair,hter",
)


def _explained(annotators: int, meta: str = "") -> Columns:
    numbers = range(1, annotators + 1)
    return replace(
        _PAIR,
        id="pair_id",
        explanation=",".join(f"explanation_{k}" for k in numbers),
        rationale=",".join(f"premise_highlights_{k}" for k in numbers),
        pair_rationale=",".join(f"hypothesis_highlights_{k}" for k in numbers),
        rationale_format="token_indices",
        meta=meta,
    )


_QUESTION = replace(_BARE, text="question", choices="choices", id="id")
_ANSWERED = replace(
    _QUESTION,
    label="answer_index",
    explanation="explanation_open_ended",
    rationale="question_highlights",
    rationale_format="token_indices",
)
_IDENTIFIED = replace(_PAIR, id="pair_id")
_HUB_SPLITS = {"train": "train", "dev": "validation", "test": "test"}

_CATALOGUE = {
    "sst2": NamedSet(
        "Sentences from film reviews, Stanford Sentiment Treebank, two classes.",
        {split: (Files((f"cls/sst2/{split}.parquet",), _SINGLE),) for split in ("train", "dev", "test")},
        _SENTIMENT,
        Hub("stanfordnlp/sst2", _HUB_SPLITS, replace(_SINGLE, text="sentence")),
        notes="The hub's train split has phrases beside sentences, and its test split no labels.",
    ),
    "imdb": NamedSet(
        "Film reviews, two classes.",
        {
            split: (Files((f"cls/imdb/{split}.parquet",), replace(_SINGLE, meta="rating")),)
            for split in ("train", "test")
        },
        _SENTIMENT,
        Hub("stanfordnlp/imdb", {"train": "train", "test": "test"}, _SINGLE),
        notes="Raw text: line breaks are written <br />. No dev split.",
    ),
    "yelp": NamedSet(
        "Reviews of businesses, two classes.",
        {
            split: (
                Files((f"cls/yelp_reviews/{split}.parquet",), replace(_SINGLE, meta="stars"), _labelled, ("label",)),
            )
            for split in ("train", "test")
        },
        _SENTIMENT,
        notes="Reviews with three stars are left out. Most reviews are positive. No dev split.",
    ),
    "amazon-digital-music": _amazon("digital music", "amazon_digital_music"),
    "amazon-musical-instruments": _amazon("musical instruments", "amazon_musical_instruments"),
    **{f"beer-{aspect}": _beer(aspect) for aspect in ("appearance", "aroma", "palate", "taste")},
    **{f"hotel-{aspect}": _hotel(aspect) for aspect in ("location", "service", "cleanliness")},
    "eraser-movies": NamedSet(
        "Film reviews in which people marked the reasons for the verdict.",
        {"train": _movies("train"), "dev": _movies("val"), "test": _movies("test")},
        ("NEG", "POS"),
        notes="Test is marked more thoroughly than train and dev.",
    ),
    "multirc": NamedSet(
        "A question with an answer, and a document with the marked sentences that tell whether it is right.",
        {"train": _multirc("train", "train_part"), "dev": _multirc("val", "val"), "test": _multirc("test", "test")},
        ("False", "True"),
        notes="The first text is `question || answer`. In the Parquet files, train is a fifth of the published one.",
    ),
    "fever": NamedSet(
        "A claim, and a document with the marked sentences that support or refute it.",
        {"dev": _fever("val"), "test": _fever("test"), "train": (_eraser("fever", "train"),)},
        ("REFUTES", "SUPPORTS"),
        notes="Train is read from the files of ERASER only.",
    ),
    "mlqe-pe": NamedSet(
        "Sentences and machine translations with a quality score; the words that are wrong are marked.",
        {
            split: (Files((f"cls/mlqe_pe/{file}.parquet",), _QUALITY),)
            for split, file in (("train", "train"), ("dev", "dev"), ("test", "test20"), ("test21", "test21"))
        },
        variants=("en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en"),
        variant_column="lang_pair",
        notes="The label is the standardised mean of direct assessments (regression); HTER is in meta. Test is that of "
        "2020. mlqe-pe/et-en is one pair of languages.",
    ),
    "snli": NamedSet(
        "Pairs of sentences: whether the second follows from the first.",
        {
            "train": (Files(("nli/snli/train_first100k.parquet", "nli/snli/train_extra.parquet"), _IDENTIFIED),),
            "dev": (Files(("nli/snli/dev.parquet",), _IDENTIFIED),),
            "test": (Files(("nli/snli/test.parquet",), _IDENTIFIED),),
        },
        _NLI,
        Hub("stanfordnlp/snli", _HUB_SPLITS, _PAIR),
        notes="Train is a fifth of the published one, which the hub has whole; there, pairs without a gold label have "
        "the label None.",
    ),
    "esnli": NamedSet(
        "SNLI with reasons in words, and for a part of the pairs the words that people marked.",
        {
            "train": (Files(("nli/esnli/train_subset.parquet",), _explained(1, meta="source")),),
            "dev": (Files(("nli/esnli/dev.parquet",), _explained(3)),),
            "test": (Files(("nli/esnli/test.parquet",), _explained(3)),),
        },
        _NLI,
        notes="Dev and test have three reasons each, and a word counts as marked if one of three people marked it. "
        "Train is a part of the published one; without the rows whose meta source is esnlive its classes are balanced.",
    ),
    "hans": NamedSet(
        "Pairs of sentences made to expose three shortcuts.",
        {
            split: (Files((f"nli/hans/{file}.parquet",), replace(_PAIR, meta="heuristic,subcase")),)
            for split, file in (("train", "train"), ("test", "evaluation"))
        },
        ("entailment", "non-entailment"),
    ),
    "bnli": NamedSet(
        "Breaking NLI: pairs of sentences that differ in one word.",
        {
            "test": (
                Files(
                    ("nli/breaking_nli/test.parquet",),
                    replace(_IDENTIFIED, alignment="alignment", meta="category"),
                    _linked,
                    ("premise", "hypothesis"),
                    adds=("alignment",),
                ),
            )
        },
        _NLI,
        notes="The words that replace each other are linked. One of the 8,193 pairs has no links: a word is only taken "
        "out there.",
    ),
    "mnli": NamedSet(
        "Pairs of sentences of many genres; dev is the matched one.",
        {"dev": (Files(("nli/mnli/dev_matched.parquet",), replace(_PAIR, id="glue_idx")),)},
        _NLI,
        Hub(
            "nyu-mll/multi_nli",
            {"train": "train", "dev": "validation_matched", "dev-mismatched": "validation_mismatched"},
            replace(_PAIR, id="pairID"),
        ),
    ),
    "cose": NamedSet(
        "CoS-E 1.11: questions with five choices, a reason in words and the marked words of the question.",
        {
            "train": (Files(("nli/cose/v1_11_train.parquet",), _ANSWERED),),
            "dev": (Files(("nli/cose/v1_11_dev.parquet",), _ANSWERED),),
            "test": (Files(("nli/cose/v1_11_test_no_answers.parquet",), _QUESTION),),
        },
        hub=Hub(
            "Salesforce/cos_e",
            {"train": "train", "dev": "validation"},
            replace(_QUESTION, label="answer", explanation="abstractive_explanation"),
            config="v1.11",
        ),
        notes="Test has no answers. The hub's version has no marked words.",
    ),
}

for _name, _set in _CATALOGUE.items():
    named_sets(_name)(_set)
