"""Select what an analysis needs from AnnData: matrix, cells, controls, batches and donors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.bio._anndata_fields import data_matrix, label_text, labels, require_anndata
from shesha.bio.control_labels import Controls, combined_perturbations, find_controls
from shesha.inputs import MissingRows, load_backed, split_names
from shesha.inputs import validation as check
from shesha.results.audit import LabelClasses
from shesha.support import argument_types as kinds
from shesha.support import provenance
from shesha.support.sampling_units import is_batch_name, is_unit_name, unit_labels
from shesha.support.types import Index, Mask, Matrix
from shesha.support.warnings import CalibrationWarning, MeasureWarning, warn
from shesha.support.wording import count

_PIECE = 4096
"""Number of cells that are searched for NaN at a time."""
_MOST_CONTROLS, _MOST_LEVELS, _PERMUTATIONS, _UNEVEN = 500, 50, 199, 1e-4
"""Limits of the search for columns that act like batches: controls, values of a column, permutations, p of shares."""
_CHECKED_ROWS = 200
"""Number of cells that are checked to distinguish raw counts from normalised values."""


@dataclass(frozen=True)
class CellDesign:
    """The stored matrix of cells by features, with the labels of each cell."""

    matrix: Any
    rows: Index
    """Indices of the cells that have all requested labels and thus are the rows of the matrix."""
    labels: NDArray[Any]
    controls: Controls
    blocks: NDArray[Any] | None
    groups: NDArray[Any] | None
    notes: tuple[str, ...]
    """What was merged or left out, and sampling units that are not declared."""
    undeclared: tuple[str, ...]
    """Options that name these sampling units, such as groups='donor'."""
    n_without: int
    """Number of cells that are left out because a label is missing."""
    source: str
    """Name of the matrix in messages."""


def cell_design(
    adata: Any,
    groupby: str,
    *,
    control: str | Sequence[str] | None,
    obsm: str | None,
    layer: str | None,
    per: str | None = None,
    blocks: str | Sequence[Any] | None = None,
    groups: str | Sequence[Any] | None = None,
    missing: MissingRows = "refuse",
) -> CellDesign:
    """Read the parts of AnnData for an analysis, leaving out cells that lack one of the labels.

    Parameters
    ----------
    adata : AnnData
        Annotated data, in memory, backed or lazily read.
    groupby : str
        Column of obs with the perturbations.
    control, obsm, layer, per, blocks, groups, missing
        See `coherence_table`.
    """
    require_anndata(adata)
    matrix, source = _matrix(adata, obsm, layer)
    if groupby is None:
        raise TypeError("groupby must be a column of obs, got None")
    named = {"groupby": groupby, "per": per, "blocks": blocks, "groups": groups}
    values_by_name = {name: _labels(adata, value, name) for name, value in named.items() if value is not None}
    free = _controls_without_units(values_by_name, control)
    there = np.all([[value is not None for value in values] for values in values_by_name.values()], axis=0)
    if check.choice(missing, ("refuse", "drop"), "missing") == "drop":
        complete = _complete_rows(matrix)
        if n := int((there & ~complete).sum()):
            provenance.state(f"{count(n, 'cell')} with NaN in {source} left out")
        there &= complete
    rows = np.flatnonzero(there)
    values_by_name = {name: values[rows] for name, values in values_by_name.items()}
    labels = values_by_name["groupby"]
    controls = find_controls(labels, control)
    same = combined_perturbations(labels.tolist(), controls)
    labels = np.array([same.get(label, label) for label in labels], dtype=object)
    is_control = np.isin(labels, controls.labels)
    declared = {value for value in (groupby, per, blocks, groups) if isinstance(value, str)}
    undeclared = undeclared_units(adata.obs, rows, labels, is_control, declared, has_units=groups is not None)
    if blocks is None:
        _warn_of_uneven_columns(adata.obs, rows, labels, is_control, matrix, declared)
    within = values_by_name.get("blocks")
    if "per" in values_by_name:
        labels = np.where(is_control, labels, _join_labels(labels, values_by_name["per"]))
        within = values_by_name["per"] if within is None else _join_labels(values_by_name["per"], within)
    return CellDesign(
        matrix=matrix if len(rows) == matrix.shape[0] else _SelectedRows(matrix, rows),
        rows=rows,
        labels=labels.astype(str),
        controls=controls,
        blocks=None if within is None else within.astype(str),
        groups=None if "groups" not in values_by_name else values_by_name["groups"].astype(str),
        notes=(*free, *_notes_on_merged(same), *undeclared.values()),
        undeclared=tuple(undeclared),
        n_without=int(adata.n_obs - len(rows)),
        source=source,
    )


def _controls_without_units(values_by_name: dict[str, NDArray[Any]], control: Any) -> tuple[str, ...]:
    """Keep controls of which none has a unit (no guide), as one unit; say how many they are."""
    units = values_by_name.get("groups")
    if units is None:
        return ()
    known = np.array([value is not None for value in values_by_name["groupby"]])
    is_control = np.isin(values_by_name["groupby"], find_controls(values_by_name["groupby"][known], control).labels)
    without = is_control & np.array([value is None for value in units])
    if not without.any() or not without[is_control].all():
        n = int(without.sum())
        return (f"{count(n, 'control cell')} without a value of groups left out",) if n else ()
    values_by_name["groups"] = np.where(without, "controls without a unit", units)
    return (f"no control cell has a value of groups, so all {int(without.sum()):,} count as one unit",)


def _notes_on_merged(same: dict[str, str]) -> tuple[str, ...]:
    """Say which labels count as one perturbation."""
    by_name: dict[str, list[str]] = {}
    for label, name in same.items():
        by_name.setdefault(name, []).append(label)
    return tuple(f"{check.join_items(map(repr, labels))} count as one, {name!r}" for name, labels in by_name.items())


def undeclared_units(
    obs: Any, rows: Index, labels: NDArray[Any], is_control: Mask, declared: set[str], *, has_units: bool
) -> dict[str, str]:
    """Return, by option, notes on columns that look like sampling units or batches but are not declared."""
    notes = {}
    for name in map(str, obs):
        is_batch = is_batch_name(name)
        if name in declared or not (is_batch or (is_unit_name(name) and not has_units)):
            continue
        values = unit_labels(np.asarray(obs[name], dtype=object)[rows])
        if values is None:
            continue
        units = np.unique([str(value) for value in values], return_inverse=True)[1]
        controls, others = (np.unique(units[here]) for here in (is_control, ~is_control))
        crossed = len(np.intersect1d(controls, others)) >= 0.5 * len(others)
        option = "blocks" if is_batch and crossed else "groups"
        if option == "groups" and has_units:
            continue
        relation = "contain both controls and perturbed cells" if crossed else "are nested in perturbations"
        notes[f"{option}={name!r}"] = (
            f"the column {name!r} of obs looks like {'batches' if is_batch else 'sampling units'}, whose values "
            f"{relation}, but it is not declared. If its values differ, p-values are too small. Pass {option}={name!r}"
        )
    return notes


def _warn_of_uneven_columns(
    obs: Any, rows: Index, labels: NDArray[Any], is_control: Mask, matrix: Any, declared: set[str]
) -> None:
    """Warn of columns on which controls depend and whose values are uneven over perturbations, whatever their names."""
    sample = rows[is_control][: _MOST_CONTROLS * 8 : 8] if is_control.sum() > 8 * _MOST_CONTROLS else rows[is_control]
    sample = sample[:_MOST_CONTROLS]
    found, values = [], None
    for name in map(str, obs):
        known = None if name in declared or is_batch_name(name) or is_unit_name(name) else unit_labels(obs[name])
        if known is None or LabelClasses((), (), name).look_like_clusters:
            continue
        levels, codes = np.unique([str(value) for value in known], return_inverse=True)
        counts = np.zeros((len(set(labels)), len(levels)))
        np.add.at(counts, (np.unique(labels, return_inverse=True)[1], codes[rows]), 1)
        # A column that the perturbation determines, such as its target, is no batch.
        if (
            len(levels) > _MOST_LEVELS
            or ((counts > 0).sum(axis=1) < 2).all()
            or _independence_p_value(counts) > _UNEVEN
        ):
            continue
        if values is None:
            values = _dense(matrix[sample])
        if _depends_on(values, codes[sample]):
            found.append(name)
    if found:
        listed, first = check.join_items(map(repr, found)), found[0]
        warn(
            f"controls differ between the values of {listed} in obs, whose shares differ between perturbations, so a "
            f"part of the shifts may be an effect of {'it' if len(found) == 1 else 'them'}. If perturbations do not "
            f"change {'it' if len(found) == 1 else 'them'} themselves, pass blocks={first!r}",
            CalibrationWarning,
        )


def _independence_p_value(counts: Matrix) -> float:
    """Return the p-value of the chi-squared test that rows and columns of counts are independent."""
    from scipy.stats import chi2_contingency

    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    return float(chi2_contingency(counts).pvalue) if min(counts.shape) > 1 else 1.0


def _depends_on(values: Matrix, codes: Index) -> bool:
    """Return whether rows with one code are closer than random groups of these sizes, in all of 199 permutations."""
    members = (codes == np.unique(codes)[:, None]).astype(np.float64)
    if len(members) < 2 or members.sum(axis=1).min() < 2:
        members = members[members.sum(axis=1) >= 2]
    if len(members) < 2:
        return False
    values = values - values.mean(axis=0)

    def between(lines: Matrix) -> float:
        return float((((lines @ values) ** 2).sum(axis=1) / lines.sum(axis=1)).sum())

    rng = np.random.default_rng(0)
    observed = between(members)
    return all(between(members[:, rng.permutation(len(values))]) < observed for _ in range(_PERMUTATIONS))


def _dense(block: Any) -> Matrix:
    """Return rows that may be sparse or lazy as an array."""
    block = block.compute() if hasattr(block, "compute") else block
    block = block.to_memory() if hasattr(block, "to_memory") else block
    return np.nan_to_num(np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64))


class _SelectedRows:
    """Some rows of a matrix, selected without copying it."""

    def __init__(self, matrix: Any, rows: Index) -> None:
        self._matrix, self._rows = matrix, rows
        self.shape = (len(rows), int(matrix.shape[1]))

    def __getitem__(self, which: slice) -> Any:
        rows = self._rows[which]
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self._matrix[int(rows[0]) : int(rows[-1]) + 1]
        return self._matrix[rows]


def _matrix(adata: Any, obsm: str | None, layer: str | None) -> tuple[Any, str]:
    """Return an embedding, a layer or X as it is, with its name for messages."""
    if layer is not None or obsm is None:
        matrix = data_matrix(adata, layer)
        name = "X" if layer is None else f"layers[{layer!r}]"
        _warn_of_counts(matrix, name)
        return matrix, name
    key = kinds.text(obsm, "obsm").removeprefix("obsm/")
    if key not in adata.obsm:
        raise ValueError(
            f"obsm must be among {check.join_items(adata.obsm) or 'none'}, or None for X, got {obsm!r}; compute "
            "the embedding first, for example with scanpy.pp.pca"
        )
    values = adata.obsm[key]
    return split_names(load_backed(values) if hasattr(values, "columns") else values)[0], f"obsm[{key!r}]"


@contextmanager
def naming_missing_cells(source: str) -> Iterator[None]:
    """Name the matrix and the option in errors about cells with NaN."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("X must be finite"):
            raise
        raise ValueError(
            f"adata.{source} must be finite, got NaN or infinity in some cells. To leave them out, pass missing='drop'"
        ) from error


def _complete_rows(matrix: Any) -> Mask:
    """Return which rows contain only finite numbers; the matrix may be sparse, on disk or lazy."""
    complete = np.ones(matrix.shape[0], dtype=bool)
    for start in range(0, len(complete), _PIECE):
        block = matrix[start : start + _PIECE]
        block = block.compute() if hasattr(block, "compute") else block
        block = block.to_memory() if hasattr(block, "to_memory") else block
        finite = block.copy() if hasattr(block, "toarray") else np.isfinite(np.asarray(block))
        if hasattr(finite, "toarray"):
            finite.data = ~np.isfinite(finite.data)
            complete[start : start + _PIECE] = np.asarray(finite.sum(axis=1)).ravel() == 0
        else:
            complete[start : start + _PIECE] = finite.all(axis=1)
    return complete


def _warn_of_counts(matrix: Any, name: str) -> None:
    """Warn if values are raw counts, because sequencing depth then dominates all shifts."""
    first = matrix[:_CHECKED_ROWS]
    first = first.compute() if hasattr(first, "compute") else first
    values = np.asarray(first.data if hasattr(first, "toarray") else first)
    if values.size and values.min() >= 0 and values.max() > 1 and (values == np.floor(values)).all():
        warn(
            f"{name} contains raw counts, so sequencing depth dominates the shifts of cells. Normalise and "
            "log-transform the counts first",
            MeasureWarning,
        )


def _labels(adata: Any, value: str | Sequence[Any], name: str) -> NDArray[Any]:
    if isinstance(value, str):
        return labels(adata, value, name)
    from pandas import isna

    values = check.dense(value, name).astype(object)
    if values.shape != (adata.n_obs,):
        raise ValueError(f"{name} must be a column of adata.obs or one label per cell, got shape {values.shape}")
    return np.array([None if isna(kinds.label(value, name)) else label_text(value) for value in values], dtype=object)


def _join_labels(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    return np.array([f"{a} | {b}" for a, b in zip(first, second, strict=True)], dtype=object)
