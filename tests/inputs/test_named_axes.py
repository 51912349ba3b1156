"""Arrays with named axes: axes come in the order of their roles, and coordinates tell where they stand."""

from itertools import permutations

import numpy as np
import pytest

from shesha.inputs._other_libraries import coordinate_values, is_labelled, make_data_array
from shesha.neuro.trials import order_axes

xarray = pytest.importorskip("xarray")


def data(*dims):
    sizes = {"trials": 4, "units": 3, "Time": 2, "other": 5, "neuron": 3}
    return xarray.DataArray(np.arange(np.prod([sizes[d] for d in dims])).reshape([sizes[d] for d in dims]), dims=dims)


@pytest.mark.parametrize("order", list(permutations(("trials", "units", "Time"))))
def test_axes_come_in_the_order_of_their_roles(order):
    first = data("trials", "units", "Time")
    found = order_axes(first.transpose(*order), "X")
    assert found.dims == ("trials", "units", "Time")
    assert np.array_equal(found.values, first.values)
    assert is_labelled(found) and not is_labelled(found.values)


def test_axes_of_unknown_roles_stay_and_doubled_roles_are_refused():
    assert order_axes(data("units", "other"), "X").dims == ("units", "other")
    assert order_axes(data("other", "Time", "units"), "X").dims == ("other", "units", "Time")
    with pytest.raises(ValueError, match=r"got units \(neuron\), neuron \(neuron\), trials \(trial\); rename"):
        order_axes(data("units", "neuron", "trials"), "X")


def test_a_coordinate_stands_along_one_axis():
    X = data("trials", "units").assign_coords(stimulus=("trials", list("abab")), area=("units", [1, 2, 1]), day=7)
    axis, values = coordinate_values(X, "stimulus")
    assert (axis, values.tolist()) == ("trials", list("abab"))
    assert coordinate_values(X, "area")[0] == "units"
    for name in ("day", "depth"):
        with pytest.raises(
            ValueError, match=f"X must have a coordinate '{name}' along one axis, got 'stimulus', 'area'"
        ):
            coordinate_values(X, name)
    with pytest.raises(ValueError, match="got none"):
        coordinate_values(data("trials", "units"), "area")


def test_what_is_made_has_its_axes_and_entries():
    made = make_data_array(np.eye(2), {"first": ["a", "b"], "second": (1, 2)}, "CKA", "neuro")
    assert made.name == "CKA" and made.dims == ("first", "second")
    assert made.sel(first="a", second=1).item() == 1 and made.sel(first="a", second=2).item() == 0
