"""All pairs of several representations: the numbers of pair by pair, each view made once and freed again."""

import gc
from importlib import import_module
from itertools import product

import numpy as np
import pytest

import shesha.measures as measures
from shesha import Rdm, compare, compare_all
from shesha.views import Features, Representation, View

PERFECT = 1e-6
"""Absolute; distances of equal things are roots of rounding."""


def values(found):
    return [one.value for one in found.scores]


def kinds_of_view(base=View):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds_of_view(kind)


def test_every_matrix_is_that_of_the_functions_pair_by_pair(layers, names, direct):
    found = compare_all(layers, names)
    assert found.measures == tuple(names)
    for name in names:
        measure, matrix = measures.get(name), found.matrix(name)
        assert list(matrix.index) == list(matrix.columns) == list(layers)
        for (row, X), (column, Y) in product(layers.items(), repeat=2):
            value, reason = direct(name, X, Y)
            if row == column:
                size = np.linalg.norm(X) if measure.closer == "lower" else 1.0
                assert np.isnan(matrix.loc[row, column]) or matrix.loc[row, column] == pytest.approx(
                    value, abs=PERFECT * size
                )
            elif reason:
                assert np.isnan(matrix.loc[row, column])
            else:
                # The order of two may change the last digit, so that symmetric matrices hold one of both.
                near = pytest.approx(value, rel=1e-9, abs=1e-11)
                assert matrix.loc[row, column] == (near if measure.symmetric else value)


def test_an_asymmetric_measure_has_its_first_argument_in_the_rows(layers):
    matrix = compare_all(layers, "LinReg").matrix("lin reg")
    assert not np.allclose(matrix, matrix.T)
    assert matrix.loc["noise", "narrow"] == measures.linear_regression(layers["noise"], layers["narrow"])
    assert np.diagonal(matrix).tolist() == [1.0] * 4


def test_symmetric_measures_are_compared_once_per_pair(layers, mark):
    calls = []

    @mark("counted")
    def counted(a, b):
        """Count the comparisons."""
        calls.append(1)
        return 0.5

    compare_all(layers, counted)
    assert len(calls) == 6


def test_an_unknown_value_with_itself_is_computed(layers, mark):
    @mark("first entry", self_value=None)
    def first_entry(a, b):
        """Product of the first entries."""
        return float(a.rows[0, 0] * b.rows[0, 0])

    matrix = compare_all(layers, first_entry).matrix("first entry")
    first = np.array([X[0, 0] for X in layers.values()])
    assert matrix.to_numpy() == pytest.approx(np.outer(first, first))


def test_what_has_no_value_is_nan_and_the_diagonal_with_it(layers):
    found = compare_all({**layers, "flat": np.ones((40, 11))}, ["CKA", "ProcDist", "sliced Wasserstein"])
    cka = found.matrix("CKA")
    assert cka.loc["flat"].isna().all() and cka["flat"].isna().all()
    assert cka.drop(index="flat", columns="flat").notna().all(axis=None)
    assert found.matrix("ProcDist").notna().all(axis=None)
    # `narrow` has no partner of its width.
    assert found.matrix("sliced Wasserstein").loc["narrow"].isna().all()
    reasons = {one.reason for one in found.scores if one.name == "CKA" and "flat" in one.second}
    assert reasons == {"flat: all rows are equal"}


def test_distances_and_features_mix(layers):
    given = {"distances": Rdm(np.abs(layers["early"][:, None] - layers["early"][None]).sum(axis=2)), **layers}
    found = compare_all(given, ["RSA", "CKA"])
    assert found.matrix("RSA").notna().all(axis=None)
    assert found.matrix("CKA").loc["distances"].isna().all()
    assert found.matrix("RSA").loc["distances", "noise"] == measures.rsa(given["distances"], layers["noise"])


def test_feature_maps_are_pooled_pair_by_pair():
    rng = np.random.default_rng(3)
    maps = {f"{size} x {size}": rng.standard_normal((12, 4, size, size)) for size in (2, 3, 6)}
    found = compare_all(maps, ["CKA", "Jaccard", "LinReg"])
    for name, (first, X), (second, Y) in product(("CKA", "Jaccard", "LinReg"), maps.items(), maps.items()):
        if first != second:
            function = {"CKA": measures.cka, "Jaccard": measures.jaccard, "LinReg": measures.linear_regression}[name]
            assert found.matrix(name).loc[first, second] == pytest.approx(function(X, Y), rel=1e-9)


def test_two_representations_are_a_comparison(layers, names):
    two = {name: layers[name] for name in ("early", "noise")}
    pairs = compare_all(two, names, seed=3)
    one = compare(*two.values(), names, names=tuple(two), seed=3)
    for score in one.scores:
        value = pairs.matrix(score.name).loc["early", "noise"]
        assert value == score.value or (np.isnan(value) and not score.has_value)


def once_each(layers, names, counted, kinds):
    made = {kind: counted(kind) for kind in kinds if "build" in vars(kind) and kind is not View}
    sources = {name: Representation.build(X) for name, X in layers.items()}
    compare_all(sources, names)
    keys = [(kind, *key) for kind, found in made.items() for key, _ in found]
    assert len(keys) > 10 * len(layers) or len(made) == 1
    assert len(keys) == len(set(keys))


def test_each_view_is_made_once_per_representation(layers, names, counted):
    once_each(layers, names, counted, [kind for kind in kinds_of_view() if kind.__name__ != "Features"])


def test_features_are_made_once_per_representation(layers, names, counted):
    once_each(layers, names, counted, [kind for kind in kinds_of_view() if kind.__name__ == "Features"])


def alive_at_the_end(layers, mark, counted, chosen):
    """Names of the views that still take memory when the last measure is compared."""
    made = {kind: counted(kind) for kind in dict.fromkeys(measures.get(name).view for name in chosen)}
    alive = []

    @mark("last")
    def last(a, b):
        """Look what is left."""
        gc.collect()
        alive.extend(kind.__name__ for kind, found in made.items() for _, view in found if view() is not None)
        return 0.5

    compare_all(layers, [*chosen, last])
    assert all(made.values())
    return set(alive)


def test_views_are_freed_when_no_measure_needs_them(layers, mark, counted):
    chosen = ["CCA", "CKA", "RSA", "Jaccard", "mutual kNN", "RSMDiff", "MagDiff"]
    assert not alive_at_the_end(layers, mark, counted, chosen)


def test_views_that_others_were_made_from_are_freed(layers, mark, counted):
    assert not alive_at_the_end(layers, mark, counted, ["cycle kNN(k=5, metric=euclidean)", "IMD"])


def test_features_that_others_may_be_made_from_are_kept_if_they_are_small(layers, mark, counted, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1G")
    assert alive_at_the_end(layers, mark, counted, ["ProcDist", "CKA", "Jaccard"]) == {"Features"}
    # Copies of them are no longer few beside what may be used.
    monkeypatch.setenv("SHESHA_MEMORY", "150K")
    assert not alive_at_the_end(layers, mark, counted, ["ProcDist", "CKA"])


def left_at_the_end(counted, X, Y):
    """How many features have been made, and how many of them outlive the comparison of representations given ready."""
    made = counted(Features)
    X, Y = Representation.build(X), Representation.build(Y)
    compare_all({"X": X, "Y": Y}, ["ProcDist", "CKA"])
    gc.collect()
    return len(made), sum(view() is not None for _, view in made)


def test_features_are_freed_at_the_end(layers, counted):
    assert left_at_the_end(counted, layers["early"], layers["noise"]) == (2, 0)


def test_features_of_folded_maps_are_freed_at_the_end(rng, counted):
    n_made, n_left = left_at_the_end(counted, *rng.standard_normal((2, 12, 4, 3, 3)))
    assert n_made > 0
    assert n_left == 0


def test_same_bits_for_one_thread_and_two(layers, names, with_threads):
    one, two = (values(with_threads(n, lambda: compare_all(layers, names))) for n in (1, 2))
    assert np.array_equal(one, two, equal_nan=True)


def test_two_processes_give_the_numbers_of_one(layers):
    chosen = ["LinReg", "mutual kNN(k=4)", "sliced Wasserstein"]
    one, two = (compare_all({**layers, "flat": np.ones((40, 11))}, chosen, workers=n) for n in (1, 2))
    without_time = [found.to_frame(full=True).drop(columns="seconds") for found in (one, two)]
    assert without_time[0].equals(without_time[1])


def test_more_processes_need_measures_that_they_can_import(layers, mark):
    @mark("made within a test")
    def made_here(a, b):
        """Stand where no other process finds it."""
        return 0.5

    message = (
        "workers must be 1 for measures that other processes cannot import, got 2 and made within a test: "
        "put the measure into a module"
    )
    with pytest.raises(ValueError, match=message):
        compare_all(layers, ["CKA", made_here], workers=2)


MODULE = """
from shesha.measures import measure
from shesha.views import Features

def _plain(a, b):
    return 0.5

marked = measure("marked", view=Features, closer="higher", bounds=(0, 1), symmetric=True, invariant=(),
                 family="outside", cost="n d", formula="none", reference="none", self_value=1.0)(_plain)
"""


@pytest.mark.usefixtures("mark")
def test_more_processes_refuse_a_measure_under_another_name_than_its_function(layers, tmp_path, monkeypatch):
    (tmp_path / "named_otherwise.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="workers must be 1 for measures that other processes cannot import"):
        compare_all(layers, import_module("named_otherwise").marked, workers=2)


class Counted(str):
    """A name that counts how often it is looked up."""

    looked_up = 0

    def __hash__(self):
        Counted.looked_up += 1
        return super().__hash__()

    def __str__(self):
        return self


def test_work_grows_with_the_number_of_pairs_and_no_faster(rng, monkeypatch):
    monkeypatch.setenv("SHESHA_THREADS", "1")

    def work(n):
        given = {Counted(i): rng.standard_normal((5, 2)) for i in range(n)}
        before = Counted.looked_up
        compare_all(given, "MagDiff")
        return Counted.looked_up - before

    # 11.4 times as many pairs; what is quadratic in their number is 130 times as much.
    assert 9 < work(100) / work(30) < 14


def test_all_pairs_meet_the_same_random_choices(layers, direct):
    found = compare_all(layers, "sliced Wasserstein", seed=np.random.default_rng(5))
    drawn = int(np.random.default_rng(5).integers(2**63))
    assert found.seed is None
    for row, column in (("early", "middle"), ("middle", "noise")):
        value, _ = direct("sliced Wasserstein", layers[row], layers[column], seed=drawn)
        assert found.matrix("sliced Wasserstein").loc[row, column] == value
