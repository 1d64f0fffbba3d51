"""Steps of training that are recorded once and replayed.

On short texts an accelerator waits for the processor, which launches thousands of small kernels one by one. A CUDA
graph launches all of a step, forward and backward, at once; there is one for each shape of the inputs. Where a model
cannot be recorded, because it looks at its own results on the way, steps are taken as before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

log = logging.getLogger(__name__)

T = TypeVar("T")
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
        self.parameters = _learning(module)
        self._known: dict[Hashable, _Recording | None] = {}
        self._gradients: list[Tensor] = []  # all graphs leave theirs here: each set is as large as the module
        self._recorder: Recorder | None = None
        self._works = not any(isinstance(part, nn.RNNBase) for part in module.modules())  # they keep their own lists

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
        fixed = tuple(tensor.clone() for tensor in inputs)
        if self._recorder is None:
            self._recorder = Recorder(inputs[0].device)
            self._gradients = [torch.empty_like(own) for own in self.parameters]

        def run() -> tuple[Tensor, dict[str, Tensor], list[int]]:
            with fresh_leaves(self.module):
                loss, figures = compute(*fixed)
                found = torch.autograd.grad(loss, _learning(self.module), allow_unused=True)
            places = [place for place, gradient in enumerate(found) if gradient is not None]
            new = [gradient for gradient in found if gradient is not None]
            torch._foreach_copy_([self._gradients[place] for place in places], new)
            return loss.detach(), figures, places

        try:
            graph, (loss, figures, places) = self._recorder.record(run)
        except RuntimeError as error:
            cause = error.__context__ or error  # ending the recording fails too, and says less
            log.warning("steps cannot be recorded and are taken one by one: %s", str(cause).partition("\n")[0])
            self._works, self._recorder = False, None
            self._known.clear()
            self._gradients.clear()
            return None
        return _Recording(graph, fixed, loss, figures, [self._gradients[place] for place in places], places)


def _learning(module: nn.Module) -> list[nn.Parameter]:
    return [own for own in module.parameters() if own.requires_grad]


class Recorder:
    """Records CUDA graphs, of which one is replayed at a time, so that they share their memory."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.pool = device, torch.cuda.graph_pool_handle()

    def record(self, run: Callable[[], T]) -> tuple[Any, T]:
        """A graph of what `run` does, and what it gives: tensors that each replay fills anew.

        Fails with a RuntimeError where something in it cannot be recorded, and leaves no trace of that.
        """
        stream = torch.cuda.current_stream(self.device)
        chance = torch.cuda.default_generators[stream.device_index]
        before = chance.get_state()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self.pool):
                return graph, run()
        except RuntimeError:
            torch.cuda.set_stream(stream)  # where the end of a recording fails, PyTorch leaves these as they are
            torch.cuda.synchronize(self.device)
            with suppress(RuntimeError, AttributeError):  # of its versions, some do and some do not
                torch._C._cuda_endAllocateToPool(stream.device_index, self.pool)
            chance.graphsafe_set_state(torch.Generator(self.device).graphsafe_get_state())
            chance.set_state(before)
            raise


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
