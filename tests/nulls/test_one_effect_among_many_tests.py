"""Whatever corrects for several tests finds one overwhelming effect among them, or says that it could not."""

import functools
import re
import warnings
from math import ceil, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import shesha
from shesha import bio, coherence, neuro, steering
from shesha.nulls.null_summary import benjamini_hochberg, default_draws, draws_needed, holm, undecided
from shesha_studies import steering_predictors

N = 40


def unrelated(rng, n_features=3):
    return rng.standard_normal((N, n_features))


def pairs(m, rng):
    X = unrelated(rng)
    return {"same": (X, X), **{f"pair {k}": (X, unrelated(rng)) for k in range(m - 1)}}


def many(m, rng, n_permutations=None):
    options = {"calibrate": True, "n_permutations": n_permutations, "correction": "holm"}
    found = shesha.compare_all(pairs(m, rng), "CKA", **options)
    return " ".join(str(found).split()), found["same"].corrected_p_value


def layers(m, rng):
    X = unrelated(rng)
    found = shesha.calibrate_layers([X], [X, *(unrelated(rng) for _ in range(m - 1))], seed=0)
    return found.n_above_chance_sentence, found.closest.corrected_p_value


def representations(m, rng):
    X, others = unrelated(rng), {str(k): unrelated(rng) for k in range(ceil(sqrt(2 * m)) - 1)}
    found = shesha.compare_all({"a": X, "b": X, **others}, "CKA", calibrate=True)
    return str(found), found.matrix("CKA", "corrected_p_value").loc["a", "b"]


def units(m, rng, n_permutations=None):
    X, Y = unrelated(rng, m), unrelated(rng, m)
    Y[:, 0] = X[:, 0]
    found = shesha.match_units(X, Y, n_permutations=n_permutations)
    return found.headline, min(found.corrected_p_values)


def measures(m, rng):
    X = unrelated(rng)
    # Only measure 0 is related to the rows: every other one permutes the rows by itself.
    scores = [functools.partial(_agreement, order=rng.permutation(N) if k else np.arange(N)) for k in range(m)]
    for k, score in enumerate(scores):
        score.__name__ = f"measure {k}"
    found = shesha.compare(X, X, scores, calibrate=True, seed=0)
    return found.headline, found["measure 0"].corrected_p_value


def _agreement(X, Y, *, order):
    return float(np.corrcoef(X.ravel(), Y[order].ravel())[0, 1])


def classes(m, rng, n_permutations=None):
    labels = np.repeat([f"class {k}" for k in range(m)], 20)
    X = rng.standard_normal((20 * m, 3))
    Y = np.where((labels == "class 0")[:, None], X, rng.standard_normal(X.shape))
    found = shesha.compare_within(X, Y, labels, "RSA", n_permutations=n_permutations, seed=0)
    return found.headline, found.corrected["RSA"]["class 0"]


def groups(m, rng, n_draws=None):
    labels = np.repeat(["control", *(f"group {k}" for k in range(m))], [100] + [10] * m)
    X = rng.standard_normal((len(labels), 3)) + 5 * (labels == "group 0")[:, None]
    found = coherence.coherence_by_group(X, labels, control="control", n_draws=n_draws, seed=0)
    return f"{found.headline} {found.undecided_note}", found["group 0"].corrected_p_value


def samples(m, rng, n_draws=None):
    anndata = pytest.importorskip("anndata")
    labels = np.repeat(["control", *(f"group {k}" for k in range(m))], 12)
    X = rng.standard_normal((len(labels), 3)) + 5 * (labels == "group 0")[:, None]
    cells = anndata.AnnData(X, obs={"group": labels}, obsm={"X_pca": X})
    found = bio.e_distances(cells, "group", control="control", n_draws=n_draws, seed=0)
    return found.headline, min(pair.corrected_p_value for pair in found)


def conditions(m, rng):
    n = ceil((1 + sqrt(1 + 8 * m)) / 2)
    shown = np.tile(np.arange(n), 12)
    X = rng.standard_normal((len(shown), 4)) + 5 * (shown == 0)[:, None]
    found = neuro.crossnobis_test(X, shown, noise=None, n_permutations=39, seed=0)
    return found.headline, min(found.corrected_p_values)


def windows(m, rng):
    shown = rng.permutation(np.tile(np.arange(4), 20))
    X = np.stack([rng.standard_normal((80, 6)) for _ in range(ceil(sqrt(m)))], axis=2)
    X[:, :, 0] += 3 * rng.standard_normal((4, 6))[shown]
    found = neuro.over_time(X, shown)
    return str(found), found.p_value


def steered_layers(m, rng):
    y = np.arange(N) % 2
    layers = {f"layer {k}": unrelated(rng) + 5 * (k == 0) * y[:, None] for k in range(m)}
    found = steering.rank_layers(layers, y, by="accuracy", n_splits=1, n_draws=19, seed=0)
    return found.headline, found.best.p_value


def models(m, rng, n_draws=None):
    drop = rng.standard_normal(N)
    table = {"drop": drop, "same": drop + 0.1 * rng.standard_normal(N)}
    table |= {f"predictor {k}": rng.standard_normal(N) for k in range(m - 1)}
    found = steering_predictors.partial_correlations(table, "drop", covariates=(), n_draws=n_draws, seed=0)
    return found.headline, found["same"].corrected_p_value


def moved_classes(m, rng):
    n = max(3, ceil((sqrt(1 + 8 * m) - 1) / 2))
    labels = np.repeat(np.arange(n), 12)
    X = 3 * rng.standard_normal((n, 8))[labels] + rng.standard_normal((12 * n, 8))
    found = shesha.diff(X, X + 4 * (labels == 0)[:, None] * rng.standard_normal(8), labels, measures="RDM drift")
    return str(found), min(pair.corrected_p_value for pair in found.classes)


def classes_of_several(m, rng, n_permutations=None):
    labels = np.repeat([f"class {k}" for k in range(m)], 20)
    X = rng.standard_normal((20 * m, 3))
    others = {"all": rng.standard_normal(X.shape)}
    others["one"] = np.where((labels == "class 0")[:, None], X, rng.standard_normal(X.shape))
    found = shesha.compare_within(X, others, labels, "RSA", n_permutations=n_permutations, seed=0)
    return found.headline, found["one"].corrected["RSA"]["class 0"]


def centres(m, rng):
    place = rng.standard_normal((10, 3))
    X = np.hstack([place, rng.standard_normal((10, 3 * m - 3))])
    neighbours = np.arange(3 * m).reshape(m, 3)
    found = neuro.searchlight(X, pdist(place), neighbours, metric="euclidean", n_permutations=199)
    return found.headline, found.numbers[0].corrected_p_value


def clusters(m, rng):
    """Rows beyond a wide gap are one cluster, and the others have random labels."""
    anndata = pytest.importorskip("anndata")
    X = rng.standard_normal((15 * m, 2)) + 90 * (np.arange(15 * m) % m == 0)[:, None]

    def divide(rows):
        places = np.sort(rows[:, 0])
        gap = int(np.diff(places).argmax())
        far = (rows[:, 0] > places[gap]) & (np.diff(places)[gap] > np.ptp(places) / 2)
        return np.where(far, 0, 1 + rng.integers(m - 1, size=len(rows)))

    cells = anndata.AnnData(X, obs={"group": divide(X).astype(str)}, obsm={"X_pca": X})
    found = bio.cluster_stability(cells, "group", cluster=divide, n_draws=19, n_subsamples=2)
    return found.headline, found["0"].corrected_p_value


def clusters_of_times(m, rng):
    shown = rng.permutation(np.tile(np.arange(8), 10))
    X = rng.standard_normal((80, 6, m))
    X[:, :, :2] += 5 * rng.standard_normal((8, 6))[shown][:, :, None]
    found = neuro.time_clusters(X, shown, n_permutations=99)
    return found.headline, min(each.corrected_p_value for each in found)


def ranked_models(m, rng):
    true = rng.standard_normal((N, 3))
    models = {"true": true, **{f"model {k}": unrelated(rng) for k in range(ceil((sqrt(1 + 8 * m) - 1) / 2))}}
    found = shesha.rank_models([true + 0.1 * unrelated(rng) for _ in range(4)], models, n_resamples=20, seed=0)
    return found.headline, found.pair("true", "model 0").corrected_p_value


def sessions(m, rng):
    """Each pair of sessions has four tests."""
    shown = np.tile(np.arange(4), 8)
    tuning = 5 * rng.standard_normal((2, 4, 8))
    tunings = [tuning[1], *[tuning[0]] * ceil((sqrt(1 + 2 * m) - 1) / 2)]
    found = neuro.session_drift([(each[shown] + rng.standard_normal((32, 8)), shown) for each in tunings])
    return found.headline, min(part.corrected_change_p_value for pair in found.pairs for part in pair.parts)


def members(m, rng):
    X = rng.standard_normal((N, 6))
    many = {str(k): X + 0.1 * rng.standard_normal(X.shape) for k in range(max(4, m))}
    found = shesha.consensus({**many, "other": rng.standard_normal(X.shape)})
    return found.headline, found["other"].corrected_p_value


CORRECTING = {
    "compare_all, named pairs": many,
    "calibrate_layers": layers,
    "coherence_by_group": groups,
    "compare": measures,
    "compare_all": representations,
    "cluster_stability": clusters,
    "compare_within, of several": classes_of_several,
    "compare_within": classes,
    "consensus": members,
    "crossnobis_test": conditions,
    "diff": moved_classes,
    "e_distances": samples,
    "match_units": units,
    "over_time": windows,
    "partial_correlations": models,
    "rank_layers": steered_layers,
    "rank_models": ranked_models,
    "searchlight": centres,
    "session_drift": sessions,
    "time_clusters": clusters_of_times,
}
ELSEWHERE = {
    "drift/two_sample_tests.py": "at most four tests: tests/drift",
    "comparison/moment_scores.py": "exact p-values, and draws that count as one test: see the test below",
    "comparison/procrustes_consensus.py": "p-values of a normal distribution",
    "neuro/session_drift.py": "maximum over shared draws: tests/neuro",
    "ranking": "p-values of t distributions, and the maximum over shared draws",
}
"""Rooms and files that correct for several tests and are not in the table, with the reason."""
FILES = {
    "bio/coherence_tables.py",
    "comparison/layer_grid.py",
    "comparison/pairwise.py",
    "changes/class_distance_changes.py",
    "coherence/coherence_by_group.py",
    "comparison/engine.py",
    "comparison/unit_matching.py",
    "comparison/within_classes.py",
    "neuro/crossnobis_significance.py",
}
"""Files that correct the p-values of the functions in the table."""


def test_every_file_that_corrects_for_several_tests_is_known():
    source = Path(shesha.__file__).parent
    calls = re.compile(r"(?<!def )\b(holm|benjamini_hochberg|max_statistic_p_values|multipletests|correct)\(")
    found = {str(path.relative_to(source)) for path in source.rglob("*.py") if calls.search(path.read_text("utf-8"))}
    found -= {"nulls/null_summary.py"}
    assert {name for name in found - FILES if not name.startswith(tuple(ELSEWHERE))} == set()
    assert found >= FILES


@pytest.mark.parametrize("name", CORRECTING)
def test_one_overwhelming_effect_among_many_tests_is_found(name):
    # From 11 tests on, the usual 200 permutations are too few.
    m = 12 if name in ("session_drift", "compare_within, of several", "compare_within") else 30
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, p = CORRECTING[name](m, np.random.default_rng(m))
    assert p <= 0.05 * (1 + 1e-9), text
    assert "annot be decided" not in text


@pytest.mark.parametrize("name", ["calibrate_layers", "match_units"])
def test_one_overwhelming_effect_among_200_tests_is_found(name):
    text, p = CORRECTING[name](200, np.random.default_rng(1))
    assert p <= 0.05 * (1 + 1e-9), text


@pytest.mark.parametrize(
    "name",
    [
        "compare_all, named pairs",
        "coherence_by_group",
        "compare_within",
        "e_distances",
        "match_units",
        "partial_correlations",
    ],
)
def test_too_few_permutations_are_said_instead_of_no_effect(name):
    option = "n_draws" if name in ("coherence_by_group", "e_distances", "partial_correlations") else "n_permutations"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, p = CORRECTING[name](12, np.random.default_rng(0), **{option: 19})
    assert p > 0.05
    assert re.search(r"annot be decided.*(19|20).* at least", text), text


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
@pytest.mark.parametrize("m", [2, 15, 200])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_draws_needed_are_the_fewest_with_which_one_effect_is_significant(m, alpha, correct):
    k = draws_needed(m, alpha)
    for n_draws, is_enough in ((k, True), (k - 1, False)):
        p_values = [1 / (n_draws + 1), *[1.0] * (m - 1)]
        assert (correct(p_values)[0] <= alpha * (1 + 1e-9)) == is_enough
        assert bool(undecided(p_values, correct(p_values), n_draws, alpha)) != is_enough
    assert default_draws(m, alpha, fewest=200) == max(200, min(k, 9_999))


def test_no_effect_is_said_only_if_no_test_reaches_the_level_by_itself():
    assert undecided([0.2, 0.6], [0.4, 0.6], 19, 0.05) == ""
    assert undecided([0.05, 0.6], [0.1, 0.6], 19, 0.05) == "cannot be decided with 19 permutations: at least 39"
    assert undecided([float("nan")], [float("nan")], 19, 0.05) == ""
    assert undecided([0.04], [1.0], 9, 0.05, n_tests=30, what="shuffles").endswith("9 shuffles: at least 599")


def test_summed_rows_find_one_measure_among_many():
    """Measures whose chance levels are drawn share the draws, so their number does not multiply the p-value."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    found = shesha.compare(shesha.Moments.of(X, X), "all", calibrate=True)
    tested = [score for score in found if score.has_null]
    assert len(tested) > 12
    assert max(score.corrected_p_value for score in tested if score.p_value < 0.006) <= 0.05
    with pytest.raises(ValueError, match=r"n_permutations must be at least 1 / alpha - 1 = 19, got 10"):
        shesha.compare(shesha.Moments.of(X, X), "all", calibrate=True, n_permutations=10)
