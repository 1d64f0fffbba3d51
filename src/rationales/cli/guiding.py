"""`--alignment`: which words of two texts a model may link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rationales.errors import InputError

if TYPE_CHECKING:
    from rationales.models.guiding import Guide

ROLES = "roles"

AlignmentOption = Annotated[
    str | None,
    typer.Option(
        help="Which words of two texts may be linked: a JSON file that says so, or roles, for those alike in role."
    ),
]


def guide_of(alignment: str, *, one_pair: bool) -> Guide:
    """What the option means; a mask without an id goes with one pair."""
    from rationales.guidance import MaskGuide, RoleGuide

    if alignment == ROLES:
        return RoleGuide()
    if not Path(alignment).exists():
        raise InputError(f"there is no file {alignment}; --alignment is a JSON file with masks, or the word {ROLES}")
    guide = MaskGuide.read(alignment)
    if None in guide.masks and not one_pair:
        raise InputError(
            f"the mask in {alignment} has no id, which goes with one pair; of several, each has its pair's"
        )
    return guide
