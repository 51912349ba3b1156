"""What are no labels for the rows is refused by every supervised score."""

import numpy as np
import pandas as pd
import pytest

import shesha

N = 24
X = np.random.default_rng(0).standard_normal((N, 6))
TWO = np.arange(N) % 2

SUPERVISED = [
    "variance_ratio",
    "supervised_alignment",
    "class_separation_ratio",
    "zscore_separation",
    "label_conditioned_split",
    "lda_stability",
    "lda_subspace_stability",
]
CALLS = {
    **{name: getattr(shesha, name) for name in SUPERVISED},
    **{f"shesha, {name}": lambda X, y, name=name: shesha.shesha(X, y, name) for name in SUPERVISED},
    **{f"estimate, {name}": lambda X, y, name=name: shesha.estimate(X, y, name) for name in SUPERVISED},
    **{f"chance, {name}": lambda X, y, name=name: shesha.estimate(X, y, name, n_bootstrap=0) for name in SUPERVISED},
}


def with_gap(fill, dtype=float):
    y = TWO.astype(dtype)
    y[[5, 7]] = fill
    return y


BAD = {
    "too few": (TWO[:-1], "y must have one label for each of the 24 rows, got 23"),
    "2-D": (np.column_stack([TWO, TWO]), r"y must be 1-D, one label per row, got shape \(24, 2\)"),
    "NaN": (with_gap(np.nan), "y must be free of NaN, got NaN or infinity in rows 5, 7"),
    "infinite": (with_gap(np.inf), "y must be free of NaN, got NaN or infinity in rows 5, 7"),
    "None among objects": (with_gap(None, object), "y must be free of missing labels, got none in rows 5, 7"),
    "NaN among objects": (with_gap(np.nan, object), "y must be free of missing labels, got none in rows 5, 7"),
    "one class": (np.zeros(N), "y must contain at least [23] classes, got 1"),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_are_no_labels_is_refused(name):
    for kind, (labels, message) in BAD.items():
        # Estimates leave rows without a label out, and count them.
        if not (name.startswith(("estimate", "chance")) and ("NaN" in kind or "None" in kind)):
            with pytest.raises(ValueError, match=message):
                CALLS[name](X, labels)


MISSING = {
    "no time": np.array(["2020-01-01", "NaT"] * 12, dtype="M8[D]"),
    "NA": pd.Series(["a", pd.NA] * 12, dtype="string"),
    "NA category": pd.Series(pd.Categorical(["a", None, "b", None] * 6)),
}


@pytest.mark.parametrize("kind", ["no time", "NA", "NA category"])
def test_missing_labels_of_any_kind_are_refused(kind):
    with pytest.raises(ValueError, match=r"y must be free of .* in rows 1, 3, 5, 7, 9 and 7 more"):
        shesha.variance_ratio(X, MISSING[kind])


@pytest.mark.parametrize("function", [shesha.shesha, shesha.estimate])
@pytest.mark.parametrize("name", SUPERVISED)
def test_a_supervised_score_without_labels_is_refused(function, name):
    with pytest.raises(ValueError, match=f"y must be given for the supervised variant '{name}', got None"):
        function(X, variant=name)


@pytest.mark.parametrize("name", [name for name in CALLS if name.endswith("label_conditioned_split")])
def test_classes_that_cannot_be_compared_across_halves_are_refused(name):
    with pytest.raises(ValueError, match="y must contain at least 3 classes, got 2"):
        CALLS[name](X, TWO)
    lonely = np.array(["a", "b", "c"])[np.arange(N) % 3]
    lonely[[1, 4]] = ["x", "y"]
    with pytest.raises(ValueError, match="y must give each class at least 2 rows, got one row of x, y"):
        CALLS[name](X, lonely)
