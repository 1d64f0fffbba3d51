from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

import tiny
from rationales.data.example import Example
from rationales.errors import InputError, MissingCapability, ModelError
from rationales.models import TransformersClassifier, load
from rationales.models.loading import best_device, default_budget, loading

LONG = "the food was good and the staff was friendly and the room was clean"


def example(*texts: str, id: str = "x") -> Example:
    return Example(id, texts)


class TestEncode:
    def test_ids_are_those_of_the_tokenizer(self) -> None:
        model = tiny.classifier()
        batch = model.encode([*tiny.singles(), *tiny.pairs()])
        for row, given in enumerate([*tiny.singles(), *tiny.pairs()]):
            wanted = model.tokenizer(*given.texts)
            length = len(wanted["input_ids"])
            assert batch.ids[row, :length].tolist() == wanted["input_ids"]
            assert batch.types[row, :length].tolist() == wanted["token_type_ids"]
            assert batch.lengths[row] == length
            assert batch.sources[row].example == given

    def test_singles_and_pairs_together_keep_their_order(self) -> None:
        model = tiny.classifier()
        mixed = [tiny.pairs()[0], tiny.singles()[0], tiny.pairs()[1], tiny.singles()[1], tiny.pairs()[2]]
        batch = model.encode(mixed)
        assert [source.example for source in batch.sources] == mixed
        for row, given in enumerate(mixed):
            alone = model.encode([given])
            assert batch.ids[row][batch.keep[row]].tolist() == alone.ids[0].tolist()
            assert batch.segments[row][batch.keep[row]].tolist() == alone.segments[0].tolist()

    @pytest.mark.parametrize("kind", ["bert", "bart", "llama"])
    def test_a_mixed_batch_gives_the_logits_of_each_alone(self, kind: str) -> None:
        """BART wants equally many end tokens in each row, and a pair has one more than a single text."""
        model = tiny.classifier(kind)
        mixed = [*tiny.pairs(), *tiny.singles()]
        batch = model.encode(mixed)
        with torch.no_grad():
            alone = torch.cat([model.logits(model.encode([given])) for given in mixed])
            assert torch.allclose(model.logits(batch), alone, atol=1e-5)
            assert torch.allclose(model.logits_from(model.embed(batch), batch), alone, atol=1e-5)

    def test_segments_and_specials(self) -> None:
        batch = tiny.classifier().encode([example("so unfriendly", "bad food")])
        assert [token.text for token in batch.sources[0].tokens] == [
            *("[CLS]", "so", "un", "friend", "ly", "[SEP]", "bad", "food", "[SEP]")
        ]
        assert batch.segments.tolist() == [[-1, 0, 0, 0, 0, -1, 1, 1, -1]]
        assert batch.types.tolist() == [[0, 0, 0, 0, 0, 0, 1, 1, 1]]

    def test_a_special_token_that_a_user_typed_belongs_to_the_text(self) -> None:
        batch = tiny.classifier().encode([example("the [SEP] food")])
        assert batch.segments.tolist() == [[-1, 0, 0, 0, -1]]
        assert batch.sources[0].tokens[2].text == "[SEP]"

    @pytest.mark.parametrize("kind", ["bert", "bart", "gpt2"])
    def test_such_a_text_can_be_erased_token_by_token(self, kind: str) -> None:
        model = tiny.classifier(kind)
        batch = model.encode([example("the [SEP] food"), example("so good food")])
        with torch.no_grad():
            for column in range(batch.width):
                drop = torch.zeros(batch.ids.shape, dtype=torch.bool)
                drop[0, column] = batch.content[0, column]
                for how in ("delete", "mask", "pad", "zero"):
                    assert model.logits(model.erase(batch, drop, how)).isfinite().all()

    def test_nothing(self) -> None:
        with pytest.raises(InputError, match="there are no texts to encode"):
            tiny.classifier().encode([])

    @pytest.mark.parametrize("padding", ["right", "left"])
    def test_a_text_without_tokens(self, padding: str) -> None:
        model = tiny.classifier("llama", padding=padding)
        for given in ([example("", id="nothing")], [example("good"), example(" \n ", id="nothing")]):
            with pytest.raises(InputError, match=r"the text 'nothing' has no tokens.*Llama.* adds none"):
                model.encode(given)
        assert model.encode([example("", "good")]).lengths.tolist() == [1]
        assert tiny.classifier("bert").encode([example("")]).lengths.tolist() == [2]


class TestTruncation:
    def test_by_default_the_end_is_cut_and_the_warning_counts(self) -> None:
        model = tiny.classifier(max_length=8)
        texts = [example(LONG), example("good"), example(LONG)]
        with pytest.warns(UserWarning, match="2 of 3 texts were longer than 8 tokens and were cut at") as caught:
            batch = model.encode(texts)
        assert caught[0].filename == __file__
        assert batch.lengths.tolist() == [8, 3, 8]
        assert [source.cut for source in batch.sources] == [True, False, True]
        assert " ".join(t.text for t in batch.sources[0].tokens) == "[CLS] the food was good and the [SEP]"

    def test_silently_when_asked(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert tiny.classifier(max_length=8).encode([example(LONG)], warn=False).width == 8

    def test_the_longer_text_of_a_pair_is_cut_first(self) -> None:
        model = tiny.classifier(max_length=10)
        with pytest.warns(UserWarning, match="1 of 1"):
            batch = model.encode([example(LONG, "bad food")])
        assert " ".join(t.text for t in batch.sources[0].tokens) == "[CLS] the food was good and [SEP] bad food [SEP]"

    def test_as_an_error(self) -> None:
        model = tiny.classifier(max_length=8, truncation="error")
        assert model.encode([example("the food was good")]).width == 6
        with pytest.raises(InputError, match=r"1 text\(s\) are longer than 8 tokens, the first is 'long'"):
            model.encode([example("good"), example(LONG, id="long")])

    def test_a_tokenizer_that_would_cut_the_beginning(self) -> None:
        tokenizer = tiny.tokenizer.__wrapped__()
        tokenizer.truncation_side = "left"
        model = TransformersClassifier(tiny.network(), tokenizer, max_length=4)
        batch = model.encode([example(LONG)], warn=False)
        assert [t.text for t in batch.sources[0].tokens] == ["[CLS]", "the", "food", "[SEP]"]
        assert tokenizer.truncation_side == "left"

    @pytest.mark.parametrize("before", [None, 5])
    def test_the_tokenizer_comes_back_as_it_was(self, before: int | None) -> None:
        tokenizer = tiny.tokenizer.__wrapped__()
        backend = tokenizer.backend_tokenizer
        if before:
            backend.enable_truncation(before)
            backend.enable_padding(length=9)
        settings = backend.truncation, backend.padding
        model = TransformersClassifier(tiny.network(), tokenizer, max_length=8)
        assert model.encode([example(LONG), example("good")], warn=False).lengths.tolist() == [8, 3]
        assert (backend.truncation, backend.padding) == settings

    def test_the_limit_is_what_model_and_tokenizer_allow(self) -> None:
        assert tiny.classifier().max_length == 64  # the tokenizer's, below the model's 72
        tokenizer = tiny.tokenizer.__wrapped__()
        tokenizer.model_max_length = 10**30
        assert TransformersClassifier(tiny.network(), tokenizer).max_length == 72
        assert TransformersClassifier(tiny.network("roberta"), tokenizer).max_length == 71  # position 0 is padding's
        long = example(" ".join(["good"] * 100))
        for kind in ("bert", "roberta", "gpt2", "bart"):
            model = TransformersClassifier(tiny.network(kind), tokenizer)
            with torch.no_grad():
                assert model.logits(model.encode([long], warn=False)).isfinite().all()

    @pytest.mark.parametrize("length", [0, -3, 65])
    def test_a_length_that_cannot_be(self, length: int) -> None:
        with pytest.raises(InputError, match=rf"max_length must lie in 1 … 64 for Bert.*, got {length}"):
            tiny.classifier(max_length=length)

    def test_a_length_that_special_tokens_alone_exceed(self) -> None:
        with pytest.raises(InputError, match="max_length is 2, which is less than the special tokens"):
            tiny.classifier(max_length=2).encode([example("good", "bad")])


def byte_level(*, prefix: bool, trim: bool) -> PreTrainedTokenizerFast:
    """As GPT-2's or RoBERTa's: bytes, and the space before a word is part of it."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    core.post_processor = processors.ByteLevel(trim_offsets=trim)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        tiny.TEXTS, trainers.BpeTrainer(vocab_size=320, special_tokens=["<pad>"], initial_alphabet=alphabet)
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>")


def metaspace(scheme: Any) -> PreTrainedTokenizerFast:
    """As Llama's or XLM-R's: a word begins with ▁."""
    core = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    special = ["<pad>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    core.train_from_iterator(tiny.TEXTS, trainers.BpeTrainer(vocab_size=380, special_tokens=special))
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", unk_token="<unk>")


STRANGE = (
    "the food was very good",
    "  the  food ,good!  ",
    "Great view.\n\nNever again\tcafé naïve",
    "good 😀👍🏽 food 𝔘𝔫𝔦",
)


class TestOffsets:
    @pytest.mark.parametrize(
        "tokenizer",
        [
            byte_level(prefix=True, trim=True),
            byte_level(prefix=False, trim=False),
            byte_level(prefix=False, trim=True),
            metaspace("always"),
            metaspace("first"),
            metaspace("never"),
            tiny.tokenizer(),
        ],
        ids=["prefix", "bytes", "bytes-trimmed", "metaspace-always", "metaspace-first", "metaspace-never", "wordpiece"],
    )
    @pytest.mark.parametrize("texts", [*((text,) for text in STRANGE), STRANGE[:2], STRANGE[2:]])
    def test_tokens_cover_words_without_the_space_before_them(self, tokenizer: Any, texts: tuple[str, ...]) -> None:
        network = tiny.network("gpt2")
        network.set_input_embeddings(torch.nn.Embedding(len(tokenizer), 16))
        (source,) = TransformersClassifier(network, tokenizer).encode([example(*texts)]).sources
        for segment, text in enumerate(texts):
            covered: set[int] = set()
            for token in source.tokens:
                if token.segment == segment:
                    assert token.text == text[token.start : token.end]
                    assert token.text == token.text.lstrip()
                    covered |= set(range(token.start, token.end))
            assert {place for place, letter in enumerate(text) if not letter.isspace()} <= covered
            starts = [token.start for token in source.tokens if token.segment == segment and token.text]
            assert starts == sorted(starts)


class TestOutputs:
    def test_labels(self) -> None:
        network = tiny.network(labels=2)
        network.config.id2label = {0: "bad", 1: "good"}
        assert TransformersClassifier(network, tiny.tokenizer()).labels == ("bad", "good")
        assert tiny.classifier().labels == ("LABEL_0", "LABEL_1", "LABEL_2")

    def test_probabilities(self) -> None:
        model = tiny.classifier()
        logits = torch.tensor([[0.0, 1.0, 2.0]])
        assert torch.allclose(model.probabilities(logits), logits.softmax(-1))
        assert not model.regression
        assert not model.multi_label

    @pytest.mark.parametrize(("labels", "problem"), [(1, None), (1, "regression"), (2, "regression")])
    def test_regression(self, labels: int, problem: str | None) -> None:
        model = TransformersClassifier(tiny.network(labels=labels, problem_type=problem), tiny.tokenizer())
        assert model.regression
        logits = torch.tensor([[-3.5] * labels])
        assert torch.equal(model.probabilities(logits), logits)

    @pytest.mark.parametrize("labels", [1, 3])
    def test_multi_label(self, labels: int) -> None:
        network = tiny.network(labels=labels, problem_type="multi_label_classification")
        model = TransformersClassifier(network, tiny.tokenizer())
        assert model.multi_label
        assert not model.regression
        logits = torch.tensor([[-3.5] * labels])
        assert torch.equal(model.probabilities(logits), logits.sigmoid())

    @pytest.mark.parametrize("kind", ["bert", "gpt2", "bart", "roberta"])
    def test_zeroed_words_are_gone_for_the_whole_model(self, kind: str) -> None:
        """Two texts of equal length whose words are all zeroed are the same text, for a decoder behind it too."""
        model = tiny.classifier(kind)
        batch = model.encode([example("good soup !"), example("awful slow staff")])
        blank = model.erase(batch, batch.content, "zero")
        with torch.no_grad():
            one, two = model.logits(blank)
            assert torch.allclose(one, two, atol=1e-6)
            assert not torch.allclose(*model.logits(batch), atol=1e-3)

    @pytest.mark.parametrize("kind", ["bert", "llama", "gpt2", "bart"])
    def test_embeddings_and_back(self, kind: str) -> None:
        model = tiny.classifier(kind)
        batch = model.encode(tiny.singles())
        with torch.no_grad():
            embeddings = model.embed(batch)
            before = embeddings.clone()
            assert torch.equal(model.logits_from(embeddings, batch), model.logits(batch))
            assert torch.equal(embeddings, before)
            other = model.encode([example(" ".join(["bad"] * n)) for n in (9, 1, 12, 4, 20)])
            if other.ids.shape == batch.ids.shape and torch.equal(other.keep, batch.keep):
                assert torch.allclose(model.logits_from(model.embed(other), batch), model.logits(other), atol=1e-5)

    @pytest.mark.parametrize("kind", ["bert", "llama", "bart"])
    def test_the_embeddings_decide_not_the_ids(self, kind: str) -> None:
        model = tiny.classifier(kind)
        one, two = model.encode([example("good soup !")]), model.encode([example("awful slow staff")])
        with torch.no_grad():
            assert torch.allclose(model.logits_from(model.embed(two), one), model.logits(two), atol=1e-6)

    def test_half_precision_gives_float32_logits(self) -> None:
        model = TransformersClassifier(tiny.network().to(torch.bfloat16), tiny.tokenizer())
        assert model.logits(model.encode(tiny.singles())).dtype == torch.float32


class TestReadout:
    @pytest.mark.parametrize(("kind", "padding"), [("bert", "right"), ("llama", "right"), ("llama", "left")])
    def test_is_the_column_that_feeds_the_classifier(self, kind: str, padding: str) -> None:
        """The last hidden state at any other column has no effect on the logits."""
        model = tiny.classifier(kind, padding=padding)
        batch = model.encode(tiny.singles())
        states: list[torch.Tensor] = []

        def keep_state(_module: Any, _args: Any, output: Any) -> None:
            output.last_hidden_state.retain_grad()
            states.append(output.last_hidden_state)

        if kind == "bert":
            handle = model.model.bert.encoder.register_forward_hook(keep_state)
        else:
            handle = model.model.model.register_forward_hook(keep_state)
        model.logits(batch).sum().backward()
        handle.remove()
        felt = states[0].grad.abs().sum(-1) > 0
        assert felt.sum(-1).tolist() == [1] * 5
        assert felt.int().argmax(-1).tolist() == model.readout(batch).tolist()

    def test_left_padding_needs_a_decoder(self) -> None:
        with pytest.raises(MissingCapability, match="BertForSequenceClassification can only be padded right"):
            tiny.classifier("bert", padding="left")

    def test_a_decoder_that_knows_no_padding_token(self) -> None:
        model = tiny.classifier("gpt2")
        assert model.model.config.pad_token_id is None
        with torch.no_grad():
            together = model.logits(model.encode(tiny.singles()))
            alone = torch.cat([model.logits(model.encode([given])) for given in tiny.singles()])
        assert torch.allclose(together, alone, atol=1e-5)


class TestFiles:
    def test_saved_and_loaded(self, tmp_path: Path) -> None:
        model = tiny.classifier()
        model.save_pretrained(tmp_path / "m")
        assert (tmp_path / "m" / "model.safetensors").is_file()
        again = TransformersClassifier.from_pretrained(
            tmp_path / "m", device="cpu", max_length=32, truncation="error", budget=99
        )
        assert again.name == str(tmp_path / "m")
        assert (again.max_length, again.truncation, again.budget) == (32, "error", 99)
        assert again.labels == model.labels
        assert not again.model.training
        mixed = [*tiny.singles(), *tiny.pairs()]
        with torch.no_grad():
            assert torch.equal(again.encode(mixed).types, model.encode(mixed).types)
            assert torch.equal(again.logits(again.encode(mixed)), model.logits(model.encode(mixed)))
        half = TransformersClassifier.from_pretrained(tmp_path / "m", device="cpu", dtype=torch.bfloat16)
        assert half.model.dtype == torch.bfloat16

    def test_an_encoder_is_not_a_classifier(self, tmp_path: Path) -> None:
        BertModel(BertConfig(**tiny.SIZE, **tiny.STACK)).save_pretrained(tmp_path)
        tiny.tokenizer().save_pretrained(tmp_path)
        with pytest.raises(ModelError, match=r"holds BertModel, not a trained classifier\. Train one on it"):
            TransformersClassifier.from_pretrained(tmp_path)

    def test_a_config_that_names_no_architecture(self, tmp_path: Path) -> None:
        tiny.classifier().save_pretrained(tmp_path)
        config = json.loads((tmp_path / "config.json").read_text())
        del config["architectures"]
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(ModelError, match="holds no known architecture, not a trained classifier"):
            TransformersClassifier.from_pretrained(tmp_path)

    def test_a_directory_without_a_model(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        with pytest.raises(ModelError, match=r"no classifier could be loaded from .*empty"):
            TransformersClassifier.from_pretrained(tmp_path / "empty")
        with pytest.raises(ModelError, match=r"there is no directory .*absent"):
            TransformersClassifier.from_pretrained(tmp_path / "absent")

    def test_a_damaged_config(self, tmp_path: Path) -> None:
        tiny.classifier().save_pretrained(tmp_path)
        (tmp_path / "config.json").write_text('{"model_type": "bert", ')
        with pytest.raises(ModelError, match="no classifier could be loaded from"):
            TransformersClassifier.from_pretrained(tmp_path)

    def test_weights_of_another_shape(self, tmp_path: Path) -> None:
        tiny.classifier().save_pretrained(tmp_path)
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps({**config, "intermediate_size": 48}))
        with pytest.raises(ModelError, match="no classifier could be loaded from"):
            TransformersClassifier.from_pretrained(tmp_path, device="cpu")

    def test_damaged_weights(self, tmp_path: Path) -> None:
        tiny.classifier().save_pretrained(tmp_path)
        weights = tmp_path / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:1000])
        with pytest.raises(ModelError, match="no classifier could be loaded from"):
            TransformersClassifier.from_pretrained(tmp_path, device="cpu")


class TestLoad:
    def test_whatever_the_user_has(self, tmp_path: Path) -> None:
        model = tiny.classifier()
        model.save_pretrained(tmp_path)
        assert load(model) is model
        assert load(model.model, model.tokenizer, device="cpu", max_length=9).max_length == 9
        for source in (tmp_path, str(tmp_path)):
            assert load(source, device="cpu").name == str(tmp_path)

        class Pipeline:
            model, tokenizer = tiny.network(), tiny.tokenizer()

        assert load(Pipeline()).model is Pipeline.model

    def test_what_is_not_a_model(self) -> None:
        with pytest.raises(InputError, match="a live model needs its tokenizer"):
            load(tiny.network())
        with pytest.raises(InputError, match=r"a model is a directory, a hub name, .* got 3"):
            load(3)
        with pytest.raises(InputError, match="BertModel is not a sequence classifier"):
            load(BertModel(BertConfig(**tiny.SIZE, **tiny.STACK)), tiny.tokenizer())

    def test_a_slow_tokenizer(self) -> None:
        class Slow:
            is_fast = False

        with pytest.raises(MissingCapability, match="Slow does not tell which characters a token covers"):
            TransformersClassifier(tiny.network(), Slow())


def test_defaults() -> None:
    assert default_budget(tiny.network()) == 2048
    assert tiny.classifier(budget=7).budget == 7
    assert isinstance(best_device(), torch.device)
    assert tiny.classifier().device == torch.device("cpu")


def test_a_name_that_is_no_directory_here_is_said_to_be_none():
    wanted = "from nosuch: there is no such directory, and as a name on the hub: no luck"
    with pytest.raises(ModelError, match=wanted), loading("nosuch"):
        raise OSError("no luck")
