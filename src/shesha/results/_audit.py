"""What an audit found: faults of the data, stability, spectrum, agreement with labels, drift."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shesha.results._audit_text import named, render
from shesha.results._base import Result
from shesha.results._chance import Chance
from shesha.results._drift import DriftPath
from shesha.results._estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Faults(Result):
    """What is wrong with the numbers of a representation; row and column numbers count from 0."""

    not_finite: int = 0
    """Entries that are NaN or infinite."""
    not_finite_rows: tuple[int, ...] = ()
    zero_rows: tuple[int, ...] = ()
    duplicate_rows: tuple[int, ...] = ()
    """Rows that repeat an earlier one exactly."""
    constant_columns: tuple[int, ...] = ()

    def lines(self) -> list[str]:
        """Describe each fault: how many, and which."""
        found = [
            (f"NaN or infinite entries: {self.not_finite:,}, in rows", self.not_finite_rows),
            (f"zero rows: {len(self.zero_rows):,}, rows", self.zero_rows),
            (f"rows that repeat an earlier one: {len(self.duplicate_rows):,}, rows", self.duplicate_rows),
            (f"constant columns: {len(self.constant_columns):,}, columns", self.constant_columns),
        ]
        return [f"{text} {named(where)}" for text, where in found if where]


@dataclass(frozen=True)
class RepresentationAudit(Result):
    """The findings about one representation."""

    name: str
    n_samples: int
    n_features: int
    faults: Faults
    left_out: tuple[int, ...] = ()
    """Rows without a direction under the metric, which were not scored."""
    feature_split: Estimate | None = None
    chance: Chance | None = None
    basis_averaged_split: Estimate | None = None
    effective_rank: float = float("nan")
    participation_ratio: float = float("nan")
    anisotropy: float = float("nan")
    supervised: dict[str, Estimate] = field(default_factory=dict)
    reason: str = ""
    """Why there are no scores."""

    @property
    def n_used(self) -> int:
        """Rows that were scored: all but those left out, or none."""
        return 0 if self.reason else self.n_samples - len(self.left_out)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row."""
        import pandas as pd

        return pd.DataFrame([self.row()])

    def row(self) -> dict[str, Any]:
        """Return the findings as one flat record."""
        flat: dict[str, Any] = {
            "representation": self.name,
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "n_used": self.n_used,
            "not_finite": self.faults.not_finite,
            "zero_rows": len(self.faults.zero_rows),
            "duplicate_rows": len(self.faults.duplicate_rows),
            "constant_columns": len(self.faults.constant_columns),
        }
        estimates = {"feature_split": self.feature_split, "basis_averaged_split": self.basis_averaged_split}
        for name, found in {**estimates, **self.supervised}.items():
            for part in ("value", "low", "high"):
                column = name if part == "value" else f"{name}_{part}"
                flat[column] = float("nan") if found is None else getattr(found, part)
        flat["chance_level"] = self.chance.level if self.chance else float("nan")
        flat["chance_threshold"] = self.chance.threshold if self.chance else float("nan")
        flat["p_value"] = self.chance.p_value if self.chance else float("nan")
        for name in ("effective_rank", "participation_ratio", "anisotropy", "reason"):
            flat[name] = getattr(self, name)
        return flat


@dataclass(frozen=True)
class Audit(Result):
    """The findings about one or several representations of the same inputs."""

    representations: tuple[RepresentationAudit, ...]
    drift: DriftPath | None = None
    drift_reason: str = ""
    """Why there is no drift although there are several representations."""
    options: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> RepresentationAudit:
        """Return the findings about the representation of this name."""
        for found in self.representations:
            if found.name == name:
                return found
        raise KeyError(f"name must be one of {', '.join(found.name for found in self.representations)}, got {name!r}")

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names from the most to the least stable (feature split); those without a score are left out."""
        scored = [
            found
            for found in self.representations
            if found.feature_split and found.feature_split.value == found.feature_split.value
        ]
        return tuple(found.name for found in sorted(scored, key=lambda found: -_value(found.feature_split)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per representation, drift included."""
        import pandas as pd

        table = pd.DataFrame([found.row() for found in self.representations])
        if self.drift is not None:
            table["drift_from_first"] = self.drift.from_first
            table["drift_from_previous"] = self.drift.from_previous
        return table

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both split scores with their intervals and the chance threshold, in the order given.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from shesha.results._audit_plot import draw

        return draw(self, ax)

    def __str__(self) -> str:
        """Print the findings, each with what it means and what it does not."""
        return render(self)


def _value(found: Estimate | None) -> float:
    return float("nan") if found is None else found.value
