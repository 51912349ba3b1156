"""The six tests: what each claims, and each for models of your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from numpy.typing import ArrayLike

from shesha._types import Seed
from shesha.benchmark import outputs
from shesha.benchmark.own_models import Choices, Models, by_groups, by_layers, by_prediction
from shesha.benchmark.scoring import (
    BY_GROUPS,
    ScoreRow,
    pairs_groups,
    pairs_layers,
    pairs_prediction,
    score_groups,
    score_layers,
    score_prediction,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "TESTS",
    "BenchmarkTest",
    "ScoreRow",
    "accuracy_correlation",
    "augmentation",
    "label_randomization",
    "layer_monotonicity",
    "output_correlation",
    "pairs_groups",
    "pairs_layers",
    "pairs_prediction",
    "score_groups",
    "score_layers",
    "score_prediction",
    "shortcut_affinity",
]


@dataclass(frozen=True)
class BenchmarkTest:
    """One of the six tests."""

    name: str
    title: str
    grounding: Literal["prediction", "design"]
    claim: str
    """What a good measure does."""
    rows: tuple[str, ...]
    """The names of its results in tables."""
    qualities: tuple[str, ...]
    """The scores of each result."""


TESTS: tuple[BenchmarkTest, ...] = (
    BenchmarkTest(
        "accuracy",
        "Accuracy correlation",
        "prediction",
        "Models are the less similar the more their accuracies differ.",
        ("accuracy",),
        ("spearman",),
    ),
    BenchmarkTest(
        "output",
        "Output correlation",
        "prediction",
        "Models are the less similar the more their predictions differ.",
        ("jsd", "disagreement"),
        ("spearman",),
    ),
    BenchmarkTest(
        "label_randomization",
        "Label randomisation",
        "design",
        "Models trained on equally randomised labels are more similar than models trained on differently randomised.",
        ("label_randomization",),
        BY_GROUPS,
    ),
    BenchmarkTest(
        "shortcut",
        "Shortcut affinity",
        "design",
        "Models trained on equally strong shortcuts are more similar than models trained on different ones.",
        ("shortcut",),
        BY_GROUPS,
    ),
    BenchmarkTest(
        "augmentation",
        "Augmentation",
        "design",
        "Models trained on equally augmented data are more similar than models trained on differently augmented.",
        ("augmentation",),
        BY_GROUPS,
    ),
    BenchmarkTest(
        "layer_monotonicity",
        "Layer monotonicity",
        "design",
        "Layers of a model are the less similar the more layers lie between them.",
        ("layer_monotonicity",),
        ("conformity", "spearman"),
    ),
)


def accuracy_correlation(
    representations: Models, probabilities: Models, labels: ArrayLike, measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether models are the less similar the more their accuracies differ.

    Parameters
    ----------
    representations : sequence of arrays, or mapping of names to arrays
        One per model, of the same rows, as `compare_all` takes them; at least three models, better ten.
    probabilities : the same of arrays of shape (n_rows, n_classes)
        Each model's output, rows summing to one.
    labels : array of shape (n_rows,)
        The true class of each row: a column number.
    measures : str, measure or sequence of them
        As for `compare`.
    seed : int, Generator or None
        For measures that draw at random and for the p-values.

    Returns
    -------
    DataFrame
        One row per score: test, quality, measure, value (higher is better), p_value (NaN where there is none), n
        (pairs of models), dropped (those without a value), reason.

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

    def difference(p: ArrayLike, q: ArrayLike) -> float:
        return outputs.accuracy_difference(p, q, labels)

    return by_prediction(representations, probabilities, {"accuracy": difference}, measures, seed)


def output_correlation(
    representations: Models, probabilities: Models, measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether models are the less similar the more their outputs differ.

    Difference is the mean Jensen-Shannon divergence of the rows (`jsd`) and the share of rows with another most
    probable class (`disagreement`). Parameters and result are those of `accuracy_correlation`.
    """
    differences = {"jsd": outputs.jensen_shannon, "disagreement": outputs.disagreement}
    return by_prediction(representations, probabilities, differences, measures, seed)


def label_randomization(
    groups: Mapping[str, Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether models trained on equally randomised labels are closer to each other than to others.

    Parameters
    ----------
    groups : mapping of group name to sequence of arrays
        For each degree of randomisation the models' representations of the same rows. At least two groups; a group of
        one model leaves the scores NaN, with that reason.
    measures : str, measure or sequence of them
        As for `compare`.
    seed : int, Generator or None
        For measures that draw at random.

    Returns
    -------
    DataFrame
        Columns as for `accuracy_correlation`; `auprc` and `conformity` are means over the groups, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> clean, noisy = rng.standard_normal((2, 60, 5))
    >>> groups = {name: [X + 0.1 * rng.standard_normal(X.shape) for _ in range(3)]
    ...           for name, X in (("0 %", clean), ("100 %", noisy))}
    >>> label_randomization(groups, ["CKA"])[["quality", "measure", "value", "n"]]
          quality measure  value   n
    0       auprc     CKA    1.0  15
    1  conformity     CKA    1.0  15
    """
    return by_groups("label_randomization", groups, measures, seed)


def shortcut_affinity(
    groups: Mapping[str, Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether models trained on equally strong shortcuts are closer to each other than to others.

    Parameters and result are those of `label_randomization`.
    """
    return by_groups("shortcut", groups, measures, seed)


def augmentation(groups: Mapping[str, Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0) -> pd.DataFrame:
    """Test whether models trained on equally augmented data are closer to each other than to others.

    Parameters and result are those of `label_randomization`.
    """
    return by_groups("augmentation", groups, measures, seed)


def layer_monotonicity(
    models: Sequence[Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether layers are the less similar the more layers lie between them.

    Parameters
    ----------
    models : sequence of sequences of arrays
        For each model its layers from input to output, of the same rows; at least three layers.
    measures : str, measure or sequence of them
        As for `compare`.
    seed : int, Generator or None
        For measures that draw at random.

    Returns
    -------
    DataFrame
        Columns as for `accuracy_correlation`, but `n` and `dropped` count models. Means over the models of
        `conformity` (0 to 1: triples of layers in order), `spearman` (-1 to 1: mean over the layers of a model, as in
        the published tables) and `spearman_pooled` (-1 to 1: over all pairs of layers at once).

    Examples
    --------
    >>> import numpy as np
    >>> steps = np.random.default_rng(0).standard_normal((4, 50, 6))
    >>> layer_monotonicity([steps.cumsum(axis=0)], ["CKA"])[["quality", "measure", "value"]].round(2)
               quality measure  value
    0       conformity     CKA   1.00
    1         spearman     CKA   1.00
    2  spearman_pooled     CKA   0.77
    """
    return by_layers(models, measures, seed)
