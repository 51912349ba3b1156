"""Colours of heat maps: dark is close, equal values are in the middle, and letters can be read."""

import math

import pytest

from shesha.report.html import LEVELS, ink, level, luminance


@pytest.mark.parametrize(
    ("value", "closer", "expected"),
    [(1.0, "higher", 31), (0.0, "higher", 0), (1.0, "lower", 0), (0.0, "lower", 31), (0.5, "higher", 16)],
)
def test_the_closest_is_the_darkest(value, closer, expected):
    assert level(value, 0.0, 1.0, closer) == expected


def test_maps_of_one_value_are_of_middle_colour_and_missing_values_have_none():
    assert level(3.0, 3.0, 3.0, "higher") == level(3.0, 3.0, 3.0, "lower") == 16
    assert level(math.nan, 0.0, 1.0, "higher") is None
    assert level(math.inf, 0.0, 1.0, "higher") is None
    assert level(2.5, 2.0, 4.0, "higher") == round(0.25 * (LEVELS - 1))


@pytest.mark.parametrize(
    "rgb", [(0, 0, 0), (255, 255, 255), (118, 118, 118), (120, 120, 120), (10, 11, 200), (9, 250, 3)]
)
def test_letters_have_the_greater_contrast(rgb):
    """The formula of the web's guidelines, and the better of black and white."""

    def linear(channel):
        share = channel / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    light = 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2])
    assert luminance(rgb) == pytest.approx(light)
    black, white = (light + 0.05) / 0.05, 1.05 / (light + 0.05)
    assert ink(rgb) == ("#000" if black > white else "#fff")
    assert max(black, white) >= 4.58
