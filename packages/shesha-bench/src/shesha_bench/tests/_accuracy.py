"""The accuracy test: does similarity decrease as accuracies differ more?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from shesha.support.types import Seed
from shesha_bench.output_differences import accuracy_difference
from shesha_bench.tests._base import Output
from shesha_bench.tests._kinds import ByPrediction

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.user_representations import Choices, Models


def _difference(a: Output, b: Output) -> float:
    if a.labels is None:
        raise ValueError("labels must be given for the accuracy test, got none")
    return accuracy_difference(a.probabilities, b.probabilities, a.labels)


ACCURACY = ByPrediction(
    name="accuracy",
    title="Accuracy correlation",
    claim="Models are less similar the more their accuracies differ.",
    rows=("accuracy",),
    counts={"accuracy": "spearman"},
    differences={"accuracy": _difference},
)


def accuracy_correlation(
    representations: Models, probabilities: Models, labels: ArrayLike, measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether models are less similar the more their accuracies differ.

    Parameters
    ----------
    representations : sequence of arrays, or mapping of names to arrays
        One representation per model, all with the same rows, as for `compare_all`. At least three models are needed;
        ten are better.
    probabilities : sequence of arrays, or mapping of names to arrays, of shape (n_rows, n_classes)
        Output probabilities of each model; each row sums to one.
    labels : array of shape (n_rows,)
        The true class of each row, as a column number.
    measures : str, measure or sequence of them
        As for `compare`.
    seed : int, Generator or None
        Seed for measures that draw randomly and for the p-values.

    Returns
    -------
    DataFrame
        One row per score, with the columns test, quality, measure, value (higher is better), p_value (NaN if not
        available), n (number of model pairs), dropped (number of pairs without a value) and reason.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, labels = rng.standard_normal((60, 5)), rng.integers(0, 2, 60)
    >>> wrong = [rng.random(60) < share for share in (0.1, 0.2, 0.3, 0.4)]
    >>> probabilities = [np.eye(2)[np.where(flip, 1 - labels, labels)] for flip in wrong]
    >>> models = [X + 4 * share * rng.standard_normal(X.shape) for share in (0.1, 0.2, 0.3, 0.4)]
    >>> accuracy_correlation(models, probabilities, labels, ["CKA"])[["test", "quality", "measure", "n"]]
           test   quality measure  n
    0  accuracy  spearman     CKA  6
    """

    return ACCURACY.score_arrays(representations, probabilities, measures, seed, labels=labels)
