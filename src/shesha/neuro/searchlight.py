"""Searchlight: where in a recording the distances between conditions match those of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from shesha.inputs import MissingRows, NamedRows, split_names, validation as check
from shesha.kernels.condensed_matrices import square
from shesha.kernels.distances import METRICS, Metric, standard_rows
from shesha.kernels.ranks import centred_ranks
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro.trials import require_conditions
from shesha.neuro.voxel_order import state_other_voxel_order
from shesha.nulls import draw_permutations, identity_first
from shesha.nulls.dependence import DiagnosticRows, find_dependence
from shesha.nulls.null_summary import number_against_null, p_of_draws
from shesha.results import sentence_parts as say
from shesha.results.base import draws_axes
from shesha.results.number import TIE, Number, NumberTable
from shesha.support import types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.progress import track
from shesha.support.provenance import keep_statements, state, state_warning
from shesha.support.seeds import ALPHA, number
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import agree_with_share, count
from shesha.views import Rdm, select_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CENTRES = 256
"""Number of centres whose distances are ranked together."""
_FEWEST_CONDITIONS = 4


@dataclass(frozen=True, kw_only=True)
class Centre(Number):
    """Rank correlation between the distances at one centre and those of the model."""

    n_features: int = 0
    """Number of features in the neighbourhood."""


@dataclass(frozen=True, kw_only=True)
class Searchlight(NumberTable):
    """Correlations with a model at many centres, corrected by the maximum over all centres."""

    numbers: tuple[Centre, ...]
    """The centres, in the order of the neighbourhoods."""
    maximum: Number
    """The largest correlation, compared with the largest correlation of all centres under each permutation."""
    metric: str
    n_conditions: int

    WHAT: ClassVar[str] = "centres"
    NAMES: ClassVar[tuple[str, ...]] = ("n_features",)

    @property
    def values(self) -> Vector:
        """The correlation at each centre, NaN where there is none; assign it to the centres' places for a map."""
        return np.array([each.value for each in self.numbers])

    @property
    def headline(self) -> str:
        """How many centres match the model, and which one matches best."""
        n, known = len(self.significant), [each for each in self.numbers if each.has_value]
        if not known:
            return f"No centre could be tested: {self.numbers[0].reason}."
        tested = f" that could be tested (of {len(self):,})" * (len(known) < len(self))
        verb = agree_with_share(n, len(known), "matches", "match")
        best = self.maximum
        where = f" Largest correlation: {say.format_number(best.value)} at {best.name}." if best.has_value else ""
        return (
            f"{n} of {count(len(known), 'centre')}{tested} {verb} the model above chance ({best.alpha:g}, corrected by "
            f"the maximum over centres).{where}"
        )

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the correlations of all centres, with the threshold for the largest one."""
        from shesha.charts import null_distribution

        options = {"label": "correlation with the model", "drawn": "centres"}
        ax = null_distribution(self.values.tolist(), float("nan"), self.maximum.threshold, ax=ax, **options)
        ax.set_ylabel("centres")
        return ax

    def _in_order(self) -> Sequence[Number]:
        """Return the centres with the largest correlations first."""
        return sorted(self.numbers, key=lambda each: -each.value if each.has_value else np.inf)

    def _claim(self) -> str:
        conditions = f"{count(self.n_conditions, 'condition')}, {self.metric} distances, rank correlation"
        best = say.clause(self.maximum, "largest correlation")
        drawn = say.draws(self.maximum.n_draws, self.maximum.exchanged)
        return say.listing(self.headline, (), conditions, best, drawn)


@keep_statements
def searchlight(
    X: ArrayLike,
    model: ArrayLike | Rdm,
    neighbours: Any,
    *,
    metric: Metric = "correlation",
    names: Sequence[str] | None = None,
    n_permutations: int = 999,
    blocks: ArrayLike | None = None,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> Searchlight:
    """Test where the distances between conditions match a model, in the neighbourhood of every centre.

    At each centre, the distances between conditions are computed from the features of its neighbourhood, and
    rank-correlated with the distances of the model. The conditions of the model are permuted, and each correlation is
    compared with the largest correlation of all centres. So the chance of any false claim is at most alpha, however
    many centres there are.

    Parameters
    ----------
    X : array of shape (n_conditions, n_features) or (n_runs, n_conditions, n_features)
        Mean response to each condition, for example in each voxel, vertex, sensor or neuron. If there are runs,
        distances are squared Euclidean distances that are cross-validated between runs, so noise adds nothing to them
        on average; whiten the features first to obtain crossnobis distances.
    model : array of shape (n_conditions, n_conditions), its condensed triangle, or Rdm
        Distances of the model. If it and X have names of the conditions, these are matched.
    neighbours : sparse matrix of shape (n_centres, n_features), or sequence of arrays of int or of masks
        The features in the neighbourhood of each centre: the nonzero entries of a row, or their numbers. See
        `neighbours_in_radius`; graphs of nilearn, MNE and scikit-learn are such matrices.
    metric : {'correlation', 'cosine', 'euclidean'}
        Distance between conditions. It must be 'euclidean' if there are runs.
    names : sequence of str, optional
        Name of each centre. Default: numbers from 0.
    n_permutations : int
        Number of permutations of the conditions.
    blocks : array of shape (n_conditions,), optional
        Conditions are permuted within these blocks, for example sessions.
    alpha : float
        Significance level of the corrected p-values.
    seed : int, Generator or None
    missing : {'refuse', 'drop'}
        Whether conditions with NaN, or without distances in the model, raise an error, or are left out and counted.

    Returns
    -------
    Searchlight
        One line per centre, NaN with a reason where a condition has no distance. `values` is an array for a map.

    Notes
    -----
    The test is for one subject, or for the mean over subjects. It is valid if the conditions are exchangeable: not if
    they were recorded in one fixed order, because slow changes then resemble a model that depends on the order. If at
    least 12 conditions are similar to their neighbours both in the data and in the model, a warning says so.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> size = rng.permutation(np.arange(12.0))
    >>> model = np.abs(np.subtract.outer(size, size))
    >>> places = np.argwhere(np.ones((5, 5, 4)))
    >>> X = rng.standard_normal((12, 100))
    >>> X[:, places[:, 0] == 0] += size[:, None] * rng.standard_normal(20)
    >>> found = searchlight(X, model, neighbours_in_radius(places, 1.5), metric="euclidean")
    >>> sum(each.significant for each in found), int((places[:, 0] < 2).sum())
    (40, 40)
    """
    check.choice(metric, METRICS, "metric")
    check.fraction(alpha, "alpha", closed=False)
    array = _responses(X, metric)
    empty = np.asarray(np.isnan(array).all(axis=(0, 1)))
    graph = _drop_features(_neighbourhoods(neighbours, len(empty)), empty)
    patterns, distances, blocks = _conditions(X, np.where(empty, 0.0, array), model, blocks, missing)
    n_conditions = patterns.shape[1]
    n_centres = len(graph.indptr) - 1
    labels = [str(place) for place in range(n_centres)] if names is None else kinds.names(names, "names")
    if len(labels) != n_centres:
        raise ValueError(f"names must have one entry for each of the {n_centres} centres, got {len(labels)}")
    if blocks is None:
        _warn_of_order(patterns.mean(axis=0), square(distances, n_conditions))
    state_other_voxel_order(patterns.reshape(-1, patterns.shape[2]), getattr(neighbours, _PLACES, None))
    ranks = centred_ranks(distances[None])[0]
    if np.isnan(ranks).any():
        raise ValueError("model must have unequal distances, got equal ones")
    models, exchanged = permute_model(ranks, n_conditions, n_permutations, alpha, blocks, seed)
    # For each centre: the value, how many draws are at least as large, and the mean and sd of the draws.
    table, maxima = np.full((4, n_centres), np.nan), np.full(len(models), -np.inf)
    with single_threaded_blas():
        for centres, rdms in track(_distances(patterns, graph, metric), -(-n_centres // _CENTRES), "sets of centres"):
            complete = ~np.isnan(rdms).any(axis=1)
            scores = centred_ranks(rdms[complete]) @ models.T
            scored = ~np.isnan(scores[:, 0])
            scores, places = scores[scored], centres[complete][scored]
            draws = scores[:, 1:]
            at_least = (draws >= scores[:, :1] - TIE).sum(axis=1)
            table[:, places] = scores[:, 0], at_least, draws.mean(axis=1), draws.std(axis=1)
            maxima = np.maximum(maxima, scores.max(axis=0, initial=-np.inf))
    if (sizes := np.diff(graph.indptr)).max(initial=0) == 1 < graph.shape[1]:
        state_warning("every neighbourhood has one feature; check the unit of the radius")
    shared: dict[str, Any] = {
        **{"alpha": alpha, "best": 1.0, "n_rows": n_conditions, "n_draws": len(models) - 1, "seed": number(seed)},
        "exchanged": "the conditions" if exchanged == "all rows" else exchanged,
    }
    return Searchlight(
        **_numbers(table, maxima, labels, sizes, shared),
        metric="cross-validated euclidean" if len(patterns) > 1 else metric,
        n_conditions=n_conditions,
    )


def permute_model(
    ranks: Vector, n: int, n_permutations: int, alpha: float, blocks: Any, seed: Seed
) -> tuple[Matrix, str]:
    """Return ranks of the distances between n conditions, then after permutations of these, and what is permuted."""
    n_permutations = check.count(n_permutations, "n_permutations")
    drawn, exchanged = draw_permutations(n, n_permutations, alpha, design={"blocks": blocks}, seed=seed)
    whole, (i, j) = square(ranks, n), np.triu_indices(n, k=1)
    return np.array([whole[order[i], order[j]] for order in identity_first(drawn)]), exchanged


def _warn_of_order(*sides: Matrix) -> None:
    """Warn if conditions next to one another are similar, both in the data and in the model."""
    if signs := find_dependence([DiagnosticRows(side) for side in sides], screened=True).signs:
        warn(
            f"p-values may be too small: with conditions as rows, {signs}, in the data and in the model. If the "
            "conditions were recorded in this order, slow changes resemble the model: pass their sessions or stretches "
            "of time as blocks=",
            CalibrationWarning,
        )


def neighbours_in_radius(coordinates: ArrayLike, radius: float, centres: ArrayLike | None = None) -> sparse.csr_array:
    """Return the graph of all features within a radius of each centre.

    Parameters
    ----------
    coordinates : array of shape (n_features, n_dimensions), or mask
        Place of each feature. A mask (array of booleans, or image of nibabel with an affine matrix) stands for the
        places of its voxels, in the order of ``data[mask]``.
    radius : float
        Largest distance from the centre, in the unit of the coordinates.
    centres : array of shape (n_centres, n_dimensions), optional
        Places of the centres. Default: every feature is a centre.

    Returns
    -------
    sparse array of shape (n_centres, n_features)
        It keeps the places of the features, so that `searchlight` can say whether the features seem to be in another
        order.

    Examples
    --------
    >>> neighbours_in_radius([[0.0], [1.0], [3.0]], 1.0).toarray().astype(int).tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """
    from scipy.spatial import cKDTree

    given: Any = coordinates
    if hasattr(given, "affine") and hasattr(given, "dataobj"):
        given = np.argwhere(np.asarray(given.dataobj) != 0) @ given.affine[:3, :3].T + given.affine[:3, 3]
    elif getattr(given, "dtype", np.dtype(float)).kind == "b":
        given = np.argwhere(np.asarray(given))
    places = check.require_squarable(check.matrix(given, "coordinates", min_rows=1), "coordinates")
    middles = places
    if centres is not None:
        middles = check.require_squarable(check.matrix(centres, "centres", min_rows=1), "centres")
        if middles.shape[1] != places.shape[1]:
            raise ValueError(f"centres must have {places.shape[1]} coordinates each, got {middles.shape[1]}")
    lists: Any = cKDTree(places).query_ball_point(middles, check.positive(radius, "radius"), return_sorted=True)
    indptr = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
    indices = np.concatenate([np.asarray(each, dtype=np.intp) for each in lists])
    graph = sparse.csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=(len(middles), len(places)))
    setattr(graph, _PLACES, places)
    return graph


_PLACES = "feature_places"
"""Attribute of a graph with the places of the features, from which a searchlight checks their order."""


def _responses(X: ArrayLike, metric: str) -> NDArray[np.float64]:
    """Return responses of shape (n_runs, n_conditions, n_features)."""
    array = check.real(X, "X")
    if array.ndim not in (2, 3):
        raise ValueError(
            f"X must be (n_conditions, n_features) or (n_runs, n_conditions, n_features), got shape {array.shape}"
            + "; of volumes, pass X[:, mask] and neighbours_in_radius(mask, radius)" * (array.ndim > 3)
        )
    if array.ndim == 3 and (metric != "euclidean" or len(array) < 2):
        raise ValueError(
            f"metric must be 'euclidean' and X must have at least 2 runs for cross-validated distances, got {metric!r} "
            f"and {count(len(array), 'run')}"
        )
    return array if array.ndim == 3 else array[None]


def _conditions(
    X: ArrayLike,
    responses: NDArray[np.float64],
    model: ArrayLike | Rdm,
    blocks: ArrayLike | None,
    missing: MissingRows,
) -> tuple[NDArray[np.float64], Vector, Any]:
    """Return responses, distances of the model and blocks of the same conditions, matched by name."""
    n_runs, n, n_features = responses.shape
    rdm = model if isinstance(model, Rdm) else Rdm(model, "model")
    known = split_names(X, "X")[1]
    if rdm.n_rows != n:
        require_conditions(rdm, None if known is None else known.values.tolist())
        raise ValueError(f"model must have distances between the {n} conditions of X, got {rdm.n_rows}")
    rows = np.moveaxis(responses, 1, 0).reshape(n, -1)
    names = known if n_runs == 1 else None
    named = rows if names is None else NamedRows(rows, names)
    sides, along = select_rows(
        {"X": named, "model": rdm}, {"blocks": blocks}, missing=missing, metric="euclidean", align=True
    )
    rdm, used = sides["model"], check.matrix(sides["X"], "X", min_rows=_FEWEST_CONDITIONS)
    if rdm.n_missing:
        none = np.flatnonzero(rdm.rows_without_distances)
        lacking = f", all of {check.join_items(none if known is None else known.values[none])}" if len(none) else ""
        raise ValueError(
            f"model must have no missing distances, got {rdm.n_missing} (NaN){lacking}; to leave out conditions "
            "without distances, pass missing='drop'"
        )
    return np.moveaxis(used.reshape(len(used), n_runs, n_features), 0, 1), rdm.condensed, along["blocks"]


def _drop_features(graph: sparse.csr_array, empty: NDArray[np.bool_]) -> sparse.csr_array:
    """Leave features without any number out of all neighbourhoods, and state which neighbourhoods lack their centre."""
    n_centres, n_features = cast(Any, graph).shape
    if n_centres == n_features and (n_alone := int((cast(Any, graph).diagonal() == 0).sum())):
        state(f"{n_alone:,} of {n_centres:,} neighbourhoods do not contain their centre")
    if empty.any():
        state(f"{int(empty.sum()):,} of {len(empty):,} features without any number (NaN) left out")
        graph.data = ~empty[graph.indices]
        graph.eliminate_zeros()
    return graph


def _neighbourhoods(neighbours: Any, n_features: int) -> sparse.csr_array:
    """Return the features of each centre as the stored entries of a sparse matrix."""
    if sparse.issparse(neighbours):
        graph: Any = sparse.csr_array(cast(Any, neighbours), copy=True)
        if graph.dtype.kind == "f" and (n_zeros := int((graph.data == 0).sum())):
            raise ValueError(
                f"neighbours must have no stored zeros, got {n_zeros:,}. In a graph of distances they are neighbours: "
                "pass one of connectivity. Otherwise remove them with eliminate_zeros()"
            )
        graph.eliminate_zeros()
        if graph.shape[1] != n_features:
            raise ValueError(
                f"neighbours must have one column for each of the {n_features} features, got {graph.shape[1]}"
            )
        return cast(sparse.csr_array, graph)
    if isinstance(neighbours, np.ndarray) and neighbours.ndim == 2 and neighbours.dtype.kind in "bf":
        # SciPy has no sparse matrices of half precision or foreign byte order.
        return _neighbourhoods(sparse.csr_array(neighbours != 0), n_features)
    lists = [_numbers_of_features(each, n_features) for each in kinds.iterable(neighbours, "neighbours", "arrays")]
    if not lists:
        raise ValueError("neighbours must have at least one centre, got none")
    indices = np.concatenate(lists)
    outside = np.unique(indices[(indices != np.floor(indices)) | (indices < 0) | (indices >= n_features)])
    if len(outside):
        hint = "; if they count from 1, subtract 1" if (outside == n_features).all() and (indices > 0).all() else ""
        raise ValueError(
            f"neighbours must contain numbers of features from 0 to {n_features - 1}, got "
            f"{check.join_items(f'{value:.10g}' for value in outside.tolist())}{hint}"
        )
    if len(indices) and np.array_equal(np.unique(indices), np.arange(1, n_features)):
        state("no neighbourhood contains feature 0, but all others occur (if neighbours count from 1, subtract 1)")
    indptr = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
    return sparse.csr_array(
        (np.ones(len(indices), dtype=bool), indices.astype(np.intp), indptr), shape=(len(lists), n_features)
    )


def _numbers_of_features(each: Any, n_features: int) -> Index:
    """Return the sorted numbers of the features of one centre, which may be a mask."""
    array = to_host(each, "neighbours")
    if array.ndim != 1 or (array.dtype.kind == "b" and len(array) != n_features):
        raise ValueError(
            f"neighbours must contain numbers of features or masks of {n_features} features, got shape {array.shape}; "
            "for a mask of a volume, pass neighbours_in_radius(mask, radius)"
        )
    return np.flatnonzero(array) if array.dtype.kind == "b" else np.unique(check.real(each, "neighbours"))


def _distances(
    patterns: NDArray[np.float64], graph: sparse.csr_array, metric: Metric
) -> Iterator[tuple[Index, Matrix]]:
    """Yield sets of centres with their distances, NaN where a condition has none."""
    n_conditions = patterns.shape[1]
    i, j = np.triu_indices(n_conditions, k=1)
    for start in range(0, len(graph.indptr) - 1, _CENTRES):
        centres = np.arange(start, min(start + _CENTRES, len(graph.indptr) - 1))
        rdms = np.full((len(centres), len(i)), np.nan)
        for line, centre in enumerate(centres):
            local = patterns[:, :, graph.indices[graph.indptr[centre] : graph.indptr[centre + 1]]]
            if local.shape[2] > (metric == "correlation"):
                rdms[line] = _local_distances(local, metric)[i, j]
        yield centres, rdms


_ROUNDING = 64 * float(np.finfo(float).eps)
"""Rounding error of a distance, relative to the sum of squares from which it is computed."""


def _local_distances(local: NDArray[np.float64], metric: Metric) -> Matrix:
    """Return a square matrix whose order is that of the distances."""
    if len(local) > 1:
        centred = local - local.mean(axis=(0, 1))
        total = centred.sum(axis=0)
        products = total @ total.T - np.einsum("rif,rjf->ij", centred, centred)
        squares = np.diagonal(products)
        distances = squares[:, None] + squares - 2 * products
        # If all features are constant in a run, the distances are 0, and what remains is rounding.
        level = _ROUNDING * float(np.vdot(centred, centred))
        return cast(Matrix, np.where(np.abs(distances) <= level, 0.0, distances))
    rows = standard_rows(local[0], metric)
    products = rows @ rows.T
    squares = np.diagonal(products)
    if metric == "euclidean":
        return cast(Matrix, squares[:, None] + squares - 2 * products)
    without = squares < 0.5
    return np.where(without[:, None] | without, np.nan, 1 - products)


def _numbers(
    table: Matrix, maxima: Vector, names: Sequence[str], sizes: Index, shared: dict[str, Any]
) -> dict[str, Any]:
    """Return the centres, and the largest value compared with the maxima of the draws."""
    n_draws = len(maxima) - 1
    values = table[0]
    if np.isnan(values).all():
        maximum = Number(name="no centre", value=np.nan, reason="no centre has distances", **shared)
    else:
        best = int(np.nanargmax(values))
        of_null = {name: value for name, value in shared.items() if name != "n_draws"}
        maximum = number_against_null(names[best], values[best], maxima[1:], **of_null)
    corrected = p_of_draws(n_draws - np.searchsorted(np.sort(maxima[1:]), values - TIE), n_draws)
    centres = []
    for name, (value, at_least, chance, spread), p, size in zip(names, table.T, corrected, sizes, strict=True):
        fields = {"name": name, "n_features": int(size), **shared}
        if np.isnan(value):
            reason = "a condition has no distance here, or all distances are equal"
            centres.append(Centre(value=np.nan, reason=reason, **fields))
            continue
        fields |= {"chance": float(chance), "chance_sd": float(spread), "threshold": maximum.threshold}
        p_value = p_of_draws(float(at_least), n_draws)
        centres.append(Centre(value=float(value), p_value=p_value, corrected_p_value=float(p), **fields))
    return {"numbers": tuple(centres), "maximum": maximum}
