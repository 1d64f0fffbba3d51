from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from rationales.explainers.quadrature import Points, adaptive_points, gauss_legendre, gauss_points

Function = Callable[[Tensor], Tensor]


def test_gauss_is_exact_for_polynomials() -> None:
    nodes, weights = gauss_legendre(5)
    for power in range(10):
        assert float((weights * nodes**power).sum()) == pytest.approx(1 / (power + 1), rel=1e-12)


def test_points_take_turns() -> None:
    points = Points(torch.tensor([1, 0, 1, 2, 1]), torch.arange(5.0), torch.ones(5))
    turns = [(having.tolist(), here.tolist()) for having, here in points.in_turn(torch.tensor([0, 1, 2]))]
    assert turns == [([0, 1, 2], [1, 0, 3]), ([1], [2]), ([1], [4])]
    assert [here.tolist() for _, here in points.in_turn(torch.tensor([2, 1]))] == [[3, 0], [2], [4]]


class Ways:
    """Texts whose outputs are known functions of the place on the way; two tokens share the slope unequally."""

    def __init__(self, *functions: tuple[Function, Function, Function]) -> None:
        self.functions = functions  # f, f′ and the first token's share of f′
        self.looks = 0

    def look(self, rows: Tensor, where: Tensor) -> tuple[Tensor, Tensor]:
        self.looks += len(rows)
        outputs, values = [], []
        for row, place in zip(rows.tolist(), where, strict=True):
            output, slope, share = self.functions[row]
            first = share(place) * slope(place)
            outputs.append(output(place))
            values.append(torch.stack([first, slope(place) - first]))
        return torch.stack(outputs), torch.stack(values)

    @property
    def ends(self) -> Tensor:
        places = torch.tensor([0.0, 1.0], dtype=torch.float64)
        return torch.stack([output(places) for output, _, _ in self.functions])

    def integrals(self, tolerance: float, *, steps: int = 8, most: int = 400) -> tuple[Tensor, Tensor]:
        """∫g of each text [B, 2], and how many points it took [B]."""
        allowed = tolerance * (self.ends[:, 1] - self.ends[:, 0]).abs()
        points, values = adaptive_points(self.look, self.ends, allowed, steps=steps, most=most)
        total = torch.zeros(len(self.functions), 2, dtype=torch.float64)
        total.index_add_(0, points.rows, values * points.weights[:, None])
        return total, torch.bincount(points.rows, minlength=len(self.functions))


def jump(where: float, width: float) -> tuple[Function, Function, Function]:
    """A sigmoid somewhere on the way, as a model's output is when it makes up its mind."""

    def output(a: Tensor) -> Tensor:
        return torch.sigmoid((a - where) / width)

    return output, lambda a: output(a) * (1 - output(a)) / width, lambda a: torch.cos(a) ** 2


LINE: tuple[Function, Function, Function] = (lambda a: 3 * a, lambda a: 3 + 0 * a, lambda a: 1 - a)


def exact(share_of: tuple[Function, Function, Function]) -> Tensor:
    nodes, weights = gauss_legendre(3000)
    _, slope, share = share_of
    first = (weights * share(nodes) * slope(nodes)).sum()
    return torch.stack([first, (weights * slope(nodes)).sum() - first])


@pytest.mark.parametrize("width", [1.0, 0.1, 0.02, 0.004])
@pytest.mark.parametrize("where", [0.1, 0.5, 0.93])
def test_finds_a_jump_and_integrates_every_component(where: float, width: float) -> None:
    way = jump(where, width)
    found, _ = Ways(way).integrals(1e-4)
    assert found[0].tolist() == pytest.approx(exact(way).tolist(), abs=1e-3)


def test_needs_fewer_points_than_gauss_for_a_narrow_jump() -> None:
    way = jump(0.3, 0.01)
    found, taken = Ways(way).integrals(1e-3)
    points = gauss_points(1, int(taken), torch.device("cpu"))
    _, values = Ways(way).look(points.rows, points.where)
    by_gauss = (values * points.weights[:, None]).sum(0)
    wanted = exact(way)
    assert (found[0] - wanted).abs().max() < 0.2 * (by_gauss - wanted).abs().max()


def test_a_straight_way_takes_the_first_points_only_and_neighbours_do_not_matter() -> None:
    together, taken = Ways(LINE, jump(0.3, 0.01), LINE).integrals(1e-4)
    assert taken.tolist()[0] == taken.tolist()[2] == 8 < taken.tolist()[1]
    assert together[0].tolist() == pytest.approx([1.5, 1.5])
    alone, _ = Ways(jump(0.3, 0.01)).integrals(1e-4)
    assert together[1].tolist() == pytest.approx(alone[0].tolist(), rel=1e-12)


@pytest.mark.parametrize("where", [0.3, 0.5, 0.9])
def test_a_jump_without_width_leaves_the_rest_right(where: float) -> None:
    """The output leaps, which no slope shows; the slope elsewhere is integrated still, and weights stay small."""
    leap: tuple[Function, Function, Function] = (
        lambda a: a + (a > where).double(),
        lambda a: 1 + 0 * a,
        lambda a: 0.3 + 0 * a,
    )
    ways = Ways(leap)
    allowed = torch.tensor([0.02], dtype=torch.float64)
    points, values = adaptive_points(ways.look, ways.ends, allowed, steps=8, most=200)
    assert float(points.weights.abs().sum()) < 10
    assert (points.weights @ values).tolist() == pytest.approx([0.3, 0.7], abs=1e-3)


def test_no_look_is_repeated_or_thrown_away() -> None:
    ways = Ways(LINE, jump(0.3, 0.01))
    _, taken = ways.integrals(1e-4)
    assert ways.looks == int(taken.sum())


@pytest.mark.parametrize("steps", [1, 2, 5, 30])
def test_any_number_of_points_to_begin_with(steps: int) -> None:
    way = jump(0.6, 0.05)
    found, taken = Ways(way).integrals(1e-4, steps=steps)
    assert int(taken) >= steps
    assert found[0].tolist() == pytest.approx(exact(way).tolist(), abs=2e-3)


def test_stops_at_the_most_points() -> None:
    _, taken = Ways(jump(0.5, 1e-5)).integrals(1e-9, most=11)
    assert int(taken) == 11


def test_ends_where_nothing_can_add_up() -> None:
    """An output that jumps without a slope, and one that is not a number."""
    step: tuple[Function, Function, Function] = (lambda a: (a > 0.4).double(), lambda a: 0 * a, lambda a: a)
    broken: tuple[Function, Function, Function] = (lambda a: a * math.nan, lambda a: a * math.nan, lambda a: a)
    found, taken = Ways(step, broken).integrals(1e-4, most=60)
    assert taken.tolist()[1] == 8
    assert taken.tolist()[0] <= 60
    assert found[0].tolist() == [0.0, 0.0]
