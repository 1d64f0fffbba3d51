"""What attacks on models came to: figures, and every text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rationales.attack.edits import Change, Edit
from rationales.attack.search import Outcome


@dataclass(frozen=True)
class Figures:
    """One model under attack. NaN where there is nothing to take a mean of.

    Of `texts`, the model had `right` right before; of those `flipped` are wrong after, and in `no_edits` there was
    nothing to edit, which counts as survived.

    accuracy              right / texts
    accuracy_under_attack (right - flipped) / texts
    success_rate          flipped / right
    words_changed         share of a text's words that edits touched, mean over those that were right before
    words_changed_flipped the same, mean over those that flipped
    words                 words in a text, mean over those that were right before
    queries               texts the model was asked for each, mean over those that were right before
    """

    model: str
    texts: int
    right: int
    flipped: int
    no_edits: int
    accuracy: float
    accuracy_under_attack: float
    success_rate: float
    words_changed: float
    words_changed_flipped: float
    words: float
    queries: float

    @classmethod
    def of(cls, model: str, outcomes: Sequence[Outcome]) -> Figures:
        """The figures of one model's texts."""
        right = [each for each in outcomes if each.status != "wrong"]
        flipped = [each for each in right if each.status == "flipped"]
        return cls(
            model,
            len(outcomes),
            len(right),
            len(flipped),
            sum(each.status == "no_edits" for each in right),
            _share(len(right), len(outcomes)),
            _share(len(right) - len(flipped), len(outcomes)),
            _share(len(flipped), len(right)),
            _mean(_share(each.words_changed, each.words) for each in right),
            _mean(_share(each.words_changed, each.words) for each in flipped),
            _mean(each.words for each in right),
            _mean(each.queries for each in right),
        )


@dataclass(frozen=True)
class Attacked:
    """An attack on one or several models: `figures` of each, and its `outcomes`, one for each text."""

    figures: tuple[Figures, ...]
    outcomes: Mapping[str, Sequence[Outcome]]

    def plain(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [
            {**asdict(each), "outcomes": [asdict(one) for one in self.outcomes[each.model]]} for each in self.figures
        ]


def read_outcome(row: Mapping[str, Any]) -> Outcome:
    """An outcome from JSON."""
    edits = tuple(Edit(each["kind"], tuple(Change(**change) for change in each["changes"])) for each in row["edits"])
    pairs = {name: tuple(row[name]) for name in ("texts", "attacked")}
    numbers = {name: _number(row[name]) for name in ("probability", "probability_after")}
    return Outcome(**{**row, **pairs, **numbers, "edits": edits})


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else float("nan")
