"""Change over depth: what is drawn where, on a logarithmic scale that zero has no place on."""

import numpy as np

from shesha.charts import depth_profile


def test_no_change_is_drawn_below_all_that_changed():
    ax = depth_profile(["a", "b", "c"], [0.0, 1e-3, 0.2], ([0.0, 9e-4, 0.1], [0.0, 2e-3, 0.3]), [1e-2, 1e-2, 1e-2])
    dots = {one.get_label(): one.get_offsets() for one in ax.collections if not one.get_label().startswith("_")}
    assert set(dots) == {"beyond noise", "within noise", "no change"}
    np.testing.assert_allclose(dots["beyond noise"], [[2, 0.2]])
    np.testing.assert_allclose(dots["within noise"], [[1, 1e-3]])
    assert 0 < dots["no change"][0][1] < 1e-3


def test_unknown_limits_and_intervals_are_left_out():
    nan = float("nan")
    ax = depth_profile(["a", "b"], [0.1, nan], ([nan, nan], [nan, nan]), [nan, nan], label="RDM drift")
    assert "RDM drift" in ax.get_ylabel()
    assert len(ax.get_xticklabels()) == 2
