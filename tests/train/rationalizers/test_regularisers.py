from __future__ import annotations

import pytest
import torch

from rationales.train.rationalizers.regularisers import continuity, narrowed, sparsity

KEEP = torch.tensor([[True, True, True, True], [True, True, False, False]])
CHOSEN = torch.tensor([[1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0]])  # ones at padding must not count


def test_sparsity_of_the_batch_and_of_each_text() -> None:
    assert float(sparsity(CHOSEN * KEEP, KEEP, 0.5)) == pytest.approx(4 / 6 - 0.5)
    assert float(sparsity(CHOSEN * KEEP, KEEP, 0.5, "text")) == pytest.approx((0.25 + 0.0) / 2)


def test_sparsity_is_zero_where_it_is_as_wanted() -> None:
    assert float(sparsity(CHOSEN * KEEP, KEEP, 4 / 6)) == pytest.approx(0, abs=1e-7)


def test_continuity_counts_changes_between_real_neighbours() -> None:
    assert float(continuity(CHOSEN, KEEP, None)) == pytest.approx(3 / 4)
    assert float(continuity(CHOSEN, KEEP, 256)) == pytest.approx(3 / (2 * 255))


def test_counting_padding_is_a_choice_of_the_caller() -> None:
    everything = torch.ones_like(KEEP)
    assert float(sparsity(CHOSEN, everything, 0.0)) == pytest.approx(6 / 8)
    assert float(continuity(CHOSEN, everything, None)) == pytest.approx(3 / 6)


def test_the_wanted_share_falls_from_everything_by_the_same_factor_in_each_update() -> None:
    shares = [float(narrowed(torch.tensor(0.01), torch.tensor(3.0), torch.tensor(float(done)))) for done in range(6)]
    assert shares == pytest.approx([0.01**0.25, 0.01**0.5, 0.01**0.75, 0.01, 0.01, 0.01])
    for wanted in (torch.tensor(0.15), torch.tensor(0.0)):
        assert torch.equal(narrowed(wanted, torch.tensor(0.0), torch.tensor(0.0)), wanted)
