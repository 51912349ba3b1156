"""Values fit the types of fields: containers by themselves and by what they hold."""

from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from shesha.results.json_loading import fits

FIT = [
    ((1.0, 2), tuple[float, ...]),
    ((), tuple[float, ...]),
    ((1.0, "a"), tuple[float, str]),
    ({"a": 1.0}, dict[str, float]),
    ([1.0], list[float]),
    (None, float | None),
    ("a", Literal["a", "b"]),
    (np.ones(2), NDArray[np.float64]),
    (b"anything", Any),
    (((1.0,), ()), tuple[tuple[float, ...], ...]),
]
MISFIT = [
    ([1.0], tuple[float, ...]),
    (("a",), tuple[float, ...]),
    ((1.0, "a"), tuple[float, ...]),
    ((1.0,), tuple[float, str]),
    ((1.0, "a", "b"), tuple[float, str]),
    (("a", 1.0), tuple[float, str]),
    ({"a": "b"}, dict[str, float]),
    ({1: 1.0}, dict[str, float]),
    ((1.0,), list[float]),
    ("c", Literal["a", "b"]),
    ("1", float | None),
    ([1.0], NDArray[np.float64]),
    (((1.0,), ("a",)), tuple[tuple[float, ...], ...]),
]


@pytest.mark.parametrize(("value", "declared"), FIT, ids=str)
def test_what_fits(value, declared):
    assert fits(value, declared)


@pytest.mark.parametrize(("value", "declared"), MISFIT, ids=str)
def test_what_does_not(value, declared):
    assert not fits(value, declared)
