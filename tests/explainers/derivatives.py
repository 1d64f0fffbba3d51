"""Second-order gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import tiny
from rationales.models import Batch, TransformersClassifier

Attribute = Callable[[TransformersClassifier, Batch, Tensor], Tensor]


def check_second_order(attribute: Attribute, kinds: tuple[str, ...] = ("bert", "gpt2", "distilbert")) -> None:
    """d/dθ of a weighted sum of the scores, along a random direction of all parameters at once."""
    for kind in kinds:
        model = tiny.classifier(kind, budget=60)  # several batches, so that the packer's graph is tested too
        model.model.double()
        batch, targets = model.encode([*tiny.singles()[:3], *tiny.pairs()[:1]]), torch.tensor([0, 1, 2, 0])
        draw = torch.Generator().manual_seed(0)
        weights = torch.randn(batch.ids.shape, generator=draw, dtype=torch.float64)
        parameters = list(model.model.parameters())
        way = [torch.randn(p.shape, generator=draw, dtype=torch.float64) for p in parameters]

        def loss() -> Tensor:
            return (weights * attribute(model, batch, targets)).sum()  # noqa: B023

        slopes = torch.autograd.grad(loss(), parameters, allow_unused=True)
        found = sum(float((s * v).sum()) for s, v in zip(slopes, way, strict=True) if s is not None)
        step, ends = 1e-6, []
        for sign in (1, -1):
            with torch.no_grad():
                for parameter, direction in zip(parameters, way, strict=True):
                    parameter += sign * step * direction
            ends.append(float(loss().detach()))
            with torch.no_grad():
                for parameter, direction in zip(parameters, way, strict=True):
                    parameter -= sign * step * direction
        assert abs(found) > 1e-2
        assert found == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5), kind
