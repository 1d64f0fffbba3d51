"""Colours that can be read by everyone, in both themes: contrasts by the WCAG's formula."""

import re

import pytest

from rationales.report import palette
from rationales.report.safe import asset

THEMES = [palette.LIGHT, palette.DARK]
LEVELS = range(1, palette.LEVELS + 1)


def luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme["scheme"])
class TestContrast:
    def test_text_on_every_mark(self, theme):
        for name in [f"{side}{level}" for side in "fa" for level in LEVELS] + ["kept", "paper", "page"]:
            assert contrast(theme["ink"], theme[name]) >= 4.5, name

    def test_other_text(self, theme):
        for name in ("muted", "link", "right", "wrong", "against", "floor", *(f"s{n}" for n in range(palette.SERIES))):
            assert contrast(theme[name], theme["paper"]) >= 4.5, name
        for name in ("muted", "link"):
            assert contrast(theme[name], theme["page"]) >= 4.5, name
        assert contrast(theme["on-accent"], theme["accent"]) >= 4.5

    def test_lines_and_borders_that_mean_something(self, theme):
        for side, line in (("f", "for"), ("a", "against")):
            assert contrast(theme[line], theme["paper"]) >= 3
            for level in LEVELS:
                assert contrast(theme[line], theme[f"{side}{level}"]) >= 3
        for ground in ("kept", "paper"):  # of frames, and of lines between phrases
            assert contrast(theme["kept-edge"], theme[ground]) >= 3
        for ground in ("paper", "page"):
            assert contrast(theme["control"], theme[ground]) >= 3
            assert contrast(theme["accent"], theme[ground]) >= 3  # the ring of the focus

    def test_stronger_marks_stand_out_more(self, theme):
        for side in "fa":
            found = [contrast(theme[f"{side}{level}"], theme["paper"]) for level in LEVELS]
            assert found == sorted(found)

    def test_series_differ(self, theme):
        colours = [theme[f"s{number}"] for number in range(palette.SERIES)]
        assert len(set(colours)) == palette.SERIES


def seen(colour: str, matrix: tuple[tuple[float, float, float], ...]) -> list[float]:
    """A colour as people without one kind of cone see it (Viénot, Brettel and Mollon 1999), linear RGB."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return [sum(weight * x for weight, x in zip(row, linear, strict=True)) for row in matrix]


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme["scheme"])
@pytest.mark.parametrize(
    "matrix",
    [
        ((0.1124, 0.8876, 0.0), (0.1124, 0.8876, 0.0), (0.0040, -0.0040, 1.0)),  # protanopia
        ((0.2928, 0.7072, 0.0), (0.2928, 0.7072, 0.0), (-0.0223, 0.0223, 1.0)),  # deuteranopia
    ],
    ids=["protanopia", "deuteranopia"],
)
def test_for_and_against_differ_without_red_or_green_cones(theme, matrix):
    """Blue against yellow remains: for has more blue than yellow, against less, at every strength."""
    for level in LEVELS:
        for_, against = (seen(theme[f"{side}{level}"], matrix) for side in "fa")
        assert for_[2] - for_[0] > 0 > against[2] - against[0]


def test_every_colour_is_used_and_every_used_one_is_there():
    styles = "".join(asset(name) for name in ("highlights.css", "figures.css", "page.css"))
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", styles))
    assert used == set(palette.LIGHT) - {"scheme"} == set(palette.DARK) - {"scheme"}


def test_both_themes_can_be_forced_and_paper_is_light():
    css = palette.css()
    for selector in ('.rationales[data-theme="dark"]', '[data-jp-theme-light="false"] .rationales', ".vscode-light"):
        assert selector in css
    assert css.rindex("@media print") > css.rindex("data-theme")
    assert palette.LIGHT["ink"] in css[css.rindex("@media print") :]
