"""A stability score with its declared properties, its decorator, and the request from which it is estimated."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import align_labels, validation as check
from shesha.kernels import feature_halves
from shesha.nulls.design_builder import exchange
from shesha.nulls.group_halves import group_kinds
from shesha.nulls.restricted_permutations import Exchange
from shesha.report import options_in_words
from shesha.support.seeds import generator, spawn
from shesha.support.types import Index, Labels, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import (
    Covariates,
    Rdm,
    Representation,
    Rows,
    UndirectedHalfError,
    UndirectedRowsError,
    View,
    align_rows,
    representation_from,
    rows_or_distances,
)
from shesha.views.registry import Registry, ViewScore


@dataclass(frozen=True)
class Classes:
    """Class labels: one code per row, counted from 0, and the class name for each code."""

    codes: Labels
    names: NDArray[Any]

    @property
    def n_classes(self) -> int:
        """Number of classes, including classes without rows."""
        return len(self.names)

    @cached_property
    def members(self) -> list[Index]:
        """Row numbers of each class."""
        return [np.flatnonzero(self.codes == code) for code in range(self.n_classes)]

    @property
    def present(self) -> list[Index]:
        """Row numbers of each class that has at least one row."""
        return [rows for rows in self.members if len(rows)]

    def take(self, rows: Index) -> Classes:
        """Labels of a selection of rows, in the given order."""
        return Classes(self.codes[rows], self.names)


@contextmanager
def explain_undirected_rows(name: str | None = None) -> Iterator[None]:
    """Convert errors about zero or constant rows to the documented ones; `name` is the user's argument."""
    try:
        yield
    except UndirectedRowsError as error:
        raise ValueError(
            f"{name or error.name} must have no {error.kind} row under the {error.metric} metric, got {error.kind} "
            f"rows {check.join_items(error.rows)}; remove them, or use metric='euclidean'; "
            "shesha.estimate and audits have missing='drop'"
        ) from None
    except UndirectedHalfError as error:
        kind = "zero" if error.metric == "cosine" else "constant"
        raise ValueError(
            f"X must have no row that is {kind} within a half of its features under the {error.metric} metric, "
            f"got {kind} halves in rows {check.join_items(error.rows)}; use metric='euclidean', or "
            "shesha.stability.estimate, which leaves out the pairs of such rows"
        ) from None


Needs = Literal["rows", "labels", "replicates"]
DATA_NAMES: Mapping[Needs, tuple[str, ...]] = {"rows": ("X",), "labels": ("X", "y"), "replicates": ("X_a", "X_b")}
"""Names of the data arguments of each kind of function."""


@dataclass(frozen=True, kw_only=True)
class Variant(ViewScore):
    """A stability score of a representation, with its declared and tested properties."""

    needs: Needs = "rows"
    estimator: Callable[..., Any] | None = field(default=None, repr=False)
    """Function that computes value, interval and null in one pass; None means one call per resample or shuffle."""
    estimand: bool = True
    """Whether the score has an identifiable estimand; if not, there is no interval and no chance level."""
    settings: Mapping[str, Any] | None = field(default=None, repr=False)
    """Options of the estimator and their defaults; None means the options of the function."""
    view_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    min_columns: int = 1
    min_classes: int = 2
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Values that options accept, which are checked before views are made."""
    require_classes: Callable[[Classes], None] | None = field(default=None, repr=False)
    """Function that raises an error for labels that have enough classes but are unsuitable for another reason."""
    samples_pairs: bool = False
    """Whether the estimator accepts the option `pairs` and, if it averages draws, also `target_se`."""
    place: int = 100
    """Position in lists of scores, which are sorted in ascending order."""
    alias: str = ""
    """Short name in the documented interface."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the score, starting with the main name."""
        return tuple(filter(None, (self.name, self.alias, self.title)))

    @property
    def has_chance(self) -> bool:
        """Whether there is a null distribution, from shuffled labels or from the estimator."""
        return self.estimand and (self.needs_labels or (self.needs == "rows" and self.estimator is not None))

    @property
    def needs_labels(self) -> bool:
        """Whether class labels are required."""
        return self.needs == "labels"

    @property
    def maximum(self) -> float | None:
        """Value that means perfect stability; None if there is none."""
        return float(self.bounds[1]) if np.isfinite(self.bounds[1]) else None

    @property
    def data(self) -> Mapping[str, str]:
        """The data of the public function: names of arguments and their types."""
        return dict.fromkeys(DATA_NAMES[self.needs], "ArrayLike")

    @cached_property
    def _options_of_view(self) -> frozenset[str]:
        """Names of the options that the view's constructor accepts."""
        return frozenset(inspect.signature(self.view.build).parameters) - {"seed"}

    @cached_property
    def estimator_options(self) -> dict[str, Any]:
        """The options that `estimate` and `chance` accept, and their defaults."""
        if self.settings is not None:
            return dict(self.settings)
        return {name: value for name, value in self.options.items() if name not in ("seed", "max_samples")}

    @property
    def averages_draws(self) -> bool:
        """Whether drawing more often makes the value more precise, which `target_se` requires."""
        return "n_draws" in self.estimator_options and self.samples_pairs

    @property
    def takes_distances(self) -> bool:
        """Whether distances between rows can be passed instead of features."""
        return self.view.takes_distances(**self.view_options)

    def __call__(self, *data: Any, **options: Any) -> float:
        """Compute the score of data that have not been checked; NaN with a warning if it is not estimable."""
        bound = self.signature.bind(*data, **options)
        bound.apply_defaults()
        chosen = dict(bound.arguments)
        try:
            with explain_undirected_rows():
                return _direct(self, [chosen.pop(name) for name in self.data], chosen)
        except NotEstimable as reason:
            return check.not_estimable(str(reason))

    def look(self, source: Rows | Rdm, options: Mapping[str, Any]) -> Any:
        """Return the view to which the function is applied."""
        chosen = {name: value for name, value in options.items() if name in self._options_of_view}
        return representation_from(source).view(self.view, **chosen, **self.view_options)

    def check_data(self, X: Any, name: str = "X") -> Rows | Rdm:
        """Check the representation; values are checked when they are read."""
        source = rows_or_distances(X, name, min_columns=self.min_columns)
        if isinstance(source, Rdm) and not self.takes_distances:
            raise TypeError(f"{name} must be features for {self.name}, got distances between rows")
        return source

    def check_labels(self, y: Any, n_rows: int) -> Classes:
        """Check the class labels, and return them as codes and names."""
        if y is None:
            raise ValueError(f"y must be given for the supervised variant {self.name!r}, got None")
        codes, names = check.labels(y, n_rows, min_classes=self.min_classes)
        classes = Classes(codes, names)
        if self.require_classes is not None:
            self.require_classes(classes)
        return classes

    def score(self, source: Rows | Rdm, classes: Classes | None, options: Mapping[str, Any]) -> float:
        """Compute the score of checked data; raise NotEstimable if there is no value."""
        labels = () if classes is None else (classes,)
        return self.number(self.look(source, options), *labels, **options)


def _direct(variant: Variant, data: list[Any], options: dict[str, Any]) -> float:
    """Check, subsample and score the data, with random draws in the order of the documented functions."""
    for name, allowed in variant.choices.items():
        check.choice(options[name], allowed, name)
    if variant.needs == "replicates":
        sides = {name: variant.check_data(X, name) for X, name in zip(data, DATA_NAMES["replicates"], strict=True)}
        a, b = align_rows(sides).values()
        return score_replicates(variant, a, b, options)
    rng = generator(options["seed"]) if "seed" in options else None
    limit = check.optional_count(options.get("max_samples"), "max_samples", minimum=4)
    source = variant.check_data(data[0])
    classes = None
    if variant.needs_labels:
        classes = variant.check_labels(align_labels(source, check.label_column(data[1], "y")), _n_rows(source))
    if limit is not None and _n_rows(source) > limit and rng is not None:
        chosen = rng.choice(_n_rows(source), limit, replace=False)
        source = source.take_rows(chosen)
        classes = None if classes is None else classes.take(chosen)
    return variant.score(source, classes, options if rng is None else {**options, "seed": rng})


def score_replicates(variant: Variant, a: Rows | Rdm, b: Rows | Rdm, options: Mapping[str, Any]) -> float:
    """Compute the score of two replicates."""
    if _n_rows(a) != _n_rows(b):
        raise ValueError(f"X_b must have as many rows as X_a ({_n_rows(a)}), got {_n_rows(b)}")
    views = []
    for side, name in ((a, "X_a"), (b, "X_b")):
        with explain_undirected_rows(name):
            views.append(variant.look(side, options))
    return variant.number(*views, **options)


def _n_rows(source: Rows | Rdm) -> int:
    return len(source) if isinstance(source, Rows) else source.n_rows


P = ParamSpec("P")
V = TypeVar("V", bound=View)
Data = ArrayLike | Rdm | Representation | Rows
VARIANTS = Registry(Variant, "variant")


@overload
def stability(
    *, needs: Literal["rows"] = "rows", **declared: Any
) -> Callable[[Callable[Concatenate[V, P], float]], Callable[Concatenate[Data, P], float]]: ...
@overload
def stability(
    *, needs: Literal["labels"], **declared: Any
) -> Callable[[Callable[Concatenate[V, Classes, P], float]], Callable[Concatenate[Data, ArrayLike, P], float]]: ...
@overload
def stability(
    *, needs: Literal["replicates"], **declared: Any
) -> Callable[[Callable[Concatenate[V, V, P], float]], Callable[Concatenate[Data, Data, P], float]]: ...
def stability(*, needs: Needs = "rows", **declared: Any) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Register a function of a view as a stability score, and return a function of a matrix.

    The decorated function takes a view and its options. If labels are needed, `Classes` come after the view; if
    replicates are needed, a second view comes after it. The returned function takes the data instead. Options that the
    view's constructor accepts are also passed to the view. A `seed` is converted to one generator for all random draws.
    If there are more than `max_samples` rows, a random subset is used. `docs/extending.md` shows how to define a score.

    Parameters
    ----------
    needs : {'rows', 'labels', 'replicates'}
        Data that the score needs: only rows, rows with class labels, or two measurements of the same rows.
    **declared
        Fields of `Variant`; at least view, title, bounds, means, means_not and reference are required.

    Examples
    --------
    >>> import shesha
    >>> shesha.feature_split.variant.bounds
    (-1, 1)
    """
    check.choice(needs, tuple(DATA_NAMES), "needs")
    invariant = check.check_invariances(declared.get("invariant", ()))
    return VARIANTS.mark(Variant.__call__, **{**declared, "needs": needs, "invariant": invariant})


def list_variants() -> dict[str, Variant]:
    """Return all registered scores by name, including those from other packages, in their declared order."""
    return {variant.name: variant for variant in sorted(VARIANTS.load().values(), key=lambda variant: variant.place)}


def card(score: str | Variant | Callable[..., float]) -> str:
    """Return the card that describes a stability score, as text.

    Parameters
    ----------
    score : str, Variant or function
        The score, one of its names, or its title. Case and punctuation are ignored.

    Raises
    ------
    ValueError
        If the name is unknown. The message suggests similar names.

    Examples
    --------
    >>> card("variance").split(".")[0]
    'variance_ratio: Variance between classes'
    """
    chosen = VARIANTS.get(score, "score")
    texts = {
        "needs": _needs(chosen),
        "distances": "accepted instead of features (shesha.Rdm)" if chosen.takes_distances else "",
        "options": options_in_words(chosen.options),
        "estimate": _estimate(chosen),
        "chance": _chance(chosen),
        "also called": chosen.alias,
    }
    return chosen.card("shesha.stability", texts)


def _needs(variant: Variant) -> str:
    rows = "rows" if variant.min_columns == 1 else f"rows of at least {variant.min_columns} columns"
    if variant.needs == "replicates":
        return f"two replicates of the same {rows}"
    return f"{rows} and class labels with at least {variant.min_classes} classes" if variant.needs_labels else rows


def _estimate(variant: Variant) -> str:
    if variant.needs == "replicates":
        return "no interval"
    if not variant.estimand:
        return "no interval, because the estimand is not identifiable"
    options = options_in_words(variant.estimator_options)
    return "with an interval over rows" + (f"; options: {options}" if options else "")


def _chance(variant: Variant) -> str:
    if not variant.has_chance:
        return "no null"
    return "by shuffled labels" if variant.needs_labels else "by random matching of the rows of the two parts"


@dataclass(frozen=True)
class Request:
    """A request to an estimator: checked data and settings."""

    variant: Variant
    source: Rows | Rdm
    """Data whose type and shape have been checked, but which have not been read, because they may be on disk."""
    classes: Classes | None
    options: dict[str, Any]
    n_bootstrap: int = 0
    n_permutations: int = 0
    target_se: float | None = None
    pairs: int | None = None
    seed: int | np.random.Generator | None = None
    design: Exchange | None = None
    """Which rows may be exchanged under the null; None means that all rows are exchangeable."""
    covariates: Covariates | None = None
    """The covariates that were regressed out of the features; None if there are none."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.source) if isinstance(self.source, Rows) else self.source.n_rows

    @property
    def n_features(self) -> int:
        """Number of features; 0 if only distances are known."""
        return self.source.shape[1] if isinstance(self.source, Rows) else 0

    @property
    def labels(self) -> Classes:
        """The class labels, for a variant that needs them."""
        assert self.classes is not None
        return self.classes

    @property
    def exchange(self) -> Exchange:
        """The exchange design for the rows."""
        return exchange(self.n_rows) if self.design is None else self.design

    @property
    def null_design(self) -> Exchange:
        """The design of the null; labels are shuffled within groups if all groups contain several classes.

        In that case, exchanging whole groups would leave most labels unchanged, or mix them only by the order of the
        rows.
        """
        design = self.exchange
        if design.group is None or design.block_length or self.classes is None or not self.variant.needs_labels:
            return design
        n_classes = self.classes.n_classes
        if (group_kinds(self.classes.codes, design.clusters, n_classes) < n_classes).any():
            return design
        blocks = np.unique(np.stack([design.block, design.clusters]), axis=1, return_inverse=True)[1]
        return Exchange(self.n_rows, blocks.reshape(-1), named=("rows within groups",))

    @property
    def empty_null(self) -> Vector:
        """The null distribution if the score has no value."""
        return np.full(self.n_permutations, np.nan)

    def orders(self) -> list[Index]:
        """Draw permutations of the rows, which are reproducible if the seed is a number."""
        return self.null_design.draws(self.n_permutations, spawn(self.seed, MATCHING)) if self.n_permutations else []

    def resamples(self) -> Matrix:
        """Draw the counts of each row in each resample: an array of shape (n_rows, n_bootstrap)."""
        rng = spawn(self.seed, RESAMPLING)
        if self.design is None:
            return feature_halves.row_counts(self.n_rows, self.n_bootstrap, rng)
        return np.stack([self.design.resample(rng) for _ in range(self.n_bootstrap)], axis=1).astype(np.float64)

    def resample_rows(self, rng: np.random.Generator) -> Index:
        """Draw the rows of one resample; class sizes vary, but every class keeps some rows."""
        if self.design is not None:
            return np.repeat(np.arange(self.n_rows), self.design.resample(rng))
        if self.classes is None:
            return rng.integers(self.n_rows, size=self.n_rows)
        members = self.classes.present
        sizes = np.array([len(rows) for rows in members])
        drawn = np.maximum(rng.multinomial(self.n_rows, sizes / self.n_rows), np.minimum(sizes, _FEWEST))
        return np.concatenate([rng.choice(rows, size) for rows, size in zip(members, drawn, strict=True)])

    def shuffle_labels(self, order: Index) -> Request:
        """Return the same request with shuffled labels, for computing the value only."""
        return replace(self, classes=self.labels.take(order), n_bootstrap=0, n_permutations=0)


RESAMPLING, THINNING, MATCHING, DIRECTED, ROTATING = 1, 2, 3, 4, 5
SHUFFLING = 101
"""Numbers of the random streams that are derived from one seed for different purposes."""
_FEWEST = 2
"""Smallest number of rows per class in a resample; a single row has no spread and cannot be divided."""


@dataclass(frozen=True)
class ScoreDraws:
    """The score, its value in each draw, its resampling distribution and its null distribution."""

    value: float
    draws: Vector = field(default_factory=lambda: np.empty(0))
    """Score of each partition; empty for a score that does not draw partitions."""
    resampled: Vector = field(default_factory=lambda: np.empty(0))
    """Scores of the bootstrap resamples of the rows."""
    redrawn: bool = False
    """Whether each resample used new partitions, so that its spread includes theirs."""
    null: Vector = field(default_factory=lambda: np.empty(0))
    """Scores of the draws from the null distribution."""
    analytic_error: float = float("nan")
    """Standard error over rows, if it is known without resampling."""
    pair_error: float = 0.0
    n_pairs: int = 0
    pairs_dropped: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()


def mean_score(scores: Sequence[float] | Vector, reason: str = "") -> float:
    """Return the mean of the scores that are not NaN; without any, NaN, or NotEstimable if a reason is given."""
    if not np.isnan(scores).all():
        return float(np.nanmean(scores))
    if reason:
        raise NotEstimable(reason)
    return float("nan")
