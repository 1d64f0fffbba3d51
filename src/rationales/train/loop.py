"""The loop that all recipes share: optimiser, schedule, batches, devices, the best epoch, stopping and going on.

A recipe gives an objective (a module that turns rows of the training data into their mean loss), a way to score it and
a way to save it; `fit` does the rest.

Every epoch draws its random numbers from (seed, epoch, process) alone, so that a run which was stopped and went on
ends like one that was never stopped.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DataLoaderConfiguration, DistributedType
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn
from torch.optim import AdamW
from torch.utils.data import DataLoader, Sampler

from rationales.errors import InputError, ModelError
from rationales.registry import option
from rationales.train.checkpoint import Epoch, Run, notes, since_better

log = logging.getLogger(__name__)

Precision: TypeAlias = Literal["no", "bf16", "fp16"]

_POOL = 50  # batches' worth of rows among which rows of like length are brought together
_BAR = 16  # columns of a terminal
_READ_LOSS_EVERY = 10  # steps; each reading makes the processor wait for the device


MOST = 2**63 - 1
"""The largest seed that every generator takes."""


@dataclass(frozen=True)
class Settings:
    """What every recipe lets its user choose; a recipe's own `Config` adds to it."""

    out: Path = option(Path("model"), "Directory for the trained model; a run that was stopped goes on from there.")
    epochs: int = option(3, "How often to go through the training data.")
    batch_size: int = option(32, "Texts per step, over all devices together.")
    learning_rate: float = option(5e-5, "Highest learning rate, reached after the warm-up.")
    warmup: float = option(0.1, "Share of the steps in which the learning rate rises.")
    decay: bool = option(True, "Let the learning rate fall to zero after that; else it stays.")
    weight_decay: float = option(0.01, "Weight decay; biases and normalisation have none.")
    clip: float = option(1.0, "Largest norm of the gradient; 0: any.")
    patience: int = option(0, "Stop after this many epochs without a better one, by dev score; 0: never.")
    precision: Precision = option("no", "Mixed precision: no, bf16 or fp16.")
    seed: int = option(0, "Decides the new weights, the order of the data and dropout.")
    overwrite: bool = option(False, "Start anew, whatever the output directory holds.")

    def __post_init__(self) -> None:
        least = {
            "epochs": 1,
            "batch_size": 1,
            "patience": 0,
            "seed": 0,
            "learning_rate": 0,
            "weight_decay": 0,
            "clip": 0,
        }
        for name, bound in least.items():
            if not bound <= getattr(self, name) < math.inf:
                raise InputError(f"{name} must be a number from {bound} up, got {getattr(self, name)}")
        if self.seed > MOST:
            raise InputError(f"seed must be at most {MOST}, got {self.seed}")
        if not 0 <= self.warmup < 1:
            raise InputError(f"warmup is a share of the steps, from 0 to below 1; got {self.warmup}")
        if self.precision not in get_args(Precision):
            raise InputError(f"precision must be one of {', '.join(get_args(Precision))}; got {self.precision!r}")

    def choices(self) -> dict[str, Any]:
        """All but where the model goes."""
        return {key: value for key, value in asdict(self).items() if key not in ("out", "overwrite")}

    def run(self, recipe: str, facts: Mapping[str, Any]) -> Run:
        """The run that these settings make of a recipe, with further facts that tell it from others (plain JSON)."""
        return Run(Path(self.out), {"recipe": recipe, "config": self.choices(), **facts}, overwrite=self.overwrite)


class Buckets(Sampler[list[int]]):
    """Batches of rows of like length, so that little is padded; a short batch comes last.

    With a seed, rows and batches come in a new random order each `epoch`; without one, longest first.
    """

    drop_last = False  # Accelerate asks

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int | None = None) -> None:
        self.lengths, self.batch_size, self.seed, self.epoch = np.asarray(lengths), batch_size, seed, 0

    def __len__(self) -> int:
        return math.ceil(len(self.lengths) / self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        rows, batches, pool = np.arange(len(self.lengths)), np.arange(len(self)), len(self.lengths)
        if self.seed is not None:
            rng = np.random.default_rng([self.seed, self.epoch])
            rng.shuffle(rows)
            rng.shuffle(batches[: len(rows) // self.batch_size])
            pool = _POOL * self.batch_size
        for start in range(0, len(rows), pool):
            part = rows[start : start + pool]
            part[:] = part[np.argsort(-self.lengths[part], kind="stable")]
        for number in batches:
            yield rows[number * self.batch_size : (number + 1) * self.batch_size].tolist()


@contextmanager
def session(settings: Settings) -> Iterator[Accelerator]:
    """Accelerate on this process's device, and random numbers from the seed; the caller's come back after the block."""
    ours = not AcceleratorState._shared_state  # Accelerate allows one precision per process; ours ends with the block
    try:
        shared = DataLoaderConfiguration(split_batches=True)
        try:
            accelerator = Accelerator(mixed_precision=settings.precision, dataloader_config=shared)
        except ValueError as error:
            raise InputError(f"precision {settings.precision!r} cannot be had here: {error}") from error
        if settings.precision == "fp16" and accelerator.device.type == "cpu":  # Accelerate would go on without it
            raise InputError("precision fp16 needs an accelerator, and there is none; use bf16 or no")
        if accelerator.distributed_type in (DistributedType.FSDP, DistributedType.DEEPSPEED):
            raise InputError("each device holds a whole model here; run accelerate launch without FSDP or DeepSpeed")
        if settings.batch_size % accelerator.num_processes:
            raise InputError(
                f"batch_size is for all devices: {settings.batch_size} texts cannot be shared evenly by "
                f"{accelerator.num_processes} of them"
            )
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(settings.seed)
            yield accelerator
    finally:
        if ours:
            AcceleratorState._reset_state()


def fit(
    settings: Settings,
    run: Run,
    accelerator: Accelerator,
    objective: nn.Module,
    lengths: Sequence[int],
    *,
    evaluate: Callable[[], float],
    save: Callable[[Path], None],
    score: str,
    standing: Callable[[], tuple[int, float]] | None = None,
    rate: Callable[[str], float] | None = None,
    figures: Callable[[], Mapping[str, float]] | None = None,
) -> None:
    """Train `objective` and leave its best epoch in the output directory.

    Args:
        settings: see there.
        run: from `settings.run`.
        accelerator: from `session`, inside which all this happens.
        objective: called with a list of row numbers, returns their mean loss.
        lengths: tokens of each row of the training data.
        evaluate: the dev score, higher is better; called after each epoch, on every process, in evaluation mode.
        save: writes the model into a directory.
        score: what the dev score is called.
        standing: what counts before an epoch's score, and among equal ones: see `Epoch`; called after `evaluate`. While
            the first is 0, training does not stop early. Without it all stand alike.
        rate: the highest learning rate of a parameter, by its name, where it is not the same for all.
        figures: what else to show beside the loss.
    """
    batches = Buckets(lengths, settings.batch_size, settings.seed)
    steps = len(batches)
    optimizer = AdamW(_groups(objective, settings, rate), fused=True)
    module, stepper, loader = accelerator.prepare(objective, optimizer, _loader(batches))
    if accelerator.is_main_process:
        run.prepare()
    accelerator.wait_for_everyone()
    history, scaler = run.restore(objective, optimizer)
    if history and accelerator.is_main_process:
        notes.info("%s: going on after epoch %d of %d", run.out, len(history), settings.epochs)
    if accelerator.scaler is not None and scaler:
        accelerator.scaler.load_state_dict(scaler)
    with _progress(accelerator, settings.epochs * steps, score) as show:
        for epoch in range(len(history), settings.epochs):
            early = standing is not None and history and not history[-1].standing
            if settings.patience and history and not early and since_better(history) >= settings.patience:
                break
            began = time.perf_counter()
            batches.epoch = epoch
            seed = np.random.SeedSequence([settings.seed, epoch, accelerator.process_index]).generate_state(1)
            torch.manual_seed(int(seed[0]))
            module.train()
            total, mean = torch.zeros((), device=accelerator.device), math.nan
            for number, rows in enumerate(loader, start=1):
                factor = _schedule(epoch * steps + number - 1, settings.epochs * steps, settings.warmup, settings.decay)
                for group in optimizer.param_groups:
                    group["lr"] = group["highest"] * factor
                total += _step(accelerator, module, stepper, rows, settings.clip)
                show(epoch * steps + number, rate=optimizer.param_groups[0]["lr"])
                if number % _READ_LOSS_EVERY == 0 or number == steps:
                    mean = float(accelerator.reduce(total, "mean")) / number
                    show(epoch * steps + number, loss=mean, **(figures() if figures else {}))
                    if not math.isfinite(mean):
                        raise ModelError(f"the loss became {mean} in epoch {epoch + 1}; use a lower learning_rate")
            module.eval()
            reached = evaluate()
            seconds = time.perf_counter() - began
            history.append(Epoch(epoch + 1, mean, reached, seconds, *(standing() if standing else ())))
            show((epoch + 1) * steps, dev=reached)
            if accelerator.is_main_process:
                log.info("epoch %d of %d: loss %.4f, dev %s %.4f", epoch + 1, settings.epochs, mean, score, reached)
                state = {} if accelerator.scaler is None else accelerator.scaler.state_dict()
                run.store(history, objective, optimizer, state, save)
            accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        run.publish(history)
    accelerator.wait_for_everyone()


def gathered(
    accelerator: Accelerator, compute: Callable[[list[int]], Tensor], lengths: Sequence[int], batch_size: int
) -> Tensor:
    """`compute(rows)`, [n, …], over all rows, in order, [N, …]: without gradients, the work shared by all devices."""
    loader = accelerator.prepare_data_loader(_loader(Buckets(lengths, batch_size)))
    order, values = [], []
    with torch.no_grad(), accelerator.autocast():
        for rows in loader:
            numbers = torch.tensor(rows, device=accelerator.device)
            some_rows, some_values = accelerator.gather_for_metrics((numbers, compute(rows)))
            order.append(some_rows)
            values.append(some_values)
    return torch.cat(values)[torch.argsort(torch.cat(order))].cpu()


def _loader(batches: Buckets) -> Any:
    return DataLoader(range(len(batches.lengths)), batch_sampler=batches, collate_fn=list)  # type: ignore[arg-type]


def _groups(module: nn.Module, settings: Settings, rate: Callable[[str], float] | None) -> list[dict[str, Any]]:
    """Parameters by their learning rate and decay; vectors (biases, normalisation) do not decay."""
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            highest = settings.learning_rate if rate is None else rate(name)
            groups.setdefault((highest, parameter.dim() > 1), []).append(parameter)
    return [
        {"params": some, "highest": highest, "lr": highest, "weight_decay": settings.weight_decay if decays else 0.0}
        for (highest, decays), some in groups.items()
    ]


def _schedule(step: int, steps: int, warmup: float, decay: bool = True) -> float:
    """The learning rate's share of its highest value at a step, counted from 0: up to 1, then down towards 0.

    >>> [_schedule(step, 5, 0.4) for step in range(5)] == [1 / 2, 1, 3 / 3, 2 / 3, 1 / 3]
    True
    """
    rising = math.ceil(steps * warmup)
    if step < rising:
        return (step + 1) / rising
    return (steps - step) / (steps - rising) if decay else 1.0


def _step(accelerator: Accelerator, module: nn.Module, optimizer: Any, rows: list[int], clip: float) -> Tensor:
    """One step of the optimiser; returns the loss, not yet read from the device."""
    try:
        loss: Tensor = module(rows)
        accelerator.backward(loss)
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"a batch of {len(rows)} texts does not fit in memory; use a smaller batch_size or max_length"
        ) from error
    if clip:
        accelerator.clip_grad_norm_(module.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


@contextmanager
def _progress(accelerator: Accelerator, steps: int, score: str) -> Iterator[Callable[..., None]]:
    """A bar on standard error, if that is a terminal, with as many figures as there is room for."""
    console = Console(stderr=True)
    shown: dict[str, float] = {}
    columns = (BarColumn(_BAR), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    others = _BAR + len(f"{steps}/{steps}") + len("0:00:00") + len(columns) - 1
    with Progress(
        *columns,
        console=console,
        disable=not (console.is_terminal and accelerator.is_main_process),
        redirect_stdout=sys.stdout.isatty(),  # a pipe must not get its lines on standard error
    ) as bar:
        task = bar.add_task("", total=steps)

        def show(step: int, **values: float) -> None:
            shown.update(values)
            bar.update(task, completed=step, description=_figures(shown, score, console.width - others))

        yield show


def _figures(shown: Mapping[str, float], score: str, width: int) -> str:
    """What counts most comes first; what does not fit is left out, and what comes behind it.

    >>> _figures({"rate": 5e-5, "loss": 0.5, "classification": 0.25, "dev": 0.75}, "accuracy", 42)
    'classification 0.250  dev accuracy 0.750'
    """
    forms = {"rate": "learning rate {:.1e}", "dev": f"dev {score} {{:.3f}}"}
    first = ("classification", "dev", "loss") if "classification" in shown else ("loss", "dev")
    order = sorted(shown, key=lambda key: (key == "rate", first.index(key) if key in first else len(first)))
    text = ""
    for key in order:
        longer = f"{text}  {forms.get(key, f'{key} {{:.3f}}').format(shown[key])}".strip()
        if len(longer) > width:
            break
        text = longer
    return text
