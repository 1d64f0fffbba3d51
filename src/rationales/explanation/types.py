"""What an explanation is: plain, immutable, free of torch.

An `Explanation` says of some texts, cut into tokens, why a model gives a `Target`: by a score per token
(`Scores`), by a subset of the tokens (`Selection`), by links between the tokens of two texts (`Alignment`), or
in words (`Sentence`). Shapes are checked on creation and arrays are read-only, so that whoever holds one can
trust it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rationales.errors import InputError

if TYPE_CHECKING:
    from rationales.explanation.views import Pool

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]

SPECIAL = -1
"""The segment of tokens that belong to no text: [CLS], [SEP], <s> and their like."""


def _frozen(values: ArrayLike, dtype: type[np.generic], ndim: int, what: str) -> NDArray[Any]:
    try:
        given = np.asarray(values)
    except ValueError as error:  # lists of unequal lengths
        raise InputError(f"{what} must be an array of numbers: {error}") from error
    if given.dtype.kind not in "biuf":
        raise InputError(f"{what} must be an array of numbers, got an array of {given.dtype}")
    array = given.astype(dtype)
    if array.ndim != ndim:
        raise InputError(f"{what} must have {ndim} dimension(s), got shape {array.shape}")
    array.setflags(write=False)
    return array


def _plain(value: Any) -> Any:
    """A parameter as files keep it. Lists become tuples, so that what is read equals what was written."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, Mapping) and all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise InputError(
        f"a parameter must be None, a boolean, a number, a string, or a list or mapping of these "
        f"(keys are strings that do not begin with $); got {value!r} of type {type(value).__name__}"
    )


class Token(NamedTuple):
    """A piece of a text: `texts[segment][start:end]`, or a special token (segment -1, start = end = 0)."""

    text: str
    segment: int
    start: int
    end: int

    @property
    def special(self) -> bool:
        return self.segment == SPECIAL


@dataclass(frozen=True, eq=False)
class Scores:
    """One number per token; larger means more important, the sign is the direction of the effect.

    `values` [T]; `standard_error` [T] where a stochastic method knows it.
    """

    values: FloatArray
    standard_error: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _frozen(self.values, np.float64, 1, "scores"))
        if self.standard_error is not None:
            error = _frozen(self.standard_error, np.float64, 1, "standard errors")
            if error.shape != self.values.shape:
                raise InputError(f"{len(error)} standard errors for {len(self.values)} scores")
            object.__setattr__(self, "standard_error", error)


@dataclass(frozen=True, eq=False)
class Selection:
    """The tokens that are the reason: `keep` [T]."""

    keep: BoolArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", _frozen(self.keep, np.bool_, 1, "a selection"))


@dataclass(frozen=True, eq=False)
class Alignment:
    """Links between the tokens of two texts: `weights` [T0, T1], and which of them are kept, `keep` [T0, T1].

    T0 and T1 count the tokens of segment 0 and 1; special tokens take no part.
    """

    weights: FloatArray
    keep: BoolArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _frozen(self.weights, np.float64, 2, "an alignment"))
        if self.keep is not None:
            keep = _frozen(self.keep, np.bool_, 2, "an alignment's kept cells")
            if keep.shape != self.weights.shape:
                raise InputError(f"kept cells of shape {keep.shape} for weights of shape {self.weights.shape}")
            object.__setattr__(self, "keep", keep)


@dataclass(frozen=True, eq=False)
class Sentence:
    """A reason in words; `steps` [n, C] are the label logits after each of the n words, where the model gives them."""

    text: str
    steps: FloatArray | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(f"a sentence's text must be a string, got {self.text!r}")
        if self.steps is not None:
            object.__setattr__(self, "steps", _frozen(self.steps, np.float64, 2, "a sentence's steps"))


Body: TypeAlias = Scores | Selection | Alignment | Sentence
BODIES: Mapping[str, type[Body]] = MappingProxyType(
    {"scores": Scores, "selection": Selection, "alignment": Alignment, "sentence": Sentence}
)


@dataclass(frozen=True, slots=True)
class Target:
    """What is explained: output `index` of the model, called `label`, where it had the value `score`.

    The score is the probability of a class, or the output of a regression; NaN where nobody computed it.
    """

    index: int
    label: str
    score: float = float("nan")

    def __post_init__(self) -> None:
        if not isinstance(self.label, str):
            raise InputError(f"a target's label must be a string, got {self.label!r}")
        object.__setattr__(self, "index", int(self.index))  # out of an array it may be a number of NumPy's or torch's
        object.__setattr__(self, "score", float(self.score))


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who made it and how. `method` is the registry's name, or "human"; `params` are the method's fields.

    Parameters are what JSON can hold; a list becomes a tuple. The seed fits 64 bits.
    """

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    seed: int | None = None
    version: str = ""

    def __post_init__(self) -> None:
        for name in (self.method, self.model, self.version):
            if not isinstance(name, str):
                raise InputError(f"a provenance's method, model and version must be strings, got {name!r}")
        object.__setattr__(self, "params", MappingProxyType(_plain(self.params)))
        if self.seed is not None:
            object.__setattr__(self, "seed", int(self.seed))
            if not -(2**63) <= self.seed < 2**63:
                raise InputError(f"a seed must fit a signed integer of 64 bits, got {self.seed}")

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not pickle, and worker processes need it to
        return Provenance, (self.method, dict(self.params), self.model, self.seed, self.version)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a model gives `target` for `texts`.

    `tokens` cover the texts (special tokens included, segment -1); `body` is the reason itself; `checks` are what
    the method found out about its own quality, such as `completeness_error`.
    """

    id: str
    texts: tuple[str, ...]
    tokens: tuple[Token, ...]
    target: Target
    body: Body
    provenance: Provenance
    checks: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            raise InputError(f"an explanation's id must be a string, got {self.id!r}")
        if not isinstance(self.texts, tuple) or not all(isinstance(text, str) for text in self.texts):
            raise InputError(f"texts must be a tuple of strings, one per text; got {self.texts!r}")
        object.__setattr__(self, "tokens", tuple(self.tokens))
        checks = {name: float(value) for name, value in self.checks.items()}
        object.__setattr__(self, "checks", MappingProxyType(checks))
        sizes = [len(text) for text in self.texts]
        for token in self.tokens:
            text, segment, start, end = token
            if not isinstance(text, str) or segment < SPECIAL or not 0 <= start <= end:
                raise InputError(f"not a token: {text!r} in segment {segment}, [{start}, {end})")
            if segment >= len(sizes):
                raise InputError(f"{token!r} belongs to text {segment}, but there are {len(sizes)} (from 0 on)")
            if segment != SPECIAL and end > sizes[segment]:
                raise InputError(f"{token!r} ends behind its text of {sizes[segment]} characters")
        shape: tuple[int, ...]
        match self.body:
            case Scores(values=array) | Selection(keep=array):
                shape = (len(self.tokens),)
            case Alignment(weights=array):
                shape = tuple(sum(token.segment == side for token in self.tokens) for side in (0, 1))
            case Sentence():
                return
            case _:
                raise InputError(f"a body must be one of {', '.join(BODIES)}, got {type(self.body).__name__}")
        if array.shape != shape:
            kind = type(self.body).__name__.lower()
            raise InputError(f"{kind} of shape {array.shape} for tokens that want {shape} (explanation {self.id!r})")

    def __reduce__(self) -> tuple[Any, ...]:
        return Explanation, (
            self.id,
            self.texts,
            self.tokens,
            self.target,
            self.body,
            self.provenance,
            dict(self.checks),
        )

    @cached_property
    def content(self) -> BoolArray:
        """Which tokens belong to a text, [T]."""
        content = np.array([token.segment != SPECIAL for token in self.tokens], dtype=np.bool_)
        content.setflags(write=False)
        return content

    def with_body(self, body: Body) -> Explanation:
        return replace(self, body=body)

    def words(self, pool: Pool = "sum") -> Explanation:
        """The same explanation per word; see `rationales.explanation.views.words`."""
        from rationales.explanation import views

        return views.words(self, pool)

    def top(self, k: int | None = None, *, fraction: float | None = None) -> Explanation:
        """The k best tokens, or a fraction of them, as a `Selection`; see `rationales.explanation.views.top`."""
        from rationales.explanation import views

        return views.top(self, k, fraction=fraction)

    def normalised(self, how: Literal["sum", "max"] = "sum") -> Explanation:
        """Scores scaled to a sum or a maximum of 1; see `rationales.explanation.views.normalised`."""
        from rationales.explanation import views

        return views.normalised(self, how)

    def above(self, threshold: float) -> Explanation:
        """The tokens with a score above the threshold, as a `Selection`."""
        from rationales.explanation import views

        return views.above(self, threshold)

    def to_html(self) -> str:
        """The texts with the reason marked in them, as HTML that brings its own style."""
        html: str = report().to_html([self])
        return html

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.to_html()

    def show(self) -> None:
        """Show it in a notebook; elsewhere print it, in colours if that is to a terminal."""
        report().show([self])


def report() -> Any:
    """The layer that shows explanations. It lies above this one, so it is only looked up when something is shown."""
    return import_module("rationales.report")
