"""FRESH: train a classifier on rationales alone, to see how much of what decides is in them.

    from rationales.train.fresh import Config, train

    found = train(Config(out=Path("fresh"), ratio=0.2), train_data, dev_data, test_data, model="my-classifier",
                  method="scaled_attention")
    print(found.test.mean, found.test.std)

Every text is explained and cut down to its best words; then a new classifier, which never sees the rest, learns from
these texts, once for each seed. The higher its macro-F1, the more of what is needed the method found. Jain et al.
(2020), "Learning to Faithfully Rationalize by Construction"; see `fresh_rationales.py` for which words stay.

    out/fresh.json          macro-F1 and agreement per seed, mean and standard deviation, on dev and test data
    out/seed-1/             a model for each seed
    out/explanations/       what the explained model's decisions are ascribed to, made once

The models load like any classifier, but they expect texts that were cut down to their rationale in the same way.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import torch

from rationales import results
from rationales.comparison.store import write_json
from rationales.data.dataset import Dataset
from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explainers import default_method
from rationales.explanation import Explanation
from rationales.models import Model, load
from rationales.registry import option
from rationales.run.labels import true_label
from rationales.run.texts import Method, as_explainer
from rationales.train import classifier
from rationales.train.fresh_directory import EXPLANATIONS, SUMMARY, check_out, clear, write_about
from rationales.train.fresh_measuring import Figures, answers, explained_classes, share
from rationales.train.fresh_rationales import Maker, Order, Rationales, Saved, read_file
from rationales.train.labels import SCORES, Metric, Part, read_task
from rationales.train.loop import MOST, session

log = logging.getLogger(__name__)

Explained: TypeAlias = Literal["predicted", "gold"]

TEST = "test"


@dataclass(frozen=True)
class Config(classifier.Config):
    """Train classifiers on rationales alone, from any explanations, and report their macro-F1 (FRESH)."""

    out: Path = option(Path("fresh"), "Directory for the models and their figures; a stopped run goes on from there.")
    metric: Metric = option("macro_f1", "Dev score that chooses the best epoch: accuracy or macro_f1.")
    ratio: float = option(0.2, "Share of a text's words that are its rationale; selections stay as they are.")
    order: Order = option("text", "Order of the words in a rationale: that of the text, or best first (score).")
    target: Explained = option("predicted", "Class that is explained in training texts: the predicted or the gold one.")
    seeds: tuple[int, ...] = option((1, 2, 3, 4, 5), "Seeds, with commas; a model is trained for each.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.ratio <= 1:
            raise InputError(f"ratio is a share of the words, above 0 and up to 1; got {self.ratio}")
        for name, known in (("order", Order), ("target", Explained)):
            if getattr(self, name) not in get_args(known):
                raise InputError(f"{name} must be one of {', '.join(get_args(known))}; got {getattr(self, name)!r}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise InputError(
                f"seeds must be different numbers from 0 up, got {', '.join(map(str, self.seeds)) or 'none'}"
            )
        if max(self.seeds) > MOST:
            raise InputError(f"seeds must be at most {MOST}, got {max(self.seeds)}")
        if self.seed and self.seeds != (self.seed,):
            raise InputError(f"a model is trained for each of the seeds; give seeds=({self.seed},), not seed")

    def for_seed(self, seed: int) -> Config:
        """The run of one seed, which knows nothing of the others, so that more can be added."""
        return replace(self, out=Path(self.out) / f"seed-{seed}", seed=seed, seeds=(seed,))


@dataclass(frozen=True)
class Result:
    """What came of it: the models, by seed, and their macro-F1 on dev and, by its name, on each set of test data.

    `agreement`, of "dev" and of each set of test data, is the share of texts for which a model says the class that the
    rationale was made for. Near 1 although the explained model errs more often, which words were chosen gives away what
    they were chosen for, and macro-F1 is that of the explained model, whatever these words say. Left out where what is
    explained is not known to be a class of the data.
    """

    out: Path
    models: Mapping[int, Path]
    dev: Figures
    tests: Mapping[str, Figures]
    agreement: Mapping[str, Figures]

    @property
    def test(self) -> Figures | None:
        """On test data without a name."""
        return self.tests.get(TEST)


def train(
    config: Config,
    train_data: Iterable[Example],
    dev_data: Iterable[Example],
    test_data: Iterable[Example] | Mapping[str, Iterable[Example]] | None = None,
    *,
    model: Any = None,
    method: Method | None = None,
    tokenizer: Any = None,
    explanations: Path | str | Iterable[Path | str | Explanation] | None = None,
    labels: Sequence[str] | None = None,
    progress: bool | None = None,
    tell: Callable[[str], None] = log.info,
) -> Result:
    """Cut all texts down to their rationale and train a classifier on them for each seed.

    The rationales come from a `model` (whatever `rationales.explain` takes) and a `method`, by default the model's own
    or integrated gradients, or from `explanations`: files, or explanations themselves, which must hold every text.
    Several sets of test data, such as some of another domain, are given by their names.
    `labels` are the class names in order, where the data do not have them. `tell` hears which method was taken where
    none was given, why agreement is left out, and how each seed did; of several processes, that of the first.
    """
    if (model is None) == (explanations is None):
        raise InputError("where do rationales come from? Give either a model to explain, or explanations of all texts")
    if explanations is not None and (method is not None or config.target != "predicted"):
        raise InputError("a method and a target are for explaining a model; explanations that are given have theirs")
    data = {"train": train_data, "dev": dev_data, **_named(test_data)}
    names, parts = _parts(config, data, labels)
    check_out(Path(config.out), overwrite=config.overwrite)
    with session(config) as accelerator:
        device, first = accelerator.device, accelerator.is_main_process
    tell = tell if first else _unheard
    splits = {split: part.examples for split, part in parts.items()}
    files: list[Any] = [model, config.encoder]
    if explanations is not None:
        sources = [explanations] if isinstance(explanations, Path | str) else explanations
        found = Saved.read(_read(sources, files), config.ratio, config.order).rationales(splits)
    else:
        given_names = train_data.labels if isinstance(train_data, Dataset) and train_data.labels else labels
        found = _explained(config, splits, given_names, model, tokenizer, method, progress, tell)
    cut = {split: _cut(part, found.texts[split]) for split, part in parts.items()}
    models, figures, agreement = _train_all(config, names, cut, found, device, tell)
    if first:
        if config.overwrite:
            clear(Path(config.out), config.seeds, () if model is None else tuple(splits), files)
        write_json(Path(config.out) / SUMMARY, _summary(config, names, parts, cut, found, figures, agreement))
        write_about(Path(config.out))
    return Result(Path(config.out), models, figures.pop("dev"), figures, agreement)


def _unheard(_: str) -> None:
    """What processes other than the first one tell."""


def _named(test_data: Iterable[Example] | Mapping[str, Iterable[Example]] | None) -> dict[str, Iterable[Example]]:
    """The sets of test data, by names that can be those of files."""
    if not isinstance(test_data, Mapping):
        return {} if test_data is None else {TEST: test_data}
    for name in test_data:
        if name in ("train", "dev") or not re.fullmatch(r"[\w-]+", name):
            raise InputError(f"test data cannot be called {name!r}; use letters, digits, - and _, not train or dev")
    return dict(test_data)


class _OneOfEach(Dataset):
    """A text of each class in place of all training data, so that these are read once for any number of test sets."""

    def __init__(self, labels: tuple[str, ...] | None, examples: Sequence[Example]) -> None:
        self.labels, self._few = labels, examples

    def __iter__(self) -> Iterator[Example]:
        return iter(self._few)


def _parts(
    config: Config, data: Mapping[str, Iterable[Example]], labels: Sequence[str] | None
) -> tuple[tuple[str, ...], dict[str, Part]]:
    """The class names, and the labelled examples of each split."""
    training = data["train"]
    task = read_task(training, data["dev"], labels)
    if not task.names:
        raise InputError("fresh tells classes apart; these labels are numbers")
    task.metric(config.metric)
    few: list[Example] = list({example.label: example for example in task.train.examples}.values())
    known = _OneOfEach(training.labels, few) if isinstance(training, Dataset) else few
    held_out = {
        name: read_task(known, some, labels, held_out=name).dev
        for name, some in data.items()
        if name not in ("train", "dev")
    }
    return task.names, {"train": task.train, "dev": task.dev, **held_out}


def _read(sources: Iterable[Path | str | Explanation], files: list[Any]) -> Iterator[Explanation]:
    """All explanations, one after another; the files that they are from are noted."""
    for source in sources:
        if isinstance(source, Explanation):
            yield source
        else:
            files.append(source)
            yield from read_file(source)


def _explained(
    config: Config,
    splits: Mapping[str, Sequence[Example]],
    names: Sequence[str] | None,
    model: Any,
    tokenizer: Any,
    method: Method | None,
    progress: bool | None,
    tell: Callable[[str], None],
) -> Rationales:
    """Explain every split; in the training texts the gold class, if that is wanted."""
    with session(config) as accelerator:
        here = accelerator.device if isinstance(model, str | Path) else None  # a live model stays where it is
        explained = load(model, tokenizer, device=here)
        explainer = as_explainer(default_method(explained) if method is None else method)
        if method is None:
            tell(f"the rationales are made by {explainer.name}, since no method was given (--method)")
        targets = {}
        if config.target == "gold":
            targets["train"] = [_gold(example, names, explained) for example in splits["train"]]
        directory = Path(config.out) / EXPLANATIONS
        maker = Maker(directory, explained, explainer, accelerator, config.overwrite, progress)
        return maker.rationales(splits, targets, config.ratio, config.order)


def _gold(example: Example, names: Sequence[str] | None, model: Model) -> int:
    """The number that the explained model has for an example's label."""
    label = true_label(example, names, model)
    if label is None or label not in model.labels:
        raise InputError(
            f"the label {example.label!r} of {example.id!r} is none of {model.name} ({', '.join(model.labels)}), so it "
            "cannot be explained; explain the predicted class"
        )
    return model.labels.index(label)


def _cut(part: Part, texts: Sequence[tuple[str, ...]]) -> Part:
    """The same examples with nothing but their rationale, their label a number."""
    rows = zip(part.examples, texts, part.targets.tolist(), strict=True)
    return Part([Example(example.id, own, target) for example, own, target in rows], part.targets)


def _train_all(
    config: Config,
    names: Sequence[str],
    cut: Mapping[str, Part],
    found: Rationales,
    device: torch.device,
    tell: Callable[[str], None],
) -> tuple[dict[int, Path], dict[str, Figures], dict[str, Figures]]:
    """A model for each seed, and by split macro-F1 and, where it can be told, agreement."""
    models: dict[int, Path] = {}
    held_out = {split: part for split, part in cut.items() if split != "train"}
    explained = explained_classes({split: found.targets[split] for split in held_out}, names, tell)
    reached: dict[str, dict[int, float]] = {split: {} for split in held_out}
    agreed: dict[str, dict[int, float]] = {split: {} for split in explained}
    for place, seed in enumerate(config.seeds, start=1):
        own = config.for_seed(seed)
        models[seed] = classifier.fine_tune(
            "fresh", own, classifier.Objective, cut["train"].examples, cut["dev"].examples, names
        )
        said = answers(models[seed], held_out, max_length=config.max_length, device=device)
        for split, logits in said.items():
            reached[split][seed] = SCORES["macro_f1"](logits, cut[split].targets)
        for split, targets in explained.items():
            agreed[split][seed] = SCORES["accuracy"](said[split], targets)
        shown = ", ".join(f"{split} macro-F1 {by_seed[seed]:.4f}" for split, by_seed in reached.items())
        tell(f"seed {seed} ({place} of {len(config.seeds)}): {shown}")
    figures, agreement = ({split: Figures(by_seed) for split, by_seed in some.items()} for some in (reached, agreed))
    return models, figures, agreement


def _summary(
    config: Config,
    names: Sequence[str],
    whole: Mapping[str, Part],
    cut: Mapping[str, Part],
    found: Rationales,
    figures: Mapping[str, Figures],
    agreement: Mapping[str, Figures],
) -> dict[str, Any]:
    """All that is needed to tell these figures from others; `share` is the mean share of words that stayed."""
    made = found.provenance
    return {
        "explanations": {"method": made.method, "params": made.params, "model": made.model},
        "config": {each.name: getattr(config, each.name) for each in fields(config) if each.name not in _NOT_SAID},
        "labels": list(names),
        "texts": {split: len(part.examples) for split, part in whole.items()},
        "share": {split: share(part, cut[split]) for split, part in whole.items()},
        "macro_f1": {split: own.plain() for split, own in figures.items()},
        "agreement": {split: own.plain() for split, own in agreement.items()},
        "note": "the models expect texts that were cut down to their rationale in the same way",
        "versions": results.versions(),
        "hardware": results.hardware(),
    }


_NOT_SAID = ("out", "overwrite", "seed")
