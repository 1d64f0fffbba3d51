"""Many runs at once against the same runs one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad

from interpreted import needs_interpreter
from rationales.data.example import Example
from rationales.data.planted import REVIEW_LABELS, reviews
from rationales.errors import InputError
from rationales.models.rationalizer import encoders, recurrence
from rationales.models.rationalizer.selecting import Draw
from rationales.train.labels import read_task
from rationales.train.rationalizers import attention, fr, inter_rat, members, nir, ver, weights
from rationales.train.rationalizers import game as game_module
from rationales.train.rationalizers import stack as stack_module
from rationales.train.rationalizers.stack import Curve, Stack, stacked
from rationales.train.rationalizers.weights import tamed

CONFIG = ver.Config(
    out=Path("model"), hidden=12, vector_size=6, batch_size=4, learning_rate=0.01, dropout=0.0, perturb=0.0
)


@pytest.fixture(scope="module")
def task():
    return read_task(reviews(24, seed=0), reviews(10, seed=1), REVIEW_LABELS)


def chosen_without_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(logits: torch.Tensor, eligible: torch.Tensor, temperature: float = 1.0) -> Draw:
        noise = torch.arange(logits.shape[-2]).remainder(7).sub(3)[:, None] / 3
        noisy = logits + noise * torch.tensor([temperature, -1.0])
        return Draw((noisy[..., 1] > noisy[..., 0]) & eligible, noisy.softmax(-1)[..., 1] * eligible)

    monkeypatch.setattr(game_module, "gumbel_draw", draw)


def steps(stack: Stack, number: int, width: int = 96) -> torch.Tensor:
    """Weights of all runs after some steps on fixed rows, [R, P]."""
    for step in range(number):
        stack._rows.copy_(torch.arange(4).add(4 * step).expand(len(stack.members), 4))
        stack._step(width)
    return stack._flat.clone()


def test_a_run_among_others_learns_as_it_would_alone(task, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen_without_chance(monkeypatch)
    configs = [replace(CONFIG, seed=1), replace(CONFIG, seed=2, sparsity=0.3, learning_rate=0.02, narrowing=2)]
    together = steps(stacked("ver", [(task, config) for config in configs]), 3)
    for number, config in enumerate(configs):
        alone = steps(stacked("ver", [(task, config)]), 3)
        assert torch.allclose(together[number], alone[0], atol=1e-5)
    assert not torch.allclose(together[0], together[1], atol=1e-2)


def test_the_gradient_is_that_of_the_game(task, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen_without_chance(monkeypatch)
    stack = stacked("ver", [(task, replace(CONFIG, seed=3))])
    weights = {name: tensor[0].clone() for name, tensor in stack._weights.items()}
    batch, targets = stack.table.batch(range(4))

    def loss(some: dict[str, torch.Tensor]) -> torch.Tensor:
        return functional_call(stack.game, some, (batch, targets), tie_weights=False).loss

    wanted = grad(loss)(weights)
    steps(stack, 1)
    found = stack._named(stack._moments[0] / 0.1)  # the first moment after one step
    for name, tensor in wanted.items():
        assert torch.allclose(found[name][0], tensor, atol=1e-5), name


def test_more_is_wanted_while_it_narrows(task, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen_without_chance(monkeypatch)
    narrowing = replace(CONFIG, sparsity=0.09, narrowing=1)  # in the first update 0.09 ** (1 / 2), then 0.09
    both, other = (stacked("ver", [(task, config)]) for config in (narrowing, replace(CONFIG, sparsity=0.3)))
    assert torch.allclose(steps(both, 1), steps(other, 1), atol=1e-6)
    other._numbers["sparsity"].fill_(0.09)
    assert torch.allclose(steps(both, 1), steps(other, 1), atol=1e-6)


def test_the_step_is_that_of_adam(task) -> None:
    stack = stacked("ver", [(task, CONFIG), (task, replace(CONFIG, learning_rate=0.1))])
    rows = [stack._flat.clone().requires_grad_() for _ in range(2)]
    optimizers = [torch.optim.Adam([row], lr=rate) for row, rate in zip(rows, (0.01, 0.1), strict=True)]
    for _ in range(3):
        gradient = torch.randn_like(stack._flat)
        stack._descend(gradient)
        for row, optimizer in zip(rows, optimizers, strict=True):
            row.grad = gradient
            optimizer.step()
    for number, row in enumerate(rows):
        assert torch.allclose(stack._flat[number], row[number], atol=1e-5)


def test_a_predictor_may_learn_more_slowly(task) -> None:
    stack = stacked("ver", [(task, replace(CONFIG, predictor_rate=0.1))])
    before = {name: tensor.clone() for name, tensor in stack._weights.items()}
    stack._descend(torch.ones_like(stack._flat))  # Adam's first step has the size of the rate
    for name, tensor in stack._weights.items():
        rate = 0.001 if name.startswith("networks.predictor.") else 0.01
        assert torch.allclose(before[name] - tensor, torch.full_like(tensor, rate), rtol=1e-2), name


def test_kernels_learn_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_interpreter()
    chosen_without_chance(monkeypatch)
    texts = ("good food here", "bad food", "a good place it is", "all was bad", "the best", "the worst of all")
    short = [Example(str(number), (text,), label=number % 2) for number, text in enumerate(texts)]
    words = sorted({word for text in texts for word in text.split()})
    rng = np.random.default_rng(0)
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} {' '.join(map(str, rng.normal(size=6)))}\n" for word in words))
    runs = [
        (read_task(short, short, REVIEW_LABELS), replace(CONFIG, vectors=str(vectors), seed=seed)) for seed in (1, 2)
    ]
    wanted = steps(stacked("ver", runs), 1, width=8)
    for module in (recurrence, weights, encoders):
        monkeypatch.setattr(module, "has_kernels", lambda _device: True)
    stack = stacked("ver", runs)
    assert stack.model.networks.selector.encoder.vectors.weight.dtype == torch.float16
    found = steps(stack, 1, width=8)
    assert float((found - wanted).abs().mean()) < 1e-4  # steps of 0.01 by the sign of what may be tiny
    assert stack.trained(0).networks.selector.encoder.vectors.weight.dtype == torch.float32


def test_a_trained_run_has_the_weights_of_its_best_evaluation(task) -> None:
    stack = stacked("ver", [(task, replace(CONFIG, seed=seed, perturb=0.3 * seed)) for seed in (0, 1)])
    kept = {}

    def report(done: int) -> None:
        kept[done] = stack._flat.clone()

    stack.train(6, every=2, report=report)
    for number, curve in enumerate(stack.curves):
        assert curve.updates == [2, 4, 6]
        best = stack._named(kept[curve.updates[curve.best]])
        model = stack.trained(number)
        for name, parameter in model.networks.named_parameters():
            assert torch.equal(parameter, best[f"networks.{name}"][number])
        assert model.params["perturb"] == 0.3 * number
        said = [found.target.index for found in model.explain(model.encode(task.dev.examples))]
        labels = task.dev.targets.numpy()
        each = [np.mean(np.array(said)[labels == label] == label) for label in (0, 1)]
        assert np.mean(each) == pytest.approx(curve.accuracy[curve.best])


def test_accuracy_counts_every_class_the_same(task) -> None:
    few = replace_dev(task, [0] * 8 + [1] * 2)
    stack = stacked("ver", [(few, replace(CONFIG, sparsity=0.0, sparsity_weight=100.0))])
    with torch.no_grad():  # a predictor that always says the first class
        for name, tensor in stack._weights.items():
            if "predictor.head" in name:
                tensor.zero_()
                if tensor.dim() == 2:
                    tensor[:, 0] = 1.0
    accuracy, _ = stack._on_dev()
    assert accuracy[0] == pytest.approx(0.5)


def replace_dev(task, labels: list[int]):
    return replace(task, dev=replace(task.dev, targets=torch.tensor(labels)))


def test_each_run_has_its_own_data(task) -> None:
    other = read_task(reviews(16, seed=5), reviews(6, seed=6), REVIEW_LABELS)
    stack = stacked("ver", [(task, CONFIG), (other, CONFIG), (task, replace(CONFIG, seed=1))])
    sizes = [(member.train[0], len(member.train), member.dev[0], len(member.dev)) for member in stack.members]
    assert sizes == [(0, 24, 0, 10), (24, 16, 10, 6), (0, 24, 0, 10)]
    stack.train(2, every=2)
    assert all(len(curve.loss) == 1 for curve in stack.curves)


def table(targets: np.ndarray, lengths: np.ndarray | None = None) -> SimpleNamespace:
    return SimpleNamespace(targets=torch.from_numpy(targets), lengths=[] if lengths is None else lengths.tolist())


def test_a_batch_has_no_text_twice_before_an_epoch_is_over() -> None:
    member = members.Member(replace(CONFIG, batch_size=4), np.arange(10), np.arange(2))
    texts = table(targets=np.zeros(10, np.int64), lengths=np.arange(1, 11))
    planned = members.steps([members.Stream(member, texts)], texts, 4, 0)
    for _ in range(20):
        assert len(set(next(planned)[1].flatten().tolist())) >= 3


def test_each_run_knows_its_own_training_data_as_a_whole() -> None:
    def only(word: str):
        texts = [Example(str(number), (f"{word} food {number % 2}",), label=number % 2) for number in range(4)]
        return read_task(texts, texts, REVIEW_LABELS)

    config = nir.Config(Path("model"), hidden=12, vector_size=6, batch_size=4)
    stack = stacked("nir", [(only("good"), config), (only("bad"), config)])
    known = [
        {stack.model.tokenizer.convert_ids_to_tokens(int(word)) for word in words[: int(number)]}
        for words, number in zip(stack._numbers["words"], stack._numbers["known"], strict=True)
    ]
    assert known == [{"good", "food", "0", "1"}, {"bad", "food", "0", "1"}]


def test_padding_and_unknown_words_say_nothing_whatever_the_encoders(task) -> None:
    for method in ("ver", "fr"):
        config = {"ver": CONFIG, "fr": fr.Config(**vars(CONFIG))}[method]
        stack = stacked(method, [(task, config)])
        assert not stack._weights["networks.selector.encoder.vectors.weight"][0, :2].any()


def test_runs_that_select_afterwards_have_their_own_shares(task) -> None:
    configs = [attention.Config(Path("model"), hidden=12, vector_size=6, sparsity=share) for share in (0.1, 0.9)]
    stack = stacked("attention", [(task, config) for config in configs])
    assert [stack.trained(number).architecture.post_hoc for number in (0, 1)] == [0.1, 0.9]


def test_runs_that_differ_by_their_networks_are_refused(task) -> None:
    configs = [
        inter_rat.Config(Path("model"), hidden=12, vector_size=6, priors=priors) for priors in ("0.5,0.5", "0.1,0.9")
    ]
    with pytest.raises(InputError, match="the same networks"):
        stacked("inter_rat", [(task, config) for config in configs])


def test_training_goes_on_where_it_was(task) -> None:
    once, twice = stacked("ver", [(task, CONFIG)]), stacked("ver", [(task, CONFIG)])
    once.train(4, every=4)
    twice.train(2, every=2)
    twice.train(2, every=2)
    assert (once.curves[0].updates, twice.curves[0].updates) == ([4], [2, 4])
    with pytest.raises(InputError, match="at least 1"):
        once.train(2, every=0)


def test_the_callers_random_numbers_are_left_alone(task) -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    stacked("ver", [(task, CONFIG)]).train(1, every=1)
    assert torch.equal(torch.rand(3), wanted)


def test_balanced_runs_see_as_many_texts_of_each_class() -> None:
    targets = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    member = members.Member(CONFIG, np.arange(8), np.arange(2), balance=True)
    stream = members.Stream(member, table(targets=targets))
    epochs = [stream.take(4) for _ in range(20)]
    assert all(sorted(targets[rows]) == [0, 0, 1, 1] for rows in epochs)
    assert set(np.concatenate(epochs)) == set(range(8))


def test_batches_of_a_step_are_of_like_length() -> None:
    lengths = np.arange(1, 401)
    member = members.Member(replace(CONFIG, batch_size=4), np.arange(400), np.arange(2))
    texts = table(targets=np.zeros(400, np.int64), lengths=lengths)
    planned = members.steps([members.Stream(member, texts)], texts, 4, 0)
    for _ in range(40):
        width, rows = next(planned)
        own = lengths[rows.numpy()]
        assert own.max() <= width < own.max() + 32
        assert np.ptp(own) < 120


@pytest.mark.parametrize(
    ("change", "message"),
    [({"hidden": 16}, "same hidden"), ({"decay": True}, "same decay"), ({"batch_size": 8}, "same batch_size")],
)
def test_runs_must_be_alike(task, change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        stacked("ver", [(task, CONFIG), (task, replace(CONFIG, **change))])


def test_a_schedule_is_refused(task) -> None:
    with pytest.raises(InputError, match="keep their learning rate"):
        stacked("ver", [(task, replace(CONFIG, decay=True))])


def test_nothing_is_nothing() -> None:
    with pytest.raises(InputError, match="no run"):
        stack_module._check_alike([], ())


def test_the_best_evaluation_is_near_the_wanted_share() -> None:
    curve = Curve([1, 2, 3, 4], [0.0] * 4, [0.0] * 4, [0.9, 0.7, 0.8, 0.8], [0.5, 0.105, 0.1, 0.095], wanted=0.1)
    assert curve.best == 2
    same = Curve([1, 2, 3, 4], [0.0] * 4, [0.0] * 4, [1.0] * 4, [0.3, 0.2, 0.15, 0.2], wanted=0.1)
    assert same.best == 2
    assert Curve([1, 2], [0.0] * 2, [0.0] * 2, [0.9, 0.7], [0.5, 0.4], wanted=0.1).best == 0
    assert Curve([1, 2], [0.0] * 2, [0.0] * 2, [0.6, 0.7], [0.5, 0.4]).best == 1
    assert Curve([1, 2], [0.0] * 2, [0.0] * 2, [0.9, 0.7], [0.5, 0.4], wanted=0.1, narrowing=1).best == 1


def test_a_gradient_that_is_no_number_changes_nothing() -> None:
    gradient = torch.tensor([[3.0, 4.0], [float("nan"), 1.0], [float("inf"), 0.0]])
    assert tamed(gradient, 0.0).tolist() == [[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]]
    clipped = tamed(gradient, 1.0)
    assert clipped[0].tolist() == pytest.approx([0.6, 0.8])
    assert not clipped[1:].any()
