"""Contractions, written out, and the reverse: `is not` ↔ `isn't`, `it is` ↔ `it's`.

Where English is ambiguous the text stays as it is: `'d` (had or would), `ain't`, `'s` before what may be a participle
(`he's finished`), questions (`isn't it`), and `'s` behind anything but a pronoun, which may be a possessive. Texts
whose words were set apart (`it 's`, `is n't`), as in treebanks, stay so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rationales.attack.spans import Found, cased, matches

BEFORE, AFTER = r"(?<![\w'’-])", r"(?![\w'’-])"

STEMS = (
    *("is", "are", "was", "were", "do", "does", "did", "have", "has", "had"),
    *("would", "could", "should", "must", "need"),
)
IRREGULAR = {"ca": "cannot", "wo": "will not", "sha": "shall not"}
SHORT = {**{f"{stem} not": stem for stem in STEMS}, "cannot": "ca", "can not": "ca", "will not": "wo"}
"""What stands before `n't` in their place."""
ASKED = ("i", "you", "he", "she", "it", "we", "they", "this", "that", "there")
"""What follows a verb in a question: `isn't it` is not `is not it`."""

PERSONAL = ("i", "you", "he", "she", "it", "we", "they")
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

HAS = ("been", "got", "had", "become")
"""Participles that only `has` can stand before."""
ADVERBS = ("never", "always", "ever", "also", "just", "already", "even", "still", "really", "not")
PARTICIPLES = (
    *(*HAS, "begun", "bought", "brought", "built", "caught", "come", "cut", "done", "drawn", "felt", "found", "gone"),
    *("grown", "held", "kept", "known", "left", "lost", "made", "met", "paid", "put", "read", "run", "said", "seen"),
    *("sent", "set", "shown", "sold", "thought", "told", "won", "worn"),
)
"""Those that do not end in -ed or -en."""
NO_PARTICIPLES = ("seven", "eleven", "hundred", "children", "women", "often", "indeed", "golden", "sudden", "wooden")
HANGING = ("what", "whatever", "who", "how", "however", "where", "wherever", "which", "as", "than")
"""Words behind which a verb may stand last, where it is not contracted: `how good it is to see you`."""

_NEGATED = re.compile(
    rf"{BEFORE}({'|'.join((*STEMS, *IRREGULAR))})( ?)(n['’]t){AFTER}(?! (?:{'|'.join(ASKED)})\b)", re.I
)
_NOT = re.compile(rf"{BEFORE}(?:{'|'.join(SHORT)}){AFTER}", re.I)
_ALL_HOSTS = "|".join(sorted({host for hosts in HOSTS.values() for host in hosts}))
_LONG = re.compile(rf"{BEFORE}({_ALL_HOSTS}) (am|are|have|will|is|has)(?= [a-z])", re.I)
_SHORT = re.compile(rf"{BEFORE}({_ALL_HOSTS})( ?)['’](m|re|ve|ll|s){AFTER}", re.I)
_SET_APART = re.compile(r"\w (?:n['’]t|['’](?:s|m|re|ve|ll|d))(?!\w)|\w [.,](?:\s|$)", re.I)
_WORD = re.compile(r"[\w'’]+")


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
        verb = _is_or_has(text[match.end() :]) if "is" in meant else next(iter(meant), None)
        if verb is not None:
            yield Found(match.start(), match.end(), (f"{host} {cased(verb, clitic)}",))


def _drawn_together(text: str) -> Iterator[Found]:
    mark = "’" if "’" in text and "'" not in text else "'"
    gap = " " if _SET_APART.search(text) else ""
    for match in matches(_NOT, text):
        short = cased(SHORT[match[0].lower()], match[0]) + gap + _like(f"n{mark}t", match[0][-3:])
        yield Found(match.start(), match.end(), (short,))
    for match in matches(_LONG, text):
        host, verb = match.groups()
        if host.lower() in HOSTS[verb.lower()] and _contracts(text, match):
            yield Found(match.start(), match.end(), (f"{host}{gap}{mark}{_like(CLITICS[verb.lower()], verb)}",))


def _like(clitic: str, word: str) -> str:
    """The short form in capitals only where the whole word was: `You Are` is `You're`."""
    return clitic.upper() if word.isupper() else clitic


def _is_or_has(after: str) -> str | None:
    """What `'s` behind a pronoun stands for, by the word that follows; None where it may be either."""
    following = [*_WORD.findall(after[:60].lower()), "", ""]
    word = following[1] if following[0] in ADVERBS else following[0]
    if word in HAS:
        return "has"
    return None if _participle(word) else "is"


def _contracts(text: str, match: re.Match[str]) -> bool:
    """Whether people would contract these two words here."""
    host, verb = match[1].lower(), match[2].lower()
    following = _WORD.findall(text[match.end() : match.end() + 60].lower())[0]  # the pattern asks for a letter there
    if verb in ("have", "has"):  # the helping verb only: not `I've a dog`
        return following in ADVERBS or _participle(following)
    if verb == "will" and following == "not":
        return False
    clause = re.split(r"[.,;:!?]", text[max(0, match.start() - 60) : match.start()].lower())[-1]
    return host not in PERSONAL or not set(_WORD.findall(clause)[-3:]) & set(HANGING)


def _participle(word: str) -> bool:
    return word in PARTICIPLES or (len(word) > 4 and word.endswith(("ed", "en")) and word not in NO_PARTICIPLES)
