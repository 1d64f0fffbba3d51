"""The file layout of the ERASER benchmark: documents of white-space tokens, and annotations that point into them.

A data set is a directory with `train.jsonl`, `val.jsonl` and `test.jsonl` (annotations), and its documents either in
`docs/`, one file per document, or in `docs.jsonl`. In a document a line is a sentence and a space ends a token;
annotations count those tokens, so a document is split exactly as the benchmark's own code splits it.

DeYoung et al. (2020), ERASER: A Benchmark to Evaluate Rationalized NLP Models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from rationales.errors import FileFormatError, InputError
from rationales.explanation.types import (
    BoolArray,
    Explanation,
    Provenance,
    Scores,
    Selection,
    Target,
    Token,
)

_PAIR = ("_premise", "_hypothesis")  # how e-SNLI names the two documents of an annotation

OnError: TypeAlias = Callable[[int, str], None]
"""Takes the number of a bad line and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text of white-space tokens: its `sentences` are ranges of tokens, `spans` the characters of each token."""

    id: str
    text: str
    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    sentences: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, id: str, sentences: Iterable[Iterable[str]]) -> Document:
        """Join the tokens of some sentences by single spaces.

        >>> document = Document.of("a", [["so", "good"], ["yes"]])
        >>> document.text, document.spans, document.sentences
        ('so good yes', ((0, 2), (3, 7), (8, 11)), ((0, 2), (2, 3)))
        """
        tokens: list[str] = []
        bounds = [0]
        for sentence in sentences:
            tokens.extend(sentence)
            bounds.append(len(tokens))
        spans: list[tuple[int, int]] = []
        for token in tokens:
            start = spans[-1][1] + 1 if spans else 0
            spans.append((start, start + len(token)))
        return cls(id, " ".join(tokens), tuple(tokens), tuple(spans), tuple(pairwise(bounds)))

    def as_tokens(self, segment: int = 0) -> tuple[Token, ...]:
        """The tokens as those of text number `segment` of an explanation."""
        return tuple(
            Token(token, segment, start, end) for token, (start, end) in zip(self.tokens, self.spans, strict=True)
        )

    def characters(self, start_token: int, end_token: int) -> tuple[int, int]:
        """The characters [start, end) of the tokens [start_token, end_token)."""
        if not 0 <= start_token < end_token <= len(self.spans):
            raise InputError(
                f"tokens [{start_token}, {end_token}) do not lie in document {self.id!r} of {len(self.spans)} tokens"
            )
        return self.spans[start_token][0], self.spans[end_token - 1][1]


class Documents(Mapping[str, Document]):
    """Documents by their id, read and split only when asked for."""

    def __init__(self, source: Path, texts: Mapping[str, str] | None = None) -> None:
        self.source = source
        self._texts = texts
        # A listing also keeps an id such as "../x" from reaching outside the directory
        self._ids = set(texts) if texts is not None else {path.name for path in source.iterdir() if path.is_file()}

    def __getitem__(self, id: str) -> Document:
        if id not in self._ids:
            raise KeyError(id)
        if self._texts is not None:
            # Here the benchmark's code counts empty strings between two spaces as tokens; below it does not
            return Document.of(id, (line.strip().split(" ") for line in self._texts[id].split("\n")))
        try:
            text = (self.source / id).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{self.source / id} is not UTF-8 text: {error}") from error
        lines = (line.strip() for line in text.split("\n"))
        return Document.of(id, ([word for word in line.split(" ") if word] for line in lines if line))

    def __contains__(self, id: object) -> bool:  # without reading it
        return id in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._ids))

    def __len__(self) -> int:
        return len(self._ids)


def read_documents(path: str | Path) -> Documents:
    """The documents of a data set directory, of its `docs` directory, or of its `docs.jsonl`."""
    path = Path(path)
    file, directory = path / "docs.jsonl", path / "docs"
    if file.is_file() and directory.is_dir():
        raise InputError(f"{path} holds both docs.jsonl and docs/; give the path of the one you mean")
    if file.is_file():
        path = file
    elif directory.is_dir():
        path = directory
    if path.is_dir():
        return Documents(path)
    if not path.is_file():
        raise InputError(
            f"no documents at {path}: a data set directory, its docs directory or its docs.jsonl is wanted"
        )
    texts: dict[str, str] = {}
    for row, line in read_annotations(path):
        if not isinstance(line.get("document"), str) or "docid" not in line:
            raise FileFormatError(f"{path}, line {row}: a docid and a document are wanted, got {', '.join(line)}")
        texts[str(line["docid"])] = line["document"]
    return Documents(path, texts)


def read_annotations(path: str | Path, *, on_error: OnError | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with their line numbers, one at a time; empty lines are passed over.

    A bad line raises `FileFormatError`, or goes to `on_error` and is left out.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no file at {path}: a JSONL file is wanted")
    with path.open("rb") as lines:
        for row, raw in enumerate(lines, start=1):
            if not raw.strip():
                continue
            try:
                line = json.loads(raw)
                problem = "" if isinstance(line, dict) else f", got {type(line).__name__}"
            except ValueError as error:  # neither JSON nor UTF-8
                problem = f": {error}"
            if not problem:
                yield row, line
            elif on_error is None:
                raise FileFormatError(f"{path}, line {row}: a JSON object is wanted{problem}")
            else:
                on_error(row, f"a JSON object is wanted{problem}")


def evidence_spans(annotation: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """What people marked, as (docid, start_token, end_token), over all groups of evidence.

    Each group alone is enough for the answer; their union is what the benchmark's token scores compare with.
    """
    try:
        return [
            (str(one["docid"]), int(one["start_token"]), int(one["end_token"]))
            for group in annotation.get("evidences") or ()
            for one in group
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            "evidences must be groups [[…], …] of objects with docid, start_token and end_token; "
            f"got {annotation.get('evidences')!r:.200}"
        ) from error


def document_ids(annotation: Mapping[str, Any], documents: Mapping[str, Document]) -> tuple[str, ...]:
    """The documents of an annotation or a prediction, in the order in which they become the texts of an explanation.

    They are those it names (`docids`, `evidences`, `rationales`) in alphabetical order, so that two files that name
    them differently agree. An e-SNLI pair is premise first, and complete even if only one of the two is named.
    """
    named = {str(id) for id in annotation.get("docids") or ()}
    named |= {docid for docid, _, _ in evidence_spans(annotation)}
    named |= {str(one["docid"]) for one in annotation.get("rationales") or ()}
    named = named or {str(annotation.get("annotation_id"))}
    for stem in {id.removesuffix(_PAIR[0]).removesuffix(_PAIR[1]) for id in named}:
        pair = {stem + suffix for suffix in _PAIR}
        if all(id in documents for id in pair):
            named |= pair
            named.discard(stem)
    missing = sorted(id for id in named if id not in documents)
    if missing:
        raise FileFormatError(f"annotation {annotation.get('annotation_id')!r}: no document {missing[0]!r}")
    return tuple(sorted(named, key=lambda id: (id.endswith(_PAIR[1]), id)))


def from_eraser(
    path: str | Path,
    documents: str | Path | Mapping[str, Document],
    *,
    method: str | None = None,
    body: Literal["scores", "selection"] | None = None,
    labels: Sequence[str] = (),
    queries: Mapping[str, str] | None = None,
    model: str = "",
) -> Iterator[Explanation]:
    """The rationales of a file of annotations (people's: method "human") or of predictions, one at a time.

    A prediction's line is what the benchmark's metrics take: annotation_id, and for each document in `rationales` its
    docid with hard_rationale_predictions (spans of tokens) or soft_rationale_predictions (a number per token); scores
    are taken where there are any, unless `body` says which. The texts are the documents, behind the query where the
    model reads one: `queries` has them by annotation_id. `labels` are the model's classes in order, which give the
    classification its index; it is -1 without them.
    """
    documents = documents if isinstance(documents, Mapping) else read_documents(documents)
    for row, line in read_annotations(path):
        try:
            if "annotation_id" not in line or not line.keys() & {"evidences", "rationales"}:
                wanted = "annotation_id with evidences (people's) or rationales (a model's) is wanted"
                raise FileFormatError(f"{wanted}; got {', '.join(line)}")
            if "rationales" in line and method is None:
                raise InputError("these are rationales of a model; say which method made them: method=…")
            id, label = str(line["annotation_id"]), str(line.get("classification", ""))
            if labels and label not in labels:
                raise InputError(f"classification {label!r} is none of the labels {', '.join(labels)}")
            if queries is not None and id not in queries:
                raise InputError(f"there is no query for annotation {id!r} among the {len(queries)} given")
            texts = () if queries is None else (queries[id],)
            used = [documents[docid] for docid in document_ids(line, documents)]
            score = (line.get("classification_scores") or {}).get(label, float("nan"))
            explanation = Explanation(
                id,
                (*texts, *(document.text for document in used)),
                tuple(token for place, document in enumerate(used, len(texts)) for token in document.as_tokens(place)),
                Target(labels.index(label) if labels else -1, label, score),
                _reason(line, used, body),
                Provenance(method or "human", model=model),
            )
        except InputError as error:
            raise InputError(f"{path}, line {row}: {error}") from error
        except FileFormatError as error:
            raise FileFormatError(f"{path}, line {row}: {error}") from error
        except (AttributeError, KeyError, TypeError) as error:
            raise FileFormatError(f"{path}, line {row}: not in the layout of ERASER ({error!r})") from error
        yield explanation


def _reason(line: Mapping[str, Any], documents: Sequence[Document], body: str | None) -> Scores | Selection:
    if body not in (None, "scores", "selection"):
        raise InputError(f"body must be scores or selection, got {body!r}")
    if "rationales" not in line:
        return Selection(_marked(evidence_spans(line), documents))
    rationales, hard, soft = line["rationales"], "hard_rationale_predictions", "soft_rationale_predictions"
    scored = body == "scores" or (body is None and any(one.get(soft) is not None for one in rationales))
    for one in rationales:
        if one.get(soft if scored else hard) is None:
            raise FileFormatError(f"{soft if scored else hard} are wanted for {one['docid']!r}, got {', '.join(one)}")
    if not scored:
        spans = [(str(one["docid"]), at["start_token"], at["end_token"]) for one in rationales for at in one[hard]]
        return Selection(_marked(spans, documents))
    values = {document.id: np.zeros(len(document.tokens)) for document in documents}
    for one in rationales:
        docid, given = str(one["docid"]), one[soft]
        if len(given) != len(values[docid]):
            raise FileFormatError(f"{len(given)} soft predictions for {docid!r} of {len(values[docid])} tokens")
        values[docid] = given
    return Scores(np.concatenate(list(values.values())))


def _marked(spans: Iterable[tuple[str, int, int]], documents: Sequence[Document]) -> BoolArray:
    keep = {document.id: np.zeros(len(document.tokens), dtype=np.bool_) for document in documents}
    for docid, start, end in spans:
        if not 0 <= start <= end <= len(keep[docid]):
            raise FileFormatError(f"tokens [{start}, {end}) do not lie in {docid!r} of {len(keep[docid])} tokens")
        keep[docid][start:end] = True
    return np.concatenate(list(keep.values()))
