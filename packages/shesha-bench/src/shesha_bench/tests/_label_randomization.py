"""The label randomisation test: compare models trained on partly random labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from shesha.support.types import Seed
from shesha_bench.tests._kinds import ByGroups

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.user_representations import Choices

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
