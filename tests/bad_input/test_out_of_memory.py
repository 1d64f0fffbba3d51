"""A device that is too small: smaller batches, the same results, and the user's model as it was."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import torch

from rationales import compare, evaluate, explain
from rationales.errors import ModelError
from rationales.explainers import explainers
from rationales.explanation import Explanations, Scores
from rationales.metrics import metrics
from rationales.models import TransformersClassifier, packer
from rationales.run import explained
from tiny import TEXTS, classifier

BY_MODEL = sorted(name for name, own in metrics.items() if own.needs == ("model",) and Scores in own.bodies)
MESSAGES = {
    "device": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "library": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    "processor": RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
    "python": MemoryError(),
}


@contextmanager
def memory_for(model: TransformersClassifier, tokens: int, *, when: str = "forward", error=MESSAGES["device"]):
    """Inside this block the network has room for so many tokens at once, forward or backward."""
    sizes: list[int] = []

    def refuse(size: int) -> None:
        sizes.append(size)
        if size > tokens:
            raise error

    def forward(_module, _args, given):
        refuse(given["input_ids"].numel())

    def backward(_module, _args, given, output):
        size = given["input_ids"].numel()
        if output.logits.requires_grad:
            output.logits.register_hook(lambda _gradient: refuse(size))

    net = model.model
    if when == "forward":
        handle = net.register_forward_pre_hook(forward, with_kwargs=True)
    else:
        handle = net.register_forward_hook(backward, with_kwargs=True)
    try:
        yield sizes
    finally:
        handle.remove()


def state(model: TransformersClassifier) -> tuple[object, ...]:
    net = model.model
    return (
        {name: (tensor.clone().tolist(), tensor.requires_grad) for name, tensor in net.named_parameters()},
        [(name, part.training, len(part._forward_hooks)) for name, part in net.named_modules()],
        net.config._attn_implementation,
        model.tokenizer.truncation_side,
    )


@pytest.fixture
def model():
    own = classifier("bert")
    own.model.train()  # as a user may hand it over
    own.model.classifier.weight.requires_grad_(False)
    return own


@pytest.mark.parametrize("when", ["forward", "backward"])
@pytest.mark.parametrize("method", sorted(explainers))
def test_every_method_goes_on_with_smaller_batches(model, method, when):
    before, wanted = state(model), explain(model, TEXTS, method)
    with memory_for(model, 60, when=when) as sizes:
        found = explain(model, TEXTS, method)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours.body.values, theirs.body.values, atol=2e-4)
    assert state(model) == before
    assert (model.budget < 2048) == (max(sizes, default=0) > 60)  # remembered, if there was anything to remember


@pytest.mark.parametrize("kind", sorted(MESSAGES))
def test_however_it_is_said(model, kind):
    wanted = explain(model, TEXTS, "leave_one_out")
    with memory_for(model, 60, error=MESSAGES[kind]) as sizes:
        found = explain(model, TEXTS, "leave_one_out")
    assert max(sizes) > 60
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours.body.values, theirs.body.values, atol=1e-5)


def test_metrics_too(model):
    found = explain(model, TEXTS, "random")
    before, wanted = state(model), evaluate(model, found, BY_MODEL)
    with memory_for(model, 60) as sizes:
        measured = evaluate(model, found, BY_MODEL)
    assert max(sizes) > 60
    for ours, theirs in zip(measured, wanted, strict=True):
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-5)
    assert state(model) == before


@pytest.mark.parametrize("when", ["forward", "backward"])
@pytest.mark.parametrize("method", ["integrated_gradients", "gradient", "deeplift", "scaled_attention", "smoothgrad"])
def test_one_text_that_never_fits_is_named_by_its_tokens(model, method, when, tmp_path):
    before, out = state(model), tmp_path / "found.parquet"
    out.write_text("of before")
    with (
        memory_for(model, 10, when=when),
        pytest.raises(ModelError, match=r"one input of 24 tokens does not fit in memory; use a shorter max_length"),
    ):
        explain(model, TEXTS, method, out=out)
    assert state(model) == before
    assert [path.name for path in tmp_path.iterdir()] == ["found.parquet"]
    assert out.read_text() == "of before"


def test_an_error_that_is_another_stays_it(model):
    before = state(model)
    with (
        memory_for(model, 10, error=RuntimeError("shapes cannot be multiplied")),
        pytest.raises(RuntimeError, match="mult"),
    ):
        explain(model, TEXTS, "gradient")
    assert state(model) == before


def test_a_comparison_goes_on_without_the_methods_that_do_not_fit(model):
    with memory_for(model, 23, when="backward"):
        found = compare(model, TEXTS, ["gradient", "leave_one_out"], ["comprehensiveness"])
    failures = {row.method: row.failure for row in found.summary.standings}
    assert failures["leave_one_out"] == ""
    assert failures["gradient"].startswith("one input of 24 tokens does not fit in memory")


def test_the_command_says_it(refused, monkeypatch, model_directory, tmp_path):
    def logits(self, batch):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(TransformersClassifier, "logits", logits)
    out = tmp_path / "found.parquet"
    line = refused("explain", "-m", model_directory, "--method", "random", "--out", out, "good soup")
    assert line.startswith("error: one input of 4 tokens does not fit in memory")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_does_not_fit_on_the_device(refused, monkeypatch, model_directory):
    def to(self, *_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.nn.Module, "to", to)
    line = refused("explain", "-m", model_directory, "--method", "random", "good soup")
    assert line == f"error: {model_directory} does not fit in the memory of cpu; choose another device\n"


def test_what_was_computed_before_is_kept_by_whoever_asked_for_it(model, monkeypatch):
    """Explanations stream: those of earlier rounds are there although a later text does not fit."""
    monkeypatch.setattr(packer, "FEWEST", 1)
    monkeypatch.setattr(packer, "MOST", 1)
    stream = explained(model, ["good soup", "so good", "the soup was very good and tasty"], "gradient")
    with memory_for(model, 5):
        kept = Explanations([next(stream), next(stream)])
        with pytest.raises(ModelError, match="one input of 9 tokens"):
            next(stream)
    assert [one.texts for one in kept] == [("good soup",), ("so good",)]
