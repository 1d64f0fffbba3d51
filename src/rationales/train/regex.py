"""REGEX: fine-tune a classifier so that what explains it can be believed.

    L = λ1 · L_cls + λ2 · L_gr + λ3 · L_at + λ4 · L_kl

L_cls is the cross-entropy; L_gr keeps the input gradient small; L_at keeps the prediction where it is under the worst
small perturbation (virtual adversarial training); L_kl pulls attention towards integrated gradients of the label's
logit, on the text and on the text with its least important tokens masked. With λ2 = λ3 = λ4 = 0 it is the classifier.
Li et al. (2023), "Towards Faithful Explanations for Text Classification with Robustness Improvement and Explanation
Guided Training"; the terms are in `regex_terms.py`.

What the paper leaves open has options: `projection` and `epsilon`, `site` and `size` of the perturbation, `direction`
of the divergence, `param_norm`. The perturbation's size in proportion to what it is added to decides whether it helps.
Training goes as that of the classifier unless told otherwise; the paper's takes ten epochs, rates of 10⁻⁵ for the
encoder and 10⁻⁴ for the head, the best epoch by macro-F1, and λ = 1, 0.01, 0.5, 0.01.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from rationales.data.example import Example
from rationales.errors import InputError, MissingCapability, QualityWarning
from rationales.explainers.attention import read_out
from rationales.models import Batch, TransformersClassifier
from rationales.registry import option
from rationales.train import classifier
from rationales.train.encoding import EncodedTexts
from rationales.train.regex_terms import (
    Aggregate,
    Direction,
    Guide,
    Projection,
    agreement,
    importance,
    least_important,
    norm_of,
    projected,
    smoothness,
    stability,
    worst_perturbation,
)
from rationales.train.replay import Loss, Replays, recordable

Site: TypeAlias = Literal["output", "word"]

STEP = 8
"""Widths of batches whose steps are recorded are multiples of this, so that there are few of them."""
RECORDED = 4096
"""Tokens up to which a step is recorded: with more, launching takes no longer than computing, and memory counts."""
TERMS = ("classification", "gradient", "adversarial", "guidance")
WEIGHED_AS = {"parameters": "gradient"}
"""Terms that have the weight of another."""
STEEP = 1.0
"""Size of steps from which a perturbation turns without dropout; see `benchmarks/perturbation.py`."""
NUMBERS = (
    *("dropout", "attention_dropout", "activation_dropout"),
    *("hidden_dropout", "hidden_dropout_prob", "attention_probs_dropout_prob"),
)
"""Dropout that some models have as numbers of their configuration."""
TOGETHER = 4096
"""Tokens up to which all versions of a batch make one pass on an accelerator that waits for kernels to be launched."""


@dataclass(frozen=True)
class Config(classifier.Config):
    """Fine-tune a classifier whose attributions are faithful and stable (REGEX)."""

    classification_weight: float = option(1.0, "Weight λ1 of the cross-entropy.")
    gradient_weight: float = option(0.01, "Weight λ2 of the norm of the input gradient; 0: without.")
    adversarial_weight: float = option(4.0, "Weight λ3 of the adversarial term; the paper takes 0.5; 0: without.")
    guidance_weight: float = option(0.01, "Weight λ4 of the guidance of attention; 0: without.")
    param_norm: bool = option(True, "Add the norm of all parameters to the gradient term, as the paper does.")
    guide: Guide = option("integrated_gradients", "Attribution that attention should agree with.")
    aggregate: Aggregate = option("l2", "How the guide makes one number of a token's dimensions: l2 or mean.")
    guide_steps: int = option(2, "Points of integrated gradients in training; the paper takes 50.")
    guide_every: int = option(1, "Guide attention in every k-th batch only.")
    masked: float = option(0.15, "Share K of the least important tokens that are masked.")
    direction: Direction = option("forward", "KL(guide ‖ attention), or reverse.")
    site: Site = option("word", "What is perturbed: word embeddings, or the output of the embedding layer.")
    projection: Projection = option("normalize", "The perturbation's size is set, or kept within epsilon (ball).")
    size: float = option(0.25, "Largest component of a token's perturbation, in units of the site's mean magnitude.")
    ascents: int = option(2, "Steps towards the worst perturbation.")
    ascent_rate: float = option(1e-3, "Size of these steps; for models without dropout 1000.")
    start: float = option(1e-5, "Standard deviation of the perturbation they start from.")
    epsilon: float = option(1e-5, "See projection.")
    replay: bool = option(True, "On CUDA, record steps as graphs and replay them, for texts of like length.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (*(f"{term}_weight" for term in TERMS), "size", "ascent_rate", "start"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} must be a number from 0 up, got {getattr(self, name)}")
        if not 0 < self.epsilon < float("inf"):
            raise InputError(f"epsilon must be a number above 0, got {self.epsilon}")
        if not 0 < self.masked < 1:
            raise InputError(f"masked must be a share between 0 and 1, got {self.masked}")
        for name in ("guide_steps", "guide_every", "ascents"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name, known in (
            ("guide", Guide),
            ("aggregate", Aggregate),
            ("direction", Direction),
            ("site", Site),
            ("projection", Projection),
        ):
            if getattr(self, name) not in get_args(known):
                raise InputError(f"{name} must be one of {', '.join(get_args(known))}; got {getattr(self, name)!r}")


def train(
    config: Config,
    train_data: Iterable[Example],
    dev_data: Iterable[Example],
    *,
    labels: Sequence[str] | None = None,
) -> Path:
    """Train, keep the best epoch by its dev score, and return the directory of the model."""
    return classifier.fine_tune("regex", config, partial(Objective, config=config), train_data, dev_data, labels)


def _has_dropout(network: nn.Module) -> bool:
    """Whether two passes over the same texts differ: some models have it as layers, others as numbers."""
    layers = any(isinstance(part, nn.Dropout) and part.p > 0 for part in network.modules())
    return layers or any(getattr(network.config, name, 0) for name in NUMBERS)


def _layer(network: PreTrainedModel, site: Site) -> nn.Module | None:
    """The layer whose output is perturbed; None: what is perturbed goes into it."""
    if site == "word":
        return None
    layer = getattr(network.base_model, "embeddings", None)
    if not isinstance(layer, nn.Module):
        raise InputError(
            f"{type(network).__name__} has no embedding layer whose output could be perturbed; use site=word "
            "(--site word)"
        )
    return layer


def _attentive(model: TransformersClassifier, *, wanted: bool) -> bool:
    """Whether attention can be read; an error if not, where it is wanted."""
    try:
        with model.tap():
            return True
    except MissingCapability as error:
        if wanted:
            raise MissingCapability(
                f"attention cannot be guided: {error}; train without guidance (--guidance-weight 0)"
            ) from error
        return False


def _together(batch: Batch) -> bool:
    return batch.ids.device.type != "cpu" and batch.ids.numel() <= TOGETHER


class _Pass(NamedTuple):
    """Word embeddings [n, T, d], logits [n, C] and, if it can be read, attention [n, T] of some versions of texts."""

    embeddings: Tensor
    logits: Tensor
    attention: Tensor | None


class Objective(classifier.Objective):
    """The loss of some rows: one or two passes for all that needs a graph, and two or three before that need none."""

    steps: Tensor

    def __init__(self, texts: EncodedTexts, config: Config) -> None:
        super().__init__(texts)
        if self.model.regression:
            raise InputError("regex tells classes apart; these labels are numbers")
        if config.adversarial_weight and config.ascent_rate < STEEP and not _has_dropout(self.network):
            warnings.warn(
                f"{type(self.network).__name__} has no dropout, and without it steps of {config.ascent_rate:g} hardly "
                "turn the perturbation from the random direction it starts with; give an ascent_rate of 1000 "
                "(--ascent-rate 1000), or leave the adversarial term out (--adversarial-weight 0)",
                QualityWarning,
                stacklevel=2,
            )
        self.config = config
        self._attentive = _attentive(self.model, wanted=bool(config.guidance_weight))
        if config.adversarial_weight:
            _layer(self.network, config.site)  # says at once if there is none
        self.shown: dict[str, Tensor] = {}
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))  # of training, so that a run goes on in step
        self._taken: int | None = None  # the same, without asking the device
        self._replays = Replays(self.network)

    def forward(self, rows: list[int]) -> Tensor:
        config = self.config
        guided = bool(config.guidance_weight) and self._step() % config.guide_every == 0
        if not (guided or config.gradient_weight or config.adversarial_weight):
            plain = super().forward(rows)
            self.shown = {"classification": plain.detach()}
            return config.classification_weight * plain
        replayed = config.replay and self._replayable
        batch, targets = self.texts.batch(rows, multiple=STEP if replayed else 1)
        replayed = replayed and batch.ids.numel() <= RECORDED

        def compute(ids: Tensor, keep: Tensor, segments: Tensor, targets: Tensor, *types: Tensor) -> Loss:
            same = replace(batch, ids=ids, keep=keep, segments=segments, types=types[0] if types else None)
            return self._terms(same, targets, guided, launched=not replayed)

        given = (batch.ids, batch.keep, batch.segments, targets, *(() if batch.types is None else (batch.types,)))
        loss, self.shown = self._replays(guided, compute, *given) if replayed else compute(*given)
        return loss

    def _step(self) -> int:
        """The number of this step, from 0."""
        if self._taken is None:
            self._taken = int(self.steps)
        number = self._taken
        if self.training:
            self._taken += 1
            self.steps += 1
        return number

    @property
    def _replayable(self) -> bool:
        return (
            recordable(self.model.device)
            and self.training
            and torch.is_grad_enabled()
            and not torch.is_autocast_enabled("cuda")
        )

    def _terms(self, batch: Batch, targets: Tensor, guided: bool, *, launched: bool) -> Loss:
        """The loss, and the terms it is made of, unweighted; `launched`: kernel by kernel, not from a recording.

        The first step of each shape, which is taken as it comes, is made like those that are recorded: dropout is drawn
        in the same order, wherever a run was stopped.
        """
        config, model = self.config, self.model
        wanted = self._importance(batch, targets) if guided else None
        delta = self.perturbation(batch) if config.adversarial_weight else None
        texts = [batch]
        if wanted is not None:
            least = least_important(wanted, batch, config.masked)
            texts.append(model.erase(batch, least, "zero" if model.tokenizer.mask_token_id is None else "mask"))
        if delta is not None:
            texts.append(batch)
        size = len(batch)
        first, *others = self._passes(texts, delta, together=launched)
        logits = torch.cat([first.logits, *(other.logits for other in others)])
        terms = {"classification": self.error(logits[:size], targets)}
        if config.gradient_weight:
            summed = cross_entropy(logits[:size], targets, reduction="sum")
            terms["gradient"] = smoothness(summed, first.embeddings, size)
            if config.param_norm:
                terms["parameters"] = norm_of([own for own in self.network.parameters() if own.requires_grad])
        if delta is not None:
            terms["adversarial"] = stability(logits[-size:], logits[:size])
        if wanted is not None:
            attention = torch.cat([one.attention for one in (first, *others) if one.attention is not None])
            both = (attention[:size], attention[size : 2 * size])
            terms["guidance"] = sum(agreement(wanted, some, batch, config.direction) for some in both)  # type: ignore[assignment]
        weighted = [getattr(config, f"{WEIGHED_AS.get(name, name)}_weight") * term for name, term in terms.items()]
        return torch.stack(weighted).sum(), {name: term.detach() for name, term in terms.items()}

    def figures(self) -> Mapping[str, float]:
        """The terms, unweighted, of the last batch."""
        return {name: float(term) for name, term in self.shown.items()}

    def _passes(self, texts: list[Batch], delta: Tensor | None, *, together: bool) -> list[_Pass]:
        """The versions of the texts, of which the last gets the perturbation: in one pass, or the whole texts first.

        Of these alone a gradient is wanted with its graph. Small batches whose kernels are launched one by one are
        faster together all the same.
        """
        whole = (together and _together(texts[0])) or len(texts) == 1
        groups = [texts] if whole else [texts[:1], texts[1:]]
        return [self._pass(group, delta if group is groups[-1] else None) for group in groups]

    def _pass(self, texts: list[Batch], delta: Tensor | None) -> _Pass:
        model, size, batch = self.model, len(texts[0]), texts[0]
        embeddings = torch.cat([model.embed(text) for text in texts])
        several = batch.take(torch.arange(size, device=batch.ids.device).repeat(len(texts)))
        merged = replace(several, ids=torch.cat([text.ids for text in texts]))  # some models look at ids elsewhere too
        twice = model.tap() if self._attentive else sdpa_kernel(SDPBackend.MATH)  # others have no second derivative
        with twice as tap, self._added(delta, size * (len(texts) - 1)) as put:
            logits = model.logits_from(put(embeddings), merged)
            attention = read_out(model, merged, tap.probabilities, "last", "all") if self._attentive else None
            return _Pass(embeddings, logits, attention)

    def _importance(self, batch: Batch, targets: Tensor) -> Tensor:
        config = self.config
        return importance(self.model, batch, targets, config.guide, config.aggregate, config.guide_steps)

    # The perturbation

    def perturbation(self, batch: Batch) -> Tensor:
        """What the adversarial term adds to the texts, [B, T, d]; zero at padding."""
        config, model = self.config, self.model
        with torch.no_grad(), self._seen() as seen:
            embeddings = model.embed(batch)
            clean = model.logits_from(embeddings, batch)
            site = embeddings if config.site == "word" else self._output(seen, batch)
        inside = batch.keep.unsqueeze(-1).expand_as(site)  # taking these out would wait for the device
        magnitude = (site.abs() * inside).sum() / inside.sum()

        return worst_perturbation(
            partial(self.perturbed, batch, embeddings),
            clean,
            site,
            batch.keep,
            steps=config.ascents,
            rate=config.ascent_rate,
            start=config.start,
            project=lambda delta: projected(delta, config.projection, config.size * magnitude, config.epsilon),
        )

    def perturbed(self, batch: Batch, embeddings: Tensor, delta: Tensor) -> Tensor:
        """The logits of texts that a perturbation was added to, [B, C]."""
        with self._added(delta, 0) as put:
            return self.model.logits_from(put(embeddings), batch)

    def _output(self, seen: list[Tensor], batch: Batch) -> Tensor:
        """The one output of the embedding layer for a whole batch, [B, T, d]."""
        if [some.shape[:2] for some in seen] != [batch.ids.shape]:
            raise InputError(
                f"{type(self.network).__name__} pads texts or takes them apart before its embedding layer, so that its "
                "output cannot be perturbed; use site=word (--site word)"
            )
        return seen[0]

    @contextmanager
    def _seen(self) -> Iterator[list[Tensor]]:
        """The output of the embedding layer in each pass of this block, where that is what is perturbed."""
        seen: list[Tensor] = []
        layer = _layer(self.network, self.config.site)
        if layer is None:
            yield seen
            return
        handle = layer.register_forward_hook(lambda _layer, _given, output: seen.append(output))
        try:
            yield seen
        finally:
            handle.remove()

    @contextmanager
    def _added(self, delta: Tensor | None, before: int) -> Iterator[Callable[[Tensor], Tensor]]:
        """Add the perturbation to the texts behind the first `before`, at its site.

        What is yielded puts it into word embeddings; at the other site it is added on the way.
        """
        if delta is None:
            yield lambda embeddings: embeddings
            return

        def plus(whole: Tensor) -> Tensor:
            return torch.cat([whole[:before], whole[before:] + delta.to(whole)])

        layer = _layer(self.network, self.config.site)
        if layer is None:
            yield plus
            return
        handle = layer.register_forward_hook(lambda _layer, _given, output: plus(output))
        try:
            yield lambda embeddings: embeddings
        finally:
            handle.remove()
