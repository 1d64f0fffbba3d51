"""Roles read off a dependency parse.

The parse has Penn Treebank tags and the labels of spaCy's English pipelines (CLEAR style).

| role | in the parse |
|---|---|
| `agent` | the subject of an active verb; what follows "by" in a passive |
| `patient` | the direct object; the subject of a passive |
| `recipient` | the indirect object, with or without "to"; the subject of a passive that has an object |
| `theme` | the subject of "be"; what follows "there is" |
| `attribute` | what "be", "become", "is called" … say of somebody |
| `content` | the verb of a clause that is said, thought, wanted … |
| `in`, `with`, `on` … | what follows that preposition, where it belongs to the verb |
| `adverbial`, `negation`, `modal` | adverbs and times; "not"; "can", "may" … |

Predicates are verbs that are not auxiliary. One without a subject of its own takes it from elsewhere: a relative
clause or participle from the noun it describes ("the guest **that** left", "the guest **paid** by the host"), a verb
after "and" from the verb before it, "wants to go" from the one who wants, "asks him to go" from the one who is asked,
adverbial clauses ("while waiting, the guest …") from the main clause. A relative clause without an object takes the
noun as such ("the guest the host saw"). Of coordinated nouns each plays the role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from rationales.guidance.roles import Frame

Extent: TypeAlias = Literal["core", "whole"]
"""How much of a phrase plays a role: its head with determiners, adjectives and the like, or all that depends on it,
prepositional phrases and relative clauses among them."""

SUBJECTS = ("nsubj", "csubj", "nsubjpass", "csubjpass")
OBJECTS = ("dobj", "obj")
PARTICIPLES = ("VBN", "VBD")  # taggers take one for the other
ATTRIBUTES = ("attr", "acomp", "oprd")
CORE = ("det", "predet", "amod", "compound", "nmod", "nummod", "quantmod", "poss", "case", "advmod", "neg", "prt")
"""What belongs to the core of a phrase."""

BY_LABEL = {
    **dict.fromkeys(OBJECTS, "patient"),
    **dict.fromkeys(ATTRIBUTES, "attribute"),
    "ccomp": "content",
    "xcomp": "content",
    "advmod": "adverbial",
    "npadvmod": "adverbial",
    "neg": "negation",
}
"""The role of what depends on a verb, where its label alone tells."""


class ParsedWord(NamedTuple):
    """A word of a dependency parse: its form, lemma, tag, label, and the number of its head (its own, if a root)."""

    text: str
    lemma: str
    tag: str
    label: str
    head: int


def frames(words: Sequence[ParsedWord], extent: Extent = "core") -> tuple[Frame, ...]:
    """The predicates of a parsed text with their roles."""
    tree = _Tree(words)
    return tuple(tree.frame(word, extent) for word in range(len(words)) if tree.is_predicate(word))


class _Tree:
    def __init__(self, words: Sequence[ParsedWord]) -> None:
        self.words = words
        self.dependents: list[list[int]] = [[] for _ in words]
        for number, word in enumerate(words):
            if word.head != number:
                self.dependents[word.head].append(number)

    def labelled(self, head: int, *labels: str) -> list[int]:
        """What depends on a word by one of these labels."""
        return [word for word in self.dependents[head] if self.words[word].label in labels]

    def is_predicate(self, word: int) -> bool:
        it = self.words[word]
        return it.tag.startswith("VB") and it.label not in ("aux", "auxpass", "amod", "compound")

    def frame(self, verb: int, extent: Extent) -> Frame:
        roles: dict[str, set[int]] = {}
        for role, head in self.fillers(verb):
            roles.setdefault(role, set()).update(self.phrase(head) if extent == "core" else self.subtree(head, verb))
        particles = self.labelled(verb, "prt")
        lemma = " ".join(self.words[word].lemma.lower() for word in (verb, *particles))
        return Frame(verb, lemma, {role: tuple(sorted(words)) for role, words in roles.items()})

    def fillers(self, verb: int) -> Iterator[tuple[str, int]]:
        """Roles of a verb with the head of each phrase that plays them."""
        role = self.subject_role(verb)
        yield from ((role, head) for head in self.subjects(verb))
        if (gap := self.gap(verb)) is not None:
            yield gap
        for word in self.dependents[verb]:
            it = self.words[word]
            if it.label in BY_LABEL:
                yield from ((self.complement_role(word), head) for head in self.coordinated(word))
            elif it.label == "aux" and it.tag == "MD":
                yield "modal", word
            elif it.label in ("agent", "dative", "prep"):
                named = self.preposition_role(word)
                objects = self.labelled(word, "pobj", "pcomp")
                if it.label == "dative" and it.tag not in ("IN", "TO"):
                    objects = [word]
                yield from ((named, head) for one in objects for head in self.coordinated(one))

    def complement_role(self, word: int) -> str:
        it = self.words[word]
        if it.label == "attr" and self.labelled(it.head, "expl"):
            return "theme"
        alone = not self.labelled(it.head, *OBJECTS) and not self.is_passive(it.head)
        if it.label == "oprd" and alone and it.tag.startswith("NN"):
            return "patient"  # "called the guard", which parsers take for "called him a guard"
        return BY_LABEL[it.label]

    def preposition_role(self, word: int) -> str:
        it = self.words[word]
        if it.label == "agent":
            return "agent"
        given = it.text.lower() == "to" and self.labelled(it.head, *OBJECTS)
        return "recipient" if it.label == "dative" or given else it.text.lower()

    def subject_role(self, verb: int) -> str:
        if self.words[verb].lemma.lower() == "be":
            return "theme"
        if not self.is_passive(verb):
            return "agent"
        return "recipient" if self.labelled(verb, *OBJECTS) else "patient"

    def is_passive(self, verb: int) -> bool:
        if self.labelled(verb, "auxpass", "nsubjpass", "csubjpass"):
            return True
        it = self.words[verb]
        if it.tag not in PARTICIPLES or self.labelled(verb, "aux", *SUBJECTS):
            return False
        return it.label == "acl" or (it.tag == "VBN" and (it.label == "advcl" or self.continues_passive(verb)))

    def continues_passive(self, verb: int) -> bool:
        it = self.words[verb]
        return it.label == "conj" and self.is_predicate(it.head) and self.is_passive(it.head)

    def subjects(self, verb: int) -> list[int]:
        """The heads of a verb's subjects, its own or taken from elsewhere."""
        own = self.labelled(verb, *SUBJECTS)
        if own:
            return [head for word in own for head in self.coordinated(word)]
        it = self.words[verb]
        if it.label == "relcl":
            return [] if self.asks_where(verb) else [it.head]
        if it.label == "acl":
            return [it.head] if it.tag in (*PARTICIPLES, "VBG") else []
        above = self.words[it.head].head if it.label == "pcomp" else it.head
        if it.label not in ("conj", "xcomp", "advcl", "pcomp") or not self.is_predicate(above):
            return []
        controlled = self.labelled(above, *OBJECTS, "dative") if it.label == "xcomp" else []
        return [head for word in controlled for head in self.coordinated(word)] or self.subjects(above)

    def gap(self, verb: int) -> tuple[str, int] | None:
        """The role that the noun before a relative clause plays in it, where no pronoun stands for it."""
        if self.words[verb].label != "relcl" or not self.labelled(verb, *SUBJECTS) or self.asks_where(verb):
            return None
        if any(self.is_relative(word) for word in self.arguments(verb)):
            return None
        noun = self.words[verb].head
        for word in self.labelled(verb, "prep"):
            if not self.dependents[word]:
                return self.words[word].text.lower(), noun
        taken = self.labelled(verb, *OBJECTS, *ATTRIBUTES, "ccomp", "xcomp")
        return None if taken or self.is_passive(verb) else ("patient", noun)

    def arguments(self, verb: int) -> Iterator[int]:
        """Where a relative pronoun may stand."""
        for word in self.labelled(verb, *SUBJECTS, *OBJECTS, "dative", "prep", "agent", "xcomp", "ccomp"):
            yield word
            yield from self.labelled(word, "pobj", *OBJECTS)

    def asks_where(self, verb: int) -> bool:
        """Whether "where", "when" or "whose" stands for the noun before a relative clause."""
        return any(self.words[word].tag in ("WRB", "WP$") for word in self.subtree(verb))

    def is_relative(self, word: int) -> bool:
        it = self.words[word]
        return it.tag in ("WDT", "WP") or (it.text.lower() == "that" and it.label in (*SUBJECTS, *OBJECTS, "pobj"))

    def coordinated(self, head: int) -> list[int]:
        """The head of a phrase and those that "and" or "or" joins to it; for a relative pronoun the noun it means."""
        if self.is_relative(head) and (noun := self.antecedent(head)) is not None:
            return [noun]
        return [head, *(far for word in self.labelled(head, "conj") for far in self.coordinated(word))]

    def antecedent(self, pronoun: int) -> int | None:
        """The noun that a relative pronoun means."""
        word = pronoun
        while self.words[word].head != word:
            word = self.words[word].head
            label, head = self.words[word].label, self.words[word].head
            if label == "relcl":
                return head
            before = [noun for noun in self.labelled(head, *OBJECTS) if noun < pronoun]
            if label == "ccomp" and before:
                return before[-1]  # "saw the guard that the cook greeted", which parsers attach to "saw"
        return None

    def phrase(self, head: int) -> Iterator[int]:
        """The core of a phrase: of verbs themselves, of nouns with determiners, adjectives … and what follows "of"."""
        yield head
        if self.is_predicate(head):
            return
        for word in self.labelled(head, *CORE):
            yield from self.phrase(word)
        for word in self.labelled(head, "prep"):
            if self.words[word].text.lower() == "of":
                yield word
                for one in self.labelled(word, "pobj"):
                    yield from self.phrase(one)

    def subtree(self, head: int, without: int | None = None) -> Iterable[int]:
        """A word and all that depends on it, other than by "and"; `without` is a clause to leave out."""
        found = [head]
        for word in self.dependents[head]:
            if word != without and self.words[word].label not in ("conj", "cc", "punct"):
                found.extend(self.subtree(word, without))
        return found
