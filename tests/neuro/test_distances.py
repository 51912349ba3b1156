"""Cross-validated distances: their values, that noise adds nothing, and what is missing."""

import numpy as np
import pytest

import shesha
from shesha.neuro import crossnobis, discriminability, wuc

RNG = np.random.default_rng(11)
CONDITIONS, RUNS = np.tile(np.arange(4), 6), np.repeat(np.arange(3), 8)
X = RNG.standard_normal((24, 5)).round(2)
REFERENCE = [1.2345]


def brute_force(X, shown, runs, precision):
    """Pair of conditions by pair of conditions, pair of runs by pair of runs."""
    kinds, parts = np.unique(shown), np.unique(runs)
    found = np.zeros((len(kinds), len(kinds)))
    for i, a in enumerate(kinds):
        for j, b in enumerate(kinds):
            have = [r for r in parts if ((shown == a) & (runs == r)).any() and ((shown == b) & (runs == r)).any()]
            d = [X[(shown == a) & (runs == r)].mean(axis=0) - X[(shown == b) & (runs == r)].mean(axis=0) for r in have]
            products = [d[m] @ precision @ d[n] for m in range(len(d)) for n in range(len(d)) if m != n]
            found[i, j] = np.mean(products) / X.shape[1] if products else np.nan
    return np.where(np.eye(len(kinds), dtype=bool) & ~np.isnan(found), 0.0, found)


@pytest.mark.parametrize("weights", [None, "precision"])
def test_a_complete_design_is_that_of_a_loop(weights) -> None:
    A = RNG.standard_normal((5, 9))
    precision = np.eye(5) if weights is None else np.linalg.inv(A @ A.T)
    found = crossnobis(X, CONDITIONS, RUNS, noise=None if weights is None else precision)
    assert found == pytest.approx(brute_force(X, CONDITIONS, RUNS, precision), abs=1e-12)


def test_an_incomplete_unbalanced_design_is_that_of_a_loop() -> None:
    kept = np.ones(24, dtype=bool)
    kept[[0, 4, 9, 20]] = False
    A = RNG.standard_normal((5, 9))
    precision = np.linalg.inv(A @ A.T)
    data = X[kept], CONDITIONS[kept], RUNS[kept]
    assert not all(((data[1] == k) & (data[2] == r)).any() for k in range(4) for r in range(3))
    assert crossnobis(*data, noise=precision) == pytest.approx(brute_force(*data, precision), abs=1e-12)


def test_a_condition_in_one_run_is_missing_and_the_rest_is_there() -> None:
    shown = CONDITIONS.copy()
    shown[0] = 9
    with pytest.warns(
        shesha.NotEstimableWarning,
        match="4 distances are NaN, because fewer than two runs contain both conditions.*or leave out 9$",
    ):
        found = crossnobis(X, shown, RUNS, noise=None)
    assert np.isnan(found[4]).all()
    assert np.isfinite(found[:4, :4]).all()
    assert found == pytest.approx(brute_force(X, shown, RUNS, np.eye(5)), abs=1e-12, nan_ok=True)


def test_conditions_in_separate_runs_have_no_distances() -> None:
    shown = np.repeat(["a", "b", "c"], 8)
    rows = np.random.default_rng(0).standard_normal((24, 5))
    with pytest.warns(shesha.NotEstimableWarning, match=r"3 distances are NaN.*larger runs$"):
        assert np.isnan(crossnobis(rows, shown, np.repeat([0, 1, 2], 8), noise=None)).all()


def test_trials_as_runs_are_runs_of_one_trial() -> None:
    n = np.bincount(CONDITIONS)[0]
    paired = [(a, b) for a in range(n) for b in range(n) if a != b]
    of = [X[k == CONDITIONS] for k in range(4)]
    own = [np.mean([x[a] @ x[b] for a, b in paired]) for x in of]
    expected = [[(own[a] + own[b] - 2 * np.mean(of[a] @ of[b].T)) / 5 * (a != b) for b in range(4)] for a in range(4)]
    assert crossnobis(X, CONDITIONS, noise=None) == pytest.approx(np.array(expected), abs=1e-12)
    with pytest.warns(shesha.NotEstimableWarning, match="a condition has fewer than two trials"):
        single = crossnobis(X, np.append(CONDITIONS[:-1], 8), noise=None)
    assert np.isnan(single[-1]).all()
    assert np.isfinite(single[:4, :4]).all()


def within_cells(rows):
    """Deviations of the two trials of each condition in each run from their mean."""
    cells = [(k == CONDITIONS) & (run == RUNS) for k in range(4) for run in range(3)]
    return np.concatenate([rows[cell] - rows[cell].mean(axis=0) for cell in cells])


def test_the_noise_is_shrunk_as_by_others() -> None:
    """Ledoit and Wolf's intensity, from scikit-learn; the diagonal; a share of one's own."""
    covariance = pytest.importorskip("sklearn.covariance")
    left = within_cells(X)
    # The two trials of a cell have opposite residuals, so each cell is one row of the length of an independent trial.
    single = np.sqrt(2) * left[::2]
    noise = covariance.LedoitWolf(assume_centered=True).fit(single).covariance_
    assert crossnobis(X, CONDITIONS, RUNS) == pytest.approx(
        brute_force(X, CONDITIONS, RUNS, np.linalg.inv(noise)), abs=1e-12
    )
    S = left.T @ left / 12
    diagonal = brute_force(X, CONDITIONS, RUNS, np.diag(1 / np.diag(S)))
    assert crossnobis(X, CONDITIONS, RUNS, noise="diagonal") == pytest.approx(diagonal, abs=1e-12)
    own = 0.7 * S + 0.3 * np.trace(S) / 5 * np.eye(5)
    expected = brute_force(X, CONDITIONS, RUNS, np.linalg.inv(own))
    assert crossnobis(X, CONDITIONS, RUNS, noise=0.3) == pytest.approx(expected, abs=1e-12)


def test_more_neurons_than_trials_make_no_difference_to_the_noise() -> None:
    wide = RNG.standard_normal((24, 40))
    left = within_cells(wide)
    S = left.T @ left / 12
    own = 0.5 * S + 0.5 * np.trace(S) / 40 * np.eye(40)
    expected = brute_force(wide, CONDITIONS, RUNS, np.linalg.inv(own))
    with pytest.warns(shesha.MeasureWarning, match="40 features are many for a noise covariance from 12 degrees"):
        found = crossnobis(wide, CONDITIONS, RUNS, noise=0.5)
    assert found == pytest.approx(expected, abs=1e-10)


def test_a_silent_neuron_has_no_part_in_diagonal_noise() -> None:
    silent = np.column_stack([X, np.zeros(24)])
    with_it = crossnobis(silent, CONDITIONS, RUNS, noise="diagonal")
    assert with_it * 6 == pytest.approx(5 * crossnobis(X, CONDITIONS, RUNS, noise="diagonal"))


def test_noise_adds_nothing_on_average() -> None:
    """Without a difference the mean is 0 and half of the distances are below; ordinary ones grow with the noise."""
    rng = np.random.default_rng(0)
    upper = np.triu_indices(4, k=1)
    found = np.array(
        [crossnobis(rng.standard_normal((24, 5)), CONDITIONS, RUNS, noise=None)[upper] for _ in range(200)]
    )
    error = found.mean(axis=1).std() / np.sqrt(200)
    assert abs(found.mean()) < 3 * error
    assert 0.4 < (found < 0).mean() < 0.6


def test_a_true_distance_is_found_on_average_in_unequal_numbers() -> None:
    rng = np.random.default_rng(1)
    shown, runs = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 1]), np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    centres = np.array([[0.0, 0, 0], [1, 0, 1]])
    values = [
        crossnobis(centres[shown] + rng.standard_normal((10, 3)), shown, runs, noise=None)[0, 1] for _ in range(400)
    ]
    assert np.mean(values) == pytest.approx(2 / 3, abs=3 * np.std(values) / 20)


def test_the_mean_distance_stands_beside_chance() -> None:
    tuned = X + 2.0 * np.eye(5)[CONDITIONS]
    upper = np.triu_indices(4, k=1)
    found = discriminability(tuned, CONDITIONS, RUNS, noise=None, n_permutations=39, null="permute")
    assert found.value == pytest.approx(crossnobis(tuned, CONDITIONS, RUNS, noise=None)[upper].mean())
    assert found.significant
    assert abs(found.chance) < 0.5
    with pytest.warns(shesha.NotEstimableWarning, match="no pair of conditions occurs together in two runs"):
        discriminability(tuned, CONDITIONS, np.zeros(24), noise=None, n_permutations=0)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ("full", "noise must be one of 'ledoit-wolf', 'diagonal', got 'full'"),
        (1.5, r"noise must be in \(0, 1\], got 1.5"),
        (np.eye(4), r"noise must have shape \(5, 5\), got \(4, 4\)"),
        (np.triu(np.ones((5, 5))), "noise must be a symmetric matrix"),
    ],
)
def test_bad_noise(noise, message) -> None:
    with pytest.raises(ValueError, match=message):
        crossnobis(X, CONDITIONS, RUNS, noise=noise)


def test_noise_that_cannot_be_estimated() -> None:
    with pytest.raises(ValueError, match="noise must be a matrix or None if no condition has two trials"):
        crossnobis(X[:4], np.arange(4))
    with pytest.raises(ValueError, match="noise must be None if trials of a condition do not vary, got"):
        crossnobis(np.eye(4)[CONDITIONS], CONDITIONS, RUNS)


def test_labelled_arrays_come_back_labelled() -> None:
    xarray = pytest.importorskip("xarray")
    given = xarray.DataArray(
        X.T,
        dims=("unit", "trial"),
        coords={"contrast": ("trial", CONDITIONS), "run": ("trial", RUNS), "area": ("unit", list("abcde"))},
    )
    found = crossnobis(given, "contrast", "run", noise=None)
    assert found.dims == ("condition", "other condition")
    assert found.sel(condition="1").values.tolist() == crossnobis(X, CONDITIONS, RUNS, noise=None)[1].tolist()
    both = crossnobis(given, ["contrast", "run"], noise=None)
    assert both.coords["condition"].values[1] == "0 1"
    with pytest.raises(ValueError, match="X must have a coordinate 'colour' along one axis, got 'contrast', 'run'"):
        crossnobis(given, "colour")
    with pytest.raises(ValueError, match="conditions must be along the axis 'trial', got 'area' along 'unit'"):
        crossnobis(given, "area")


def test_pynapple_objects_are_arrays() -> None:
    """A stand-in is told by its module and its name, as the real class is."""

    class TsdFrame:
        values = X

    TsdFrame.__module__ = "pynapple.core.time_series"
    assert crossnobis(TsdFrame(), CONDITIONS, RUNS).tolist() == crossnobis(X, CONDITIONS, RUNS).tolist()


@pytest.mark.parametrize("noise", ["ledoit-wolf", "diagonal", 0.2, None])
@pytest.mark.parametrize("offset", [1e6 + 0.3, 1e9])
def test_what_all_trials_share_changes_no_distance(rng, noise, offset) -> None:
    shown, runs = np.tile(np.arange(4), 12), np.repeat(np.arange(4), 12)
    X = rng.standard_normal((48, 10)) + rng.standard_normal((4, 10))[shown]
    expected = crossnobis(X, shown, runs, noise=noise)
    np.testing.assert_allclose(crossnobis(X + offset, shown, runs, noise=noise), expected, atol=1e-15 * offset)


def test_what_all_trials_share_leaves_the_whitened_cosine_alone(rng) -> None:
    shown = rng.integers(4, size=80)
    X = rng.standard_normal((80, 10)) + rng.standard_normal((4, 10))[shown]
    one, far = (wuc(side, shown, normalize=False, seed=0).value for side in (X, X + 1e6 + 0.3))
    assert far == pytest.approx(one, abs=1e-8)


@pytest.mark.parametrize("noise", ["ledoit-wolf", "diagonal", 0.4])
@pytest.mark.parametrize("scale", [2.0**-530, 2.0**-300, 2.0**300])
def test_distances_in_units_of_the_noise_do_not_depend_on_the_unit(noise, scale) -> None:
    expected = crossnobis(X, CONDITIONS, RUNS, noise=noise)
    assert np.array_equal(crossnobis(X * scale, CONDITIONS, RUNS, noise=noise), expected)
