"""A similarity measure with its declared and tested properties."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, get_args

from numpy.typing import ArrayLike

from shesha.kernels.distances import Metric
from shesha.kernels.threads import single_threaded_blas
from shesha.measures.sampled_estimates import SampledPairs, SampledRows
from shesha.support.seeds import draw_seed
from shesha.support.types import Seed
from shesha.support.warnings import NotEstimable
from shesha.views import Concentricity, Rdm, Representation, View, adjust_for_covariates, align_rows, aligned

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


@dataclass(frozen=True)
class Measure:
    """A similarity measure: a function of two views, with its declared and tested properties."""

    name: str
    function: Callable[..., float] = field(repr=False)
    view: type[View]
    closer: Closer
    bounds: tuple[float, float]
    symmetric: bool
    invariant: frozenset[Invariance]
    """Changes to either representation that leave the value unchanged."""
    family: str
    cost: Cost
    formula: str = field(repr=False)
    reference: str = field(repr=False)
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

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """All options of the measure and their values."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY} | dict(self.options)

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
        metric: Metric = "cosine" if issubclass(self.view, Concentricity) else dict(self.view_key[1]).get("metric")
        return metric if metric in ("cosine", "correlation") else "euclidean"

    def look(self, source: Representation) -> View:
        """Return the view of a representation that this measure compares."""
        kind, options = self.view_key
        return source.view(kind, **dict(options))

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
            raise ValueError(f"Y must have as many rows as X ({a.n_rows}), got {b.n_rows}")
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


def metric_of_rows(measures: Iterable[Measure]) -> dict[str, Any]:
    """Return the options of `select_rows` for the directions that the rows need for some measures."""
    needed = {measure.row_metric for measure in measures} - {"euclidean"}
    return {"metric": max(needed, default="cosine"), "directed": bool(needed)}
