"""The explanations of Captum and SHAP as ours, and what readers of other tools share. Neither needs to be installed.

Captum gives bare numbers, so the tokens come from the caller (`tokens_of` reads them off a tokenizer's encoding). SHAP
gives pieces of the text, whose places are found by spelling the text out again. Scores stay as the tool gave them; only
dimensions beyond the token are aggregated, and the parameters say how.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from rationales.errors import InputError
from rationales.explanation.types import SPECIAL, Explanation, FloatArray, Provenance, Scores, Target, Token

Aggregate: TypeAlias = Literal["sum", "l2", "mean"]
"""How the dimensions of an embedding, or layers and heads, become one number."""


def as_array(values: Any, what: str) -> FloatArray:
    """A tensor, an array or a list as an array; `what` names it in the error."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.double() if hasattr(values, "double") else values  # NumPy has no bfloat16
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers of one shape, got {type(values).__name__}: {error}") from error


def aggregated(values: FloatArray, how: Aggregate, axis: int) -> FloatArray:
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
    values = as_array(attributions, "attributions")
    kept = None if keep is None else as_array(keep, "keep").astype(bool).reshape(-1)
    size = len(tokens) if kept is None else len(kept)
    if values.ndim > 1 and len(values) == 1 and (values.ndim > 2 or values.shape[1] == size != 1):
        values = values[0]
    if values.ndim not in (1, 2) or len(values) != size:
        what = "tokens" if kept is None else "values of keep"
        raise InputError(
            f"{len(values) if values.ndim else 1} attributions, of shape {values.shape}, for {size} {what}; "
            "one text is wanted, [T] or [T, d] with T the number of tokens, special ones included"
        )
    scores = aggregated(values, aggregate, axis=1)
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
        scores = as_array(values[row], "SHAP values")
        scores = scores[:, None] if scores.ndim == 1 else scores
        if scores.ndim != 2 or len(scores) != len(pieces):
            raise InputError(f"SHAP values of shape {scores.shape} for {len(pieces)} pieces (row {row})")
        start = np.broadcast_to(as_array(base if np.ndim(base) == 0 else base[row], "base values"), scores.shape[1:])
        total = start + scores.sum(0)
        column, target = _shap_target(total, names, output, labels)
        checks = {"base_value": float(start[column])}
        if outputs is not None:
            own = as_array(outputs[row], "outputs").reshape(-1)[column]
            checks["additivity_error"] = float(abs(total[column] - own))
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
    spelt, tokens = laid_out([piece.encode() or None for piece in pieces], pieces)
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


def laid_out(pieces: Sequence[bytes | None], names: Sequence[str], segment: int = 0) -> tuple[str, tuple[Token, ...]]:
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
