"""The explanations of Inseq as ours, live or from the files that it saves. Inseq need not be installed.

Inseq keeps token strings without offsets, so the text is spelt out of them, by the marks that their tokenizer leaves.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_safetensors

from rationales.errors import FileFormatError, InputError
from rationales.explanation.foreign import Aggregate, aggregated, as_array, laid_out
from rationales.explanation.types import Explanation, FloatArray, Provenance, Scores, Target, Token

_Speller: TypeAlias = Callable[[str], bytes]

_PLACEHOLDER = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")  # <s>, </s>, <pad>, <|endoftext|>, [CLS] …
_CONTENT = re.compile(r"<0x[0-9A-F]{2}>|<unk>|<mask>|\[UNK\]|\[MASK\]")  # … but these stand for some of the text
# Byte-level tokenizers write visible bytes as they are, and the others as letters from U+0100 on: a space is Ġ
_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_BYTE_OF = {chr(byte): byte for byte in _VISIBLE} | {
    chr(0x100 + number): byte for number, byte in enumerate(sorted(set(range(0x100)) - set(_VISIBLE)))
}


def _byte_level(token: str) -> bytes:
    return b"".join(bytes((_BYTE_OF[char],)) if char in _BYTE_OF else char.encode() for char in token)


def _sentence_piece(token: str) -> bytes:
    byte = re.fullmatch("<0x(..)>", token)
    return bytes((int(byte[1], 16),)) if byte else token.replace("▁", " ").encode()


def _word_piece(token: str) -> bytes:
    return (token[2:] if token.startswith("##") else f" {token}").encode()


def from_inseq(
    source: Any,
    *,
    aggregate: Aggregate | None = None,
    special: Collection[str] = (),
    id: str = "",
    method: str | None = None,
    model: str | None = None,
) -> list[Explanation]:
    """What Inseq returns, or the path of the file that its `save` writes: one explanation per generated token.

    The texts are what the model had read when it wrote the token: the source and what it had written so far, or the
    prompt and what followed in one; what Inseq did not attribute is left out. They are spelt out of the tokens, of
    which those like <…> or […], and those in `special`, are special. The target is the token written, its index the
    token's id, with its probability if that is among the step scores; the other step scores are the checks. Embedding
    dimensions are aggregated by `aggregate`, else as Inseq does: l2, and the mean for layers and heads. Ids are `id`,
    the number of the sequence and the place of the token in it, such as "0-8".
    """
    output = _inseq_file(Path(source)) if isinstance(source, str | Path) else source
    sequences, info = _field(output, "sequence_attributions"), _field(output, "info") or {}
    if sequences is None:
        raise FileFormatError(f"an output of Inseq, with sequence_attributions, is wanted; got {source!r:.200}")
    spell = _speller(sequences, info)
    options = info.get("attribution_args") or {}
    params = {name: value for name, value in options.items() if isinstance(value, str | int | float)}
    method = method or f"inseq:{info.get('attribution_method')}"
    model = str(info.get("model_name") or "") if model is None else model
    out = []
    for number, sequence in enumerate(sequences):
        kind = sequence.get("__instance_type__") if isinstance(sequence, Mapping) else type(sequence).__name__
        arrays = {side: _field(sequence, f"{side}_attributions") for side in ("source", "target")}
        raw = {side: _inseq_array(array) for side, array in arrays.items() if array is not None}
        depth = min((array.ndim for array in raw.values()), default=0)
        if depth < 2:
            raise FileFormatError(f"sequence {number} of Inseq's output has no attributions of shape [tokens, steps]")
        how = aggregate or ("mean" if depth > 3 or "MultiDimensional" in str(kind) else "l2")
        scores = {side: aggregated(array, how, axis=2) for side, array in raw.items()}
        steps = {name: _inseq_array(array) for name, array in (_field(sequence, "step_scores") or {}).items()}
        probabilities = steps.pop("probability", None)
        names, ids = _names(sequence, "target"), [_field(token, "id") for token in _field(sequence, "target") or ()]
        source_text, read = _spelt(_names(sequence, "source"), spell, special, segment=0)
        target_text, written = _spelt(names, spell, special, segment=1 if "source" in scores else 0)
        # The sequence's own attr_pos_start can be one too low where Inseq attributed a part of the target
        start = int(info.get("attr_pos_start", _field(sequence, "attr_pos_start") or 0))
        for column in range(min(array.shape[1] for array in scores.values())):
            # Scores of the target are NaN from the token on that is being written
            known = np.flatnonzero(~np.isnan(scores["target"][:, column])) if "target" in scores else np.empty(0)
            place = int(known[-1]) + 1 if len(known) else start + column
            if place >= len(names):
                raise FileFormatError(
                    f"sequence {number} of Inseq's output has {len(names)} tokens, but scores for more"
                )
            so_far = written[:place]
            until = max((token.end for token in so_far), default=0)
            seen = {"source": (source_text, read), "target": (target_text[:until], so_far)}
            score = float("nan") if probabilities is None else probabilities[column]
            out.append(
                Explanation(
                    f"{id}{number}-{place}",
                    tuple(seen[side][0] for side in scores),
                    tuple(token for side in scores for token in seen[side][1]),
                    Target(ids[place], written[place].text or names[place], score),
                    Scores(np.concatenate([array[: len(seen[side][1]), column] for side, array in scores.items()])),
                    Provenance(method, params | ({"aggregate": how} if depth > 2 else {}), model),
                    {name: values[column] for name, values in steps.items()},
                )
            )
    return out


def _inseq_file(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"no file at {path}: a file that Inseq saved is wanted")
    raw = path.read_bytes()
    try:
        return json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path} is not a file that Inseq saved: {error}") from error


def _field(thing: Any, name: str) -> Any:
    """A field of an object of Inseq's, live or as its files hold it."""
    return thing.get("attributes", thing).get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _names(sequence: Any, side: str) -> list[str]:
    return [str(_field(token, "token")) for token in _field(sequence, side) or ()]


def _inseq_array(values: Any) -> FloatArray:
    """A tensor, or what files hold: safetensors in base64."""
    if not isinstance(values, str):
        return as_array(values, "attributions")
    try:
        return load_safetensors(base64.b64decode(values))["attribution"].astype(np.float64)
    except (ValueError, KeyError, SafetensorError) as error:
        raise FileFormatError(f"an array of Inseq's file is neither float32 nor float16: {error!r}") from error


def _speller(sequences: Sequence[Any], info: Mapping[str, Any]) -> _Speller:
    """How to read the tokens of a tokenizer, by the marks it leaves in them."""
    names = [name for one in sequences for side in ("source", "target") for name in _names(one, side)]
    if any("▁" in name for name in names):
        return _sentence_piece
    if any("Ġ" in name for name in names):
        return _byte_level
    # Bytes of a text without a space leave no mark; the text that Inseq was given tells them from whole words
    spelt = b"".join(map(_byte_level, _names(sequences[0], "source"))) if len(sequences) else b""
    return _byte_level if [spelt.decode(errors="replace")] == (info.get("input_texts") or [])[:1] else _word_piece


def _spelt(
    names: Sequence[str], spell: _Speller, special: Collection[str], segment: int
) -> tuple[str, tuple[Token, ...]]:
    pieces: list[bytes | None] = [
        None if name in special or (_PLACEHOLDER.fullmatch(name) and not _CONTENT.fullmatch(name)) else spell(name)
        for name in names
    ]
    if spell is not _byte_level:  # the others put a space before each word, the first too
        first = next((number for number, piece in enumerate(pieces) if piece is not None), 0)
        pieces[first : first + 1] = [piece and piece.removeprefix(b" ") for piece in pieces[first : first + 1]]
    return laid_out(pieces, names, segment)
