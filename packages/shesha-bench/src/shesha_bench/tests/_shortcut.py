"""The shortcut test: compare models trained on artificial features that leak the label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from shesha.support.types import Seed
from shesha_bench.tests._kinds import ByGroups

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.user_representations import Choices

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
