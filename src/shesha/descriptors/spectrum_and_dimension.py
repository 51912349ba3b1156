"""Descriptors of one representation: their registry, the spread of variance, and the intrinsic dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from shesha.charts import spectra
from shesha.inputs import validation as check
from shesha.kernels import spectrum
from shesha.kernels.neighbours import dimension_of_ratios, neighbour_distances
from shesha.kernels.threads import single_threaded_blas
from shesha.moments import SummedRepresentation
from shesha.report import Part, Table, Text, options_in_words
from shesha.results import sentence_parts as say
from shesha.results.base import Result, draws_axes
from shesha.support import types as kinds
from shesha.support.seeds import generator, number
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.support.wording import count
from shesha.views import NeighbourDistances, Rdm, Representation, Rows, Variances, View, rows_or_distances
from shesha.views.registry import Registry, ViewScore

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Data = ArrayLike | Representation | Rows | SummedRepresentation


@dataclass(frozen=True, kw_only=True)
class Descriptor(ViewScore):
    """A number that describes one representation, with its declared properties, which tests verify."""

    def check_data(self, X: Data) -> Rows:
        """Check the representation; values are checked when they are read."""
        rows = rows_or_distances(X, min_rows=2)
        if not isinstance(rows, Rows):
            raise TypeError(f"X must be features for {self.name}, got distances between rows")
        return rows

    def build(self, source: Rows | SummedRepresentation, **options: Any) -> float:
        """Compute the descriptor from checked data; raise NotEstimable with a reason if this is impossible."""
        with single_threaded_blas():
            return self.number(source.view(self.view), **options)


DESCRIPTORS = Registry(Descriptor, "descriptor")
P = ParamSpec("P")
V = TypeVar("V", bound=View)


def descriptor(
    **declared: Any,
) -> Callable[[Callable[Concatenate[V, P], float]], Callable[Concatenate[Data, P], float]]:
    """Register a function of a view as a descriptor, and return a function of a matrix.

    Parameters
    ----------
    **declared
        Fields of `Descriptor`: at least view, title, bounds, means, means_not and reference.

    Examples
    --------
    >>> import shesha
    >>> [name for name in shesha.descriptors.descriptors()]
    ['effective_rank', 'participation_ratio', 'corrected_participation_ratio', 'anisotropy', 'intrinsic_dimension']
    """
    invariant = check.check_invariances(declared.get("invariant", ()))
    return DESCRIPTORS.mark(_describe, **{**declared, "invariant": invariant})


def _describe(declared: Descriptor, X: Data, *args: Any, **options: Any) -> float:
    if args:
        raise TypeError(f"{declared.function.__name__}() must take one representation; options are keyword-only")
    return declared.build(X if isinstance(X, SummedRepresentation) else declared.check_data(X), **options)


def descriptors() -> dict[str, Descriptor]:
    """All registered descriptors by name, including those of other packages, in order of registration."""
    return DESCRIPTORS.load()


def card(descriptor: str | Descriptor | Callable[..., float]) -> str:
    """Return a text card that describes a descriptor.

    Parameters
    ----------
    descriptor : str, Descriptor or function
        The descriptor, its name, or its title. Case and punctuation are ignored.

    Raises
    ------
    ValueError
        If the name is unknown. The message suggests similar names.

    Examples
    --------
    >>> card("anisotropy").split(".")[0]
    'anisotropy: Anisotropy'
    """
    chosen = DESCRIPTORS.get(descriptor, "descriptor")
    return chosen.card("shesha.descriptors", {"options": options_in_words(chosen.options)})


@descriptor(
    view=Variances,
    title="Effective rank",
    bounds=(1, float("inf")),
    means="Effective number of directions (exp of the entropy of the singular values; also called RankMe).",
    means_not="A higher value is not better, because noise fills all directions. The value grows with the number "
    "of rows.",
    reference="Roy and Vetterli 2007",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def effective_rank(view: Variances) -> float:
    """Effective number of directions: exp of the entropy of the singular values, scaled to sum to 1.

    The rows are centred. They are read in blocks, so they may be on disk.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 2 rows and finite values.

    Returns
    -------
    float
        Effective rank, from 1 to min(n_samples - 1, n_features). NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> round(effective_rank(np.eye(5)), 6)
    4.0
    """
    return spectrum.effective_rank(_shares(view))


@descriptor(
    view=Variances,
    title="Participation ratio",
    bounds=(1, float("inf")),
    means="Effective number of directions, dominated by the directions of largest variance.",
    means_not="If the ratio is far below the effective rank, a few directions dominate a long tail. The value grows "
    "with the number of rows.",
    reference="Gao et al. 2017",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def participation_ratio(view: Variances) -> float:
    """Effective number of directions: squared sum of the variances divided by the sum of their squares.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 2 rows and finite values.

    Returns
    -------
    float
        Participation ratio, from 1 to min(n_samples - 1, n_features). NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> round(participation_ratio(np.diag([3.0, 0.1, 0.1])), 2)
    1.0
    """
    return spectrum.participation_ratio(_shares(view))


@descriptor(
    view=Variances,
    title="Participation ratio, corrected",
    bounds=(0, float("inf")),
    means="An estimate of the participation ratio in the population of rows.",
    means_not="The estimate is inaccurate if it exceeds the number of rows.",
    reference="arXiv 2509.26560",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def corrected_participation_ratio(view: Variances, *, sample: spectrum.Sample = "rows") -> float:
    """Participation ratio, corrected for sampling of rows, columns or both.

    The plain ratio cannot exceed the number of rows or columns. If either is a sample, the ratio is too small: about
    1/plain = 1/n_samples + 1/n_features + 1/true. Here, the squared sum and the sum of squares of the variances are
    both estimated without bias, as averages over products of different rows and columns. Use this descriptor to compare
    representations with different numbers of rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows and finite values.
    sample : {'rows', 'columns', 'both'}
        Which dimension is a random sample: rows (inputs), if all units of a network are known; columns (units), if only
        some neurons are recorded; or both.

    Returns
    -------
    float
        Corrected ratio, greater than 0. Sampling error can raise it above the number of features. NaN, with a warning,
        if all rows are equal, or if rows or columns are too few for a positive sum of squares.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 100))
    >>> round(participation_ratio(X)), round(corrected_participation_ratio(X))
    (33, 100)
    """
    check.choice(sample, spectrum.SAMPLES, "sample")
    shares = _shares(view)
    if sample != "columns" and view.moments.n_rows < spectrum.FEWEST_ROWS:
        raise NotEstimable(f"the correction needs at least 4 rows, got {view.moments.n_rows}")
    value = spectrum.corrected_participation_ratio(shares, view.moments, sample)
    if value != value:
        sampled = "rows or columns" if sample == "both" else sample
        raise NotEstimable(f"there are too few {sampled} to estimate this many directions")
    return value


@descriptor(
    view=Variances,
    title="Anisotropy",
    bounds=(0, 1),
    means="Share of the variance along the first principal direction.",
    means_not="A high value may come from a strong signal or from an artefact, so inspect this direction.",
    reference="Ethayarajh 2019",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def anisotropy(view: Variances) -> float:
    """Share of the variance along the first principal direction.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 2 rows and finite values.

    Returns
    -------
    float
        Share, in (0, 1]; NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> round(anisotropy(np.outer(np.arange(5.0), [1, 2, 3])), 6)
    1.0
    """
    return spectrum.anisotropy(_shares(view))


def _shares(view: Variances) -> Vector:
    if not view.shares.any():
        raise NotEstimable("all rows are equal")
    return view.shares


def plot_spectra(representations: Mapping[str, Any], ax: Axes | None = None, *, ordered: bool = False) -> Axes:
    """Draw how the variance of each representation is distributed over its principal directions.

    Parameters
    ----------
    representations : mapping of str to array of shape (n_rows, n_features)
        The representations, by name.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.
    ordered : bool
        Whether the representations are in a meaningful order, as layers are. If so, colours run from dark to light.

    Returns
    -------
    matplotlib Axes
    """
    kinds.mapping(representations, "representations")
    given = {name: Representation.build(X).fold(Variances.folding, None) for name, X in representations.items()}
    return spectra(
        {name: Variances.build(matrix).shares for name, matrix in given.items()},
        ordered=check.boolean(ordered, "ordered"),
        ax=ax,
    )


_RANKS = (1, 2, 4, 8, 16, 32)
_EQUAL = 1e-10


@descriptor(
    view=NeighbourDistances,
    title="Intrinsic dimension",
    bounds=(0, float("inf")),
    means="Number of coordinates that rows need locally, from the growth of the number of neighbours with distance "
    "(Gride).",
    means_not=(
        "The value is not the dimension of the data: it depends on the scale and the number of rows, and estimators "
        "disagree (arXiv 2604.20276). Look at the curve of `shesha.descriptors.dimension_over_scale`."
    ),
    reference="Denti et al. 2022; Facco et al. 2017",
    invariant=("scaling", "translation", "orthogonal"),
)
def intrinsic_dimension(view: NeighbourDistances, *, rank: int = 1) -> float:
    """Intrinsic dimension from each row's distances to its neighbours of rank r and 2 r.

    Rank 1 gives the two-nearest-neighbour estimator (2NN), which describes the smallest scale, including the noise at
    this scale. Larger ranks describe larger scales. Repeated rows count once. Run time grows as n^2 d.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 3 distinct rows and finite values.
    rank : {1, 2, 4, 8, 16, 32}
        Rank r of the nearer neighbour. The data must have more than 2 r distinct rows.

    Returns
    -------
    float
        Dimension, greater than 0. NaN, with a warning, if all rows are equal or if the two neighbours of each row are
        equally far away.

    Examples
    --------
    >>> import numpy as np
    >>> plane = np.random.default_rng(0).random((500, 2)) @ np.ones((2, 9)) * [1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> round(intrinsic_dimension(plane), 1)
    1.0
    """
    if check.count(rank, "rank") not in _RANKS:
        raise ValueError(f"rank must be one of {', '.join(map(str, _RANKS))}, got {rank}")
    place = _RANKS.index(rank) + 1
    if place >= view.distances.shape[1]:
        raise NotEstimable(f"rank {rank} needs more than {2 * rank} distinct rows, got {len(view.rows)}")
    dimension = dimension_at_rank(view.distances, place)
    if not np.isfinite(dimension):
        raise NotEstimable("neighbours of different ranks have equal distances")
    return dimension


def dimension_at_rank(distances: Matrix, place: int) -> float:
    """Return the dimension from distances at one rank and half of it, without rows that lack either."""
    ratios = np.log(distances[:, place] / distances[:, place - 1])
    # Distances that differ only by rounding count as equal.
    ratios = np.where(ratios > _EQUAL, ratios, 0.0)[np.isfinite(ratios)]
    return dimension_of_ratios(ratios, int(2 ** (place - 1)))


_N_SPLITS = 20
_BEWARE = (
    "Estimators of intrinsic dimension do not agree with one another, and each depends on the number of rows and on "
    "the scale. A single number is therefore not a property of the data. Compare curves of this one estimator, with "
    "equal numbers of rows, and use the parts in which they are flat."
)


@dataclass(frozen=True)
class DimensionCurve(Result):
    """Intrinsic dimension as a function of scale, estimated by Gride from distances between neighbours."""

    COLUMNS: ClassVar = {"rank": "ranks", "distance": "distances", "dimension": "dimensions", "error": "errors"}

    ranks: tuple[int, ...]
    """Rank of the nearer of the two neighbours that are compared; the farther one has twice this rank."""
    dimensions: tuple[float, ...]
    errors: tuple[float, ...]
    """Standard errors over samples of rows, estimated from random halves of the rows."""
    distances: tuple[float, ...]
    """Mean distance to the two neighbours, which defines the scale."""
    n_rows: int
    """Number of distinct rows."""
    n_repeated: int
    """Number of rows left out because they repeat another row."""
    n_splits: int
    seed: int | None = None

    @property
    def headline(self) -> str:
        """The dimension at the smallest and at the largest scale, as a sentence."""
        first, last = self.dimensions[0], self.dimensions[-1]
        return (
            f"The dimension is {first:.2f} at the smallest scale and {last:.2f} at the largest "
            f"({len(self.ranks)} scales)."
        )

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the dimension against the distance, with a band of two standard errors."""
        from shesha.charts import curves

        labels = ("mean distance between neighbours", "intrinsic dimension")
        ax = curves(self.distances, {"estimate, with two standard errors": self.dimensions}, labels=labels, ax=ax)
        dimensions, errors = np.array(self.dimensions), np.array(self.errors)
        ax.fill_between(self.distances, dimensions - 2 * errors, dimensions + 2 * errors, alpha=0.2, linewidth=0)
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        return ax

    def _numbers(self) -> tuple[Part, ...]:
        """Return one row per scale, and a caution about interpretation."""
        columns = {
            "distance": self.distances,
            "dimension": self.dimensions,
            "std. error": self.errors,
        }
        names = [f"{rank} and {2 * rank}" for rank in self.ranks]
        left_out = f" ({count(self.n_repeated, 'repeated row')} left out)" if self.n_repeated else ""
        table = Table.of(names, columns, "Dimension over scale", "neighbours")
        return (table, Text(f"{self.n_rows:,} rows{left_out}.", ""), Text(_BEWARE, ""))

    def _claim(self) -> str:
        lines = zip(self.dimensions, self.errors, self.ranks, strict=True)
        scales = [f"{value:.2f} +- {error:.2f} at neighbours {rank} and {2 * rank}" for value, error, rank in lines]
        head = f"{say.add_source('intrinsic_dimension', 'Intrinsic dimension')} by Gride over {self.n_rows:,} rows"
        return say.listing(head, scales, f"errors from {say.count(self.n_splits, 'random halving')}", others="scales")


def dimension_over_scale(X: ArrayLike | Representation | Rows | Rdm, *, seed: Seed = 0) -> DimensionCurve:
    """Estimate the intrinsic dimension at increasing scales, with standard errors.

    Noise fills all directions at small scales, and curvature and edges affect large scales. Only where the curve is
    flat is the dimension a property of the data. Standard errors come from random halves of the rows, because the two
    halves differ as much as two samples of half the size do. (The usual likelihood-based error treats overlapping
    neighbourhoods as independent. On uniform data, its 95 % intervals contained the true dimension in only 78 to 93 %
    of samples.) Two standard errors contained the mean over samples in 84 to 100 % of 120 samples, at every scale of
    eight kinds of data. If more than a tenth of the rows are neighbours, errors are rather too large than too small.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 6 distinct rows and finite values. Rows must be independent; time series and
        repeated measurements lower the curve.
    seed : int, Generator or None
        Seed of the random halves.

    Returns
    -------
    DimensionCurve
        Dimension at each scale, with its standard error; `plot()` draws the curve.

    Raises
    ------
    NotEstimable
        If there are fewer than 6 distinct rows.

    Examples
    --------
    >>> import numpy as np
    >>> plane = np.random.default_rng(0).random((600, 2)) @ np.random.default_rng(1).random((2, 20))
    >>> found = dimension_over_scale(plane)
    >>> [round(d) for d in found.dimensions]
    [2, 2, 2, 2, 2, 2]
    """
    rows = rows_or_distances(X, min_rows=3)
    if not isinstance(rows, Rows):
        raise TypeError("X must be features, got distances between rows")
    rng = generator(seed)
    with single_threaded_blas():
        view = rows.view(NeighbourDistances)
        n = len(view.rows)
        if n < 6:
            raise NotEstimable(f"standard errors need at least 6 distinct rows, got {n}")
        ranks = view.powers_of_two_up_to(n // 2 - 1)
        halves = np.zeros((_N_SPLITS, n), dtype=bool)
        for half in halves:
            half[rng.permutation(n)[: n // 2]] = True
        tables = neighbour_distances(view.rows, ranks, halves)
    places = range(1, len(ranks))
    return DimensionCurve(
        ranks=tuple(int(rank) for rank in ranks[:-1]),
        dimensions=tuple(dimension_at_rank(tables[0], place) for place in places),
        errors=_errors(tables[1:], halves, ranks, n),
        distances=tuple(float(tables[0][:, place - 1 : place + 1].mean()) * view.unit for place in places),
        n_rows=n,
        n_repeated=view.n_repeated,
        n_splits=_N_SPLITS,
        seed=number(seed),
    )


_TENTH = 10


def _errors(tables: Matrix, halves: Matrix, ranks: Index, n: int) -> tuple[float, ...]:
    """Return the standard error at each scale.

    Among many neighbours, a rank in a half is another scale than in the whole. If the larger rank exceeds a tenth
    of the rows, the error is at least that of half the rank, which is the same scale in a half.
    """
    errors = [_error(tables, halves, place) for place in range(1, len(ranks))]
    wide = [place > 0 and _TENTH * ranks[place + 1] > n for place in range(len(errors))]
    return tuple(max(errors[i - 1], error) if wide[i] else error for i, error in enumerate(errors))


def _error(tables: Matrix, halves: Matrix, place: int) -> float:
    """Return the standard error: the difference of two halves has four times the variance of the whole."""
    dimensions = [
        (dimension_at_rank(table[half], place), dimension_at_rank(table[~half], place))
        for table, half in zip(tables, halves, strict=True)
    ]
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(np.mean(np.diff(dimensions, axis=1) ** 2)) / 2)
