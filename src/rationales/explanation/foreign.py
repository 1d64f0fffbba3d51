"""The explanations of other tools, as ours: Captum, SHAP, Inseq, ERASER. None of them needs to be installed.

Captum gives bare numbers, so the tokens come from the caller (`tokens_of` reads them off a tokenizer's encoding). SHAP
and Inseq give token strings, whose places in the text are found by spelling the text out again. Scores stay as the
tool gave them; only dimensions beyond the token are aggregated, and the parameters say how.
"""

from __future__ import annotations

import base64
import codecs
import gzip
import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_safetensors

from rationales.errors import FileFormatError, InputError
from rationales.explanation.eraser import from_eraser
from rationales.explanation.types import SPECIAL, Explanation, FloatArray, Provenance, Scores, Target, Token

__all__ = ["Aggregate", "from_captum", "from_eraser", "from_inseq", "from_shap", "tokens_of"]

Aggregate: TypeAlias = Literal["sum", "l2", "mean"]
"""How the dimensions of an embedding, or layers and heads, become one number."""


def _array(values: Any, what: str) -> FloatArray:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.double() if hasattr(values, "double") else values  # NumPy has no bfloat16
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers of one shape, got {type(values).__name__}: {error}") from error


def _aggregated(values: FloatArray, how: Aggregate, axis: int) -> FloatArray:
    """All axes from `axis` on become one number."""
    if values.ndim <= axis:
        return values
    axes = tuple(range(axis, values.ndim))
    match how:
        case "sum":
            out = values.sum(axes)
        case "mean":
            out = values.mean(axes)
        case "l2":
            out = np.sqrt(np.square(values).sum(axes))
        case _:
            raise InputError(f"aggregate must be sum, l2 or mean, got {how!r}")
    return np.asarray(out, dtype=np.float64)


def _tuple(texts: str | Sequence[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def tokens_of(encoding: Any, texts: str | Sequence[str], row: int = 0) -> tuple[Token, ...]:
    """The tokens of one row of what a fast tokenizer of Transformers returns, without padding.

    `texts` are the text of that row, or its two texts; special tokens get segment -1.
    """
    texts = _tuple(texts)
    rows = getattr(encoding, "encodings", None)
    if not rows:
        raise InputError(f"what a fast tokenizer returns is wanted, with its encodings; got {type(encoding).__name__}")
    if not 0 <= row < len(rows):
        raise InputError(f"there is no row {row} in an encoding of {len(rows)} row(s)")
    one = rows[row]
    tokens = []
    for name, segment, (start, end), keep in zip(
        one.tokens, encoding.sequence_ids(row), one.offsets, one.attention_mask, strict=True
    ):
        if not keep:
            continue
        if segment is not None and (segment >= len(texts) or end > len(texts[segment])):
            raise InputError(f"{name!r} lies at [{start}, {end}) of text {segment}; the texts given are {texts!r:.200}")
        tokens.append(Token(name, SPECIAL, 0, 0) if segment is None else _token(texts[segment], segment, start, end))
    return tuple(tokens)


def _token(text: str, segment: int, start: int, end: int) -> Token:
    """The token without the white space that tokenizers count as part of a word."""
    covered = text[start:end]
    start += len(covered) - len(covered.lstrip())
    end = max(start, start + len(covered.strip()))
    return Token(text[start:end], segment, start, end)


def from_captum(
    attributions: Any,
    *,
    texts: str | Sequence[str],
    tokens: Sequence[Token],
    target: Target,
    method: str,
    params: Mapping[str, Any] | None = None,
    id: str = "",
    model: str = "",
    keep: Any = None,
    aggregate: Aggregate = "sum",
    checks: Mapping[str, float] | None = None,
) -> Explanation:
    """One text's attributions as Captum returns them: [T] or [T, d], also with a batch dimension of 1.

    `keep` [T] is the attention mask of a row with padding: attributions outside it are dropped. `checks` may take
    Captum's convergence delta.
    """
    if isinstance(attributions, tuple):  # a tensor for each input that was attributed
        if len(attributions) != 1:
            raise InputError(f"the attributions of one input are wanted, got a tuple of {len(attributions)}")
        attributions = attributions[0]
    values = _array(attributions, "attributions")
    kept = None if keep is None else _array(keep, "keep").astype(bool).reshape(-1)
    size = len(tokens) if kept is None else len(kept)
    if values.ndim > 1 and len(values) == 1 and (values.ndim > 2 or values.shape[1] == size != 1):
        values = values[0]
    if values.ndim not in (1, 2) or len(values) != size:
        what = "tokens" if kept is None else "values of keep"
        raise InputError(
            f"{len(values) if values.ndim else 1} attributions, of shape {values.shape}, for {size} {what}; "
            "one text is wanted, [T] or [T, d] with T the number of tokens, special ones included"
        )
    scores = _aggregated(values, aggregate, axis=1)
    params = dict(params or {}) | ({"aggregate": aggregate} if values.ndim == 2 else {})
    body = Scores(scores if kept is None else scores[kept])
    return Explanation(id, _tuple(texts), tuple(tokens), target, body, Provenance(method, params, model), checks or {})


def from_shap(
    explanation: Any,
    *,
    output: str | int | None = None,
    labels: Sequence[str] = (),
    texts: Sequence[str | Sequence[str]] | None = None,
    tokens: Sequence[Sequence[Token]] | None = None,
    outputs: Any = None,
    ids: Sequence[str] | None = None,
    method: str = "shap",
    params: Mapping[str, Any] | None = None,
    model: str = "",
) -> list[Explanation]:
    """What SHAP returns for texts: an `Explanation` of its own with values, base_values, data and output_names.

    The output explained is the one called or numbered `output`, else that with the largest value; `labels` are the
    model's classes in order, which give the index of an output that SHAP knows only by name. SHAP keeps pieces of the
    text, so the text is their concatenation, checked against `texts` if given. Some tokenizers cut inside a character
    and then SHAP repeats it: give `texts` and their `tokens`, as for a pair. Given the model's own `outputs` [n, C],
    the additivity error is recorded.
    """
    data, values, base = explanation.data, explanation.values, explanation.base_values
    names = explanation.output_names
    if len(data) and isinstance(data[0], str):  # one row of an explanation
        data, values, base = [data], [values], [base]
        outputs = None if outputs is None else [outputs]
    for what, given in (("texts", texts), ("tokens", tokens), ("ids", ids), ("outputs", outputs)):
        if given is not None and len(given) != len(data):
            raise InputError(f"{len(given)} {what} for an explanation of {len(data)} rows")
    if tokens is not None and texts is None:
        raise InputError("tokens were given without the texts they belong to; give both")
    out = []
    for row, pieces in enumerate(data):
        scores = _array(values[row], "SHAP values")
        scores = scores[:, None] if scores.ndim == 1 else scores
        if scores.ndim != 2 or len(scores) != len(pieces):
            raise InputError(f"SHAP values of shape {scores.shape} for {len(pieces)} pieces (row {row})")
        start = np.broadcast_to(_array(base if np.ndim(base) == 0 else base[row], "base values"), scores.shape[1:])
        total = start + scores.sum(0)
        column, target = _shap_target(total, names, output, labels)
        checks = {"base_value": float(start[column])}
        if outputs is not None:
            checks["additivity_error"] = float(abs(total[column] - _array(outputs[row], "outputs").reshape(-1)[column]))
        if tokens is not None and texts is not None:
            covered, parts = _tuple(texts[row]), tuple(tokens[row])
        else:
            covered, parts = _shap_tokens([str(piece) for piece in pieces], None if texts is None else texts[row], row)
        id = str(row) if ids is None else ids[row]
        made_by = Provenance(method, params or {}, model)
        out.append(Explanation(id, covered, parts, target, Scores(scores[:, column]), made_by, checks))
    return out


def _shap_target(total: FloatArray, names: Any, output: str | int | None, labels: Sequence[str]) -> tuple[int, Target]:
    """The column of the values that is explained, and what it is."""
    cut = isinstance(names, str)  # by explanation[:, :, "name"]: the column is alone, its index is lost
    known = [str(name) for name in ([names] if cut else range(len(total)) if names is None else names)]
    if len(known) != len(total):
        raise InputError(f"{len(known)} output names for {len(total)} outputs")
    column = 0 if cut else int(np.argmax(total))
    if isinstance(output, str):
        if output not in known:
            raise InputError(f"no output is called {output!r}; there are {', '.join(known)}")
        column = known.index(output)
    elif output is not None and not cut:
        if not 0 <= output < len(known):
            raise InputError(f"there is no output {output}; there are {len(known)}")
        column = output
    label = known[column]
    if labels and label not in labels:
        raise InputError(f"output {label!r} is none of the labels {', '.join(labels)}")
    index = column if not cut else output if isinstance(output, int) else -1
    return column, Target(list(labels).index(label) if labels else index, label, float(total[column]))


def _shap_tokens(
    pieces: Sequence[str], given: str | Sequence[str] | None, row: int
) -> tuple[tuple[str, ...], tuple[Token, ...]]:
    spelt, tokens = _laid_out([piece.encode() or None for piece in pieces], pieces)
    if given is None:
        return (spelt,), tokens
    texts = _tuple(given)
    place = texts[0].find(spelt) if len(texts) == 1 and texts[0].strip() == spelt.strip() else -1
    if place < 0:
        raise InputError(
            f"the pieces of SHAP spell {spelt!r:.200}, the text is {texts!r:.200} (row {row}); where a tokenizer cuts "
            "inside characters, and for pairs, give the tokens too: tokens=[tokens_of(tokenizer(text), text), …]"
        )
    return texts, tuple(t if t.special else Token(t.text, 0, t.start + place, t.end + place) for t in tokens)


def _laid_out(pieces: Sequence[bytes | None], names: Sequence[str], segment: int = 0) -> tuple[str, tuple[Token, ...]]:
    """The text that pieces of UTF-8 spell, and them as tokens of it; None is a special token.

    A piece may be a part of a character; it then lies on the whole of it.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = ""
    spans = []
    for piece in pieces:
        places = []
        for byte in piece or b"":
            text += decoder.decode(bytes((byte,)))
            unfinished = bool(decoder.getstate()[0])  # the byte belongs to a character that is still to come
            places.append(len(text) if unfinished else len(text) - 1)
        spans.append((places[0], places[-1] + 1) if places else (len(text), len(text)))
    text += decoder.decode(b"", final=True)
    return text, tuple(
        Token(name, SPECIAL, 0, 0) if piece is None else _token(text, segment, *span)
        for name, piece, span in zip(names, pieces, spans, strict=True)
    )


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
        scores = {side: _aggregated(array, how, axis=2) for side, array in raw.items()}
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
        return _array(values, "attributions")
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
    return _laid_out(pieces, names, segment)
