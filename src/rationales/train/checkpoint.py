"""The output directory of a training run: whose run it is, the state to go on from, and the finished model.

    rationales.json, weights, …    the best epoch, once the run is finished
    checkpoint/last.safetensors    until then: the state after the last finished epoch, with the run's notes as metadata
    checkpoint/epoch-2/            and the best epoch so far, ready to be loaded

Each step is one rename, so a run can be killed at any moment: `last.safetensors` says which epoch is the best, and that
epoch's directory is complete before it is mentioned there. Everything is safetensors and JSON.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from rationales.errors import FileFormatError, InputError, WriteError
from rationales.explanation.files import package_version, replacing

notes = logging.getLogger(__name__)
"""Says in a line what became of a directory that a run was found in; the command prints it."""

HINT = "Give another directory (--out), or replace what it holds (--overwrite)"
RECORD, LAST = "rationales.json", Path("checkpoint") / "last.safetensors"
_SHOWN = 3  # differences in one message
_LONGEST = 60  # characters of a value
_CHECKSUMS = {"data": "other data", "answers": "other answers of the model"}  # their digits say nothing


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to: its mean training loss and its score on dev data.

    `standing` counts before the score, `nearness` among equal scores: how far it is from what was wanted, times -1.
    """

    number: int
    loss: float
    score: float
    seconds: float
    standing: int = 0
    nearness: float = -1.0


def best_of(history: Sequence[Epoch]) -> Epoch:
    """The epoch with the highest score among those of the highest standing; of equals the nearest, then the first."""
    return max(history, key=lambda epoch: (epoch.standing, epoch.score, epoch.nearness))


def since_better(history: Sequence[Epoch]) -> int:
    """How many epochs have brought no higher score, or standing."""
    return len(history) - max(history, key=lambda epoch: (epoch.standing, epoch.score)).number


def check_foreign(out: Path, own: Callable[[Path], bool]) -> None:
    """Refuse a directory in which there is something that is not our `own`."""
    if out.is_dir() and not all(map(own, out.iterdir())):
        raise InputError(f"{out} is not empty and holds no run. {HINT}")


def identity_in(out: Path) -> Any:
    """What made the run in a directory that run, be it finished or not; None where there is none."""
    last, record = out / LAST, out / RECORD
    try:
        if last.exists():
            return _notes(last)["run"]
        return json.loads(record.read_text(encoding="utf-8"))["run"] if record.exists() else None
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{out} holds a damaged run ({error!r}). {HINT}") from error


def _notes(last: Path) -> dict[str, Any]:
    with safe_open(last, "pt") as file:
        notes: dict[str, Any] = json.loads(file.metadata()["rationales"])
    return notes


class Run:
    """A run in its directory. `identity` is what makes it this run, as plain JSON; another one is not continued."""

    def __init__(self, out: Path, identity: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self.out, self.overwrite = out, overwrite
        self.identity = json.loads(json.dumps(dict(identity)))  # as it will be read back
        self._record, self._last = out / RECORD, out / LAST
        self._checkpoint = self._last.parent

    def finished(self) -> bool:
        """Whether the directory holds this very run, finished; an error if it holds something else."""
        if self.overwrite:
            return False
        found = identity_in(self.out)
        if found is None:
            check_foreign(self.out, lambda entry: entry == self._checkpoint)
        elif found != self.identity:
            raise InputError(f"{self.out} holds another run, with {_difference(found, self.identity)}. {HINT}")
        done = found is not None and not self._last.exists()
        if done:
            notes.info("%s: finished before; nothing was trained", self.out)
        return done

    def prepare(self) -> None:
        """Make the directory, before hours are spent on what could not be saved."""
        try:
            if self.overwrite and self._checkpoint.exists():
                shutil.rmtree(self._checkpoint)
            self._checkpoint.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.out} cannot be used as output directory: {error}") from error

    def store(
        self,
        history: Sequence[Epoch],
        module: nn.Module,
        optimizer: Optimizer,
        scaler: Mapping[str, Any],
        save: Callable[[Path], None],
    ) -> None:
        """Keep the state after an epoch, and the model itself (written by `save`) if it is the best so far."""
        with self._saving(len(history) - 1):
            best = self._epoch(best_of(history))
            if best_of(history) is history[-1]:
                beside = best.with_name(f".{best.name}.tmp")
                for old in (beside, best):
                    shutil.rmtree(old, ignore_errors=True)
                save(beside)
                beside.rename(best)
            notes = {"run": self.identity, "history": [asdict(epoch) for epoch in history], "scaler": dict(scaler)}
            tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in _tensors(module, optimizer)}
            with replacing(self._last) as beside:
                save_file(tensors, beside, {"rationales": json.dumps(notes)})
            for other in self._checkpoint.glob("epoch-*"):
                if other != best:
                    shutil.rmtree(other)

    @contextmanager
    def _saving(self, done: int) -> Iterator[None]:
        """What goes wrong inside, on a full disk above all, is said with what is safe: `done` epochs."""
        try:
            yield
        except (OSError, SafetensorError) as error:
            raise WriteError(
                f"{self.out} could not be written: {error}. Make room; the same command goes on after epoch {done}"
            ) from error

    def _epoch(self, epoch: Epoch) -> Path:
        return self._checkpoint / f"epoch-{epoch.number}"

    def restore(self, module: nn.Module, optimizer: Optimizer) -> tuple[list[Epoch], dict[str, Any]]:
        """Put the stored state back; returns the epochs that are done and the gradient scaler's state."""
        if self.overwrite or not self._last.exists():
            return [], {}
        notes, tensors = _notes(self._last), load_file(self._last)
        with torch.no_grad():
            for name, tensor in _weights(module):
                tensor.copy_(tensors[name])
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            if name.startswith("optimizer/"):
                _, number, key = name.split("/")
                state.setdefault(int(number), {})[key] = tensor
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
        return [Epoch(**epoch) for epoch in notes["history"]], notes["scaler"]

    def publish(self, history: Sequence[Epoch]) -> None:
        """Move the best epoch to its place; `rationales.json` comes last and says that it is all there."""
        best = best_of(history)
        self._record.unlink(missing_ok=True)
        for source in sorted(self._epoch(best).rglob("*")):
            target = self.out / source.relative_to(self._epoch(best))
            if source.is_dir():
                target.mkdir(exist_ok=True)
            else:
                source.replace(target)
        record = {
            "run": self.identity,
            "version": package_version(),
            "epochs": [asdict(epoch) for epoch in history],
            "best_epoch": best.number,
            "best_score": best.score,
            "seconds": sum(epoch.seconds for epoch in history),
        }
        with replacing(self._record) as beside:
            beside.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        shutil.rmtree(self._checkpoint)


def _weights(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """What the module learns, each tensor once, also where two names share it."""
    once = {id(tensor): (name, tensor) for name, tensor in module.state_dict(keep_vars=True).items()}
    for name, tensor in once.values():
        yield f"module/{name}", tensor


def _tensors(module: nn.Module, optimizer: Optimizer) -> Iterator[tuple[str, Tensor]]:
    yield from _weights(module)
    for number, state in optimizer.state_dict()["state"].items():
        for key, tensor in state.items():
            yield f"optimizer/{number}/{key}", tensor


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """What differs between two identities, in words; of two recipes all is different, and only they are named.

    >>> _difference({"config": {"seed": 1, "epochs": 3}}, {"config": {"seed": 2, "epochs": 3}})
    'seed 1 instead of 2'
    """
    one, other = ({**entry, **entry.get("config", {}), "config": None} for entry in (found, wanted))
    changed = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    if "recipe" in changed:
        changed = ["recipe"]
    more = " and more" if changed[_SHOWN:] else ""
    return ", ".join(_change(key, one.get(key), other.get(key)) for key in changed[:_SHOWN]) + more


def _change(key: str, one: Any, other: Any) -> str:
    return _CHECKSUMS.get(key) or f"{key} {_short(one)} instead of {_short(other)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
