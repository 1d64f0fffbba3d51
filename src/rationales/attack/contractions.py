"""Contractions, written out, and the reverse: `is not` ↔ `isn't`, `it is` ↔ `it's`.

Where English is ambiguous the text stays as it is: `'d` (had or would), `ain't`, `'s` before what may be a participle,
also behind adverbs (`he's finished`, `she's clearly gone`), questions (`isn't it`), and `'s` behind anything but a
pronoun, which may be a possessive. It also stays where the short form would say something else (`can not only`) or lose
an emphasis (`it IS`). Texts whose words were set apart (`it 's`, `is n't`), as in treebanks, stay so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rationales.attack.spans import Found, cased, matches

BEFORE, AFTER = r"(?<![\w'’-])", r"(?![\w'’-])"

STEMS = (
    *("is", "are", "was", "were", "do", "does", "did", "have", "has", "had"),
    *("would", "could", "should", "must", "need"),
)
IRREGULAR = {"ca": "cannot", "wo": "will not", "sha": "shall not"}
SHORT = {**{f"{stem} not": stem for stem in STEMS}, "cannot": "ca", "can not": "ca", "will not": "wo"}
"""What stands before `n't` in their place."""
FOCUS = ("only", "just", "merely", "simply", "solely")
"""What a `not` before it belongs to: who can not only sing can sing, who can't only sing cannot."""

PERSONAL = ("i", "you", "he", "she", "it", "we", "they")
ASKED = (
    *(*PERSONAL, "this", "that", "there", "these", "those", "people"),
    *("anyone", "anybody", "someone", "somebody", "everyone", "everybody"),
)
"""What follows a verb in a question: `isn't it` is not `is not it`."""
ASKING = ("what", "where", "who", "how")
HOSTS = {
    "am": ("i",),
    "are": ("you", "we", "they"),
    "have": ("i", "you", "we", "they", "could", "should", "would", "might", "must"),
    "will": (*PERSONAL, "that", "there"),
    "is": ("he", "she", "it", "that", "there", "what", "who", "where", "here", "how"),
    "has": ("he", "she", "it", "that", "there", "who"),
    "us": ("let",),
}
CLITICS = {"am": "m", "are": "re", "have": "ve", "will": "ll", "is": "s", "has": "s", "us": "s"}

HAS = ("been", "got", "gotten", "had", "become")
"""Participles that only `has` can stand before."""
NOUNS = ("bet", "cast", "cost", "cut", "hit", "hurt", "run", "set", "shot", "split", "spread")
"""Participles that may be nouns: `it has set pieces`."""
PARTICIPLES = (
    *HAS,
    *NOUNS,
    *("beat", "begun", "bent", "blown", "bought", "brought", "built", "burst", "caught", "come", "dealt", "done"),
    *("drawn", "dreamt", "drunk", "dug", "fed", "felt", "flown", "fought", "found", "gone", "grown", "heard", "held"),
    *("hung", "kept", "known", "laid", "learnt", "led", "left", "lent", "let", "lit", "lost", "made", "meant", "met"),
    *("outdone", "overcome", "overdone", "overthrown", "paid", "put", "quit", "read", "redone", "remade", "rid"),
    *("said", "sat", "seen", "sent", "sewn", "shone", "shown", "shut", "slept", "sold", "sought", "spent", "spun"),
    *("stood", "struck", "stuck", "sung", "sunk", "swept", "sworn", "taught", "thought", "thrown", "told", "torn"),
    *("undergone", "understood", "undone", "withstood", "won", "worn"),
)
"""Those that do not end in -ed or -en."""
NO_PARTICIPLES = (
    *("alien", "between", "chicken", "children", "citizen", "deed", "dozen", "eleven", "garden", "golden", "green"),
    *("greed", "heaven", "hundred", "indeed", "kitchen", "naked", "need", "often", "queen", "sacred", "screen", "seed"),
    *("seven", "speed", "sudden", "talented", "wicked", "women", "wooden"),
)
ADVERBS = (
    *("again", "all", "almost", "already", "also", "always", "at last", "at least", "both", "but", "by now", "each"),
    *("either", "even", "ever", "far", "finally", "first", "forever", "hence", "in fact", "indeed", "instead", "just"),
    *("last", "long", "maybe", "neither", "never", "no longer", "not", "now", "of course", "often", "once", "only"),
    *("perhaps", "pretty much", "really", "recently", "since", "so far", "sometimes", "somehow", "soon", "still"),
    *("then", "thus", "twice", "yet"),
)
"""What may stand before a participle. Not `so` and `very`, behind which it is an adjective."""
MANNER = r"\w+ly"
"""Likewise, but it may also belong to an adjective: `it has poorly written dialogue`."""
HANGING = ("what", "whatever", "who", "how", "however", "where", "wherever", "which", "as", "than")
"""Words behind which a verb may stand last, where it is not contracted: `how good it is to see you`."""

_NEGATED = re.compile(
    rf"{BEFORE}(?<!why )({'|'.join((*STEMS, *IRREGULAR))})( ?)(n['’]t){AFTER}(?! (?:{'|'.join(ASKED)})\b)", re.I
)
_NOT = re.compile(rf"{BEFORE}(?:{'|'.join(SHORT)}){AFTER}(?! (?:{'|'.join(FOCUS)})\b)", re.I)
_ALL_HOSTS = "|".join(sorted({host for hosts in HOSTS.values() for host in hosts}))
_LONG = re.compile(rf"{BEFORE}({_ALL_HOSTS}) (am|are|have|will|is|has)(?= [a-z])", re.I)
_SHORT = re.compile(rf"{BEFORE}({_ALL_HOSTS})( ?)['’](m|re|ve|ll|s){AFTER}", re.I)
_SET_APART = re.compile(r"\w (?:n['’]t|['’](?:s|m|re|ve|ll|d))(?!\w)|\w [.,](?:\s|$)", re.I)
_STRESSED = re.compile(r"\B[A-Z]")
_WORD = re.compile(r"[\w'’]+")


def _behind(words: Sequence[str]) -> re.Pattern[str]:
    """The first word within a clause that is none of these."""
    gap = r"[ ,*\"'“”‘’]+"
    return re.compile(rf"(?= )(?:{gap}(?:{'|'.join(words)}){AFTER})*{gap}(\w+(?:['’]\w+)*)", re.I)


_HELPED, _AHEAD, _ASKED_OF = _behind(ADVERBS), _behind((*ADVERBS, MANNER)), _behind((*ADVERBS, MANNER, *ASKED))


def contractions(text: str) -> Iterator[Found]:
    """What can be written out or drawn together, each in one way."""
    yield from _written_out(text)
    yield from _drawn_together(text)


def _written_out(text: str) -> Iterator[Found]:
    for match in matches(_NEGATED, text):
        stem, _, clitic = match.groups()
        if stem.lower() in IRREGULAR:
            long = cased(IRREGULAR[stem.lower()], stem + clitic)
        else:
            long = f"{stem} {cased('not', clitic)}"
        yield Found(match.start(), match.end(), (long,))
    for match in matches(_SHORT, text):
        host, _, clitic = match.groups()
        meant = [verb for verb, short in CLITICS.items() if short == clitic.lower() and host.lower() in HOSTS[verb]]
        verb = _is_or_has(text, match) if "is" in meant else next(iter(meant), None)
        if verb is not None:
            yield Found(match.start(), match.end(), (f"{host} {cased(verb, clitic)}",))


def _drawn_together(text: str) -> Iterator[Found]:
    mark = "’" if "’" in text and "'" not in text else "'"
    gap = " " if _SET_APART.search(text) else ""
    for match in matches(_NOT, text):
        if _STRESSED.search(match[0]) and not match[0].isupper():
            continue
        short = cased(SHORT[match[0].lower()], match[0]) + gap + _like(f"n{mark}t", match[0][-3:])
        yield Found(match.start(), match.end(), (short,))
    for match in matches(_LONG, text):
        host, verb = match.groups()
        if host.lower() in HOSTS[verb.lower()] and _contracts(text, match):
            yield Found(match.start(), match.end(), (f"{host}{gap}{mark}{_like(CLITICS[verb.lower()], verb)}",))


def _like(clitic: str, word: str) -> str:
    """The short form in capitals only where the whole word was: `You Are` is `You're`."""
    return clitic.upper() if word.isupper() else clitic


def _is_or_has(text: str, match: re.Match[str]) -> str | None:
    """What `'s` behind a pronoun stands for, by the word that counts behind it; None where it may be either."""
    ahead = (_ASKED_OF if match[1].lower() in ASKING else _AHEAD).match(text, match.end())
    if ahead is None:  # a bracket, or the end of a clause
        return None
    word = ahead[1].lower()
    if word in HAS and "," not in ahead[0]:
        return "has"
    return None if _participle(word) else "is"


def _contracts(text: str, match: re.Match[str]) -> bool:
    """Whether people would contract these two words here."""
    host, verb = match[1].lower(), match[2].lower()
    if match[2].isupper() and not match[1].isupper():
        return False
    if verb in ("have", "has"):  # the helping verb only: not `I've a dog`
        ahead = (_HELPED if verb == "has" else _AHEAD).match(text, match.end())
        word = "" if ahead is None else ahead[1].lower()
        return _participle(word) and not (verb == "has" and word in NOUNS)
    if verb == "will" and _WORD.findall(text[match.end() : match.end() + 60].lower())[0] == "not":
        return False
    clause = re.split(r"[.,;:!?]", text[max(0, match.start() - 60) : match.start()].lower())[-1]
    return host not in PERSONAL or not set(_WORD.findall(clause)[-3:]) & set(HANGING)


def _participle(word: str) -> bool:
    if word in PARTICIPLES:
        return True
    return word not in NO_PARTICIPLES and (word[2:].endswith("ed") or (len(word) > 4 and word.endswith("en")))
