"""What attacks on models came to: figures, and every text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal, TypeAlias, get_args

from rationales.attack.certainty import mcnemar, wilson
from rationales.attack.edits import Change, Edit
from rationales.attack.search import Outcome

HELD = ("survived", "no_edits")
"""How a text ends on which a model was right before and after."""


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

    @property
    def accuracy_under_attack_interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of that share, over texts like these."""
        return wilson(self.right - self.flipped, self.texts)

    @property
    def success_rate_interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of that share, over texts like these."""
        return wilson(self.flipped, self.right)


Compared: TypeAlias = Literal["accuracy_under_attack", "success_rate"]


@dataclass(frozen=True)
class Paired:
    """Two models attacked on the same texts: on how many one of them holds and the other does not.

    By `accuracy_under_attack` a model holds where it was right and did not flip, of all texts; by `success_rate` where
    it did not flip, of the texts that both had right before. `p` is that of McNemar's exact test.
    """

    first: str
    other: str
    figure: Compared
    texts: int
    only_first: int
    only_other: int
    p: float

    @classmethod
    def of(cls, first: str, other: str, figure: Compared, outcomes: Mapping[str, Sequence[Outcome]]) -> Paired:
        """The two by one of the figures."""
        pairs = zip(outcomes[first], outcomes[other], strict=True)
        statuses = [(one.status, another.status) for one, another in pairs]
        if figure == "success_rate":
            statuses = [each for each in statuses if "wrong" not in each]
        held = [(one in HELD, another in HELD) for one, another in statuses]
        only_first, only_other = held.count((True, False)), held.count((False, True))
        return cls(first, other, figure, len(held), only_first, only_other, mcnemar(only_first, only_other))


@dataclass(frozen=True)
class Attacked:
    """An attack on one or several models: `figures` of each, and its `outcomes`, one for each text."""

    figures: tuple[Figures, ...]
    outcomes: Mapping[str, Sequence[Outcome]]

    @property
    def paired(self) -> tuple[Paired, ...]:
        """Each further model beside the first, by both figures."""
        first, *others = (each.model for each in self.figures)
        return tuple(Paired.of(first, *each, self.outcomes) for each in product(others, get_args(Compared)))

    def plain(self) -> list[dict[str, Any]]:
        """The models for JSON."""
        return [
            {
                **asdict(each),
                "accuracy_under_attack_interval": each.accuracy_under_attack_interval,
                "success_rate_interval": each.success_rate_interval,
                "outcomes": [asdict(one) for one in self.outcomes[each.model]],
            }
            for each in self.figures
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
