"""The place in which the code of the docs runs: a directory with small classifiers and some data in it."""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from rationales.data.planted import PAIR_LABELS, REVIEW_LABELS, pairs, reviews
from rationales.explainers import aligners, explainers
from rationales.metrics import metrics
from rationales.models import PairClassifier, TransformersClassifier
from rationales.models.pairs import Architecture
from rationales.models.rationalizer.words import word_tokenizer
from tiny import PIECES, SPECIALS

DOCS = Path(__file__).parents[2] / "docs"


def tokenizer() -> PreTrainedTokenizerFast:
    """Words of the planted reviews and the pieces of the other tests; up to 128 tokens."""
    cutter = pre_tokenizers.BertPreTokenizer()
    words = {word for item in reviews(200) for word, _ in cutter.pre_tokenize_str(item.texts[0].lower())}
    pieces = dict.fromkeys([*SPECIALS, *PIECES, *sorted(words)])
    core = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    core.normalizer, core.pre_tokenizer = normalizers.Lowercase(), cutter
    core.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIALS, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=128, **names)


def pair_classifier() -> PairClassifier:
    """Decomposable Attention that knows the words of planted pairs, with random weights."""
    words = {word.strip(".,").lower() for item in pairs(200) for text in item.texts for word in text.split()}
    own = word_tokenizer([*sorted(words), ".", ","])
    architecture = Architecture("da", PAIR_LABELS, len(own), vector_size=8, hidden=6)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = architecture.network()
        for parameter in network.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, 0.0, 0.6)
    return PairClassifier(network.eval(), own, architecture)


@pytest.fixture(scope="session")
def models_on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models that the pages call "my-classifier", "my-encoder" and "my-nli"."""
    own = tokenizer()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = BertForSequenceClassification(
            BertConfig(
                vocab_size=len(own),
                hidden_size=16,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=32,
                max_position_embeddings=128,
                pad_token_id=0,
                id2label=dict(enumerate(REVIEW_LABELS)),
                label2id={label: number for number, label in enumerate(REVIEW_LABELS)},
            )
        )
        with torch.no_grad():
            for parameter in network.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0.0, 0.2)
    directory = tmp_path_factory.mktemp("docs")
    TransformersClassifier(network.eval(), own).save_pretrained(directory / "my-classifier")
    network.bert.save_pretrained(directory / "my-encoder")
    own.save_pretrained(directory / "my-encoder")
    pair_classifier().save_pretrained(directory / "my-nli")
    return directory


@pytest.fixture
def desk(models_on_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with these models, `reviews.csv` and `texts.txt`; what a page registers goes again."""
    shutil.copytree(models_on_disk, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "reviews.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        rows.writerows([item.texts[0], REVIEW_LABELS[item.label]] for item in reviews(20, seed=3))
    (tmp_path / "texts.txt").write_text("The soup was cold.\nThe waiter was friendly.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(DOCS / "metrics"))  # toy.py
    monkeypatch.delitem(sys.modules, "toy", raising=False)
    for registry in (explainers, aligners, metrics):
        len(registry)  # plugins are there now
        monkeypatch.setattr(registry, "_objects", dict(registry._objects))
    return tmp_path
