"""A comparison made by hand: planted texts, scores that lean towards the planted words more or less, and figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from rationales.comparison.types import Agreement, Case, Curves, Figure, Measure, Standing, Summary
from rationales.data.gold import gold_alignment, gold_selection
from rationales.data.planted import PAIR_LABELS, REVIEW_LABELS, pairs, reviews
from rationales.explanation import Alignment, Explanation, Provenance, Scores, Sentence, Target
from rationales.explanation.types import Body
from rationales.explanation.views import word_tokens

METHODS = {  # how far each leans towards the planted words, and its seconds per 1,000 tokens
    "integrated_gradients": (0.92, 0.31),
    "leave_one_out": (0.9, 0.52),
    "deeplift": (0.86, 0.09),
    "kernel_shap": (0.8, 3.4),
    "lime": (0.75, 2.9),
    "input_x_gradient": (0.6, 0.04),
    "gradient": (0.4, 0.041),
    "attention": (0.3, 0.018),
    "random": (0.0, 0.0009),
}


def explanation(
    *texts: str, body: Body | None = None, id: str = "x", label: str = "good", method: str = "test", model: str = "m"
) -> Explanation:
    """An explanation by words; scores that alternate in sign unless a body is given."""
    tokens = word_tokens(texts)
    body = body or Scores([(-1) ** place / (1 + place) for place in range(len(tokens))])
    return Explanation(id, texts, tokens, Target(1, label, 0.75), body, Provenance(method, {"seed": 0}, model))


def case(*texts: str, id: str = "x", label: str | None = "good", predicted: str = "good", model: str = "m") -> Case:
    found = {name: explanation(*texts, id=id, label=predicted, method=name) for name in ("human", "one", "two")}
    return Case(model, id, texts, label, predicted, 0.75, found)


def cases(
    size: int, model: str = "reviews-model", seed: int = 0, methods: Iterable[str] = tuple(METHODS)
) -> Iterator[Case]:
    """Planted reviews; every seventh prediction is wrong."""
    rng = np.random.default_rng(seed)
    for place, example in enumerate(reviews(size, seed=seed + 1)):
        gold = gold_selection(example)
        assert gold is not None
        planted = gold.body.keep.astype(float)
        label = REVIEW_LABELS[example.label]
        predicted = label if place % 7 else REVIEW_LABELS[1 - example.label]
        sure = round(float(rng.uniform(0.5, 1)), 3)
        found: dict[str, Explanation] = {"human": gold}
        for method in methods:
            lean, _ = METHODS[method]
            noise = rng.normal(size=len(planted)) * (1 - lean + 0.05) * 0.35
            values = Scores(planted * lean + noise)
            made = Provenance(method, {"seed": 0}, model)
            target = Target(0, predicted, sure)
            found[method] = Explanation(example.id, example.texts, gold.tokens, target, values, made)
        yield Case(model, example.id, example.texts, label, predicted, sure, found)


def short_cases(size: int) -> Iterator[Case]:
    """Many texts of few words, quickly."""
    rng = np.random.default_rng(0)
    words = [f"word{number}" for number in range(500)]
    for number in range(size):
        text = " ".join(rng.choice(words, 8))
        found = {name: explanation(text, method=name) for name in ("one", "two")}
        label, predicted = ("good", "bad")[number % 2], ("good", "bad")[number % 3 % 2]
        yield Case("m", f"id-{number}", (text,), label, predicted, float(rng.random()), found)


def pair_cases(size: int, model: str = "pairs-model", seed: int = 0) -> Iterator[Case]:
    """Planted pairs with links, scores and sentences."""
    rng = np.random.default_rng(seed)
    for example in pairs(size, seed=seed + 1):
        marked, linked = gold_selection(example), gold_alignment(example)
        assert marked is not None
        assert linked is not None
        label, target = PAIR_LABELS[example.label], Target(example.label, PAIR_LABELS[example.label], 0.9)
        kept = marked.body.keep.astype(float)
        scores = Scores(kept + rng.normal(size=len(kept)) * 0.25)
        links = Alignment(linked.body.weights * 0.8 + rng.normal(size=linked.body.weights.shape) * 0.12)
        steps = rng.normal(size=(len(example.sentences[0].split()), 3)).cumsum(0)
        bodies = {"integrated_gradients": scores, "links": links, "sentence": Sentence(example.sentences[0], steps)}
        found = {"human": marked, "human links": linked}
        for method, body in bodies.items():
            made = Provenance(method, {}, model)
            found[method] = Explanation(example.id, example.texts, marked.tokens, target, body, made)
        yield Case(model, example.id, example.texts, label, label, 0.9, found)


ADVICE = (
    "Use integrated_gradients: nothing is better by comprehensiveness. leave_one_out and deeplift are within noise of "
    "it, and deeplift costs a third."
)
MEASURES = (
    Measure("comprehensiveness", "high", {"bins": (0.01, 0.05, 0.1, 0.2, 0.5)}, ("model",)),
    Measure("sufficiency", "low", {"bins": (0.01, 0.05, 0.1, 0.2, 0.5)}, ("model",)),
    Measure("auroc", "high", {}, ("gold",)),
)


def summary(models: tuple[str, ...] = ("reviews-model",), texts: int = 200) -> Summary:
    """Figures that go with `cases`; one method has failed and one has a note."""
    return Summary(
        command="rationales compare --model reviews-model --data planted-reviews --split test --out 'my runs/reviews'",
        data="planted-reviews",
        models=models,
        texts=texts,
        tokens=texts * 61,
        measures=MEASURES,
        ranked_by="comprehensiveness",
        standings=tuple(standing for model in models for standing in _standings(model, texts)),
        agreements=tuple(_agreement(model) for model in models),
        advice=dict.fromkeys(models, ADVICE),
        versions={"rationales": "0.1.0", "torch": "2.13.0", "transformers": "5.22.2", "python": "3.11.9"},
        hardware={"processor": "two cores", "cores": 2, "memory_gib": 8},
    )


def _standings(model: str, texts: int) -> Iterator[Standing]:
    fractions = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5)
    for rank, (method, (lean, seconds)) in enumerate(METHODS.items(), 1):
        half = 0.03
        means = {"comprehensiveness": 0.05 + 0.5 * lean, "sufficiency": 0.4 - 0.35 * lean, "auroc": 0.5 + 0.48 * lean}
        gain = (lean * 0.5 - half, lean * 0.5 + half)
        figures = {
            name: Figure(mean, mean - half, mean + half, texts, 3 if name == "auroc" else 0, gain)
            for name, mean in means.items()
        }
        fallen = tuple(0.93 - (0.1 + 0.6 * lean) * (1 - math.exp(-9 * x)) - 0.2 * x for x in fractions)
        risen = tuple(0.3 + (0.1 + 0.5 * lean) * (1 - math.exp(-8 * x)) + 0.2 * x for x in fractions)
        notes = ("the scores of 4 of 200 texts do not add up within 5 %",) if method == "integrated_gradients" else ()
        params = {"steps": 50, "seed": 0} if method == "integrated_gradients" else {"seed": 0}
        yield Standing(
            model, method, params, rank, rank <= 3, figures, seconds, Curves(fractions, fallen, risen), notes=notes
        )
    yield Standing(model, "attention_rollout", {}, 0, False, {}, math.nan, failure="the model has no attention to tap")


def _agreement(model: str) -> Agreement:
    leans = [lean for lean, _ in METHODS.values()]
    matrix = tuple(tuple(1.0 if a is b else round(a * b - 0.05, 3) for b in leans) for a in leans)
    return Agreement(model, tuple(METHODS), matrix)
