"""Steps of training that are recorded once and replayed.

On short texts an accelerator waits for the processor, which launches thousands of small kernels one by one. A CUDA
graph launches all of a step, forward and backward, at once; there is one for each shape of the inputs. Where a model
cannot be recorded, because it looks at its own results on the way, steps are taken as before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

log = logging.getLogger(__name__)

Loss: TypeAlias = tuple[Tensor, dict[str, Tensor]]
"""A loss, and figures without a graph that are shown beside it."""


class _Recording(NamedTuple):
    graph: Any
    inputs: tuple[Tensor, ...]
    loss: Tensor
    figures: dict[str, Tensor]
    gradients: list[Tensor]
    places: list[int]  # which of the parameters have a gradient


def recordable(device: torch.device) -> bool:
    """Whether there are graphs on a device."""
    return device.type == "cuda"


class Replays:
    """Losses of a module, whose computation is recorded at the second call with inputs of the same shapes.

    The first is taken as it comes, so that whatever is set up at a first call is no part of a graph.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.parameters = [own for own in module.parameters() if own.requires_grad]
        self._known: dict[Hashable, _Recording | None] = {}
        self._gradients: list[Tensor] = []  # all graphs leave theirs here: each set is as large as the module
        self._pool: Any = None
        self._works = True

    def __call__(self, key: Hashable, compute: Callable[..., Loss], *inputs: Tensor) -> Loss:
        """`compute(*inputs)`; `key` tells apart what differs by more than the inputs."""
        own = (key, *(tuple(tensor.shape) for tensor in inputs))
        if not self._works or not recordable(inputs[0].device) or own not in self._known:
            self._known.setdefault(own, None)
            return compute(*inputs)
        recording = self._known[own]
        if recording is None:
            recording = self._recorded(compute, inputs)
            if recording is None:
                return compute(*inputs)
            self._known[own] = recording
        for fixed, tensor in zip(recording.inputs, inputs, strict=True):
            fixed.copy_(tensor)
        loss: Tensor = _Replay.apply(recording, *self.parameters)
        return loss, {name: tensor.clone() for name, tensor in recording.figures.items()}

    def _recorded(self, compute: Callable[..., Loss], inputs: tuple[Tensor, ...]) -> _Recording | None:
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
            self._gradients = [torch.empty_like(own) for own in self.parameters]
        fixed = tuple(tensor.clone() for tensor in inputs)
        chance = torch.cuda.default_generators[inputs[0].device.index]
        before = chance.get_state()
        graph = torch.cuda.CUDAGraph()
        try:
            with fresh_leaves(self.module), torch.cuda.graph(graph, pool=self._pool):  # one runs at a time
                loss, figures = compute(*fixed)
                leaves = [own for own in self.module.parameters() if own.requires_grad]
                found = torch.autograd.grad(loss, leaves, allow_unused=True)
                places = [place for place, gradient in enumerate(found) if gradient is not None]
                gradients = [self._gradients[place] for place in places]
                torch._foreach_copy_(gradients, [gradient for gradient in found if gradient is not None])
        except RuntimeError as error:
            cause = error.__context__ or error  # ending the recording fails too, and says less
            log.warning("steps cannot be recorded and are taken one by one: %s", str(cause).partition("\n")[0])
            self._works, self._gradients = False, []
            torch.cuda.synchronize()
            chance.graphsafe_set_state(torch.Generator(inputs[0].device).graphsafe_get_state())  # it is still recording
            chance.set_state(before)
            return None
        return _Recording(graph, fixed, loss.detach(), figures, gradients, places)


@contextmanager
def fresh_leaves(module: nn.Module) -> Iterator[None]:
    """Inside the block the parameters are others on the same memory, which no earlier loss knows.

    A loss that is still around ties its parameters to the stream it was computed in, and a step that is recorded in
    another must not wait for that one.
    """
    homes = [
        (part, name, own) for part in module.modules() for name, own in part._parameters.items() if own is not None
    ]
    others = {own: nn.Parameter(own.detach(), own.requires_grad) for _, _, own in homes}
    try:
        for part, name, own in homes:
            part._parameters[name] = others[own]
        yield
    finally:
        for part, name, own in homes:
            part._parameters[name] = own


class _Replay(torch.autograd.Function):
    """The loss of a recorded step, with the gradients that were computed with it."""

    @staticmethod
    def forward(ctx: Any, recording: _Recording, *parameters: Tensor) -> Tensor:
        recording.graph.replay()
        ctx.gradients = torch._foreach_mul(recording.gradients, 1.0)  # the next replay writes into the same memory
        ctx.places, ctx.number = recording.places, len(parameters)
        return recording.loss.clone()

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        scaled: list[Tensor | None] = [None] * ctx.number
        for place, gradient in zip(ctx.places, torch._foreach_mul(ctx.gradients, slopes[0]), strict=True):
            scaled[place] = gradient
        return None, *scaled
