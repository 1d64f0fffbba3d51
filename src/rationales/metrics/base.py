"""What a metric is: a function that gives one number per explanation, and what it says about itself.

Every metric is called in the same way, `metric(model, explanations, third, *, options)`. The third argument is what the
explanations are compared with: `gold`, the explanations of people, or `other`, a second set of explanations of the same
examples. `needs` says which of the three must be there. The numbers are float64 [N], NaN where the metric is undefined;
averages are taken elsewhere (`rationales.metrics.aggregate`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, ParamSpec, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np

from rationales.errors import InputError
from rationales.explanation.types import Alignment, Body, Explanation, FloatArray, Scores, Selection
from rationales.explanation.views import Pool
from rationales.registry import Option, Registry

P = ParamSpec("P")
Best: TypeAlias = Literal["high", "low"]
Need: TypeAlias = Literal["model", "gold", "other"]
Golds: TypeAlias = Sequence[Explanation | None]
GoldKind: TypeAlias = Literal["selection", "alignment"]
"""What people did: select words, or link those of two texts."""

# Options that several metrics share, with the help that the command shows.
PoolOption: TypeAlias = Annotated[Pool, "how the scores of a word's pieces become the score of the word"]
AbsoluteOption: TypeAlias = Annotated[bool, "rank by the size of the scores and not by their signed value"]


@dataclass(frozen=True, eq=False, repr=False)
class Metric(Generic[P]):
    """A checked function from explanations to numbers, with the direction that is better and what it needs.

    `gold` is what it needs of people, if that is among its `needs`.
    """

    function: Callable[P, FloatArray]
    name: str
    best: Best
    bodies: tuple[type[Body], ...]
    needs: tuple[Need, ...]
    options: tuple[Option, ...]
    gold: GoldKind = "selection"

    def __post_init__(self) -> None:
        # The metric stands where the function stood: its name, docstring and signature are the function's.
        for attribute in functools.WRAPPER_ASSIGNMENTS:
            object.__setattr__(self, attribute, getattr(self.function, attribute, None))
        object.__setattr__(self, "__wrapped__", self.function)

    def __repr__(self) -> str:
        return f"<metric {self.name}, best {self.best}>"

    @property
    def family(self) -> str:
        """The file the metric stands in: plausibility, stability, …"""
        return self.function.__module__.rpartition(".")[2]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> FloatArray:
        given = self._bound(args, kwargs)
        explanations, name = given["explanations"], _third(self.needs)
        self._check_explanations("explanations", explanations)
        if "model" in self.needs and given["model"] is None:
            raise InputError(f"{self.name} asks the model that was explained; pass it as the first argument, not None")
        if name in self.needs:
            self._check_third(explanations, given.get(name))
        values = np.asarray(self.function(*args, **kwargs), dtype=np.float64)
        if values.shape != (len(explanations),):
            raise InputError(
                f"{self.name} gave numbers of shape {values.shape} for {len(explanations)} explanations; "
                f"a metric must give one for each, NaN where it is undefined"
            )
        return values

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = inspect.signature(self.function).bind(*args, **kwargs)
        except TypeError as error:
            options = "".join(f", {option.name}={option.default!r}" for option in self.options)
            call = f"{self.name}(model, explanations, {_third(self.needs)}{options and ', *'}{options})"
            raise InputError(f"{self.name}: {error}; call it as {call}") from None
        return bound.arguments

    def _check_explanations(self, name: str, given: Any, *, gaps: bool = False, any_body: bool = False) -> None:
        if not isinstance(given, Sequence):
            raise InputError(f"{self.name}: `{name}` must be a sequence of explanations, got {type(given).__name__}")
        for place, explanation in enumerate(given):
            if explanation is None and gaps:
                continue
            if not isinstance(explanation, Explanation):
                found = type(explanation).__name__
                raise InputError(f"{self.name}: `{name}` must hold explanations, got {found} at place {place}")
            if not any_body and not isinstance(explanation.body, self.bodies):
                kind = type(explanation.body)
                raise InputError(
                    f"{self.name} takes {_kinds(self.bodies)}, got {_kinds((kind,))} (explanation {explanation.id!r}, "
                    f"method {explanation.provenance.method!r}). {_remedy(kind, self.bodies)}"
                )

    def _check_third(self, explanations: Sequence[Explanation], third: Golds | None) -> None:
        name = _third(self.needs)
        if third is None:
            what = "the explanations of people" if name == "gold" else "a second set of explanations"
            raise InputError(f"{self.name} compares with {what}; pass them as `{name}`, the third argument")
        self._check_explanations(name, third, gaps=True, any_body=name == "gold")
        if len(third) != len(explanations):
            raise InputError(
                f"{self.name}: {len(explanations)} explanations but {len(third)} in `{name}`; "
                f"it must hold one for each, in the same order, None where there is none"
            )
        for place, (explanation, reference) in enumerate(zip(explanations, third, strict=True)):
            if reference is None:
                continue
            for attribute in ("id", "texts"):
                ours, theirs = getattr(explanation, attribute), getattr(reference, attribute)
                if ours != theirs:
                    raise InputError(
                        f"{self.name}: at place {place} the explanation has {attribute} {ours!r:.80} but `{name}` has "
                        f"{theirs!r:.80}; both must be of the same examples, in the same order"
                    )


metrics: Registry[Metric[...]] = Registry("metric", plugins="rationales.metrics")


def metric(
    name: str,
    *,
    best: Best,
    bodies: tuple[type[Body], ...],
    needs: tuple[Need, ...] = (),
    gold: GoldKind = "selection",
) -> Callable[[Callable[P, FloatArray]], Metric[P]]:
    """Register a function as a metric: `best` is the better direction, `bodies` the kinds of explanation it takes.

    Where it needs `gold`, that may be the words that people selected, or those of two texts that they linked.

    The function is `(model, explanations, gold=None, *, options)`, or `other` in place of `gold` where that is what it
    needs. Options are keyword-only and have defaults; `Annotated[type, "help"]` gives them the text for the command.
    """

    def register(function: Callable[P, FloatArray]) -> Metric[P]:
        parameters = list(inspect.signature(function).parameters.values())
        options = parameters[3:]
        if [parameter.name for parameter in parameters[:3]] != ["model", "explanations", _third(needs)] or any(
            option.kind is not option.KEYWORD_ONLY or option.default is option.empty for option in options
        ):
            raise InputError(
                f"the metric {name!r} must be a function (model, explanations, {_third(needs)}=None, *, options) whose "
                f"options have defaults; its signature is {inspect.signature(function)}"
            )
        hints = get_type_hints(function, include_extras=True)
        known = tuple(_option(option, hints) for option in options)
        made = Metric(function, name, best, bodies, needs, known, gold)
        return metrics(name)(made)

    return register


def sized(explanation: Explanation, absolute: bool) -> Explanation:
    """The explanation with the absolute values of its scores, if `absolute`; a selection stays as it is."""
    if absolute and isinstance(explanation.body, Scores):
        return explanation.with_body(Scores(np.abs(explanation.body.values)))
    return explanation


def _third(needs: tuple[Need, ...]) -> Literal["gold", "other"]:
    return "other" if "other" in needs else "gold"


def _option(parameter: inspect.Parameter, hints: dict[str, Any]) -> Option:
    hint = hints.get(parameter.name, Any)
    kind, help = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, "")
    return Option(parameter.name, kind, parameter.default, help)


def _kinds(bodies: tuple[type[Body], ...]) -> str:
    """The kinds of body in words: "scores or a selection"."""
    names = {Scores: "scores", Alignment: "an alignment"}
    *others, last = (names.get(body, f"a {body.__name__.lower()}") for body in bodies)
    return f"{', '.join(others)} or {last}" if others else last


def _remedy(given: type[Body], wanted: tuple[type[Body], ...]) -> str:
    if given is Scores and Selection in wanted:
        return "explanation.top(fraction=0.2) turns scores into a selection."
    fitting = [name for name, candidate in metrics.items() if given in candidate.bodies]
    return f"Metrics for {_kinds((given,))}: {', '.join(fitting) or 'none yet'}."
