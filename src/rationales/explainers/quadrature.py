"""Integrals along a way: points where they are needed, text by text.

Wanted is ∫₀¹ g(a) da of a vector g whose components add up to f′, where f is known wherever g is. So between any two
points it is known what the components must add up to, f(b) - f(a): one sees not only whether an integral is right, but
also where on the way it is not, and takes more points there. No evaluation is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

Look: TypeAlias = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Texts [N] and points [N] on their ways → f [N] and g [N, T] there."""

STENCIL = 6
"""g is interpolated between two points from so many: three on each side, or what there is."""
SLACK = 10.0
"""The errors of all stretches, signs aside, may add up to so many times what the error of the whole may be."""
SHORTEST = 1e-12
"""Stretches are not split below this length."""
WILD = 20.0
"""If the weights of an interpolation, signs aside, add up to so many times the stretch, its points lie badly."""


class Points(NamedTuple):
    """Where to look, and the weight of what is seen there, for texts numbered by `rows`; [N] each."""

    rows: Tensor
    where: Tensor
    weights: Tensor

    def in_turn(self, texts: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """The first point of each of these texts, then the second …: which of the texts have one, and its number."""
        order = torch.argsort(self.rows, stable=True)
        count = torch.bincount(self.rows, minlength=int(texts.max()) + 1)
        first, own = (count.cumsum(0) - count)[texts], count[texts]
        for turn in range(int(own.max())):
            having = torch.nonzero(turn < own).flatten()
            yield having, order[first[having] + turn]


class _Samples(NamedTuple):
    """What has been seen, in the order of looking: f and f′ at points of texts; [N] each."""

    rows: Tensor
    where: Tensor
    outputs: Tensor
    slopes: Tensor


class _Grid(NamedTuple):
    """The samples of b texts, arranged along their ways; shorter ways are padded with their end."""

    numbers: Tensor  # [M] which samples, ordered by text and point
    texts: Tensor  # [M] in which row of the grid each is
    places: Tensor  # [M] and where in it
    points: Tensor  # [b] how many each text has
    edges: Tensor  # [b, n + 2] 0, the points, 1
    outputs: Tensor  # [b, n + 2] f there
    slopes: Tensor  # [b, n] f′ at the points


class _Lens(NamedTuple):
    """A coordinate t = atan((a - centre) / width) of each text, [b, 1], in which the way is magnified around a centre.

    An output that jumps somewhere on the way is smooth in t, and few points suffice.
    """

    centre: Tensor
    width: Tensor

    def of(self, a: Tensor) -> Tensor:
        return torch.atan((a - self.centre) / self.width)

    def back(self, t: Tensor) -> Tensor:
        return self.centre + self.width * torch.tan(t)


@cache
def gauss_legendre(steps: int) -> tuple[Tensor, Tensor]:
    """Nodes and weights on [0, 1], [steps] each, float64."""
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return torch.from_numpy((nodes + 1) / 2), torch.from_numpy(weights / 2)


@cache
def _gauss_legendre_on(device: torch.device, steps: int) -> tuple[Tensor, Tensor]:
    """The same, kept on a device."""
    with torch.inference_mode(False):  # whoever comes next may want gradients
        nodes, weights = gauss_legendre(steps)
        return nodes.to(device), weights.to(device)


def integral(points: Points, values: Tensor, texts: int) -> Tensor:
    """What was seen at these points, [N, T], weighted and added up for each text, [texts, T]."""
    weighted = values.double() * points.weights[:, None]  # weights of both signs may be large where f jumps
    total = torch.zeros(texts, values.shape[1], device=values.device, dtype=torch.float64)
    for having, here in points.in_turn(torch.arange(texts, device=total.device)):
        total = total.index_add(0, having, weighted[here])
    return total.to(values)


def gauss_points(texts: int, steps: int, device: torch.device) -> Points:
    """The same Gauss-Legendre points for every text."""
    where, weights = (tensor.repeat(texts) for tensor in _gauss_legendre_on(device, steps))
    return Points(torch.arange(texts, device=device).repeat_interleave(steps), where, weights)


def adaptive_points(look: Look, ends: Tensor, allowed: Tensor, *, steps: int, most: int) -> tuple[Points, Tensor]:
    """Points with their weights, and g at each, [N, T].

    `ends` [B, 2] is f at 0 and 1, `allowed` [B] how far Σ∫g may be from their difference. Each text begins with `steps`
    Gauss-Legendre points and gets more until it is within what is allowed, or has `most`. Where to look is thought out
    on the processor: the tables are small, and the device waits for the decision anyway. On an accelerator, where a
    round costs more than a point, more stretches are split at once than seem to be needed.
    """
    device, ends, allowed = ends.device, ends.double().cpu(), allowed.double().cpu()
    pieces: list[Tensor] = []

    def seen(rows: Tensor, where: Tensor) -> _Samples:
        outputs, values = look(rows.to(device), where.to(device))
        pieces.append(values)
        return _Samples(rows, where, outputs.double().cpu(), values.sum(-1, dtype=torch.float64).cpu())

    going = torch.arange(len(ends))
    rows, where, _ = gauss_points(len(ends), steps, torch.device("cpu"))
    samples = seen(rows, where)
    weights = torch.zeros_like(where)
    spared = SLACK if device.type == "cpu" else SLACK / 2
    while len(going):
        grid = _arranged(samples, going, ends)
        lens = _lens(grid)
        shares, stencil = _interpolation(grid, lens)
        missing = grid.outputs.diff() - (shares * _at(grid.slopes, stencil)).sum(-1)
        total = torch.zeros_like(grid.slopes).scatter_add(1, stencil.flatten(1), shares.flatten(1))
        weights[grid.numbers] = total[grid.texts, grid.places]
        split = _split(missing, grid, allowed[going], spared, most)
        texts, stretches = torch.nonzero(split, as_tuple=True)
        middle = lens.of(grid.edges).unfold(1, 2, 1).mean(-1)
        rows, where = going[texts], lens.back(middle)[texts, stretches]
        if len(rows):
            samples = _Samples(*map(torch.cat, zip(samples, seen(rows, where), strict=True)))
            weights = torch.cat([weights, torch.zeros_like(where)])
        going = going[split.any(-1)]
    return Points(samples.rows.to(device), samples.where.to(device), weights.to(device)), torch.cat(pieces)


def _arranged(samples: _Samples, going: Tensor, ends: Tensor) -> _Grid:
    position = torch.full((len(ends),), -1)
    position[going] = torch.arange(len(going))
    texts = position[samples.rows]
    order = torch.argsort(samples.where, stable=True)
    order = order[torch.argsort(texts[order], stable=True)]
    numbers = order[texts[order] >= 0]
    texts = texts[numbers]
    count = torch.bincount(texts, minlength=len(going))
    places = torch.arange(len(numbers)) - (count.cumsum(0) - count)[texts]
    longest = int(count.max())
    edges = torch.ones(len(going), longest + 2, dtype=torch.float64)
    outputs = ends[going, 1:].repeat(1, longest + 2)
    slopes = torch.zeros_like(edges[:, 2:])
    edges[:, 0], outputs[:, 0] = 0.0, ends[going, 0]
    edges[texts, places + 1] = samples.where[numbers]
    outputs[texts, places + 1] = samples.outputs[numbers]
    slopes[texts, places] = samples.slopes[numbers]
    return _Grid(numbers, texts, places, count, edges, outputs, slopes)


def _lens(grid: _Grid) -> _Lens:
    """Centre and width: median and half the interquartile range of where the output changes, as far as points tell."""
    change = grid.outputs.diff().abs()
    # A little everywhere, so that rounding moves the quartiles little, also across stretches without a change.
    change = change + (0.1 * change.sum(-1, keepdim=True) + 1e-12) * grid.edges.diff()
    reached = torch.nn.functional.pad(change.cumsum(-1), (1, 0)) / change.sum(-1, keepdim=True)
    quartiles = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64).expand(len(reached), 3)
    after = torch.searchsorted(reached, quartiles.contiguous()).clamp(1, reached.shape[1] - 1)
    low, high = _at(reached, after - 1), _at(reached, after)
    left, right = _at(grid.edges, after - 1), _at(grid.edges, after)
    where = left + (right - left) * (quartiles - low) / (high - low)
    return _Lens(where[:, 1:2], torch.maximum((where[:, 2:] - where[:, :1]) / 2, 1 / grid.points[:, None]))


def _interpolation(grid: _Grid, lens: _Lens) -> tuple[Tensor, Tensor]:
    """Weights [b, n + 1, STENCIL] of the points that each stretch is interpolated from, and which they are.

    g is taken for a polynomial in the lens's coordinate t, and ∫ g da = ∫ g (da/dt) dt done by Gauss's rule.
    """
    edges = lens.of(grid.edges)
    stretches = torch.arange(edges.shape[1] - 1)
    fewest = (grid.points[:, None] - STENCIL).clamp(min=0)
    begin = torch.minimum((stretches - STENCIL // 2).clamp(min=0), fewest)
    stencil = begin[..., None] + torch.arange(STENCIL)
    there = stencil < grid.points[:, None, None]
    stencil = torch.where(there, stencil, 0)
    points = _at(edges, stencil + 1)
    nodes, parts = gauss_legendre(STENCIL)
    length = edges.diff().unsqueeze(-1)
    t = edges[:, :-1, None] + length * nodes  # [b, n + 1, p]
    basis = torch.ones(*t.shape, STENCIL, dtype=t.dtype)
    for other in range(STENCIL):  # Lagrange: ℓ_j(t) = Π (t - t_m) / (t_j - t_m) over m ≠ j
        apart = points - points[..., other, None]
        factor = (t - points[..., other, None]).unsqueeze(-1) / apart.unsqueeze(-2)
        skipped = ~there[..., other, None] | ~there
        skipped[..., other] = True
        basis = basis * torch.where(skipped.unsqueeze(-2), 1.0, factor)
    speed = lens.width.unsqueeze(-1) * (1 + torch.tan(t) ** 2)  # da/dt
    shares = torch.where(there, (basis * (parts * speed * length).unsqueeze(-1)).sum(-2), 0.0)
    whole = grid.edges.diff()
    wild = shares.abs().sum(-1) > WILD * whole
    return torch.where(wild.unsqueeze(-1), _halves(stencil, there, whole), shares), stencil


def _halves(stencil: Tensor, there: Tensor, whole: Tensor) -> Tensor:
    """Weights of the trapezoidal rule: half of the stretch for the point on either side, or all where there is one."""
    stretches = torch.arange(whole.shape[1])[:, None]
    beside = there & ((stencil == stretches - 1) | (stencil == stretches))
    return torch.where(beside, whole.unsqueeze(-1) / beside.sum(-1, keepdim=True).clamp(min=1), 0.0)


def _split(missing: Tensor, grid: _Grid, allowed: Tensor, spared: float, most: int) -> Tensor:
    """Which stretches [b, n + 1] to cut in two: none where all is well, else those that miss most of what is missing.

    The others together may miss `spared` times what is allowed. A total within bounds could be luck; that each stretch
    adds up by itself could not.
    """
    size = missing.abs()
    fine = (missing.sum(-1).abs() <= allowed) & (size.sum(-1) <= SLACK * allowed)
    size = torch.where(grid.edges.diff() > SHORTEST, size, 0.0)
    ordered, order = size.sort(dim=-1)
    wanted = ordered.cumsum(-1) > spared * allowed[:, None]
    wanted[:, -1] = True
    places = torch.arange(size.shape[1])
    wanted &= places >= size.shape[1] - (most - grid.points[:, None])
    wanted &= (ordered > 0) & (ordered.sum(-1, keepdim=True) < torch.inf) & ~fine[:, None]
    return torch.zeros_like(wanted).scatter(1, order, wanted)


def _at(table: Tensor, columns: Tensor) -> Tensor:
    """table[b, columns[b, …]], [b, …]."""
    return table.gather(1, columns.flatten(1)).view(columns.shape)
