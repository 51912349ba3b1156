"""All pairs of several representations: the numbers of pair by pair, each view made once and freed again."""

from __future__ import annotations

import gc
import time
from itertools import product

import numpy as np
import pytest

import shesha.measures as measures
from shesha import Rdm, compare, compare_all
from shesha.views import Representation, View

PERFECT = 1e-6
"""Absolute; distances of equal things are roots of rounding."""


def values(found):
    return [one.score.value for one in found.scores]


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
    reasons = {one.score.reason for one in found.scores if one.score.measure == "CKA" and "flat" in one.second}
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
        value = pairs.matrix(score.measure).loc["early", "noise"]
        assert value == score.value or (np.isnan(value) and not score.estimated)


def once_each(layers, names, counted, kinds):
    made = {kind: counted(kind) for kind in kinds if "of" in vars(kind) and kind is not View}
    sources = {name: Representation.of(X) for name, X in layers.items()}
    compare_all(sources, names)
    keys = [(kind, *key) for kind, found in made.items() for key, _ in found]
    assert len(keys) > 10 * len(layers) or len(made) == 1
    assert len(keys) == len(set(keys))


def test_each_view_is_made_once_per_representation(layers, names, counted):
    once_each(layers, names, counted, [kind for kind in kinds_of_view() if kind.__name__ != "Features"])


@pytest.mark.xfail(strict=True, reason="freed after the measures that look at it alone, then made again within views")
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


@pytest.mark.xfail(strict=True, reason="only the view itself is freed, not the views that it was made from")
@pytest.mark.parametrize("chosen", [["ProcDist", "CKA"], ["cycle kNN(k=5, metric=euclidean)", "IMD"]])
def test_views_that_others_were_made_from_are_freed(layers, mark, counted, chosen):
    assert not alive_at_the_end(layers, mark, counted, chosen)


def test_same_bits_for_one_thread_and_two(layers, names, with_threads):
    one, two = (values(with_threads(n, lambda: compare_all(layers, names))) for n in (1, 2))
    assert np.array_equal(one, two, equal_nan=True)


@pytest.mark.xfail(strict=True, reason="a representation holds a lock, which cannot be sent to another process")
def test_two_processes_give_the_numbers_of_one(layers):
    chosen = ["LinReg", "mutual kNN(k=4)", "sliced Wasserstein"]
    one, two = (compare_all({**layers, "flat": np.ones((40, 11))}, chosen, workers=n) for n in (1, 2))
    without_time = [found.to_frame().drop(columns="seconds") for found in (one, two)]
    assert without_time[0].equals(without_time[1])


@pytest.mark.xfail(strict=True, reason="sets of all pairs are built again for each pair: quadratic in their number")
def test_time_grows_with_the_number_of_pairs_and_no_faster():
    rng = np.random.default_rng(0)
    few, many = ({str(i): rng.standard_normal((5, 2)) for i in range(n)} for n in (30, 100))

    def seconds(given):
        start = time.process_time()
        compare_all(given, "MagDiff")
        return time.process_time() - start

    # 11 times as many pairs; what is quadratic in their number takes more than 50 times as long.
    assert seconds(many) < 30 * min(seconds(few) for _ in range(3))


def test_one_seed_gives_the_same_numbers(layers):
    first, again, other = (values(compare_all(layers, "sliced Wasserstein", seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again, equal_nan=True)
    assert not np.array_equal(first, other, equal_nan=True)


def test_all_pairs_meet_the_same_random_choices(layers, direct):
    found = compare_all(layers, "sliced Wasserstein", seed=np.random.default_rng(5))
    drawn = int(np.random.default_rng(5).integers(2**63))
    assert found.seed is None
    for row, column in (("early", "middle"), ("middle", "noise")):
        value, _ = direct("sliced Wasserstein", layers[row], layers[column], seed=drawn)
        assert found.matrix("sliced Wasserstein").loc[row, column] == value


UNUSABLE = [
    (lambda X: {"a": X}, {}, ValueError, "representations must be a mapping of at least two names to arrays"),
    (lambda X: [X, X], {}, ValueError, "representations must be a mapping of at least two names to arrays"),
    (lambda X: {"a": X, "b": X[:20]}, {}, ValueError, r"must have the same rows, .*: a \(40\), b \(20\)"),
    (lambda X: {"a": X, "b": X[0]}, {}, ValueError, r"b must be 2-D \(n_samples, n_features\), got shape \(11,\)"),
    (lambda X: {"a": X, "b": X}, {"workers": 0}, ValueError, "workers must be at least 1, got 0"),
    (lambda X: {"a": X, "b": X}, {"workers": 1.5}, TypeError, "workers must be an integer, got 1.5"),
    (lambda X: {"a": X, "b": X}, {"measures": "RSB"}, ValueError, "measure must be one of .*RSA.*, got 'RSB'"),
]


@pytest.mark.parametrize(("make", "options", "error", "message"), UNUSABLE)
def test_what_cannot_be_compared_is_refused(layers, make, options, error, message):
    with pytest.raises(error, match=message):
        compare_all(make(layers["early"]), **options)


@pytest.mark.xfail(strict=True, reason="names that print alike replace each other silently")
def test_names_that_print_alike_are_refused(layers):
    with pytest.raises(ValueError, match="names"):
        compare_all({1: layers["early"], "1": layers["noise"], 2: layers["middle"]}, "CKA")


def test_an_unknown_measure_of_a_result_names_the_known_ones(layers):
    found = compare_all(layers, ["CKA", "ProcDist"])
    for call in (found.matrix, found.plot, found.embed):
        with pytest.raises(KeyError, match="measure must be one of CKA, ProcDist, got 'RSA'"):
            call("RSA")


def test_the_long_table_has_a_line_per_pair_and_measure(layers):
    found = compare_all(layers, ["CKA", "LinReg"])
    table = found.to_frame()
    assert list(table.columns) == [
        "first",
        "second",
        "measure",
        "family",
        "value",
        "closer",
        "low",
        "high",
        "seconds",
        "reason",
    ]
    assert table["measure"].value_counts().to_dict() == {"CKA": 6, "LinReg": 12}
    line = table.query("measure == 'LinReg' and first == 'noise' and second == 'early'").iloc[0]
    assert line["value"] == found.matrix("LinReg").loc["noise", "early"]
