"""Pictures: plain arrays in, matplotlib Axes out. Nothing here knows a result; results draw themselves with these."""

from __future__ import annotations

from shesha.plots._against_chance import against_chance
from shesha.plots._agreement import agreement
from shesha.plots._axes import PALETTE, pyplot
from shesha.plots._boxes import boxes, legend_of_colours
from shesha.plots._curves import chance_band, curves
from shesha.plots._drift import drift_bars
from shesha.plots._heat_map import frame_cell, heat_map
from shesha.plots._intervals import Series, intervals
from shesha.plots._leaf_order import leaf_order
from shesha.plots._map import similarity_map
from shesha.plots._null import null_distribution
from shesha.plots._spectra import spectra

__all__ = [
    "PALETTE",
    "Series",
    "against_chance",
    "agreement",
    "boxes",
    "chance_band",
    "curves",
    "drift_bars",
    "frame_cell",
    "heat_map",
    "intervals",
    "leaf_order",
    "legend_of_colours",
    "null_distribution",
    "pyplot",
    "similarity_map",
    "spectra",
]
