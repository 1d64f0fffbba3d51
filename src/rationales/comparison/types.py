"""What a comparison found: which explanations can be believed on this model and data. Free of torch.

`rationales.compare` makes one; `rationales.report` shows it. Everything here is plain data that goes into and comes out
of `results.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rationales.explanation import Explanation

RANDOM, LINK_RANDOM = "random", "link_random"
FLOORS = (RANDOM, LINK_RANDOM)
"""What a method has to beat to say anything: random scores of tokens, and of links between two texts."""


@dataclass(frozen=True)
class Measure:
    """A metric as it was set: the better direction, its options, what it needs, what it is `about` in a sentence."""

    name: str
    best: Literal["high", "low"]
    options: Mapping[str, Any]
    needs: tuple[str, ...] = ()
    about: str = ""


@dataclass(frozen=True)
class Figure:
    """The mean of one metric over the texts, with its 95 % interval; `undefined` texts were left out.

    `gain` is how much better than random the method is on the same texts, as [low, high] of the paired difference,
    positive if better. NaN where there is nothing to compare.
    """

    mean: float
    low: float
    high: float
    count: int
    undefined: int
    gain: tuple[float, float] = (float("nan"), float("nan"))

    @property
    def beats_random(self) -> bool:
        """Whether the paired interval lies above 0."""
        return self.gain[0] > 0


@dataclass(frozen=True)
class Curves:
    """The mean probability of the explained class as tokens go: the best first, or all but the best.

    `fractions`, `without_best` and `only_best` have one number per point; `fractions` are shares of the tokens.
    """

    fractions: tuple[float, ...]
    without_best: tuple[float, ...]
    only_best: tuple[float, ...]


@dataclass(frozen=True)
class Standing:
    """How one method did on one model: a row of the ranked table.

    `figures` are by metric. `rank` counts from 1 among the methods of the same model; methods whose distance to the
    first is within noise have `tied` set. `failure` says why a method could not run; then the rest is empty. `notes`
    are what a reader should know of the method's own checks, such as attributions that do not add up.
    """

    model: str
    method: str
    params: Mapping[str, Any]
    rank: int
    tied: bool
    figures: Mapping[str, Figure]
    seconds_per_1000_tokens: float
    curves: Curves | None = None
    failure: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Agreement:
    """Mean Spearman correlation of the scores of two methods over the texts, for each pair: `matrix[i][j]`.

    `unit` says what is scored: tokens, or links between the tokens of two texts.
    """

    model: str
    methods: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    unit: Literal["tokens", "links"] = "tokens"


@dataclass(frozen=True)
class Answers:
    """How often a model is right: accuracy and macro-F1 over the `count` texts whose label is known."""

    count: int
    accuracy: float
    macro_f1: float


@dataclass(frozen=True)
class Contrast:
    """How much better one method does on the model `other` than on `one`, by one metric and on the same texts.

    The mean of the paired differences of `count` texts with its 95 % interval, positive if better. NaN where no text
    has both figures.
    """

    metric: str
    method: str
    one: str
    other: str
    mean: float
    low: float
    high: float
    count: int

    @property
    def verdict(self) -> Literal["better", "worse", ""]:
        """What the interval says; nothing where it holds 0, or there is none."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else ""


@dataclass(frozen=True)
class Overlap(Figure):
    """How far the best tokens of models overlap: the mean Jaccard similarity over the texts, with its 95 % interval.

    `chance` is what as many tokens drawn at random would give on the same texts, and `gain` the interval of the paired
    difference to it. `same_label` is the share of the texts for which the same label is explained.
    """

    chance: float = float("nan")
    same_label: float = float("nan")


@dataclass(frozen=True)
class Pair:
    """Two models, and how alike they are explained."""

    one: str
    other: str
    overlap: Overlap


@dataclass(frozen=True)
class Likeness:
    """How alike one method explains several models: every pair that it could explain, and means over pairs.

    `trained` is over the pairs of trained models, `untrained` over those of a trained and the untrained one; None where
    there is no such pair. `gap` is the 95 % interval of the mean difference of the two, text by text.
    """

    method: str
    pairs: tuple[Pair, ...]
    trained: Overlap | None
    untrained: Overlap | None
    gap: tuple[float, float] = (float("nan"), float("nan"))

    @property
    def tells_training(self) -> bool:
        """Whether trained models are clearly more alike than a trained and the untrained one."""
        return self.gap[0] > 0


@dataclass(frozen=True)
class Stability:
    """How alike models are explained: the Different-Initialisation and the Untrained-Model Test (Zafar et al., 2021).

    `share` is that of the best tokens; `unit` says whether models shared their tokens, or words had to be compared.
    `untrained` names the model among `models` that was never trained; empty if there is none.
    """

    share: float
    unit: Literal["tokens", "words"]
    models: tuple[str, ...]
    untrained: str
    methods: tuple[Likeness, ...]
    advice: str


@dataclass(frozen=True)
class Summary:
    """A whole comparison in figures. `ranked_by` is the metric that orders `standings`, best first, model by model.

    `advice` is one paragraph per model. `command` is what made it, to be run again. `stability` is there if it was
    asked for. `answers` are by model, of those for which the labels of some texts are known and are the model's.
    `contrasts` hold each further model against the first.
    """

    command: str
    data: str
    models: tuple[str, ...]
    texts: int
    tokens: int
    measures: tuple[Measure, ...]
    ranked_by: str
    standings: tuple[Standing, ...]
    agreements: tuple[Agreement, ...]
    advice: Mapping[str, str]
    versions: Mapping[str, str]
    hardware: Mapping[str, Any]
    stability: Stability | None = None
    answers: Mapping[str, Answers] = field(default_factory=dict)
    contrasts: tuple[Contrast, ...] = ()

    def of(self, model: str) -> tuple[Standing, ...]:
        """The rows of one model, best first."""
        return tuple(standing for standing in self.standings if standing.model == model)


@dataclass(frozen=True, eq=False)
class Case:
    """One text of a comparison: what the model says of it, what is true, and how each method explains that.

    `label` is the true label, where there is one; `predicted` is empty where the model gave no number. `data` is what
    the data set is called.
    `explanations` are by method; what people (or whoever planted the evidence) marked or linked is among them as
    "human" and "human_alignment".
    """

    model: str
    id: str
    texts: tuple[str, ...]
    label: str | None
    predicted: str
    probability: float
    explanations: Mapping[str, Explanation]
    data: str = ""

    @property
    def right(self) -> bool | None:
        """Whether the prediction is the true label; None where that is unknown."""
        return None if self.label is None else self.label == self.predicted
