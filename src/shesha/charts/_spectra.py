"""Spectra: the share of a representation's variance along each principal direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from shesha.charts._axes import PALETTE, axes_or_new, literal, sequence_of_colours
from shesha.charts._curves import DASHES
from shesha.support.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 1e-12
"""Smallest share of the variance that is drawn; anything smaller is rounding error."""


def spectra(shares: Mapping[str, Vector], *, ordered: bool = False, ax: Axes | None = None) -> Axes:
    """Draw shares of variance against the rank of their principal direction, on logarithmic axes.

    Parameters
    ----------
    shares : mapping of str to array of shape (n_directions,)
        Shares of the variance in descending order, which add up to 1.
    ordered : bool
        Whether the order of the spectra is meaningful, as for layers. If so, colours run from dark to light.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (4.8, 3.4))
    ordered_colours = sequence_of_colours(len(shares)) if ordered else ()
    for place, (name, spectrum) in enumerate(shares.items()):
        positive = np.asarray(spectrum, dtype=float)
        positive = positive[positive > _LEAST]
        colour, dashes = PALETTE[place % len(PALETTE)], DASHES[place % len(DASHES)]
        if ordered:
            colour, dashes = ordered_colours[place], "-"
        ax.plot(np.arange(1, len(positive) + 1), positive, label=literal(name), color=colour, linestyle=dashes)
    ax.set(xscale="log", yscale="log", xlabel="principal direction (largest first)", ylabel="share of variance")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
