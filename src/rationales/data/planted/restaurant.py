"""Restaurant reviews of four aspects, in which the opinion of one aspect alone decides the label.

Each review speaks once of the food, the service, the place and the price, in any order, with a neutral sentence or two
in between. The aspects that do not decide agree with the label more often than not, and most opinion words serve
every aspect, so counting good and bad words goes some of the way; only reading what is said of the deciding aspect
goes all of it. Connectives never depend on the opinions ("but" would give away one from the other).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from rationales.data.example import Example, Span
from rationales.data.planted.compose import Planted, balanced_label, generator, planted, read, sentence
from rationales.errors import InputError

Aspect: TypeAlias = Literal["food", "service", "place", "price"]
Evidence: TypeAlias = Literal["opinion", "clause"]

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
REVIEW_LABELS = ("negative", "positive")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split(","))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What can be said of an aspect: its nouns, the opinions that fit it alone, and its own ways to put them.

    In a clause {n} is the noun phrase, {o} the opinion, {was} agrees with the noun.
    """

    singular: tuple[str, ...]
    plural: tuple[str, ...]
    opinions: tuple[tuple[str, ...], tuple[str, ...]]  # by label: negative, positive
    clauses: tuple[str, ...]


VOCABULARY = MappingProxyType[Aspect, Vocabulary](
    {
        "food": Vocabulary(
            _words(
                "soup lamb risotto steak pasta bread pudding salad curry fish burger pie chicken pizza stew omelette"
            ),
            _words("noodles dumplings mussels vegetables pancakes starters meatballs sausages"),
            (
                _words("bland tasteless inedible unappetising flavourless unpalatable"),
                _words("delicious tasty flavourful appetising mouth-watering scrumptious"),
            ),
            (
                "I ordered {n}, which {was} {o}",
                "we shared {n}, which {was} {o}",
                "{n} that I ordered {was} {o}",
                "{n} tasted {o}",
            ),
        ),
        "service": Vocabulary(
            _phrases(
                "waiter, waitress, host, hostess, bartender, manager, head waiter, man who served us, woman at the door"
            ),
            _phrases("staff, waiters, people who served us, two waitresses"),
            (
                _words("rude careless grumpy surly dismissive inattentive impatient unfriendly"),
                _words("attentive friendly polite courteous helpful considerate welcoming gracious"),
            ),
            (
                "{n} {was} {o} throughout",
                "{n} {was} {o} from start to finish",
                "{n} {was} {o} towards us",
                "{n} that night {was} {o}",
            ),
        ),
        "place": Vocabulary(
            _phrases(
                "dining room, terrace, interior, courtyard, conservatory, back room, upstairs room, lounge, decor"
            ),
            _phrases("rooms, surroundings, furnishings, seating areas"),
            (
                _words("shabby dirty grubby dingy gloomy uninviting run-down drab"),
                _words("cosy charming elegant spotless inviting attractive stylish pretty"),
            ),
            (
                "{n} looked {o}",
                "in daylight {n} {was} {o}",
                "on our way in we saw that {n} {was} {o}",
                "{n} felt {o} to both of us",
            ),
        ),
        "price": Vocabulary(
            _phrases("bill, price, cost, total, final bill, price for two, cost per head, drinks bill, cover charge"),
            _phrases("prices, charges, wine prices, weekend prices"),
            (
                _words("steep excessive outrageous inflated unreasonable extortionate unfair absurd"),
                _words("fair reasonable sensible honest moderate affordable"),
            ),
            (
                "{n} seemed {o} to me",
                "for this part of town, {n} {was} {o}",
                "in the end {n} {was} {o}",
                "for a meal of this kind, {n} {was} {o}",
            ),
        ),
    }
)

SHARED_OPINIONS = (
    _words(
        "dreadful awful terrible horrible disappointing appalling abysmal lousy dire atrocious woeful shocking "
        "dismal unacceptable pathetic hopeless third-rate lamentable"
    ),
    _words(
        "great excellent wonderful superb fantastic brilliant lovely terrific marvellous outstanding splendid "
        "perfect amazing first-rate delightful impressive faultless fabulous"
    ),
)

_CLAUSES = (
    "{n} {was} {o}",
    "{n} turned out to be {o}",
    "I found {n} {o}",
    "we thought {n} {was} {o}",
    "{n} struck me as {o}",
    "to my mind, {n} {was} {o}",
    "my companion called {n} {o}",
    "I must say that {n} {was} {o}",
    "if you ask me, {n} {was} {o}",
    "we agreed that {n} {was} {o}",
    "this time {n} {was} {o}",
)

# Emphasis says nothing about the side taken, so it is no part of the evidence.
_EMPHASIS = ("", "", "", "really ", "truly ", "quite ")
NEGATIONS = ("anything but", "far from", "by no means")

_FILLERS = (
    "we went there on a {day} with {company}",
    "it was our {ordinal} visit since the {season}",
    "we had booked for {number} people about {number} days before",
    "the restaurant is about {number} minutes from {landmark}",
    "we stayed for about {few} hours and then {left}",
    "{company} had read about it in {source}",
    "we arrived at {hour} and left at around eleven",
    "we came for {occasion} and were {number} in all",
    "it was a {weather} {day} in the {season}",
)
_SLOTS = MappingProxyType(
    {
        "day": _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
        "company": _phrases("my sister, my parents, two colleagues, an old neighbour, my cousin, a few classmates"),
        "ordinal": _words("first second third fourth"),
        "season": _words("spring summer autumn winter"),
        "few": _words("two three"),
        "number": _words("two three four five six seven eight"),
        "landmark": _phrases("the station, my office, the river, the town hall, the cinema, our hotel"),
        "left": _phrases("walked home, caught the last bus, took a taxi, went to a concert, drove back"),
        "source": _phrases("the local paper, a travel guide, a magazine, an online forum"),
        "hour": _phrases("six, half past six, seven, half past seven, eight"),
        "occasion": _phrases("a birthday, an anniversary, a family lunch, a business dinner, a reunion"),
        "weather": _words("rainy windy cloudy mild"),
    }
)
_SLOT = re.compile(r"\{(\w+)\}")


def reviews(
    size: int,
    *,
    seed: int = 0,
    aspect: Aspect = "food",
    correlation: float = 0.6,
    shared: float = 0.75,
    negation: float = 0.0,
    evidence: Evidence = "opinion",
) -> Planted:
    """Restaurant reviews labelled by what they say of one aspect; half of them are positive.

    `correlation`: how often each other aspect agrees with the label. `shared`: how often an opinion is a word that fits
    every aspect. `negation`: how often an opinion is turned round ("anything but bland"). `evidence`: whether the
    rationale is the opinion alone (with its negation), or the clause from the aspect's noun to it.

    >>> review = reviews(100, seed=1)[7]
    >>> review.sentences, REVIEW_LABELS[review.label]
    (('The review calls the pudding dire.',), 'negative')
    >>> [review.texts[0][start:end] for start, end in review.rationale[0]]
    ['dire']
    """
    if aspect not in ASPECTS:
        raise InputError(f"aspect must be one of {', '.join(ASPECTS)}, got {aspect!r}")
    if evidence not in get_args(Evidence):
        raise InputError(f"evidence must be opinion or clause, got {evidence!r}")
    for name, value in (("correlation", correlation), ("shared", shared), ("negation", negation)):
        if not 0 <= value <= 1:
            raise InputError(f"{name} is a probability and must lie between 0 and 1, got {value}")
    style = _Style(seed, aspect, correlation, shared, negation, evidence)
    return planted(partial(_review, style), size)


@dataclass(frozen=True, slots=True)
class _Style:
    seed: int
    aspect: Aspect
    correlation: float
    shared: float
    negation: float
    evidence: Evidence


def _review(style: _Style, index: int) -> Example:
    rng = generator("reviews", style.seed, index)
    label = balanced_label(index, 2, "reviews", style.seed)
    polarity = {
        aspect: label if aspect == style.aspect or rng.random() < style.correlation else 1 - label for aspect in ASPECTS
    }
    text, spans = read(" ".join(_sentences(rng, style, polarity)))
    noun, opinion = spans[f"{style.aspect}-noun"], spans[style.aspect]
    rationale: Span = opinion if style.evidence == "opinion" else (noun[0], opinion[1])
    thing, verdict = (text[start:end] for start, end in (noun, opinion))
    return Example(
        id=f"reviews-{style.aspect}-{style.seed}-{index}",
        texts=(text,),
        label=label,
        rationale=((rationale,),),
        sentences=(f"The review calls {thing[0].lower()}{thing[1:]} {verdict}.",),
        meta={"aspect": style.aspect, "polarity": polarity},
    )


def _sentences(rng: Random, style: _Style, polarity: dict[Aspect, int]) -> list[str]:
    """The review's sentences, marked; now and then two aspects share one."""
    clauses: list[str] = []
    frames: set[str] = set()
    for aspect in rng.sample(ASPECTS, len(ASPECTS)):
        frame = rng.choice([frame for frame in _CLAUSES + VOCABULARY[aspect].clauses if frame not in frames])
        frames.add(frame)  # people do not put two things in the same way
        clauses.append(_clause(rng, style, frame, aspect, polarity[aspect]))
    if rng.random() < 0.4:
        at = rng.randrange(3)
        clauses[at : at + 2] = ["; ".join(clauses[at : at + 2])]
    for filler in rng.sample(_FILLERS, rng.choice((1, 2, 2))):
        filled = _SLOT.sub(lambda slot: rng.choice(_SLOTS[slot[1]]), filler)
        clauses.insert(rng.randint(0, len(clauses)), filled)
    return [sentence(clause) for clause in clauses]


def _clause(rng: Random, style: _Style, frame: str, aspect: Aspect, polarity: int) -> str:
    vocabulary = VOCABULARY[aspect]
    noun = rng.choice(vocabulary.singular + vocabulary.plural)
    plural = noun in vocabulary.plural
    negated = rng.random() < style.negation
    opinions = SHARED_OPINIONS if rng.random() < style.shared else vocabulary.opinions
    opinion = rng.choice(opinions[1 - polarity if negated else polarity])
    emphasis = rng.choice(_EMPHASIS)
    marked = f"<{aspect}|{rng.choice(NEGATIONS)} {opinion}>" if negated else f"{emphasis}<{aspect}|{opinion}>"
    return frame.format(n=f"<{aspect}-noun|the {noun}>", o=marked, was="were" if plural else "was")
