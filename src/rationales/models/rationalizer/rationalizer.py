"""A rationalizer: a selector keeps some tokens, a predictor sees only those. Its explanation is what it used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

from rationales import __version__
from rationales.data.example import Example
from rationales.errors import InputError
from rationales.explanation import Explanation, Explanations
from rationales.explanation.types import Provenance, Selection, Target
from rationales.models.batch import Batch
from rationales.models.borrow import borrowed
from rationales.models.loading import RATIONALIZER, checked_device, load_tokenizer, loading
from rationales.models.own_model import WEIGHTS, OwnModel, read_config, write_model
from rationales.models.packer import over_rows
from rationales.models.positions import checked_length
from rationales.models.rationalizer.encoders import GruEncoder, Masking, TransformerEncoder
from rationales.models.rationalizer.networks import Adjusted, Encoder, Pooling, Predictor, Selector
from rationales.models.rationalizer.selecting import likelier, most_wanted
from rationales.models.tokenising import Tokenising, encoded

Sampling: TypeAlias = Literal["argmax", "gumbel"]
Whole: TypeAlias = Literal["neither", "first", "second"]


@dataclass(frozen=True)
class Architecture:
    """All that is needed to build the networks anew: what a saved rationalizer keeps in its config.

    `encoder` is the config of a Transformers encoder, or empty for a GRU on word vectors. `shared` says that both
    players have one encoder. `pooling` is what the predictor makes of the states of a text: the largest of each
    dimension, the first one, or with `"attention"` their mean, weighted by how much the selector wants them.
    `post_hoc` is the share of the tokens that is selected after a prediction from the whole text; 0: what is selected
    is all that the predictor sees. With `priors`, the shares of the classes, both players are `Adjusted` for them.
    `whole` is the text of a pair, such as a question, that is always seen and of which nothing is selected.
    """

    labels: tuple[str, ...]
    encoder: Mapping[str, Any] = field(default_factory=dict)
    words: int = 0
    vector_size: int = 100
    freeze_vectors: bool = True
    hidden: int = 200
    dropout: float = 0.2
    max_length: int = 256
    masking: Masking = "output"
    shared: bool = False
    pooling: Pooling = "max"
    post_hoc: float = 0.0
    priors: tuple[float, ...] = ()
    whole: Whole = "neither"

    def players(self) -> tuple[Selector, Predictor]:
        """The two players with new weights."""
        first = self._encoder()
        second = first if self.shared else self._encoder()
        second.share_words(first)
        selector = Selector(first, self.dropout)
        attention = selector.head if self.pooling == "attention" else None
        predictor = Predictor(second, len(self.labels), self.dropout, attention)
        if self.priors:
            prototypes = nn.Parameter(torch.empty(len(self.labels), first.hidden))
            selector.head[-1] = Adjusted(prototypes, self.priors, 2, mapped=True)
            predictor.head[-1] = Adjusted(prototypes, self.priors, len(self.labels), mapped=False)
        return selector, predictor

    def _encoder(self) -> Encoder:
        if self.encoder:
            return TransformerEncoder.from_config(dict(self.encoder), self.masking, first=self.pooling == "first")
        return GruEncoder(self.words, self.vector_size, self.hidden, freeze=self.freeze_vectors)


class Networks(nn.Module):
    """The players as one module, whose state is what is saved."""

    def __init__(self, selector: Selector, predictor: Predictor) -> None:
        super().__init__()
        self.selector, self.predictor = selector, predictor


class Rationalizer(OwnModel):
    """A classifier that chooses tokens and sees nothing else.

    Special tokens are always seen. A token is chosen if that is likelier than not; `sampling="gumbel"` draws it by its
    probability instead, as in training, from `seed` and the text alone. `method` and `params` say how it was trained.
    Texts longer than `max_length` tokens, by default as in training, are cut at the end.
    """

    def __init__(
        self,
        networks: Networks,
        tokenizer: PreTrainedTokenizerBase,
        architecture: Architecture,
        *,
        name: str = RATIONALIZER,
        method: str = "rnp",
        params: Mapping[str, Any] | None = None,
        sampling: Sampling = "argmax",
        seed: int = 0,
        max_length: int | None = None,
        budget: int | None = None,
    ) -> None:
        if sampling not in get_args(Sampling):
            raise InputError(f"sampling must be one of {', '.join(get_args(Sampling))}; got {sampling!r}")
        self.networks, self.tokenizer, self.architecture = networks, tokenizer, architecture
        self.name, self.method, self.params = name, method, dict(params or {})
        self.sampling, self.seed = sampling, seed
        self.labels = tuple(architecture.labels)
        self.max_length = self._checked_length(architecture.max_length if max_length is None else max_length)
        self.budget = budget or (2048 if self.device.type == "cpu" else 65_536)
        self._tokenise = Tokenising(tokenizer, types=False)

    def _checked_length(self, wanted: int) -> int:
        encoder = self.networks.selector.encoder
        if isinstance(encoder, TransformerEncoder):
            return checked_length(wanted, encoder.encoder, self.tokenizer, self.name)
        if wanted < 1:
            raise InputError(f"max_length must be at least 1, got {wanted}")
        return wanted

    @property
    def device(self) -> torch.device:
        return next(self.networks.parameters()).device

    # Files

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        *,
        device: str | torch.device | None = None,
        sampling: Sampling = "argmax",
        seed: int = 0,
        max_length: int | None = None,
        budget: int | None = None,
    ) -> Rationalizer:
        """From a directory that `save_pretrained` wrote."""
        path = Path(source)
        with loading(source, RATIONALIZER):
            architecture, method, params = _read(read_config(path, RATIONALIZER))
            networks = Networks(*architecture.players())
            state = load_file(path / WEIGHTS)
            missing, unexpected = networks.load_state_dict(state, strict=False)
            places = {name: tensor.data_ptr() for name, tensor in networks.state_dict().items()}
            filled = {places[name] for name in state if name in places}
            tied = {name for name in missing if places[name] in filled}
            if unexpected or set(missing) - tied:
                odd = [*unexpected, *sorted(set(missing) - tied)]
                raise ValueError(f"its weights are not those of its config: {odd[0]} and {len(odd) - 1} more")
            tokenizer = load_tokenizer(path)
        networks.to(checked_device(device)).eval()
        return cls(
            networks,
            tokenizer,
            architecture,
            name=str(source),
            method=method,
            params=params,
            sampling=sampling,
            seed=seed,
            max_length=max_length,
            budget=budget,
        )

    def save_pretrained(self, directory: str | Path) -> None:
        """Config, weights and tokenizer; weights that both players share are saved once."""
        state, seen = {}, set()
        for name, tensor in self.networks.state_dict().items():
            if tensor.data_ptr() not in seen or tensor.numel() == 0:
                state[name] = tensor
                seen.add(tensor.data_ptr())
        config = {"method": self.method, "params": self.params, "architecture": asdict(self.architecture)}
        write_model(directory, RATIONALIZER, config, state, self.tokenizer)

    # What every model can do

    def encode(self, examples: Sequence[Example], *, warn: bool = True) -> Batch:
        """Tokenise. The text of a pair that is always seen counts as special tokens."""
        batch = encoded(self._tokenise, examples, self.max_length, name=self.name, pad_id=self._pad_id, warn=warn)
        if self.architecture.whole != "neither":
            if any(len(example.texts) != 2 for example in examples):
                raise InputError(f"{self.name} sees one text of a pair whole and selects from the other; give it pairs")
            seen = batch.segments == ("first", "second").index(self.architecture.whole)
            batch = replace(batch, segments=batch.segments.masked_fill(seen, -1))
        return batch.to(self.device)

    def borrowed(self) -> AbstractContextManager[None]:
        return borrowed(self.networks)

    def embed(self, batch: Batch) -> Tensor:
        """Word embeddings, [B, T, d]."""
        embeddings = self.networks.selector.encoder.embed(batch.ids)
        return embeddings if batch.zeroed is None else embeddings * ~batch.zeroed.unsqueeze(-1)

    def logits(self, batch: Batch) -> Tensor:
        return self.logits_from(self.embed(batch), batch)

    def logits_from(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """Choose tokens by these embeddings, and predict from those of the chosen; gradients take the second way."""
        return self.decide(embeddings, batch)[1]

    # What a rationalizer can do

    def wanted(self, embeddings: Tensor, batch: Batch) -> Tensor:
        """Logits of the selector, [B, T, 2]."""
        logits: Tensor = self.networks.selector(embeddings, batch.keep)
        return logits

    def predict(self, embeddings: Tensor, batch: Batch, chosen: Tensor) -> Tensor:
        """Logits [B, C] of the predictor, which sees the tokens `chosen` [B, T] and special ones."""
        logits: Tensor = self.networks.predictor(embeddings, batch.keep, self.shown(batch, chosen).to(embeddings))
        return logits

    def shown(self, batch: Batch, chosen: Tensor) -> Tensor:
        """How much is seen of each token, [B, T]: of special ones all, of others what `chosen` [B, T] says."""
        return torch.where(batch.keep & ~batch.content, 1.0, chosen.float())

    def chosen(self, batch: Batch) -> Tensor:
        """The tokens that the selector chooses, [B, T]."""
        return self._choose(self.wanted(self.embed(batch), batch), batch)

    def decide(self, embeddings: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """The tokens that the selector chooses, [B, T], and the predictor's logits, [B, C]."""
        chosen = self._choose(self.wanted(embeddings, batch), batch)
        seen = batch.content if self.architecture.post_hoc else chosen
        return chosen, self.predict(embeddings, batch, seen)

    def _choose(self, wanted: Tensor, batch: Batch) -> Tensor:
        if self.sampling == "gumbel":
            wanted = wanted + self._noise(batch).to(wanted)
        if self.architecture.post_hoc:
            return most_wanted(wanted, batch.content, self.architecture.post_hoc)
        return likelier(wanted, batch.content)

    def _noise(self, batch: Batch) -> Tensor:
        """Gumbel noise [B, T, 2] that depends on the seed and the text alone."""
        noise = torch.zeros(*batch.ids.shape, 2)
        for row, (generator, keep) in enumerate(zip(batch.generators(self.seed), batch.keep.cpu(), strict=True)):
            noise[row, keep] = torch.from_numpy(generator.gumbel(size=(int(keep.sum()), 2))).float()
        return noise

    def explain(self, batch: Batch) -> Explanations:
        """Predictions, and the tokens they were made from."""
        if len(batch.sources) != len(batch):
            raise InputError("this batch does not know its texts; explain a batch made by model.encode")

        def compute(part: Batch, _rows: Tensor) -> Tensor:
            keep, logits = self.decide(self.embed(part), part)
            room = torch.zeros(len(part), batch.width - part.width, device=logits.device)
            return torch.cat([self.probabilities(logits), keep.to(logits), room.to(logits)], 1)

        with torch.no_grad(), self.borrowed():
            found = over_rows(self, batch, compute).cpu()
        sizes = batch.lengths.tolist()
        drawn = self.sampling == "gumbel"
        params = {**self.params, "sampling": self.sampling}
        provenance = Provenance(self.method, params, self.name, self.seed if drawn else None, __version__)
        explanations = []
        for row, source in enumerate(batch.sources):
            probabilities, keep = found[row, : len(self.labels)], found[row, len(self.labels) :][: sizes[row]]
            index = int(probabilities.argmax()) if bool(probabilities.isfinite().all()) else -1
            target = Target(index, self.labels[index] if index >= 0 else "", float(probabilities[index]))
            selection = Selection(keep.numpy() > 0)
            explanations.append(
                Explanation(source.example.id, source.example.texts, source.tokens, target, selection, provenance)
            )
        return Explanations(explanations)


def _read(config: Mapping[str, Any]) -> tuple[Architecture, str, dict[str, Any]]:
    """What a saved config says of the networks, and of their training: its method and options."""
    try:
        given = config["architecture"]
        lists = {name: tuple(given[name]) for name in ("labels", "priors") if name in given}
        architecture = Architecture(**{**given, **lists})
        return architecture, str(config["method"]), dict(config["params"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"its config.json is damaged: {error!r}") from error
