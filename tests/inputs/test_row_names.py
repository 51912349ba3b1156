"""Rows that have names are matched by them, or refused; what has none is taken as it stands."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha import sim
from shesha.inputs import Names, align_labels, orders
from shesha.io import NamedRows, from_anndata
from shesha.support.provenance import collect_statements
from shesha.support.warnings import RowNamesWarning
from shesha.views import Rows
from shesha_studies import transferability as transfer

RNG = np.random.default_rng(0)
N = 40
X = RNG.standard_normal((N, 6))
Y = X @ RNG.standard_normal((6, 5)) + 0.1 * RNG.standard_normal((N, 5))
CLASSES = np.repeat([0, 1], N // 2)
NAMES = [f"cell {row}" for row in range(N)]
MIXED = RNG.permutation(N)
A = pd.DataFrame(X, index=NAMES)
B = pd.DataFrame(Y, index=NAMES).iloc[MIXED]


def told(order="Y"):
    return pytest.warns(shesha.RowNamesWarning, match=f"rows of {order} are in a different order from those of ")


def test_two_are_matched_by_their_names_wherever_they_are_compared():
    with told():
        assert sim.cka(A, B) == sim.cka(X, Y)
    with told():
        assert shesha.compare(A, B, "CKA")["CKA"].value == sim.cka(X, Y)
    with told("b"):
        assert shesha.compare_all({"a": A, "b": B}, "CKA").matrix("CKA").loc["a", "b"] == sim.cka(X, Y)
    with told():
        assert shesha.calibrate(A, B, n_permutations=19, seed=0).value == sim.cka(X, Y)
    with told():
        found = shesha.calibrate(A, B, lambda a, b: float(a[0] @ a[1] * (b[0] @ b[1])), n_permutations=19, seed=0)
    assert found.value == float(X[0] @ X[1] * (Y[0] @ Y[1]))
    with told(r"layers_b\[0\]"):
        assert shesha.compare_layers([A], [B], "CKA").matrix().iloc[0, 0] == sim.cka(X, Y)
    with told(r"layers_b\[0\]"):
        assert shesha.calibrate_layers([A], [B], n_permutations=19, seed=0).value == sim.cka(X, Y)
    with told():
        assert shesha.rdm_similarity(A, B) == shesha.rdm_similarity(X, Y)
    with told("X_b"):
        assert shesha.replicate_stability(A, B) == shesha.replicate_stability(X, Y)
    with told("b"):
        assert shesha.drift_path({"a": A, "b": B}).from_first == shesha.drift_path({"a": X, "b": Y}).from_first


def test_several_are_audited_in_the_order_of_the_first_and_so_are_their_labels():
    labels = pd.Series(CLASSES, index=NAMES)
    expected = shesha.audit({"a": X, "b": Y}, CLASSES, n_bootstrap=0, n_permutations=19)
    with told("b"), told("y"):
        found = shesha.audit({"a": A, "b": B}, labels.iloc[::-1], n_bootstrap=0, n_permutations=19)
    assert "rows matched by name, in another order in b" in found.inputs
    assert str(replace(found, inputs=())) == str(expected)


def test_labels_and_blocks_follow_the_names():
    labels = pd.Series(CLASSES, index=NAMES).iloc[MIXED]
    with told("y"):
        assert shesha.variance_ratio(A, labels) == shesha.variance_ratio(X, CLASSES)
    with told("y"):
        assert transfer.h_score(A, labels) == transfer.h_score(X, CLASSES)
    with told("y"):
        assert transfer.h_score(A, y=labels) == transfer.h_score(X, CLASSES)
    with told("y"):
        found = shesha.estimate(A, labels, variant="variance", n_bootstrap=5, seed=0)
    assert found.value == shesha.variance_ratio(X, CLASSES)
    with told("blocks"):
        blocked = shesha.calibrate(A, Y, blocks=labels, n_permutations=19, seed=0)
    assert blocked.null == shesha.calibrate(X, Y, blocks=CLASSES, n_permutations=19, seed=0).null


def test_distances_have_names_too():
    first = pd.DataFrame(_square(X), index=NAMES)
    second = pd.DataFrame(_square(Y), index=NAMES).iloc[MIXED, MIXED]
    with told():
        found = shesha.rdm_similarity(shesha.Rdm(first), shesha.Rdm(second))
    assert found == shesha.rdm_similarity(shesha.Rdm(_square(X)), shesha.Rdm(_square(Y)))


def _square(rows):
    return np.linalg.norm(rows[:, None] - rows, axis=-1)


def test_names_that_differ_are_refused_with_how_many_are_shared():
    other = pd.DataFrame(Y, index=[*NAMES[:30], *(f"new {row}" for row in range(10))])
    with pytest.raises(
        ValueError, match="rows of Y must have the same names as those of X, got 30 shared names of 40 and 40"
    ):
        sim.cka(A, other)
    with pytest.raises(
        ValueError, match=r'got 30 shared names of 30 and 40 .* use only the shared rows, pass rows="shared"'
    ):
        shesha.compare(A, pd.DataFrame(Y, index=NAMES).iloc[:30])
    assert sim.cka(A, other.to_numpy()) == sim.cka(X, Y)


def test_anndata_arrays_and_named_rows_are_matched_alike():
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(X, obs=pd.DataFrame(index=NAMES))
    with told():
        assert sim.cka(adata, from_anndata(anndata.AnnData(Y, obs=A[[]])[MIXED])) == sim.cka(X, Y)
    array = pytest.importorskip("xarray").DataArray(Y[MIXED], dims=("cell", "f"), coords={"cell": B.index})
    with told():
        assert sim.cka(adata, array) == sim.cka(X, Y)
    assert sim.cka(array.to_pandas(), NamedRows(X, NAMES)) == sim.cka(Y[MIXED], X[MIXED])


@pytest.mark.parametrize("index", [range(N), range(7, 7 + N), NAMES])
def test_nothing_is_said_where_rows_stand_alike(index):
    assert sim.cka(pd.DataFrame(X, index=index), pd.DataFrame(Y, index=index)) == sim.cka(X, Y)
    assert sim.cka(pd.DataFrame(X, index=index), Y) == sim.cka(X, Y)


def test_numbers_count_only_where_they_are_the_same_numbers():
    table = pd.DataFrame(X)
    # Halves and selections of one table are paired by position; lags, which may be mistakes, only as arrays.
    assert sim.cka(table[:20], table[20:]) == sim.cka(X[:20], X[20:])
    with pytest.raises(ValueError, match="got 34 shared names of 37 and 37"):
        sim.cka(table[3:], table[:-3])
    assert shesha.compare(table[3:], table[:-3], "CKA", rows="shared").inputs[0].startswith("34 of 37 rows shared")
    assert sim.cka(table[::2], table[1::2]) == sim.cka(X[::2], X[1::2])
    assert sim.cka(table[::2], Y[:20]) == sim.cka(X[::2], Y[:20])
    with told():
        assert sim.cka(table, table.sample(frac=1, random_state=0)) == sim.cka(X, X)
    with pytest.raises(ValueError, match="got 2 shared names of 7 and 10"):
        shesha.rdm_similarity(table[0:40:4], table[0:20:3])


def test_repeated_names_pair_rows_only_in_the_same_order():
    twice = pd.DataFrame(Y, index=["a", *NAMES[1:-1], "a"])
    assert sim.cka(pd.DataFrame(X, index=twice.index), twice) == sim.cka(X, Y)
    with pytest.raises(ValueError, match=r"names of Y must be distinct to match rows of Y and X, got a in rows 0, 39"):
        sim.cka(A, twice)


def test_orders_put_names_in_their_place():
    first, second = Names.build(["b", "c", "a"]), Names.build(["a", "b", "c"])
    with told("z"):
        assert orders({"x": None, "y": first, "z": second})["z"].tolist() == [1, 2, 0]
    assert orders({"y": first, "numbers": Names.build([3, 1, 2])}) == {}
    # Text that is digits counts as numbers, as AnnData has them.
    assert Names.build(["3", "1", "2"]).has_same_order(Names.build([3, 1, 2]))
    assert Names.build(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])).values.tolist() == ["('a', 1)", "('b', 2)"]
    assert Names.build(pd.to_datetime(["2026-01-02"])).values[0].startswith("2026-01-02")


def test_a_model_that_goes_elsewhere_leaves_its_names():
    assert pickle.loads(pickle.dumps(Rows(A))).names is None


def test_names_must_be_one_per_row():
    with pytest.raises(ValueError, match=r"names must be one per row \(40\), got shape \(2,\)"):
        NamedRows(X, ["a", "b"])


def test_arrays_are_matched_in_a_store_and_by_workers(tmp_path):
    with told("b"):
        found = shesha.compare_all({"a": A, "b": B}, "CKA", store=tmp_path / "store.sqlite")
    assert found.matrix("CKA").loc["a", "b"] == sim.cka(X, Y)
    with told("b"):
        audits = shesha.audit({"a": A, "b": B}, n_bootstrap=0, n_permutations=19, store=tmp_path / "store.sqlite")
    assert str(replace(audits, inputs=())) == str(shesha.audit({"a": X, "b": Y}, n_bootstrap=0, n_permutations=19))


def test_times_name_rows_whatever_they_are_counted_in():
    """Counted in nanoseconds by pandas before 3.0, in microseconds since."""
    start = np.datetime64("2020-01-01T00:00:10", "ns") + np.arange(N) * np.timedelta64(1_500_000_000, "ns")
    for units in (("datetime64[ns]", "datetime64[us]"), ("datetime64[ms]", "datetime64[ns]")):
        named, mixed = (
            pd.DataFrame(one, index=pd.Index(start.astype(unit))) for one, unit in zip((X, Y), units, strict=True)
        )
        with told():
            assert sim.cka(named, mixed.iloc[MIXED]) == sim.cka(X, Y)
    since = [Names.build((start - start[0]).astype(unit)) for unit in ("timedelta64[ns]", "timedelta64[ms]")]
    assert since[0].has_same_order(since[1])
    days = [
        Names.build(np.array(["2020-01-01", "2020-02-01"], dtype=unit)) for unit in ("datetime64[D]", "datetime64[ns]")
    ]
    assert days[0].has_same_order(days[1])


def test_labels_of_further_rows_are_not_used():
    """A table of labels may describe more rows; it must not lack any."""
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((6, 3)), index=list("fbdace"))
    labels = pd.Series(list("uvwxyz01"), index=list("abcdefgh"))
    with collect_statements() as statements, pytest.warns(RowNamesWarning, match="in a different order"):
        assert list(align_labels(X, labels)) == ["z", "v", "x", "u", "w", "y"]
    assert "y: labels of 2 further rows not used" in statements
    with pytest.raises(ValueError, match="rows of y must have the same names"):
        align_labels(X, labels.drop("f"))


@pytest.mark.parametrize("missing", ["refuse", "drop"])
@pytest.mark.parametrize(
    ("values", "names", "doubted"),
    [
        (X, MIXED, True),
        (X + 0.01 * RNG.standard_normal(X.shape), MIXED, True),
        (X[MIXED], MIXED, False),
        (RNG.standard_normal(X.shape), MIXED, False),
    ],
    ids=["names sorted alone", "encoded again", "both sorted", "unrelated"],
)
def test_names_that_were_sorted_without_their_vectors_are_doubted(values, names, doubted, missing):
    other = pd.DataFrame(values, index=np.array(NAMES)[names])
    with pytest.warns(RowNamesWarning) as told:
        found = shesha.compare(A, other, "CKA", missing=missing)
    texts = ("by name, but fit far better by position", "Y seems to contain the rows of X under other names")
    assert any(text in str(one.message) for one in told for text in texts) == doubted
    assert any(text in statement for statement in found.inputs for text in texts) == doubted
    assert ("No other problem found" in " ".join(found.full_text().split())) <= doubted
