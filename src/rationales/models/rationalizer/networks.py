"""The two players: a selector, which says how much it wants each token, and a predictor, which sees what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from rationales.models.rationalizer.encoders import NEVER, GruEncoder, TransformerEncoder
from rationales.models.rationalizer.scoring import scores

Encoder: TypeAlias = GruEncoder | TransformerEncoder
Pooling: TypeAlias = Literal["max", "first", "attention"]


class Selector(nn.Module):
    """Logits for leaving a token out and for choosing it, [B, T, 2]."""

    def __init__(self, encoder: Encoder, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.LayerNorm(encoder.hidden), nn.Dropout(dropout), nn.Linear(encoder.hidden, 2))

    def forward(self, embeddings: Tensor, keep: Tensor) -> Tensor:
        encoder = self.encoder
        if isinstance(encoder, GruEncoder) and encoder.rnn.fused(embeddings) and isinstance(self.head[-1], nn.Linear):
            return scores(self.head, encoder.rnn.padded_states(encoder.inputs(embeddings, keep), keep)).transpose(0, 1)
        return self.head(encoder(embeddings, keep))  # type: ignore[no-any-return]


class Predictor(nn.Module):
    """Logits of the classes [B, C] from the tokens that are shown, by what its encoder makes of all of them.

    With `attention`, which gives the logits of a selector for states, the mean of the states counts, weighted by how
    much each is wanted.
    """

    def __init__(self, encoder: Encoder, labels: int, dropout: float, attention: nn.Module | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.attention = attention
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(encoder.hidden, labels))

    def states(self, embeddings: Tensor, keep: Tensor, shown: Tensor | None) -> Tensor:
        """The pooled state, [B, hidden]."""
        if self.attention is None:
            return self.encoder.pooled(embeddings, keep, shown)
        states = self.encoder(embeddings, keep, shown).float()  # half precision has no number as low as NEVER
        wanted = self.attention(states)
        weights = (wanted[..., 1] - wanted[..., 0]).float().masked_fill(~keep, NEVER).softmax(-1)
        mean: Tensor = (weights.unsqueeze(-1) * states).sum(1)
        return mean

    def forward(self, embeddings: Tensor, keep: Tensor, shown: Tensor | None = None) -> Tensor:
        return self.head(self.states(embeddings, keep, shown))  # type: ignore[no-any-return]


class Adjusted(nn.Module):
    """A linear layer on a state h and on what prototypes c of the classes say of it: W [h; Σ_k P(k) a_k c_k].

    a = softmax(h · c), or softmax(h · V c) where `mapped`; P(k) are `priors`. It takes the place of averaging what the
    layer says over all classes that the text could be of (backdoor adjustment). Yue et al. (2023).
    """

    priors: Tensor

    def __init__(self, prototypes: nn.Parameter, priors: Sequence[float], outputs: int, *, mapped: bool) -> None:
        super().__init__()
        hidden = prototypes.shape[-1]
        self.prototypes = prototypes
        self.mapping = nn.Linear(hidden, hidden) if mapped else nn.Identity()
        self.layer = nn.Linear(2 * hidden, outputs)
        self.register_buffer("priors", torch.tensor(tuple(priors)), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the prototypes anew; the layers do so themselves."""
        nn.init.normal_(self.prototypes, std=0.1)

    def forward(self, states: Tensor) -> Tensor:
        likely = (states @ self.mapping(self.prototypes).mT).softmax(-1) * self.priors
        return self.layer(torch.cat([states, likely @ self.prototypes], -1))  # type: ignore[no-any-return]
