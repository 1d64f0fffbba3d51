"""The user's model, borrowed: put into evaluation mode and frozen inside a `with` block, and given back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def borrowed(module: nn.Module) -> Iterator[None]:
    """Evaluation mode and no parameter gradients inside the block; modes and `requires_grad` come back after it.

    Beside an accelerator the processor only plans, in small pieces, and does that in one thread: to wake others for
    each piece takes longer than the piece.
    """
    threads = torch.get_num_threads()
    parts = list(module.modules())
    modes = [(part, part.training) for part in parts]
    own = {parameter for part in parts for parameter in part._parameters.values() if parameter is not None}
    beside = any(parameter.device.type != "cpu" for parameter in own)
    wanted = [(parameter, parameter.requires_grad) for parameter in own]
    try:
        if beside:
            torch.set_num_threads(1)
        for part, training in modes:
            if training:
                part.training = False
        for parameter, requires_grad in wanted:
            if requires_grad:
                parameter.requires_grad_(False)
        yield
    finally:
        if beside:
            torch.set_num_threads(threads)
        for part, training in modes:
            if part.training != training:
                part.training = training
        for parameter, requires_grad in wanted:
            if parameter.requires_grad != requires_grad:
                parameter.requires_grad_(requires_grad)
