"""The augmentation test: compare models trained with different amounts of augmentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from shesha.support.types import Seed
from shesha_bench.tests._kinds import ByGroups

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.user_representations import Choices

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
