"""Metrics of links against a slow second implementation, pair by pair, and what follows from the definitions."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import tiny
from rationales import evaluate
from rationales.data import Example, gold_alignment, gold_selection
from rationales.errors import InputError, MissingCapability
from rationales.explanation import Alignment, Explanation, Provenance, Scores, Selection, Target
from rationales.explanation.views import linked, word_tokens
from rationales.metrics import (
    alignment_f1,
    alignment_included,
    alignment_recall,
    aorc,
    compactness,
    comprehensiveness,
    contiguity,
    fidelity,
    iou_f1,
    largest_alignment_f1,
    token_f1,
    token_precision,
    token_recall,
)
from rationales.metrics.passes import shared_passes

KINDS = ("da", "esim", "bert")
WORDS = ("the", "soup,", "soup", "was", "good", "bad", "unfriendly", "delicious!", "we", "loved", "it")
EACH = 70
"""Cases of each kind of model: 210 in all."""
PEOPLE = (alignment_f1, alignment_included, alignment_recall, largest_alignment_f1)


@cache
def model_of(kind: str, budget: int = 300) -> Any:
    """In float64; with so small a budget that a few pairs fill a batch."""
    model = tiny.coattentive(kind, budget=budget)
    (model.network if kind != "bert" else model.model).double()
    return model


@dataclass(frozen=True)
class Case:
    kind: str
    number: int
    texts: tuple[str, str]
    weights: tuple[tuple[float, ...], ...]
    keep: tuple[tuple[bool, ...], ...] | None
    gold: frozenset[tuple[int, int]] | None  # cells of words

    @property
    def explanation(self) -> Explanation:
        tokens = model_of(self.kind).encode([Example("", self.texts)]).sources[0].tokens
        body = Alignment(self.weights, self.keep)
        return Explanation(str(self.number), self.texts, tokens, Target(0, ""), body, Provenance("test"))

    @property
    def human(self) -> Explanation | None:
        if self.gold is None:
            return None
        keep = np.zeros([len(text.split()) for text in self.texts])
        for cell in self.gold:
            keep[cell] = 1
        body = Alignment(keep, keep > 0)
        return Explanation(
            str(self.number), self.texts, word_tokens(self.texts), Target(-1, ""), body, Provenance("human")
        )


def shape_of(kind: str, texts: tuple[str, str]) -> tuple[int, int]:
    tokens = model_of(kind).encode([Example("", texts)]).sources[0].tokens
    first, second = (sum(token.segment == side for token in tokens) for side in (0, 1))
    return first, second


def some_keep(generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray | None:
    """Cells strewn about, a rectangle, everything, nothing; or none of it."""
    match int(generator.integers(6)):
        case 0:
            return None
        case 1:
            return np.full(shape, bool(generator.integers(2)))
        case 2:
            keep = np.zeros(shape, dtype=bool)
            keep[generator.integers(shape[0]) :, : 1 + generator.integers(shape[1])] = True
            return keep
    return generator.random(shape) < generator.choice([0.1, 0.3, 0.6])


@cache
def cases() -> tuple[Case, ...]:
    found = []
    generator = np.random.default_rng(0)
    for number, kind in enumerate(kind for kind in KINDS for _ in range(EACH)):
        texts = tuple(" ".join(generator.choice(WORDS, size=generator.integers(1, 6))) for _ in range(2))
        shape = shape_of(kind, texts)
        keep = some_keep(generator, shape)
        cells = list(product(*(range(len(text.split())) for text in texts)))
        gold = None
        if generator.random() < 0.9:
            gold = frozenset(cell for cell in cells if generator.random() < generator.choice([0.0, 0.2, 0.6]))
        weights = generator.integers(-3, 4, size=shape) / 2  # with many ties
        found.append(
            Case(
                kind,
                number,
                texts,
                tuple(map(tuple, weights.tolist())),
                None if keep is None else tuple(map(tuple, keep.tolist())),
                gold,
            )
        )
    return tuple(found)


# ---------------------------------------------------------------------------------------------------------------------
# The second implementation, from the definitions: one pair and one mask at a time


class Slow:
    def __init__(self, case: Case) -> None:
        self.case, self.model = case, model_of(case.kind)
        self.batch = self.model.encode([Example("", case.texts)])
        self.tokens = [[token for token in self.batch.sources[0].tokens if token.segment == side] for side in range(2)]
        self.cells = list(product(range(len(self.tokens[0])), range(len(self.tokens[1]))))
        self.known: dict[frozenset[tuple[int, int]], float] = {}
        self.whole = self.logits(set(self.cells))
        self.kept = None if case.keep is None else {cell for cell in self.cells if case.keep[cell[0]][cell[1]]}

    def logits(self, left: set[tuple[int, int]]) -> list[float]:
        mask = torch.zeros(1, len(self.tokens[0]), len(self.tokens[1]), dtype=torch.float64)
        for row, column in left:
            mask[0, row, column] = 1
        with torch.no_grad():
            return self.model.logits(self.batch, mask)[0].tolist()

    def distance(self, left: set[tuple[int, int]]) -> float:
        key = frozenset(left)
        if key not in self.known:
            pairs = zip(self.logits(left), self.whole, strict=True)
            self.known[key] = math.sqrt(sum((one - other) ** 2 for one, other in pairs))
        return self.known[key]

    def aorc(self, grid: tuple[str, ...]) -> float:
        order = sorted(self.cells, key=lambda cell: -self.case.weights[cell[0]][cell[1]])  # sorting is stable
        sizes = [math.floor(Fraction(share) * len(order) + Fraction(1, 2)) for share in grid]
        return sum(self.distance(set(order[:size])) for size in sizes) / len(sizes)

    def fidelity(self) -> float:
        return math.nan if self.kept is None else self.distance(self.kept)

    def compactness(self) -> float:
        return math.nan if self.kept is None else len(self.kept) / len(self.cells)

    def contiguity(self) -> float:
        windows = [
            {(row, column), (row + 1, column), (row, column + 1), (row + 1, column + 1)}
            for row, column in self.cells
            if row + 1 < len(self.tokens[0]) and column + 1 < len(self.tokens[1])
        ]
        if self.kept is None or not windows:
            return math.nan
        return sum(len(window & self.kept) == 3 for window in windows) / len(windows)

    def of_words(self, cells: set[tuple[int, int]]) -> set[tuple[int, int]]:
        """By the characters that words and tokens share."""
        found = set()
        for cell in cells:
            sides = []
            for side, number in enumerate(cell):
                token, start, touched = self.tokens[side][number], 0, []
                for word, text in enumerate(self.case.texts[side].split()):
                    if set(range(start, start + len(text))) & set(range(token.start, token.end)):
                        touched.append(word)
                    start += len(text) + 1
                sides.append(touched)
            found |= set(product(*sides))
        return found

    def alignments(self) -> list[set[tuple[int, int]]]:
        """Spread from cell to cell above, below, left and right."""
        left, found = sorted(self.kept), []
        while left:
            part, frontier = set(), [left[0]]
            while frontier:
                row, column = frontier.pop()
                if (row, column) in self.kept and (row, column) not in part:
                    part.add((row, column))
                    frontier += [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
            found.append(part)
            left = [cell for cell in left if cell not in part]
        return found

    @cached_property
    def against_people(self) -> dict[str, float]:
        gold = self.case.gold
        if self.kept is None or not gold:
            return dict.fromkeys((metric.name for metric in PEOPLE), math.nan)

        def f1(cells: set[tuple[int, int]]) -> float:
            words = self.of_words(cells)
            right = len(words & gold)
            return 2 * right / (len(words) + len(gold))

        words = self.of_words(self.kept)
        parts = self.alignments()
        return {
            "alignment_f1": f1(self.kept),
            "alignment_included": float(gold <= words),
            "alignment_recall": len(words & gold) / len(gold),
            "largest_alignment_f1": f1(
                max(parts, key=lambda part: self.distance(self.kept - part)) if parts else set()
            ),
        }


@pytest.fixture(scope="module")
def slow():
    return [Slow(case) for case in cases()]


def measured(metric, **options) -> np.ndarray:
    """Of all cases, each kind of model with all of its pairs at once."""
    found = []
    for kind in KINDS:
        own = [case for case in cases() if case.kind == kind]
        found.append(
            metric(model_of(kind), [case.explanation for case in own], [case.human for case in own], **options)
        )
    return np.concatenate(found)


def agree(found: np.ndarray, wanted: list[float], defined: int = 100) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)  # NaN where NaN is
    assert np.isfinite(found).sum() > defined
    assert len(np.unique(found[np.isfinite(found)].round(6))) > 1


@pytest.mark.parametrize("grid", [("0", "0.35", "1"), ("0.05", "0.1")])
def test_aorc_is_the_definition(slow, grid):
    agree(measured(aorc, grid=tuple(map(float, grid))), [case.aorc(grid) for case in slow], 200)


def test_the_grid_goes_from_nothing_to_everything_in_steps_of_five_per_cent():
    own = [case for case in cases() if case.kind == "da"][:3]
    grid = tuple(f"{5 * step}/100" for step in range(21))
    found = aorc(model_of("da"), [case.explanation for case in own])
    assert found == pytest.approx([Slow(case).aorc(grid) for case in own], abs=1e-9)


@pytest.mark.parametrize("metric", [fidelity, compactness, contiguity], ids=lambda metric: metric.name)
def test_faithfulness_and_readability_of_kept_links_are_the_definitions(slow, metric):
    agree(measured(metric), [getattr(case, metric.name)() for case in slow])


@pytest.mark.parametrize("metric", PEOPLE, ids=lambda metric: metric.name)
def test_plausibility_is_the_definition(slow, metric):
    agree(measured(metric), [case.against_people[metric.name] for case in slow])


# ---------------------------------------------------------------------------------------------------------------------
# What follows from the definitions


def links(keep, weights=None, texts=("the soup was bad", "the food was good"), model=None) -> Explanation:
    """On words."""
    keep = None if keep is None else np.array(keep, dtype=bool)
    given = keep.astype(float) if weights is None else weights
    return Explanation("x", texts, word_tokens(texts), Target(0, ""), Alignment(given, keep), Provenance("test"))


def test_all_links_leave_the_answer_exactly_as_it_is():
    for kind in KINDS:
        given = links(np.ones((4, 4)), np.arange(16.0).reshape(4, 4))
        assert fidelity(model_of(kind), [given]).tolist() == [0.0]
        assert aorc(model_of(kind), [given], grid=(1.0,)).tolist() == [0.0]
        half, end = aorc(model_of(kind), [given], grid=(0.5,)), aorc(model_of(kind), [given], grid=(0.5, 1.0))
        assert end == pytest.approx(half / 2)
        assert half > 0.001


@pytest.mark.parametrize(
    ("keep", "wanted"),
    [
        ([[1, 1], [1, 0]], 1.0),
        ([[1, 1], [1, 1]], 0.0),
        ([[1, 0], [0, 0]], 0.0),
        ([[0, 0], [0, 0]], 0.0),
        ([[1, 0], [0, 1]], 0.0),
        ([[1, 1, 0], [1, 0, 0], [0, 0, 0]], 0.25),
        ([[1, 1, 1], [1, 0, 1], [1, 1, 1]], 1.0),
        ([[0, 0, 0], [0, 1, 1], [0, 1, 1]], 0.0),
        ([[1, 0, 1]], math.nan),  # one row: there is no window
    ],
)
def test_windows_that_keep_just_three(keep, wanted):
    texts = tuple(" ".join("w" * size) for size in np.shape(keep))
    assert contiguity(None, [links(keep, texts=texts)]) == pytest.approx([wanted], nan_ok=True)
    assert compactness(None, [links(keep, texts=texts)]) == pytest.approx([np.mean(keep)])


def test_of_weights_alone_only_their_order_is_measured():
    given = links(None, np.arange(16.0).reshape(4, 4))
    gold = links(np.eye(4))
    assert np.isfinite(aorc(model_of("da"), [given])).all()
    for metric in (fidelity, compactness, contiguity, *PEOPLE, token_f1, iou_f1):
        third = gold if metric in PEOPLE else replace(gold, body=Selection([1] * 8))
        assert np.isnan(metric(model_of("da"), [given], [third])).all()
    same = replace(given, body=Alignment(np.exp(given.body.weights)))
    assert aorc(model_of("da"), [given]) == aorc(model_of("da"), [same])


def test_a_weight_that_is_no_number_leaves_aorc_undefined():
    weights = np.arange(16.0).reshape(4, 4)
    weights[1, 1] = np.nan
    given, other = links(np.eye(4), weights), links(np.eye(4))
    assert np.isnan(aorc(model_of("da"), [given, other])).tolist() == [True, False]
    assert np.isfinite(fidelity(model_of("da"), [given])).all()


def test_without_links_of_people_there_is_nothing_to_compare_with():
    given = links(np.eye(4))
    for metric in PEOPLE:
        assert np.isnan(metric(model_of("da"), [given, given], [None, links(np.zeros((4, 4)))])).all()


def test_nothing_kept_is_measured_and_far_from_what_people_linked():
    given, gold = links(np.zeros((4, 4))), links(np.eye(4))
    assert [float(metric(model_of("da"), [given], [gold])[0]) for metric in PEOPLE] == [0, 0, 0, 0]
    assert compactness(None, [given]) == contiguity(None, [given]) == [0]
    assert fidelity(model_of("da"), [given]) == aorc(model_of("da"), [given], grid=(0.0,))


def test_the_alignment_that_counts_is_compared_and_not_the_others():
    keep = np.zeros((4, 4), dtype=bool)
    keep[0, 0] = keep[2, 2] = keep[2, 3] = keep[3, 2] = True  # a corner alone, and three that hang together
    parts = [keep.copy(), keep.copy()]
    parts[0][2:] = False
    parts[1][0] = False
    model = model_of("da")
    losses = fidelity(model, [links(keep & ~part) for part in parts])
    counts = parts[int(losses.argmax())]
    found = largest_alignment_f1(model, [links(keep)] * 2, [links(counts), links(keep & ~counts)])
    assert found.tolist() == [1.0, 0.0]


def test_links_of_words_are_those_of_all_their_pieces():
    model, texts = model_of("bert"), ("unfriendly staff", "so delicious")  # of which three have one, one has two
    tokens = model.encode([Example("x", texts)]).sources[0].tokens
    first = [token.text for token in tokens if token.segment == 0]
    assert len(first) == 4
    words = links([[0, 1], [1, 0]], texts=texts)
    pieces = np.repeat(np.repeat([[0, 1], [1, 0]], [3, 1], axis=0), [1, 2], axis=1)
    of_pieces = Explanation("x", texts, tokens, Target(0, ""), Alignment(pieces, pieces > 0), Provenance("test"))
    assert fidelity(model, [words]) == pytest.approx(fidelity(model, [of_pieces]), abs=1e-12)
    assert aorc(model, [words]) == pytest.approx(aorc(model, [of_pieces]), abs=1e-12)
    assert alignment_f1(None, [of_pieces], [words]) == [1]
    one = pieces > 0
    one[1:3] = False  # of the first word only the first piece stays linked
    part = replace(of_pieces, body=Alignment(pieces, one))
    assert alignment_recall(None, [part], [words]) == [1]
    assert largest_alignment_f1(model, [part], [words]) == pytest.approx([2 / 3])


def test_words_that_are_linked_count_as_selected():
    example = Example("x", ("the soup was bad", "the food was good"), rationale=(((4, 8), (13, 16)), ((13, 17),)))
    gold = gold_selection(example)
    keep = np.zeros((4, 4), dtype=bool)
    keep[3, 3] = keep[3, 1] = True
    given = links(keep)
    assert linked(given).body.keep.tolist() == [False, False, False, True, False, True, False, True]
    assert token_precision(None, [given], [gold]) == pytest.approx([2 / 3])
    assert token_recall(None, [given], [gold]) == pytest.approx([2 / 3])
    assert token_f1(None, [given], [gold]) == pytest.approx([2 / 3])
    assert iou_f1(None, [given], [gold]) == pytest.approx([2 / 3])
    assert token_f1(None, [links(np.zeros((4, 4)))], [gold]) == [0]


def test_linked_leaves_special_tokens_out_and_wants_links():
    model = model_of("bert")
    tokens = model.encode([Example("x", ("so bad", "so good"))]).sources[0].tokens
    body = Alignment(np.ones((2, 2)), [[1, 0], [0, 0]])
    given = Explanation("x", ("so bad", "so good"), tokens, Target(0, ""), body, Provenance("test"))
    assert linked(given).body.keep.tolist() == [False, True, False, False, True, False, False]
    with pytest.raises(InputError, match="weights that keep none"):
        linked(links(None, np.ones((4, 4))))
    with pytest.raises(InputError, match="got selection"):
        linked(linked(given))


def test_metrics_share_their_passes_and_ask_for_a_version_once(monkeypatch):
    model = tiny.coattentive("da", budget=100)
    asked = []
    real = model.logits

    def logits(batch, alignment=None):
        asked.extend(mask[: int(a), : int(b)].numpy().tobytes() for mask, a, b in _sizes(batch, alignment))
        return real(batch, alignment)

    monkeypatch.setattr(model, "logits", logits)
    examples = [Example(str(number), (f"{'so ' * number}bad soup", "good food")) for number in range(4)]
    shapes = [(number + 2, 2) for number in range(4)]
    generator = np.random.default_rng(0)
    given = [
        links(generator.random(shape) < 0.5, generator.random(shape), texts=example.texts)
        for example, shape in zip(examples, shapes, strict=True)
    ]
    gold = [links(np.ones(shape), texts=example.texts) for example, shape in zip(examples, shapes, strict=True)]
    names = ["aorc", "fidelity", "largest_alignment_f1"]
    found = evaluate(model, given, names, gold=gold)
    assert len(asked) == len(set(asked))
    monkeypatch.undo()
    with shared_passes():
        for row, metric in zip(found, (aorc, fidelity, largest_alignment_f1), strict=True):
            np.testing.assert_allclose(row.values, metric(model, given, gold), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_of_the_same_texts_that_are_guided_in_different_ways(kind):
    model = tiny.coattentive(kind)
    texts = ("the soup was good", "bad soup")
    factors = {"free": np.ones((4, 2)), "forbidden": np.zeros((4, 2)), "free too": np.ones((4, 2))}
    model.guide = lambda example, tokens: factors[example.id]
    weights = np.arange(8.0).reshape(4, 2)
    given = [replace(links(weights > 4, weights, texts=texts), id=name) for name in factors]
    scored = [replace(item, body=Scores(np.arange(len(item.tokens)))) for item in given]
    for metric, items in ((fidelity, given), (comprehensiveness, scored)):
        alone = [float(metric(model, [item])[0]) for item in items]
        assert metric(model, items) == pytest.approx(alone, abs=1e-6)
        assert abs(alone[0] - alone[1]) > 1e-4
        assert alone[0] == pytest.approx(alone[2], abs=1e-6)
        with shared_passes():
            assert [float(metric(model, [item])[0]) for item in items] == pytest.approx(alone, abs=1e-6)


def _sizes(batch, alignment):
    first, second = ((batch.segments == side).sum(-1).tolist() for side in (0, 1))
    return zip(alignment, first, second, strict=True)


def test_a_pair_alone_as_among_others():
    for kind in KINDS:
        given = [case.explanation for case in cases() if case.kind == kind][:8]
        together = aorc(model_of(kind), given)
        alone = [float(aorc(model_of(kind), [item])[0]) for item in given]
        assert together == pytest.approx(alone, abs=1e-9)


def test_answers_that_are_no_numbers_are_left_out(monkeypatch):
    model = model_of("da")
    given, gold = [links(np.eye(4))], [links(np.eye(4))]
    real = model.logits
    monkeypatch.setattr(model, "logits", lambda batch, alignment=None: real(batch, alignment) * math.inf)
    for metric in (aorc, fidelity, largest_alignment_f1):
        assert np.isnan(metric(model, given, gold)).all()


# ---------------------------------------------------------------------------------------------------------------------
# Bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: aorc(model_of("da"), [links(np.eye(4))], grid=(0.5, 1.5)), r"shares from 0 to 1, got \(0\.5, 1\.5\)"),
        (lambda: aorc(model_of("da"), [links(np.eye(4))], grid=()), "shares from 0 to 1"),
        (lambda: fidelity(model_of("da"), []), "no explanations to measure"),
        (lambda: fidelity(None, [links(np.eye(4))]), "asks the model"),
        (
            lambda: alignment_f1(None, [links(np.eye(4))], [replace(links(np.eye(4)), body=Selection([1] * 8))]),
            r"which words people linked, got selection for 'x'; rationales\.data\.gold_alignment makes",
        ),
        (
            lambda: fidelity(model_of("da"), [replace(links(np.eye(4)), body=Scores([1] * 8))]),
            r"fidelity takes an alignment, got scores",
        ),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_model_that_links_nothing_is_refused():
    class Bare:
        name, labels = "bare", ("a", "b")

    with pytest.raises(MissingCapability, match="cuts links between two texts needs a CoAttentive model; Bare has no"):
        fidelity(Bare(), [links(np.eye(4))])


def test_texts_that_are_cut_are_told():
    model = tiny.coattentive("da", max_length=6)
    texts = ("so " * 8, "good soup")
    gold = gold_alignment(Example("x", texts, alignment=(((0, 2), (0, 4)),)))
    with pytest.warns(UserWarning, match="1 of 1 texts were longer than 6 tokens"):
        assert np.isfinite(fidelity(model, [gold])).all()
