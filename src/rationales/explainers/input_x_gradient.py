"""Word embedding times gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from rationales.explainers.base import Explainer, explainers
from rationales.explainers.gradient import embedding_gradient
from rationales.models import Batch, Differentiable, over_rows
from rationales.registry import option


def input_x_gradient(
    model: Differentiable,
    batch: Batch,
    targets: Tensor,
    *,
    aggregate: Literal["sum", "l2"] = "sum",
    create_graph: bool = False,
) -> Tensor:
    """e_i · ∂f_y/∂e_i summed over dimensions, or its ℓ2 norm, [B, T]."""

    def compute(part: Batch, rows: Tensor) -> Tensor:
        embeddings = model.embed(part)
        slopes = embedding_gradient(model, part, targets[rows], embeddings, create_graph=create_graph)
        product = (embeddings if create_graph else embeddings.detach()) * slopes
        return product.norm(dim=-1) if aggregate == "l2" else product.sum(-1)

    return over_rows(model, batch, compute, tokens=True)


@explainers("input_x_gradient")
@dataclass(frozen=True)
class InputXGradient(Explainer):
    """Embedding times gradient: the first-order effect of setting it to zero (one forward, one backward pass).

    s_i = Σ_d e_id · ∂f_y/∂e_id, signed; or the ℓ2 norm of the product. Denil et al. (2015), Shrikumar et al. (2016).
    """

    aggregate: Literal["sum", "l2"] = option("sum", "signed sum over dimensions, or ℓ2 norm")
    needs: ClassVar[type] = Differentiable

    def attribute(self, model: Differentiable, batch: Batch, targets: Tensor) -> Tensor:  # type: ignore[override]
        return input_x_gradient(model, batch, targets, aggregate=self.aggregate)
