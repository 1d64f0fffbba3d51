from rationales.data import Example, gold_alignment, gold_selection, gold_sentences

TEXTS = ("a man sleeps", "a man runs away")


def test_selected_words_of_both_texts():
    gold = gold_selection(Example("7", TEXTS, label=2, rationale=(((6, 12),), ((7, 12),))))
    assert gold is not None
    assert [token.text for token, keep in zip(gold.tokens, gold.body.keep, strict=True) if keep] == [
        "sleeps",
        "runs",  # touched in part only, and so is the next
        "away",
    ]
    assert (gold.target.index, gold.target.label, gold.provenance.method) == (2, "2", "human")


def test_nothing_marked_is_not_nobody_asked():
    unmarked = gold_selection(Example("7", TEXTS, rationale=((), ())))
    assert unmarked is not None
    assert not unmarked.body.keep.any()
    assert gold_selection(Example("7", TEXTS)) is None
    assert gold_alignment(Example("7", TEXTS)) is None
    assert gold_sentences(Example("7", TEXTS)) == ()


def test_linked_words():
    gold = gold_alignment(Example("7", TEXTS, alignment=(((2, 5), (2, 5)), ((6, 12), (6, 15)))))
    assert gold is not None
    assert gold.body.weights.tolist() == [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]
    assert gold.body.keep.tolist() == (gold.body.weights > 0).tolist()


def test_written_reasons():
    first, second = gold_sentences(Example("7", TEXTS, label="contradiction", sentences=("One.", "Two.")))
    assert (first.body.text, second.body.text) == ("One.", "Two.")
    assert (first.target.index, first.target.label) == (-1, "contradiction")
