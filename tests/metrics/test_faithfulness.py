"""Faithfulness against a slow second implementation, and the invariants that follow from the definitions."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explanation import Explanation, Provenance, Scores, Selection, Target
from rationales.metrics import (
    comprehensiveness,
    decision_flip,
    log_odds,
    normalised_comprehensiveness,
    normalised_sufficiency,
    perturbation_curve,
    saturation,
    sufficiency,
)
from rationales.models import TransformersClassifier
from tiny import PIECES, SIZE, STACK, network, tokenizer

CLS, SEP, MASK, PAD = 2, 3, 4, 0
WORDS = [piece for piece in PIECES if not piece.startswith("##")] + ["unfriendly", "delicious", "untasteful"]
NORMALISED = (normalised_sufficiency, normalised_comprehensiveness)
BINNED = (sufficiency, comprehensiveness, *NORMALISED, log_odds)
METRICS = (*BINNED, saturation, decision_flip)


@cache
def model_of(kind: str, padding: str = "right", dtype: torch.dtype = torch.float64) -> TransformersClassifier:
    return TransformersClassifier(network(kind).to(dtype), tokenizer(kind == "llama"), padding=padding)


def some_text(generator: np.random.Generator, most: int = 8) -> str:
    return " ".join(generator.choice(WORDS, size=generator.integers(1, most + 1)))


def explanation_of(model, texts, body, *, target: int = -1, name: str = "x") -> Explanation:
    """The body's array is of the content tokens; special tokens get the best score, which must not count."""
    tokens = model.encode([Example(name, tuple(texts))]).sources[0].tokens
    values = iter(body)
    whole = [99.0 if token.special else float(next(values)) for token in tokens]
    made = Selection(np.array(whole) > 0) if body.dtype == bool else Scores(whole)
    return Explanation(name, tuple(texts), tokens, Target(target, ""), made, Provenance("test"))


def content_length(model, texts) -> int:
    return sum(not token.special for token in model.encode([Example("", tuple(texts))]).sources[0].tokens)


# ---------------------------------------------------------------------------------------------------------------------
# The second implementation, from the definitions: one text at a time, lists of ids, the bare network


@dataclass(frozen=True)
class Case:
    kind: str
    texts: tuple[str, ...]
    scores: tuple[float, ...] | None  # of the content tokens
    keep: tuple[bool, ...] | None
    target: int


@dataclass(frozen=True)
class Options:
    bins: tuple[str, ...]
    erasure: str
    aopc: str
    absolute: bool
    baseline_specials: str
    eps: float


@cache
def probabilities(kind: str, ids: tuple[int, ...], types: tuple[int, ...], zeroed: tuple[bool, ...]) -> list[float]:
    net = model_of(kind).model
    with torch.no_grad():
        vectors = net.get_input_embeddings()(torch.tensor([ids]))
        vectors[0, torch.tensor(zeroed)] = 0.0
        if kind == "llama":  # the class is read off the last token
            logits = net.score(net.model(inputs_embeds=vectors).last_hidden_state[0, -1])
        elif kind == "bert":
            logits = net(inputs_embeds=vectors, token_type_ids=torch.tensor([types])).logits[0]
        else:
            logits = net(inputs_embeds=vectors).logits[0]
    powers = [math.exp(logit) for logit in logits.tolist()]
    return [power / sum(powers) for power in powers]


class Slow:
    def __init__(self, case: Case, options: Options) -> None:
        self.case, self.options = case, options
        encoded = tokenizer(case.kind == "llama")(*case.texts, return_token_type_ids=True)
        self.ids, self.types = encoded["input_ids"], encoded["token_type_ids"]
        self.content = [place for place, token in enumerate(self.ids) if token not in (CLS, SEP)]
        self.whole = self.erased(set())
        self.target = case.target if case.target >= 0 else self.whole.index(max(self.whole))

    def erased(self, gone: set[int]) -> list[float]:
        places, ids = list(range(len(self.ids))), list(self.ids)
        if self.options.erasure == "delete":
            places = [place for place in places if place not in gone]
        elif self.options.erasure in ("mask", "pad"):
            ids = [(MASK if self.options.erasure == "mask" else PAD) if i in gone else ids[i] for i in places]
        zeroed = [self.options.erasure == "zero" and place in gone for place in places]
        if not places:  # nothing is left; a model must read something
            return probabilities(self.case.kind, (PAD,), (0,), (False,))
        types = tuple(self.types[place] for place in places)
        return probabilities(self.case.kind, tuple(ids[place] for place in places), types, tuple(zeroed))

    def rationales(self) -> list[set[int]]:
        if self.case.keep is not None:
            return [{place for place, kept in zip(self.content, self.case.keep, strict=True) if kept}]
        sizes = [math.ceil(Fraction(share) * len(self.content)) for share in self.options.bins]
        return [set(self.ranked()[:size]) for size in sizes]

    def ranked(self) -> list[int]:
        scores = [abs(score) if self.options.absolute else score for score in self.case.scores]
        return [place for _, place in sorted(zip([-score for score in scores], self.content, strict=True))]

    def p(self, gone: set[int]) -> float:
        return self.erased(gone)[self.target]

    def average(self, values: list[float]) -> float:
        return sum(values) / (len(values) + (self.options.aopc == "n+1" and len(values) > 1))

    def measured(self) -> dict[str, float]:
        everything, p = set(self.content), self.whole[self.target]
        only = [self.p(everything - rationale) for rationale in self.rationales()]
        without = [self.p(rationale) for rationale in self.rationales()]
        empty = self.p(set(range(len(self.ids))) if self.options.baseline_specials == "erase" else everything)
        lowest = 1 - max(0, p - empty) - self.options.eps
        clipped = [[min(1, max(0, share)) for share in shares] for shares in (
            [(1 - max(0, p - q) - lowest) / (1 - lowest) for q in only],
            [max(0, p - q) / (1 - lowest) for q in without],
        )]  # fmt: skip
        found = {
            "sufficiency": self.average([p - q for q in only]),
            "comprehensiveness": self.average([p - q for q in without]),
            "normalised_sufficiency": self.average(clipped[0]),
            "normalised_comprehensiveness": self.average(clipped[1]),
            "saturation": float(empty >= p),
            "log_odds": sum(math.log(q / p) for q in without) / len(without),
        }
        if self.case.scores is not None:
            after = self.erased({self.ranked()[0]})
            found["decision_flip"] = float(after.index(max(after)) != self.whole.index(max(self.whole)))
        return found


def random_options(generator: np.random.Generator) -> Options:
    shares = ["0.01", "0.05", "0.1", "0.2", "0.3", "0.5", "0.75", "1"]
    return Options(
        tuple(generator.choice(shares, size=generator.integers(1, 3), replace=False).tolist()),
        str(generator.choice(["delete", "mask", "pad", "zero"])),
        str(generator.choice(["mean", "n+1"])),
        bool(generator.random() < 0.3),
        str(generator.choice(["keep", "erase"])),
        float(generator.choice([1e-4, 0.1])),
    )


def random_case(generator: np.random.Generator, kind: str) -> Case:
    """One text or two; quarters as scores, so that there are ties; a selection in one case of three."""
    texts = tuple(some_text(generator) for _ in range(generator.integers(1, 3)))
    size = content_length(model_of(kind), texts)
    scores = tuple((generator.integers(-4, 5, size=size) / 4).tolist())
    keep = tuple((generator.random(size) < generator.choice([0.2, 0.8])).tolist())
    target = int(generator.integers(-1, 3))
    scored = generator.random() < 2 / 3
    return Case(kind, texts, scores if scored else None, None if scored else keep, target)


@pytest.mark.parametrize("seed", range(20))
def test_500_random_cases_equal_the_definitions(seed):
    generator = np.random.default_rng(seed)
    kind = ("bert", "llama", "distilbert", "llama", "bert")[seed % 5]
    model = model_of(kind, "left" if kind == "llama" and seed % 2 else "right")
    options, cases = random_options(generator), [random_case(generator, kind) for _ in range(25)]
    given = [
        explanation_of(model, case.texts, np.array(case.keep or case.scores), target=case.target, name=str(number))
        for number, case in enumerate(cases)
    ]
    slow = [Slow(case, options).measured() for case in cases]
    common = {"erasure": options.erasure, "absolute": options.absolute}
    binned = common | {"bins": tuple(map(float, options.bins))}
    averaged = binned | {"aopc": options.aopc}
    normalised = averaged | {"baseline_specials": options.baseline_specials, "eps": options.eps}
    chosen = {sufficiency: averaged, comprehensiveness: averaged, log_odds: binned} | dict.fromkeys(
        NORMALISED, normalised
    )
    chosen[saturation] = {"erasure": options.erasure, "baseline_specials": options.baseline_specials}
    for measure, own in chosen.items():
        expected = [one[measure.name] for one in slow]
        np.testing.assert_allclose(measure(model, given, **own), expected, rtol=1e-9, atol=1e-9, err_msg=measure.name)
    scored = [number for number, case in enumerate(cases) if case.scores is not None]
    flips = decision_flip(model, [given[number] for number in scored], **common)
    assert flips.tolist() == [slow[number]["decision_flip"] for number in scored]


# ---------------------------------------------------------------------------------------------------------------------
# Invariants


@pytest.fixture(scope="module")
def surer() -> list[Explanation]:
    """Explanations of texts of which the model is surer than of nothing."""
    model, generator = model_of("bert"), np.random.default_rng(5)
    made = []
    for _ in range(60):
        texts = [some_text(generator) for _ in range(generator.integers(1, 3))]
        made.append(explanation_of(model, texts, generator.standard_normal(content_length(model, texts))))
    curves = perturbation_curve(model, made, fractions=(0, 1), erasure="pad")
    found = [one for one, (whole, empty) in zip(made, curves, strict=True) if empty < whole]
    assert len(found) >= 10
    return found


def all_or_nothing(explanations, everything: bool) -> list[Explanation]:
    return [one.with_body(Selection(one.content & everything)) for one in explanations]


@pytest.mark.parametrize("eps", [0, 1e-4, 0.3])
def test_the_whole_text_keeps_all_and_its_loss_takes_all(surer, eps):
    model, full, nothing = model_of("bert"), all_or_nothing(surer, True), all_or_nothing(surer, False)
    whole, empty = perturbation_curve(model, surer, fractions=(0, 1), erasure="pad").T
    s0 = 1 - (whole - empty)
    near = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(normalised_sufficiency(model, full, eps=eps), 1, **near)
    np.testing.assert_allclose(normalised_sufficiency(model, nothing, eps=eps), eps / (1 - s0 + eps), **near)
    np.testing.assert_allclose(normalised_comprehensiveness(model, nothing, eps=eps), 0, **near)
    np.testing.assert_allclose(normalised_comprehensiveness(model, full, eps=eps), (1 - s0) / (1 - s0 + eps), **near)
    if eps == 0:
        np.testing.assert_allclose(normalised_comprehensiveness(model, full, eps=eps), 1, **near)


def test_raw_measures_of_all_and_nothing(surer):
    model, full, nothing = model_of("bert"), all_or_nothing(surer, True), all_or_nothing(surer, False)
    effect = -np.diff(perturbation_curve(model, surer, fractions=(0, 1)))[:, 0]
    np.testing.assert_allclose(sufficiency(model, full), 0, atol=1e-12)
    np.testing.assert_allclose(comprehensiveness(model, nothing), 0, atol=1e-12)
    np.testing.assert_allclose(sufficiency(model, nothing), effect, rtol=1e-9)
    np.testing.assert_allclose(comprehensiveness(model, full), effect, rtol=1e-9)


@pytest.mark.parametrize("specials", ["keep", "erase"])
@pytest.mark.parametrize("eps", [0, 1e-4])
def test_normalised_measures_lie_between_0_and_1(specials, eps):
    """Without eps they are undefined where the empty text is as sure as the whole one; with it they saturate."""
    model, generator = model_of("bert"), np.random.default_rng(8)
    texts = [[some_text(generator)] for _ in range(40)]
    made = [explanation_of(model, one, generator.standard_normal(content_length(model, one))) for one in texts]
    whole, empty = perturbation_curve(model, made, fractions=(0, 1), erasure="pad").T
    assert 5 < (empty > whole).sum() < 35
    for measure in NORMALISED:
        values = measure(model, made, eps=eps, baseline_specials=specials)
        undefined = np.isnan(values)
        assert ((values >= 0) & (values <= 1))[~undefined].all()
        if specials == "keep":
            np.testing.assert_array_equal(undefined, (empty > whole) & (eps == 0))
        assert undefined.any() == (eps == 0)


# ---------------------------------------------------------------------------------------------------------------------
# A text's figure does not depend on its neighbours


@pytest.mark.parametrize(("kind", "padding"), [("bert", "right"), ("llama", "right"), ("llama", "left")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_text_alone_or_among_63_others(kind, padding, dtype):
    model, generator = model_of(kind, padding, dtype), np.random.default_rng(9)
    texts = [[some_text(generator, 15) for _ in range(generator.integers(1, 3))] for _ in range(64)]
    made = [explanation_of(model, one, generator.standard_normal(content_length(model, one))) for one in texts]
    made[20] = made[20].top(fraction=0.3)
    whole, empty = perturbation_curve(model, made, fractions=(0, 1), erasure="pad").T
    places = [20, 63, *np.argsort(empty - whole)[:2]]
    assert (whole - empty)[places[2:]].min() > 0.05
    for measure in METRICS:
        scored = [one for one in made if isinstance(one.body, Scores)] if measure is decision_flip else made
        among = measure(model, scored)
        # Beside an empty text that is as sure, the rounding of single precision is divided by eps
        conditioned = dtype == torch.float64 or measure not in NORMALISED
        for place in places if conditioned else places[2:]:
            if made[place] in scored:
                alone = measure(model, [made[place]])
                np.testing.assert_allclose(
                    alone, among[scored.index(made[place])], rtol=0, atol=1e-5, err_msg=measure.name
                )
    curves = perturbation_curve(model, made)
    np.testing.assert_allclose(perturbation_curve(model, made[63:]), curves[63:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("aopc", ["mean", "n+1"])
def test_a_selection_is_its_own_rationale_also_among_scores(aopc):
    model = model_of("bert")
    scored = explanation_of(model, ["the soup was bad"], np.array([0.1, 0.2, 0.3, 0.4]))
    selected = scored.top(fraction=0.5)
    at_half = sufficiency(model, [scored], bins=(0.5,), aopc=aopc)
    assert sufficiency(model, [selected], aopc=aopc) == pytest.approx(at_half, rel=1e-9)
    assert sufficiency(model, [selected, scored], aopc=aopc)[:1] == pytest.approx(at_half, rel=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Undefined, and refused


def test_undefined_without_tokens_and_where_a_score_is_nan():
    model = model_of("bert")
    fine = explanation_of(model, ["good soup"], np.array([1.0, 2.0]))
    nan = explanation_of(model, ["good soup"], np.array([1.0, np.nan]))
    special = fine.with_body(Scores([np.nan, 1, 2, np.nan]))
    empty = explanation_of(model, [""], np.array([]))
    for measure in METRICS:
        values = measure(model, [empty, fine, nan, special])
        assert np.isnan(values).tolist() == [True, False, True, False]
        assert values[1] == values[3]
    assert np.isnan(perturbation_curve(model, [empty, fine, nan])[:, 0]).tolist() == [True, False, True]


@pytest.mark.parametrize("options", [SIZE | {"num_labels": 1}, SIZE | {"problem_type": "regression"}])
def test_a_regression_has_no_probabilities(options):
    model = TransformersClassifier(BertForSequenceClassification(BertConfig(**options, **STACK)).eval(), tokenizer())
    made = [explanation_of(model, ["the soup was bad"], np.array([4.0, 3, 2, 1]))]
    for measure in METRICS:
        defined = measure in (sufficiency, comprehensiveness)
        assert np.isnan(measure(model, made)).tolist() == [not defined]
    whole, without = perturbation_curve(model, made, fractions=(0, 0.25))[0]
    assert comprehensiveness(model, made, bins=(0.25,)) == pytest.approx([whole - without], abs=1e-6)


@pytest.mark.parametrize(("sure_of", "expected"), [("whole", math.log(1e12 / 3)), ("erased", math.log(3 / 1e12))])
def test_log_odds_of_a_probability_of_zero_are_finite(monkeypatch, sure_of, expected):
    model = TransformersClassifier(network("bert"), tokenizer())
    sure = torch.tensor([[200.0, 0.0, -200.0]])

    def logits(batch):
        whole = batch.lengths == 4
        return sure * (whole if sure_of == "whole" else ~whole)[:, None]

    monkeypatch.setattr(model, "logits", logits)
    given = explanation_of(model, ["bad soup"], np.array([2.0, 1.0]))
    values = log_odds(model, [replace(given, target=Target(2, ""))], bins=(0.5,), erasure="delete")
    assert values == pytest.approx([expected])


def test_a_flip_is_a_change_of_logits_even_where_probabilities_are_all_one(monkeypatch):
    model = TransformersClassifier(network("bert", problem_type="multi_label_classification"), tokenizer())
    monkeypatch.setattr(model, "logits", lambda batch: torch.tensor([[50.0, 60.0, 0.0]]).expand(len(batch), -1))
    assert decision_flip(model, [explanation_of(model, ["bad soup"], np.array([2.0, 1.0]))]) == [0.0]


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        *[(one, {"bins": ()}, r"bins must be shares above 0 and up to 1, got \(\)") for one in BINNED],
        (sufficiency, {"bins": (0.0,)}, r"bins must .* got \(0.0,\)"),
        (log_odds, {"bins": (0.5, 20)}, r"bins must .* got \(0.5, 20\)"),
        *[(one, {"aopc": "n"}, "aopc must be mean or n\\+1, got 'n'") for one in BINNED[:4]],
        *[
            (one, {"baseline_specials": "no"}, "baseline_specials must be keep or erase, got 'no'")
            for one in (*NORMALISED, saturation)
        ],
        *[(one, {"eps": -1e-4}, "eps must be from 0 .* got -0.0001") for one in NORMALISED],
        *[(one, {"erasure": "blank"}, "erasure must be delete, mask, pad or zero, got 'blank'") for one in METRICS],
    ],
)
def test_wrong_options_are_refused(measure, options, message):
    model = model_of("bert")
    with pytest.raises(InputError, match=message):
        measure(model, [explanation_of(model, ["bad soup"], np.array([2.0, 1.0]))], **options)


def test_no_explanations_are_refused():
    for measure in METRICS:
        with pytest.raises(InputError, match="there are no explanations to measure"):
            measure(model_of("bert"), [])
