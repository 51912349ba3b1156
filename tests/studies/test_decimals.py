"""Numbers of one column are written alike."""

import numpy as np
import pytest

from shesha_studies.framework.column_decimals import column_cells


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([0.9, 0.873], ["0.900", "0.873"]),
        # Four digits of the largest, three decimals below 1.
        ([1.23456, 2.34567], ["1.235", "2.346"]),
        ([12.3456, 23.4567], ["12.35", "23.46"]),
        ([0.123456, 0.987654], ["0.123", "0.988"]),
        ([0.0123456, 0.0987654], ["0.0123", "0.0988"]),
        ([0.9, -0.25, 0.0], ["0.90", "-0.25", "0.00"]),
        ([1, 20, 300], ["1", "20", "300"]),
        ([1.0, 20.0, float("nan")], ["1", "20", "-"]),
        ([128, 0.5], ["128.0", "0.5"]),
        ([12.3456, 1.5, None], ["12.35", "1.50", "-"]),
        ([123456.7, 1000.2], ["123457", "1000"]),
        ([0.5, 0.0002], ["0.5000", "0.0002"]),
        ([1 / 3, 0.03, float("inf")], ["0.333", "0.030", "inf"]),
        ([0.0123, 0.0456], ["0.0123", "0.0456"]),
        ([-1e-17, 1 / 3, 0.25, 0.5], ["-1e-17", "0.333", "0.250", "0.500"]),
        ([0.0, 0.0], ["0", "0"]),
        ([], []),
    ],
)
def test_a_column_has_one_number_of_decimals(values, written):
    assert column_cells(values) == written


def test_what_is_not_zero_never_reads_as_zero():
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = (10.0 ** rng.uniform(-8, 6, size=5) * rng.choice([-1, 1], size=5)).tolist()
        read = [float(text) for text in column_cells(values)]
        assert all(read)
        assert read == pytest.approx(values, rel=0.5)
