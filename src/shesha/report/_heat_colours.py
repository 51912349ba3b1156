"""Colours of cells and text in heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

_ANCHORS = (
    (0xFD, 0xF6, 0xE3),
    (0xC7, 0xE3, 0xC4),
    (0x6C, 0xBB, 0xB0),
    (0x2A, 0x83, 0x9B),
    (0x1F, 0x4B, 0x7C),
    (26, 20, 66),
)
"""Colours from light to dark that also suit colour-blind readers and black-and-white print."""
LEVELS = 32


def colour(level: int) -> tuple[int, int, int]:
    """Return the red, green and blue values of a level, from 0 (light) to LEVELS - 1 (dark)."""
    place = level / (LEVELS - 1) * (len(_ANCHORS) - 1)
    channels = zip(*_ANCHORS, strict=True)
    red, green, blue = (round(float(np.interp(place, range(len(_ANCHORS)), channel))) for channel in channels)
    return red, green, blue


def luminance(rgb: Sequence[int]) -> float:
    """Return the relative luminance of a colour, as the web's contrast guidelines define it.

    Examples
    --------
    >>> luminance((0, 0, 0)), luminance((255, 255, 255))
    (0.0, 1.0)
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (channel / 255 for channel in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink(rgb: Sequence[int]) -> str:
    """Return black or white, whichever has the higher contrast (always at least 4.58)."""
    light = luminance(rgb)
    return "#000" if (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) else "#fff"


def level(value: float, low: float, high: float, closer: str) -> int | None:
    """Return the colour level of a value between the limits of a map; None for a missing value."""
    if not isfinite(value):
        return None
    share = 0.5 if high <= low else (value - low) / (high - low)
    return round((share if closer == "higher" else 1 - share) * (LEVELS - 1))
