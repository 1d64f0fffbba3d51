"""What reads the tokens: a bidirectional GRU on word vectors, or any encoder of Transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedModel

Masking: TypeAlias = Literal["output", "words"]


class BiGru(nn.Module):
    """A GRU in both directions, [B, T, d] → [B, T, hidden].

    The second direction reads each text from its own last token: what it says of a text does not depend on the padding,
    and no lengths have to be known to the processor.
    """

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.onward = nn.GRU(size, hidden // 2, batch_first=True)
        self.backward_ = nn.GRU(size, hidden // 2, batch_first=True)

    def forward(self, inputs: Tensor, keep: Tensor) -> Tensor:
        onward, _ = self.onward(inputs)
        turned = _turned(keep)
        back, _ = self.backward_(_taken(inputs, turned))
        return torch.cat([onward, _taken(back, turned)], -1)


def _turned(keep: Tensor) -> Tensor:
    """The columns of each text from its last token to its first, then its padding, [B, T]."""
    columns = torch.arange(keep.shape[1], device=keep.device).expand_as(keep)
    last = keep.sum(-1, keepdim=True) - 1
    return torch.where(keep, last - columns, columns)


def _taken(values: Tensor, columns: Tensor) -> Tensor:
    return values.gather(1, columns.unsqueeze(-1).expand(-1, -1, values.shape[-1]))


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
        inputs = embeddings * keep.unsqueeze(-1)
        return self.rnn(inputs if shown is None else inputs * shown.unsqueeze(-1), keep)  # type: ignore[no-any-return]


class TransformerEncoder(nn.Module):
    """An encoder of Transformers, whose tokens are hidden by multiplying what enters its first layer by zero.

    `masking="output"` multiplies the output of the embedding layer, positions included; `"words"` the word embeddings
    alone, and so do encoders that have no such layer.
    """

    def __init__(self, encoder: PreTrainedModel, masking: Masking = "output") -> None:
        super().__init__()
        self.encoder = encoder
        layer = getattr(encoder, "embeddings", None)
        self._layer = [layer] if masking == "output" and isinstance(layer, nn.Module) else []
        self.hidden = int(encoder.config.hidden_size)

    @classmethod
    def from_config(cls, config: dict[str, Any], masking: Masking) -> TransformerEncoder:
        """With new weights, for those of a file to be put in."""
        own = AutoConfig.for_model(**config)
        return cls(AutoModel.from_config(own), masking)

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
