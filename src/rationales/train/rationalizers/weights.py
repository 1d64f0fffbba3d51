"""Weights of many runs: drawn anew, copied, as kernels want them, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from rationales.models.rationalizer.encoders import GruEncoder
from rationales.models.rationalizer.recurrence import has_kernels
from rationales.models.rationalizer.words import SPECIAL
from rationales.train.rationalizers.game import Game

Weights: TypeAlias = dict[str, Tensor]


@contextmanager
def own_chance(seed: int) -> Iterator[None]:
    """Random numbers from the seed inside the block; the caller's go on after it."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


def new_weights(game: Game, seed: int) -> Weights:
    """All that learns, drawn anew from the seed."""
    with own_chance(seed), torch.no_grad():
        for module in game.modules():
            if any(parameter.requires_grad for parameter in module.parameters(recurse=False)):
                module.reset_parameters()  # type: ignore[operator]
        for module in game.modules():
            if isinstance(module, GruEncoder) and module.vectors.weight.requires_grad:
                module.vectors.weight[: len(SPECIAL)] = 0.0
        return {name: value.detach().clone() for name, value in game.named_parameters() if value.requires_grad}


def frozen(module: nn.Module) -> dict[int, nn.Parameter]:
    """What a copy shares with the original."""
    return {id(parameter): parameter for parameter in module.parameters() if not parameter.requires_grad}


def compact_words(networks: nn.Module) -> None:
    """Where there are kernels, have frozen word vectors as these want them: of half precision, and a round size."""
    for module in networks.modules():
        if isinstance(module, GruEncoder) and not module.vectors.weight.requires_grad:
            weight = module.vectors.weight
            if has_kernels(weight.device) and weight.dtype != torch.float16:
                compact = pad(weight, (0, -weight.shape[1] % 8)).half()
                module.vectors.weight = nn.Parameter(compact, requires_grad=False)


def tamed(gradient: Tensor, clip: float) -> Tensor:
    """The gradient of each run, [R, P], not longer than `clip` (0: any); zero where it is no number."""
    norm = gradient.norm(dim=1, keepdim=True)
    gradient = torch.where(norm.isfinite(), gradient, 0.0)
    return gradient * (clip / norm.nan_to_num(0.0, 0.0)).clamp(max=1.0) if clip else gradient
