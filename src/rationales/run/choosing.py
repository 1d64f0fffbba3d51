"""What a comparison is of: the methods, with what they have to beat, and the metrics that fit them and the texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from rationales.comparison.types import LINK_RANDOM, RANDOM
from rationales.data import Example
from rationales.errors import InputError
from rationales.explainers import OWN, Aligner, AnyExplainer, LinkRandom, LinkScorer, Random, aligners, explainers
from rationales.explanation import Alignment
from rationales.metrics.base import GoldKind
from rationales.models import Model, SelfExplaining
from rationales.registry import unknown
from rationales.run.measuring import Choice, chosen_metrics
from rationales.run.texts import Method, as_explainer

METHODS = (
    *(RANDOM, "attention", "scaled_attention", "attention_rollout", "gradient", "input_x_gradient"),
    *("integrated_gradients", "deeplift", "leave_one_out", "lime", "kernel_shap"),
)
"""What is compared by default: all but those that are costly (backselect) or close to another (smoothgrad).

And `own`, if one of the models explains itself.
"""

LINKS = "links"
"""Stands for all methods of `LINK_METHODS`."""

LINK_METHODS = (
    *(LINK_RANDOM, "arec", "coattention", "link_gradient", "link_integrated_gradients", "link_leave_one_out"),
    "link_lime",
)
"""The methods that link two texts, but for those that are costly (link_backselect) or must be trained (diffmask)."""

LINK_METRICS, LINK_PLAUSIBILITY = ("aorc", "fidelity", "compactness", "contiguity"), ("alignment_f1",)
"""Measured by default of links; plausibility only where the data say what people linked."""

FAITHFULNESS, PLAUSIBILITY = ("comprehensiveness", "sufficiency", "decision_flip"), ("auroc", "auprc")
"""Measured by default; plausibility only where the data say what people marked."""


def check_name(method: str) -> None:
    """Refuse what is no method and does not stand for several."""
    names = (*explainers, OWN, *aligners, LINKS)
    if method not in names:
        raise unknown("method", method, names)


def methods_to_compare(given: Sequence[Method] | None, models: Mapping[str, Model]) -> dict[str, AnyExplainer]:
    """Explainers by the name they have in the table: options that are not the defaults stand behind it."""
    if isinstance(given, str | AnyExplainer):
        given = [given]
    if given is None:
        given = (*METHODS, *([OWN] if any(isinstance(own, SelfExplaining) for own in models.values()) else []))
    for method in given:
        if isinstance(method, str):
            check_name(method)
    named = [each for method in given for each in (LINK_METHODS if method == LINKS else (method,))]
    chosen = [as_explainer(method) for method in named]
    found = _floor(chosen)
    for explainer in chosen:
        name = method_label(explainer)
        if any(explainer is other for other in found.values()) or name == RANDOM:
            continue
        if name in found:
            raise InputError(f"the method {name} is given twice")
        found[name] = explainer
    return found


def _floor(given: Sequence[AnyExplainer]) -> dict[str, AnyExplainer]:
    """What the methods have to beat, by its name.

    Of links it is the one that was given, or one that keeps links in the same way as the others.
    """
    linking = [explainer for explainer in given if isinstance(explainer, Aligner)]
    if not linking:
        return {RANDOM: Random()}
    if len(linking) < len(given):
        other = next(explainer for explainer in given if not isinstance(explainer, Aligner))
        raise InputError(
            f"{linking[0].name} links two texts and {other.name} does not; a comparison is of methods of one kind, so "
            "make one of each"
        )
    floors = [explainer for explainer in linking if isinstance(explainer, LinkRandom)]
    within = max((explainer.within for explainer in linking if isinstance(explainer, LinkScorer)), default=0.0)
    return {LINK_RANDOM: floors[0] if floors else LinkRandom(within=within)}


def method_label(explainer: AnyExplainer) -> str:
    """The name of a method, and those of its options that are not the defaults: `lime(samples=1000)`."""
    changed = [
        f"{each.name}={getattr(explainer, each.name)}"
        for each in fields(explainer)  # type: ignore[arg-type]
        if getattr(explainer, each.name) != each.default
    ]
    return f"{explainer.name}({', '.join(changed)})" if changed else explainer.name


def marked_kinds(examples: Sequence[Example]) -> set[GoldKind]:
    """What people were asked for, at least of some texts."""
    asked: dict[GoldKind, bool] = {
        "selection": any(example.rationale is not None for example in examples),
        "alignment": any(example.alignment is not None for example in examples),
    }
    return {kind for kind, there in asked.items() if there}


def metrics_to_compare(
    names: Sequence[str] | str | None,
    options: Mapping[str, Mapping[str, Any]] | None,
    *,
    linking: bool,
    marked: Collection[GoldKind],
) -> list[Choice]:
    """Metrics with their options, if they fit the methods and what people `marked`."""
    if isinstance(names, str):
        names = [names]
    if names is None and linking:
        names = (*LINK_METRICS, *(LINK_PLAUSIBILITY if "alignment" in marked else ()))
    elif names is None:
        names = (*FAITHFULNESS, *(PLAUSIBILITY if "selection" in marked else ()))
    asked = chosen_metrics(names, options)
    if not asked:
        raise InputError("there is no metric to compare by")
    for choice in asked:
        if "other" in choice.metric.needs:
            raise InputError(
                f"{choice.metric.name} compares two sets of explanations; compare shows how methods agree by itself"
            )
        if Alignment not in choice.metric.bodies if linking else choice.metric.bodies == (Alignment,):
            kind, *fitting = ("links", *LINK_METRICS) if linking else ("single tokens", *FAITHFULNESS)
            raise InputError(
                f"{choice.metric.name} is no metric of {kind}, which is what these methods give; take one such as "
                f"{', '.join(fitting)}"
            )
        if "gold" in choice.metric.needs and choice.metric.gold not in marked:
            what = "marked the reasons" if choice.metric.gold == "selection" else "linked the words of two"
            raise InputError(f"{choice.metric.name} needs texts in which people {what}; these have none")
    return asked
