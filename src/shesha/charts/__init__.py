"""Functions that draw plain arrays on matplotlib Axes; results call them to plot themselves."""

from shesha.charts._axes import PALETTE, pyplot
from shesha.charts._box_plot import boxes, legend_of_colours
from shesha.charts._class_values import class_values
from shesha.charts._curves import curves
from shesha.charts._drift_bars import drift_bars
from shesha.charts._heat_map import frame_cell, heat_map
from shesha.charts._intervals import Series, chance_band, intervals
from shesha.charts._layer_changes import depth_profile
from shesha.charts._leaf_order import leaf_order
from shesha.charts._model_bars import model_bars
from shesha.charts._null_distribution import null_distribution
from shesha.charts._row_map import row_map
from shesha.charts._scatter_against_chance import against_chance
from shesha.charts._similarity_map import similarity_map
from shesha.charts._spectra import spectra

__all__ = [
    "PALETTE",
    "Series",
    "against_chance",
    "boxes",
    "chance_band",
    "class_values",
    "curves",
    "depth_profile",
    "drift_bars",
    "frame_cell",
    "heat_map",
    "intervals",
    "leaf_order",
    "legend_of_colours",
    "model_bars",
    "null_distribution",
    "pyplot",
    "row_map",
    "similarity_map",
    "spectra",
]
