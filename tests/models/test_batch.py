from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tiny
from rationales.errors import InputError
from rationales.models import Batch
from rationales.models.batch import collate, erase

PAD, MASK = 0, 4
ROWS = ([2, 11, 12, 13, 3], [2, 21, 3], [2, 31, 32, 3, 33, 3])
SEGMENTS = ([-1, 0, 0, 0, -1], [-1, 0, -1], [-1, 0, 0, -1, 1, -1])
TYPES = ([0] * 5, [0] * 3, [0, 0, 0, 0, 1, 1])


def made(side: Any = "right") -> Batch:
    return collate(ROWS, SEGMENTS, TYPES, pad_id=PAD, side=side, sources=())


def erased(batch: Batch, drop: list[list[int]], how: Any) -> Batch:
    """`drop` lists, for each row, the places of its tokens (padding not counted)."""
    flags = torch.zeros(batch.ids.shape, dtype=torch.bool)
    for row, places in enumerate(drop):
        columns = torch.nonzero(batch.keep[row]).flatten()
        flags[row, columns[places]] = True
    return erase(batch, flags, how, mask_id=MASK, pad_id=PAD)


def rows(batch: Batch, tensor: torch.Tensor) -> list[list[int]]:
    return [row[keep].tolist() for row, keep in zip(tensor, batch.keep, strict=True)]


both_sides = pytest.mark.parametrize("side", ["right", "left"])


class TestCollate:
    def test_right(self) -> None:
        batch = made()
        assert batch.ids.tolist() == [[2, 11, 12, 13, 3, 0], [2, 21, 3, 0, 0, 0], [2, 31, 32, 3, 33, 3]]
        assert batch.keep.int().tolist() == [[1] * 5 + [0], [1] * 3 + [0] * 3, [1] * 6]
        assert batch.segments[1].tolist() == [-1, 0, -1, -1, -1, -1]
        assert batch.positions.tolist() == [[0, 1, 2, 3, 4, 4], [0, 1, 2, 2, 2, 2], [0, 1, 2, 3, 4, 5]]

    def test_left(self) -> None:
        batch = made("left")
        assert batch.ids.tolist() == [[0, 2, 11, 12, 13, 3], [0, 0, 0, 2, 21, 3], [2, 31, 32, 3, 33, 3]]
        assert batch.positions.tolist() == [[0, 0, 1, 2, 3, 4], [0, 0, 0, 0, 1, 2], [0, 1, 2, 3, 4, 5]]

    @both_sides
    def test_what_it_tells(self, side: str) -> None:
        batch = made(side)
        assert (len(batch), batch.width) == (3, 6)
        assert batch.lengths.tolist() == [5, 3, 6]
        assert batch.content.sum(-1).tolist() == [3, 1, 3]
        assert rows(batch, batch.types) == [list(types) for types in TYPES]


class TestTake:
    @both_sides
    def test_rows_may_repeat_and_padding_is_cut(self, side: str) -> None:
        batch = made(side)
        part = batch.take(torch.tensor([1, 0, 1]), 5)
        assert part.width == 5
        assert rows(part, part.ids) == [ROWS[1], ROWS[0], ROWS[1]]
        assert rows(part, part.types) == [TYPES[1], TYPES[0], TYPES[1]]
        assert rows(part, part.segments) == [SEGMENTS[1], SEGMENTS[0], SEGMENTS[1]]
        assert part.sources == ()
        assert part.side == side

    @both_sides
    def test_trimmed_follows_the_columns(self, side: str) -> None:
        batch = made(side)
        part = batch.take(torch.tensor([0, 1]), 5)
        wide = batch.ids[:2].unsqueeze(-1).expand(-1, -1, 3)
        assert torch.equal(part.trimmed(wide)[..., 0], part.ids)
        assert torch.equal(batch.trimmed(batch.ids), batch.ids)

    def test_no_rows(self) -> None:
        assert len(made().take(torch.tensor([], dtype=torch.long))) == 0

    @both_sides
    def test_zeroed_travels_along(self, side: str) -> None:
        batch = erased(made(side), [[1], [], [2]], "zero")
        part = batch.take(torch.tensor([2, 0]))
        assert rows(part, part.zeroed.int()) == [[0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0]]


class TestErase:
    @both_sides
    def test_delete(self, side: str) -> None:
        out = erased(made(side), [[1, 3], [], [1, 4]], "delete")
        assert rows(out, out.ids) == [[2, 12, 3], [2, 21, 3], [2, 32, 3, 3]]
        assert rows(out, out.segments) == [[-1, 0, -1], [-1, 0, -1], [-1, 0, -1, -1]]
        assert rows(out, out.types) == [[0, 0, 0], [0, 0, 0], [0, 0, 0, 1]]
        assert out.width == 4
        assert out.ids[~out.keep].tolist() == [PAD, PAD]
        assert out.keep[:, -1 if side == "left" else 0].all()

    @both_sides
    def test_delete_everything_leaves_one_padding_token(self, side: str) -> None:
        out = erased(made(side), [[0, 1, 2, 3, 4], [1], [0, 1, 2, 3, 4, 5]], "delete")
        assert rows(out, out.ids) == [[PAD], [2, 3], [PAD]]
        assert rows(out, out.segments) == [[-1], [-1, -1], [-1]]
        assert out.lengths.tolist() == [1, 2, 1]
        every = erase(made(side), torch.ones(3, 6, dtype=torch.bool), "delete", mask_id=MASK, pad_id=PAD)
        assert every.ids.tolist() == [[PAD]] * 3
        assert every.keep.all()

    @both_sides
    @pytest.mark.parametrize(("how", "filler"), [("mask", MASK), ("pad", PAD)])
    def test_replace(self, side: str, how: str, filler: int) -> None:
        batch = made(side)
        out = erased(batch, [[1], [1], [4, 5]], how)
        assert rows(out, out.ids) == [[2, filler, 12, 13, 3], [2, filler, 3], [2, 31, 32, 3, filler, filler]]
        assert torch.equal(out.keep, batch.keep), "it is still attended to"
        assert torch.equal(out.segments, batch.segments)
        assert torch.equal(out.types, batch.types)
        assert out.zeroed is None

    @both_sides
    def test_zero_adds_up_and_survives_deletion(self, side: str) -> None:
        batch = erased(made(side), [[1], [], [2]], "zero")
        batch = erased(batch, [[2], [], [2, 4]], "zero")
        assert rows(batch, batch.ids) == list(map(list, ROWS))
        assert rows(batch, batch.zeroed.int()) == [[0, 1, 1, 0, 0], [0, 0, 0], [0, 0, 1, 0, 1, 0]]
        out = erased(batch, [[1], [0], [0, 1]], "delete")
        assert rows(out, out.ids) == [[2, 12, 13, 3], [21, 3], [32, 3, 33, 3]]
        assert rows(out, out.zeroed.int()) == [[0, 1, 0, 0], [0, 0], [1, 0, 1, 0]]

    @both_sides
    @pytest.mark.parametrize("how", ["delete", "mask", "pad", "zero"])
    def test_padding_cannot_be_erased_and_the_batch_is_left_alone(self, side: str, how: Any) -> None:
        batch = made(side)
        before = batch.ids.clone(), batch.keep.clone()
        out = erase(batch, ~batch.keep, how, mask_id=MASK, pad_id=PAD)
        assert rows(out, out.ids) == list(map(list, ROWS))
        assert out.zeroed is None or not out.zeroed.any()
        assert torch.equal(batch.ids, before[0])
        assert torch.equal(batch.keep, before[1])

    def test_random_deletions_leave_the_intended_ids(self) -> None:
        drawn = torch.Generator().manual_seed(0)
        for side in ("right", "left"):
            model = tiny.classifier("llama", padding=side)
            batch = model.encode(tiny.crowd())
            for _ in range(20):
                drop = torch.rand(batch.ids.shape, generator=drawn) < 0.4
                out = model.erase(batch, drop, "delete")
                for row in range(len(batch)):
                    wanted = batch.ids[row][batch.keep[row] & ~drop[row]].tolist()
                    assert out.ids[row][out.keep[row]].tolist() == (wanted or [PAD])

    def test_errors_name_the_way_out(self) -> None:
        drop = torch.zeros(3, 6, dtype=torch.bool)
        with pytest.raises(InputError, match=r"no mask token.*use delete, pad or zero"):
            erase(made(), drop, "mask", mask_id=None, pad_id=PAD)
        with pytest.raises(InputError, match=r"no padding token.*use delete, mask or zero"):
            erase(made(), drop, "pad", mask_id=MASK, pad_id=None)
        with pytest.raises(InputError, match="erasure must be delete, mask, pad or zero, got 'remove'"):
            erase(made(), drop, "remove", mask_id=MASK, pad_id=PAD)


class TestPairs:
    @pytest.mark.parametrize("how", ["delete", "mask", "pad", "zero"])
    def test_types_and_segments_stay_with_their_tokens(self, how: Any) -> None:
        """`bad [SEP] they hated it , always`: word i of one text is never taken for word i of the other."""
        model = tiny.classifier()
        batch = model.encode(tiny.pairs())
        for column in torch.nonzero(batch.segments[1] >= 0).flatten().tolist():
            drop = torch.zeros(batch.ids.shape, dtype=torch.bool)
            drop[1, column] = True
            out = model.erase(batch, drop, how)
            stays = [i for i in range(int(batch.lengths[1])) if how != "delete" or i != column]
            keep = out.keep[1]
            assert out.types[1][keep].tolist() == batch.types[1][stays].tolist()
            assert out.segments[1][keep].tolist() == batch.segments[1][stays].tolist()
            ids = batch.ids[1].clone()
            if how in ("mask", "pad"):
                ids[column] = MASK if how == "mask" else PAD
            assert out.ids[1][keep].tolist() == ids[stays].tolist()
            assert out.ids[0][out.keep[0]].tolist() == batch.ids[0][batch.keep[0]].tolist()


class TestRandomness:
    @both_sides
    def test_depends_on_the_seed_and_the_ids_alone(self, side: str) -> None:
        batch = made(side)
        drawn = [generator.random() for generator in batch.generators(0)]
        assert len(set(drawn)) == 3
        again = batch.take(torch.tensor([2, 0]))
        assert [generator.random() for generator in again.generators(0)] == [drawn[2], drawn[0]]
        assert [generator.random() for generator in made("right").generators(0)] == drawn
        assert not set(drawn) & {generator.random() for generator in batch.generators(1)}


@both_sides
def test_unpadded(side: str) -> None:
    batch = made(side)
    values = batch.ids.float().requires_grad_()
    found = batch.unpadded(values)
    assert [row.tolist() for row in found] == list(map(list, ROWS))
    assert all(row.dtype == np.float64 for row in found)
