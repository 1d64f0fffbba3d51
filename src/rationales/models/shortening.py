"""Pairs that are far too long, shortened before they are cut.

To cut a pair, the tokenizers library makes every combination of the pieces that it cuts off both texts: time and memory
grow with the product of their lengths, and two texts of 100,000 words would never end.
"""

from __future__ import annotations

from typing import Any

FAR = 8
"""Texts of fewer characters than so many times the tokens that are kept are left as they are."""


def shortened(tokenizer: Any, pair: tuple[str, str], most: int) -> tuple[str, str]:
    """The pair without the ends of its texts that lie far behind the first `most` tokens, which stay the same.

    Of two texts that are both too long, the longer one stays the longer one, since the tokenizer looks at that.
    `tokenizer` is one of the tokenizers library that does not truncate.
    """
    if max(map(len, pair)) <= FAR * most:
        return pair
    first, second = (tokenizer.encode(text, add_special_tokens=False) for text in pair)
    return (
        _beginning(tokenizer, pair[0], first, most + (len(first) > len(second))),
        _beginning(tokenizer, pair[1], second, most + (len(second) > len(first))),
    )


def _beginning(tokenizer: Any, text: str, whole: Any, tokens: int) -> str:
    """The shortest beginning tried that has the same first tokens; a cut in a word may make others of them."""
    size = tokens
    while size < len(whole):
        part = text[: whole.offsets[size - 1][1]]
        if tokenizer.encode(part, add_special_tokens=False).ids[:tokens] == whole.ids[:tokens]:
            return part
        size *= 2
    return text
