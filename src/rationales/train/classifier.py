"""Fine-tune a pretrained encoder as a classifier (labels are class names or indices) or as a regressor (numbers).

    from rationales.train.classifier import Config, train

    train(Config(out=Path("model"), epochs=3), train_data, dev_data)

It takes single texts and pairs, and leaves a directory that `rationales.models.load` and `from_pretrained` of
Transformers read. On several devices: `accelerate launch` the same script.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss
from transformers import AutoModelForSequenceClassification

from rationales.data.example import Example
from rationales.errors import InputError, ModelError
from rationales.models import TransformersClassifier, arity, embedded_encoder, positions
from rationales.models.loading import check_shapes, load_tokenizer, loading, quiet_transformers
from rationales.registry import option
from rationales.train.encoding import EncodedTexts
from rationales.train.labels import METRICS, SCORES, Metric, Task, read_task
from rationales.train.loop import Settings, fit, gathered, session


@dataclass(frozen=True)
class Config(Settings):
    """Fine-tune a pretrained encoder as a classifier or a regressor."""

    encoder: str = option("", "Directory or hub name of the pretrained model; empty: the embedded MiniLM.")
    max_length: int | None = option(None, "Tokens at which texts are cut; none: as many as the encoder takes.")
    head_learning_rate: float | None = option(None, "Learning rate of the layers on top; none: that of the encoder.")
    metric: Metric = option("auto", "Dev score: accuracy, macro_f1 or pearson; auto: accuracy, or pearson for numbers.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric not in METRICS:
            raise InputError(f"metric must be one of {', '.join(METRICS)}; got {self.metric!r}")
        if self.head_learning_rate is not None and not self.head_learning_rate >= 0:
            raise InputError(f"head_learning_rate must be a number from 0 up, got {self.head_learning_rate}")


def train(
    config: Config,
    train_data: Iterable[Example],
    dev_data: Iterable[Example],
    *,
    labels: Sequence[str] | None = None,
) -> Path:
    """Train, keep the best epoch by its dev score, and return the directory of the model.

    `labels` are the class names in order, where the data do not have them; see `read_task` for what labels may be.
    """
    return fine_tune("classifier", config, Objective, train_data, dev_data, labels)


def fine_tune(
    recipe: str,
    config: Config,
    objective: Callable[[EncodedTexts], nn.Module],
    train_data: Iterable[Example],
    dev_data: Iterable[Example],
    labels: Sequence[str] | None,
) -> Path:
    """Train a classifier on any objective, made of the training data, which know the model."""
    task = read_task(train_data, dev_data, labels)
    metric = task.metric(config.metric)
    run = config.run(recipe, {"metric": metric, **task.facts()})
    with session(config) as accelerator:
        if run.finished():
            return run.out
        model = pretrained(config, task)
        texts = EncodedTexts(model, task.train, "training", warn=accelerator.is_main_process)
        dev = EncodedTexts(model, task.dev, "dev", warn=accelerator.is_main_process)

        def evaluate() -> float:
            logits = gathered(
                accelerator, lambda rows: model.logits(dev.batch(rows)[0]), dev.lengths, 4 * config.batch_size
            )
            if not bool(logits.isfinite().all()):
                raise ModelError("the model answers NaN or infinity to dev texts; use a lower learning_rate")
            return SCORES[metric](logits, task.dev.targets)

        def save(directory: Path) -> None:
            with quiet_transformers():
                model.save_pretrained(directory)

        def rate(parameter: str) -> float:
            inside = parameter.startswith(f"network.{model.model.base_model_prefix}.")
            return config.learning_rate if inside or config.head_learning_rate is None else config.head_learning_rate

        made = objective(texts)
        figures = getattr(made, "figures", None)
        fit(
            config,
            run,
            accelerator,
            made,
            texts.lengths,
            evaluate=evaluate,
            save=save,
            score=metric,
            rate=rate,
            figures=figures,
        )
    return run.out


class Objective(nn.Module):
    """Cross-entropy of classes, or squared error of numbers, averaged over rows of the training data."""

    def __init__(self, texts: EncodedTexts) -> None:
        super().__init__()
        self.texts, self.model = texts, texts.model
        self.network = self.model.model  # a module of its own, so that its parameters are found

    def forward(self, rows: list[int]) -> Tensor:
        batch, targets = self.texts.batch(rows)
        return self.error(self.model.logits(batch), targets)

    def error(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Of logits [B, C], averaged."""
        return mse_loss(logits.squeeze(-1), targets) if self.model.regression else cross_entropy(logits, targets)


def pretrained(config: Config, task: Task) -> TransformersClassifier:
    """The encoder with a new layer on top for the classes of the task, or for one number."""
    source = config.encoder or embedded_encoder()
    names = task.names or ("value",)
    with loading(source, "pretrained model"):
        network, report = AutoModelForSequenceClassification.from_pretrained(
            source,
            num_labels=len(names),
            id2label=dict(enumerate(names)),
            label2id={name: number for number, name in enumerate(names)},
            problem_type="regression" if len(names) == 1 else "single_label_classification",
            ignore_mismatched_sizes=True,  # a classifier of other classes gets a new layer on top
            dtype=torch.float32,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
        check_shapes(report, f"{network.base_model_prefix}.")
        tokenizer = load_tokenizer(source)
    inside = f"{network.base_model_prefix}."
    lost = sorted(key for key in report["missing_keys"] if key.startswith(inside) and ".pooler." not in key)
    if lost:
        warnings.warn(
            f"{source} lacks {len(lost)} weights of {type(network).__name__}, such as {lost[0]}", stacklevel=3
        )
    sides = {len(example.texts) for example in task.train.examples}
    setattr(network.config, arity.FIELD, sides.pop() if len(sides) == 1 else None)
    setattr(network.config, positions.FIELD, config.max_length)
    return TransformersClassifier(network, tokenizer, name=str(source), max_length=config.max_length)
