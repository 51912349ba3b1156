"""Functions that draw plain arrays on matplotlib Axes; results call them to plot themselves."""

from shesha.charts._axes import (
    PALETTE as PALETTE,
    literal as literal,
    name_ticks as name_ticks,
    pyplot as pyplot,
    set_title as set_title,
)
from shesha.charts.bars_and_intervals import (
    Series as Series,
    boxes as boxes,
    chance_band as chance_band,
    class_values as class_values,
    drift_bars as drift_bars,
    intervals as intervals,
    legend_of_colours as legend_of_colours,
    model_bars as model_bars,
    null_distribution as null_distribution,
)
from shesha.charts.curves import (
    against_chance as against_chance,
    curves as curves,
    depth_profile as depth_profile,
    spectra as spectra,
)
from shesha.charts.maps import (
    Style as Style,
    frame_cell as frame_cell,
    full_range as full_range,
    heat_map as heat_map,
    leaf_order as leaf_order,
    row_map as row_map,
    similarity_map as similarity_map,
    style_options as style_options,
)
