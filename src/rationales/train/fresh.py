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
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import torch

from rationales import results
from rationales.comparison.store import read_json, write_json
from rationales.data.dataset import Dataset
from rationales.data.example import Example
from rationales.errors import FileFormatError, InputError
from rationales.explainers import default_method
from rationales.explanation import Explanation
from rationales.explanation.files import check_writable, replacing
from rationales.explanation.views import word_spans
from rationales.models import Model, TransformersClassifier, load, predict, rounds
from rationales.registry import option
from rationales.run.labels import true_label
from rationales.run.texts import Method, as_explainer
from rationales.train import classifier
from rationales.train.checkpoint import check_foreign
from rationales.train.fresh_rationales import Maker, Order, Rationales, Saved, read_file
from rationales.train.labels import SCORES, Metric, Part, read_task
from rationales.train.loop import session

log = logging.getLogger(__name__)

Explained: TypeAlias = Literal["predicted", "gold"]

SUMMARY, TEST = "fresh.json", "test"
OWN = r"seed-\d+|explanations|\.fresh\.json\..*\.tmp"
"""What a run that was stopped leaves in its directory."""

README = """# Classifiers of rationales

Each directory `seed-…` holds a classifier that was trained by `rationales train fresh` on texts of which only the
rationale was left. It expects such texts, cut down in the same way, and not whole ones: on whole texts its predictions
mean little. `fresh.json` says how the rationales were made, and how well the classifiers do.
"""


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
        if self.seed and self.seeds != (self.seed,):
            raise InputError(f"a model is trained for each of the seeds; give seeds=({self.seed},), not seed")

    def for_seed(self, seed: int) -> Config:
        """The run of one seed, which knows nothing of the others, so that more can be added."""
        return replace(self, out=Path(self.out) / f"seed-{seed}", seed=seed, seeds=(seed,))


@dataclass(frozen=True)
class Figures:
    """A figure by seed; `std` is the sample standard deviation, None for a single seed."""

    seeds: Mapping[int, float]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.seeds.values())

    @property
    def std(self) -> float | None:
        return statistics.stdev(self.seeds.values()) if len(self.seeds) > 1 else None

    def plain(self) -> dict[str, Any]:
        return {"seeds": dict(self.seeds), "mean": self.mean, "std": self.std}


@dataclass(frozen=True)
class Result:
    """What came of it: the models, by seed, and their macro-F1 on dev and, by its name, on each set of test data.

    `agreement`, of "dev" and of each set of test data, is the share of texts for which a model says the class that the
    rationale was made for. Near 1 although the explained model errs more often, which words were chosen gives away what
    they were chosen for, and macro-F1 is that of the explained model, whatever these words say. Left out where classes
    have other names in the explanations.
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
    none was given, and how each seed did.
    """
    if (model is None) == (explanations is None):
        raise InputError("where do rationales come from? Give either a model to explain, or explanations of all texts")
    if explanations is not None and (method is not None or config.target != "predicted"):
        raise InputError("a method and a target are for explaining a model; explanations that are given have theirs")
    data = {"train": train_data, "dev": dev_data, **_named(test_data)}
    names, parts = _parts(config, data, labels)
    _check_out(config)
    splits = {split: part.examples for split, part in parts.items()}
    if explanations is not None:
        found = Saved.read(_given(explanations), config.ratio, config.order).rationales(splits)
    else:
        own = data["train"]
        given_names = own.labels if isinstance(own, Dataset) and own.labels else labels
        found = _explained(config, splits, given_names, model, tokenizer, method, progress, tell)
    cut = {split: _cut(part, found.texts[split]) for split, part in parts.items()}
    return _train_all(config, names, parts, cut, found, tell)


def _named(test_data: Iterable[Example] | Mapping[str, Iterable[Example]] | None) -> dict[str, Iterable[Example]]:
    """The sets of test data, by names that can be those of files."""
    if not isinstance(test_data, Mapping):
        return {} if test_data is None else {TEST: test_data}
    for name in test_data:
        if name in ("train", "dev") or not re.fullmatch(r"[\w-]+", name):
            raise InputError(f"test data cannot be called {name!r}; use letters, digits, - and _, not train or dev")
    return dict(test_data)


def _check_out(config: Config) -> None:
    """Refuse a directory of somebody else, or one that cannot be written to, before hours are spent."""
    out = Path(config.out)
    if not (config.overwrite or _is_summary(out / SUMMARY)):
        check_foreign(out, lambda entry: re.fullmatch(OWN, entry.name) is not None)
    check_writable(out / SUMMARY)


def _is_summary(path: Path) -> bool:
    """Whether a run has left its figures there."""
    try:
        found = read_json(path) if path.is_file() else None
    except FileFormatError:
        return False
    return isinstance(found, dict) and {"macro_f1", "explanations", "config"} <= found.keys()


def _parts(
    config: Config, data: dict[str, Iterable[Example]], labels: Sequence[str] | None
) -> tuple[tuple[str, ...], dict[str, Part]]:
    """The class names, and the labelled examples of each split."""
    for split, given in data.items():
        data[split] = given if isinstance(given, Dataset) else list(given)  # they are read more than once
    task = read_task(data["train"], data["dev"], labels)
    if not task.names:
        raise InputError("fresh tells classes apart; these labels are numbers")
    task.metric(config.metric)
    held_out = {
        name: read_task(data["train"], some, labels, held_out=name).dev
        for name, some in data.items()
        if name not in ("train", "dev")
    }
    return task.names, {"train": task.train, "dev": task.dev, **held_out}


def _given(explanations: Path | str | Iterable[Path | str | Explanation]) -> Iterator[Explanation]:
    for one in [explanations] if isinstance(explanations, Path | str) else explanations:
        if isinstance(one, Explanation):
            yield one
        else:
            yield from read_file(one)


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
        explained = load(model, tokenizer)
        explainer = as_explainer(default_method(explained) if method is None else method)
        if method is None and accelerator.is_main_process:
            tell(f"the rationales are made by {explainer.name}, since no method was given (--method)")
        targets = {}
        if config.target == "gold":
            targets["train"] = [_gold(example, names, explained) for example in splits["train"]]
        directory = Path(config.out) / "explanations"
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
    whole: Mapping[str, Part],
    cut: Mapping[str, Part],
    found: Rationales,
    tell: Callable[[str], None],
) -> Result:
    models: dict[int, Path] = {}
    reached: dict[str, dict[int, float]] = {split: {} for split in cut if split != "train"}
    explained = {
        split: torch.tensor([names.index(label) for label in found.classes[split]])
        for split in reached
        if set(found.classes[split]) <= set(names)
    }
    agreed: dict[str, dict[int, float]] = {split: {} for split in explained}
    for place, seed in enumerate(config.seeds, start=1):
        own = config.for_seed(seed)
        models[seed] = classifier.fine_tune(
            "fresh", own, classifier.Objective, cut["train"].examples, cut["dev"].examples, names
        )
        for split, by_seed in reached.items():
            logits = _logits(models[seed], config.max_length, cut[split])
            by_seed[seed] = SCORES["macro_f1"](logits, cut[split].targets)
            if split in explained:
                agreed[split][seed] = SCORES["accuracy"](logits, explained[split])
        shown = ", ".join(f"{split} macro-F1 {by_seed[seed]:.4f}" for split, by_seed in reached.items())
        tell(f"seed {seed} ({place} of {len(config.seeds)}): {shown}")
    figures = {split: Figures(by_seed) for split, by_seed in reached.items()}
    agreement = {split: Figures(by_seed) for split, by_seed in agreed.items()}
    out = Path(config.out)
    with session(config) as accelerator:
        if accelerator.is_main_process:
            write_json(out / SUMMARY, _summary(config, names, whole, cut, found, figures, agreement))
            with replacing(out / "README.md") as beside:
                beside.write_text(README, encoding="utf-8")
    return Result(out, models, figures.pop("dev"), figures, agreement)


def _logits(directory: Path, max_length: int | None, part: Part) -> torch.Tensor:
    model = TransformersClassifier.from_pretrained(directory, max_length=max_length)
    with model.borrowed(), torch.no_grad():
        logits = [predict(model, model.encode(some, warn=False)).cpu() for some in rounds(model, part.examples)]
    return torch.cat(logits)


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
        "share": {split: _share(part, cut[split]) for split, part in whole.items()},
        "macro_f1": {split: own.plain() for split, own in figures.items()},
        "agreement": {split: own.plain() for split, own in agreement.items()},
        "note": "the models expect texts that were cut down to their rationale in the same way",
        "versions": results.versions(),
        "hardware": results.hardware(),
    }


_NOT_SAID = ("out", "overwrite", "seed")


def _share(whole: Part, cut: Part) -> float:
    def size(example: Example) -> int:
        return sum(len(word_spans(text)) for text in example.texts)

    pairs = zip(cut.examples, whole.examples, strict=True)
    return statistics.fmean(size(short) / max(1, size(long)) for short, long in pairs)
