"""How alike models are explained: known overlaps, chance, untrained models, and what is refused."""

import itertools
import json
import math
import warnings

import numpy as np
import pytest
import torch

from rationales import compare
from rationales.comparison import Comparison
from rationales.data import Example
from rationales.errors import InputError, MissingCapability, ModelError
from rationales.explainers import explainers
from rationales.explanation import Explanation, Provenance, Scores, Selection, Sentence, Target, Token
from rationales.metrics import jaccard
from rationales.metrics.stability import chance_overlap
from rationales.models.untrained import untrained
from rationales.run.stability import likeness, shared_unit, stability_of
from tiny import classifier, tokenizer

MODELS = ("one", "two", "three")


def explained(values, label: str = "good", body=Scores) -> Explanation:
    """One-letter words behind a special token, which has the highest score."""
    tokens = tuple(Token("w", 0, 2 * i, 2 * i + 1) for i in range(len(values)))
    first = [True] if body is Selection else [99.0]
    text = " ".join("w" * len(values))
    whole = (Token("[CLS]", -1, 0, 0), *tokens)
    return Explanation("x", (text,), whole, Target(0, label), body([*first, *values]), Provenance("test"))


def alike(texts, models=MODELS, untrained="", share=0.25, unit="tokens"):
    return likeness("m", models[: len(texts[0])], untrained, texts, share=share, unit=unit)


def only(texts, **options):
    [pair] = alike(texts, **options).pairs
    return pair.overlap


# ---------------------------------------------------------------------------------------------------------------------
# Explanations made by hand


@pytest.mark.parametrize(
    ("other", "expected"),
    [([8, 7, 6, 5, 4, 3, 2, 1], 1), ([1, 2, 3, 4, 5, 6, 7, 8], 0), ([8, 1, 7, 2, 2, 2, 2, 2], 1 / 3)],
    ids=["equal", "disjoint", "one of three"],
)
def test_known_overlaps(other, expected):
    first = explained([8, 7, 6, 5, 4, 3, 2, 1])  # two of eight are the best quarter
    assert only([[first, explained(other)]] * 3).mean == pytest.approx(expected)


def test_the_share_is_rounded_up_and_can_be_chosen():
    first, other = explained([5, 4, 3, 2, 1]), explained([4, 5, 1, 2, 3])
    assert only([[first, other]]).mean == 1  # ⌈5/4⌉ = 2
    assert only([[first, other]], share=0.2).mean == 0
    assert only([[first, other]], share=0.6).mean == pytest.approx(2 / 4)


def test_every_pair_equals_the_metric_with_its_interval_over_texts():
    generator = np.random.default_rng(0)
    texts = [[explained(generator.integers(0, 5, size)) for _ in MODELS] for size in generator.integers(1, 12, 40)]
    found = alike(texts)
    assert [(pair.one, pair.other) for pair in found.pairs] == list(itertools.combinations(MODELS, 2))
    for pair, (i, j) in zip(found.pairs, itertools.combinations(range(3), 2), strict=True):
        slow = jaccard(None, [text[i] for text in texts], [text[j] for text in texts])
        assert pair.overlap.mean == pytest.approx(slow.mean())
        assert pair.overlap.low < pair.overlap.mean < pair.overlap.high
        assert (pair.overlap.count, pair.overlap.undefined) == (40, 0)
    assert found.trained.mean == pytest.approx(np.mean([pair.overlap.mean for pair in found.pairs]))
    assert found.untrained is None
    assert math.isnan(found.gap[0])


@pytest.mark.parametrize(("total", "ours", "theirs"), [(4, 1, 1), (6, 2, 2), (7, 3, 5), (5, 5, 5), (5, 0, 2)])
def test_chance_is_the_mean_over_all_choices(total, ours, theirs):
    first = set(range(ours))
    others = [set(other) for other in itertools.combinations(range(total), theirs)]
    slow = np.mean([len(first & other) / len(first | other) for other in others])
    assert chance_overlap(total, ours, theirs) == pytest.approx(slow)


def test_chance_goes_with_the_lengths_of_the_texts_and_is_what_random_scores_reach():
    assert math.isnan(chance_overlap(5, 0, 0))
    generator = np.random.default_rng(1)
    texts = [[explained(generator.normal(size=size)) for _ in range(2)] for size in [3, 8, 20, 21] * 500]
    overlap = only(texts)
    assert overlap.chance == pytest.approx(
        np.mean([chance_overlap(n, k, k) for n, k in ((3, 1), (8, 2), (20, 5), (21, 6))])
    )
    assert overlap.mean == pytest.approx(overlap.chance, abs=0.02)


def test_undefined_texts_are_counted_and_labels_compared():
    good, nan = explained([1.0, 2.0]), explained([1.0, math.nan])
    overlap = only([[good, good], [good, nan], [good, explained([1.0, 2.0], label="bad")]])
    assert (overlap.count, overlap.undefined) == (2, 1)
    assert overlap.same_label == 0.5
    sentence = Explanation("x", ("w",), good.tokens[:2], good.target, Sentence("because"), good.provenance)
    assert only([[sentence, sentence]]).count == 0


def test_selections_are_taken_as_they_are():
    overlap = only(
        [
            [
                explained([True, True, False, False], body=Selection),
                explained([True, False, False, False], body=Selection),
            ]
        ]
    )
    assert overlap.mean == 0.5
    assert overlap.chance == pytest.approx(chance_overlap(4, 2, 1))


def test_other_tokens_are_compared_by_words():
    pieces = (Token("very", 0, 0, 4), Token("go", 0, 5, 7), Token("od", 0, 7, 9), Token("film", 0, 10, 14))
    ours = Explanation("x", ("very good film",), pieces, Target(0, ""), Scores([3, 2, 2, 1]), Provenance("a"))
    whole = (pieces[0], Token("good", 0, 5, 9), pieces[3])
    theirs = Explanation("x", ours.texts, whole, ours.target, Scores([2, 3, 1]), Provenance("b"))
    assert shared_unit([[ours, ours], [theirs, theirs]]) == "tokens"
    assert shared_unit([[ours, ours], [ours, theirs]]) == "words"
    assert only([[ours, theirs]], unit="words").mean == 1  # the pieces of "good" sum to 4


# ---------------------------------------------------------------------------------------------------------------------
# In words


def advice(texts, **options):
    found = alike(texts, **options)
    models = MODELS[: len(texts[0])]
    return stability_of(
        [found], share=0.25, unit="tokens", models=models, untrained=options.get("untrained", "")
    ).advice


def test_advice_for_a_method_that_tells_training_and_one_that_does_not():
    ones = [explained(np.roll(np.arange(12.0), 3 * place)) for place in range(4)] * 10
    others = ones[1:] + ones[:1]
    learnt = advice([[own, own, other] for own, other in zip(ones, others, strict=True)], untrained="three")
    assert "Between the 2 trained models, `m` is the most alike" in learnt
    assert "the best 25 % of the tokens overlap by 1.00" in learnt
    assert "clearly less alike, as it should be" in learnt
    assert "More like the untrained model than chance" not in learnt
    half = [[own, own, (own, other)[place % 2]] for place, (own, other) in enumerate(zip(ones, others, strict=True))]
    assert "than chance: `m` (0.50). Part of what" in advice(half, untrained="three")
    blind = advice([[own, own, own] for own in ones], untrained="three")
    assert "Not clearly less alike beside the untrained model: `m`" in blind
    chance = advice([[own, other] for own, other in zip(ones, others, strict=True)])
    assert "No more alike than chance: `m`" in chance


def test_advice_for_one_model_beside_the_untrained():
    ones = [explained(np.roll(np.arange(12.0), 3 * place)) for place in range(4)] * 10
    assert "More like the untrained model than chance: `m` (1.00)" in advice([[x, x] for x in ones], untrained="two")
    unlike = [[own, other] for own, other in zip(ones, ones[1:] + ones[:1], strict=True)]
    assert "No method is more like the untrained model" in advice(unlike, untrained="two")


def test_advice_tells_of_other_labels_and_of_nothing_to_compare():
    texts = [[explained([1.0, 2.0]), explained([1.0, 2.0], label="bad")]] * 4
    assert "For 100 % of the texts the trained models explain different labels" in advice(texts)
    nothing = stability_of([], share=0.25, unit="words", models=MODELS, untrained="")
    assert "nothing can be said" in nothing.advice


# ---------------------------------------------------------------------------------------------------------------------
# Models


def reviews(number: int = 20) -> list[Example]:
    """More than one part of 16."""
    words = "the soup was good but we never loved a rude waiter and slow staff".split()  # noqa: SIM905
    return [
        Example(str(place), (" ".join(words[place % 5 :] + words[: place % 7]),), place % 2) for place in range(number)
    ]


def saved(path, seed: int = 0):
    classifier("bert", seed=seed).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """The pretrained model that the classifiers could have begun from."""
    directory = tmp_path_factory.mktemp("encoder")
    own = classifier("bert", seed=7)
    own.model.bert.save_pretrained(directory)
    own.tokenizer.save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def models():
    return {name: classifier("bert", seed=seed) for seed, name in enumerate(MODELS)}


FAST = {"methods": ["gradient", "attention"], "metrics": ["comprehensiveness"]}


@pytest.fixture(scope="module")
def done(models, encoder, tmp_path_factory):
    out = tmp_path_factory.mktemp("done") / "c"
    return compare(models, reviews(), **FAST, stability=True, untrained=encoder, out=out)


def test_all_pairs_of_all_models_by_each_method_that_asks_the_model(done):
    found = done.summary.stability
    assert found.models == (*MODELS, "untrained")
    assert found.untrained == "untrained"
    assert (found.share, found.unit) == (0.25, "tokens")
    assert {item.method for item in found.methods} == {"gradient", "attention"}  # random says the same of any model
    for item in found.methods:
        assert len(item.pairs) == 6
        for pair in item.pairs[:2]:
            slow = jaccard(None, *(list(done.explanations(item.method, name)) for name in (pair.one, pair.other)))
            assert pair.overlap.mean == pytest.approx(slow.mean())
        ours = [pair.overlap.mean for pair in item.pairs if "untrained" not in (pair.one, pair.other)]
        assert item.trained.mean == pytest.approx(np.mean(ours))
        assert item.untrained.mean == pytest.approx(
            np.mean([pair.overlap.mean for pair in item.pairs if pair.other == "untrained"])
        )
        assert item.trained.low <= item.trained.mean <= item.trained.high
        assert 0 < item.trained.chance < 0.3
    means = [item.trained.mean for item in found.methods]
    assert means == sorted(means, reverse=True)


def test_the_untrained_model_is_explained_but_not_ranked(done):
    assert done.summary.models == MODELS
    assert {item.model for item in done.summary.standings} == set(MODELS)
    assert (done.directory / "models/untrained/gradient/00001.parquet").exists()


def test_it_survives_the_file_and_comes_as_a_table(done):
    assert Comparison.load(done.directory).summary.stability == done.summary.stability
    table = done.stability_to_pandas()
    assert len(table) == 2 * 6
    assert table["untrained"].sum() == 2 * 3
    assert set(table["one"]) == set(MODELS)


def test_results_of_before_are_still_read(models, tmp_path):
    found = compare(models["one"], reviews(3), ["gradient"], out=tmp_path / "c")
    path = tmp_path / "c/results.json"
    content = json.loads(path.read_text())
    del content["stability"]
    path.write_text(json.dumps(content))
    assert Comparison.load(tmp_path / "c").summary.stability is None
    with pytest.raises(InputError, match="stability was not asked for"):
        found.stability_to_pandas()


def test_nothing_is_explained_a_second_time(models, tmp_path, monkeypatch):
    compare(models, reviews(), **FAST, out=tmp_path / "c")
    monkeypatch.setattr(explainers["gradient"], "attribute", None)  # whoever calls it fails
    found = compare(models, reviews(), **FAST, stability=True, share=0.5, out=tmp_path / "c")
    assert found.summary.stability.share == 0.5
    monkeypatch.undo()
    both = [
        compare(models, reviews(), **FAST, stability=True, untrained="random", out=tmp_path / "c") for _ in range(2)
    ]
    assert both[0].summary.stability == both[1].summary.stability
    other = compare(models, reviews(), **FAST, stability=True, untrained="random", seed=1, out=tmp_path / "c")
    assert other.summary.stability.methods[0].untrained.mean != both[0].summary.stability.methods[0].untrained.mean


def test_the_same_model_twice_is_explained_the_same(models):
    found = compare({"a": models["one"], "b": models["one"]}, reviews(), **FAST, stability=True)
    assert [item.trained.mean for item in found.summary.stability.methods] == [1, 1]
    assert [item.trained.same_label for item in found.summary.stability.methods] == [1, 1]


def test_models_of_other_tokens_meet_on_words(models):
    cut = {"whole": models["one"], "cut": classifier("bert", max_length=8)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # texts are cut, as they should be
        found = compare(cut, reviews(4), **FAST, stability=True)
    assert found.summary.stability.unit == "words"
    assert "whole words are compared" in found.summary.stability.advice


def test_a_method_that_fails_on_a_model_compares_the_others(models):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        given = {"no-tap": classifier("deberta"), **models}
    found = compare(given, reviews(3), **FAST, stability=True).summary.stability
    pairs = {item.method: len(item.pairs) for item in found.methods}
    assert pairs == {"gradient": 6, "attention": 3}


# ---------------------------------------------------------------------------------------------------------------------
# Untrained models


def test_the_encoder_stays_and_the_head_is_drawn(models, encoder):
    made, again, other = (untrained(models["one"], encoder, seed=seed) for seed in (0, 0, 1))
    trained = models["one"].model.state_dict()
    before = classifier("bert", seed=7).model.state_dict()
    for name, weights in made.model.state_dict().items():
        assert torch.equal(weights, again.model.state_dict()[name])
        if name.startswith("bert."):
            assert torch.equal(weights, before[name])
            assert torch.equal(weights, other.model.state_dict()[name])
    head = made.model.classifier.weight
    assert not torch.equal(head, other.model.classifier.weight)
    assert not torch.equal(head, trained["classifier.weight"])
    assert made.labels == models["one"].labels


def test_an_empty_name_is_the_embedded_encoder(models, encoder, monkeypatch):
    monkeypatch.setattr("rationales.models.untrained.embedded_encoder", lambda: encoder)
    made, expected = (
        untrained(models["one"], "").model.state_dict(),
        untrained(models["one"], encoder).model.state_dict(),
    )
    assert all(torch.equal(made[name], weights) for name, weights in expected.items())


def test_random_draws_every_matrix_and_leaves_the_generator_alone(models):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    made = untrained(models["one"], "random")
    assert torch.equal(torch.rand(1), expected)
    assert made.tokenizer is models["one"].tokenizer
    trained = models["one"].model.state_dict()
    for name, weights in made.model.state_dict().items():
        if name in trained and weights.is_floating_point() and weights.dim() > 1:
            assert not torch.equal(weights, trained[name]), name


def test_the_head_of_a_classifier_is_not_taken_over(models, tmp_path):
    made = untrained(models["one"], saved(tmp_path / "other", seed=5))
    assert not torch.equal(made.model.classifier.weight, classifier("bert", seed=5).model.classifier.weight)


def test_a_model_of_ones_own_can_be_the_untrained(models):
    found = compare(models["one"], reviews(4), **FAST, stability=True, untrained=classifier("bert", seed=9))
    assert all(item.trained is None and item.untrained.count == 4 for item in found.summary.stability.methods)
    network = classifier("bert", seed=9).model
    again = compare(models["one"].model, reviews(4), **FAST, tokenizer=tokenizer(), stability=True, untrained=network)
    assert again.summary.stability.methods == found.summary.stability.methods


def test_the_wrong_encoder_is_refused(models, tmp_path):
    classifier("roberta").save_pretrained(tmp_path / "roberta")
    with pytest.raises(ModelError, match=r"is of type roberta, and .* of type bert"):
        untrained(models["one"], tmp_path / "roberta")
    with pytest.raises(ModelError, match="there is no directory"):
        untrained(models["one"], tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (("one",), {"stability": True}, "only one; give others that were trained from other seeds"),
        (MODELS, {"stability": True, "share": 0}, "share must be above 0"),
        (MODELS, {"stability": True, "share": 1.5}, "share must be above 0"),
        (MODELS, {"untrained": "random"}, "an untrained model is for the test of stability"),
        (MODELS, {"share": 0.25}, "a share of the tokens is for the test of stability"),
        (MODELS, {"stability": True, "untrained": "one"}, "one is the trained model"),
    ],
)
def test_what_makes_no_sense_is_refused(models, given, options, message):
    with pytest.raises(InputError, match=message):
        compare({name: models[name] for name in given}, reviews(3), **FAST, **options)


def test_a_model_with_the_name_of_the_untrained_is_refused(models):
    with pytest.raises(InputError, match="give it another name"):
        compare({"untrained": models["one"]}, reviews(3), **FAST, stability=True, untrained="random")


def test_an_untrained_model_that_cannot_be_explained_is_told(models):
    other = classifier("bert", labels=2)
    with pytest.raises(MissingCapability, match="the untrained model cannot be explained"):
        compare(models["one"], reviews(3), **FAST, target="LABEL_2", stability=True, untrained=other)
