"""Rows as points in a plane, for one representation or for two shown side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Columns, Item, Page, PointMap, Section, Table
from shesha.results.base import Result, draws_axes
from shesha.results.generic_page import run_details

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_LISTED = 50
"""Most rows in the table of rows that moved most."""
_MOST = 0.5
"""Share of the squared distances from which a plane is said to show most of the geometry."""


@dataclass(frozen=True)
class RowMap(Result):
    """Rows as points in a plane, for one representation or for two representations of the same inputs."""

    coordinates: dict[str, tuple[tuple[float, float], ...]]
    """Coordinates of the rows in each representation's plane; the second plane is rotated to match the first."""
    row_names: tuple[str, ...]
    labels: tuple[str, ...]
    """The label of each row; empty if there are no labels."""
    rows: tuple[int, ...]
    """Numbers of the rows in the input."""
    held: dict[str, float]
    """For each representation, the share of the squared distances between rows that its plane shows."""
    trustworthiness: dict[str, float]
    """For each representation: 1 if rows that are near in the plane are near in the data, about 0.5 for a random plane.
    """
    neighbours_lost: tuple[float, ...]
    """For each row, the share of its nearest neighbours that differ in the second representation; empty without one."""
    k: int
    """Number of nearest neighbours that are examined for each row."""
    metric: str
    n_rows: int
    """Number of rows in the input."""
    notes: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def moved(self) -> tuple[int, ...]:
        """Positions of the rows by decreasing loss of neighbours; in the given order without a second plane."""
        if not self.neighbours_lost:
            return tuple(range(len(self.row_names)))
        return tuple(sorted(range(len(self.row_names)), key=lambda i: -self.neighbours_lost[i]))

    @property
    def headline(self) -> str:
        """How much of the geometry the plane shows, and what share of their neighbours the rows keep."""
        (first, first_share), *rest = self.held.items()
        shares = f"{first_share:.0%} of the squared distances of {first}"
        shares += "".join(f" and {share:.0%} of {name}" for name, share in rest)
        least = min(self.held.values())
        warning = "" if least >= _MOST else ", so most of the geometry is not in the picture"
        kept = ""
        if self.neighbours_lost:
            lost = sum(self.neighbours_lost) / len(self.neighbours_lost)
            kept = f"Rows keep {1 - lost:.0%} of their {self.k} nearest neighbours. "
        return f"{kept}Two dimensions show {shares}{warning}."

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table with one line per row: its name, label, points and lost share of neighbours."""
        import pandas as pd

        columns: dict[str, object] = {"row": self.rows, "name": self.row_names}
        if self.labels:
            columns["label"] = self.labels
        for name, points in self.coordinates.items():
            columns |= {f"{name} {axis}": [point[i] for point in points] for i, axis in enumerate("xy")}
        if self.neighbours_lost:
            columns["neighbours_lost"] = self.neighbours_lost
        return pd.DataFrame(columns)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the rows; if there are two representations, lines follow the rows that moved most."""
        from shesha.charts import row_map

        return row_map(list(self.coordinates.values()), self.labels, self.moved, list(self.coordinates), ax=ax)

    def _page(self) -> Page:
        names = tuple(self.coordinates)
        notes = tuple(f"({self.held[name]:.0%} of its squared distances)" for name in names)
        points = PointMap(
            names,
            notes,
            planes=tuple(self.coordinates.values()),
            rows=self.row_names,
            labels=self.labels,
            moved=self.neighbours_lost,
            order=self.moved,
        )
        return Page(
            title=f"Map of the rows: {' and '.join(names)}",
            question="Which rows are similar, and which moved?" if len(names) > 1 else "Which rows are similar?",
            answer=(self.headline,),
            doubts=tuple(map(Item, self.notes)),
            sections=(
                Section("Map", (points,), _MEANS),
                Section("How far to trust the map", (self._trust(),), _TRUST.format(self.k)),
                *self._table_of_moved_rows(),
            ),
            ran=(
                ("rows", f"{self.n_rows:,}, of which {len(self.rows):,} are shown"),
                ("metric", self.metric),
                *run_details(self),
            ),
        )

    def _trust(self) -> Table:
        columns: Columns = {
            "squared distances shown": [f"{share:.1%}" for share in self.held.values()],
            "trustworthiness": self.trustworthiness.values(),
        }
        return Table.of(self.held, columns, "Trust", "map")

    def _table_of_moved_rows(self) -> tuple[Section, ...]:
        if not self.neighbours_lost:
            return ()
        chosen = self.moved[:_LISTED]
        columns = {
            "label": [self.labels[i] if self.labels else "" for i in chosen],
            "neighbours lost": [f"{self.neighbours_lost[i]:.0%}" for i in chosen],
        }
        table = Table.of([self.row_names[i] for i in chosen], columns, "Rows that moved most", "row")
        return (Section("Rows that moved most", (table,), _MOVED.format(self.k)),)


_MEANS = (
    "Each point is a row, placed on the first two principal axes of its representation. The second map is rotated or "
    "mirrored, and scaled, to fit the first as well as possible. This does not change which rows are similar."
)
_TRUST = (
    "Trustworthiness (Venna and Kaski 2001) is 1 if the {} nearest rows on the map are also the nearest in the data, "
    "and about 0.5 for a random map. Base conclusions on all dimensions, which `shesha.compare` and `shesha.diff` use."
)
_MOVED = (
    "The column 'neighbours lost' has the share of the {} nearest rows, in all dimensions, that differ in the "
    "second representation."
)
