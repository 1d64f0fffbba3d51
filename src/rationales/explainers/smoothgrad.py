"""The gradient, averaged over noisy copies of the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from rationales.errors import InputError
from rationales.explainers.base import Attribution, Explainer, explainers
from rationales.explainers.gradient import Norm, embedding_gradient, reduced
from rationales.models import Batch, Differentiable, over
from rationales.registry import option


def smoothgrad(
    model: Differentiable, batch: Batch, targets: Tensor, *, samples: int, noise: float, norm: Norm, seed: int
) -> tuple[Tensor, Tensor]:
    """Mean of `gradient` over noisy embeddings and its standard error, [B, T] each."""
    rows = torch.arange(len(batch)).repeat_interleave(samples)
    seeds = [int(generator.integers(2**63)) for generator in batch.generators(seed)]

    def jitter(number: int, shape: tuple[int, int]) -> Tensor:
        generator = np.random.default_rng([seeds[number // samples], number % samples])
        return torch.from_numpy(generator.standard_normal(shape, dtype=np.float32))

    def compute(part: Batch, numbers: Tensor) -> Tensor:
        embeddings = model.embed(part)
        shift = torch.zeros(embeddings.shape)
        for place, (number, keep) in enumerate(zip(numbers.tolist(), part.keep.cpu(), strict=True)):
            shift[place, keep] = jitter(number, (int(keep.sum()), embeddings.shape[-1]))
        point = embeddings + noise * _deviation(embeddings, part.keep) * shift.to(embeddings)
        return reduced(embedding_gradient(model, part, targets[numbers // samples], point), norm)

    drawn = over(model, batch, rows, compute, tokens=True).view(len(batch), samples, -1)
    return drawn.mean(1), drawn.std(1) / samples**0.5


def _deviation(embeddings: Tensor, keep: Tensor) -> Tensor:
    """Standard deviation of each text's embedding values, [n, 1, 1]: the unit of the noise."""
    weight = keep.unsqueeze(-1).to(embeddings)
    count = (weight.sum((1, 2), keepdim=True) * embeddings.shape[-1]).clamp(min=1)
    mean = (embeddings * weight).sum((1, 2), keepdim=True) / count
    return (((embeddings - mean) * weight).square().sum((1, 2), keepdim=True) / count).sqrt()


@explainers("smoothgrad")
@dataclass(frozen=True)
class SmoothGrad(Explainer):
    """The gradient averaged over noisy copies of the input (`samples` forward and backward passes).

    s_i = 1/n Σ_k ‖∂f_y/∂e_i at e + ε_k‖₂ with ε_k ~ N(0, (noise · sd(e))²). Records its standard error. Smilkov et
    al. (2017).
    """

    samples: int = option(25, "noisy copies per text")
    noise: float = option(0.15, "noise in units of the standard deviation of the text's embedding values")
    norm: Norm = option("l2", "how the d partial derivatives of a token become one number")
    seed: int = option(0, "seed of the noise")
    needs: ClassVar[type] = Differentiable

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise < 0:
            raise InputError(f"noise must not be negative, got {self.noise}")
        if self.samples < 2:
            raise InputError(f"samples must be at least 2, got {self.samples}: one has no standard error")

    def attribute(self, model: Differentiable, batch: Batch, targets: Tensor) -> Attribution:  # type: ignore[override]
        mean, error = smoothgrad(
            model, batch, targets, samples=self.samples, noise=self.noise, norm=self.norm, seed=self.seed
        )
        return Attribution(mean, error)
