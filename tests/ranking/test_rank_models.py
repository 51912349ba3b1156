"""Ranking models: values are those of the measure, resamples those of the data written out, places follow the tests."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata, spearmanr

import shesha
from shesha import Rdm, noise_ceiling, rank_models
from shesha.ranking.problem import DistanceVectors
from shesha.ranking.rank_models import _check_problem, add_flexible
from shesha.ranking.resampling import pair_weights, variance_shares
from shesha.support.warnings import CalibrationWarning

N = 24
DRAW = np.random.default_rng(3)
TRUTH = DRAW.standard_normal((N, 6))
SUBJECTS = TRUTH + 0.8 * DRAW.standard_normal((5, N, 6))
MODELS = {
    "near": TRUTH + 0.4 * DRAW.standard_normal((N, 6)),
    "middle": TRUTH + 1.2 * DRAW.standard_normal((N, 6)),
    "far": DRAW.standard_normal((N, 4)),
}
FEW = {"n_resamples": 60, "n_permutations": 19}


@pytest.mark.parametrize("measure", ["RSA", "RSA(metric=euclidean, method=pearson)", "unbiased CKA", "LinReg"])
def test_values_are_means_of_the_measure_over_subjects(measure):
    found = rank_models(SUBJECTS, MODELS, measure, **FEW)
    for name, X in MODELS.items():
        expected = np.mean([shesha.compare(X, one, measure)[measure].value for one in SUBJECTS])
        assert found[name].value == pytest.approx(expected, rel=1e-9)
    if measure != "LinReg":
        ceiling = noise_ceiling(SUBJECTS, measure)
        assert (found.ceiling_lower, found.ceiling_upper) == pytest.approx((ceiling.lower, ceiling.upper))
    assert [one.value for one in found] == sorted((one.value for one in found), reverse=True)


def problem(data, models, measure="RSA"):
    return _check_problem([Rdm(one) for one in data], {k: Rdm(v) for k, v in models.items()}, measure, None, None, 0)


@pytest.mark.parametrize("seed", range(50))
def test_a_resample_is_the_data_written_out_without_pairs_of_one_row(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 20))
    data = [pdist(rng.standard_normal((n, 3))).round(seed % 4 or 9) for _ in range(3)]
    models = {"a": pdist(rng.standard_normal((n, 3))), "b": pdist(rng.standard_normal((n, 2))).round(1)}
    vectors = DistanceVectors.build(problem(data, models))
    drawn = rng.integers(0, n, n)
    found = vectors.split(vectors.correlations(pair_weights(np.bincount(drawn, minlength=n), vectors.i, vectors.j)))[0]
    i, j = np.triu_indices(n, k=1)
    apart = drawn[i] != drawn[j]
    for k, one in enumerate(data):
        for m, other in enumerate(models.values()):
            both = [squareform(each)[np.ix_(drawn, drawn)][i, j][apart] for each in (one, other)]
            assert found[k, m] == pytest.approx(spearmanr(*both).statistic, abs=1e-9)


@pytest.mark.parametrize("method", ["spearman", "pearson"])
@pytest.mark.parametrize("seed", range(50))
def test_values_and_ceilings_are_those_of_rsatoolbox(seed, method):
    """Distances without ties: with many, its mean of ranks weights repeats that tie less (ours are of unit length)."""
    rsatoolbox = pytest.importorskip("rsatoolbox")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 20))
    data = [pdist(rng.standard_normal((n, 3))) for _ in range(int(rng.integers(2, 7)))]
    models = {name: pdist(rng.standard_normal((n, 3))) for name in "ab"}
    theirs = {"spearman": "spearman", "pearson": "corr"}[method]
    rdms, candidates = (rsatoolbox.rdm.RDMs(np.array(list(one))) for one in (data, models.values()))
    given = problem(data, models, f"RSA(method={method})")
    vectors = DistanceVectors.build(given)
    drawn = rng.integers(0, n, n)
    expected = rsatoolbox.rdm.compare(*(one.subsample_pattern("index", drawn) for one in (candidates, rdms)), theirs)
    found = vectors.split(vectors.correlations(pair_weights(np.bincount(drawn, minlength=n), vectors.i, vectors.j)))[0]
    np.testing.assert_allclose(found.T, expected, atol=1e-9)
    ceiling = rsatoolbox.inference.boot_noise_ceiling(rdms, method=theirs)
    ours = noise_ceiling([Rdm(one) for one in data], f"RSA(method={method})")
    assert (ours.lower, ours.upper) == pytest.approx(ceiling, abs=1e-9)


def test_places_are_those_that_significant_differences_leave():
    subjects = TRUTH + 0.8 * np.random.default_rng(1).standard_normal((12, N, 6))
    found = rank_models(subjects, MODELS, "RSA(metric=euclidean)", n_resamples=200, n_permutations=99)
    assert found.best == ("near",)
    assert (found["near"].rank_low, found["near"].rank_high) == (1, 1)
    assert found["far"].rank_high == 3
    assert found["near"].p_value < 0.05 < found["far"].p_value
    assert found.pair("far", "near").value == -found.pair("near", "far").value
    assert found.headline.startswith("near explains the data best")


def test_equal_models_share_their_place():
    found = rank_models(SUBJECTS, {"one": MODELS["near"], "same": 3 * MODELS["near"]}, **FEW)
    assert {(one.rank_low, one.rank_high) for one in found} == {(1, 2)}
    assert "not significantly closer than" in found.headline
    assert "one, same have the same score in every resample, so they are copies for RSA." in found.headline
    with pytest.warns(CalibrationWarning, match=r"of 3 subjects, data\[2\] is a copy of data\[0\]"):
        rank_models([SUBJECTS[0], SUBJECTS[1], 3 * SUBJECTS[0][:, ::-1]], MODELS, **FEW)
    assert found["one"].unique == pytest.approx(0, abs=1e-9)
    assert found["one"].alone == pytest.approx(found.explained)


def test_lower_is_closer_for_distances():
    found = rank_models(SUBJECTS, MODELS, "RDM drift", **FEW)
    assert found.models[0].name == "near"
    assert found.models[0].value == min(one.value for one in found)
    assert found.ceiling_lower > found.ceiling_upper  # The mean of the others is farther off.


def test_shares_are_those_of_regression():
    rng = np.random.default_rng(0)
    models, data = rng.standard_normal((3, 200)), rng.standard_normal(200)
    data += models.sum(axis=0)

    def explained(chosen):
        design = np.column_stack([np.ones(200), *models[chosen]])
        left = data - design @ np.linalg.lstsq(design, data, rcond=None)[0]
        return 1 - left.var() / data.var()

    correlations = np.corrcoef([*models, data])
    found = variance_shares(correlations[3:, :3], correlations[:3, :3])[0]
    assert found[6] == pytest.approx(explained([0, 1, 2]))
    for k in range(3):
        others = [m for m in range(3) if m != k]
        assert found[k] == pytest.approx(explained([k]))
        assert found[3 + k] == pytest.approx(explained([0, 1, 2]) - explained(others))


def test_weights_are_fitted_to_other_rows_than_they_are_scored_on():
    """Twelve unrelated models fit the 120 distances of 16 rows with a correlation of 0.2 or more by chance."""
    held_out = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        models = {str(k): rng.standard_normal((16, 5)) for k in range(12)}
        found = rank_models(rng.standard_normal((16, 5)), models, n_resamples=20, seed=seed)
        held_out.append(found.combination.value)
    assert abs(np.mean(held_out)) < 0.1


def test_weights_find_a_mixture_and_are_never_negative():
    rng = np.random.default_rng(0)
    mixed = [Rdm(pdist(MODELS["near"]) + pdist(MODELS["far"]) + 0.1 * rng.random(N * (N - 1) // 2)) for _ in range(4)]
    found = rank_models(mixed, {k: Rdm(pdist(v)) for k, v in MODELS.items()}, "RSA(method=pearson)", **FEW)
    assert found.combination.value > found.combination.best_single_value + 0.05
    weights = found.combination.weights
    assert sum(weights.values()) == pytest.approx(1)
    assert min(weights["near"], weights["far"]) > 0.35
    assert 0 <= weights["middle"] < 0.1


def test_groups_are_resampled_whole():
    """Every row three times, nearly: the rows say three times what they know, the groups once."""
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(8), 3)
    data, *models = (X[::3].repeat(3, axis=0) + 0.3 * rng.standard_normal(X.shape) for X in (TRUTH, *MODELS.values()))
    candidates = dict(zip(MODELS, models, strict=True))
    with pytest.warns(shesha.CalibrationWarning, match="intervals too narrow"):
        alone = rank_models(data, candidates, "RSA(metric=euclidean)", **FEW)
    together = rank_models(data, candidates, "RSA(metric=euclidean)", groups=groups, **FEW)
    width = [sum(line.high - line.low for line in one) for one in (alone, together)]
    assert width[1] > 1.3 * width[0]
    assert together.exchanged == "whole groups"


def test_rows_are_matched_by_their_names():
    names = [f"row {k}" for k in range(N)]
    shuffled = DRAW.permutation(N)
    data = [pd.DataFrame(one, index=names) for one in SUBJECTS]
    models = {name: pd.DataFrame(X, index=names).iloc[shuffled] for name, X in MODELS.items()}
    with pytest.warns(shesha.RowNamesWarning):
        found = rank_models(data, models, **FEW)
    assert found["near"].value == pytest.approx(rank_models(SUBJECTS, MODELS, **FEW)["near"].value)


def test_intervals_stay_within_the_bounds_of_the_measure():
    found = rank_models(SUBJECTS, MODELS, "MagDiff", **FEW)
    assert all(one.low >= 0 for one in found)


def test_measures_that_ignore_which_row_is_which_have_no_chance():
    found = rank_models(SUBJECTS, {"near": MODELS["near"], "middle": MODELS["middle"]}, "MMD", **FEW)
    assert all(np.isnan(one.p_value) for one in found)
    assert "does not depend on the matching of rows" in str(found).replace("\n  ", " ")


def test_one_subject_says_what_its_intervals_do_not_know():
    found = rank_models(SUBJECTS[0], MODELS, **FEW)
    assert not found.has_ceiling
    assert found.resampled == "rows"
    assert "There is only one subject" in str(found).replace("\n  ", " ")


def test_few_rows_are_said_and_do_not_fail():
    found = rank_models(SUBJECTS[:, :4], {k: v[:4] for k, v in MODELS.items()}, alpha=0.2, **FEW)
    assert "There are no intervals" in str(found)
    assert np.isnan(found.pairs[0].p_value)
    assert {one.rank_high for one in found} == {3}


@pytest.mark.parametrize("measure", ["RSA", "CKA"])
@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_few_groups_give_no_intervals_and_no_winner(n_groups, measure):
    """Of two groups there are three distinct resamples, whatever is drawn."""
    rng, groups = np.random.default_rng(0), np.arange(40) * n_groups // 40
    data = rng.standard_normal((40, 6))
    candidates = {"near": data + 0.1 * rng.standard_normal(data.shape), "far": rng.standard_normal((40, 6))}
    found = rank_models(data, candidates, measure, groups=groups, **FEW)
    pair = found.pair("near", "far")
    assert np.isnan([pair.low, pair.high, pair.p_value]).all()
    assert f"because they need at least 5 groups, got {n_groups}." in " ".join(found.notes)
    assert found.models[0].value == pytest.approx(rank_models(data, candidates, measure, **FEW).models[0].value)


def test_weights_of_each_subject_are_fitted_to_its_other_rows():
    """Subjects that combine the models differently are not explained by weights of other subjects."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 40, 6))
    subjects = [np.hstack([w * a, (1 - w) * b]) + 0.2 * rng.standard_normal((40, 12)) for w in (0.9, 0.1, 0.8, 0.2)]
    options = {"n_permutations": 19, "n_resamples": 20, "seed": 0}
    shared, own = (
        rank_models(subjects, {"a": a, "b": b}, "RSA(metric=euclidean)", weights_of=of, **options)
        for of in ("all subjects", "each subject")
    )
    assert own.combination.value > shared.combination.value + 0.2
    assert own.combination.best_single_value == pytest.approx(shared.combination.best_single_value)
    assert "mean weights, fitted to each subject" in str(own).replace("\n", " ")
    with pytest.raises(ValueError, match="weights_of must be one of 'all subjects', 'each subject', got 'mine'"):
        rank_models(subjects, {"a": a, "b": b}, weights_of="mine")
    options |= {"weights_of": "each subject", "flexible": {"sum": ["a", "b"]}}
    ranked = rank_models(subjects, {"a": a, "b": b}, "RSA(metric=euclidean)", **options)
    assert ranked.models[0].name == "sum"
    assert ranked["sum"].value == pytest.approx(own.combination.value, abs=0.05)
    assert (ranked["a"].value, ranked["a"].unique) == (own["a"].value, own["a"].unique)
    assert ranked.notes[0].startswith("sum is a weighted sum of models, fitted to other rows of each subject")


@pytest.mark.parametrize("of", ["all subjects", "each subject"])
@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_flexible_models_are_fitted_to_other_rows(method, of):
    """The weights for a distance come from pairs of rows in other folds, here written out."""
    models, data = {name: pdist(X) for name, X in MODELS.items()}, [pdist(X) for X in SUBJECTS[:3]]
    given = problem(data, models, f"RSA(method={method})")
    fitted = add_flexible(given, {"sum": ["far", "near"]}, of, np.random.default_rng(5))[0].flexible
    found = fitted.fit(np.array([given.measure.look(model).ranks for model in given.models.values()]))["sum"][0]
    lines = np.array([models["far"], models["near"], *data])
    lines = np.array([rankdata(line) for line in lines]) if method == "spearman" else lines
    lines = (lines - lines.mean(axis=1, keepdims=True)) / lines.std(axis=1, keepdims=True)
    folds = (np.random.default_rng(5).permutation(N) % 8)[np.array(np.triu_indices(N, k=1))]
    for pair in (0, 100, 275):
        train = lines[:, ~np.isin(folds, folds[:, pair]).any(axis=0)]
        train = train - train.mean(axis=1, keepdims=True)
        for k, prediction in enumerate(found):
            others = [2 + k] if of == "each subject" else [2 + other for other in range(3) if other != k]
            weights = nnls(train[:2].T, train[others].mean(axis=0))[0]
            expected = weights @ lines[:2, pair] / weights.sum() / np.sqrt(lines.shape[1])
            assert prediction[pair] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("flexible", "measure", "message"),
    [
        ({"near": ["near", "far"]}, "RSA", r"flexible must give a new name to at least 2 models of near, middle, far"),
        ({"sum": ["near"]}, "RSA", r"got \{'sum': \['near'\]\}"),
        ({"sum": ["near", "other"]}, "RSA", r"got \{'sum': \['near', 'other'\]\}"),
        ({"sum": ["near", "far"]}, "CKA", r"flexible must be None unless the measure correlates distances"),
    ],
)
def test_bad_flexible_models(flexible, measure, message):
    with pytest.raises(ValueError, match=message):
        rank_models(SUBJECTS, MODELS, measure, flexible=flexible, **FEW)


@pytest.mark.parametrize("method", ["spearman", "rho-a"])
def test_categories_that_exceed_the_ceiling_of_ranks_are_named(method):
    rng = np.random.default_rng(1)
    kind = rng.permutation(np.repeat(np.arange(4), 6))
    subjects = [3 * np.eye(4)[kind] @ rng.normal(size=(4, 40)) + 3 * rng.normal(size=(24, 40)) for _ in range(8)]
    models = {"kinds": Rdm((kind[:, None] != kind).astype(float)), "other": subjects[0] + rng.normal(size=(24, 40))}
    found = rank_models(subjects, models, "RSA" if method == "spearman" else f"RSA(method={method})", **FEW)
    told = any("kinds exceeds the noise ceiling, because Spearman's" in text for text in found.inputs)
    assert told == (method == "spearman")
    assert not any("circular" in text for text in found.inputs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "statement"),
    [
        (lambda truth, subjects: subjects[1], "model equals data[1], so its value is circular"),
        (lambda truth, subjects: np.mean(subjects, axis=0), "model equals the mean of the subjects"),
        (
            lambda truth, subjects: np.mean([rankdata(one) for one in subjects], axis=0),
            "model is as close to the subjects as their own mean",
        ),
        (lambda truth, subjects: truth, ""),
    ],
)
def test_a_model_that_was_made_from_the_data_is_named(model, statement):
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((10, 5))
    subjects = [pdist(truth + rng.standard_normal((10, 5))) for _ in range(5)]
    models = {
        "model": shesha.Rdm(model(pdist(truth), subjects)),
        "other": shesha.Rdm(pdist(rng.standard_normal((10, 5)))),
    }
    found = shesha.rank_models(list(map(shesha.Rdm, subjects)), models, n_resamples=20, n_permutations=20)
    circular = [text for text in found.inputs if "circular" in text]
    assert (statement in circular[0]) if statement else not circular


def test_trials_of_one_subject_are_not_taken_for_subjects():
    with pytest.raises(ValueError, match=r"got \(12, 5, 3\) and models of 12 rows; .* pass data.reshape"):
        rank_models(np.zeros((12, 5, 3)), {"model": np.eye(12)})
    stack = np.stack([1 - np.eye(12)] * 5, axis=2)
    with pytest.raises(ValueError, match=r"distances between rows .* pass shesha.Rdm.stack\(data\)"):
        rank_models(stack, {"model": np.eye(12)})


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["mouse1_ses1", "mouse1_ses2", "mouse2_ses1"], "sessions of 2 subjects"),
        (["run1", "run2", "run3"], "sessions of 1 subject by"),
        (["sub-01_ses-1", "sub-02_ses-1", "sub-03_ses-1"], ""),
        (["monday1", "monday2", "monday3"], ""),
    ],
)
def test_sessions_of_one_subject_are_named(names, said):
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((20, 5))
    data = {name: truth + rng.standard_normal((20, 5)) for name in names}
    found = rank_models(data, {"a": truth, "b": rng.standard_normal((20, 5))}, n_resamples=20, n_permutations=19)
    assert any("data sets are sessions" in text for text in found.inputs) == bool(said)
    assert not said or any(said in text for text in found.inputs)


def test_similarities_among_the_models_are_suspected():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((20, 5))
    same = np.corrcoef(truth)
    data, reversed_model = Rdm(1 - same), Rdm(np.where(np.eye(20), 0, same + 1))
    found = rank_models(data, {"a": truth, "b": reversed_model}, n_resamples=20, n_permutations=19)
    assert any("b is far below chance (-1.00)" in text for text in found.inputs)


@pytest.mark.parametrize("as_distances", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_mean_of_the_subjects_is_no_model_of_them(as_distances, noise):
    rng = np.random.default_rng(0)
    sides = rng.standard_normal((20, 5)) + rng.standard_normal((4, 20, 5))
    sides = np.array([squareform(pdist(side)) for side in sides]) if as_distances else sides
    change = noise * rng.standard_normal(sides[0].shape)
    mean = sides.mean(axis=0) + (np.abs(np.triu(change, 1) + np.triu(change, 1).T) if as_distances else change)
    wrap = Rdm if as_distances else np.asarray
    models = {"mean": wrap(mean), "other": rng.standard_normal((20, 5))}
    found = rank_models([wrap(side) for side in sides], models, n_resamples=20, n_permutations=19)
    assert any("mean equals the mean of the subjects" in text for text in found.inputs) == (noise == 0)


def test_matrices_that_look_like_distances_are_read_as_such(rng):
    places = rng.standard_normal((12, 3))
    D = squareform(pdist(places))
    noisy = [squareform(pdist(places + 0.3 * rng.standard_normal(places.shape))) for _ in range(4)]
    models = {"places": D, "columns": rng.standard_normal((12, 3))}
    found = rank_models(noisy, models, n_resamples=20, n_permutations=19)
    expected = rank_models(
        [shesha.Rdm(one) for one in noisy], models | {"places": shesha.Rdm(D)}, n_resamples=20, n_permutations=19
    )
    assert [one.value for one in found] == [one.value for one in expected]
    assert any("read as distances: models['places'], data[0], data[1], " in text for text in found.inputs)
    with pytest.raises(ValueError, match=r"models\['alike'\] must contain distances, .* pass \(or save\) 1 - models"):
        rank_models(noisy, {"alike": np.exp(-D)})
