"""Random numbers that depend on what they are for and on nothing else.

Each is a hash of a text's own number, a step, a sample and a cell. So a text gets the same ones alone or in a batch,
however much is padded, on any device; and none have to be made before they are needed or moved to a device.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def text_seeds(fingerprints: Sequence[int], seed: int, device: torch.device) -> Tensor:
    """A number for each text, [B]: from 64 bits that tell it from others, and the seed."""
    signed = [number - 2**64 if number >= 2**63 else number for number in fingerprints]
    return _mixed(
        torch.tensor(signed, dtype=torch.int64, device=device) ^ _mixed(torch.tensor(seed & (2**63 - 1), device=device))
    )


def uniform(seeds: Tensor, step: int, samples: int, first: int, second: int) -> Tensor:
    """Numbers in (0, 1) for each text, sample and cell at one step, [B, samples, P, H]."""
    rows, columns = (torch.arange(size, device=seeds.device) for size in (first, second))
    place = (torch.arange(samples, device=seeds.device) << 32)[:, None, None] | (rows << 16)[:, None] | columns
    own = _mixed(seeds + step)
    bits = _mixed(own[:, None, None, None] ^ place)
    return ((bits >> 40 & 0xFFFFFF).float() + 0.5) / 2**24  # 24 bits are what a float holds exactly


def _mixed(numbers: Tensor) -> Tensor:
    """Each bit of the result depends on all bits of the number (the finaliser of SplitMix64; Steele et al., 2014)."""
    numbers = numbers + _signed(0x9E3779B97F4A7C15)
    numbers = (numbers ^ _shifted(numbers, 30)) * _signed(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ _shifted(numbers, 27)) * _signed(0x94D049BB133111EB)
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: Tensor, bits: int) -> Tensor:
    """To the right, zeros coming in."""
    return (numbers >> bits) & ((1 << (64 - bits)) - 1)


def _signed(number: int) -> int:
    return number - 2**64
