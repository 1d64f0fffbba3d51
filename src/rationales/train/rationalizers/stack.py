"""Many runs of a game at once, in one process: several seeds, settings and data sets.

A rationalizer on word vectors is so small that an accelerator spends its time waiting. Here the weights of all runs are
stacked, one step is taken for all of them together (`torch.func.vmap` over the game), and nothing is read back: on CUDA
the steps are replayed as graphs, one for each width of a batch. The runs share words, networks and texts per step; they
differ in their seeds and data, in the numbers of their configs (`Game.numbers`), and in their learning rates.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from rationales.errors import InputError, ModelError
from rationales.models import Batch
from rationales.models.rationalizer import Rationalizer
from rationales.models.rationalizer.encoders import BiGru, TransformerEncoder
from rationales.train.labels import Part, Task
from rationales.train.rationalizers.game import (
    Game,
    GameConfig,
    Played,
    Table,
    is_predictors,
    placed_parameters,
    rationalizers,
)
from rationales.train.rationalizers.members import Member, Rows, Stream, steps
from rationales.train.rationalizers.regularisers import standing
from rationales.train.rationalizers.training import answers, new_model, table_of
from rationales.train.rationalizers.weights import Weights, compact_words, frozen, new_weights, own_chance, tamed

_BETAS, _EPSILON = (0.9, 0.999), 1e-8
_SCALE = 1024.0
"""Times the loss, so that gradients of half precision do not vanish."""


@dataclass
class Curve:
    """What became of one run: after each evaluation, the number of updates and what was reached."""

    updates: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    drawn: list[float] = field(default_factory=list)  # share of the training tokens that were chosen by chance
    accuracy: list[float] = field(default_factory=list)  # on dev, every class counting the same
    chosen: list[float] = field(default_factory=list)  # share of the dev tokens that are likelier chosen than not
    wanted: float | None = None  # share of the tokens
    narrowing: int = 0

    @property
    def best(self) -> int:
        """The evaluation with the best dev accuracy, among those whose choice ranks highest: see `standing`."""

        def key(number: int) -> tuple[int, float, float, int]:
            rank, nearness = 0, 0.0
            if self.wanted is not None:
                rank, nearness = standing(self.chosen[number], self.wanted, self.updates[number], self.narrowing)
            return rank, self.accuracy[number], nearness, -number

        return max(range(len(self.updates)), key=key)


def stacked(
    method: str, runs: Sequence[tuple[Task, GameConfig]], *, balance: bool = False, device: torch.device | str = "cpu"
) -> Stack:
    """Runs of a variant, each on its own task, ready to be trained together; their words are those of all tasks."""
    tasks = list({id(task): task for task, _ in runs}.values())
    if any(task.names != tasks[0].names for task in tasks):
        raise InputError("runs that are trained together must tell the same classes apart")
    if not all(_alike(_own_architecture(*run), _own_architecture(*runs[0])) for run in runs):
        raise InputError("runs that are trained together must have the same networks; these differ by their options")
    joined = Task(tasks[0].names, _joined([task.train for task in tasks]), _joined([task.dev for task in tasks]))
    with own_chance(runs[0][1].seed):
        model = new_model(method, runs[0][1], joined)
    model.networks.to(device)
    members = []
    for task, config in runs:
        before = tasks[: next(number for number, other in enumerate(tasks) if other is task)]
        train, dev = (
            np.arange(len(part.examples)) + sum(len(other.examples) for other in others)
            for part, others in (
                (task.train, [some.train for some in before]),
                (task.dev, [some.dev for some in before]),
            )
        )
        members.append(Member(config, train, dev, balance, float(_own_architecture(task, config).get("post_hoc", 0.0))))
    tables = {
        what: table_of(model, part, what, warn=True) for what, part in (("training", joined.train), ("dev", joined.dev))
    }
    return Stack(method, model, members, train=tables["training"], dev=tables["dev"])


class Stack:
    """Runs that are trained together.

    Args:
        method: the variant that all play.
        model: what the runs share: words, tokenizer, architecture. Its weights are left as they are.
        members: the runs.
        train: texts of all of them.
        dev: likewise.
    """

    def __init__(
        self, method: str, model: Rationalizer, members: Sequence[Member], *, train: Table, dev: Table
    ) -> None:
        configs = [member.config for member in members]
        _check_alike(configs, rationalizers[method].numbers)
        self.method, self.members, self.table, self.dev = method, list(members), train, dev
        post_hoc = model.architecture.post_hoc
        self.curves = [
            Curve(wanted=None if post_hoc else config.sparsity, narrowing=config.narrowing) for config in configs
        ]
        self.config = next((config for config in configs if config.perturb), configs[0])
        self._template = model.networks
        self.model = copy.copy(model)
        self.model.networks = copy.deepcopy(model.networks, frozen(model.networks))
        compact_words(self.model.networks)
        with own_chance(configs[0].seed):
            self.game: Game = rationalizers[method](self.model, train, self.config).to(model.device)
        for module in self.game.modules():
            if isinstance(module, TransformerEncoder):
                raise InputError("only networks on word vectors can be trained together; train others one by one")
            if isinstance(module, BiGru):
                module.stackable = True
        self._asked = _Answering(self.game)

        names = {id(parameter): name for name, parameter in self.game.named_parameters() if parameter.requires_grad}
        self._places = {place: names[id(some)] for place, some in placed_parameters(self.game) if id(some) in names}
        drawn = [new_weights(self.game, config.seed) for config in configs]
        self._shapes = {name: value.shape for name, value in drawn[0].items()}
        self._flat = torch.stack([torch.cat([value.flatten() for value in some.values()]) for some in drawn])
        self._best, self._moments = self._flat.clone(), (torch.zeros_like(self._flat), torch.zeros_like(self._flat))
        self._weights = self._named(self._flat)
        self._numbers = {**self._statistics(), **{name: self._each(name) for name in self.game.numbers}}
        self._rates = self._each("learning_rate")[:, None] * self._paces()
        self._count = torch.zeros((), device=model.device)
        self._told = torch.zeros(2, len(members), device=model.device)  # sums of losses and of shares
        self._rows = torch.zeros(len(members), self.config.batch_size, dtype=torch.int64, device=model.device)
        self._steps: dict[int, Callable[[], None]] = {}
        self._pool = torch.cuda.graph_pool_handle() if model.device.type == "cuda" else None
        self._done = 0
        self._seed = int(np.random.SeedSequence([config.seed for config in configs]).generate_state(1)[0])
        self._planned = steps([Stream(member, train) for member in members], train, self.config.batch_size, self._seed)

    def train(self, updates: int, *, every: int, report: Callable[[int], None] | None = None) -> None:
        """Take so many steps more; after `every` of them measure on dev, keep the best weights, and report."""
        if updates < 1 or every < 1:
            raise InputError(f"updates and every must be at least 1, got {updates} and {every}")
        since, last = 0, self._done + updates
        with own_chance(self._seed + self._done), _in_memory(len(self.members)):
            for width, rows in islice(self._planned, updates):
                self._rows.copy_(rows)
                self._step(width)
                self._done, since = self._done + 1, since + 1
                if since == every or self._done == last:
                    self._evaluate(self._done, since)
                    since = 0
                    if report is not None:
                        report(self._done)

    def trained(self, number: int) -> Rationalizer:
        """The run of this number, with its best weights."""
        return self._model(self._best, number)

    def present(self, number: int) -> Rationalizer:
        """The run of this number as it is now, to look at while it is trained."""
        return self._model(self._flat, number)

    def _model(self, flat: Tensor, number: int) -> Rationalizer:
        """A run with its own of all runs' weights [R, P]; what it did not train is as it was given."""
        config, weights = self.members[number].config, self._named(flat)
        networks = copy.deepcopy(self._template, frozen(self._template))
        for name, parameter in networks.named_parameters():
            if f"networks.{name}" in weights:
                parameter.data = weights[f"networks.{name}"][number].clone()
        for module in networks.modules():
            if isinstance(module, nn.GRU):
                module.flatten_parameters()
        params = {name: value for name, value in vars(config).items() if name not in ("out", "overwrite")}
        return Rationalizer(
            networks.eval(),
            self.model.tokenizer,
            replace(self.model.architecture, post_hoc=self.members[number].post_hoc),
            name=str(config.out),
            method=self.method,
            params=params,
        )

    def _statistics(self) -> Weights:
        """The buffers of each run's game, [R, …]: what variants know of the training data as a whole, its own."""
        found: dict[bytes, Weights] = {}
        for member in self.members:
            key = member.train.tobytes()
            if key not in found:
                with own_chance(0):
                    game = rationalizers[self.method](self.model, self.table.part(member.train), self.config)
                found[key] = dict(game.to(self.model.device).named_buffers())
        own = [found[member.train.tobytes()] for member in self.members]
        return {name: torch.stack([some[name] for some in own]) for name in own[0]}

    def _each(self, name: str) -> Tensor:
        """A number of each run's config, [R]."""
        values = [float(getattr(member.config, name)) for member in self.members]
        return torch.tensor(values, device=self.model.device)

    def _paces(self) -> Tensor:
        """Learning rates of the weights as shares of those of their runs, [P], or [1] where all learn alike."""
        slower = self.config.predictor_rate
        if slower == 1:
            return torch.ones(1, device=self.model.device)
        paces = [torch.full(shape, slower if is_predictors(name) else 1.0) for name, shape in self._shapes.items()]
        return torch.cat([pace.flatten() for pace in paces]).to(self.model.device)

    def _named(self, flat: Tensor) -> Weights:
        """Views by name, [R, …], of all runs' weights [R, P]."""
        parts = flat.split([shape.numel() for shape in self._shapes.values()], 1)
        return {name: part.view(-1, *shape) for part, (name, shape) in zip(parts, self._shapes.items(), strict=True)}

    def _everywhere(self, weights: Weights) -> Weights:
        """The weights at all places where they are used."""
        return {place: weights[name] for place, name in self._places.items()}

    # One step

    def _step(self, width: int) -> None:
        if width not in self._steps:
            self._steps[width] = self._prepared(width)
        self._steps[width]()

    def _prepared(self, width: int) -> Callable[[], None]:
        """A step for batches of this width: a graph to be replayed, where there are graphs."""
        if self._rows.device.type != "cuda":
            return lambda: self._update(width)
        state = (self._flat, *self._moments, self._count, self._told)
        kept = [tensor.clone() for tensor in state]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # whatever is set up at the first call must not be part of the graph
            self._update(width)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):  # none of them leaves anything there for another
            self._update(width)
        for tensor, value in zip(state, kept, strict=True):
            tensor.copy_(value)
        return graph.replay

    def _update(self, width: int) -> None:
        numbers = {**self._numbers, "done": self._count.expand(len(self.members))}
        gradients, (loss, share) = vmap(grad_and_value(self._loss, has_aux=True), randomness="different")(
            self._weights, numbers, *_texts(self.table, self._rows, width)
        )
        gradient = torch.cat([gradients[name].flatten(1) for name in self._weights], 1) / _SCALE
        self._descend(tamed(gradient, self.config.clip))
        self._told += torch.stack([loss / _SCALE, share])

    def _loss(self, weights: Weights, numbers: Weights, *texts: Tensor) -> tuple[Tensor, Tensor]:
        inside = {**self._everywhere(weights), **numbers}
        played: Played = functional_call(self.game, inside, _given(*texts), tie_weights=False)
        return played.loss * _SCALE, played.share

    def _descend(self, gradient: Tensor) -> None:
        """One step of Adam for all runs."""
        first, second = self._moments
        self._count += 1
        first.lerp_(gradient, 1 - _BETAS[0])
        second.lerp_(gradient.square(), 1 - _BETAS[1])
        size = (second / (1 - _BETAS[1] ** self._count)).sqrt() + _EPSILON
        self._flat -= self._rates / (1 - _BETAS[0] ** self._count) * first / size

    # Dev

    def _evaluate(self, done: int, since: int) -> None:
        right, chosen = self._on_dev()
        losses, shares = (self._told / since).tolist()
        self._told.zero_()
        for curve, *reached in zip(self.curves, losses, shares, right, chosen, strict=True):
            curve.updates.append(done)
            for values, value in zip((curve.loss, curve.drawn, curve.accuracy, curve.chosen), reached, strict=True):
                values.append(value)
        better = torch.tensor([curve.best == len(curve.updates) - 1 for curve in self.curves], device=self._best.device)
        self._best.copy_(torch.where(better[:, None], self._flat, self._best))

    @torch.no_grad()
    def _on_dev(self) -> tuple[list[float], list[float]]:
        """Accuracy and share of chosen tokens of each run on its dev texts, by its present weights."""
        lengths, targets = np.asarray(self.dev.lengths), self.dev.targets.cpu().numpy()
        order = [member.dev[np.argsort(-lengths[member.dev], kind="stable")] for member in self.members]
        most, size = max(len(rows) for rows in order), 4 * self.config.batch_size
        filled = np.stack([np.pad(rows, (0, most - len(rows)), mode="edge") for rows in order])
        weights = np.stack([np.pad(_weights(targets[rows]), (0, most - len(rows))) for rows in order])
        weigh = torch.from_numpy(weights).to(self._rows.device)
        sums = torch.zeros(3, len(order), device=self._rows.device)
        self.game.eval()
        for start in range(0, most, size):
            part = filled[:, start : start + size]
            texts = _texts(self.dev, torch.from_numpy(part).to(self._rows.device), int(lengths[part].max()))
            found = vmap(self._answers, randomness="different")(self._weights, *texts)
            right, chosen, tokens = found.unbind(-1)
            own = weigh[:, start : start + size]
            sums += torch.stack([(right * own).sum(-1), (chosen * (own > 0)).sum(-1), (tokens * (own > 0)).sum(-1)])
        self.game.train()
        right, chosen, tokens = sums.cpu()
        return right.tolist(), (chosen / tokens).tolist()

    def _answers(self, weights: Weights, *texts: Tensor) -> Tensor:
        inside = {f"game.{name}": tensor for name, tensor in self._everywhere(weights).items()}
        found: Tensor = functional_call(self._asked, inside, _given(*texts), tie_weights=False)
        return found


class _Answering(nn.Module):
    """What is asked on dev, as a module whose weights can be exchanged."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.game = game

    def forward(self, batch: Batch, targets: Tensor) -> Tensor:
        return answers(self.game.model, batch, targets)


def _texts(table: Table, rows: Tensor, width: int) -> tuple[Tensor, ...]:
    """Ids, keep and segments [R, B, width], and classes [R, B], of rows [R, B]."""
    return (*(part[:, :width][rows] for part in (table.ids, table.keep, table.segments)), table.targets[rows])


def _own_architecture(task: Task, config: GameConfig) -> Mapping[str, Any]:
    """What a run's networks have of their own."""
    return config.architecture((torch.bincount(task.train.targets) / len(task.train.targets)).tolist())


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether networks are the same, whatever share is selected after their predictions."""
    return {**one, "post_hoc": bool(one.get("post_hoc"))} == {**other, "post_hoc": bool(other.get("post_hoc"))}


@contextmanager
def _in_memory(runs: int) -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"{runs} runs at once do not fit in memory; train fewer together, or use a smaller batch_size or max_length"
        ) from error


def _given(ids: Tensor, keep: Tensor, segments: Tensor, targets: Tensor) -> tuple[Batch, Tensor]:
    return Batch(ids, keep, segments), targets


def _weights(targets: Rows) -> NDArray[np.float32]:
    """How much each text counts for the accuracy, [n]: every class the same, in all 1."""
    _, classes, counts = np.unique(targets, return_inverse=True, return_counts=True)
    return (1 / (len(counts) * counts[classes])).astype(np.float32)


def _joined(parts: Sequence[Part]) -> Part:
    return Part([example for part in parts for example in part.examples], torch.cat([part.targets for part in parts]))


def _check_alike(configs: Sequence[GameConfig], numbers: Sequence[str]) -> None:
    """Only seeds and numbers may differ: the rest is one program."""
    if not configs:
        raise InputError("there is no run to train")
    free = (*numbers, "learning_rate", "seed", "out", "overwrite")
    for name, value in vars(configs[0]).items():
        if name not in free and any(vars(some)[name] != value for some in configs):
            raise InputError(f"runs that are trained together must have the same {name}")
    if configs[0].weight_decay or configs[0].warmup or configs[0].decay:
        raise InputError("runs that are trained together keep their learning rate, and their weights do not decay")
