"""Predictors are the library's own scores beside shuffled labels; partial correlations are those of the textbook."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import shesha
from shesha.steering import vector
from shesha_studies.steering_predictors import partial_correlations, predictors
from shesha_studies.transferability import fisher_discriminant, silhouette


@pytest.fixture
def two_classes():
    """80 rows of 12 features, two classes that lie apart along the difference of the first two."""
    rng = np.random.default_rng(0)
    y = np.repeat(["neg", "pos"], 40)
    return rng.standard_normal((80, 12)) + 2 * np.eye(12)[(y == "pos").astype(int)] + 3.0, y


@pytest.fixture
def three_classes():
    rng = np.random.default_rng(1)
    y = np.tile(["entailment", "neutral", "contradiction"], 30)
    place = {"entailment": 0, "neutral": 1, "contradiction": 2}
    return rng.standard_normal((90, 10)) + 2 * np.eye(10)[[place[one] for one in y]], y


def test_values_are_those_of_the_functions_by_these_names(two_classes):
    X, y = two_classes
    found = predictors(X, y, n_draws=19, seed=0)
    assert found["supervised_alignment"] == shesha.supervised_alignment(X, y)
    assert found["fisher"] == fisher_discriminant(X, y)
    assert found["silhouette"] == silhouette(X, y)
    assert found["procrustes"] == shesha.measures.procrustes_similarity(X, np.eye(2)[(y == "pos").astype(int)])
    assert found["feature_split"] == shesha.feature_split(X, seed=0)
    assert found["anisotropy"] == shesha.descriptors.anisotropy(X)
    of_vector = vector(X, y, n_draws=0, seed=0)
    assert found["coherence"] == pytest.approx(of_vector.coherence.value)
    assert found["unbiased_coherence"] == pytest.approx(of_vector.unbiased.value)
    assert found.values()["fisher"] == found["fisher"]


def test_what_looks_at_labels_stands_beside_chance(two_classes):
    X, y = two_classes
    found = {one.name: one for one in predictors(X, y, n_draws=39, seed=0).scores}
    for name in ("supervised_alignment", "fisher", "silhouette", "procrustes", "coherence", "unbiased_coherence"):
        assert found[name].p_value == 1 / 40, name
        assert found[name].chance < found[name].value
    assert found["procrustes"].chance > 0.1
    for name in ("feature_split", "anisotropy"):
        assert not found[name].has_null
        assert "does not use labels" in found[name].reason


def test_rows_without_a_direction_in_half_of_the_features_do_not_stop_the_rest():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 12)) < 0.15).astype(float) + np.eye(12)[np.arange(60) % 12]
    found = predictors(X, np.arange(60) % 2, n_draws=0, seed=0)
    assert np.isfinite(found["feature_split"])
    assert not found.notes
    X[3] = 0
    found = predictors(X, np.arange(60) % 2, n_draws=0, seed=0)
    assert found.notes == ("1 zero row was left out of feature_split",)
    assert (
        found["feature_split"]
        == predictors(np.delete(X, 3, 0), np.delete(np.arange(60) % 2, 3), n_draws=0, seed=0)["feature_split"]
    )
    assert np.isfinite(found["fisher"])


def test_labels_of_noise_are_not_above_chance():
    X = np.random.default_rng(3).standard_normal((40, 30))
    found = predictors(X, np.repeat([0, 1], 20), n_draws=39, seed=0)
    assert all(one.p_value > 0.05 for one in found.scores if one.has_null)


def test_two_classes_far_apart_are_those_whose_coherence_is_told(three_classes):
    X, y = three_classes
    X = X + 20.0 * np.eye(10)[5] * (y == "neutral")[:, None]
    found = predictors(X, y, n_draws=19, seed=0)
    pairs = [vector(X[y != one], y[y != one], n_draws=0).coherence.value for one in ("entailment", "contradiction")]
    assert min(abs(found["coherence"] - value) for value in pairs) < 1e-9


def models(n=40, seed=0):
    rng = np.random.default_rng(seed)
    fisher, own, other = rng.standard_normal((3, n))
    table = {"fisher": fisher, "silhouette": fisher**3 + other / 9, "shesha": fisher + own, "noise": other}
    return {**table, "max_drop": fisher + own + rng.standard_normal(n) / 4}


def rank_residual(x, given):
    from scipy.stats import rankdata

    G = np.column_stack([np.ones(len(x)), *(rankdata(one) for one in given)])
    r = rankdata(x)
    return r - G @ np.linalg.lstsq(G, r, rcond=None)[0]


def test_correlations_are_spearmans_and_the_textbooks_partial_one():
    table = models()
    found = partial_correlations(table, "max_drop", n_draws=19, seed=0)
    given = (table["fisher"], table["silhouette"])
    for name in ("shesha", "noise"):
        assert found[name].raw.value == pytest.approx(spearmanr(table[name], table["max_drop"])[0])
        left = [rank_residual(table[one], given) for one in (name, "max_drop")]
        assert found[name].value == pytest.approx(np.corrcoef(left)[0, 1])
    assert found["fisher"].raw.value == pytest.approx(spearmanr(table["fisher"], table["max_drop"])[0])
    assert np.isnan(found["fisher"].value)


def test_one_given_predictor_has_the_closed_form():
    table = models(seed=4)
    found = partial_correlations(table, "max_drop", covariates=["fisher"], n_draws=19, seed=0)["shesha"]
    ab, ac, bc = (
        spearmanr(table[a], table[b])[0]
        for a, b in (("shesha", "max_drop"), ("shesha", "fisher"), ("max_drop", "fisher"))
    )
    assert found.value == pytest.approx((ab - ac * bc) / np.sqrt((1 - ac**2) * (1 - bc**2)))


def test_what_adds_something_is_significant_and_what_adds_nothing_is_not():
    found = partial_correlations(models(60, seed=1), "max_drop", n_draws=199, seed=0)
    assert found["shesha"].p_value == 1 / 200
    assert found["shesha"].low > 0
    assert found["noise"].p_value > 0.05
    assert found["noise"].low < 0 < found["noise"].high


def test_a_predictor_that_orders_models_as_one_given_has_no_partial_correlation():
    table = models()
    found = partial_correlations({**table, "twin": np.exp(table["fisher"])}, "max_drop", n_draws=19, seed=0)
    assert found["twin"].raw.value == found["fisher"].raw.value
    for name in ("value", "low", "high", "p_value", "corrected_p_value"):
        assert np.isnan(getattr(found["twin"], name))
    assert (found["twin"].reason, found["fisher"].reason) == (
        "the covariates explain its ranks completely",
        "controlled for",
    )
    assert np.isfinite(found["twin"].threshold)


def test_of_two_equal_classes_procrustes_orders_as_fisher_does(two_classes):
    X, y = two_classes
    found = predictors(X, y, n_draws=0, seed=0)
    assert found["procrustes"] ** 2 == pytest.approx(found["fisher"] / (1 + found["fisher"]))


def test_chance_is_that_of_so_many_models():
    few, many = (partial_correlations(models(n), "max_drop", n_draws=299, seed=0) for n in (8, 100))
    # For n unrelated numbers 95 % of rank correlations lie within about 1.96 / sqrt(n - 1).
    assert many["noise"].raw.threshold == pytest.approx(1.96 / np.sqrt(99), rel=0.2)
    assert few["noise"].raw.threshold > 0.6
    assert few["noise"].threshold > few["noise"].raw.threshold
    assert "with only 8 models" in few.notes[0]
    assert not many.notes


@pytest.mark.parametrize("runs", [25])
def test_partial_correlations_of_noise_keep_their_level(runs):
    p_values = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        fisher = rng.standard_normal(15)
        table = {"fisher": fisher, "x": fisher + rng.standard_normal(15), "drop": fisher + rng.standard_normal(15)}
        p_values.append(partial_correlations(table, "drop", covariates=["fisher"], n_draws=19, seed=seed)["x"].p_value)
    assert np.mean(np.array(p_values) <= 0.1) < 0.1 + 4 * np.sqrt(0.09 / runs)
    assert abs(np.mean(p_values) - 0.5) < 4 * np.sqrt(1 / 12 / runs)


def test_groups_of_models_move_as_wholes():
    table = models(12)
    found = partial_correlations(table, "max_drop", groups=np.arange(12) // 4, n_draws=99, seed=0)
    assert (found.n_models, found.n_units) == (12, 3)
    assert "12 models in 3 groups" in str(found)
    assert any("only 6 ways to shuffle whole groups" in note for note in found.notes)


def test_a_table_of_pandas_passes_and_text_columns_are_passed_over():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**models(), "name": "model"})
    found = partial_correlations(frame, "max_drop", n_draws=19, seed=0)
    assert [one.name for one in found] == ["fisher", "silhouette", "shesha", "noise"]
    assert list(found.to_frame()["name"]) == ["fisher", "silhouette", "shesha", "noise"]
    assert "controlling for fisher and silhouette" in " ".join(str(found).split())
    with pytest.raises(KeyError, match="name must be one of fisher, silhouette, shesha, noise, got 'x'"):
        found["x"]


@pytest.mark.parametrize("function", [predictors, vector])
def test_as_many_rows_as_the_documentation_asks_for_suffice(function):
    X, y = np.random.default_rng(0).standard_normal((8, 5)), np.arange(8) % 2
    assert "at least 8 rows" in " ".join(function.__doc__.split())
    assert function(X, y, n_draws=0, seed=0)
    with pytest.raises(ValueError, match="X must have at least 8 rows, got 7"):
        function(X[:7], y[:7], n_draws=0, seed=0)
