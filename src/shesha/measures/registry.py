"""A similarity measure with its declared properties, the decorator that registers it, and estimates from samples."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from math import sqrt
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.inputs.matrix_shapes import hint_of_transpose
from shesha.kernels.distances import Metric
from shesha.kernels.rounding_and_scaling import ROUNDING
from shesha.kernels.sampled_feature_halves import spearman_influence
from shesha.kernels.threads import single_threaded_blas
from shesha.support import types as kinds
from shesha.support.seeds import draw_seed
from shesha.support.types import Matrix, Seed, Vector
from shesha.support.warnings import MeasureWarning, NotEstimable, warn
from shesha.views import (
    Concentricity,
    Rdm,
    Representation,
    View,
    adjust_for_covariates,
    align_rows,
    aligned,
    choose_folding,
)
from shesha.views.registry import Declared, Registry

_EQUAL = "all distances between sampled rows are equal, so they have no correlation"


@dataclass(frozen=True)
class PairSample:
    """Distances within random tuples of rows, for both sides; one line per tuple, one column per pair."""

    first: Matrix
    second: Matrix
    n_rows: int
    tolerances: tuple[float, float]
    """For each side, the difference below which two distances count as equal."""

    @classmethod
    def build(cls, first: Matrix, second: Matrix, n_rows: int, metric: Metric) -> PairSample:
        """Choose the tolerances by the metric."""
        a, b = (ROUNDING * (float(np.median(side)) if metric == "euclidean" else 1.0) for side in (first, second))
        return cls(first, second, n_rows, (a, b))


Estimate = tuple[float, Vector]
"""The value, and the influence of each tuple on it. Influences have mean 0 and the spread of the sampling error."""


@dataclass(frozen=True)
class SampledRows:
    """Estimation of a measure from random rows, as the mean over rows of `terms`."""

    terms: Callable[..., Vector]
    """Function of two views and the options that returns one number per row."""


@dataclass(frozen=True)
class SampledPairs:
    """Estimation of a measure from random tuples of rows.

    Attributes
    ----------
    estimate : function of a PairSample and the measure's options
        Returns the value and the influence of each tuple on it.
    size : int
        Number of rows in each tuple.
    metric : str or None
        Distance between rows. None means the value of the measure's `metric` option.
    lacks : function of the options, optional
        Returns the reason why there is no estimate for these options; empty if there is one, which is the default.
    """

    estimate: Callable[[PairSample, Mapping[str, Any]], Estimate]
    size: int = 2
    metric: Metric | None = None
    lacks: Callable[[Mapping[str, Any]], str] = lambda options: ""


def correlation(sample: PairSample, options: Mapping[str, Any]) -> Estimate:
    """Pearson or Spearman correlation between the distances."""
    a, b = sample.first[:, 0].copy(), sample.second[:, 0].copy()
    if options["method"] == "spearman":
        value, influence = spearman_influence(a, b, sample.tolerances)
        if np.isnan(value):
            raise NotEstimable(_EQUAL)
        return value, influence
    for side, tolerance in ((a, sample.tolerances[0]), (b, sample.tolerances[1])):
        if np.ptp(side) <= tolerance:
            raise NotEstimable(_EQUAL)
        side -= side.mean()
        side /= side.std()
    value = float((a * b).mean())
    return value, a * b - value * (a * a + b * b) / 2


def drift(sample: PairSample, options: Mapping[str, Any]) -> Estimate:
    """One minus the correlation between the distances."""
    value, influence = correlation(sample, options)
    return 1.0 - value, influence


def frobenius(sample: PairSample, options: Mapping[str, Any]) -> Estimate:
    """Frobenius norm of the difference between the two distance matrices."""
    squared = (sample.first[:, 0] - sample.second[:, 0]) ** 2
    total = sample.n_rows * (sample.n_rows - 1) * float(squared.mean())
    if total == 0:
        return 0.0, np.zeros(len(squared))
    return sqrt(total), sqrt(total) / 2 * (squared / squared.mean() - 1)


def distance_correlation(sample: PairSample, options: Mapping[str, Any]) -> Estimate:
    """Distance correlation over all n rows, estimated from means over triples of rows.

    The sum of the entrywise product of two double-centred matrices depends on four means over different rows i, j and
    k: those of d_ij d'_ij, d_ij, d'_ij and d_ij d'_ik. A triple has three pairs and three corners.
    """
    a, b = sample.first, sample.second
    parts = [_product_moments(x, y) for x, y in ((a, b), (a, a), (b, b))]
    values, gradients = zip(*(_centred_product(part.mean(axis=0), sample.n_rows) for part in parts), strict=True)
    if values[1] <= 0 or values[2] <= 0:
        raise NotEstimable(_EQUAL)
    squared = values[0] / sqrt(values[1] * values[2])
    if squared <= 0:
        raise NotEstimable("there are too few sampled distances to distinguish the value from 0: sample more pairs")
    terms = [(part - part.mean(axis=0)) @ gradient for part, gradient in zip(parts, gradients, strict=True)]
    influence = squared * (terms[0] / values[0] - terms[1] / (2 * values[1]) - terms[2] / (2 * values[2]))
    return sqrt(min(squared, 1.0)), influence / (2 * sqrt(squared))


def _product_moments(a: Matrix, b: Matrix) -> Matrix:
    """For each triple, the mean of d d' over pairs, its mean over corners, and the means of d and of d'."""
    products = (a * b).mean(axis=1)
    sums = a.sum(axis=1), b.sum(axis=1)
    corners = (sums[0] * sums[1] - 3 * products) / 6
    return np.stack([products, corners, sums[0] / 3, sums[1] / 3], axis=1)


def _centred_product(moments: Vector, n: int) -> tuple[float, Vector]:
    """Mean entry of the product of two double-centred matrices with zero diagonal, and its gradient."""
    pairs = (n - 1) / n
    corners = pairs * (n - 2) / n
    of_products = pairs - 2 * pairs / n
    value = of_products * moments[0] - 2 * corners * moments[1] + pairs**2 * moments[2] * moments[3]
    gradient = np.array([of_products, -2 * corners, pairs**2 * moments[3], pairs**2 * moments[2]])
    return float(value), gradient


FEW_UNITS = (
    "A small number of recorded units lowers the score: two populations with the same latent signals score 0.38 with "
    "10 units of each and 0.99 with 1,000 (300 rows; arXiv 2502.19648). Compare equal numbers of units."
)
SUPERPOSITION = (
    "Superposition (more features than units) lowers the score: two random projections of the same 200 sparse features "
    "onto 50 units score {score} (arXiv 2604.00208). If you are interested in the features themselves, compare "
    "recovered features with shesha.match_units."
)
SYMMETRIC_INPUTS = (
    "If inputs have symmetries, such as rotated images, equally good codes of a network can have different distances "
    "(arXiv 2605.21324). A low value or a drift then does not imply a change of function."
)
TEXT_LENGTH = (
    "Cosine similarity of mean-pooled tokens depends on the length of texts (arXiv 2605.07345): pass numbers of tokens "
    "as covariates."
)


Data = ArrayLike | Rdm | Representation

Closer = Literal["higher", "lower"]
Invariance = Literal["orthogonal", "linear", "affine", "permutation", "scaling", "translation"]
INVARIANCES: tuple[Invariance, ...] = get_args(Invariance)
IMPLIED: Mapping[str, tuple[Invariance, ...]] = {
    "affine": ("linear", "orthogonal", "permutation", "scaling", "translation"),
    "linear": ("orthogonal", "permutation", "scaling"),
    "orthogonal": ("permutation",),
}
"""The invariances that each invariance implies; for example, affine maps include linear maps, rotations and shifts."""
Cost = Literal["n d", "n d^2", "n d^2 + d^3", "n^2 d", "more"]
COSTS: tuple[Cost, ...] = get_args(Cost)
"""Classes of computing time, by its growth with n rows and d features, cheapest first."""


@dataclass(frozen=True, kw_only=True)
class Measure(Declared):
    """A similarity measure: a function of two views, with its declared and tested properties."""

    closer: Closer
    symmetric: bool
    invariant: frozenset[Invariance]
    """Changes to either representation that leave the value unchanged."""
    family: str
    cost: Cost
    formula: str = field(repr=False)
    caveats: tuple[str, ...] = field(default=(), repr=False)
    paired: bool = True
    """Whether row i must be the same input in both representations; if not, the numbers of rows may differ."""
    inner_product: bool = False
    """True if the value depends only on `a.inner(b)`, and the function also accepts an array of such inner products.
    Layer grids and null distributions then need only one matrix product per permutation."""
    anywhere: bool = False
    """Whether the view and the function accept arrays from any library and device (such as a GPU), not only NumPy."""
    equal_widths: bool = False
    """Whether feature j must be the same feature in both representations."""
    needs_features: bool = False
    """Whether the measure needs features even though distances would suffice for its view."""
    counts_features: bool = False
    """Whether the number of features enters the value, so that features without variance change it."""
    self_value: float | None = None
    """Value when a representation is compared with itself; None if that value varies."""
    estimates: tuple[float, float] | None = None
    """Range of the estimated quantity, if the estimates can lie outside it."""
    groups: frozenset[str] = frozenset()
    view_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """View options whose values the measure fixes."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options whose values differ from the function's defaults."""
    remark: Callable[..., str] | None = field(default=None, repr=False)
    """Function of two views that returns a note on the value, or an empty string."""
    expected: Callable[..., float] | None = field(default=None, repr=False)
    """Function of two views that returns the mean value over all permutations of the rows, if there is a formula."""
    sample: SampledRows | SampledPairs | None = field(default=None, repr=False)
    """How to estimate the value from sampled rows or pairs, if that is possible."""
    under: Callable[..., Mapping[str, Any]] | None = field(default=None, repr=False)
    """Function of the options that returns those declared properties that depend on them."""

    @property
    def data(self) -> Mapping[str, str]:
        """The data of the public function: names of arguments and their types."""
        return {"X": "ArrayLike | Rdm", "Y": "ArrayLike | Rdm"}

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """All options of the measure and their values."""
        return self.defaults | dict(self.options)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the public function, with the option for covariates that all measures have."""
        own = list(super().signature.parameters.values())
        covariates = inspect.Parameter(
            "covariates", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="ArrayLike | Rdm | None"
        )
        return inspect.Signature([*own, covariates], return_annotation="float")

    @property
    def higher_is_closer(self) -> bool:
        """Whether higher values mean closer representations."""
        return self.closer == "higher"

    @property
    def takes_distances(self) -> bool:
        """Whether distances between rows can be passed instead of features."""
        return not self.needs_features and self.view.takes_distances(**dict(self.view_key[1]))

    @property
    def doc(self) -> str:
        """The documentation of the function."""
        return inspect.cleandoc(self.function.__doc__ or "")

    def with_options(self, **options: Any) -> Measure:
        """Return the same measure with other options, which become part of its name."""
        unknown = sorted(set(options) - set(self.parameters))
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise ValueError(f"options of {self.name} must be among {known}, got {', '.join(unknown)}")
        if not options:
            return self
        for name, value in options.items():
            if not isinstance(value, Hashable):
                raise TypeError(f"{name} must be a plain value, got {value!r}")
        changed = dict(self.options) | options
        text = ", ".join(f"{name}={value}" for name, value in changed.items())
        return self._copy_with_options(f"{self.name.split('(')[0]}({text})", changed)

    def _copy_with_options(self, name: str, options: dict[str, Any]) -> Measure:
        clone = replace(self, name=name, options=options)
        return clone if self.under is None else replace(clone, **self.under(**clone.parameters))

    @cached_property
    def view_key(self) -> tuple[type[View], tuple[tuple[str, Any], ...]]:
        """Key that identifies the measure's view; measures with equal keys share their views."""
        known = inspect.signature(self.view.build).parameters.values()
        chosen = {p.name: p.default for p in known if p.kind is p.KEYWORD_ONLY}
        chosen |= {name: value for name, value in self.parameters.items() if name in chosen}
        chosen |= self.view_options
        return self.view, tuple(sorted(chosen.items()))

    @property
    def row_metric(self) -> Metric:
        """The metric under which every row needs a direction; 'euclidean' if rows need none."""
        metric: Any = "cosine" if issubclass(self.view, Concentricity) else dict(self.view_key[1]).get("metric")
        return metric if metric in ("cosine", "correlation") else "euclidean"

    def look(self, source: Representation) -> View:
        """Return the view of a representation that this measure compares."""
        kind, options = self.view_key
        return self.narrow(source).view(kind, **dict(options))

    def narrow(self, source: Representation) -> Representation:
        """Return the representation, or its rotated rows if it is wide and the measure allows rotations."""
        return source.rotated if self.rotates else source

    @property
    def rotates(self) -> bool:
        """Whether the rows of wide representations may be rotated to fewer coordinates first."""
        return "orthogonal" in self.invariant and not self.counts_features and not self.equal_widths

    def view_bytes(self, source: Representation, other: Representation | None = None) -> tuple[int, int]:
        """Return the memory of a representation's finished view, and the extra memory to compute it."""
        kind, options = self.view_key
        n, d = source.size(choose_folding(source, source if other is None else other, kind.folding))
        rotated = 8 * n * n if self.rotates and source.is_wide else 0
        view_bytes, working = kind.memory(n, n if rotated else d, **dict(options))
        # While rows are rotated, a panel of features and the factors before and after it are in memory.
        return view_bytes + rotated, max(working, 7 * rotated)

    def with_seed(self, seed: Seed = None) -> Measure:
        """Return the measure with a fixed seed, so that all representations get the same random choices."""
        if "seed" not in self.parameters:
            return self
        own_seed = self.parameters["seed"]
        return replace(self, options=dict(self.options) | {"seed": draw_seed(seed if own_seed is None else own_seed)})

    def score(self, X: Data, Y: Data, covariates: ArrayLike | Rdm | None = None) -> float:
        """Compare two representations after removing covariates; raise NotEstimable if there is no value."""
        return self.score_and_remark(X, Y, covariates)[0]

    def score_and_remark(self, X: Data, Y: Data, covariates: ArrayLike | Rdm | None = None) -> tuple[float, str]:
        """Compare two representations; return the value and a note, which is empty if not needed."""
        inputs = {"X": Representation.build(X, "X"), "Y": Representation.build(Y, "Y")}
        sides, _ = adjust_for_covariates(list((align_rows(inputs) if self.paired else inputs).values()), covariates)
        a, b = aligned(sides[0], sides[1], self.view.folding, anywhere=self.anywhere)
        self.require_comparable(a, b)
        drawn = self.with_seed()
        with single_threaded_blas():
            views = drawn.look(a), drawn.look(b)
            return drawn.compare_views(*views), drawn.format_remark(*views)

    def format_remark(self, a: View, b: View) -> str:
        """Return the note on the value for two views; empty if there is none."""
        return "" if self.remark is None else self.remark(a, b)

    def compare_views(self, a: View, b: View) -> float:
        """Compare two views, as returned by `look`."""
        return float(self.function(a, b, **self.parameters))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the import path of the marked function and the options."""
        return _restore, (self.function.__module__, self.function.__name__, self.name, dict(self.options))

    def require_comparable(self, a: Representation, b: Representation) -> None:
        """Raise an error if rows or widths that must correspond differ, or if distances cannot be used."""
        if self.paired and a.n_rows != b.n_rows:
            raise ValueError(
                f"Y must have as many rows as X ({a.n_rows}), got {b.n_rows}{hint_of_transpose('Y', b.shape, a.n_rows)}"
            )
        distances = a.has_distances_only or b.has_distances_only
        if distances and not self.takes_distances:
            raise NotEstimable("needs the features, got distances between rows")
        if self.equal_widths and not distances and a.shape[1] != b.shape[1]:
            raise NotEstimable(f"needs equal widths, got {a.shape[1]} and {b.shape[1]} features")


Choice = str | Measure | Callable[..., float]
"""A measure as users specify it: a name, a Measure object, or a marked function."""


def _restore(module: str, function: str, name: str, options: dict[str, Any]) -> Measure:
    marked: Measure = getattr(import_module(module), function).measure
    return marked._copy_with_options(name, options)


def code_version(measure: Measure) -> str:
    """Return a hash of the library's code and, for a measure from elsewhere, of the module that defines it.

    Options are part of a measure's name, not of its version.

    Examples
    --------
    >>> from shesha.measures import get
    >>> code_version(get("CKA")) == code_version(get("CKA(kernel=rbf)"))
    True
    >>> len(code_version(get("CKA")))
    12
    """
    kinds.instance(measure, Measure, "measure", "a Measure, as `shesha.measures.get` returns")
    # Imported here because that package takes longer to import than all measures together.
    from shesha.runs import version_of_code

    return version_of_code(measure.function, measure.view)


P = ParamSpec("P")
V = TypeVar("V", bound=View)


def _compare(declared: Measure, X: Data, Y: Data, *args: Any, covariates: Any = None, **options: Any) -> float:
    if args:
        raise TypeError(f"{declared.function.__name__}() must take two representations; options are keyword-only")
    value, remark = declared.with_options(**options).score_and_remark(X, Y, covariates)
    if remark:
        warn(f"{declared.name}: {remark}", MeasureWarning)
    return value


MEASURES = Registry(Measure, "measure", "shesha.measures")


def measure(
    name: str,
    *,
    view: type[V],
    closer: Closer,
    bounds: tuple[float, float],
    symmetric: bool,
    invariant: Collection[str],
    family: str,
    cost: Cost,
    formula: str,
    reference: str,
    **declared: Any,
) -> Callable[[Callable[Concatenate[V, V, P], float]], Callable[Concatenate[Data, Data, P], float]]:
    """Register a function of two views as a measure, and return a function of two matrices.

    The decorated function receives all keyword-only options; those that the view's `build` method accepts are also
    passed to the view. `docs/first_contribution.md` shows how to define a measure.

    Parameters
    ----------
    name : str
        Name in the literature. Lookup ignores case, spaces and punctuation, and also accepts the function's name.
    view : type of View
        Type of view that the measure computes from each representation.
    closer : {'higher', 'lower'}
        Which values mean more similar.
    bounds : (float, float)
        Smallest and largest possible value; infinite if there is no bound.
    symmetric : bool
        Whether f(X, Y) = f(Y, X).
    invariant : collection of {'orthogonal', 'linear', 'affine', 'permutation', 'scaling', 'translation'}
        Changes to the features of either representation that leave the value unchanged; implied changes are added.
    cost : {'n d', 'n d^2', 'n d^2 + d^3', 'n^2 d', 'more'}
        Growth of the computing time. Measures with 'more' are excluded from the standard comparison.
    family, formula, reference : str
        Family (all measures in a family can be requested by its name), and the formula and reference shown on the card.
    **declared
        Further fields of `Measure`: caveats, paired, inner_product, anywhere, equal_widths, needs_features,
        counts_features, self_value, estimates, groups, view_options, remark, expected, sample, under.
    """
    check.choice(closer, get_args(Closer), "closer")
    check.choice(cost, COSTS, "cost")
    for change in invariant:
        check.choice(change, INVARIANCES, "invariant")

    implied = {more for change in invariant for more in IMPLIED.get(change, ())}
    return MEASURES.mark(
        _compare,
        name=name,
        view=view,
        closer=closer,
        bounds=bounds,
        symmetric=symmetric,
        invariant=frozenset(implied).union(cast(Collection[Invariance], invariant)),
        family=family,
        cost=cost,
        formula=formula,
        reference=reference,
        **{**declared, "groups": frozenset(declared.get("groups", ()))},
    )


def metric_of_rows(measures: Iterable[Measure]) -> dict[str, Any]:
    """Return the options of `select_rows` for the directions that the rows need for some measures."""
    needed = {measure.row_metric for measure in measures} - {"euclidean"}
    # Constant rows have no correlation distance; zero rows are constant as well.
    return {"metric": min(needed, default="cosine"), "directed": bool(needed)}
