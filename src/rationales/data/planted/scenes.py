"""Premises and hypotheses about one small scene, with their word alignment, their label and the reason for it.

A scene has slots: who does what to what, and perhaps in which coat, where and when. The hypothesis is written first,
without a look at the label. One of its slots then decides: there the premise says something narrower (entailment),
something wider or nothing (neutral), or something else (contradiction). So the hypothesis alone tells nothing about
the label; and since the deciding word is never repeated, neither does the number of words that the two texts share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from rationales.data.example import Example
from rationales.data.planted.compose import Planted, balanced_label, generator, planted, read, sentence
from rationales.errors import InputError

PAIR_LABELS = ("entailment", "neutral", "contradiction")

Slot: TypeAlias = Literal["agent", "verb", "object", "garment", "colour", "place", "time"]
_Words: TypeAlias = dict[Slot, str]


class Taxonomy(NamedTuple):
    """The words of a slot: `kinds` maps a word to narrower ones; `general` is wider than all, None where silence is."""

    general: str | None
    kinds: Mapping[str, tuple[str, ...]]

    def outside(self, kind: str) -> list[str]:
        """The narrow words that rule this kind out."""
        inside = self.kinds[kind]
        return [word for words in self.kinds.values() for word in words if word not in inside]


class Verb(NamedTuple):
    """The three forms that the frames need."""

    progressive: str
    present: str
    participle: str


def _taxonomy(general: str | None, **kinds: str) -> Taxonomy:
    return Taxonomy(
        general,
        MappingProxyType({kind.replace("_", " "): tuple(words.split(", ")) for kind, words in kinds.items()}),
    )


def _verbs(text: str) -> tuple[Verb, ...]:
    return tuple(Verb(*forms.split()) for forms in text.split(", "))


AGENTS = _taxonomy(
    "person",
    child="boy, girl, toddler, schoolboy, schoolgirl",
    man="grandfather, monk, waiter, policeman, bridegroom",
    woman="grandmother, nun, waitress, policewoman, bride",
)
COLOURS = _taxonomy(
    None,
    red="scarlet, crimson, ruby",
    blue="navy, azure, sapphire",
    green="emerald, jade, mint",
    yellow="lemon, mustard, golden",
)
_SHOPS = "bakery, bookshop, pharmacy, boutique"
PLACES = _taxonomy(
    None,
    outdoors="park, garden, meadow, vineyard, orchard, playground",
    indoors=f"kitchen, library, museum, classroom, {_SHOPS}",
    shop=_SHOPS,
)
TIMES = _taxonomy(
    None, morning="sunrise, dawn, daybreak, breakfast time", evening="sunset, dusk, nightfall, supper time"
)

_ANY_OBJECT = (
    "drawing draws drawn, photographing photographs photographed, holding holds held, admiring admires admired"
)
SCENES = (
    (
        _verbs(f"feeding feeds fed, stroking strokes stroked, washing washes washed, {_ANY_OBJECT}"),
        _taxonomy(
            "animal",
            dog="poodle, spaniel, terrier, dachshund, beagle",
            bird="parrot, canary, pigeon, goose, duck",
            reptile="snake, lizard, tortoise, gecko, iguana",
        ),
    ),
    (
        _verbs(f"eating eats eaten, slicing slices sliced, wrapping wraps wrapped, {_ANY_OBJECT}"),
        _taxonomy(
            "snack",
            fruit="apple, banana, pear, peach, orange",
            vegetable="carrot, cucumber, radish, turnip, artichoke",
            pastry="croissant, strudel, doughnut, muffin, eclair",
        ),
    ),
    (
        _verbs(f"playing plays played, tuning tunes tuned, cleaning cleans cleaned, {_ANY_OBJECT}"),
        _taxonomy(
            "musical instrument",
            string_instrument="violin, cello, guitar, harp, banjo",
            wind_instrument="flute, clarinet, trumpet, oboe, saxophone",
            percussion_instrument="drum, xylophone, tambourine, triangle, gong",
        ),
    ),
    (
        _verbs(f"mending mends mended, cleaning cleans cleaned, unpacking unpacks unpacked, {_ANY_OBJECT}"),
        _taxonomy(
            "accessory",
            hat="beret, bonnet, sombrero, fedora, turban",
            shoe="sandal, boot, slipper, clog, moccasin",
            bag="rucksack, briefcase, suitcase, satchel, purse",
        ),
    ),
)
DECIDING: tuple[Slot, ...] = ("agent", "object", "colour", "place", "time")
_GARMENTS = ("coat", "jacket", "jumper", "raincoat", "cardigan", "apron")
_DETAILS: tuple[Slot, ...] = ("garment", "place", "time")

_FRAMES = (
    "{agent} is {progressive} {object}",
    "{agent} {present} {object}",
    "there is {agent} {progressive} {object}",
    "{object} is being {participle} by {agent}",
)


def pairs(
    size: int, *, seed: int = 0, deciding: Sequence[Slot] = DECIDING, scenes: int = 4, details: int = 2
) -> Planted:
    """Premise–hypothesis pairs, a third of each label, with alignment, rationale and reason.

    One of the slots `deciding` decides the label; scenes are of the first so many kinds (animals, snacks, instruments,
    accessories), with up to so many `details`. Fewer of each are learned from fewer pairs.

    Every content word that the two texts both have, or have a counterpart of, is aligned. The rationale is the deciding
    words: for entailment all that the hypothesis puts more widely; for contradiction the two that clash; for neutral
    the hypothesis' new detail, and the wider word of the premise where there is one (else that detail has no link).

    >>> pair = pairs(100)[3]
    >>> pair.texts
    ('A pigeon is being photographed by a person at daybreak.', 'A person is photographing a reptile in the morning.')
    >>> PAIR_LABELS[pair.label], pair.sentences
    ('contradiction', ('A pigeon is not a reptile.',))
    """
    possible = ("agent", "object", *(DECIDING if details else ()))
    if not set(deciding) & {"agent", "object"} or not set(deciding) <= set(DECIDING) & set(possible):
        raise InputError(
            f"deciding must name some of {', '.join(DECIDING)}, agent or object among them; got {deciding}"
        )
    if not 1 <= scenes <= len(SCENES) or not 0 <= details <= 2:
        raise InputError(f"scenes must be 1 … {len(SCENES)} and details 0 … 2, got {scenes} and {details}")
    return planted(partial(_pair, seed, tuple(deciding), scenes, details), size)


def _pair(seed: int, deciding: Sequence[Slot], scenes: int, details: int, index: int) -> Example:
    rng = generator("pairs", seed, index)
    label = balanced_label(index, 3, "pairs", seed)
    verbs, objects = rng.choice(SCENES[:scenes])
    taxonomies: dict[Slot, Taxonomy] = {
        "agent": AGENTS,
        "object": objects,
        "colour": COLOURS,
        "place": PLACES,
        "time": TIMES,
    }
    premise, hypothesis, slot = _scene(rng, taxonomies, PAIR_LABELS[label], deciding, details)
    verb = rng.choice(verbs)
    left, left_spans = read(_render(rng, premise, verb))
    right, right_spans = read(_render(rng, hypothesis, verb))
    reasons = [slot]
    if PAIR_LABELS[label] == "entailment":
        reasons = [each for each in taxonomies if each in hypothesis and premise[each] != hypothesis[each]]
    *others, last = [_reason(each, premise, hypothesis, PAIR_LABELS[label]) for each in reasons]
    return Example(
        id=f"pairs-{seed}-{index}",
        texts=(left, right),
        label=label,
        rationale=(
            tuple(sorted(left_spans[each] for each in reasons if each in left_spans)),
            tuple(sorted(right_spans[each] for each in reasons)),
        ),
        alignment=tuple((left_spans[each], right_spans[each]) for each in right_spans if each in left_spans),
        sentences=(sentence(f"{', '.join(others)} and {last}" if others else last),),
        meta={"slot": slot, "premise": premise, "hypothesis": hypothesis},
    )


def _scene(
    rng: Random, taxonomies: Mapping[Slot, Taxonomy], label: str, deciding: Sequence[Slot], details: int
) -> tuple[_Words, _Words, Slot]:
    """What the premise says, what the hypothesis says, and the slot that decides."""
    stated = rng.sample(_DETAILS, rng.choice(range(1, details + 1))) if details else []
    slots: list[Slot] = ["agent", "object", *(slot for slot in stated if slot != "garment")]
    premise: _Words = {}
    hypothesis: _Words = {}
    if "garment" in stated:
        premise["garment"] = hypothesis["garment"] = rng.choice(_GARMENTS)
        if rng.random() < 0.7:
            slots.append("colour")
    decider = rng.choice([slot for slot in slots if slot in deciding])
    for slot in slots:
        taxonomy = taxonomies[slot]
        kind = rng.choice(list(taxonomy.kinds))
        narrow = rng.choice(taxonomy.kinds[kind])
        says: str | None = narrow
        if slot != decider:  # true whatever the label is: as in the premise, or more widely
            hypothesis[slot] = rng.choice((narrow, kind))
            if taxonomy.general and rng.random() < 0.2:
                says = hypothesis[slot] = taxonomy.general
        else:
            hypothesis[slot] = kind
            if label == "neutral":
                says = taxonomy.general
            elif label == "contradiction":
                says = rng.choice(taxonomy.outside(kind))
        if says is not None:
            premise[slot] = says
    if details:
        _add_details(rng, taxonomies, premise, hypothesis)
    return premise, hypothesis, decider


def _add_details(rng: Random, taxonomies: Mapping[Slot, Taxonomy], premise: _Words, hypothesis: _Words) -> None:
    """Things that only the premise mentions, so that its length and what it leaves out do not tell the label."""
    silent = any(slot not in premise for slot in hypothesis)
    for slot in _DETAILS:
        if slot not in hypothesis and (silent or rng.random() < 0.5):
            premise[slot] = rng.choice(_GARMENTS if slot == "garment" else _narrow(taxonomies[slot]))
    if "garment" in premise and "colour" not in hypothesis and rng.random() < 0.5:
        premise["colour"] = rng.choice(_narrow(taxonomies["colour"]))


def _narrow(taxonomy: Taxonomy) -> list[str]:
    return [word for words in taxonomy.kinds.values() for word in words]


def _render(rng: Random, words: _Words, verb: Verb) -> str:
    """One marked sentence that says these words."""
    agent = f"a <agent|{words['agent']}>"
    if "garment" in words:
        colour = f"<colour|{words['colour']}> " if "colour" in words else ""
        agent += f" in a {colour}<garment|{words['garment']}>"
    forms = {form: f"<verb|{text}>" for form, text in verb._asdict().items()}
    clause = rng.choice(_FRAMES).format(agent=agent, object=f"a <object|{words['object']}>", **forms)
    if "place" in words:
        clause += " " + _where(words["place"], "<place|{}>")
    if "time" in words:
        when = _when(words["time"], "<time|{}>")
        clause = f"{when}, {clause}" if rng.random() < 0.3 else f"{clause} {when}"
    return sentence(clause)


def _where(place: str, form: str = "{}") -> str:
    return ("" if place in ("indoors", "outdoors") else "in a ") + form.format(place)


def _when(time: str, form: str = "{}") -> str:
    return ("in the " if time in ("morning", "evening") else "at ") + form.format(time)


def _reason(slot: Slot, premise: _Words, hypothesis: _Words, label: str) -> str:
    """Why this slot holds, is left open, or fails; a clause."""
    said, claimed = premise.get(slot), hypothesis[slot]
    verb = "is not" if label == "contradiction" else "is"
    match slot:
        case "agent" | "object" if label == "neutral":
            return f"not every {said} is a {claimed}"
        case "colour" if label == "neutral":
            return f"the {hypothesis['garment']} need not be {claimed}"
        case "place" | "time" if label == "neutral":
            where = _where(claimed) if slot == "place" else _when(claimed)
            return f"nothing says that this happens {where}"
        case "colour":
            return f"{said} {verb} a shade of {claimed}"
        case "place":
            return f"a {said} {verb} {_where(claimed).removeprefix('in ')}"
        case "time":
            return f"{said} {verb} {_when(claimed)}"
        case _:
            return f"a {said} {verb} a {claimed}"
