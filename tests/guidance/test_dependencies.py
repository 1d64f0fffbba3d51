"""Roles from parses written by hand, in the manner of the sentences that expose heuristics."""

from __future__ import annotations

import pytest
from parses import PASSIVE, SWAPPED, parsed, roles

from rationales.guidance.mending import mended

CASES = {
    "active": (SWAPPED[0], {"pay": {"agent": "The nurse", "patient": "the guard"}}),
    "passive": (PASSIVE, {"pay": {"patient": "The guard", "agent": "the nurse"}}),
    "prepositional phrase on the subject": (
        "The/the/DT/det/1 cook/cook/NN/nsubj/5 near/near/IN/prep/1 the/the/DT/det/4 guard/guard/NN/pobj/2 "
        "slept/sleep/VBD/ROOT/5",
        {"sleep": {"agent": "The cook"}},
    ),
    "relative clause without its object": (
        "The/the/DT/det/1 nurse/nurse/NN/nsubj/6 that/that/WDT/dobj/5 the/the/DT/det/4 guard/guard/NN/nsubj/5 "
        "thanked/thank/VBD/relcl/1 greeted/greet/VBD/ROOT/6 Ann/Ann/NNP/dobj/6",
        {"thank": {"agent": "the guard", "patient": "The nurse"}, "greet": {"agent": "The nurse", "patient": "Ann"}},
    ),
    "relative clause without its subject": (
        "The/the/DT/det/1 nurse/nurse/NN/nsubj/5 who/who/WP/nsubj/3 thanked/thank/VBD/relcl/1 Ann/Ann/NNP/dobj/3 "
        "slept/sleep/VBD/ROOT/5",
        {"thank": {"agent": "The nurse", "patient": "Ann"}, "sleep": {"agent": "The nurse"}},
    ),
    "relative clause without a pronoun": (
        "The/the/DT/det/1 nurse/nurse/NN/nsubj/4 Ann/Ann/NNP/nsubj/3 thanked/thank/VBD/relcl/1 slept/sleep/VBD/ROOT/4",
        {"thank": {"agent": "Ann", "patient": "The nurse"}, "sleep": {"agent": "The nurse"}},
    ),
    "relative clause that ends in a preposition": (
        "The/the/DT/det/1 dog/dog/NN/nsubj/5 Ann/Ann/NNP/nsubj/3 looked/look/VBD/relcl/1 at/at/IN/prep/3 "
        "barked/bark/VBD/ROOT/5",
        {"look": {"agent": "Ann", "at": "The dog"}, "bark": {"agent": "The dog"}},
    ),
    "where stands for the noun": (
        "The/the/DT/det/1 town/town/NN/nsubj/5 where/where/WRB/advmod/4 Ann/Ann/NNP/nsubj/4 slept/sleep/VBD/relcl/1 "
        "burned/burn/VBD/ROOT/5",
        {"sleep": {"agent": "Ann", "adverbial": "where"}, "burn": {"agent": "The town"}},
    ),
    "relative clause that was attached to the verb": (
        "Bob/Bob/NNP/nsubj/1 saw/see/VBD/ROOT/1 the/the/DT/det/3 guard/guard/NN/dobj/1 that/that/IN/dobj/6 "
        "Ann/Ann/NNP/nsubj/6 greeted/greet/VBD/ccomp/1",
        {
            "see": {"agent": "Bob", "patient": "the guard", "content": "greeted"},
            "greet": {"agent": "Ann", "patient": "the guard"},
        },
    ),
    "participle": (
        "The/the/DT/det/1 nurse/nurse/NN/nsubj/5 thanked/thank/VBD/acl/1 by/by/IN/agent/2 Ann/Ann/NNP/pobj/3 "
        "slept/sleep/VBD/ROOT/5",
        {"thank": {"patient": "The nurse", "agent": "Ann"}, "sleep": {"agent": "The nurse"}},
    ),
    "present participle": (
        "A/a/DT/det/1 man/man/NN/ROOT/1 holding/hold/VBG/acl/1 balls/ball/NNS/dobj/2",
        {"hold": {"agent": "A man", "patient": "balls"}},
    ),
    "coordinated nouns": (
        "Ann/Ann/NNP/nsubj/3 and/and/CC/cc/0 Bob/Bob/NNP/conj/0 greeted/greet/VBD/ROOT/3 cooks/cook/NNS/dobj/3 "
        "or/or/CC/cc/4 guards/guard/NNS/conj/4",
        {"greet": {"agent": "Ann Bob", "patient": "cooks guards"}},
    ),
    "coordinated verbs": (
        "Ann/Ann/NNP/nsubj/1 sang/sing/VBD/ROOT/1 and/and/CC/cc/1 greeted/greet/VBD/conj/1 Bob/Bob/NNP/dobj/3",
        {"sing": {"agent": "Ann"}, "greet": {"agent": "Ann", "patient": "Bob"}},
    ),
    "coordinated passives": (
        "Ann/Ann/NNP/nsubjpass/2 was/be/VBD/auxpass/2 thanked/thank/VBN/ROOT/2 and/and/CC/cc/2 paid/pay/VBN/conj/2",
        {"thank": {"patient": "Ann"}, "pay": {"patient": "Ann"}},
    ),
    "wanting": (
        "Ann/Ann/NNP/nsubj/1 wanted/want/VBD/ROOT/1 to/to/TO/aux/3 greet/greet/VB/xcomp/1 Bob/Bob/NNP/dobj/3",
        {"want": {"agent": "Ann", "content": "greet"}, "greet": {"agent": "Ann", "patient": "Bob"}},
    ),
    "asking": (
        "Ann/Ann/NNP/nsubj/1 asked/ask/VBD/ROOT/1 Bob/Bob/NNP/dobj/1 to/to/TO/aux/4 sing/sing/VB/xcomp/1",
        {"ask": {"agent": "Ann", "patient": "Bob", "content": "sing"}, "sing": {"agent": "Bob"}},
    ),
    "a clause that is said": (
        "Ann/Ann/NNP/nsubj/1 heard/hear/VBD/ROOT/1 Bob/Bob/NNP/nsubj/3 greeted/greet/VBD/ccomp/1 Cid/Cid/NNP/dobj/3",
        {"hear": {"agent": "Ann", "content": "greeted"}, "greet": {"agent": "Bob", "patient": "Cid"}},
    ),
    "an adverbial clause": (
        "If/if/IN/mark/2 Ann/Ann/NNP/nsubj/2 sang/sing/VBD/advcl/5 ,/,/,/punct/5 Bob/Bob/NNP/nsubj/5 "
        "slept/sleep/VBD/ROOT/5",
        {"sing": {"agent": "Ann"}, "sleep": {"agent": "Bob"}},
    ),
    "an adverbial clause without a subject": (
        "While/while/IN/mark/1 waiting/wait/VBG/advcl/4 ,/,/,/punct/4 Ann/Ann/NNP/nsubj/4 sang/sing/VBD/ROOT/4",
        {"wait": {"agent": "Ann"}, "sing": {"agent": "Ann"}},
    ),
    "a clause after a preposition": (
        "After/after/IN/prep/5 greeting/greet/VBG/pcomp/0 Bob/Bob/NNP/dobj/1 ,/,/,/punct/5 Ann/Ann/NNP/nsubj/5 "
        "slept/sleep/VBD/ROOT/5",
        {"greet": {"agent": "Ann", "patient": "Bob"}, "sleep": {"after": "greeting", "agent": "Ann"}},
    ),
    "giving somebody": (
        "Ann/Ann/NNP/nsubj/1 gave/give/VBD/ROOT/1 Bob/Bob/NNP/dative/1 a/a/DT/det/4 knife/knife/NN/dobj/1",
        {"give": {"agent": "Ann", "recipient": "Bob", "patient": "a knife"}},
    ),
    "giving to somebody": (
        "Ann/Ann/NNP/nsubj/1 gave/give/VBD/ROOT/1 knives/knife/NNS/dobj/1 to/to/IN/prep/1 Bob/Bob/NNP/pobj/3",
        {"give": {"agent": "Ann", "patient": "knives", "recipient": "Bob"}},
    ),
    "being given": (
        "Bob/Bob/NNP/nsubjpass/2 was/be/VBD/auxpass/2 given/give/VBN/ROOT/2 knives/knife/NNS/dobj/2",
        {"give": {"recipient": "Bob", "patient": "knives"}},
    ),
    "being somewhere": (
        "There/there/EX/expl/1 is/be/VBZ/ROOT/1 a/a/DT/det/3 guard/guard/NN/attr/1",
        {"be": {"theme": "a guard"}},
    ),
    "being something": (
        "Ann/Ann/NNP/nsubj/1 is/be/VBZ/ROOT/1 very/very/RB/advmod/3 tall/tall/JJ/acomp/1",
        {"be": {"theme": "Ann", "attribute": "very tall"}},
    ),
    "being called something": (
        "Bob/Bob/NNP/nsubjpass/2 was/be/VBD/auxpass/2 called/call/VBN/ROOT/2 a/a/DT/det/4 liar/liar/NN/oprd/2",
        {"call": {"patient": "Bob", "attribute": "a liar"}},
    ),
    "calling somebody": (
        "Ann/Ann/NNP/nsubj/1 called/call/VBD/ROOT/1 the/the/DT/det/3 guard/guard/NN/oprd/1",
        {"call": {"agent": "Ann", "patient": "the guard"}},
    ),
    "particles, negation, modals, places and manners": (
        "Ann/Ann/NNP/nsubj/3 may/may/MD/aux/3 not/not/RB/neg/3 sit/sit/VB/ROOT/3 down/down/RP/prt/3 on/on/IN/prep/3 "
        "benches/bench/NNS/pobj/5 quickly/quickly/RB/advmod/3",
        {
            "sit down": {
                "agent": "Ann",
                "modal": "may",
                "negation": "not",
                "on": "benches",
                "adverbial": "quickly",
            }
        },
    ),
    "what follows of belongs to the phrase": (
        "A/a/DT/det/1 group/group/NN/nsubj/5 of/of/IN/prep/1 old/old/JJ/amod/4 guards/guard/NNS/pobj/2 "
        "sang/sing/VBD/ROOT/5",
        {"sing": {"agent": "A group of old guards"}},
    ),
    "no verb": ("Two/two/CD/nummod/1 dogs/dog/NNS/ROOT/1", {}),
    "nothing": ("", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_roles(name):
    written, wanted = CASES[name]
    assert roles(parsed(written)) == wanted


def test_whole_phrases_take_in_clauses_but_not_the_verb_itself():
    words = parsed(CASES["relative clause without its object"][0])
    found = roles(words, "whole")
    assert found["greet"]["agent"] == "The nurse that the guard thanked"
    assert found["thank"]["patient"] == "The nurse"


def test_a_main_verb_without_a_subject_gets_the_object_before_it():
    words = parsed(
        "After/after/IN/mark/2 guests/guest/NNS/nsubj/2 left/leave/VBD/advcl/5 the/the/DT/det/4 cook/cook/NN/dobj/2 "
        "slept/sleep/VBD/ROOT/5"
    )
    assert roles(words)["sleep"] == {}
    assert roles(mended(words)) == {"leave": {"agent": "guests"}, "sleep": {"agent": "the cook"}}


def test_a_sentence_without_a_main_verb_gets_the_last_one():
    words = parsed(
        "The/the/DT/det/1 guard/guard/NN/ROOT/1 who/who/WP/nsubj/3 saw/see/VBD/relcl/1 Ann/Ann/NNP/nsubj/5 "
        "greeted/greet/VBD/ccomp/3 Bob/Bob/NNP/dobj/5"
    )
    assert roles(words)["greet"]["agent"] == "Ann"
    assert roles(mended(words)) == {
        "see": {"agent": "The guard", "patient": "Ann"},
        "greet": {"agent": "The guard", "patient": "Bob"},
    }


@pytest.mark.parametrize("name", ["a clause that is said", "an adverbial clause", "present participle", "passive"])
def test_sound_parses_are_not_mended(name):
    words = parsed(CASES[name][0])
    assert mended(words) == words


def test_commands_are_not_mended():
    words = parsed(
        "While/while/IN/mark/1 waiting/wait/VBG/advcl/4 for/for/IN/prep/1 Ann/Ann/NNP/pobj/2 sing/sing/VB/ROOT/4"
    )
    assert mended(words) == words
