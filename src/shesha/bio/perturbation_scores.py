"""The documented scores of one perturbation, and of every perturbation in an AnnData object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shesha.bio.cell_design import (
    cells_and_labels,
    column,
    dense_rows,
    doubts_about_repeats,
    require_anndata,
    warn_of_values,
)
from shesha.coherence.controls import warn_of_shared_rows
from shesha.inputs import align_features, validation as check
from shesha.kernels.rounding_and_scaling import length_unit, safe_unit
from shesha.support import types as kinds
from shesha.support.seeds import CONFIDENCE, generator
from shesha.support.types import Matrix, Seed, Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import count

if TYPE_CHECKING:
    from anndata import AnnData


def complete_lines(table: pd.DataFrame, numbers: Sequence[str], name: str, labels: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows of a table that have a finite number or a label in each of the named columns."""
    known: pd.DataFrame = check.columns(table, name, numbers, labels)
    known = known[np.isfinite(known[list(numbers)].to_numpy(dtype=np.float64)).all(axis=1)]
    return known.dropna(subset=list(labels))


Method = Literal["standard", "whitened", "knn"]
Metric = Literal["cosine", "euclidean"]
NO_LENGTH = 1e-12
"""Length, relative to the largest entry, below which a shift counts as zero."""
_RIDGES = 1e-200, 1e16
"""Smallest and largest ridge, relative to the squared unit of the data. Outside them, shifts seem infinite or zero."""
_PANEL = 512


def from_mean(controls: Matrix, cells: Matrix) -> Matrix:
    """Return the shifts of cells from the mean of the controls."""
    shifts: Matrix = cells - controls.mean(axis=0)
    return shifts


def whitened_shifts(controls: Matrix, cells: Matrix, ridge: float) -> Matrix:
    """Return the shifts of cells from the mean of the controls, whitened by the controls' covariance."""
    covariance = np.atleast_2d(np.cov(controls, rowvar=False)) + ridge * np.eye(controls.shape[1])
    values, directions = np.linalg.eigh(covariance)
    root = directions / np.sqrt(np.maximum(values, ridge))
    moved: Matrix = from_mean(controls, cells) @ root @ directions.T
    return moved


def from_neighbours(controls: Matrix, cells: Matrix, k: int, metric: Metric) -> Matrix:
    """Return the shift of each cell from the mean of its k nearest controls."""
    places, sought = (controls, cells) if metric == "euclidean" else (_units(controls), _units(cells))
    lengths = np.einsum("ij,ij->i", places, places)
    out = np.empty_like(cells)
    for start in range(0, len(cells), _PANEL):
        panel = slice(start, start + _PANEL)
        nearest = min(k, len(controls))
        near = np.argpartition(lengths - 2 * sought[panel] @ places.T, nearest - 1, axis=1)[:, :nearest]
        out[panel] = cells[panel] - controls[near].mean(axis=1)
    return out


def _units(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: Matrix = rows / np.where(lengths > 0, lengths, 1.0)
    return units


def mean_cosine(shifts: Matrix, *, fewest: int = 0) -> float:
    """Return the mean cosine between the shifts and their mean; 0 if the mean shift is zero.

    If `fewest` is given, zero shifts are left out, and the result is 0 if fewer than `fewest` shifts remain.
    """
    mean = shifts.mean(axis=0)
    length = float(np.linalg.norm(mean))
    if length < NO_LENGTH:
        return 0.0
    lengths: Vector = np.linalg.norm(shifts, axis=1)
    if fewest:
        has_length = lengths > NO_LENGTH
        if has_length.sum() < fewest:
            return 0.0
        shifts, lengths = shifts[has_length], lengths[has_length]
    return float(np.mean(shifts @ (mean / length) / np.maximum(lengths, NO_LENGTH)))


def explained_share(shifts: Matrix) -> float:
    """Return the share of the shifts' mean square that their mean explains; 0 if there is no mean shift."""
    mean = shifts.mean(axis=0)
    if np.linalg.norm(mean) < NO_LENGTH:
        return 0.0
    total = float(np.mean(np.sum(shifts**2, axis=1)))
    around_mean = float(np.mean(np.sum((shifts - mean) ** 2, axis=1)))
    return float(np.clip(1.0 - around_mean / total, -1.0, 1.0))


_FEWEST = 5
"""Minimum number of cells of either kind; with fewer, the documented scores are NaN."""
METHODS: tuple[Method, ...] = ("standard", "whitened", "knn")
METRICS: tuple[Metric, ...] = ("cosine", "euclidean")


def perturbation_coherence(
    X_control: ArrayLike,
    X_perturbed: ArrayLike,
    method: Method = "standard",
    metric: Metric = "cosine",
    k: int = 50,
    regularization: float = 1e-6,
    seed: Seed = None,
    max_samples: int | None = 1000,
    n_bootstrap_ci: None = None,
    ci: float = CONFIDENCE,
    return_type: Literal["float"] = "float",
) -> float:
    """Coherence of a perturbation: the mean cosine between its cells' shifts and their mean shift.

    The score depends on the number of cells: n cells that did not move score about sqrt(2 / (pi n)) to 1 / sqrt(n), and
    more if the controls vary in few directions. `coherence_test` compares the score with groups of equally many
    controls, and also computes a score that does not depend on n.

    Parameters
    ----------
    X_control, X_perturbed : array of shape (n_cells, n_features)
        Control cells, and the cells of one perturbation, in the same features.
    method : {'standard', 'whitened', 'knn'}
        Reference from which a shift is measured. 'standard': the mean of the controls. 'whitened': the same, with
        features whitened by the covariance of the controls. 'knn': the mean of the cell's k nearest controls.
    metric : {'cosine', 'euclidean'}
        For method 'standard', 'cosine' gives the mean cosine, and 'euclidean' the share of the shifts' mean square that
        their mean explains. For 'knn', the metric defines the nearest controls. For 'whitened', it has no effect.
    k : int
        Number of nearest controls, for 'knn'.
    regularization : float
        Constant that is added to the variances of the controls, for 'whitened'. It has the squared unit of the features
        and matches the public package, so bring features of very small variance to variance 1 first.
    seed : int, Generator or None
        Seed of the random subset of cells, which matches the public package.
    max_samples : int or None
        If there are more perturbed cells, a random subset of this size is used. None: no limit.
    n_bootstrap_ci, ci, return_type
        Only the default values are accepted, because others would change the return type. For an interval, use
        `perturbation_interval`.

    Returns
    -------
    float
        Coherence, in [-1, 1]; 1 if all shifts have the same direction, 0 if there is no net shift. NaN, with a warning,
        if there are fewer than 5 controls or fewer than 5 perturbed cells.

    Warns
    -----
    CalibrationWarning
        If perturbed cells also occur among the controls, because they shift the mean of the controls.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> controls = rng.standard_normal((200, 50))
    >>> round(perturbation_coherence(controls, rng.standard_normal((100, 50)) + 1), 2)
    0.71
    >>> round(perturbation_coherence(controls, rng.standard_normal((25, 50))), 2)  # Nothing moved.
    0.21
    """
    refuse_other_types(n_bootstrap_ci, return_type)
    check.fraction(ci, "ci", closed=False)
    controls, cells = both(X_control, X_perturbed)
    warn_of_shared_rows(controls, cells, controls_name="X_control", rows_name="X_perturbed")
    return coherence_of_matrices(controls, cells, method, metric, k, regularization, seed, max_samples)


def coherence_of_matrices(
    controls: Matrix,
    cells: Matrix,
    method: Method = "standard",
    metric: Metric = "cosine",
    k: int = 50,
    regularization: float = 1e-6,
    seed: Seed = None,
    max_samples: int | None = 1000,
) -> float:
    """Return `perturbation_coherence` of matrices that were already checked."""
    check.choice(method, METHODS, "method")
    check.choice(metric, METRICS, "metric")
    k = check.count(k, "k")
    ridge = check.positive(regularization, "regularization")
    most = check.optional_count(max_samples, "max_samples")
    if min(len(controls), len(cells)) < _FEWEST:
        return check.not_estimable(
            f"at least {_FEWEST} control and {_FEWEST} perturbed cells are needed, got {len(controls)} and {len(cells)}"
        )
    if most is not None and len(cells) > most:
        cells = cells[generator(seed).choice(len(cells), most, replace=False)]
    unit = max(length_unit(controls), length_unit(cells))
    controls, cells = controls / unit, cells / unit
    if method == "standard":
        shifts = from_mean(controls, cells)
        return mean_cosine(shifts) if metric == "cosine" else explained_share(shifts)
    if method == "whitened":
        relative = float(np.clip(ridge / unit / unit, *_RIDGES))
        return mean_cosine(whitened_shifts(controls, cells, relative), fewest=_FEWEST)
    return mean_cosine(from_neighbours(controls, cells, k, metric), fewest=_FEWEST)


def perturbation_coherence_whitened(
    X_control: ArrayLike,
    X_perturbed: ArrayLike,
    regularization: float = 1e-6,
    seed: Seed = None,
    max_samples: int | None = 1000,
) -> float:
    """`perturbation_coherence` with the method 'whitened', as documented.

    Parameters
    ----------
    X_control, X_perturbed, regularization, seed, max_samples
        See `perturbation_coherence`.

    Returns
    -------
    float
        In [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scales = np.linspace(1, 20, 50)
    >>> moved = rng.standard_normal((100, 50)) * scales + 1
    >>> round(perturbation_coherence_whitened(rng.standard_normal((400, 50)) * scales, moved), 2)
    0.28
    """
    return perturbation_coherence(
        X_control,
        X_perturbed,
        method="whitened",
        regularization=regularization,
        seed=seed,
        max_samples=max_samples,
    )


def perturbation_coherence_knn(
    X_control: ArrayLike,
    X_perturbed: ArrayLike,
    k: int = 50,
    metric: Metric = "euclidean",
    seed: Seed = None,
    max_samples: int | None = 1000,
) -> float:
    """`perturbation_coherence` with the method 'knn', as documented; the default of `metric` differs.

    Parameters
    ----------
    X_control, X_perturbed, k, metric, seed, max_samples
        See `perturbation_coherence`.

    Returns
    -------
    float
        In [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> controls = rng.standard_normal((400, 20))
    >>> round(perturbation_coherence_knn(controls, rng.standard_normal((100, 20)) + 1), 2)
    0.71
    """
    return perturbation_coherence(
        X_control, X_perturbed, method="knn", k=k, metric=metric, seed=seed, max_samples=max_samples
    )


def perturbation_effect_size(
    X_control: ArrayLike,
    X_perturbed: ArrayLike,
    metric: Literal["euclidean", "cohen"] = "euclidean",
    n_bootstrap_ci: None = None,
    ci: float = CONFIDENCE,
    seed: Seed = None,
    return_type: Literal["float"] = "float",
) -> float:
    """Distance between the mean cell of a perturbation and the mean control, as documented.

    For n cells that did not move and d features of unit variance, sampling noise alone gives a distance of about sqrt(d
    / n).

    Parameters
    ----------
    X_control, X_perturbed : array of shape (n_cells, n_features)
        Control cells, and the cells of one perturbation, in the same features.
    metric : {'euclidean', 'cohen'}
        The distance itself, or divided by the square root of the mean variance within controls and perturbed cells.
    n_bootstrap_ci, ci, seed, return_type
        See `perturbation_coherence`.

    Returns
    -------
    float
        Distance, zero or positive. 'cohen' is NaN, with a warning, if there is only one control or one perturbed cell.

    Warns
    -----
    CalibrationWarning
        If perturbed cells are also among the controls, because they move the mean control, or if at least half of the
        squared distance is expected of as many cells drawn from the controls.

    Examples
    --------
    >>> perturbation_effect_size([[0, 0], [2, 0]], [[4, 4], [4, 4]])
    5.0
    """
    refuse_other_types(n_bootstrap_ci, return_type)
    check.fraction(ci, "ci", closed=False)
    controls, cells = both(X_control, X_perturbed)
    distance = effect_size_of_matrices(controls, cells, metric, seed)
    _warn_of_sampling({"X_perturbed": (effect_size_of_matrices(controls, cells), len(cells))}, controls)
    warn_of_shared_rows(controls, cells, controls_name="X_control", rows_name="X_perturbed")
    return distance


def effect_size_of_matrices(
    controls: Matrix,
    cells: Matrix,
    metric: Literal["euclidean", "cohen"] = "euclidean",
    seed: Seed = None,
) -> float:
    """`perturbation_effect_size` of matrices that were checked."""
    check.choice(metric, ("euclidean", "cohen"), "metric")
    generator(seed)
    unit = safe_unit(controls, cells)
    controls, cells = controls / unit, cells / unit
    distance = float(np.linalg.norm(cells.mean(axis=0) - controls.mean(axis=0)))
    if metric == "euclidean":
        return distance * unit
    if min(len(controls), len(cells)) < 2:
        return check.not_estimable("the variance of a single cell is undefined")
    within = (controls.var(axis=0, ddof=1) + cells.var(axis=0, ddof=1)) / 2
    return float(distance / (np.sqrt(within.mean()) + 1e-12 / unit))


_MOST_FROM_SAMPLING = 0.5
"""Largest share of a squared distance that may be sampling error of the two means without a warning."""


def _warn_of_sampling(distances: Mapping[Any, tuple[float, int]], controls: Matrix) -> None:
    """Warn of perturbations whose distance from the controls is mostly what as many cells of the controls would have.

    The mean of n cells, minus the mean of m controls, has an expected squared length of v (1 / n + 1 / m), where v is
    the sum of the variances of the features. `distances` holds the distance and the number of cells.
    """
    if len(controls) < 2:
        return
    unit = safe_unit(controls)
    spread = float(np.sqrt((controls / unit).var(axis=0, ddof=1).sum())) * unit
    found = []
    for name, (distance, n) in distances.items():
        expected = spread * np.sqrt(1 / n + 1 / len(controls))
        if expected > np.sqrt(_MOST_FROM_SAMPLING) * distance:
            found.append(f"{name} ({count(n, 'cell')}: {expected:.3g} of {distance:.3g})")
    if found:
        warn(
            f"as many cells drawn from the controls would have most of the distance of {check.join_items(found)}. "
            "shesha.bio.e_distances tests distances",
            CalibrationWarning,
        )


def both(X_control: ArrayLike, X_perturbed: ArrayLike) -> tuple[Matrix, Matrix]:
    """Check both matrices, which must have the same features."""
    controls = check.matrix(X_control, "X_control", min_rows=1)
    X_perturbed = align_features(X_control, X_perturbed, "X_control", "X_perturbed")
    cells = check.matrix(X_perturbed, "X_perturbed", min_rows=1)
    if controls.shape[1] != cells.shape[1]:
        raise ValueError(
            f"X_perturbed must have the {controls.shape[1]} features of X_control, got {cells.shape[1]} features"
        )
    for name, side in (("X_control", controls), ("X_perturbed", cells)):
        rows = np.arange(len(side))
        for note in doubts_about_repeats(side, rows):
            warn(note, CalibrationWarning)
        warn_of_values(side, name, rows)
    return controls, cells


def refuse_other_types(n_bootstrap_ci: object, return_type: object) -> None:
    """Refuse options that would change a function's return type, and name the alternative."""
    for name, value, only in (("n_bootstrap_ci", n_bootstrap_ci, None), ("return_type", return_type, "float")):
        if not isinstance(value, type(only)) or value != only:
            raise ValueError(
                f"{name} must be {only!r}, got {value!r}: shesha.bio.perturbation_interval returns value and interval"
            )


def _perturbations(adata: Any, key: str, control: str, layer: str | None) -> Iterator[tuple[Any, Matrix, Matrix]]:
    """Yield the label, the controls and the cells of each perturbation, in order of first occurrence."""
    require_anndata(adata)
    values = column(adata, key, "perturbation_key")
    known = list(dict.fromkeys(label for label in values if label is not None))
    if kinds.label(control, "control_label") not in set(known):
        raise ValueError(
            f"control_label must be a label of adata.obs[{key!r}], one of {check.join_items(known) or 'none'}, "
            f"got {control!r}"
        )
    matrix = cells_and_labels(adata, key, layer, values, control)
    controls = dense_rows(matrix, values == control, "the control cells")
    for label in known:
        if label != control:
            yield label, controls, dense_rows(matrix, values == label, f"the cells of {label}")


def compute_coherence(
    adata: AnnData,
    perturbation_key: str,
    control_label: str = "control",
    layer: str | None = None,
    method: Method = "standard",
    **kwargs: Any,
) -> dict[Any, float]:
    """`perturbation_coherence` of every perturbation, as documented: without chance levels or intervals.

    Sparse rows are made dense. `coherence_test` computes chance levels and intervals for groups of any size, and keeps
    sparse data sparse.

    Parameters
    ----------
    adata : AnnData
        Cells by features. Shifts are measured in X or in a layer.
    perturbation_key : str
        Column of ``adata.obs`` with the perturbations. Cells without a label are left out.
    control_label : str
        The label of the control cells.
    layer : str, optional
        Layer with the data. Default: X.
    method : {'standard', 'whitened', 'knn'}
        See `perturbation_coherence`.
    **kwargs
        Other options of `perturbation_coherence`.

    Returns
    -------
    dict
        Maps the label of each perturbation to its coherence, in the order in which labels first occur among the cells.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["control", "STAT1"], 60)
    >>> cells = rng.standard_normal((120, 10)) + (labels == "STAT1")[:, None]
    >>> adata = anndata.AnnData(cells, obs=pd.DataFrame({"gene": labels}, index=np.arange(120).astype(str)))
    >>> {name: round(value, 2) for name, value in compute_coherence(adata, "gene").items()}
    {'STAT1': 0.73}
    """
    refuse_other_types(kwargs.pop("n_bootstrap_ci", None), kwargs.pop("return_type", "float"))
    check.fraction(kwargs.pop("ci", CONFIDENCE), "ci", closed=False)
    return {
        perturbation: coherence_of_matrices(controls, cells, method, **kwargs)
        for perturbation, controls, cells in _perturbations(adata, perturbation_key, control_label, layer)
    }


def compute_coherence_whitened(
    adata: AnnData,
    perturbation_key: str,
    control_label: str = "control",
    layer: str | None = None,
    regularization: float = 1e-6,
    seed: Seed = None,
    max_samples: int | None = 1000,
) -> dict[Any, float]:
    """`compute_coherence` with the method 'whitened', as documented.

    Parameters
    ----------
    adata, perturbation_key, control_label, layer
        See `compute_coherence`.
    regularization, seed, max_samples
        See `perturbation_coherence`.

    Returns
    -------
    dict
        Maps the label of each perturbation to its coherence.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["control", "STAT1"], 60)
    >>> cells = rng.standard_normal((120, 10)) + (labels == "STAT1")[:, None]
    >>> adata = anndata.AnnData(cells, obs=pd.DataFrame({"gene": labels}, index=np.arange(120).astype(str)))
    >>> round(compute_coherence_whitened(adata, "gene")["STAT1"], 2)
    0.72
    """
    return compute_coherence(
        adata,
        perturbation_key,
        control_label,
        layer,
        method="whitened",
        regularization=regularization,
        seed=seed,
        max_samples=max_samples,
    )


def compute_coherence_knn(
    adata: AnnData,
    perturbation_key: str,
    control_label: str = "control",
    layer: str | None = None,
    k: int = 50,
    metric: Metric = "euclidean",
    seed: Seed = None,
    max_samples: int | None = 1000,
) -> dict[Any, float]:
    """`compute_coherence` with the method 'knn', as documented.

    Parameters
    ----------
    adata, perturbation_key, control_label, layer
        See `compute_coherence`.
    k, metric, seed, max_samples
        See `perturbation_coherence`.

    Returns
    -------
    dict
        Maps the label of each perturbation to its coherence.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["control", "STAT1"], 60)
    >>> cells = rng.standard_normal((120, 10)) + (labels == "STAT1")[:, None]
    >>> adata = anndata.AnnData(cells, obs=pd.DataFrame({"gene": labels}, index=np.arange(120).astype(str)))
    >>> round(compute_coherence_knn(adata, "gene", k=20)["STAT1"], 2)
    0.73
    """
    return compute_coherence(
        adata,
        perturbation_key,
        control_label,
        layer,
        method="knn",
        k=k,
        metric=metric,
        seed=seed,
        max_samples=max_samples,
    )


def compute_magnitude(
    adata: AnnData,
    perturbation_key: str,
    control_label: str = "control",
    metric: Literal["euclidean", "cohen"] = "euclidean",
    layer: str | None = None,
) -> dict[Any, float]:
    """`perturbation_effect_size` of every perturbation, as documented.

    Parameters
    ----------
    adata, perturbation_key, control_label, layer
        See `compute_coherence`.
    metric : {'euclidean', 'cohen'}
        See `perturbation_effect_size`.

    Returns
    -------
    dict
        Maps the label of each perturbation to the distance of its mean cell from the mean control.

    Warns
    -----
    CalibrationWarning
        If at least half of a squared distance is expected of as many cells drawn from the controls.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> obs = pd.DataFrame({"gene": ["control", "control", "STAT1"]}, index=["a", "b", "c"])
    >>> compute_magnitude(anndata.AnnData(np.array([[0, 0], [2, 0], [4, 4.0]]), obs=obs), "gene")
    {'STAT1': 5.0}
    """
    magnitudes, distances, controls = {}, {}, np.empty((0, 0))
    for name, controls, cells in _perturbations(adata, perturbation_key, control_label, layer):
        magnitudes[name] = effect_size_of_matrices(controls, cells, metric)
        distances[name] = (
            magnitudes[name] if metric == "euclidean" else effect_size_of_matrices(controls, cells),
            len(cells),
        )
    _warn_of_sampling(distances, controls)
    return magnitudes
