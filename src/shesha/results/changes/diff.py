"""The result of `shesha.diff`: the change of each layer compared with the noise floor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from shesha.report import Page
from shesha.results.base import Result
from shesha.results.changes.index_verdict import IndexChange
from shesha.results.changes.kind_of_change import ClassChange, SeparationChange, StructureChange
from shesha.results.changes.row_map import RowMap
from shesha.results.plot_docstring import draws_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Verdict = Literal["unchanged", "within noise", "changed", "replaced", "not estimable"]

ENOUGH = 19
"""Smallest number of pairs of encodings of the unchanged model for which their largest difference is the noise limit.
With fewer pairs, the limit is twice that difference."""
LEVEL = 0.05
"""Significance level for the corrected p-values of class distances."""


@dataclass(frozen=True)
class MeasureChange(Result):
    """The change of one layer by one measure."""

    measure: str
    change: float
    """Change by the measure. For RDM drift: 0 for the same geometry, about 1 for an unrelated one. NaN if unknown."""
    low: float
    """Lower end of the interval of the change, for other rows of the same kind."""
    high: float
    noise: float
    """Largest difference between encodings of an unchanged model; NaN without such encodings."""
    reason: str = ""
    """Reason for a missing value or interval."""


@dataclass(frozen=True)
class LayerChange(Result):
    """One layer before and after."""

    name: str
    other: str
    """Name of the layer after the change."""
    verdict: Verdict
    change: float
    """Change by the first measure (RDM drift): 0 for the same geometry, about 1 for an unrelated one."""
    low: float
    """Lower end of the interval of the change."""
    high: float
    noise: float
    """Largest difference between encodings of an unchanged model."""
    limit: float
    """Noise limit. The change exceeds noise if the lower end of its interval is above this limit."""
    scores: tuple[MeasureChange, ...] = ()

    def __getitem__(self, measure: str) -> MeasureChange:
        """Return the change by a measure; a name without options is enough."""
        for score in self.scores:
            if measure in (score.measure, score.measure.partition("(")[0]):
                return score
        raise KeyError(f"measure must be one of {', '.join(score.measure for score in self.scores)}, got {measure!r}")

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the layer changed by more than noise."""
        return self.verdict in ("changed", "replaced")

    @property
    def reason(self) -> str:
        """Reason for a missing value or interval."""
        return self.scores[0].reason if self.scores else ""


@dataclass(frozen=True)
class MovedRow(Result):
    """A row, and the share of neighbours that it lost."""

    row: int
    """Row number in the input."""
    name: str
    """Text or name of the row, or its number."""
    neighbours_lost: float
    """Share of the row's nearest neighbours that changed."""
    movement: float
    """1 minus the correlation of the row's distances to all other rows before and after the change."""
    noise: float
    """Largest share of neighbours lost in an encoding of the unchanged model; NaN without such encodings."""
    label: str = ""


@dataclass(frozen=True)
class Diff(Result):
    """Layers before and after a change, with the rows that moved most."""

    before: str
    after: str
    layers: dict[str, LayerChange]
    """Layers in the order of the model."""
    moved: tuple[MovedRow, ...]
    """The rows that moved most in `moved_layer`."""
    moved_layer: str
    n_rows: int
    n_scored: int
    """Number of rows from which changes and intervals are computed; a random sample if there are many rows."""
    noise_source: str
    """Source of the noise floor."""
    n_noise: int
    """Number of pairs of encodings of the unchanged model."""
    k: int
    """Number of neighbours per row."""
    notes: tuple[str, ...] = ()
    seed: int | None = None
    index: IndexChange | None = None
    """Verdict on keeping an index of old vectors; None if it was not requested."""
    structure: StructureChange | None = None
    """Kind of change in `moved_layer`."""
    classes: tuple[ClassChange, ...] = ()
    """Changes of the distances between classes in `moved_layer`, smallest p-values first."""
    separation: SeparationChange | None = None
    """Held-out accuracy of classifying the rows before and after the change."""
    lost_by_class: dict[str, float] = field(default_factory=dict)
    """Mean share of nearest neighbours that the rows of each class lost in `moved_layer`, the largest first."""
    row_map: RowMap | None = None
    """Map of the rows of `moved_layer` before and after; None if it was not requested."""

    def __iter__(self) -> Iterator[LayerChange]:
        """Iterate over the layers."""
        return iter(self.layers.values())

    def __getitem__(self, name: str) -> LayerChange:
        """Return a layer."""
        if name not in self.layers:
            raise KeyError(f"name must be one of {', '.join(self.layers)}, got {name!r}")
        return self.layers[name]

    @property
    def changed(self) -> list[str]:
        """The layers that changed by more than noise, in the order of the model."""
        return [name for name, layer in self.layers.items() if layer.is_beyond_noise]

    @property
    def rows(self) -> pd.DataFrame:
        """Return a table of the rows that moved most."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.moved])

    def to_frame(self) -> pd.DataFrame:
        """Return a line per layer and measure."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"layer": layer.name, "after": layer.other, "verdict": layer.verdict, **score.to_dict()}
                for layer in self
                for score in layer.scores
            ]
        )

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the change of each layer over depth, with the noise floor."""
        from shesha.charts import depth_profile

        layers = list(self)
        return depth_profile(
            [layer.name for layer in layers],
            [layer.change for layer in layers],
            ([layer.low for layer in layers], [layer.high for layer in layers]),
            [layer.limit for layer in layers],
            label=layers[0].scores[0].measure if layers and layers[0].scores else "change",
            ax=ax,
        )

    @property
    def headline(self) -> str:
        """The answer: which layers changed, where the change begins, and whether it exceeds noise."""
        from shesha.results.changes.sentences import headline

        return headline(self)

    def _page(self) -> Page:
        from shesha.results.changes.diff_page import diff_page

        return diff_page(self)

    def __str__(self) -> str:
        """Print the headline, one line per layer, the rows that moved most, and notes."""
        from shesha.results.changes.diff_text import diff_text

        return diff_text(self)
