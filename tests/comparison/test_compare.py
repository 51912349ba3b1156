"""A comparison of two gives what the measures give one by one, in the order asked, whatever the data are."""

import time
from importlib import import_module

import numpy as np
import pytest

import shesha.measures as measures
from shesha import Rdm, compare

RANDOM = ["sliced Wasserstein", "stability difference"]


def values(found):
    return [score.value for score in found.scores]


def distances_of(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


def constant(layers):
    return np.full_like(layers["early"], 0.7), layers["middle"]


def few_rows(layers):
    return layers["early"][:4], layers["noise"][:4]


DATA = {
    "equal widths": lambda layers: (layers["early"], layers["middle"]),
    "other widths": lambda layers: (layers["narrow"], layers["noise"]),
    "single precision": lambda layers: (layers["early"].astype("f4"), layers["noise"].astype("f4")),
    "equal rows": constant,
    "four rows": few_rows,
    "distances": lambda layers: (Rdm(distances_of(layers["early"])), Rdm(distances_of(layers["middle"]))),
    "distances and features": lambda layers: (Rdm(distances_of(layers["early"])), layers["middle"]),
    "token sequences": lambda _: np.random.default_rng(5).standard_normal((2, 12, 4, 6)),
    "feature maps": lambda _: [np.random.default_rng(6).standard_normal((30, c, s, s)) for c, s in ((5, 4), (7, 2))],
    "feature maps and features": lambda layers: (
        np.random.default_rng(7).standard_normal((40, 4, 3, 3)),
        layers["noise"],
    ),
}


@pytest.mark.parametrize("kind", DATA)
def test_every_value_and_reason_is_that_of_the_function(layers, names, direct, kind):
    X, Y = DATA[kind](layers)
    found = compare(X, Y, names)
    assert [score.name for score in found.scores] == names
    for score in found.scores:
        value, reason = direct(score.name, X, Y)
        assert score.value == value or (np.isnan(score.value) and np.isnan(value))
        # Which of the two is at fault stands before the reason.
        assert score.reason == reason or score.reason in {f"{side}: {reason}" for side in "XY"}
        assert score.has_value == (not score.reason)


def test_degenerate_data_give_reasons_and_leave_the_rest_alone(layers):
    found = compare(*constant(layers), "standard", names=("flat", "other"))
    assert found["CKA"].reason == "flat: all rows are equal"
    assert np.isfinite(found["MagDiff"].value)


def test_distances_serve_the_measures_that_look_at_them_only(layers):
    found = compare(*DATA["distances and features"](layers), "standard")
    for score in found.scores:
        if measures.get(score.name).takes_distances:
            assert score.has_value
        else:
            assert score.reason == "needs the features, got distances between rows"


OPTIONS = [
    ("mutual kNN(k=4)", measures.mutual_knn, {"k": 4}),
    ("mutual_knn(k = 4, metric = euclidean)", measures.mutual_knn, {"k": 4, "metric": "euclidean"}),
    ("CKA(kernel='rbf')", measures.cka, {"kernel": "rbf"}),
    ("cka(kernel=rbf, bandwidth=2.5)", measures.cka, {"kernel": "rbf", "bandwidth": 2.5}),
    ("CKNNA(center=False)", measures.cknna, {"center": False}),
    ("sliced Wasserstein(seed=5)", measures.sliced_wasserstein, {"seed": 5}),
    (measures.get("Jaccard(k=3)"), measures.jaccard, {"k": 3}),
    (measures.rsa, measures.rsa, {}),
]


def test_rows_that_differ_once_folded_do_not_correspond(rng):
    X, Y = rng.standard_normal((7, 5, 3)), rng.standard_normal((7, 4, 3))
    found = compare(X, Y, ["CKA", "RSA", "Jaccard", "MMD"])
    assert {score.reason for score in found.scores[:3]} == {"rows do not correspond: 35 and 28 rows after folding"}
    # Measures that do not look at which row is which do not mind.
    assert found["MMD"].value == measures.mmd(X, Y)


def test_options_reach_the_measure(pair):
    found = compare(*pair, [chosen for chosen, *_ in OPTIONS])
    assert values(found) == [function(*pair, **options) for _, function, options in OPTIONS]


def test_options_stand_in_the_names_and_find_the_scores(pair):
    found = compare(*pair, ["mutual kNN", "mutual_knn(k=4)"])
    assert [score.name for score in found.scores] == ["mutual kNN", "mutual kNN(k=4)"]
    assert found["Mutual-kNN (k=4)"] is found.scores[1]
    with pytest.raises(KeyError, match=r"measure must be one of mutual kNN, mutual kNN\(k=4\), got 'CKA'"):
        found["CKA"]


def test_options_that_differ_by_a_sign_are_told_apart(pair):
    found = compare(*pair, ["GULP(ridge=1e16)", "GULP(ridge=1e-16)"])
    assert found["GULP(ridge=1e-16)"] is found.scores[1]


def test_the_default_is_the_recommended_measures_with_chance_levels(pair, monkeypatch):
    X, Y = pair
    default, asked = (
        [(score.name, score.value, score.low, score.high, score.p_value) for score in found]
        for found in (compare(X, Y), compare(X, Y, "recommended", calibrate=True))
    )
    assert default == asked
    distances = [Rdm(np.linalg.norm(side[:, None] - side, axis=-1)) for side in pair]
    assert [score.name for score in compare(*distances)] == ["RSA", "mutual kNN"]
    assert not any(score.has_null for score in compare(X, Y, queries=20))
    module = import_module("shesha.comparison.compare")
    monkeypatch.setattr(module, "MOST_ROWS_TESTED", len(X) - 1)
    assert not any(score.has_null for score in compare(X, Y))


def test_the_standard_choice_leaves_out_what_costs_more(pair):
    found = {score.name for score in compare(*pair, "standard").scores}
    assert found == {name for name in measures.names() if measures.get(name).cost != "more"}
    assert "RTD" not in found


@pytest.mark.parametrize("make", [int, np.random.default_rng])
def test_one_seed_gives_the_same_numbers(pair, make):
    first, again, other = (values(compare(*pair, RANDOM, seed=make(seed))) for seed in (3, 3, 4))
    assert first == again
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_a_seed_of_the_measure_counts_for_more_than_that_of_the_comparison(pair):
    first, other = (values(compare(*pair, ["sliced Wasserstein(seed=5)"], seed=seed)) for seed in (3, 4))
    assert first == other


@pytest.mark.parametrize("seed", [0, 3, 2**63])
def test_a_seed_is_used_as_it_is(pair, seed):
    functions = (measures.sliced_wasserstein, measures.stability_difference)
    assert values(compare(*pair, RANDOM, seed=seed)) == [function(*pair, seed=seed) for function in functions]
    # Whatever else is compared, and in whatever order.
    assert values(compare(*pair, ["CKA", *RANDOM[::-1]], seed=seed))[:0:-1] == values(compare(*pair, RANDOM, seed=seed))


def test_the_seed_is_recorded_where_it_is_a_number(pair):
    assert compare(*pair, ["CKA"], seed=3).seed == 3
    recorded = compare(*pair, ["CKA"], seed=np.uint8(3)).seed
    assert (recorded, type(recorded)) == (3, int)
    assert compare(*pair, ["CKA"], seed=None).seed is None
    assert compare(*pair, ["CKA"], seed=np.random.default_rng(3)).seed is None


def test_same_bits_for_one_thread_and_two(pair, names, with_threads):
    one, two = (values(with_threads(n, lambda: compare(*pair, names))) for n in (1, 2))
    assert np.array_equal(one, two, equal_nan=True)


def test_seconds_add_up_to_the_time_it_took(pair, mark, plain_view, monkeypatch):
    """By a clock that only what is slow moves on."""
    monkeypatch.setenv("SHESHA_THREADS", "1")
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    class Slow(plain_view):
        @classmethod
        def build(cls, source):
            now[0] += 2
            return cls(source.rows)

    @mark("slow look", view=Slow)
    def slow_look(a, b):
        """Take no time itself."""
        return 1.0

    @mark("slow comparison", view=Slow)
    def slow_comparison(a, b):
        """Take time itself."""
        now[0] += 1
        return 1.0

    looked, compared = compare(*pair, [slow_look, slow_comparison]).scores
    # Both bear half of the two looks.
    assert (looked.seconds, compared.seconds) == (2, 3)
    assert now[0] == 105


UNUSABLE = [
    (lambda X: (X, X[:30]), {}, r"representations must have equal numbers of rows, got X \(40\), Y \(30\)"),
    (lambda X: (X, X), {"names": ("a", "a")}, r"names must be two different names, got \('a', 'a'\)"),
    (lambda X: (X, X), {"measures": ["CKA", "RSMDif"]}, "measure must be .*, got 'RSMDif'; did you mean RSMDiff"),
    (lambda X: (X * np.nan, X), {}, "X must be finite, got NaN or infinity in rows 0, 1"),
    (lambda X: (X, X[0]), {}, r"Y must be 2-D \(n_samples, n_features\), got shape \(11,\)"),
]


@pytest.mark.parametrize(("make", "options", "message"), UNUSABLE)
def test_what_cannot_be_compared_is_refused(pair, make, options, message):
    with pytest.raises(ValueError, match=message):
        compare(*make(pair[0]), **options)


def test_channels_may_be_last(rng):
    maps = rng.standard_normal((30, 5, 4, 4))
    result = compare(maps, np.moveaxis(maps, 1, 3), ["CKA", "SVCCA"], calibrate=False)
    assert result["CKA"].value == pytest.approx(1)
    assert result["SVCCA"].value == pytest.approx(1)
    assert any("have their channels last" in text for text in result.inputs)


def test_channels_along_two_axes_are_refused(rng):
    maps = rng.standard_normal((30, 9, 4, 5))
    with pytest.raises(ValueError, match=r"channels along one axis, .* convert Y by Y.transpose\(0, 3, 1, 2\)"):
        compare(maps, np.moveaxis(maps, 1, 3), "CKA")
    with pytest.raises(ValueError, match=r"convert X by X.transpose"):
        compare(np.moveaxis(maps, 1, 3), maps, "CKA")
    assert compare(maps, maps[:, :, ::-1], "CKA").scores[0].value == pytest.approx(1)
