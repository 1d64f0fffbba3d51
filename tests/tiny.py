"""Tiny models with random weights and a word-level tokenizer, built from a config: no downloads."""

from __future__ import annotations

import random
import warnings
from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BartConfig,
    BartForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    LongformerConfig,
    LongformerForSequenceClassification,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from rationales.data.example import Example
from rationales.models import PairClassifier, TransformersClassifier
from rationales.models.pairs import Architecture, Kind
from rationales.models.rationalizer.words import word_tokenizer

with warnings.catch_warnings():  # its module uses torch.jit.script, which is deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = (  # noqa: SIM905
    "the a an and but was is were very not so food soup pasta waiter staff room view price good bad great awful "
    "bland tasty friendly rude slow quick clean dirty cheap un ##friend ##ly ##taste ##ful del ##icious , . ! ? "
    "we i they came back again never always loved hated it"
).split()


@cache
def tokenizer(decoder: bool = False) -> PreTrainedTokenizerFast:
    vocabulary = {piece: number for number, piece in enumerate(SPECIALS + PIECES)}
    core = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if not decoder:
        core.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
        model_input_names=["input_ids", "attention_mask"] + ([] if decoder else ["token_type_ids"]),
    )


SIZE: dict[str, Any] = {"vocab_size": len(SPECIALS + PIECES)}
STACK: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 72,
    "pad_token_id": 0,
}
BUILDERS: dict[str, Any] = {
    "bert": lambda **more: BertForSequenceClassification(BertConfig(**SIZE, **STACK, **more)),
    "roberta": lambda **more: RobertaForSequenceClassification(
        RobertaConfig(**SIZE, **{**STACK, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}, **more)
    ),
    "distilbert": lambda **more: DistilBertForSequenceClassification(
        DistilBertConfig(**SIZE, dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=72, **more)
    ),
    "modernbert": lambda **more: ModernBertForSequenceClassification(
        ModernBertConfig(
            **SIZE, **STACK, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3,
            global_attn_every_n_layers=2, local_attention=8, **more,
        )
    ),
    "deberta": lambda **more: DebertaV2ForSequenceClassification(
        DebertaV2Config(**SIZE, **STACK, relative_attention=True, pos_att_type=["c2p", "p2c"], **more)
    ),
    "llama": lambda **more: LlamaForSequenceClassification(
        LlamaConfig(**SIZE, **STACK, num_key_value_heads=1, bos_token_id=2, eos_token_id=3, **more)
    ),
    "longformer": lambda **more: LongformerForSequenceClassification(
        LongformerConfig(**SIZE, **STACK, attention_window=8, **more)
    ),
    "gpt2": lambda **more: GPT2ForSequenceClassification(
        GPT2Config(**SIZE, n_embd=16, n_layer=2, n_head=2, n_positions=72, bos_token_id=2, eos_token_id=3, **more)
    ),
    "bart": lambda **more: BartForSequenceClassification(
        BartConfig(
            **SIZE, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=72,
            pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=3, forced_eos_token_id=None, **more,
        )
    ),
}  # fmt: skip


def network(kind: str = "bert", *, seed: int = 0, labels: int = 3, **more: Any) -> PreTrainedModel:
    """A network with weights large enough that attributions are not all alike."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: PreTrainedModel = BUILDERS[kind](num_labels=labels, **more)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0.0, 0.3)
    return model.eval()


def classifier(kind: str = "bert", **options: Any) -> TransformersClassifier:
    own = {name: options.pop(name) for name in ("padding", "budget", "max_length", "truncation") if name in options}
    return TransformersClassifier(network(kind, **options), tokenizer(kind in ("llama", "gpt2")), **own)


def pair_classifier(kind: Kind = "da", *, seed: int = 0, labels: int = 3, **options: Any) -> PairClassifier:
    """Decomposable Attention or ESIM with weights large enough that links matter."""
    words = word_tokenizer([piece for piece in PIECES if not piece.startswith("##")])
    architecture = Architecture(kind, ("a", "b", "c", "d")[:labels], len(words), vector_size=8, hidden=6)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        own = architecture.network()
        with torch.no_grad():
            for parameter in own.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0.0, 0.6)
    return PairClassifier(own.eval(), words, architecture, **options)


def coattentive(kind: str, **options: Any) -> PairClassifier | TransformersClassifier:
    """A tiny model that links two texts, of any kind."""
    return pair_classifier(kind, **options) if kind in ("da", "esim") else classifier(kind, **options)  # type: ignore[arg-type]


TEXTS = (
    "the food was very good and the staff friendly .",
    "awful",
    "we loved the soup , but the waiter was rude and slow !",
    "so unfriendly",
    "the room was dirty . the view great . delicious pasta , we came back again and again and again !",
)
PAIRS = (("the soup was tasty .", "the food was good"), ("bad", "they hated it , always"), ("rude staff", "unfriendly"))


@cache
def crowd(size: int = 64) -> tuple[Example, ...]:
    """Texts of 1 to 13 words, every third a pair, repeated words among them."""
    drawn, words = random.Random(0), [piece for piece in PIECES if not piece.startswith("##")]

    def text(length: int) -> str:
        return " ".join(drawn.choices(words, k=length))

    rows = []
    for number in range(size):
        whole = text(1 + number * 5 % 13)
        rows.append(Example(f"c{number}", (whole, text(1 + number % 4)) if number % 3 == 2 else (whole,)))
    rows[size // 2] = Example("repeats", ("so so so so good good ! ! unfriendly unfriendly",))
    return tuple(rows)


def singles() -> list[Example]:
    return [Example(str(number), (text,)) for number, text in enumerate(TEXTS)]


def pairs() -> list[Example]:
    return [Example(str(number), texts) for number, texts in enumerate(PAIRS)]
