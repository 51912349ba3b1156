"""Pairs of sessions, and the neurons that they share."""

import numpy as np
import pytest

import shesha
from shesha import neuro
from shesha.neuro import shared_neurons

RNG = np.random.default_rng(5)
SHOWN = np.tile(np.arange(6), 20)
TUNING = 1 + RNG.gamma(1, 2, size=(6, 25))


def session_drift(*given, n_permutations=39):
    return neuro.session_drift(*given, n_permutations=n_permutations)


def day(tuning: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(seed).poisson(tuning[SHOWN]).astype(float), SHOWN


def test_rate_change_is_not_change_of_tuning_or_geometry() -> None:
    gain = RNG.gamma(2, 1, size=25) + 0.2
    pair = session_drift({"a": day(TUNING), "b": day(TUNING * gain, 1)}).pairs[0]
    assert pair["rate"].change > 0.3
    assert pair["population_vector"].change > 0.3
    assert abs(pair["tuning"].change) < 0.1
    assert pair["tuning"].p_value <= 0.03


def test_change_of_tuning_is_not_change_of_rate() -> None:
    turned = np.roll(TUNING, 1, axis=0)
    pair = session_drift([day(TUNING), day(turned, 1)]).pairs[0]
    assert pair["tuning"].change > 0.5
    assert abs(pair["rate"].change) < 0.1
    still = session_drift([day(TUNING), day(TUNING, 1)]).pairs[0]
    assert all(abs(one.change) < 0.1 for one in still.parts)


def test_the_parts_are_those_of_a_loop() -> None:
    from scipy.spatial.distance import pdist
    from scipy.stats import spearmanr

    (X, _), (Y, _) = day(TUNING), day(TUNING, 1)

    def halves(Z):
        return [np.array([Z[k::6][s::2].mean(axis=0) for k in range(6)]) for s in (0, 1)]

    def corr(a, b):
        return np.corrcoef(a, b)[0, 1]

    parts = {
        "population_vector": lambda a, b: np.mean([corr(a[k], b[k]) for k in range(6)]),
        "rate": lambda a, b: corr(a.mean(axis=0), b.mean(axis=0)),
        "tuning": lambda a, b: np.median([corr(a[:, c], b[:, c]) for c in range(25)]),
        "geometry": lambda a, b: spearmanr(pdist(a, "cosine"), pdist(b, "cosine")).statistic,
    }
    pair = session_drift([(X, SHOWN), (Y, SHOWN)]).pairs[0]
    for name, score in parts.items():
        assert pair[name].value == pytest.approx(np.mean([score(a, b) for a in halves(X) for b in halves(Y)]))
        assert pair[name].within == pytest.approx(np.mean([score(*halves(Z)) for Z in (X, Y)]))


def test_tracked_neurons_are_found_again() -> None:
    order = RNG.permutation(25)
    X, Y = day(TUNING)[0], day(TUNING, 1)[0][:, order[:20]]
    table = np.full((25, 2), -1)
    table[:, 0] = np.arange(25)
    table[order[:20], 1] = np.arange(20)
    found = session_drift([(X, SHOWN), (Y, SHOWN)], table).pairs[0]
    assert found.n_shared == 20
    direct = session_drift([(X[:, order[:20]], SHOWN), (Y, SHOWN)]).pairs[0]
    for one, other in zip(found.parts, direct.parts, strict=True):
        assert one.value == pytest.approx(other.value)
    assert found["rate"].p_value <= 0.03
    assert shared_neurons(table).tolist() == [[25, 20], [20, 20]]


def test_strangers_are_at_chance() -> None:
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        other = 1 + rng.gamma(1, 2, size=(6, 25))
        parts = session_drift([day(TUNING), day(other, seed)], n_permutations=19).pairs[0].parts
        hits += sum(one.p_value <= 0.05 for one in parts)
    assert hits <= 12


def test_sessions_share_some_conditions() -> None:
    X, shown = day(TUNING)
    few = shown < 4
    found = session_drift({"a": (X, shown), "b": (X[few], shown[few])})
    assert found.pairs[0].n_conditions == 4
    assert "session b lacks 2 of 6 conditions: 4, 5" in found.inputs
    text = str(session_drift(dict.fromkeys("ab", (X, shown)), n_permutations=19))
    for part in ("population vector", "rate", "tuning", "geometry"):
        assert f"{part}, a - b" in text
    with pytest.warns(
        shesha.NotEstimableWarning, match="sessions a and b: they share only 2 conditions, but at least 3"
    ):
        found = session_drift({"a": (X, shown), "b": (X, shown + 4)})
    assert found.pairs[0].parts == ()
    assert "share only 2 conditions" in str(found)
    assert "reason" in found.to_frame()


def test_too_few_shared_neurons() -> None:
    with pytest.warns(shesha.NotEstimableWarning, match="share only 2 neurons"):
        session_drift([day(TUNING), day(TUNING, 1)], [[0, 0], [1, 1], [2, -1]])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            [[0, 25]],
            "tracked must number the neurons of session b from 0 to 24, or be -1, got 25; use the column index",
        ),
        ([[0, -2]], "tracked must number the neurons of session b from 0 to 24, or be -1, got -2"),
        ([[0, 3], [1, 3]], "tracked must name each neuron of session b once, got 3 repeatedly"),
        ([[0, 1, 2]], r"tracked must have one column per session \(2\), got 3"),
        ([[0.5, 1]], "tracked must be whole numbers of shape"),
        ([0, 1], "tracked must be whole numbers of shape"),
    ],
)
def test_bad_tables(table, message) -> None:
    with pytest.raises(ValueError, match=message):
        session_drift({"a": day(TUNING), "b": day(TUNING, 1)}, table)


@pytest.mark.parametrize("level", [0.3, 1e8 + 0.1, 1e-200])
def test_neurons_that_never_vary_have_no_tuning(level: float) -> None:
    days = {"a": day(TUNING), "b": day(np.roll(TUNING, 2, axis=0), 1)}
    expected = session_drift(days).pairs[0]
    fixed = {name: (np.column_stack([X, np.full((len(X), 20), level)]), shown) for name, (X, shown) in days.items()}
    found = session_drift(fixed).pairs[0]
    assert found["tuning"].value == pytest.approx(expected["tuning"].value, abs=1e-12)
    assert found["tuning"].within == pytest.approx(expected["tuning"].within, abs=1e-12)


@pytest.mark.parametrize(("first", "last", "named"), [(1, 8, True), (0, 7, False), (2, 9, False), (1, 6, False)])
def test_conditions_counted_from_0_and_from_1_are_named(first, last, named):
    rng = np.random.default_rng(0)
    days = {
        name: (rng.poisson(3, (len(shown), 6)), shown)
        for name, shown in (("a", np.repeat(np.arange(8), 4)), ("b", np.repeat(np.arange(first, last + 1), 4)))
    }
    found = neuro.session_drift(days, n_permutations=19)
    assert any("from 0 in a and from 1 in b" in text for text in found.inputs) == named


@pytest.mark.parametrize(
    ("factor", "told"),
    [(1.5, "Mean responses in b are 1.5"), (0.5, "Mean responses in b are 0.5"), (1.0, ""), (1.05, "")],
)
def test_a_gain_of_all_neurons_is_reported_and_changes_no_part(factor, told):
    rng = np.random.default_rng(0)
    tuning, shown = rng.gamma(1, 2, (6, 20)), np.tile(np.arange(6), 20)
    X, Y = (1 + tuning[shown] + rng.normal(0, 1, (120, 20)) for _ in range(2))
    found = session_drift({"a": (X, shown), "b": (factor * Y, shown)}, n_permutations=19)
    plain = session_drift({"a": (X, shown), "b": (Y, shown)}, n_permutations=19)
    means = [np.mean([rows[shown == k].mean(axis=0) for k in range(6)]) for rows in (X, Y)]
    assert found.pairs[0].gain == pytest.approx(factor * means[1] / means[0])
    assert [part.value for part in found.pairs[0]] == pytest.approx([part.value for part in plain.pairs[0]])
    assert found.to_frame()["gain"].tolist() == [found.pairs[0].gain] * 4
    assert (told in found.headline) if told else ("Mean responses" not in found.headline)


def test_a_gain_needs_positive_means_and_the_largest_of_several_is_told():
    rng = np.random.default_rng(0)
    shown = np.tile(np.arange(6), 20)
    X = 5 + rng.gamma(1, 2, (6, 20))[shown] + rng.normal(0, 1, (120, 20))
    found = session_drift({"a": (X, shown), "b": (2 * X + 0.1 * rng.normal(size=X.shape), shown), "c": (-X, shown)})
    assert [pair.has_other_gain for pair in found.pairs] == [True, False, False]
    assert np.isnan([pair.gain for pair in found.pairs[1:]]).all()
    three = session_drift({"a": (X, shown), "b": (2 * X + 0.1, shown), "c": (5 * X - 0.1, shown)}, n_permutations=19)
    assert "Mean responses in c are" in three.headline and "in a (the largest of 3 such changes)" in three.headline
