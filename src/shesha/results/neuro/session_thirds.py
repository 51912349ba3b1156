"""The result of comparing the first, middle and last third of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.results.base import Result
from shesha.results.neuro.trial_score import TrialScore
from shesha.results.plot_docstring import draws_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Tertiles(Result):
    """Cosines between the mean responses in the thirds of a session."""

    early_middle: TrialScore
    middle_late: TrialScore
    difference: TrialScore
    """`early_middle` minus `middle_late`, which is positive if the change occurs late."""

    @property
    def gradual(self) -> bool:
        """Whether the two steps do not differ significantly."""
        return not self.difference.significant

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per step, and one for their difference."""
        import pandas as pd

        columns = ("name", "observed", "null_mean", "null_sd", "p_value", "n_permutations")
        parts = (self.early_middle, self.middle_late, self.difference)
        return pd.DataFrame([{name: getattr(part, name) for name in columns} for part in parts])

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the null distribution of the difference with the observed value."""
        return self.difference.plot(ax)

    def _text(self) -> str:
        """Return a text with the three numbers."""
        return "\n".join(str(part) for part in (self.early_middle, self.middle_late, self.difference))
