"""Checks of single values: what lies on a boundary is taken or refused as the message says."""

import numpy as np
import pytest

import shesha
from shesha.inputs import validation as check

SMALLEST = 5e-324
NAN, INFINITY = float("nan"), float("inf")
TAKEN = {
    "fraction": (check.fraction, {}, [1e-15, 0.5, 1, 1.0]),
    "open fraction": (check.fraction, {"closed": False}, [1e-15, 1 - 1e-15]),
    "positive": (check.positive, {}, [SMALLEST, 1e308, 3]),
    "at least": (check.require_at_least, {"minimum": 2.0}, [2, 2.0, 1e308]),
    "finite": (check.finite_number, {}, [0, -1e308, np.float32(2)]),
    "count": (check.count, {}, [1, np.int64(7)]),
    "count from 3": (check.count, {"minimum": 3}, [3, 4]),
    "boolean": (check.boolean, {}, [True, np.bool_(False)]),
}
REFUSED = {
    "fraction": (check.fraction, {}, [0, 0.0, np.nextafter(1, 2), -0.5, NAN, INFINITY], r"in \(0, 1\]"),
    "open fraction": (check.fraction, {"closed": False}, [0, 1, 1.0, NAN], r"in \(0, 1\)"),
    "fraction at an end": (check.fraction, {}, [SMALLEST, np.nextafter(1, 0)], "at least 1e-15 and at most 1 - 1e-15"),
    "positive with a limit": (check.positive, {"most": 9.0}, [0, 10.0, INFINITY], "positive and at most 9"),
    "at least, with a limit": (check.require_at_least, {"minimum": 2.0, "most": 9.0}, [1, 10, NAN], "at most 9"),
    "positive": (check.positive, {}, [0, -SMALLEST, NAN, INFINITY, 10**400], "positive and finite"),
    "at least": (
        check.require_at_least,
        {"minimum": 2.0},
        [np.nextafter(2, 1), NAN, INFINITY, -(10**400)],
        "at least 2",
    ),
    "finite": (check.finite_number, {}, [NAN, INFINITY, -INFINITY, 10**400, -(10**400)], "finite"),
    "count": (check.count, {}, [0, -1], "at least 1"),
    "count from 3": (check.count, {"minimum": 3}, [2], "at least 3"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_values_on_the_boundary_are_taken_as_they_are(name):
    function, options, values = TAKEN[name]
    for value in values:
        assert function(value, "it", **options) == value


@pytest.mark.parametrize("name", REFUSED)
def test_values_beyond_the_boundary_are_refused(name):
    function, options, values, message = REFUSED[name]
    for value in values:
        with pytest.raises(ValueError, match=f"it must be .*{message}"):
            function(value, "it", **options)


def test_counts_end_where_they_say():
    for name, most in (("rows", 2**31 - 1), ("n_permutations", 10_000_000)):
        assert check.count(most, name) == most
        with pytest.raises(ValueError, match=f"{name} must be at most {most:,}, "):
            check.count(most + 1, name)
    assert check.optional_count(None, "rows") is None
    assert check.optional_count(2**40, "rows") == 2**31 - 1, "no limit is larger than what can be counted"


def test_whole_numbers_beyond_floats_are_infinite_with_their_sign():
    for value, said in ((10**400, "got inf"), (-(10**400), "got -inf")):
        with pytest.raises(ValueError, match=said):
            check.finite_number(value, "it")


@pytest.mark.parametrize("value", ["1", None, True, 1j, [1.0]])
def test_what_is_no_number_is_refused(value):
    for function in (check.fraction, check.positive, check.finite_number):
        with pytest.raises(TypeError, match="it must be a number, got"):
            function(value, "it")


def test_row_numbers_are_the_first_to_the_last_once_each():
    assert check.row_ids([4, 0, 2], 5, "ids").tolist() == [4, 0, 2]
    for ids, message in (
        ([0, 5], r"ids must lie in 0..4, got 5"),
        ([-1, 2], r"ids must lie in 0..4, got -1"),
        ([1, 2, 1], "ids must name each row once"),
        ([], "non-empty sequence of row numbers"),
        ([0.0, 1.0], "non-empty sequence of row numbers"),
        ([[0, 1]], "non-empty sequence of row numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            check.row_ids(ids, 5, "ids")


def test_pairs_of_matrices_have_the_same_rows():
    X, Y = np.ones((5, 2)), np.ones((5, 3))
    assert [one.shape for one in check.paired(X, Y)] == [(5, 2), (5, 3)]
    with pytest.raises(ValueError, match=r"Y must have as many rows as X \(5\), got 4"):
        check.paired(X, Y[:4])


@pytest.mark.parametrize("shape", [(5, 3, 2), (5, 2, 2, 3), (5, 7)])
def test_tokens_and_maps_keep_their_shape_and_are_checked_row_by_row(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    assert np.array_equal(check.representation(X), X)
    X[(3, *[0] * (len(shape) - 1))] = np.nan
    with pytest.raises(ValueError, match=r"X must be finite, got .*row.* 3"):
        check.representation(X)
    with pytest.raises(ValueError, match=r"got (shape|0)"):
        check.representation(np.empty((5, 0, *shape[2:])))


def test_labels_in_cells_are_taken_out():
    cells = np.empty((4, 1), dtype=object)
    cells[:, 0] = [np.array([name]) for name in "abba"]
    assert "".join(check.label_vector(cells, 4)) == "abba"


@pytest.mark.parametrize(
    "call",
    [
        lambda X, Y: shesha.rank_models([Y], {"m": X}),
        lambda X, Y: shesha.measures.cka(X, Y),
        lambda X, Y: shesha.compare(X, Y),
        lambda X, Y: shesha.compare_within(X, Y, np.arange(20) % 2),
        lambda X, Y: shesha.diff(X, Y),
    ],
    ids=["rank", "cka", "compare", "within", "diff"],
)
def test_a_matrix_whose_columns_are_the_rows_of_the_other_may_be_transposed(call):
    X = np.random.default_rng(0).standard_normal((20, 6))
    for Y, hinted in ((np.tile(X[:, :3], (1, 2)).T.repeat(2, axis=0), True), (X[:9], False)):
        with pytest.raises(ValueError, match="rows") as refused:
            call(X, Y)
        assert ("may be transposed, because it" in str(refused.value)) == hinted
