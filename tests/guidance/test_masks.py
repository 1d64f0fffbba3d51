"""Which words of two texts may be linked."""

from __future__ import annotations

import pytest
from parses import PASSIVE, SWAPPED, labelled

from rationales.errors import InputError
from rationales.guidance import Frame, Labelled, role_links


def linked(first: str, second: str, **options) -> set[tuple[str, str]]:
    """Pairs of words that may be linked, in lower case."""
    (text, one), (other_text, other) = labelled(first), labelled(second)
    words = text.lower().split(), other_text.lower().split()
    keep = role_links(one, other, **options)
    assert keep.shape == (len(words[0]), len(words[1]))
    return {(words[0][i], words[1][j]) for i, j in zip(*keep.nonzero(), strict=True)}


def test_swapped_roles_link_different_words():
    assert linked(*SWAPPED) == {
        ("paid", "paid"), ("nurse", "guard"), ("guard", "nurse"),
        ("the", "guard"), ("the", "nurse"), ("nurse", "the"), ("guard", "the"), ("the", "the"),
    }  # fmt: skip


def test_a_passive_links_the_same_words():
    found = linked(SWAPPED[0], PASSIVE)
    assert {("nurse", "nurse"), ("guard", "guard"), ("paid", "paid")} <= found
    assert not found & {("nurse", "guard"), ("guard", "nurse"), (".", "."), ("paid", "was"), ("paid", "by")}


def test_words_without_a_role_may_be_linked_with_each_other():
    more = linked(SWAPPED[0], PASSIVE, outside="each_other") - linked(SWAPPED[0], PASSIVE)
    assert more == {(".", "was"), (".", "by"), (".", ".")}


def test_texts_that_share_no_predicate_are_left_alone():
    other = "The/the/DT/det/1 nurse/nurse/NN/nsubj/2 slept/sleep/VBD/ROOT/2"
    assert len(linked(SWAPPED[0], other)) == len({"the", "nurse", "paid", "guard", "."}) * 3
    assert role_links(Labelled(((0, 3),), ()), Labelled(((0, 2), (3, 5)), ())).all()


def test_only_frames_that_are_shared_link_words():
    both = "Ann/Ann/NNP/nsubj/1 sang/sing/VBD/ROOT/1 and/and/CC/cc/1 slept/sleep/VBD/conj/1 here/here/RB/advmod/3"
    other = "Bob/Bob/NNP/nsubj/1 sang/sing/VBD/ROOT/1 there/there/RB/advmod/1"
    assert linked(both, other) == {("ann", "bob"), ("sang", "sang")}


def test_a_frame_names_words_that_are_there():
    with pytest.raises(InputError, match="names word 2, and there are 2 words"):
        Labelled(((0, 2), (3, 5)), (Frame(0, "go", {"agent": (2,)}),))
