from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

import tiny
from rationales.errors import ModelError
from rationales.models import Batch, erased_logits, over, over_rows, packed, packer
from rationales.models.packer import plan

LENGTHS = torch.tensor([3, 9, 1, 4, 4, 7, 2, 9, 5])


class TestPlan:
    @pytest.mark.parametrize("budget", [1, 5, 9, 18, 1000])
    def test_every_input_once_longest_first_within_the_budget(self, budget: int) -> None:
        parts = list(plan(LENGTHS, budget))
        assert sorted(torch.cat(parts).tolist()) == list(range(len(LENGTHS)))
        longest = [int(LENGTHS[part].max()) for part in parts]
        assert longest == sorted(longest, reverse=True)
        for part, width in zip(parts, longest, strict=True):
            assert len(part) * width <= budget or len(part) == 1

    def test_batches_are_full_unless_they_would_be_padding(self) -> None:
        assert [part.tolist() for part in plan(LENGTHS, 18)] == [[1, 7], [5, 8], [3, 4, 0, 6], [2]]
        with patch.object(packer, "ENOUGH", 0):
            assert [part.tolist() for part in plan(LENGTHS, 18)] == [[1, 7], [5], [8], [3, 4], [0], [6], [2]]
            assert [part.tolist() for part in plan(LENGTHS, 8 * 18)] == [[1, 7], [5, 8], [3, 4, 0, 6], [2]]

    def test_little_padding_and_large_batches_go_together(self) -> None:
        lengths = torch.randint(5, 80, (3000,), generator=torch.Generator().manual_seed(0))
        parts = [lengths[part] for part in plan(lengths, 8192)]
        padded = [int(part.max()) * len(part) for part in parts]
        assert sum(padded) < 1.06 * int(lengths.sum())
        assert all(tokens > 1024 * 0.9 for tokens in padded[:-1])
        assert all(tokens <= 8192 for tokens in padded)

    def test_empty_inputs_have_a_place(self) -> None:
        assert torch.cat(list(plan(torch.tensor([0, 0, 2]), 4))).tolist() == [2, 0, 1]


class TestPacked:
    @pytest.mark.parametrize("budget", [1, 10, 1000])
    def test_results_are_in_order(self, budget: int) -> None:
        found = packed(lambda rows: torch.stack([rows, LENGTHS[rows]], 1), LENGTHS, budget=budget)
        assert found.tolist() == [[i, length] for i, length in enumerate(LENGTHS.tolist())]

    @pytest.mark.parametrize("side", ["right", "left"])
    @pytest.mark.parametrize("extra", [(), (2,), (2, 3)])
    def test_results_per_token_are_padded(self, side: Any, extra: tuple[int, ...]) -> None:
        def compute(rows: Tensor) -> Tensor:
            width = int(LENGTHS[rows].max())
            out = torch.zeros(len(rows), width)
            for place, length in enumerate(LENGTHS[rows].tolist()):
                columns = slice(0, length) if side == "right" else slice(width - length, width)
                out[place, columns] = torch.arange(1.0, length + 1)
            return out.view(len(rows), width, *[1] * len(extra)).expand(-1, -1, *extra)

        found = packed(compute, LENGTHS, budget=10, width=12, side=side)
        assert found.shape == (9, 12, *extra)
        for row, length in zip(found.reshape(9, 12, -1)[..., 0], LENGTHS.tolist(), strict=True):
            numbers, gap = [float(i) for i in range(1, length + 1)], [0.0] * (12 - length)
            assert row.tolist() == (numbers + gap if side == "right" else gap + numbers)

    @pytest.mark.parametrize("error", [torch.OutOfMemoryError, MemoryError])
    def test_a_batch_that_does_not_fit_is_split(self, error: type[Exception], caplog: pytest.LogCaptureFixture) -> None:
        sizes = []

        def compute(rows: Tensor) -> Tensor:
            tokens = len(rows) * int(LENGTHS[rows].max())
            sizes.append(tokens)
            if tokens > 20:
                raise error("full")
            return rows

        assert packed(compute, LENGTHS, budget=1000).tolist() == list(range(9))
        assert max(sizes[-3:]) <= 20
        assert "did not fit in memory; going on with 5 at a time" in caplog.text
        assert sum(size > 20 for size in sizes) <= 3, (
            "it goes on with smaller batches, it does not try large ones again"
        )

    def test_one_input_that_does_not_fit_is_an_error(self) -> None:
        def compute(rows: Tensor) -> Tensor:
            if int(LENGTHS[rows].max()) > 8:
                raise torch.OutOfMemoryError("full")
            return rows

        with pytest.raises(ModelError, match="one input of 9 tokens does not fit in memory; use a shorter max_length"):
            packed(compute, LENGTHS, budget=1000)

    def test_other_errors_come_through(self) -> None:
        def compute(rows: Tensor) -> Tensor:
            raise KeyError("other")

        with pytest.raises(KeyError, match="other"):
            packed(compute, LENGTHS, budget=10)

    def test_is_differentiable(self) -> None:
        weights = torch.arange(9.0, dtype=torch.float64).requires_grad_()
        found = packed(lambda rows: weights[rows] ** 2, LENGTHS, budget=10)
        (slope,) = torch.autograd.grad((found * torch.arange(9)).sum(), weights)
        assert slope.tolist() == [2.0 * i * i for i in range(9)]

    def test_nothing_to_compute(self) -> None:
        with pytest.raises(ModelError, match="nothing to compute"):
            packed(lambda rows: rows, torch.tensor([], dtype=torch.long), budget=3)


class TestOver:
    @pytest.mark.parametrize("side", ["right", "left"])
    def test_a_part_is_no_wider_than_its_longest_row(self, side: str) -> None:
        model = tiny.classifier("llama", padding=side, budget=20)
        batch = model.encode(tiny.crowd())
        seen = []

        def compute(part: Batch, rows: Tensor) -> Tensor:
            assert part.width == int(part.lengths.max())
            assert part.ids.numel() <= 20 or len(part) == 1
            seen.extend(rows.tolist())
            return part.ids

        found = over_rows(model, batch, compute, tokens=True)
        assert torch.equal(found, batch.ids)
        assert sorted(seen) == list(range(64))

    def test_variants_know_their_numbers(self) -> None:
        model = tiny.classifier(budget=60)
        batch = model.encode(tiny.singles())
        rows = torch.tensor([4, 0, 0, 2, 1, 4])

        def compute(part: Batch, numbers: Tensor) -> Tensor:
            assert torch.equal(part.ids, batch.take(rows[numbers], part.width).ids)
            return numbers

        assert over(model, batch, rows, compute).tolist() == list(range(6))

    def test_cost_makes_batches_smaller(self) -> None:
        model = tiny.classifier(budget=100)
        batch, widest = model.encode(tiny.crowd()), []
        over(model, batch, torch.arange(64), lambda part, n: widest.append(part.ids.numel()) or n, cost=4)
        assert max(widest) <= 25

    @pytest.mark.parametrize("kind", ["bert", "llama"])
    @pytest.mark.parametrize("how", ["delete", "mask", "pad", "zero"])
    def test_erased_logits_are_those_of_each_erased_row(self, kind: str, how: Any) -> None:
        model = tiny.classifier(kind, budget=60)
        batch = model.encode(tiny.crowd()[:10])
        drawn = torch.Generator().manual_seed(1)
        rows = torch.randint(10, (25,), generator=drawn)
        drop = (torch.rand(25, batch.width, generator=drawn) < 0.5) & batch.content[rows]
        with torch.no_grad():
            found = erased_logits(model, batch, rows, drop, how)
            for number, row in enumerate(rows.tolist()):
                alone = batch.take(torch.tensor([row]))
                wanted = model.logits(model.erase(alone, drop[number : number + 1], how))
                assert torch.allclose(found[number], wanted[0], atol=1e-5)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_rows_in_order_give_the_same(most: int) -> None:
    model = tiny.classifier("bert")
    batch = model.encode(tiny.singles()[:3])
    rows = torch.tensor([2, 0, 0, 1])

    def compute(part: Batch, numbers: Tensor) -> Tensor:
        return model.logits(part) + numbers[:, None]

    with torch.no_grad():
        wanted = over(model, batch, rows, compute)
        torch.testing.assert_close(packer._in_order(batch, rows, compute, most), wanted)


def test_a_budget_that_did_not_fit_is_not_tried_again() -> None:
    model = tiny.classifier(budget=512)
    batch = model.encode(tiny.crowd())
    sizes: list[int] = []

    def compute(part: Batch, _rows: Tensor) -> Tensor:
        sizes.append(len(part) * part.width)
        if sizes[-1] > 100:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")
        return part.ids.sum(-1)

    first = over_rows(model, batch, compute)
    assert model.budget <= 100
    sizes.clear()
    assert torch.equal(over_rows(model, batch, compute), first)
    assert max(sizes) <= 100
