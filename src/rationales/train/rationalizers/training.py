"""Train a rationalizer of any kind: words or encoder, the two players, the game, the epoch that is kept.

from rationales.train.rationalizers import train, ver

train("ver", ver.Config(out=Path("model"), vectors="glove.txt"), train_data, dev_data)
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedTokenizerBase

from rationales.data.example import Example
from rationales.errors import InputError, QualityWarning
from rationales.models import Batch
from rationales.models.loading import load_tokenizer, loading
from rationales.models.positions import checked_length
from rationales.models.rationalizer import Architecture, GruEncoder, Networks, Rationalizer, TransformerEncoder
from rationales.models.tokenising import check_fast
from rationales.train.encoding import encoded_parts
from rationales.train.labels import Part, Task, read_task
from rationales.train.loop import Buckets, fit, gathered, session
from rationales.train.rationalizers.game import Game, GameConfig, Played, Table, is_predictors, rationalizers
from rationales.train.rationalizers.regularisers import standing
from rationales.train.words import known_words

log = logging.getLogger(__name__)

_AT_ONCE = 256
NOTHING, EVERYTHING = 0.005, 0.95
"""Shares of chosen dev tokens beyond which a selector has collapsed."""


def train(
    method: str,
    config: GameConfig,
    train_data: Iterable[Example],
    dev_data: Iterable[Example],
    *,
    labels: Sequence[str] | None = None,
) -> Path:
    """Train, keep the best epoch, and return the directory of the model.

    It is the one with the best dev accuracy among those whose choice ranks highest: see `standing`.
    """
    game = rationalizers[method]
    task = read_task(train_data, dev_data, labels)
    if not task.names:
        raise InputError("a rationalizer tells classes apart; these labels are numbers")
    run = config.run(method, {"metric": "accuracy", **task.facts()})
    with session(config) as accelerator:
        if run.finished():
            return run.out
        model = new_model(method, config, task)
        model.networks.to(accelerator.device)
        table = table_of(model, task.train, "training", warn=accelerator.is_main_process)
        dev = table_of(model, task.dev, "dev", warn=accelerator.is_main_process)

        config.check_updates(config.epochs * len(Buckets(table.lengths, config.batch_size)))
        watch = _Watch(config.sparsity, tell=accelerator.is_main_process)

        def evaluate() -> float:
            found = gathered(
                accelerator, lambda rows: answers(model, *dev.batch(rows)), dev.lengths, 4 * config.batch_size
            )
            if not model.architecture.post_hoc:
                watch(float(found[:, 1].sum() / found[:, 2].sum()), narrowing=objective.done <= config.narrowing)
            return float(found[:, 0].mean())

        def rank() -> tuple[int, float]:
            return standing(watch.share, config.sparsity, objective.done, config.narrowing)

        def rate(parameter: str) -> float:
            inside = bool(config.encoder) and ".encoder." in parameter
            share = config.predictor_rate if is_predictors(parameter) else 1.0
            return share * (config.encoder_learning_rate if inside else config.learning_rate)

        objective = Objective(game(model, table, config), table)
        fit(
            config,
            run,
            accelerator,
            objective,
            table.lengths,
            evaluate=evaluate,
            save=model.save_pretrained,
            score="accuracy",
            standing=None if model.architecture.post_hoc else rank,
            rate=rate,
            figures=objective.figures,
        )
        if accelerator.is_main_process and not model.architecture.post_hoc:
            _check_choice(run.out, dev, accelerator.device)
    return run.out


def _check_choice(directory: Path, dev: Table, device: torch.device) -> None:
    """Say so if the model that was kept chooses nothing: then its answers are guesses, whatever their score."""
    model = Rationalizer.from_pretrained(directory, device=device)
    chosen = 0.0
    with torch.no_grad(), model.borrowed():
        for start in range(0, len(dev.lengths), _AT_ONCE):
            rows = range(start, min(start + _AT_ONCE, len(dev.lengths)))
            chosen += float(answers(model, *dev.batch(rows))[:, 1].sum())
    if chosen <= NOTHING * sum(dev.lengths):
        warnings.warn(
            "the model that was kept chooses nothing of the dev texts, so it answers all texts alike. It needs more "
            "updates (more epochs, or a smaller batch_size), lower sparsity_weight and continuity_weight, or "
            "narrowing, so that the predictor learns before little is chosen",
            QualityWarning,
            stacklevel=3,
        )


class Objective(nn.Module):
    """A game as the training loop knows it: rows of the training data in, their loss out."""

    def __init__(self, game: Game, table: Table) -> None:
        super().__init__()
        self.game, self.table = game, table
        self._share = torch.zeros(())

    def forward(self, rows: list[int]) -> Tensor:
        played: Played = self.game(*self.table.batch(rows))
        self._share = played.share.detach()
        self.game.done += 1
        return played.loss

    @property
    def done(self) -> int:
        """Updates; reading it makes the processor wait."""
        return int(self.game.done)

    def figures(self) -> Mapping[str, float]:
        """What a progress bar shows beside the loss; reading it makes the processor wait."""
        return {"sparsity": float(self._share)}


def answers(model: Rationalizer, batch: Batch, targets: Tensor) -> Tensor:
    """Whether each text is right, how many of its tokens are chosen, and how many there are, [n, 3]."""
    chosen, logits = model.decide(model.embed(batch), batch)
    right = logits.argmax(-1) == targets
    return torch.stack([right.float(), chosen.sum(-1).float(), batch.content.sum(-1).float()], 1)


class _Watch:
    """Says when a selector begins to choose nothing or everything, and when that is over."""

    def __init__(self, wanted: float, *, tell: bool = True) -> None:
        self.wanted, self.share, self.tell, self.collapsed = wanted, 0.0, tell, False

    def __call__(self, share: float, *, narrowing: bool) -> None:
        self.share = share
        if not self.tell:
            return
        log.info("chosen of the dev tokens: %.1f %% (wanted: %.1f %%)", 100 * share, 100 * self.wanted)
        too_much = share >= EVERYTHING > self.wanted and not narrowing
        before, self.collapsed = self.collapsed, share <= NOTHING or too_much
        if before and not self.collapsed:
            log.info("the selector chooses again")
        if self.collapsed and not before:
            what = "nothing" if share <= NOTHING else "nearly everything"
            warnings.warn(
                f"the selector chooses {what} of the dev texts by now ({share:.1%}). In the first epochs this is "
                "common: a choice needs a probability above one half. If it stays, change sparsity_weight or "
                "continuity_weight",
                QualityWarning,
                stacklevel=2,
            )


def table_of(model: Rationalizer, part: Part, what: str, *, warn: bool) -> Table:
    """The texts of a part, encoded, on the model's device."""
    parts = encoded_parts(model, part, what, warn=warn)
    batches = [replace(batch, sources=()) for batch in parts]  # their tokens would fill the memory
    return Table(model, batches, part.targets)


def new_model(method: str, config: GameConfig, task: Task) -> Rationalizer:
    """The model before training."""
    if config.encoder:
        with loading(config.encoder, "pretrained model"):
            tokenizer = load_tokenizer(config.encoder)
            check_fast(tokenizer)
            pretrained = AutoModel.from_pretrained(config.encoder, dtype=torch.float32, use_safetensors=True)
            checked_length(config.max_length, pretrained, tokenizer, config.encoder)
        if config.pooling == "first" and tokenizer("a").input_ids[0] not in tokenizer.all_special_ids:
            raise InputError(f"texts do not begin with a special token for {config.encoder}; it has no pooling by that")
        architecture = _architecture(config, task, encoder=pretrained.config.to_dict())
        networks = Networks(*architecture.players())
        for player in (networks.selector, networks.predictor):
            assert isinstance(player.encoder, TransformerEncoder)
            player.encoder.encoder.load_state_dict(pretrained.state_dict())
            for name, parameter in player.encoder.encoder.named_parameters():
                if "pooler" in name:  # unused here, and several devices wait for what never learns
                    parameter.requires_grad_(False)
    else:
        tokenizer, networks, architecture = _on_words(config, task)
    params = {name: value for name, value in vars(config).items() if name not in ("out", "overwrite")}
    return Rationalizer(networks, tokenizer, architecture, name=str(config.out), method=method, params=params)


def _on_words(config: GameConfig, task: Task) -> tuple[PreTrainedTokenizerBase, Networks, Architecture]:
    """Networks on word vectors: those of a file, frozen, or new ones, which are learned."""
    texts = (text for part in (task.train, task.dev) for example in part.examples for text in example.texts)
    words = known_words(texts, config.vectors)
    own = {"freeze_vectors": False} if words.vectors is None else {"vector_size": words.vectors.shape[1]}
    architecture = _architecture(config, task, words=len(words.tokenizer), **own)
    networks = Networks(*architecture.players())
    words.put_into(_vectors(networks))
    return words.tokenizer, networks, architecture


def _vectors(networks: Networks) -> Tensor:
    encoder = networks.selector.encoder
    assert isinstance(encoder, GruEncoder)
    return encoder.vectors.weight


def _architecture(config: GameConfig, task: Task, **known: Any) -> Architecture:
    names = ("vector_size", "hidden", "dropout", "max_length", "masking", "pooling", "whole")
    settings = {name: getattr(config, name) for name in names}
    shares = torch.bincount(task.train.targets, minlength=len(task.names)) / len(task.train.targets)
    own = config.architecture(shares.tolist())
    return Architecture(labels=task.names, shared=config.shared_encoder, **{**settings, **known, **own})
