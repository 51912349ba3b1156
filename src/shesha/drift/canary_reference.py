"""The reference encoding of the canary rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.drift.row_dependence import dependence_text, group_means
from shesha.inputs import Names, are_reordered, orders, split_names
from shesha.inputs import validation as check
from shesha.kernels.distances import find_undirected_rows
from shesha.measures import Measure
from shesha.support.device_arrays import input_precision
from shesha.support.provenance import state
from shesha.support.types import Index, Labels, Matrix
from shesha.support.wording import join_items
from shesha.views import Representation, align_rows

Stored = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Reference:
    """The reference rows of a monitor, their names and classes, and their representation."""

    rows: Matrix | None
    """Rows in the encoder's own axes; None if only their geometry was saved."""
    geometry: Matrix | None
    """The rows after a rotation that hides the encoder's axes; None until needed."""
    n_features: int
    precision: float
    names: Names | None
    codes: Labels | None
    classes: tuple[str, ...]
    by_geometry: bool
    """Whether every measure is invariant to rotations."""
    groups: Labels | None = None
    """Code of each row's group; None if every row is a group of its own."""
    positions: Index | None = None
    """Position of each row among the canary inputs, if some of them have no vector and no row has a name."""
    n_inputs: int | None = None
    """Number of canary inputs, with those that have no vector; None if `positions` is."""

    @classmethod
    def build(
        cls,
        reference: ArrayLike,
        labels: ArrayLike | None,
        measures: Sequence[Measure],
        groups: ArrayLike | None = None,
    ) -> Reference:
        """Check the reference rows and return the reference."""
        values, names = split_names(reference, "reference")
        if names is not None and names.doubtful and not names.distinct:
            names = None
        rows = check.matrix(values, "reference")
        zero = find_undirected_rows(rows, "cosine")
        if len(zero):
            raise ValueError(check.zero_rows("reference", zero, len(rows), names))
        if (rows == rows[0]).all():
            raise ValueError(f"reference must have rows that differ, got {len(rows)} equal rows")
        codes, classes = (
            (None, np.array([])) if labels is None else check.labels(labels, len(rows), "labels", min_classes=1)
        )
        rotates = all(map(_rotates, measures))
        class_names = tuple(map(str, classes.tolist()))
        units = None if groups is None else check.labels(groups, len(rows), "groups", min_classes=2)[0]
        return cls(rows, None, rows.shape[1], input_precision(values), names, codes, class_names, rotates, units)

    @property
    def n_rows(self) -> int:
        """Number of canary inputs."""
        stored_rows = self.rows if self.rows is not None else self.geometry
        assert stored_rows is not None
        return len(stored_rows)

    @cached_property
    def units(self) -> Matrix:
        """The rows, or the mean row of each group, in the encoder's own axes or up to a rotation."""
        rows = self.rows if self.rows is not None else self.geometry_rows()
        return rows if self.groups is None else group_means(rows, self.groups)

    @cached_property
    def dependence(self) -> str:
        """How the rows, or the groups, depend on their neighbours, with advice; empty if there is no sign of it."""
        return dependence_text(self.units, "reference", "row" if self.groups is None else "group")

    @cached_property
    def representation(self) -> Representation:
        """The rows as compared with other encodings, bit-identical before and after saving."""
        rows = self.geometry_rows() if self.by_geometry else self.rows
        assert rows is not None
        representation = Representation(rows, self.precision)
        representation.names = self.names
        return representation

    def geometry_rows(self) -> Matrix:
        """Return rows with the same lengths and inner products, without the encoder's axes.

        The result is the Cholesky factor of the inner products, computed by a QR decomposition for better precision.
        """
        if self.geometry is not None:
            return self.geometry
        assert self.rows is not None
        triangle: Matrix = np.asarray(np.linalg.qr(self.rows.T, mode="r")).T
        return np.ascontiguousarray(triangle * np.where(np.diagonal(triangle) < 0, -1.0, 1.0))

    def take(self, kept: Index) -> Reference:
        """Return the reference of some of the rows."""
        rows, geometry = (None if part is None else part[kept] for part in (self.rows, self.geometry))
        codes, classes = self.codes, self.classes
        if codes is not None:
            present, codes = np.unique(codes[kept], return_inverse=True)
            classes = tuple(classes[code] for code in present.tolist())
        names = None if self.names is None else self.names.take(kept)
        positions = None if self.positions is None else self.positions[kept]
        groups = None if self.groups is None else np.unique(self.groups[kept], return_inverse=True)[1]
        part = replace(self, rows=rows, geometry=geometry, names=names, codes=codes, classes=classes)
        return replace(part, groups=groups, positions=positions)

    def restrict(self, current: Any) -> Any:
        """Return the rows of an encoding of all canary inputs, without those that the reference leaves out."""
        values, names = split_names(current, "current")
        if self.positions is None or names is not None or len(values) != self.n_inputs:
            return current
        missing = np.setdiff1d(np.arange(self.n_inputs), self.positions)
        state(f"{self.n_rows:,} of {self.n_inputs:,} rows used: the reference leaves out rows {join_items(missing)}")
        return values[self.positions]

    def row_name(self, row: int) -> str:
        """Return the name of a row."""
        if self.names is not None:
            return str(self.names.values[row])
        return str(row if self.positions is None else self.positions[row])

    def to_stored(self, *, keep_rows: bool) -> tuple[dict[str, Any], Stored]:
        """Return the plain values and arrays from which `from_stored` restores the reference."""
        check.boolean(keep_rows, "keep_rows")
        if not (keep_rows or self.by_geometry):
            raise ValueError("keep_rows must be True if a measure depends on the axes of the features, got False")
        if keep_rows and self.rows is None:
            raise ValueError("keep_rows must be False for a monitor that was loaded without its rows, got True")
        arrays: Stored = {"rows" if keep_rows else "geometry": self.rows if keep_rows else self.geometry_rows()}  # type: ignore[dict-item]
        if self.names is not None:
            values = self.names.values
            arrays["names"] = values if values.dtype.kind in "iu" else values.astype(str)
        if self.codes is not None:
            arrays["codes"] = self.codes
        if self.groups is not None:
            arrays["groups"] = self.groups
        if self.positions is not None:
            arrays["positions"] = self.positions
        plain = {"n_features": self.n_features, "precision": self.precision, "classes": list(self.classes)}
        plain |= {"n_inputs": self.n_inputs, "id_column": None if self.names is None else self.names.column}
        plain["ids_chosen_by"] = "" if self.names is None else self.names.chosen
        plain["are_ids_guessed"] = self.names is not None and self.names.doubtful
        return plain, arrays

    @classmethod
    def from_stored(cls, plain: dict[str, Any], arrays: Stored, measures: Sequence[Measure]) -> Reference:
        """Restore a reference from what `to_stored` returned."""
        names = None
        if "names" in arrays:
            stored, guessed = arrays["names"], bool(plain.get("are_ids_guessed"))
            chosen: Any = plain.get("ids_chosen_by") or ""
            names = Names(lambda: stored, doubtful=guessed, column=plain.get("id_column") or "", chosen=chosen)
        rotates = all(map(_rotates, measures))
        return cls(
            *(arrays.get("rows"), arrays.get("geometry"), int(plain["n_features"]), float(plain["precision"]), names),
            *(arrays.get("codes"), tuple(plain["classes"]), rotates, arrays.get("groups")),
            *(arrays.get("positions"), plain.get("n_inputs")),
        )


def _rotates(measure: Measure) -> bool:
    """Return whether a measure is invariant to rotations, including those that remove zero columns."""
    return "orthogonal" in measure.invariant and not measure.equal_widths


def restrict_encodings(encodings: Iterable[Any], names: Names | None, n_rows: int, kept: Index) -> Iterator[Any]:
    """Yield re-encodings without the rows that the reference leaves out."""
    for k, encoding in enumerate(encodings):
        values, own = split_names(encoding, f"nulls[{k}]")
        if len(values) != n_rows:
            yield encoding
            continue
        order = orders({"reference": names, f"nulls[{k}]": own}).get(f"nulls[{k}]", np.arange(n_rows))
        yield np.asarray(values)[order[kept]]


def check_same_rows(given: Any, reference: Representation, name: str) -> Representation:
    """Check another encoding of the reference rows, and align it with them."""
    source = Representation.build(given, name)
    if source.has_distances_only or len(source.shape) != 2:
        raise ValueError(f"{name} must be a matrix (n_rows, n_features), got shape {source.shape}")
    require_count(source.n_rows, reference, name)
    if (reference.names is None or source.names is None) and are_reordered(reference.rows, source.rows):
        raise ValueError(
            f"{name} must have the rows of the reference in the same order, got them in another order; save the "
            "reference with row names (--id), and pass rows with names"
        )
    return align_rows({"reference": reference, name: source})[name]


def require_count(n_rows: int, reference: Representation, name: str) -> None:
    """Require as many rows as the reference has."""
    if n_rows != reference.n_rows:
        raise ValueError(
            f"{name} must be the {reference.n_rows} rows of the reference encoded again, got {n_rows} rows; for new "
            "inputs use update, or two_sample for a window of inputs"
        )
