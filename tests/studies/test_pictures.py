"""Pictures that several studies share show every line and every interval."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from shesha_studies.framework.facts import Fact
from shesha_studies.framework.pictures import draw_with_intervals, figure, lines


def drawn(values, **options):
    rows = pd.DataFrame([{"x": x, "y": y, "name": name} for name, own in values.items() for x, y in enumerate(own)])
    made, (ax,) = figure()
    lines(ax, rows, "x", "y", "name", **options)
    styles = {one.get_label(): one.get_linestyle() for one in ax.lines}
    plt.close(made)
    return styles


def test_a_line_on_another_is_dashed():
    values = {"first": [0.1, 0.5], "same": [0.1, 0.5], "near its start": [0.1, 0.7]}
    assert drawn(values, dashed=True) == {"first": "-", "same": "--", "near its start": "-"}
    assert set(drawn(values).values()) == {"-"}


def test_intervals_are_drawn_from_low_to_high_and_a_fact_without_one_is_a_point():
    made, (ax,) = figure()
    draw_with_intervals(ax, [1, 2], [Fact(0.5, 0.2, 0.6), Fact(0.3)], label="ours")
    (container,) = ax.containers
    (bars,) = container[2]
    segments = np.array(bars.get_segments())
    plt.close(made)
    assert container[0].get_ydata().tolist() == [0.5, 0.3]
    np.testing.assert_allclose(segments[:, :, 1], [[0.2, 0.6], [0.3, 0.3]])
