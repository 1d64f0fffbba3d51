"""Any `AutoModelForSequenceClassification` of Transformers as a `Model`: differentiable and, mostly, attentive."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from rationales.data.example import Example
from rationales.errors import InputError, MissingCapability, ModelError
from rationales.models.alignment import attention_factors, between
from rationales.models.arity import mismatch, texts_per_example
from rationales.models.batch import Batch, Erasure, Side, collate, erase
from rationales.models.borrow import borrowed
from rationales.models.guiding import Guide, guided_batch
from rationales.models.loading import (
    check_complete,
    check_shapes,
    checked_device,
    default_budget,
    load_tokenizer,
    loading,
    share_files,
    untrusted,
)
from rationales.models.positions import UNBOUNDED, checked_length, position_offset
from rationales.models.tap import Tap, scaled, tapped
from rationales.models.tokenising import MOST, Tokenising, Truncation, check_fast, encoded


class TransformersClassifier:
    """A classifier or regressor with its tokenizer.

    Texts longer than `max_length` tokens (by default what the model can take) are cut at the end, the longer text
    of a pair first; `truncation="error"` refuses them instead. Batches are padded on the right, whatever the
    tokenizer's `padding_side` says; decoders can also be padded on the left. `budget` is the number of tokens per
    batch; by default it follows from the device's free memory. A `guide` may be set, which says how far the words of
    two texts may be linked.
    """

    guide: Guide | None = None

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str | None = None,
        max_length: int | None = None,
        truncation: Truncation = "end",
        padding: Side = "right",
        budget: int | None = None,
    ) -> None:
        check_fast(tokenizer)
        if "SequenceClassification" not in type(model).__name__:
            raise InputError(
                f"{type(model).__name__} is not a sequence classifier; load it with AutoModelForSequenceClassification"
            )
        self.model, self.tokenizer = model, tokenizer
        self.name = name or model.config.name_or_path or type(model).__name__
        self.multi_label = model.config.problem_type == "multi_label_classification"
        self.regression = not self.multi_label and (
            model.config.problem_type == "regression" or model.config.num_labels == 1
        )
        self.labels = _labels(model)
        self._texts = texts_per_example(model.config, self.labels)
        self.truncation, self.padding = truncation, padding
        self._core: PreTrainedModel = model.get_encoder() if model.config.is_encoder_decoder else model
        self._pools_last = isinstance(getattr(model, "score", None), nn.Linear)  # decoders: state of the last token
        accepted = inspect.signature(model.base_model.forward).parameters
        self._takes_positions = "position_ids" in accepted and not model.config.is_encoder_decoder
        # GPT-2 and others take types without having been trained with any: the tokenizer knows
        takes_types = "token_type_ids" in accepted and "token_type_ids" in tokenizer.model_input_names
        self._takes_keep = "attention_mask" in inspect.signature(model.forward).parameters
        self._position_offset = position_offset(model)
        if padding == "left" and not (self._pools_last and self._takes_positions):
            raise MissingCapability(
                f"{type(model).__name__} can only be padded right: it reads out the first token or takes no positions"
            )
        if hasattr(model, "sequence_summary") and model.config.summary_type != "first":
            raise MissingCapability(
                f"{type(model).__name__} reads out the {model.config.summary_type} column, padding or not, so that its "
                "output for a text depends on the other texts of the batch"
            )
        self.max_length = checked_length(max_length, model, tokenizer, self.name)
        self.budget = budget or default_budget(model)
        # a round of texts, more on a device with more memory
        self._tokenise = Tokenising(tokenizer, types=takes_types, most=min(MOST, 16 * self.budget))
        self._pad_id: int | None = (
            model.config.pad_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        )

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        *,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
        revision: str | None = None,
        trust_remote_code: bool = False,
        max_length: int | None = None,
        truncation: Truncation = "end",
        budget: int | None = None,
        tokenizer: PreTrainedTokenizerBase | None = None,
    ) -> TransformersClassifier:
        """From a directory or a hub name, with the tokenizer that is there unless another is given."""
        common: dict[str, Any] = {"revision": revision, "trust_remote_code": trust_remote_code}
        wanted = checked_device(device)
        with loading(source):
            config = AutoConfig.from_pretrained(source, **common)
            own_code = getattr(config, "auto_map", None) or {}
            if "AutoModelForSequenceClassification" in own_code and not trust_remote_code:
                raise untrusted(source)  # Transformers may have a class for this type, but it is not the one meant
            architectures = config.architectures or []
            if not any("SequenceClassification" in name for name in architectures):
                raise ModelError(
                    f"{source} holds {', '.join(architectures) or 'no known architecture'}, not a trained classifier. "
                    "Train one on it: rationales train classifier --encoder " + str(source)
                )
            model, report = AutoModelForSequenceClassification.from_pretrained(
                source,
                dtype=dtype,
                use_safetensors=True,
                ignore_mismatched_sizes=True,  # they are in the report, which says more than the error
                output_loading_info=True,
                **common,
            )
            check_shapes(report)
            check_complete(report)
            tokenizer = tokenizer or load_tokenizer(source, **common)
        try:
            model.to(wanted).eval()
        except torch.OutOfMemoryError as error:
            raise ModelError(f"{source} does not fit in the memory of {wanted}; choose another device") from error
        return cls(model, tokenizer, name=str(source), max_length=max_length, truncation=truncation, budget=budget)

    def save_pretrained(self, directory: str | Path) -> None:
        """Weights, config and tokenizer, the way Transformers keeps them."""
        self.model.save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)
        share_files(Path(directory))

    @property
    def device(self) -> torch.device:
        return self.model.device

    def encode(self, examples: Sequence[Example], *, warn: bool = True) -> Batch:
        if self._texts is not None and any(len(example.texts) != self._texts for example in examples):
            warnings.warn(mismatch(self.name, self._texts), stacklevel=2)
            self._texts = None  # once is enough
        if self._tokenise.tokenizer is not self.tokenizer:  # somebody gave us another
            self._tokenise = Tokenising(self.tokenizer, types=self._tokenise.types, most=self._tokenise.most)
        batch = encoded(
            self._tokenise,
            examples,
            self.max_length,
            name=self.name,
            pad_id=self._pad_id or 0,
            side=self.padding,
            truncation=self.truncation,
            warn=warn,
        )
        largest, known = int(batch.ids.max()), getattr(self._embedding, "num_embeddings", UNBOUNDED)
        if largest >= known:
            raise ModelError(
                f"the tokenizer has a token with the number {largest}, and {self.name} knows only {known} tokens; give "
                "the tokenizer that it was trained with"
            )
        return guided_batch(batch, self.guide, self.model.dtype).to(self.device)

    def collated(
        self,
        ids: Sequence[ArrayLike],
        segments: Sequence[ArrayLike],
        types: Sequence[ArrayLike] | None,
        width: int | None = None,
    ) -> Batch:
        """Texts that were encoded before, as the numbers of their tokens, as a batch like that of `encode`."""
        known = {"pad_id": self._pad_id or 0, "side": self.padding, "sources": (), "width": width}
        return collate(ids, segments, types, **known).to(self.device)  # type: ignore[arg-type]

    def _inputs(self, batch: Batch) -> dict[str, Tensor]:
        inputs = {"input_ids": batch.ids, "attention_mask": batch.keep.long()}
        # Left to itself a model counts columns, or, in the RoBERTa family, ids that are not padding, erased or not.
        if self._takes_positions and (batch.side == "left" or self._position_offset):
            inputs["position_ids"] = batch.positions + self._position_offset
        if batch.types is not None:
            inputs["token_type_ids"] = batch.types
        return inputs

    def logits(self, batch: Batch, alignment: Tensor | None = None) -> Tensor:
        if alignment is not None:
            batch = batch.aligned(alignment)
        return self._run(batch, None if batch.zeroed is None else self.embed(batch))

    def _run(self, batch: Batch, embeddings: Tensor | None) -> Tensor:
        groups = self._groups(batch)
        if len(groups) > 1:
            parts = []
            for rows in groups:
                part = batch.take(rows, int(batch.lengths[rows].max()))
                parts.append(self._run(part, None if embeddings is None else part.trimmed(embeddings[rows])))
            return torch.cat(parts)[torch.argsort(torch.cat(groups))]
        with nullcontext() if embeddings is None else self._embeddings_replaced(embeddings):
            return self._forward(batch)

    def _groups(self, batch: Batch) -> list[Tensor]:
        """Rows that may run together.

        The heads of encoder-decoders want as many end tokens in each, and models that cannot be told what is padding
        (FNet) must not get any.
        """
        if self.model.config.is_encoder_decoder:
            alike = (batch.ids == self.model.config.eos_token_id).sum(-1)
        elif not self._takes_keep:
            alike = batch.lengths
        else:
            return []
        return [torch.nonzero(alike == number).flatten() for number in alike.unique()]

    def _forward(self, batch: Batch) -> Tensor:
        if batch.alignment is not None:
            self._check_attention()
            factors = attention_factors(batch, batch.alignment).unsqueeze(1)
            with scaled(self.model, factors):
                return self._forward(replace(batch, alignment=None))
        inputs = self._inputs(batch)
        if not self._pools_last:
            return _precise(self.model(**inputs).logits)
        states = self.model.base_model(**inputs, use_cache=False).last_hidden_state
        rows = torch.arange(len(batch), device=states.device)
        head: nn.Module = self.model.score  # type: ignore[assignment]
        return _precise(head(states[rows, self.readout(batch)]))

    def probabilities(self, logits: Tensor) -> Tensor:
        if self.regression:
            return logits
        return logits.sigmoid() if self.multi_label else logits.softmax(-1)

    def erase(self, batch: Batch, drop: Tensor, how: Erasure) -> Batch:
        return erase(batch, drop, how, mask_id=self.tokenizer.mask_token_id, pad_id=self._pad_id)

    def borrowed(self) -> AbstractContextManager[None]:
        return borrowed(self.model)

    @property
    def _embedding(self) -> nn.Module:
        return self._core.get_input_embeddings()

    def embed(self, batch: Batch) -> Tensor:
        embeddings = _precise(self._embedding(batch.ids))
        return embeddings if batch.zeroed is None else embeddings.masked_fill(batch.zeroed.unsqueeze(-1), 0.0)

    def logits_from(self, embeddings: Tensor, batch: Batch) -> Tensor:
        return self._run(batch, embeddings)

    @contextmanager
    def _embeddings_replaced(self, embeddings: Tensor) -> Iterator[None]:
        # The ids still go in, since some models find the token to read out by them; the embedding module's output is
        # replaced on its way, once: GPT-2 uses the same module for token types.
        def same(own: Tensor) -> Tensor:
            # Some models add padding of their own; some change what they get in place, so it must be a copy.
            return torch.cat([embeddings.to(own.dtype), own[:, embeddings.shape[1] :]], 1)

        def shifted(own: Tensor) -> Tensor:  # a classifier's decoder reads the same text, one token later
            return torch.cat([own[:, :1], embeddings[:, :-1].to(own.dtype)], 1)

        pending, modules = [same], {self._embedding}
        if self.model.config.is_encoder_decoder:
            pending.append(shifted)
            modules.add(self.model.get_decoder().get_input_embeddings())

        def hook(_module: nn.Module, _inputs: Any, own: Tensor) -> Tensor:
            return pending.pop(0)(own) if pending else own

        with ExitStack() as stack:
            for module in modules:
                stack.callback(module.register_forward_hook(hook).remove)
            yield

    def tap(self, scale: Tensor | None = None) -> AbstractContextManager[Tap]:
        self._check_attention()
        return tapped(self.model, scale)

    def _check_attention(self) -> None:
        if self.model.config.is_encoder_decoder:
            raise MissingCapability(
                f"{type(self.model).__name__} reads the text with an encoder and answers with a decoder; methods that "
                "read attention work on models with one stack only"
            )
        if not self._takes_keep:
            raise MissingCapability(f"{type(self.model).__name__} has no attention to read")

    def coattention(self, batch: Batch) -> Tensor:
        with self.tap() as tap:
            self.logits(batch)
        attention = torch.stack([layer.mean(1) for layer in tap.probabilities]).mean(0)
        return between(batch, (attention + attention.transpose(1, 2)) / 2)

    def readout(self, batch: Batch) -> Tensor:
        real = batch.keep.long()
        return batch.width - 1 - real.flip(-1).argmax(-1) if self._pools_last else real.argmax(-1)


def _labels(model: PreTrainedModel) -> tuple[str, ...]:
    """The names of the classes; those that several share get their number, so that a name means one class."""
    names: Mapping[Any, str] = model.config.id2label or {}
    labels = [str(names.get(i, i)) for i in range(model.config.num_labels or 0)]
    return tuple(label if labels.count(label) == 1 else f"{label} ({i})" for i, label in enumerate(labels))


def _precise(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == torch.float64 else tensor.float()
