"""A directory in the layout of the ERASER benchmark as a table: annotations joined with their documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from rationales.data.columns import Columns
from rationales.data.tables import JsonLines, Record, Row, Table, choose_split
from rationales.errors import FileFormatError, InputError
from rationales.explanation.eraser import document_ids, evidence_spans, read_documents

_PEEK = 100  # annotations that tell whether the query is part of the example


class EraserTable(Table):
    """The annotations of one split.

    Columns `document` and `document_2` are tokens of the one or two documents, `document_rationale` and
    `document_2_rationale` the marked token spans; the others are those of the annotation itself.
    """

    def __init__(self, path: Path, split: str | None) -> None:
        files = {file.stem: file for file in sorted(path.glob("*.jsonl")) if file.stem != "docs"}
        self._annotations = JsonLines(files[choose_split(tuple(files), split, str(path))])
        self._documents = read_documents(path)
        self.file = self._annotations.file
        added = ("document", "document_rationale", "document_2", "document_2_rationale")
        self.columns = tuple(dict.fromkeys((*self._annotations.columns, *added)))

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Record]:  # noqa: ARG002
        for record in self._annotations.rows():
            if record.problem:
                yield record
                continue
            try:
                yield replace(record, values={**record.values, **self._joined(record.values)})
            except (FileFormatError, InputError) as error:
                yield Record(record.file, record.row, problem=str(error))

    def _joined(self, annotation: Row) -> dict[str, Any]:
        if not isinstance(annotation.get("docids") or [], list):
            raise InputError(f"docids must be a list, got {annotation['docids']!r:.80}")
        ids = document_ids(annotation, self._documents)
        if len(ids) > 2:
            raise InputError(f"one document or two are wanted, got {len(ids)}: {', '.join(ids):.200}")
        spans = evidence_spans(annotation)
        joined: dict[str, Any] = {}
        for id, column in zip(ids, ("document", "document_2"), strict=False):
            joined[column] = list(self._documents[id].tokens)
            # Without the key nobody was asked; an empty list says that nothing was marked
            if annotation.get("evidences") is not None:
                joined[f"{column}_rationale"] = [[start, end] for docid, start, end in spans if docid == id]
        return joined

    def complete(self, columns: Columns) -> Columns:
        """Fill in what is known of this layout.

        The texts are two documents, or the query and its document; a query that is always the same is left out.
        """

        def present(given: str | None, name: str) -> str:
            return given if given is not None else name if name in self.columns else ""

        known = replace(
            columns,
            label=present(columns.label, "classification"),
            id=present(columns.id, "annotation_id"),
            rationale_format="token_spans" if columns.rationale_format == "auto" else columns.rationale_format,
        )
        if columns.text is not None:
            return known
        rows = [record.values for record in islice(self.rows(), _PEEK) if not record.problem]
        queries = {str(row.get("query") or "").strip() for row in rows}
        if any("document_2" in row for row in rows):
            return replace(known, text="document", pair="document_2")
        if "" in queries or (len(queries) == 1 and len(rows) > 1):
            return replace(known, text="document", pair="")
        return replace(known, text="query", pair="document")


def is_eraser(path: Path) -> bool:
    """Whether a directory holds documents and annotations."""
    documents = (path / "docs.jsonl").is_file() or (path / "docs").is_dir()
    return documents and any(file.stem != "docs" for file in path.glob("*.jsonl"))
