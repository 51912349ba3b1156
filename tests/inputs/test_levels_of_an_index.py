"""A level of an index of pandas, or a coordinate of xarray, that identifies the rows of the other side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.cli._options import name_options
from shesha.inputs import align_labels

N = 40
IDS = np.array([f"img_{k:03d}" for k in np.random.default_rng(5).permutation(999)[:N]])


def with_levels(values: Any, *levels: Any, names: Any = ("stimulus_id", "object_name")) -> pd.DataFrame:
    """Return a table whose index has several levels."""
    return pd.DataFrame(values, index=pd.MultiIndex.from_arrays(list(levels), names=list(names)))


@pytest.fixture
def sides(rng: np.random.Generator) -> Any:
    """Rows with two levels, their order on the other side, and these rows."""
    X, order = rng.standard_normal((N, 6)), rng.permutation(N)
    return with_levels(X, IDS, [f"o{k % 8}" for k in range(N)]), order, X[order]


@pytest.mark.parametrize("kind", ["index", "column", "levels", "xarray", "coordinate"])
def test_rows_are_matched_by_the_level_that_identifies_the_other_rows(sides, kind):
    X, order, Y = sides
    table = pd.DataFrame(Y, index=pd.Index(IDS[order], name="stimulus_id"))
    others: Any = table
    if kind == "column":
        others = table.rename(columns=str).reset_index()
    if kind == "levels":
        others = with_levels(Y, IDS[order], np.arange(N), names=("stimulus_id", "number"))
    if kind in ("xarray", "coordinate"):
        xarray = pytest.importorskip("xarray")
        along = {"stimulus_id": ("presentation", IDS), "object_name": ("presentation", X.index.get_level_values(1))}
        made = xarray.DataArray(X.to_numpy(), dims=("presentation", "neuroid"), coords=along)
        indexed = made.set_index(presentation=["stimulus_id", "object_name"])
        X = indexed if kind == "xarray" else made.assign_coords(presentation=np.arange(N))
    for pair in ((X, others), (others, X)):
        found = shesha.compare(*pair, "CKA")
        assert found["CKA"].value == pytest.approx(1)
        assert "rows matched by stimulus_id, in another order in Y" in found.inputs


def test_some_shared_values_of_a_level_and_labels(sides):
    X, order, Y = sides
    some = pd.DataFrame(Y, index=pd.Index(IDS[order], name="stimulus_id")).iloc[:30]
    with pytest.raises(ValueError, match=r'got 30 shared stimulus_ids of 30 and 40 .* pass rows="shared"'):
        shesha.compare(X, some, "CKA")
    found = shesha.compare(X, some, "CKA", rows="shared")
    assert found["CKA"].value == pytest.approx(1)
    assert "30 of 40 and 30 rows shared by stimulus_id" in found.inputs
    labels = pd.Series(order % 3, index=pd.Index(IDS[order], name="stimulus_id"))
    assert np.asarray(align_labels(X, labels)).tolist() == (np.arange(N) % 3).tolist()


def test_levels_that_repeat_or_have_other_names_do_not_identify_rows(sides):
    X, order, Y = sides
    repeated = with_levels(X.to_numpy(), IDS[np.arange(N) // 2], np.arange(N))
    for left, name in ((X, "image"), (repeated, "stimulus_id")):
        right = pd.DataFrame(Y, index=pd.Index(IDS[order], name=name))
        with pytest.raises(ValueError, match="got 0 shared names") as refused:
            shesha.compare(left, right, "CKA")
        # The function has no argument `ids`, but tables can be given an index.
        assert "pass tables with .set_index(COLUMN), or files with ids=" in str(refused.value)
        assert "name one column: pass --id. " in name_options(str(refused.value), "compare")
    # Rows of equal levels are matched by all levels, and numbers of rows by position.
    both = shesha.compare(X, with_levels(Y, *(X.index.get_level_values(k)[order] for k in (0, 1))), "CKA")
    assert both["CKA"].value == pytest.approx(1)
    numbered = with_levels(Y, np.arange(N), IDS, names=("row", "note"))
    with pytest.raises(ValueError, match="got 0 shared names"):
        shesha.compare(X, numbered, "CKA")
