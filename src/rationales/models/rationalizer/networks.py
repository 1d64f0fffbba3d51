"""The two players: a selector, which says how much it wants each token, and a predictor, which sees what was chosen."""

from __future__ import annotations

from typing import TypeAlias

from torch import Tensor, nn

from rationales.models.rationalizer.encoders import GruEncoder, TransformerEncoder

Encoder: TypeAlias = GruEncoder | TransformerEncoder

NEVER = -1e6
"""What padding has in place of a state, so that no maximum is taken there."""


class Selector(nn.Module):
    """Logits for leaving a token out and for choosing it, [B, T, 2]."""

    def __init__(self, encoder: Encoder, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.LayerNorm(encoder.hidden), nn.Dropout(dropout), nn.Linear(encoder.hidden, 2))

    def forward(self, embeddings: Tensor, keep: Tensor) -> Tensor:
        return self.head(self.encoder(embeddings, keep))  # type: ignore[no-any-return]


class Predictor(nn.Module):
    """Logits of the classes [B, C] from the tokens that are shown; the largest state of each dimension counts."""

    def __init__(self, encoder: Encoder, labels: int, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(encoder.hidden, labels))

    def states(self, embeddings: Tensor, keep: Tensor, shown: Tensor | None) -> Tensor:
        """The pooled state, [B, hidden]."""
        states = self.encoder(embeddings, keep, shown).float()  # half precision has no number as low as NEVER
        pooled: Tensor = states.masked_fill(~keep.unsqueeze(-1), NEVER).amax(1)
        return pooled

    def forward(self, embeddings: Tensor, keep: Tensor, shown: Tensor | None = None) -> Tensor:
        return self.head(self.states(embeddings, keep, shown))  # type: ignore[no-any-return]
