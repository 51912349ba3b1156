"""Change over depth: what is drawn where, on a logarithmic scale that zero has no place on."""

import numpy as np

from shesha.charts import depth_profile


def test_each_verdict_has_its_mark_and_no_change_is_drawn_below_all_that_changed():
    ends = [0.0, 9e-4, 8e-3, 0.1, 0.6], [0.0, 2e-3, 3e-2, 0.3, 0.8]
    verdicts = ["unchanged", "within noise", "cannot decide", "changed", "replaced"]
    ax = depth_profile(list("abcde"), [0.0, 1e-3, 2e-2, 0.2, 0.7], ends, [1e-2] * 5, verdicts)
    dots = {one.get_label(): one.get_offsets() for one in ax.collections if not one.get_label().startswith("_")}
    assert set(dots) == set(verdicts)
    np.testing.assert_allclose(dots["changed"], [[3, 0.2]])
    np.testing.assert_allclose(dots["cannot decide"], [[2, 2e-2]])
    np.testing.assert_allclose(dots["within noise"], [[1, 1e-3]])
    assert 0 < dots["unchanged"][0][1] < 1e-3


def test_unknown_limits_and_intervals_are_left_out():
    nan = float("nan")
    ax = depth_profile(
        ["a", "b"], [0.1, nan], ([nan, nan], [nan, nan]), [nan, nan], ["not estimable"] * 2, label="RDM drift"
    )
    assert "RDM drift" in ax.get_ylabel()
    assert len(ax.get_xticklabels()) == 2
