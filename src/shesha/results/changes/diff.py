"""The result of `shesha.diff`: how much each layer changed, compared with the noise floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from shesha.report import Page
from shesha.results.base import Result, draws_axes
from shesha.results.changes.kind_of_change import ClassChange, SeparationChange, StructureChange
from shesha.results.changes.row_map import RowMap
from shesha.results.changes.vector_index_verdict import IndexChange
from shesha.results.number import Number, frame_of_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Verdict = Literal["unchanged", "within noise", "cannot decide", "changed", "replaced", "not estimable"]

ENOUGH = 19
"""Number of pairs of encodings by the unchanged model from which their largest difference serves as the noise limit. If
there are fewer pairs, the limit is twice that difference."""


@dataclass(frozen=True, kw_only=True)
class MeasureChange(Number):
    """How much one layer changed according to one measure."""

    noise: float
    """Largest difference between encodings by an unchanged model; NaN without such encodings."""
    label: str = ""
    """What the change is called, such as '1 - CKA' for the measure CKA."""

    @property
    def title(self) -> str:
        """What the change is called."""
        return self.label or self.name.partition("(")[0]


@dataclass(frozen=True, kw_only=True)
class LayerChange(Result):
    """One layer before and after the change of the model."""

    name: str
    other: str
    """Name that the layer has after the change."""
    verdict: Verdict
    value: float
    """Change according to the first measure (RDM drift): 0 for the same geometry, about 1 for an unrelated one."""
    low: float
    """Lower end of the interval of the change."""
    high: float
    noise: float
    """Largest difference between encodings by an unchanged model."""
    limit: float
    """Noise limit. The change exceeds the noise if the lower end of its interval is above this limit."""
    scores: tuple[MeasureChange, ...] = ()
    replaced_above: float = 0.5
    """A layer is replaced if the lower end of its interval is above this value: half the drift of unrelated rows."""
    vectors_differ: bool = False
    """Whether the vectors themselves differ by more than noise, as after a rotation, which keeps the geometry."""
    reason: str = ""
    """Why a value or an interval is missing; empty if none is."""
    floors: dict[str, float] = field(default_factory=dict)
    """Largest difference by kind of noise: re-encodings, further runs of the same change, or simulated noise."""

    def __getitem__(self, measure: str) -> MeasureChange:
        """Return the change according to a measure, whose name can be given without options."""
        for score in self.scores:
            if measure in (score.name, score.name.partition("(")[0]):
                return score
        raise KeyError(f"measure must be one of {', '.join(score.name for score in self.scores)}, got {measure!r}")

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the layer changed by more than the noise."""
        return self.verdict in ("changed", "replaced")


@dataclass(frozen=True)
class MovedRow(Result):
    """A row, and the share of its nearest neighbours that it lost."""

    row: int
    """Number of the row in the input."""
    name: str
    """Text or name of the row, or else its number."""
    neighbours_lost: float
    """Share of the row's nearest neighbours that changed."""
    movement: float
    """1 minus the correlation of the row's distances to all other rows before and after the change."""
    noise: float
    """Largest share of neighbours that the row lost in an encoding by the unchanged model; NaN without such encodings.
    """
    label: str = ""


@dataclass(frozen=True)
class Diff(Result):
    """Layers before and after a change, with the rows that moved most."""

    before: str
    after: str
    layers: dict[str, LayerChange]
    """The layers, in their order in the model."""
    moved: tuple[MovedRow, ...]
    """The rows that moved most in `moved_layer`."""
    moved_layer: str
    n_rows: int
    n_scored: int
    """Number of rows from which changes and intervals were computed; these are a random sample if there are many rows.
    """
    noise_source: str
    """How the noise floor was obtained."""
    n_noise: int
    """Number of pairs of encodings by the unchanged model."""
    k: int
    """Number of nearest neighbours that are examined for each row."""
    notes: tuple[str, ...] = ()
    seed: int | None = None
    index: IndexChange | None = None
    """Whether an index of old vectors can be kept; None if this was not requested."""
    structure: StructureChange | None = None
    """Kind of change that occurred in `moved_layer`."""
    classes: tuple[ClassChange, ...] = ()
    """Changes of the distances between classes in `moved_layer`, sorted by increasing p-value."""
    separation: SeparationChange | None = None
    """Held-out accuracy with which rows are classified before and after the change."""
    lost_by_class: dict[str, float] = field(default_factory=dict)
    """Mean share of nearest neighbours that the rows of each class lost in `moved_layer`, in decreasing order."""
    row_map: RowMap | None = None
    """Map of the rows of `moved_layer` before and after the change; None if it was not requested."""
    confidence: float = 0.95
    """Confidence level of the intervals; movements of classes are tested at 1 minus this level."""
    n_layers: int = 0
    """Number of layers of the side that has more; those without a counterpart were not compared."""

    def __iter__(self) -> Iterator[LayerChange]:
        """Iterate over the layers."""
        return iter(self.layers.values())

    def __getitem__(self, name: str) -> LayerChange:
        """Return the layer with this name."""
        if name not in self.layers:
            raise KeyError(f"name must be one of {', '.join(self.layers)}, got {name!r}")
        return self.layers[name]

    @property
    def changed(self) -> list[str]:
        """The layers that changed by more than the noise, in the order of the model."""
        return [name for name, layer in self.layers.items() if layer.is_beyond_noise]

    @property
    def rows(self) -> pd.DataFrame:
        """Return the rows that moved most as a table."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.moved])

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table with one row per layer and measure."""
        lines = [(layer, score) for layer in self for score in layer.scores]
        lead: dict[str, Sequence[Any]] = {
            "layer": [layer.name for layer, _ in lines],
            "after": [layer.other for layer, _ in lines],
            "verdict": [layer.verdict for layer, _ in lines],
            "name": [score.name for _, score in lines],
            "noise": [score.noise for _, score in lines],
        }
        return frame_of_numbers([score for _, score in lines], full=full, lead=lead)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw how much each layer changed against its depth, with the noise floor."""
        from shesha.charts import depth_profile

        layers = list(self)
        return depth_profile(
            [layer.name for layer in layers],
            [layer.value for layer in layers],
            ([layer.low for layer in layers], [layer.high for layer in layers]),
            [layer.limit for layer in layers],
            label=layers[0].scores[0].title if layers and layers[0].scores else "change",
            ax=ax,
        )

    @property
    def headline(self) -> str:
        """The answer: which layers changed, where the change begins, and whether it exceeds the noise."""
        from shesha.results.changes.diff_report import headline

        return headline(self)

    def _page(self) -> Page:
        from shesha.results.changes.diff_report import diff_page

        return diff_page(self)
