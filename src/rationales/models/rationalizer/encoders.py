"""What reads the tokens: a bidirectional GRU on word vectors, or any encoder of Transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.backends import cudnn
from torch.nn.functional import linear, pad
from transformers import AutoConfig, AutoModel, PreTrainedModel

from rationales.models.rationalizer.recurrence import has_kernels, pooled_recurrence, recurrence
from rationales.models.turning import taken, turned_columns

Masking: TypeAlias = Literal["output", "words"]

NEVER = -1e6
"""What padding has in place of a state, so that no maximum is taken there."""


class BiGru(nn.Module):
    """A GRU in both directions, [B, T, d] → [B, T, hidden].

    The second direction reads each text from its own last token: what it says of a text does not depend on the padding,
    and no lengths have to be known to the processor.

    Where `stackable` is set, the same is computed by a recurrence that many stacked networks can share; on an
    accelerator it multiplies numbers of half precision.
    """

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.onward = nn.GRU(size, hidden // 2, batch_first=True)
        self.backward_ = nn.GRU(size, hidden // 2, batch_first=True)
        self.stackable = False

    def forward(self, inputs: Tensor, keep: Tensor) -> Tensor:
        if self.stackable:
            return self._stackable(inputs, keep)
        turned = turned_columns(keep)
        with _cudnn(self.training or not torch.is_grad_enabled()):  # it has no way back from evaluation
            onward, _ = self.onward(inputs)
            back, _ = self.backward_(taken(inputs, turned))
        return torch.cat([onward, taken(back, turned)], -1)

    def _stackable(self, inputs: Tensor, keep: Tensor) -> Tensor:
        states = self.padded_states(inputs, keep)[..., : self.onward.hidden_size]
        return states.flatten(2).transpose(0, 1).float()

    def padded_states(self, inputs: Tensor, keep: Tensor) -> Tensor:
        """States by time, [T, B, 2, h]; where there are kernels, h is the hidden size rounded up to one they like."""
        return recurrence(*self._prepared(inputs), keep.sum(-1))

    def pooled(self, inputs: Tensor, keep: Tensor) -> Tensor:
        """The largest state of each unit, [B, hidden]."""
        if self.fused(inputs):
            largest = pooled_recurrence(*self._prepared(inputs), keep.sum(-1))
            return largest[..., : self.onward.hidden_size].flatten(1)
        return _largest(self(inputs, keep), keep)

    def fused(self, inputs: Tensor) -> bool:
        """Whether kernels do the work."""
        return self.stackable and has_kernels(inputs.device)

    def _prepared(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gates, weights and biases of the recurrence."""
        dtype, round_to = (torch.float16, 8) if self.fused(inputs) else (inputs.dtype, 1)
        hidden, size = self.onward.hidden_size, inputs.shape[-1]
        more = -hidden % round_to
        both = [_weights(gru) for gru in (self.onward, self.backward_)]
        into, among, bias = (torch.stack([weights[part] for weights in both]) for part in range(3))
        into = pad(into, (0, size - into.shape[-1], 0, more)).to(dtype)  # [2, 3, h, d]
        among, bias = pad(among, (0, more, 0, more)), pad(bias, (0, more))
        gates = linear(inputs.transpose(0, 1).to(dtype), into.flatten(0, 2)).unflatten(-1, (2, -1))
        return gates, among.flatten(1, 2), bias.flatten(1)


def _weights(gru: nn.GRU) -> tuple[Tensor, Tensor, Tensor]:
    """The weights as the recurrence knows them: for inputs [3, h, d], for states [3, h, h], and the biases [4, h]."""
    into, among, on_inputs, on_states = (part.unflatten(0, (3, -1)) for part in gru.all_weights[0])
    bias = torch.cat([on_inputs[:2] + on_states[:2], on_inputs[2:], on_states[2:]])
    return into, among, bias


def _cudnn(enabled: bool) -> AbstractContextManager[None]:
    """cuDNN or not, its other settings left as they are."""
    kept = {"benchmark": cudnn.benchmark, "deterministic": cudnn.deterministic, "allow_tf32": cudnn.allow_tf32}
    return cudnn.flags(enabled=enabled and cudnn.enabled, **kept)


def _largest(states: Tensor, keep: Tensor) -> Tensor:
    """Of each dimension over the tokens of a text, [B, hidden]."""
    fine = states.float()  # half precision has no number as low as NEVER
    return fine.masked_fill(~keep.unsqueeze(-1), NEVER).amax(1)


class GruEncoder(nn.Module):
    """A GRU on word vectors. Those of padding and of unknown words are zero."""

    def __init__(self, words: int, size: int, hidden: int, *, freeze: bool) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, size)
        self.vectors.weight.requires_grad_(not freeze)
        self.rnn = BiGru(size, hidden)
        self.hidden = hidden

    def share_words(self, other: GruEncoder | TransformerEncoder) -> None:
        """Read the same word vectors as another."""
        assert isinstance(other, GruEncoder)
        self.vectors = other.vectors

    def embed(self, ids: Tensor) -> Tensor:
        """Word vectors, [B, T, d]."""
        return self.vectors(ids)  # type: ignore[no-any-return]

    def forward(self, embeddings: Tensor, keep: Tensor, shown: Tensor | None = None) -> Tensor:
        """States [B, T, hidden]; `shown` [B, T] multiplies what is read of each token."""
        return self.rnn(self.inputs(embeddings, keep, shown), keep)  # type: ignore[no-any-return]

    def pooled(self, embeddings: Tensor, keep: Tensor, shown: Tensor | None = None) -> Tensor:
        """The largest state of each dimension, [B, hidden]."""
        return self.rnn.pooled(self.inputs(embeddings, keep, shown), keep)

    def inputs(self, embeddings: Tensor, keep: Tensor, shown: Tensor | None = None) -> Tensor:
        """What the GRU reads, [B, T, d]."""
        seen = embeddings if self.rnn.stackable else embeddings * keep.unsqueeze(-1)  # the recurrence knows lengths
        return seen if shown is None else seen * shown.unsqueeze(-1)


class TransformerEncoder(nn.Module):
    """An encoder of Transformers, whose tokens are hidden by multiplying what enters its first layer by zero.

    `masking="output"` multiplies the output of the embedding layer, positions included; `"words"` the word embeddings
    alone, and so do encoders that have no such layer. With `first`, a text comes to the state of its first token, a
    special one, as in most classifiers of Transformers; otherwise to the largest state of each dimension.
    """

    def __init__(self, encoder: PreTrainedModel, masking: Masking = "output", *, first: bool = False) -> None:
        super().__init__()
        self.first = first
        self.encoder = encoder
        layer = getattr(encoder, "embeddings", None)
        self._layer = [layer] if masking == "output" and isinstance(layer, nn.Module) else []
        self.hidden = int(encoder.config.hidden_size)

    @classmethod
    def from_config(cls, config: dict[str, Any], masking: Masking, *, first: bool) -> TransformerEncoder:
        """With new weights, for those of a file to be put in."""
        own = AutoConfig.for_model(**config)
        return cls(AutoModel.from_config(own), masking, first=first)

    def share_words(self, other: GruEncoder | TransformerEncoder) -> None:
        """Read the same word embeddings as another; they are not trained, since neither could own them."""
        assert isinstance(other, TransformerEncoder)
        words = other.encoder.get_input_embeddings()
        words.requires_grad_(False)
        self.encoder.set_input_embeddings(words)

    def embed(self, ids: Tensor) -> Tensor:
        """Word embeddings, [B, T, d]."""
        return self.encoder.get_input_embeddings()(ids)  # type: ignore[no-any-return]

    def forward(self, embeddings: Tensor, keep: Tensor, shown: Tensor | None = None) -> Tensor:
        """States [B, T, hidden]; `shown` [B, T] multiplies what is read of each token."""
        if shown is not None and not self._layer:
            embeddings, shown = embeddings * shown.unsqueeze(-1), None
        with self._hiding(shown):
            return self.encoder(inputs_embeds=embeddings, attention_mask=keep.long()).last_hidden_state  # type: ignore[no-any-return]

    def pooled(self, embeddings: Tensor, keep: Tensor, shown: Tensor | None = None) -> Tensor:
        """What a text comes to, [B, hidden]."""
        states = self(embeddings, keep, shown)
        return states[:, 0].float() if self.first else _largest(states, keep)

    @contextmanager
    def _hiding(self, shown: Tensor | None) -> Iterator[None]:
        if shown is None:
            yield
            return

        def multiply(_module: nn.Module, _given: Any, output: Tensor) -> Tensor:
            return output * shown.unsqueeze(-1)

        handle = self._layer[0].register_forward_hook(multiply)
        try:
            yield
        finally:
            handle.remove()
