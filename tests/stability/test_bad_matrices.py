"""What is no representation is refused by every function, in a message that names argument, rule and what came."""

import re

import numpy as np
import pandas as pd
import pytest

import shesha

N, D = 60, 8
GOOD = np.random.default_rng(0).standard_normal((N, D))

pytestmark = pytest.mark.filterwarnings("ignore::shesha.NotIdentifiableWarning")


def labels(X, k=2):
    return np.arange(np.shape(X)[0] if np.ndim(X) else 1) % k


ALONE = {
    "feature_split": shesha.feature_split,
    "basis_averaged_split": shesha.basis_averaged_split,
    "sample_split": shesha.sample_split,
    "anchor_stability": shesha.anchor_stability,
    "estimate": shesha.estimate,
    "estimate, pairs": lambda X: shesha.estimate(X, pairs=2000),
    "shesha": shesha.shesha,
    "compute_rdm": shesha.compute_rdm,
    "variance_ratio": lambda X: shesha.variance_ratio(X, labels(X)),
    "supervised_alignment": lambda X: shesha.supervised_alignment(X, labels(X)),
    "class_separation_ratio": lambda X: shesha.class_separation_ratio(X, labels(X)),
    "zscore_separation": lambda X: shesha.zscore_separation(X, labels(X)),
    "lda_stability": lambda X: shesha.lda_stability(X, labels(X)),
    "lda_subspace_stability": lambda X: shesha.lda_subspace_stability(X, labels(X)),
    "label_conditioned_split": lambda X: shesha.label_conditioned_split(X, labels(X, 3)),
    "estimate, supervised": lambda X: shesha.estimate(X, labels(X), "variance_ratio"),
}
NAMED = {
    **{name: ("X", call) for name, call in ALONE.items()},
    "rdm_similarity, X": ("X", lambda X: shesha.rdm_similarity(X, GOOD)),
    "rdm_similarity, Y": ("Y", lambda X: shesha.rdm_similarity(GOOD, X)),
    "rdm_drift, X": ("X", lambda X: shesha.rdm_drift(X, GOOD)),
    "rdm_drift, Y": ("Y", lambda X: shesha.rdm_drift(GOOD, X)),
    "replicate_stability, X_a": ("X_a", lambda X: shesha.replicate_stability(X, GOOD)),
    "replicate_stability, X_b": ("X_b", lambda X: shesha.replicate_stability(GOOD, X)),
    "anchor_profile_stability, X_a": ("X_a", lambda X: shesha.anchor_profile_stability(X, GOOD, [0])),
    "anchor_profile_stability, X_b": ("X_b", lambda X: shesha.anchor_profile_stability(GOOD, X, [0])),
    "drift_path, first": ("before", lambda X: shesha.drift_path({"before": X, "after": GOOD})),
    "drift_path, later": ("after", lambda X: shesha.drift_path({"before": GOOD, "after": X})),
    "encoder_stability": ("f(X)", lambda X: shesha.encoder_stability(lambda _: X, GOOD, 0.1)),
    "encoder_stability, perturbed": (
        "f(perturbed X)",
        lambda X: shesha.encoder_stability(lambda inputs: GOOD if inputs is GOOD else X, GOOD, 0.1),
    ),
}


@pytest.fixture(params=NAMED)
def named(request):
    return NAMED[request.param]


NO_MATRIX = {
    "one number": (3.0, ValueError, "must be 2-D (n_samples, n_features), got shape ()"),
    "1-D": (GOOD[0], ValueError, "must be 2-D (n_samples, n_features), got shape (8,)"),
    "3-D": (GOOD[None], ValueError, "must be 2-D (n_samples, n_features), got shape (1, 60, 8)"),
    "objects": (GOOD.astype(object), TypeError, "must be a matrix of real numbers, got an array of dtype object"),
    "text": (GOOD.astype(str), TypeError, "must be a matrix of real numbers, got an array of dtype <U32"),
    "complex": (GOOD + 1j, TypeError, "must be a matrix of real numbers, got an array of dtype complex128"),
    "dates": (GOOD.astype("M8[s]"), TypeError, "must be a matrix of real numbers, got an array of dtype datetime64[s]"),
}


@pytest.mark.parametrize("kind", NO_MATRIX)
def test_what_is_no_matrix_is_refused(named, kind):
    name, call = named
    value, error, message = NO_MATRIX[kind]
    with pytest.raises(error, match=re.escape(f"{name} {message}")):
        call(value)


def test_masked_entries_are_refused(named):
    name, call = named
    X = np.ma.masked_array(GOOD, mask=GOOD > 2.5)
    hidden = int((GOOD > 2.5).sum())
    assert hidden
    with pytest.raises(ValueError, match=re.escape(f"{name} must not be masked, got {hidden} masked entries")):
        call(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_named(named, bad):
    name, call = named
    X = GOOD.copy()
    X[[3, 17], [2, 5]] = bad
    with pytest.raises(ValueError, match=re.escape(f"{name} must be finite, got NaN or infinity in rows 3, 17")):
        call(X)


@pytest.mark.parametrize("name", [name for name in NAMED if "encoder" not in name])
def test_too_few_rows_are_refused(name):
    argument, call = NAMED[name]
    least = 2 if name == "compute_rdm" else 4
    with pytest.raises(ValueError, match=f"{argument} must have at least {least} rows, got {least - 1}"):
        call(GOOD[: least - 1])


@pytest.mark.parametrize("name", [name for name in NAMED if NAMED[name][0] in ("Y", "X_b", "after")])
def test_rows_that_cannot_be_matched_are_refused(name):
    argument, call = NAMED[name]
    with pytest.raises(ValueError, match=rf"{argument} must have as many rows as \w+ \({N}\), got {N - 1}"):
        call(GOOD[:-1])


DIRECTED = {
    "feature_split": ("X", shesha.feature_split),
    "basis_averaged_split": ("X", shesha.basis_averaged_split),
    "sample_split": ("X", shesha.sample_split),
    "anchor_stability": ("X", shesha.anchor_stability),
    "estimate": ("X", shesha.estimate),
    "estimate, pairs": ("X", lambda X, **options: shesha.estimate(X, pairs=2000, **options)),
    "compute_rdm": ("X", shesha.compute_rdm),
    "class_separation_ratio": ("X", lambda X, **options: shesha.class_separation_ratio(X, labels(X), **options)),
    "rdm_similarity, X": ("X", lambda X, **options: shesha.rdm_similarity(X, GOOD, **options)),
    "rdm_similarity, Y": ("Y", lambda X, **options: shesha.rdm_similarity(GOOD, X, **options)),
    "replicate_stability": ("X_b", lambda X, **options: shesha.replicate_stability(GOOD, X, **options)),
    "anchor_profile_stability": ("X_a", lambda X, **options: shesha.anchor_profile_stability(X, GOOD, [0], **options)),
    "drift_path": ("after", lambda X, **options: shesha.drift_path({"before": GOOD, "after": X}, **options)),
}


@pytest.mark.parametrize("name", DIRECTED)
@pytest.mark.parametrize(("metric", "row", "kind"), [("cosine", 0.0, "zero"), ("correlation", 0.3, "constant")])
def test_rows_without_a_direction_are_named_and_the_way_out_too(name, metric, row, kind):
    argument, call = DIRECTED[name]
    X = GOOD.copy()
    X[[5, 11]] = row
    message = (
        f"{argument} must have no {kind} row under the {metric} metric, got {kind} rows 5, 11; remove them, or use"
    )
    with pytest.raises(ValueError, match=message):
        call(X, metric=metric)
    call(X, metric="euclidean")


def test_a_row_at_the_mean_has_no_direction_from_it():
    whole = np.round(8 * GOOD)
    X = np.vstack([whole, -whole, np.zeros((1, D))]) + 3.0
    message = "X minus its column means must have no zero row under the cosine metric, got zero rows 120"
    with pytest.raises(ValueError, match=message):
        shesha.supervised_alignment(X, labels(X), metric="cosine")


FORMS = {
    "list": lambda X: X.tolist(),
    "frame": pd.DataFrame,
    "column order": np.asfortranarray,
    "view of every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "integers": lambda X: X.astype(int),
    "single precision": lambda X: X.astype(np.float32),
    "half precision": lambda X: X.astype(np.float16),
    "small integers": lambda X: X.astype(np.int8),
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pairs", [None, 2000])
def test_numbers_may_come_in_any_form_and_are_left_alone(form, pairs):
    X = np.round(8 * GOOD) + 0.0
    X[X == 0] = 1
    given = FORMS[form](X)
    before = np.array(given)
    for metric in ("cosine", "correlation", "euclidean"):
        options = {"metric": metric, "pairs": pairs, "n_splits": 2, "seed": 0}
        assert shesha.estimate(given, **options) == shesha.estimate(X, **options)
        if pairs is None:
            assert shesha.feature_split(given, 2, metric, 0) == shesha.feature_split(X, 2, metric, 0)
            assert shesha.rdm_similarity(given, X, metric=metric) == pytest.approx(1)
    assert np.array_equal(np.array(given), before)
