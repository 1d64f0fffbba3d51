"""Erasing tokens: exactly the intended ids reach the model, and the model comes back as it was."""

import itertools
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from rationales.data.example import Example
from rationales.errors import InputError, MissingCapability
from rationales.explanation import Explanation, Explanations, Provenance, Scores, Selection, Target, Token
from rationales.explanation.views import word_tokens
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
from rationales.metrics.faithfulness import BINS
from rationales.metrics.passes import shared_passes
from rationales.models import Encoded, packer
from rationales.models.batch import collate, erase
from tiny import classifier, network, pairs, singles, tokenizer

METRICS = (
    sufficiency,
    comprehensiveness,
    normalised_sufficiency,
    normalised_comprehensiveness,
    saturation,
    log_odds,
    decision_flip,
)
MASK, PAD = 4, 0


def explained(model, examples, seed: int = 0) -> list[Explanation]:
    """Random scores on the model's own tokens, for class 1."""
    generator = np.random.default_rng(seed)
    return [
        Explanation(
            source.example.id,
            source.example.texts,
            source.tokens,
            Target(1, ""),
            Scores(generator.standard_normal(len(source.tokens))),
            Provenance("test"),
        )
        for source in model.encode(examples).sources
    ]


def probabilities(model, given) -> np.ndarray:
    """Of the whole texts, [N, C]."""
    with torch.no_grad():
        return model.logits(model.encode([Example("", one.texts) for one in given])).softmax(-1).double().numpy()


def per_word(text: str, *scores: float) -> Explanation:
    return Explanation("x", (text,), word_tokens((text,)), Target(-1, ""), Scores(scores), Provenance("other"))


@pytest.fixture
def spied(monkeypatch):
    """A model, and the ids and token types of each input that it read, in any order."""
    model, seen = classifier("bert"), []
    ask = model.logits

    def logits(batch):
        for row in range(len(batch)):
            keep = batch.keep[row]
            seen.append((tuple(batch.ids[row, keep].tolist()), tuple(batch.types[row, keep].tolist())))
        return ask(batch)

    monkeypatch.setattr(model, "logits", logits)
    return model, seen


# ---------------------------------------------------------------------------------------------------------------------
# What the model reads


def intended(example: Example, gone: set[int], how: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ids and token types of a text without the tokens at some places, made by hand."""
    encoded = tokenizer()(*example.texts, return_token_type_ids=True)
    pairs = list(zip(encoded["input_ids"], encoded["token_type_ids"], strict=True))
    if how == "delete":
        kept = [pair for place, pair in enumerate(pairs) if place not in gone]
    else:
        new = {"mask": MASK, "pad": PAD}[how]
        kept = [(new if place in gone else id, kind) for place, (id, kind) in enumerate(pairs)]
    return tuple(id for id, _ in kept), tuple(kind for _, kind in kept)


@pytest.mark.parametrize("how", ["delete", "mask", "pad"])
def test_exactly_the_intended_ids_reach_the_model_with_their_token_types(spied, how):
    model, seen = spied
    examples = [*singles(), *pairs()]
    given = explained(model, examples)
    selected = [one.top(fraction=0.4) for one in given]
    seen.clear()
    comprehensiveness(model, selected, erasure=how)
    sufficiency(model, selected, erasure=how)
    expected = []
    for example, one in zip(examples, selected, strict=True):
        kept = set(np.flatnonzero(one.body.keep).tolist())
        rest = set(np.flatnonzero(one.content).tolist()) - kept
        whole = intended(example, set(), how)
        expected += [whole, whole, intended(example, kept, how), intended(example, rest, how)]
    assert set(seen) == set(expected)
    assert not Counter(seen) - Counter(expected)  # nothing more often than it is needed
    assert any(1 in types for _, types in seen)


def test_a_version_is_asked_for_once_in_a_call_and_in_a_block_of_shared_passes(spied):
    model, seen = spied
    given = explained(model, singles())
    seen.clear()
    alone = comprehensiveness(model, given), decision_flip(model, given), sufficiency(model, given)
    apart = len(seen)
    seen.clear()
    with shared_passes() as passes:
        together = comprehensiveness(model, given), decision_flip(model, given), sufficiency(model, given)
        asked = len(seen)
        perturbation_curve(model, given, fractions=(0, *BINS))
        assert len(seen) == asked  # all of it is known by now
        passes.forget()
        comprehensiveness(model, given)
        assert len(seen) > asked
    assert asked < apart
    assert len(set(seen[:asked])) == asked  # no version of a text twice
    for ours, theirs in zip(alone, together, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


def test_what_metrics_ask_together_is_asked_in_one_go(monkeypatch):
    model = classifier("bert")
    given = explained(model, [*singles(), *pairs()])
    events = []
    ask = model.logits
    monkeypatch.setattr(model, "logits", lambda batch: events.append("passes") or ask(batch))

    def flip_of_the_flip():
        """Asks twice."""
        first = decision_flip(model, given)
        return first * decision_flip(model, given, absolute=True)

    def nothing():
        events.append("nothing")
        return np.zeros(len(given))

    calls = {
        "best": partial(comprehensiveness, model, given),
        "rest": partial(sufficiency, model, given, erasure="pad"),
        "curve": partial(perturbation_curve, model, given),
        "twice": flip_of_the_flip,
        "nothing": nothing,
    }
    alone = [call() for call in calls.values()]
    events.clear()
    with shared_passes() as passes:
        together = passes.together(list(calls.values()))
        assert [event for event, _ in itertools.groupby(events)] == ["nothing", "passes"]  # called once, before all
        events.clear()
        passes.together([calls["curve"], calls["best"]])
        assert not events  # all of it is known by now
    for name, ours, theirs in zip(calls, alone, together, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6, err_msg=name)


def test_an_error_in_one_of_the_metrics_spoils_nothing_for_the_next():
    given = [per_word("1 2", 1, 2), per_word("3 4 5", 1, 2, 3)]
    alone = comprehensiveness(Linear(), given)
    model = Linear()
    with shared_passes() as passes:
        for wrong in (partial(sufficiency, model, given, erasure="mask"), partial(sufficiency, model, given, bins=())):
            with pytest.raises(InputError, match=r"mask token|bins must be"):
                passes.together([partial(comprehensiveness, model, given), wrong])
            np.testing.assert_allclose(comprehensiveness(model, given), alone)


def test_passes_are_not_shared_behind_the_block(spied):
    model, seen = spied
    given = explained(model, singles()[:2])
    with shared_passes():
        comprehensiveness(model, given)
    seen.clear()
    comprehensiveness(model, given)
    assert seen


def test_the_empty_text_keeps_its_special_tokens_unless_told(spied):
    model, seen = spied
    [given] = explained(model, pairs()[:1])
    size = len(given.tokens)
    for specials, empty in (("keep", (2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 3)), ("erase", (PAD,) * size)):
        seen.clear()
        normalised_sufficiency(model, [given], baseline_specials=specials)
        assert [ids for ids, _ in seen].count(empty) == 1


def test_zeroed_tokens_keep_their_place():
    model = classifier("bert")
    examples = singles()[:2]
    given = [one.top(2) for one in explained(model, examples)]
    values = comprehensiveness(model, given, erasure="zero")
    for example, one, value in zip(examples, given, values, strict=True):
        ids = torch.tensor([tokenizer()(example.texts[0])["input_ids"]])
        with torch.no_grad():
            vectors = model.model.get_input_embeddings()(ids)
            whole = model.model(inputs_embeds=vectors).logits.softmax(-1)[0, 1]
            vectors[0, one.body.keep.nonzero()[0]] = 0.0
            without = model.model(inputs_embeds=vectors).logits.softmax(-1)[0, 1]
        assert value == pytest.approx(float(whole - without), abs=1e-6)


def test_words_are_projected_onto_the_models_pieces(spied):
    model, seen = spied
    text = "so unfriendly , bad soup"
    whole = tokenizer()(text)["input_ids"]
    assert len(whole) == 9  # [CLS] so un ##friend ##ly , bad soup [SEP]
    seen.clear()
    comprehensiveness(model, [per_word(text, 0, 9, 0, 1, 0)], bins=(3 / 7, 4 / 7))
    without_word = (*whole[:2], *whole[5:])
    assert {ids for ids, _ in seen} == {tuple(whole), without_word, tuple(id for id in without_word if id != whole[6])}


def test_tokens_of_another_tool_meet_the_pieces_by_their_characters(spied):
    model, seen = spied
    text = "unfriendly soup"
    cuts = [0, 1, 5, 11, 12, 14, 15]  # as many tokens as the model has, but others
    tokens = tuple(Token(text[start:end], 0, start, end) for start, end in itertools.pairwise(cuts))
    foreign = Explanation("x", (text,), tokens, Target(-1, ""), Selection([1, 1, 0, 0, 0, 0]), Provenance("other"))
    seen.clear()
    comprehensiveness(model, [foreign])
    whole = tokenizer()(text)["input_ids"]
    assert {ids for ids, _ in seen} == {tuple(whole), (whole[0], *whole[3:])}  # un begins in u, ##friend in nfri


def test_the_class_is_the_target_or_the_predicted_one():
    model = classifier("bert")
    given = explained(model, singles())
    predicted = probabilities(model, given)
    for index in (-1, 0, 1, 2, 7):
        aimed = [replace(one, target=Target(index, "")) for one in given]
        whole = perturbation_curve(model, aimed, fractions=(0,))[:, 0]
        expected = predicted.max(1) if index not in (0, 1, 2) else predicted[:, index]
        np.testing.assert_allclose(whole, expected, atol=1e-6)


def test_rounds_change_nothing(monkeypatch, tmp_path):
    model = classifier("bert")
    given = explained(model, [*singles(), *pairs()])
    at_once = comprehensiveness(model, given)
    monkeypatch.setattr(packer, "FEWEST", 3)
    monkeypatch.setattr(packer, "MOST", 3)
    np.testing.assert_allclose(comprehensiveness(model, given), at_once, rtol=0, atol=1e-6)
    Explanations(given).save(tmp_path / "given.parquet")
    stored = comprehensiveness(model, Explanations.load(tmp_path / "given.parquet"))
    np.testing.assert_allclose(stored, at_once, rtol=0, atol=1e-6)


def test_texts_that_are_too_long_are_told_once(monkeypatch):
    model = classifier("bert", max_length=8)
    monkeypatch.setattr(packer, "FEWEST", 2)
    monkeypatch.setattr(packer, "MOST", 2)
    given = [per_word(example.texts[0], *range(len(example.texts[0].split()))) for example in singles()]
    with pytest.warns(UserWarning, match="3 of 5 texts were longer than 8 tokens") as told:
        values = sufficiency(model, given)
    assert len(told) == 1
    assert np.isfinite(values).all()


# ---------------------------------------------------------------------------------------------------------------------
# The model comes back as it was


def state(model):
    net = model.model
    return (
        {name: value.clone() for name, value in net.state_dict().items()},
        [part.training for part in net.modules()],
        [parameter.requires_grad for parameter in net.parameters()],
        [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in net.modules()],
        net.config._attn_implementation,
    )


def assert_same(before, after):
    assert before[1:] == after[1:]
    assert all(torch.equal(before[0][name], after[0][name]) for name in before[0])


@pytest.fixture
def odd():
    """A model in an odd state: partly training, partly frozen."""
    model = classifier("bert")
    model.model.train()
    model.model.bert.encoder.layer[0].eval()
    model.model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    return model


@pytest.mark.parametrize("measure", METRICS)
def test_the_model_is_restored(odd, measure):
    given = explained(odd, singles()[:2])
    before = state(odd)
    first = measure(odd, given, erasure="zero")
    assert_same(before, state(odd))
    np.testing.assert_array_equal(measure(odd, given, erasure="zero"), first)  # dropout was off


@pytest.mark.parametrize("how", ["delete", "zero"])
def test_the_model_is_restored_after_an_exception(odd, monkeypatch, how):
    given = explained(odd, singles()[:2])
    before = state(odd)

    def fail(*_args, **_kwargs):
        raise RuntimeError("no more")

    monkeypatch.setattr(odd.model.classifier, "forward", fail)
    with pytest.raises(RuntimeError, match="no more"):
        comprehensiveness(odd, given, erasure=how)
    assert_same(before, state(odd))


def test_something_that_is_no_model_is_refused():
    given = explained(classifier("bert"), singles()[:1])
    with pytest.raises(MissingCapability, match="a faithfulness metric needs a Model"):
        sufficiency(network("bert"), given)
    with pytest.raises(InputError, match="sufficiency asks the model"):
        sufficiency(None, given)


# ---------------------------------------------------------------------------------------------------------------------
# Curves


class Linear:
    """Two classes; each word adds its own number, which is also its id, to the logit of the second."""

    name, labels, budget = "linear", ("no", "yes"), 64
    regression, max_length = False, 64

    def encode(self, examples, *, warn=True):
        sources = tuple(Encoded(example, word_tokens(example.texts)) for example in examples)
        ids = [[int(token.text) for token in source.tokens] for source in sources]
        segments = [[0] * len(row) for row in ids]
        return collate(ids, segments, None, pad_id=0, side="right", sources=sources)

    def logits(self, batch):
        second = (batch.ids * batch.keep).sum(-1).double() / 10
        return torch.stack([torch.zeros_like(second), second], -1)

    def probabilities(self, logits):
        return logits.softmax(-1)

    def erase(self, batch, drop, how):
        return erase(batch, drop, how, mask_id=None, pad_id=0)

    def borrowed(self):
        return nullcontext()


def test_curves_of_a_linear_model_by_hand():
    def sigmoid(*tenths):
        return [1 / (1 + np.exp(-value / 10)) for value in tenths]

    given = [replace(per_word("3 1 5 2", 3, 1, 5, 2), target=Target(1, "yes"))]
    fractions = (0, 0.1, 0.5, 0.75, 1)
    best = perturbation_curve(Linear(), given, fractions=fractions)
    rest = perturbation_curve(Linear(), given, fractions=fractions, erase="rest")
    np.testing.assert_allclose(best, [sigmoid(11, 6, 3, 1, 0)])
    np.testing.assert_allclose(rest, [sigmoid(0, 5, 8, 10, 11)])


def test_curves_of_a_true_ranking_are_monotone_and_beat_all_others():
    generator = np.random.default_rng(3)
    given = []
    for number in range(20):
        values = generator.integers(1, 9, size=generator.integers(2, 12))
        one = per_word(" ".join(map(str, values)), *values)
        given.append(replace(one, id=str(number), target=Target(1, "yes")))
    for erase_what, sign in (("best", -1), ("rest", 1)):
        curve = perturbation_curve(Linear(), given, erase=erase_what)
        assert curve.shape == (20, 11)
        assert (sign * np.diff(curve) >= 0).all()
        shuffled = [one.with_body(Scores(generator.permutation(one.body.values))) for one in given]
        other = perturbation_curve(Linear(), shuffled, erase=erase_what)
        assert (sign * (curve - other) >= -1e-12).all()
        signed = [one.with_body(Scores(-one.body.values)) for one in given]
        assert (sign * (curve - perturbation_curve(Linear(), signed, erase=erase_what)) >= -1e-12).all()
        sized = perturbation_curve(Linear(), signed, erase=erase_what, absolute=True)
        np.testing.assert_allclose(sized, curve)


@pytest.mark.parametrize("how", ["delete", "mask", "pad", "zero"])
def test_curves_begin_and_end_with_all_or_nothing(how):
    model = classifier("bert")
    given = explained(model, [*singles(), *pairs()])
    everything = [one.with_body(Selection(one.content)) for one in given]
    best = perturbation_curve(model, given, erasure=how)
    rest = perturbation_curve(model, given, erasure=how, erase="rest")
    whole = probabilities(model, given)[:, 1]
    empty = whole - comprehensiveness(model, everything, erasure=how)
    for curve, ends in ((best, (whole, empty)), (rest, (empty, whole))):
        np.testing.assert_allclose(curve[:, [0, -1]].T, ends, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fractions": ()}, r"fractions must be shares from 0 to 1, got \(\)"),
        ({"fractions": (0, 1.5)}, r"fractions must be shares from 0 to 1, got \(0, 1.5\)"),
        ({"fractions": (-0.1,)}, r"fractions must be shares from 0 to 1"),
        ({"erase": "worst"}, "erase must be best or rest, got 'worst'"),
        ({"erasure": "blank"}, "erasure must be delete, mask, pad or zero, got 'blank'"),
        ({"erasure": "mask"}, "this tokenizer has no mask token"),
    ],
)
def test_curves_refuse_wrong_options(options, message):
    with pytest.raises(InputError, match=message):
        perturbation_curve(Linear(), [per_word("1 2", 1, 2)], **options)
