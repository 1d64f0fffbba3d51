"""Texts cut down to their rationale: which words stay, and the explanations that say so, made or read.

explanations/train.json         what the explanations of a split are made from
explanations/train/00000.…      until they are whole: finished parts, from which a run that was stopped goes on
explanations/train.parquet      all of them, for `rationales report`, or for another run (--explanations)
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray

from rationales.comparison.store import digest, plain, read_json, write_json
from rationales.data.example import Example
from rationales.errors import InputError, QualityWarning
from rationales.explainers import AnyExplainer
from rationales.explanation import Explanation, Explanations, Provenance, Scores, Selection, Target, Token, read_jsonl
from rationales.explanation.views import count, kept_spans, ranked, word_tokens, words
from rationales.models import Model, predict
from rationales.models.tokenising import cut_message
from rationales.run.explaining import check_name, save
from rationales.run.progress import progress_bar
from rationales.train.checkpoint import HINT

Order: TypeAlias = Literal["text", "score"]
Texts: TypeAlias = tuple[str, ...]

PART = 256
"""Texts that are explained between two savings."""

_SAME = 1e-3  # a model that gives the same logits to within this is the same model
_PROBED = 8  # texts whose logits are compared


def rationale(explanation: Explanation, ratio: float, order: Order = "text") -> Texts:
    """The words of an explanation's texts that stay, in the order of the text or best first.

    A word's score is the sum of its pieces; the ⌈ratio · n⌉ best of the n words stay, those that the explained model
    never saw, since the text was too long for it, left out of the count. The two texts of a pair are ranked together.
    What a selection keeps stays as it is, whatever its length. A text that nothing is left of keeps its best word (of a
    selection: its first), since a classifier needs something to read.
    """
    ranking, seen = _ranking(explanation)
    match explanation.body:
        case Scores():
            chosen = ranking[: count(ratio, seen)]
        case Selection():
            chosen = [Token("", *span) for span in kept_spans(explanation)]
        case body:
            raise InputError(
                f"rationales are made of scores or selections; the explanation of {explanation.id!r} is of the kind "
                f"{type(body).__name__.lower()}"
            )
    sides = []
    for segment, text in enumerate(explanation.texts):
        own = [word for word in chosen if word.segment == segment]
        own = own or [word for word in ranking if word.segment == segment][:1]
        if order == "score":
            sides.append(" ".join(text[word.start : word.end] for word in own))
        else:
            sides.append(_joined(text, sorted(own, key=lambda word: word.start)))
    return tuple(sides)


def _ranking(explanation: Explanation) -> tuple[list[Token], int]:
    """All words, best first, and how many of them the model saw; those behind them it did not see."""
    every = word_tokens(explanation.texts)
    if not isinstance(explanation.body, Scores):
        return list(every), len(every)
    scored = words(explanation)
    shown = words(explanation.with_body(Selection(explanation.content))).body
    assert isinstance(scored.body, Scores)
    assert isinstance(shown, Selection)
    if np.isnan(scored.body.values).any():
        raise InputError(
            f"some scores of {explanation.id!r} are NaN, so its words cannot be ranked; leave the text out, or explain "
            "it by another method"
        )
    best = [place for place in ranked(scored).tolist() if shown.keep[place]]
    unseen = np.flatnonzero(~shown.keep).tolist()
    return [every[place] for place in (*best, *unseen)], len(best)


def _joined(text: str, spans: Sequence[Token]) -> str:
    """Spans of a text with a space between them, unless they touch, as characters of scripts without spaces do."""
    out, end = "", -1
    for span in spans:
        out += (" " if out and span.start != end else "") + text[span.start : span.end]
        end = span.end
    return out


@dataclass(frozen=True)
class Rationales:
    """The rationale of each example of some splits, the class that it is a rationale of, and whose explanations."""

    texts: Mapping[str, list[Texts]]
    targets: Mapping[str, list[Target]]
    provenance: Provenance


class Saved:
    """Rationales from explanations that somebody saved, found by the id and texts of an example, or its texts alone."""

    def __init__(self, ratio: float, order: Order) -> None:
        self.ratio, self.order = ratio, order
        self._first: Explanation | None = None
        self._by_id: dict[tuple[str, Texts], tuple[Texts, Target]] = {}
        self._by_texts: dict[Texts, tuple[Texts, Target]] = {}

    @classmethod
    def read(cls, explanations: Iterable[Explanation], ratio: float, order: Order) -> Self:
        """Take them all in; they must be made in one way (method, settings, model), and be one for each example."""
        found = cls(ratio, order)
        for explanation in explanations:
            found._add(explanation)
        return found

    def _add(self, explanation: Explanation) -> None:
        self._first = self._first or explanation
        if differs := _differences(explanation.provenance, self._first.provenance):
            raise InputError(
                f"the explanations are not all made in the same way: that of {explanation.id!r} has "
                f"{', '.join(differs)}; give those of one method, with the same settings, of one model"
            )
        key, target = (explanation.id, explanation.texts), explanation.target
        found = rationale(explanation, self.ratio, self.order)
        if key not in self._by_id:
            self._by_id[key] = found, target
            self._by_texts.setdefault(explanation.texts, self._by_id[key])
            return
        before, explained = self._by_id[key]
        if explained.label != target.label:
            raise InputError(
                f"{explanation.id!r} is explained for {explained.label} and for {target.label}; give one of them"
            )
        if before != found:
            raise InputError(
                f"{explanation.id!r} is explained twice, with different scores, so that its rationale would be "
                f"{' | '.join(before)!r} or {' | '.join(found)!r}; give one of them"
            )

    def rationales(self, splits: Mapping[str, Sequence[Example]]) -> Rationales:
        """Of every example; an error if one is not explained."""
        texts: dict[str, list[Texts]] = {}
        targets: dict[str, list[Target]] = {}
        for split, examples in splits.items():
            found = [self._by_id.get((each.id, each.texts)) or self._by_texts.get(each.texts) for each in examples]
            missing = [each.id for each, some in zip(examples, found, strict=True) if some is None]
            if missing:
                raise InputError(
                    f"{len(missing)} of {len(examples)} {split} texts are not among the explanations, such as "
                    f"{missing[0]!r}; explain these too (rationales explain --data DATA --out FILE, with --split where "
                    "the data have splits) and give every file"
                )
            texts[split] = [some[0] for some in found if some is not None]
            targets[split] = [some[1] for some in found if some is not None]
        assert self._first is not None
        return Rationales(texts, targets, self._first.provenance)


def _differences(made: Provenance, first: Provenance) -> list[str]:
    """What one was made with instead of the other, but for seed and version; of two methods only their names.

    >>> _differences(Provenance("lime", {"samples": 50, "seed": 1}), Provenance("lime", {"samples": 9, "seed": 2}))
    ['samples 50 instead of 9']
    """
    changed = [("method", made.method, first.method)] if made.method != first.method else []
    if made.model != first.model and not (made.model and Path(made.model).absolute() == Path(first.model).absolute()):
        changed.append(("model", made.model, first.model))
    if made.method == first.method:
        one, other = (plain({**each.params, "seed": None}) for each in (made, first))
        changed += [(key, one.get(key), other.get(key)) for key in {**one, **other} if one.get(key) != other.get(key)]
    return [f"{key} {mine!r:.60} instead of {theirs!r:.60}" for key, mine, theirs in changed]


def read_file(file: Path | str) -> Iterator[Explanation]:
    """The explanations of a .parquet or .jsonl file, one after another."""
    check_name(file)
    return read_jsonl(file) if Path(file).suffix == ".jsonl" else iter(Explanations.load(file))


@dataclass(frozen=True)
class Maker:
    """Explains splits by a model and a method and keeps that in a directory; what is there already is not done again.

    On several devices each process of the `accelerator` explains its share.
    """

    directory: Path
    model: Model
    explainer: AnyExplainer
    accelerator: Accelerator
    overwrite: bool
    progress: bool | None

    def rationales(
        self,
        splits: Mapping[str, Sequence[Example]],
        targets: Mapping[str, Sequence[int]],
        ratio: float,
        order: Order,
    ) -> Rationales:
        """Of every example; `targets` are the outputs to explain in a split, where it is not what is predicted."""
        texts, explained, provenance = {}, {}, None
        for split, examples in splits.items():
            kept = self._explained(split, examples, targets.get(split))
            texts[split] = [rationale(explanation, ratio, order) for explanation in kept]
            explained[split] = [explanation.target for explanation in kept]
            provenance = provenance or kept[0].provenance
        assert provenance is not None
        return Rationales(texts, explained, provenance)

    def _explained(self, split: str, examples: Sequence[Example], targets: Sequence[int] | None) -> Explanations:
        whole = self.directory / f"{split}.parquet"
        if self.accelerator.is_main_process:
            self._begin(split, examples, targets)
        self.accelerator.wait_for_everyone()
        if not whole.exists():
            starts = range(0, len(examples), PART)
            self._explain_parts(split, examples, targets, starts)
            self.accelerator.wait_for_everyone()
            if self.accelerator.is_main_process:
                save((each for start in starts for each in Explanations.load(self._part(split, start))), whole)
                shutil.rmtree(self._part(split, 0).parent)
            self.accelerator.wait_for_everyone()
        return Explanations.load(whole)

    def _begin(self, split: str, examples: Sequence[Example], targets: Sequence[int] | None) -> None:
        """Note what the explanations are made from, and refuse to go on with those of something else."""
        record, whole = (self.directory / f"{split}.{ending}" for ending in ("json", "parquet"))
        made: dict[str, Any] = plain(
            {
                "method": self.explainer.name,
                "params": asdict(self.explainer),  # type: ignore[call-overload]
                "max_length": self.model.max_length,
                "target": "predicted" if targets is None else digest(list(targets)),
                "texts": digest([(example.id, example.texts) for example in examples]),
            }
        )
        with self.model.borrowed(), torch.no_grad():
            logits = predict(self.model, self.model.encode(examples[:_PROBED], warn=False)).double().cpu().numpy()
        if self.overwrite:
            shutil.rmtree(self._part(split, 0).parent, ignore_errors=True)
            whole.unlink(missing_ok=True)
        elif record.exists():
            before = read_json(record)
            changed = [key for key, value in made.items() if before.get(key) != value]
            if "texts" not in changed and not _close(before["logits"], logits):
                changed.append("model")
            if changed:
                raise InputError(
                    f"{self.directory} holds other explanations of the {split} texts: {', '.join(changed)} differ. "
                    f"{HINT}"
                )
        elif whole.exists():
            raise InputError(f"{whole} is there, but nothing says what its explanations are made from. {HINT}")
        write_json(record, {**made, "model": self.model.name, "logits": logits.tolist()})

    def _part(self, split: str, start: int) -> Path:
        return self.directory / split / f"{start // PART:05}.parquet"

    def _explain_parts(
        self, split: str, examples: Sequence[Example], targets: Sequence[int] | None, starts: Sequence[int]
    ) -> None:
        """This process's share of the parts that are not there yet."""
        mine = starts[self.accelerator.process_index :: self.accelerator.num_processes]
        total = sum(len(examples[start : start + PART]) for start in mine)
        seen = cut = 0
        wanted = self.progress if self.accelerator.is_main_process else False
        with progress_bar(f"{self.explainer.name} of {split} texts", total, wanted) as advance:
            for start in mine:
                some = examples[start : start + PART]
                if not self._part(split, start).exists():
                    batch = self.model.encode(some, warn=False)
                    seen, cut = seen + len(some), cut + sum(source.cut for source in batch.sources)
                    with warnings.catch_warnings():
                        warnings.simplefilter(
                            "ignore", QualityWarning
                        )  # what matters here is the ranking; NaN is refused
                        found = self.explainer(
                            self.model, batch, None if targets is None else targets[start : start + PART]
                        )
                    found.save(self._part(split, start))
                advance(len(some))
        counts = torch.tensor([seen, cut], device=self.accelerator.device)
        seen, cut = self.accelerator.reduce(counts, "sum").tolist()
        if cut and self.accelerator.is_main_process:
            warnings.warn(f"{split} data: {cut_message(cut, seen, self.model.max_length)}", stacklevel=5)


def _close(before: list[list[float]], logits: NDArray[np.float64]) -> bool:
    stored = np.array(before, dtype=np.float64)  # None, a number that is not finite, becomes NaN
    return stored.shape == logits.shape and np.allclose(stored, logits, _SAME, _SAME, equal_nan=True)
