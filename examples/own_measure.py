"""A measure of one's own: ten lines, and it stands in compare, in `shesha measures` and in the generated tests."""

import numpy as np

import shesha
from shesha.measures import card, get, measure
from shesha.views import Features


@measure(
    "column cosine",
    view=Features,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("scaling", "translation"),
    family="matching",
    cost="n d",
    formula="mean_j cos(x_j, y_j), columns centred",
    reference="this file",
    equal_widths=True,
    self_value=1.0,
)
def column_cosine(a: Features, b: Features) -> float:
    """Mean correlation of corresponding columns."""
    return float((a.standardised[0] * b.standardised[0]).sum(axis=0).mean())


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 16))
    print(shesha.compare(X, X + rng.standard_normal(X.shape), [column_cosine, "CKA", "mutual kNN"]), end="\n\n")
    print(shesha.calibrate(X, X + rng.standard_normal(X.shape), column_cosine, seed=0), end="\n\n")
    print(card(get("column cosine")))
