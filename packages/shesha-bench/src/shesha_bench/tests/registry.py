"""The registry of tests, which contains the benchmark's six tests and those that you register."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from numpy.typing import ArrayLike

from shesha.support import types as kinds, wording
from shesha.support.types import Seed
from shesha_bench.catalogue import add_kind, import_from_here, is_place
from shesha_bench.scores import accuracy_difference, disagreement, jensen_shannon
from shesha_bench.tests.kinds import BenchmarkTest, ByGroups, ByLayers, ByPrediction, Output

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.tests.kinds import Choices, Models


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


def _divergence(a: Output, b: Output) -> float:
    return jensen_shannon(a.probabilities, b.probabilities)


def _disagreement(a: Output, b: Output) -> float:
    return disagreement(a.probabilities, b.probabilities)


OUTPUT = ByPrediction(
    name="output",
    title="Output correlation",
    claim="Models are less similar the more their predictions differ.",
    rows=("jsd", "disagreement"),
    # Ranks exclude the divergence, which would count the test twice.
    counts={"disagreement": "spearman"},
    differences={"jsd": _divergence, "disagreement": _disagreement},
)


def output_correlation(
    representations: Models, probabilities: Models, measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether models are less similar the more their outputs differ.

    Outputs are compared in two ways: by the Jensen-Shannon divergence averaged over rows (`jsd`), and by the share of
    rows for which the most probable classes differ (`disagreement`). The parameters (except `labels`) and the result
    are those of `accuracy_correlation`.
    """
    return OUTPUT.score_arrays(representations, probabilities, measures, seed)


LABEL_RANDOMIZATION = ByGroups(
    name="label_randomization",
    title="Label randomisation",
    claim="Models trained on equally randomised labels are more similar than models trained on differently randomised "
    "labels.",
    rows=("label_randomization",),
    counts={"label_randomization": "auprc"},
    kind="labels",
)


def label_randomization(
    groups: Mapping[str, Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether models trained on equally randomised labels are closer to each other than to others.

    Parameters
    ----------
    groups : mapping of group name to sequence of arrays
        For each degree of randomisation, the representations of its models, all with the same rows. At least two groups
        are needed. If a group has only one model, the scores are NaN and the column `reason` says why.
    measures : str, measure or sequence of them
        As for `compare`.
    seed : int, Generator or None
        Seed for measures that draw randomly.

    Returns
    -------
    DataFrame
        Columns as for `accuracy_correlation`. The scores `auprc` and `conformity` are means over the groups, from 0
        to 1.

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
    return LABEL_RANDOMIZATION.score_arrays(groups, measures, seed)


SHORTCUT = ByGroups(
    name="shortcut",
    title="Shortcut affinity",
    claim="Models trained on equally strong shortcuts are more similar than models trained on shortcuts of other "
    "strengths.",
    rows=("shortcut",),
    counts={"shortcut": "auprc"},
    kind="shortcut",
    # Shortcuts without information are still a feature that models of the standard training lack.
    zero_is_standard=False,
)


def shortcut_affinity(
    groups: Mapping[str, Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether models trained on equally strong shortcuts are closer to each other than to others.

    The parameters and the result are those of `label_randomization`.
    """
    return SHORTCUT.score_arrays(groups, measures, seed)


AUGMENTATION = ByGroups(
    name="augmentation",
    title="Augmentation",
    claim="Models trained on equally augmented data are more similar than models trained on differently augmented "
    "data.",
    rows=("augmentation",),
    counts={"augmentation": "auprc"},
    kind="augmentation",
)


def augmentation(groups: Mapping[str, Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0) -> pd.DataFrame:
    """Test whether models trained on equally augmented data are closer to each other than to others.

    The parameters and the result are those of `label_randomization`.
    """
    return AUGMENTATION.score_arrays(groups, measures, seed)


LAYER_MONOTONICITY = ByLayers(
    name="layer_monotonicity",
    title="Layer monotonicity",
    claim="Layers of a model are less similar the more layers lie between them.",
    rows=("layer_monotonicity",),
    counts={"layer_monotonicity": "conformity"},
)


def layer_monotonicity(
    models: Sequence[Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether layers are less similar the more layers lie between them.

    Parameters
    ----------
    models : sequence of sequences of arrays
        The layers of each model from input to output, at least three, all with the same rows.
    measures : str, measure or sequence of them
        As for `compare`.
    seed : int, Generator or None
        Seed for measures that draw randomly.

    Returns
    -------
    DataFrame
        Columns as for `accuracy_correlation`, except that `n` and `dropped` count models. Scores are averaged over
        models: `conformity` (0 to 1, share of the triples of layers that have the expected order), `spearman` (-1 to 1,
        averaged over the layers of a model, as in the published tables) and `spearman_pooled` (-1 to 1, from all pairs
        of layers at once).

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
    return LAYER_MONOTONICITY.score_arrays(models, measures, seed)


Test = TypeVar("Test", bound=BenchmarkTest)
ENTRY_POINTS = "shesha.benchmark.tests"
TESTS: tuple[BenchmarkTest, ...] = (
    ACCURACY,
    OUTPUT,
    LABEL_RANDOMIZATION,
    SHORTCUT,
    AUGMENTATION,
    LAYER_MONOTONICITY,
)
"""The benchmark's six tests, in the order in which tables and pages list them."""
_known: dict[str, BenchmarkTest] = {one.name: one for one in TESTS}


def register(test: Test) -> Test:
    """Register your own test for use in suites, tables, ranks and reports, and return it.

    It replaces a test that was registered earlier under the same name.

    Raises
    ------
    TypeError
        If `test` is not a `BenchmarkTest`.
    ValueError
        If one of the benchmark's six tests has the same name, if another test has a result of the same name or uses the
        same name for a different output difference, or if `counts` names a result or score that the test does not have.
    """
    if not isinstance(test, BenchmarkTest):
        raise TypeError(f"test must be a BenchmarkTest, got {type(test).__name__}")
    if test.name in [other.name for other in TESTS]:
        raise ValueError(f"name must not be that of a test of the benchmark, got {test.name!r}")
    others = [other for other in _known.values() if other.name != test.name]
    taken = [row for row in test.rows if any(row in other.rows for other in others)]
    if taken:
        raise ValueError(f"rows must not be names of another test, got {', '.join(taken)}")
    for kind, difference in test.differences.items():
        if any(other.differences.get(kind, difference) is not difference for other in others):
            raise ValueError(f"differences must not have names of differences of another test, got {kind!r}")
    for row, quality in test.counts.items():
        if row not in test.rows or quality not in test.qualities:
            raise ValueError(f"counts must name rows and qualities of {test.name}, got {quality} of {row}")
    if isinstance(test, ByGroups):
        add_kind(test.kind)
    _known[test.name] = test
    return test


def all_tests() -> tuple[BenchmarkTest, ...]:
    """Return the benchmark's six tests and all registered ones."""
    load_entry_points()
    return tuple(_known.values())


def find(test: str | BenchmarkTest) -> BenchmarkTest:
    """Return the test with a name, given in any case and with any separators, or as module:name.

    Raises
    ------
    ValueError
        If the name is unknown; the message suggests similar names.
    """
    if isinstance(test, BenchmarkTest):
        return test if _known.get(test.name) is test else register(test)
    if is_place(test):
        return find(_import_test(test))
    plain = {entry.name.replace("_", ""): entry for entry in all_tests()}
    result = plain.get(kinds.text(test, "test").casefold().replace("_", "").replace("-", "").replace(" ", ""))
    if result is None:
        names = [entry.name for entry in all_tests()]
        raise wording.unknown(test, "test", names, wording.close_names(test, names, cutoff=0.4))
    return result


def ranking_scores() -> dict[str, str]:
    """Return the results that count towards ranks, each with the name of the score that counts."""
    return {row: quality for test in all_tests() for row, quality in test.counts.items()}


def main_qualities() -> dict[str, str]:
    """Return the name of the main score for each result."""
    return {row: test.counts.get(row, test.qualities[0]) for test in all_tests() for row in test.rows}


def _import_test(place: str) -> BenchmarkTest:
    test = import_from_here(place, "test")
    if not isinstance(test, BenchmarkTest):
        raise TypeError(f"test must be a BenchmarkTest, got {place!r}, which is {type(test).__name__}")
    return test


@cache
def load_entry_points() -> None:
    """Import the tests of other packages, with a warning for each that cannot be imported."""
    from importlib.metadata import entry_points

    from shesha.support.warnings import MeasureWarning, warn

    for point in entry_points(group=ENTRY_POINTS):
        try:
            register(point.load())
        except Exception as error:  # An error of another package must not break this library.
            warn(f"test {point.name} of {point.value} could not be loaded: {error!r}", MeasureWarning)
