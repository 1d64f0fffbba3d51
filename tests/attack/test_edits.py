"""What can be edited, and how: by hand."""

from __future__ import annotations

import pytest

from rationales.attack import Edit, applied, candidates
from rationales.attack.edits import words_changed
from rationales.attack.wordlists import NAMES, PLACES


def ways(text, kind, **options):
    """Every text that one edit makes of this one."""
    return [applied([text], [edit])[0] for edit in candidates([text], [kind], **options)]


def replaced(text, kind):
    """What is edited in the text, once each, in order."""
    found = {change.start: change.old for edit in candidates([text], [kind]) for change in edit.changes}
    return [found[start] for start in sorted(found)]


def fits(edit: Edit, word: str) -> bool:
    return any(change.new == word for change in edit.changes)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("This isn't good.", "This is not good."),
        ("This isn’t good, it’ll do.", "This is not good, it’ll do."),
        ("We won't go.", "We will not go."),
        ("Can't wait!", "Cannot wait!"),
        ("Don't watch", "Do not watch"),
        ("THEY DIDN'T TRY", "THEY DID NOT TRY"),
        ("it's fine", "it is fine"),
        ("It's been fun", "It has been fun"),
        ("he's always had luck", "he has always had luck"),
        ("It's only been a week.", "It has only been a week."),
        ("he's since had luck", "he has since had luck"),
        ("It's never really been funny", "It has never really been funny"),
        ("there's at least got to be one", "there has at least got to be one"),
        ("it's gotten better", "it has gotten better"),
        ("I'm here", "I am here"),
        ("I'M HERE", "I AM HERE"),
        ("you're right", "you are right"),
        ("we've seen it", "we have seen it"),
        ("they'll see it", "they will see it"),
        ("It would've been better", "It would have been better"),
    ],
)
def test_contractions_are_written_out_and_drawn_together(short, long):
    assert long in ways(short, "contractions")
    if "it’ll" not in short:
        assert short in ways(long, "contractions")


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("we shan't", "we shall not"),
        ("Let's go", "Let us go"),
        ("you can not win", "you can't win"),
        ("it ’s all we’ve got and it is fun", "it ’s all we’ve got and it ’s fun"),
        ("it does n't work", "it does not work"),
        ("you ca n't lose", "you cannot lose"),
        ("there is much to like .", "there 's much to like ."),
        ("it is n't sad , it is not bad", "it is n't sad , it is n't bad"),
        ("he’s well and it is fun", "he’s well and it’s fun"),
        ("he's recently had luck", "he has recently had luck"),
        ("What's he got against it?", "What has he got against it?"),
        ("Where's she been all these years?", "Where has she been all these years?"),
        ("it's all there", "it is all there"),
        ("That's all.", "That is all."),
        ("she's truly naked", "she is truly naked"),
        ("it's so overrated", "it is so overrated"),
        ('it\'s "art"', 'it is "art"'),
        ("as if it's what he had", "as if it is what he had"),
        ("I have really only heard of it", "I've really only heard of it"),
        ("they have not fully recovered", "they've not fully recovered"),
        ("we have run away", "we've run away"),
        ("it is not only sad", "it's not only sad"),
        ("I AM HERE, and that is all", "I'M HERE, and that is all"),
        ("If You Are Well", "If You're Well"),
        ("It Is Not Well", "It Isn't Well"),
    ],
)
def test_one_way_only_with_the_marks_and_spaces_of_the_text(text, edited):
    assert edited in ways(text, "contractions")


@pytest.mark.parametrize(
    "text",
    [
        "John's dog, the film's end and its women's roles",
        "Isn't it great, and don't you think so?",
        "I'd go",
        "he's finished",
        "she's clearly gone",
        "it's only based on a book, and it's often said so",
        "he's died, she's heard it and he's spent it all",
        "he's now lost me",
        "What's he done?",
        "it's lovely, had it been true",
        "it's never, ever been funny",
        "it's (partly) been lost",
        "it ain't so",
        "Yes, it is. They know who you are, and so what it is to them",
        "You know how good it is to see you",
        "I have a dog",
        "I have seven dogs",
        "it has green eyes",
        "It has just enough, even less and not one good idea",
        "it has poorly written words, it has set pieces",
        "You can not only see it but feel it",
        "You cannot simply go, the film was not just bad and they did not merely try",
        "it IS good, it WILL be, films are NOT bad and we canNOT say so",
        "Why don't films end? Didn't anyone see this, can't these people write?",
        "They let us down",
        "wasnt, cant, wont",
        "a this is-not-a-pipe moment",
        "ıs not",
    ],
)
def test_what_is_ambiguous_or_possessive_stays(text):
    assert ways(text, "contractions") == []


@pytest.mark.parametrize(
    ("text", "edited"),
    [("He has not.", "He hasn't."), ("it has not one idea", "it hasn't one idea"), ("it is NOT bad", "it's NOT bad")],
)
def test_the_other_way_would_say_something_else(text, edited):
    assert ways(text, "contractions") == [edited]


def test_two_ways_of_one_phrase_exclude_each_other():
    text = "it is not bad"
    first, second = candidates([text], ["contractions"])
    assert {applied([text], [first])[0], applied([text], [second])[0]} == {"it's not bad", "it isn't bad"}
    assert first.excludes(second)


def test_names_become_names_of_their_list_in_their_case():
    women, men, surnames = NAMES
    found = ways("Mary met JOHN Wilson and john.", "names", most=3)
    assert len(found) == 9
    for number, text in enumerate(found):
        first, met, second, last, _, third = text.removesuffix(".").split()
        assert met == "met"
        changed = ("Mary", "john", "Wilson")[number // 3]
        assert first in women
        assert (first != "Mary") == (changed == "Mary")
        assert second == third.upper()
        assert third.title() in men
        assert third.islower()
        assert (third != "john") == (changed == "john")
        assert last in surnames
        assert (last != "Wilson") == (changed == "Wilson")


@pytest.mark.parametrize(
    "text",
    ["Johnny, Maryland and Annapolis", "Mary-Lou", "@john #mary", "www.john.com/peter", "Mark will grace us", "Çjohn"],
)
def test_names_inside_other_words_stay(text):
    assert replaced(text, "names") == []


def test_a_possessive_follows_its_name():
    assert all(text.endswith("'s dog") and text != "John's dog" for text in ways("John's dog", "names"))
    assert len(ways("John's dog", "names")) == 5


def test_places_become_places_of_their_kind():
    cities, countries, states = PLACES
    (paris, peru, mexico) = (
        [text.removeprefix("in ") for text in ways(f"in {place}", "places", most=99)]
        for place in ("Paris", "PERU", "new mexico")
    )
    assert set(paris) == set(cities) - {"Paris"}
    assert set(peru) == {place.upper() for place in countries} - {"PERU"}
    assert set(mexico) == {place.lower() for place in states} - {"new mexico"}


@pytest.mark.parametrize(
    ("number", "digits"), [("7", 1), ("42", 2), ("1,234", 4), ("1,234,567.89", 9), ("3.50", 3), ("4711", 4)]
)
def test_numbers_keep_digits_and_separators(number, digits):
    found = [text.split()[1].removeprefix("$") for text in ways(f"paid ${number} for it", "numbers")]
    assert len(set(found)) == 5
    for other in found:
        assert [sign for sign in other if not sign.isdigit()] == [sign for sign in number if not sign.isdigit()]
        assert sum(map(str.isdigit, other)) == digits
        assert other[0] not in "01" if digits == 1 else other[0] != "0"
        assert other != number


def test_years_keep_their_century():
    found = ways("made in 1984.", "numbers", most=20)
    assert len(found) == 20
    assert all(text.startswith("made in 19") and text.endswith(".") for text in found)
    assert max(ways("made in 2007", "numbers", most=99)) == "made in 2025"


@pytest.mark.parametrize(
    "text",
    [
        "0 or 1 dogs",
        "007",
        "12/05/2020, 2020-05-12, 10:30, 12.05.2020",
        "5 May, May 5, 1999, the 29 of February 2000",
        "8/10; 8 / 10; 8 out of 10; 7 out 10; rank # 4; 5 stars, 4 star, 90 %, 90 percent",
        "1980s, the 20th, MP3, B2B, 2nd, x5",
        "an 8 and a 5",
        "call 555 1234",
        "1.234,56",
        "1234567890123",
    ],
)
def test_numbers_that_are_more_than_numbers_stay(text):
    assert replaced(text, "numbers") == []


def test_numbers_beside_punctuation_are_found():
    assert replaced("(42), 43; 17. Was it 20? 30!", "numbers") == ["42", "43", "17", "20", "30"]


def test_the_lists_share_no_word_and_hold_no_name_twice():
    words = [word.casefold() for alike in (*NAMES, *PLACES) for word in alike]
    assert len(words) == len(set(words))


def test_what_stands_in_both_texts_changes_in_both_or_in_none():
    texts = ("John went to Paris.", "John slept in Rome.")
    for edit in candidates(texts, ["names"]):
        assert [(change.segment, change.old) for change in edit.changes] == [(0, "John"), (1, "John")]
    found = {change.old for edit in candidates(texts, sides="second") for change in edit.changes}
    assert found == {"Rome"}
    found = {change.old for edit in candidates(texts, sides="first") for change in edit.changes}
    assert found == {"Paris"}


def test_nobody_takes_a_name_that_is_there():
    everyone = " and ".join(name for name in NAMES[1] if name not in ("Ryan", "Hugo", "Adam"))
    assert {change.new for edit in candidates([everyone], ["names"]) for change in edit.changes} == {
        "Ryan", "Hugo", "Adam",
    }  # fmt: skip
    by_name = {edit.changes[0].old: edit for edit in candidates([everyone], ["names"]) if fits(edit, "Hugo")}
    assert by_name["John"].excludes(by_name["Peter"])


def test_the_seed_decides_what_is_drawn():
    text = "Anna met 1,234 people in Paris."
    assert candidates([text], seed=1) == candidates([text], seed=1)
    assert candidates([text], seed=1) != candidates([text], seed=2)


def test_words_are_counted_in_the_original():
    texts = ("It is not bad, Anna.", "Anna left")
    chosen = [next(edit for edit in candidates(texts, [kind])) for kind in ("contractions", "names")]
    assert words_changed(texts, chosen) == (4, 7)
    assert words_changed(texts, []) == (0, 7)


@pytest.mark.parametrize("text", ["", " ", "\n", "好的", "’", "'s", "n't", "İs not", "1" * 500, "Joh\u0301n"])
def test_strange_texts_have_no_edits_and_do_no_harm(text):
    assert candidates([text]) == []
