"""Functions that draw plain arrays on matplotlib Axes; results call them to plot themselves."""

from shesha.charts._axes import PALETTE, name_ticks, pyplot, set_title
from shesha.charts.bars_and_intervals import (
    Series,
    boxes,
    chance_band,
    class_values,
    drift_bars,
    intervals,
    legend_of_colours,
    model_bars,
    null_distribution,
)
from shesha.charts.curves import against_chance, curves, depth_profile, spectra
from shesha.charts.maps import (
    Style,
    frame_cell,
    full_range,
    heat_map,
    leaf_order,
    row_map,
    similarity_map,
    style_options,
)

__all__ = [
    "PALETTE",
    "Series",
    "Style",
    "against_chance",
    "boxes",
    "chance_band",
    "class_values",
    "curves",
    "depth_profile",
    "drift_bars",
    "frame_cell",
    "full_range",
    "heat_map",
    "intervals",
    "leaf_order",
    "legend_of_colours",
    "model_bars",
    "name_ticks",
    "null_distribution",
    "pyplot",
    "row_map",
    "set_title",
    "similarity_map",
    "spectra",
    "style_options",
]
