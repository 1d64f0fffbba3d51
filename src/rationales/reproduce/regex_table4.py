"""Table 4 of the paper on REGEX, with all attributions as in its Table 10: SST-2, measured as in `regex_table1.py`.

terms   without each of the terms
guides  with other attributions as guides of attention, each summed up by its mean or its ℓ2 norm over dimensions
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rationales.reproduce.regex_table1 import Published, as_ours, measure, rows
from rationales.reproduce.regex_training import DATA, REGEX, Kinds, jobs, kinds_of, measured
from rationales.reproduce.tables import Found, Options, Table, tables

NAME = "regex-table4"
ABLATIONS: Kinds = {
    **kinds_of(DATA),
    "without robustness": {"gradient_weight": 0.0, "adversarial_weight": 0.0},
    "without guidance": {**REGEX, "guidance_weight": 0.0},
    "without adversarial term": {**REGEX, "adversarial_weight": 0.0},
    "without gradient term": {**REGEX, "gradient_weight": 0.0},
}
GUIDES: Kinds = {
    f"{guide}, {aggregate}": {**REGEX, "guide": guide, "aggregate": aggregate}
    for aggregate in ("mean", "l2")
    for guide in ("gradient", "input_x_gradient", "deeplift", "integrated_gradients")
    if (guide, aggregate) != ("integrated_gradients", "l2")  # REGEX itself
}
PARTS = {"terms": ABLATIONS, "guides": GUIDES}

_PAPER = """
gradient, mean | 87.81 .32 .52 .32 .48 .44 .45 .25 .48 .53 .42 .40 .38
input_x_gradient, mean | 91.21 .40 .52 .43 .53 .42 .42 .18 .37 .19 .39 .22 .22
deeplift, mean | 87.99 .36 .61 .42 .58 .50 .51 .22 .52 .66 .49 .37 .37
integrated_gradients, mean | 91.60 .29 .47 .37 .45 .29 .27 .24 .49 .26 .51 .28 .33
gradient, l2 | 83.52 .32 .70 .36 .65 .54 .54 .17 .55 .20 .43 .37 .37
input_x_gradient, l2 | 90.83 .34 .58 .38 .54 .43 .43 .29 .58 .25 .49 .31 .30
deeplift, l2 | 87.62 .30 .69 .39 .68 .53 .53 .16 .53 .26 .47 .37 .37
without robustness | 90.57 .38 .54 .43 .42 .42 .42 .12 .33 .18 .17 .20 .20
without adversarial term | – .27 .47 .32 .31 .33 .33 .14 .39 .21 .19 .24 .24
without gradient term | – .23 .54 .30 .32 .40 .40 .19 .57 .25 .28 .40 .40
without guidance | 85.19 .32 .66 .40 .64 .54 .54 .16 .54 .27 .44 .39 .39
"""
"""As in `regex_table1.py`, for each training (Li et al., 2023, Tables 7 and 10)."""


def published() -> Published:
    """The figures that it has; macro-F1 without a single one of the robustness terms is not among them."""
    lines = (line.split(" | ") for line in _PAPER.strip().splitlines())
    return {(DATA, DATA, name): as_ours(cells.split()) for name, cells in lines}


def compute(part: str, options: Options, report: Callable[[str], None]) -> Found:
    """Train and measure each kind of a part."""
    todo = jobs(PARTS[part], DATA, options)
    return measured(partial(measure, {DATA: (DATA,)}), todo, options.folder(NAME, part), options, report)


tables(NAME)(
    Table(
        NAME,
        "REGEX without each of its terms, and with other guides.",
        tuple(PARTS),
        compute,
        partial(rows, others=published()),
    )
)
