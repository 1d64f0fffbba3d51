"""The planted sets: same seed, same texts; marks on the right words; English; and no way round the planted evidence."""

from __future__ import annotations

import doctest
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from rationales.data import load
from rationales.data.example import Example
from rationales.data.gold import gold_alignment, gold_selection, gold_sentences
from rationales.data.planted import ASPECTS, PAIR_LABELS, REVIEW_LABELS, pairs, reviews
from rationales.data.planted.restaurant import NEGATIONS, SHARED_OPINIONS, VOCABULARY
from rationales.data.planted.scenes import AGENTS, COLOURS, PLACES, SCENES, TIMES
from rationales.errors import InputError
from rationales.explanation.types import Alignment, Selection, Sentence

# By label: every word that can carry an opinion.
OPINIONS = [
    {*SHARED_OPINIONS[side], *(word for vocabulary in VOCABULARY.values() for word in vocabulary.opinions[side])}
    for side in (0, 1)
]
both_sets = pytest.mark.parametrize("make", [reviews, pairs], ids=["reviews", "pairs"])


def marked(example: Example, segment: int = 0) -> list[str]:
    assert example.rationale is not None
    return [example.texts[segment][start:end] for start, end in example.rationale[segment]]


def linked(example: Example) -> list[tuple[str, str]]:
    left, right = example.texts
    return [(left[a:b], right[c:d]) for (a, b), (c, d) in example.alignment or ()]


# Both sets


@both_sets
def test_the_same_seed_gives_the_same_examples_and_another_does_not(make):
    assert list(make(50, seed=3)) == list(make(50, seed=3))
    assert not {each.texts for each in make(50, seed=3)} & {each.texts for each in make(50, seed=4)}


def test_texts_are_the_same_in_every_version():
    # Whoever reports a number on "seed 0" means these texts: change the words only with a reason.
    assert reviews(1)[0].texts[0] == (
        "To my mind, the cover charge was quite lovely. "
        "We had booked for five people about three days before. "
        "We agreed that the waiter was lousy. "
        "If you ask me, the lounge was quite fabulous. "
        "This time the soup was really tasteless."
    )
    assert pairs(1)[0].texts == (
        "A schoolgirl in a cardigan is holding a musical instrument at sunrise.",
        "A child in a cardigan is holding a wind instrument.",
    )


def test_texts_do_not_depend_on_the_process():
    program = (
        "import hashlib; from rationales.data.planted import pairs, reviews;"
        "print(hashlib.sha256(repr([*reviews(99, seed=5), *pairs(99, seed=5)]).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(digests) == 1


@both_sets
def test_a_slice_is_the_examples_at_those_places(make):
    whole = list(make(30, seed=2))
    assert list(make(10**9, seed=2)[10:20]) == whole[10:20]
    assert list(make(30, seed=2)[::-3]) == whole[::-3]
    assert make(30, seed=2)[-1] == whole[-1]
    assert len(make(10**9, seed=2)[5:]) == 10**9 - 5
    with pytest.raises(IndexError):
        make(30)[30]


@both_sets
def test_any_size(make):
    assert list(make(0)) == []
    assert len(list(make(1))) == 1
    with pytest.raises(InputError, match="-1"):
        make(-1)
    assert sum(1 for _ in make(10_000)) == 10_000


@both_sets
def test_sets_travel_to_worker_processes(make):
    examples = make(20, seed=1)[5:]
    assert list(pickle.loads(pickle.dumps(examples))) == list(examples)


@both_sets
def test_duplicates_are_rare_within_and_between_seeds(make):
    texts = [each.texts for seed in range(3) for each in make(3000, seed=seed)]
    assert len(set(texts)) > 0.99 * len(texts)
    ids = {each.id for seed in range(3) for each in make(100, seed=seed)}
    assert len(ids) == 300


@both_sets
def test_english_spacing_capitals_and_articles(make):
    for example in make(1500, seed=8):
        for text in example.texts + example.sentences:
            assert re.fullmatch(r"[A-Z].*\.", text), text
            assert not re.search(r"\s{2}|\s[.,;]|[.,;][^ ]|\. [a-z]|[<>{}|_]", text.removesuffix(".") + " "), text
            assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiou]", text), text
            assert not re.search(r"\b[Aa]n (uni|eu|one|use)|\b[Aa] (hour|hono|heir)", text), text
            assert not re.search(r"\b(\w+) \1\b", text), text


# Reviews


@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_deciding_opinion_is_marked_and_is_the_label(aspect):
    nouns = {*VOCABULARY[aspect].singular, *VOCABULARY[aspect].plural}
    for review in reviews(400, seed=1, aspect=aspect):
        (opinion,) = marked(review)
        assert opinion in OPINIONS[review.label]
        assert review.meta["polarity"][aspect] == review.label
        called = re.fullmatch(rf"The review calls the (.+) {opinion}\.", review.sentences[0])
        assert called is not None
        assert called[1] in nouns


def test_a_review_holds_one_opinion_of_each_aspect_and_no_other():
    for review in reviews(400, seed=2):
        words = re.findall(r"[\w-]+", review.texts[0])
        sides = [side for word in words for side in (0, 1) if word in OPINIONS[side]]
        assert sorted(sides) == sorted(review.meta["polarity"].values())
        assert 25 <= len(words) <= 75
        assert 4 <= review.texts[0].count(".") <= 6


def test_opinion_words_take_one_side_only():
    assert not OPINIONS[0] & OPINIONS[1]


def test_the_clause_runs_from_noun_to_opinion_in_the_same_text():
    for narrow, wide in zip(reviews(300, seed=3), reviews(300, seed=3, evidence="clause"), strict=True):
        assert narrow.texts == wide.texts
        (opinion,), (clause,) = marked(narrow), marked(wide)
        assert re.match("[Tt]he ", clause)
        assert clause.endswith(opinion)
        assert sum(word in OPINIONS[narrow.label] for word in clause.split()) == 1


def test_a_negation_is_part_of_the_evidence():
    for review in reviews(300, seed=4, negation=1.0):
        (phrase,) = marked(review)
        negation, opinion = phrase.rsplit(" ", 1)
        assert negation in NEGATIONS
        assert opinion in OPINIONS[1 - review.label]


@pytest.mark.parametrize("correlation", [0.0, 0.6, 1.0])
def test_the_other_aspects_agree_as_often_as_was_asked(correlation):
    agree = {aspect: [] for aspect in ASPECTS}
    for review in reviews(3000, seed=5, aspect="price", correlation=correlation):
        for aspect, polarity in review.meta["polarity"].items():
            agree[aspect].append(polarity == review.label)
    assert all(agree.pop("price"))
    for aspect in agree:
        assert np.mean(agree[aspect]) == pytest.approx(correlation, abs=0.03)


def test_the_majority_of_opinions_is_not_enough():
    score = [
        np.sign(2 * sum(review.meta["polarity"].values()) - len(ASPECTS)) * (2 * review.label - 1)
        for review in reviews(3000, seed=6)
    ]
    assert 0.7 < (np.mean(score) + 1) / 2 < 0.85


def test_reviews_are_balanced_at_every_even_size():
    labels = np.array([review.label for review in reviews(1000, seed=7)])
    assert set(labels) == set(range(len(REVIEW_LABELS)))
    assert (labels.reshape(-1, 2).sum(1) == 1).all()
    assert 0.4 < labels[::2].mean() < 0.6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aspect": "view"}, "food, service, place, price, got 'view'"),
        ({"evidence": "noun"}, "opinion or clause, got 'noun'"),
        ({"correlation": 1.2}, "correlation .* got 1.2"),
        ({"shared": -0.1}, "shared .* got -0.1"),
        ({"negation": 2}, "negation .* got 2"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        reviews(1, **options)


# Pairs


def relation(slot: str, said: str | None, claimed: str) -> str:
    """What a premise word means for a hypothesis word, from the word lists alone."""
    if said == claimed:
        return "entailment"
    lists = {"agent": [AGENTS], "colour": [COLOURS], "place": [PLACES], "time": [TIMES]}
    for taxonomy in lists.get(slot, [objects for _, objects in SCENES]):
        if claimed in taxonomy.kinds:
            if said == taxonomy.general:
                return "neutral"
            return "entailment" if said in taxonomy.kinds[claimed] else "contradiction"
    raise AssertionError((slot, said, claimed))


def test_the_label_follows_from_the_deciding_slot_and_all_others_hold():
    for pair in pairs(1500, seed=1):
        premise, hypothesis = pair.meta["premise"], pair.meta["hypothesis"]
        found = {slot: relation(slot, premise.get(slot), word) for slot, word in hypothesis.items()}
        assert found.pop(pair.meta["slot"]) == PAIR_LABELS[pair.label]
        assert set(found.values()) <= {"entailment"}


def test_links_and_marks_lie_on_the_planted_words():
    for pair in pairs(1500, seed=2):
        premise, hypothesis = pair.meta["premise"], pair.meta["hypothesis"]
        shared = Counter((premise[slot], word) for slot, word in hypothesis.items() if slot in premise)
        links = Counter(linked(pair))
        assert not shared - links
        ((first, second),) = links - shared  # what is left is the verb, in two of its forms
        assert any({first, second} <= set(verb) for verbs, _ in SCENES for verb in verbs)

        changed = [slot for slot in hypothesis if premise.get(slot) != hypothesis[slot]]
        deciding = changed if PAIR_LABELS[pair.label] == "entailment" else [pair.meta["slot"]]
        assert sorted(marked(pair, 1)) == sorted(hypothesis[slot] for slot in deciding)
        assert sorted(marked(pair, 0)) == sorted(premise[slot] for slot in deciding if slot in premise)
        assert pair.meta["slot"] in deciding


def test_what_the_premise_does_not_mention_is_marked_without_a_link():
    silent = [pair for pair in pairs(600, seed=3) if pair.rationale[0] == ()]
    assert len(silent) > 50
    for pair in silent:
        assert PAIR_LABELS[pair.label] == "neutral"
        (detail,) = pair.rationale[1]
        assert detail not in [right for _, right in pair.alignment]


def test_the_reason_names_the_deciding_words():
    for pair in pairs(600, seed=4):
        (reason,) = pair.sentences
        for word in marked(pair, 1) + marked(pair, 0):
            assert word in reason.lower()
        opening = {"entailment": " is ", "neutral": "(Not every|Nothing says|need not) ?", "contradiction": " is not "}
        assert re.search(opening[PAIR_LABELS[pair.label]], reason)


def test_pairs_are_balanced_in_every_three():
    labels = np.array([pair.label for pair in pairs(999, seed=5)]).reshape(-1, 3)
    assert (np.sort(labels, axis=1) == [0, 1, 2]).all()
    assert len({tuple(row) for row in labels}) == 6


def test_the_hypothesis_alone_and_the_overlap_alone_do_not_tell_the_label():
    train, test = list(pairs(3000, seed=6)), list(pairs(1500, seed=7))
    labels = [[pair.label for pair in part] for part in (train, test)]

    words = CountVectorizer(ngram_range=(1, 2))
    bags = words.fit_transform([pair.texts[1] for pair in train])
    bag_of_words = LogisticRegression(max_iter=1000).fit(bags, labels[0])
    assert bag_of_words.score(words.transform([pair.texts[1] for pair in test]), labels[1]) < 0.42

    def overlap(pair: Example) -> list[float]:
        left, right = (set(re.findall(r"\w+", text.lower())) for text in pair.texts)
        return [len(left & right), len(right - left), len(left - right), len(left & right) / len(right)]

    counts = LogisticRegression(max_iter=1000).fit([overlap(pair) for pair in train], labels[0])
    assert counts.score([overlap(pair) for pair in test], labels[1]) < 0.42


# Gold explanations


def test_the_gold_of_a_review_is_its_opinion_word():
    for review in reviews(50, seed=1):
        selection = gold_selection(review)
        assert selection is not None
        assert isinstance(selection.body, Selection)
        words = [token.text for token, kept in zip(selection.tokens, selection.body.keep, strict=True) if kept]
        assert [word.strip(".,;") for word in words] == marked(review)
        assert gold_alignment(review) is None
        (reason,) = gold_sentences(review)
        assert isinstance(reason.body, Sentence)
        assert reason.body.text == review.sentences[0]


def test_the_gold_of_a_pair_links_its_words():
    for pair in pairs(50, seed=1):
        gold = gold_alignment(pair)
        assert gold is not None
        assert isinstance(gold.body, Alignment)
        assert gold.body.keep is not None
        rows = [token.text.strip(".,") for token in gold.tokens if token.segment == 0]
        columns = [token.text.strip(".,") for token in gold.tokens if token.segment == 1]
        found = {(rows[i], columns[j]) for i, j in np.argwhere(gold.body.keep)}
        assert found == {(a, b) for left, right in linked(pair) for a in left.split() for b in right.split()}
        selection = gold_selection(pair)
        assert selection is not None
        assert isinstance(selection.body, Selection)
        assert selection.body.keep.sum() == sum(len(text.split()) for side in (0, 1) for text in marked(pair, side))
        (reason,) = gold_sentences(pair)
        assert isinstance(reason.body, Sentence)
        assert reason.body.text == pair.sentences[0]


def test_the_docs_page_is_true():
    page = Path(__file__).parents[2] / "docs" / "planted.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_planted_sets_load_by_name_with_all_that_is_known_of_them():
    dev = load("planted-pairs", split="validation", limit=4)
    assert dev.labels == PAIR_LABELS
    assert [dev.name, len(list(dev)), len(list(dev))] == ["planted-pairs", 4, 4]
    assert list(dev) == list(pairs(4, seed=1))
    train, test = (load("planted-reviews", split=split) for split in ("train", "test"))
    assert not {example.texts for example in train} & {example.texts for example in test}
    with pytest.raises(InputError, match="planted-reviews"):
        load("planted-reviews", split="nope")
