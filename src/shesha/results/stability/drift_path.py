"""How representations drift along a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.charts import curves
from shesha.report import columns
from shesha.results.base import Result
from shesha.results.plot_docstring import draws_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class DriftPath(Result):
    """How far each representation in a sequence has drifted."""

    ALIGNED = (("names", "from_first", "from_previous"),)

    names: tuple[str, ...]
    from_first: tuple[float, ...]
    from_previous: tuple[float, ...]
    method: str
    metric: str
    reasons: tuple[str, ...] = ()
    """For each representation, why its drift is missing; an empty text if the drift is known."""

    @property
    def headline(self) -> str:
        """Which representation has drifted farthest from the first."""
        known = [(value, name) for value, name in zip(self.from_first, self.names, strict=True) if value == value]
        if not known:
            return "Drift could not be estimated for any representation."
        value, name = max(known)
        return f"Largest drift from {self.names[0]}: {value:.3f} ({name}). 0 means the same geometry, 1 unrelated."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per representation."""
        import pandas as pd

        return pd.DataFrame(
            {"representation": self.names, "from_first": self.from_first, "from_previous": self.from_previous}
        )

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the drift from the first and from the previous representation along the sequence."""
        values = {"from the first": self.from_first, "from the previous": self.from_previous}
        ax = curves(range(len(self.names)), values, labels=("", "drift (0 = same geometry)"), ax=ax)
        ax.set_xticks(range(len(self.names)), self.names, rotation=40, ha="right")
        return ax

    def _text(self) -> str:
        """Return a text with one line per representation."""
        reasons = self.reasons or ("",) * len(self.names)
        rows = [["", "from first", "from prev.", ""]]
        for name, first, previous, reason in zip(self.names, self.from_first, self.from_previous, reasons, strict=True):
            rows.append([name, f"{first:.4f}", f"{previous:.4f}", f"({reason})" if reason else ""])
        return "\n".join(columns(rows, "<>><"))
