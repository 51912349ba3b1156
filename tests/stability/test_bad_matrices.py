"""What is no representation is refused by every function, in a message that names argument, rule and what came."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import shesha

N, D = 60, 8
GOOD = np.random.default_rng(0).standard_normal((N, D))

pytestmark = pytest.mark.filterwarnings("ignore::shesha.NotIdentifiableWarning")


def labels(X, k=2):
    return np.arange(np.shape(X)[0] if np.ndim(X) else 1) % k


PAIRED = {
    "rdm_similarity": (shesha.rdm_similarity, "X", "Y"),
    "rdm_drift": (shesha.rdm_drift, "X", "Y"),
    "replicate_stability": (shesha.replicate_stability, "X_a", "X_b"),
    "anchor_profile_stability": (partial(shesha.anchor_profile_stability, anchor_ids=[0]), "X_a", "X_b"),
    "drift_path": (lambda X, Y, **options: shesha.drift_path({"before": X, "after": Y}, **options), "before", "after"),
}


def in_pair(call, first):
    if first:
        return lambda X, **options: call(X, GOOD, **options)
    return lambda X, **options: call(GOOD, X, **options)


def with_labels(name, k=2):
    return lambda X, **options: getattr(shesha, name)(X, labels(X, k), **options)


NAMED = {
    **{
        name: ("X", getattr(shesha, name))
        for name in ("feature_split", "basis_averaged_split", "sample_split", "anchor_stability", "estimate")
    },
    "estimate, pairs": ("X", partial(shesha.estimate, pairs=2000)),
    "shesha": ("X", shesha.shesha),
    "compute_rdm": ("X", shesha.compute_rdm),
    **{
        name: ("X", with_labels(name))
        for name in ("variance_ratio", "supervised_alignment", "class_separation_ratio", "zscore_separation")
    },
    **{name: ("X", with_labels(name)) for name in ("lda_stability", "lda_subspace_stability")},
    "label_conditioned_split": ("X", with_labels("label_conditioned_split", 3)),
    "estimate, supervised": ("X", lambda X: shesha.estimate(X, labels(X), "variance_ratio")),
    **{f"{name}, first": (one, in_pair(call, True)) for name, (call, one, _) in PAIRED.items()},
    **{f"{name}, second": (other, in_pair(call, False)) for name, (call, _, other) in PAIRED.items()},
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
    "3-D": (GOOD[None], ValueError, "must be 2-D (n_samples, n_features), got shape (1, 60, 8); if axis 1 holds"),
    "objects": (GOOD.astype(object), TypeError, "must be a matrix of real numbers, got an array of dtype object"),
    "text": (GOOD.astype(str), TypeError, "must be a matrix of real numbers, got an array of dtype <U32"),
    "complex": (GOOD + 1j, TypeError, "must be a matrix of real numbers, got an array of dtype complex128"),
    "dates": (GOOD.astype("M8[s]"), TypeError, "must be a matrix of real numbers, got an array of dtype datetime64[s]"),
}


def test_what_is_no_matrix_is_refused(named):
    name, call = named
    for value, error, message in NO_MATRIX.values():
        with pytest.raises(error, match=re.escape(f"{name} {message}")):
            call(value)
    X = np.ma.masked_array(GOOD, mask=GOOD > 2.5)
    hidden = int((GOOD > 2.5).sum())
    assert hidden
    with pytest.raises(ValueError, match=re.escape(f"{name} must not be masked, got {hidden} masked entries")):
        call(X)


def test_rows_that_are_not_finite_are_named(named):
    name, call = named
    X = GOOD.copy()
    for bad in (np.nan, np.inf, -np.inf):
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


DIRECTED = [
    *("feature_split", "basis_averaged_split", "sample_split", "anchor_stability", "estimate", "estimate, pairs"),
    *("compute_rdm", "class_separation_ratio", "rdm_similarity, first", "rdm_similarity, second"),
    *("replicate_stability, second", "anchor_profile_stability, first", "drift_path, second"),
]


@pytest.mark.parametrize("name", DIRECTED)
@pytest.mark.parametrize(("metric", "row", "kind"), [("cosine", 0.0, "zero"), ("correlation", 0.3, "constant")])
def test_rows_without_a_direction_are_named_and_the_way_out_too(name, metric, row, kind):
    argument, call = NAMED[name]
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
