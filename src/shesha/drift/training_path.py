"""Record how far a model's representation moves during training: from the start, and between checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from shesha.kernels.distances import Metric
from shesha.results import DriftPath
from shesha.stability import drift_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Checkpoint:
    """How far the representation has moved at one step of a training."""

    step: int
    from_first: float
    from_previous: float

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values; loggers receive the entries of `scores`."""
        drifts = {"drift_from_first": self.from_first, "drift_from_previous": self.from_previous}
        return {"step": self.step, "scores": drifts}


class TrainingPath:
    """Records the drift of a representation during training, from the first record and from the previous one.

    Pass it to `shesha.drift.callbacks.check` in your own loop, or to `CanaryCallback` or `LightningCanary`. Only the
    first and the last array are kept. To test whether a *finished* model changed beyond noise, use `shesha.diff`.

    Parameters
    ----------
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 8))
    >>> path = TrainingPath()
    >>> for step in (0, 100, 200):
    ...     drift = path.record(step, X)
    ...     X = X + 0.3 * rng.standard_normal(X.shape)
    >>> drift.step, drift.from_first > drift.from_previous > 0
    (200, True)
    >>> path.result().names
    ('0', '100', '200')
    """

    def __init__(self, metric: Metric = "cosine") -> None:
        self._metric: Metric = metric
        self._ends: list[Any] = []
        self.checkpoints: list[Checkpoint] = []

    def record(self, step: int, rows: ArrayLike) -> Checkpoint:
        """Add the representation of the same inputs at a later step, and return how far it has moved.

        Parameters
        ----------
        step : int
            Number of optimiser steps so far.
        rows : array of shape (n_rows, n_features)
            At least four rows, of the same inputs in the same order each time.
        """
        if self.checkpoints and step <= self.checkpoints[-1].step:
            raise ValueError(f"step must be above {self.checkpoints[-1].step}, the last one, got {step}")
        first, last = (self._ends[0], self._ends[-1]) if self._ends else (rows, rows)
        path = drift_path({"first": first, "previous": last, f"step {step}": rows}, metric=self._metric)
        found = Checkpoint(int(step), path.from_first[-1], path.from_previous[-1])
        self._ends = [*self._ends[:1], _own(rows)]
        self.checkpoints.append(found)
        return found

    def result(self) -> DriftPath:
        """Return the drifts so far, which can be printed, plotted, saved and converted to a table."""
        if not self.checkpoints:
            raise ValueError("path must have at least one record, got none; call record() or a callback first")
        first, previous = ([getattr(one, name) for one in self.checkpoints] for name in ("from_first", "from_previous"))
        names = tuple(str(one.step) for one in self.checkpoints)
        known = [isfinite(a) and isfinite(b) for a, b in zip(first, previous, strict=True)]
        reasons = tuple("" if there else "all distances are equal" for there in known)
        return DriftPath(names, tuple(first), tuple(previous), "spearman", self._metric, reasons)

    def plot(self, ax: Axes | None = None, *, title: str = "") -> Axes:
        """Draw the drift from the first and from the previous record over the steps."""
        return self.result().plot(ax, title=title)


def _own(rows: Any) -> Any:
    """Return a copy, because the training may overwrite the array that the model returned."""
    return rows.clone() if hasattr(rows, "clone") else rows.copy() if hasattr(rows, "copy") else rows
