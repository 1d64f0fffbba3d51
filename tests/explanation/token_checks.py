"""What tests of foreign explanations ask of tokens."""

from collections.abc import Iterable

from rationales.explanation import Explanation


def spans(explanation: Explanation) -> list[tuple[str, int, int, int]]:
    return [(token.text, token.segment, token.start, token.end) for token in explanation.tokens]


def assert_covers(explanations: Iterable[Explanation]) -> None:
    """Each content token is the piece of its text that it claims to be, and has no space around it."""
    for explanation in explanations:
        for token in explanation.tokens:
            if not token.special:
                assert token.text == explanation.texts[token.segment][token.start : token.end] == token.text.strip()
