"""One similarity beside its null."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._arrays import beside
from shesha._progress import track
from shesha._random import Seed, number
from shesha._warnings import NotEstimable
from shesha.calibration import null as null_kernel
from shesha.calibration.orders import drawn_orders, identity_first
from shesha.kernels.null_summary import best_value, summarise
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.measures import Measure, get
from shesha.results import Calibrated
from shesha.views import Basis, Rdm, Representation, View, aligned

Matrix = NDArray[np.float64]
Index = NDArray[np.intp]
TOGETHER = 2**29
"""Views that take less than this many bytes in making are made side by side, one per thread."""
Chosen = str | Measure | Callable[..., float]
Data = ArrayLike | Rdm | Representation


def calibrate(
    X: ArrayLike | Rdm,
    Y: ArrayLike | Rdm,
    measure: Chosen = "CKA",
    *,
    n_permutations: int = 200,
    alpha: float = 0.05,
    maximum: float | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    permutations: ArrayLike | None = None,
    truncate: int | float | None = None,
    seed: Seed = None,
    **options: Any,
) -> Calibrated:
    """Give a similarity a zero point and a p-value: its distribution when the rows are matched at random.

    Observed value and null come from the same kernel; views of the data are made once and only relabelled.
    The null says "no relation at all": rows that depend on one another (time points, cells of a donor) need
    `blocks` or `groups`. Ctrl-C returns what the draws so far give.

    Parameters
    ----------
    X, Y : arrays of shape (n_samples, n_features), or Rdm
        Row i of both is the same input.
    measure : str, Measure or function
        A measure (see `shesha.measures`), or any f(X, Y) -> float of your own, for which higher is closer and rows
        of Y are permuted.
    n_permutations : int
        Draws K; at least 1 / alpha - 1, or nothing could ever be significant.
    alpha : float
        Level of the threshold, in (0, 1).
    maximum : float, optional
        Value of perfect agreement; default: the measure's bound. A function of your own has none unless given.
    blocks : array of shape (n_samples,), optional
        Rows are permuted within blocks only (sessions, batches).
    groups : array of shape (n_samples,), optional
        Whole groups take each other's place, their rows in order (trials of a subject); only equally large ones can.
    permutations : array of shape (n_permutations, n_samples), optional
        Draw k compares X with Y[permutations[k]]; instead of random ones.
    truncate : int or float, optional
        Compare only the leading principal components of each: their number, or the share of the variance that they
        hold. Measures that decompose something in every draw (CCA, Procrustes) take seconds with 256 features
        and minutes with 1,024.
    seed : int, Generator or None
        Draws the permutations.
    **options
        Options of the measure, such as k=20.

    Returns
    -------
    Calibrated
        Observed value, threshold, calibrated score, p-value, and other summaries of the null.

    Raises
    ------
    ValueError
        If rows are not paired, there are too few permutations for alpha, or the measure does not look at which row is
        which, so that it has no such null (MagDiff, IMD, ...).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((50, 40)), rng.standard_normal((50, 40))
    >>> found = calibrate(X, Y, "CKA", seed=0)
    >>> round(found.observed, 2), found.score, found.significant
    (0.41, 0.0, False)
    """
    subject = prepare(X, Y, measure, options, truncate=truncate, seed=seed)
    orders, exchanged = drawn_orders(
        subject.n_rows, n_permutations, alpha, blocks=blocks, groups=groups, permutations=permutations, seed=seed
    )
    best = best_value(subject.closer, subject.bounds, maximum)
    common: dict[str, Any] = {
        "measure": subject.name,
        "closer": subject.closer,
        "maximum": best,
        "alpha": float(alpha),
        "n_rows": subject.n_rows,
        "exchanged": exchanged,
        "seed": number(seed),
        "options": recorded(options, truncate),
    }
    try:
        scores, interrupted = collect(subject.scores(identity_first(orders)), len(orders) + 1)
    except NotEstimable as reason:
        return without_score(str(reason), len(orders), common)
    observed, null = float(scores[0, 0, 0]), scores[1:, 0, 0]
    if np.isnan(observed):
        return without_score("the measure gave NaN for the observed pairing", len(null), common)
    found = summarise(observed, null, subject.closer, alpha, best)
    return Calibrated(
        observed=observed,
        n_permutations=len(null),
        null=tuple(null.tolist()),
        interrupted=interrupted,
        **vars(found),
        **common,
    )


def leading(source: Representation, truncate: int | float | None) -> Representation:
    """Return the leading principal components only, or all of it."""
    if truncate is None:
        return source
    with single_threaded_blas():
        basis = source.view(Basis)
    if isinstance(truncate, int | np.integer) and not isinstance(truncate, bool):
        n_components = check.count(truncate, "truncate")
    else:
        n_components = basis.components_for(check.fraction(truncate, "truncate"))
    basis = basis.truncated(n_components)
    scaled = basis.directions * beside(basis.singular_values * basis.unit, basis.directions)
    return Representation(scaled, source.precision)


def without_score(reason: str, n_permutations: int, common: dict[str, Any]) -> Calibrated:
    """Return the result of a measure that the data cannot give, with a warning that says why."""
    nan = check.not_estimable(reason)
    numbers = ("observed", "score", "p_value", "threshold", "percentile", "null_mean", "null_sd", "centred", "z")
    missing: dict[str, Any] = dict.fromkeys(numbers, nan)
    return Calibrated(**missing, adjusted=nan, n_permutations=n_permutations, reason=reason, **common)


@dataclass(frozen=True)
class Subject:
    """What is calibrated: how it is called and read, and its scores under permutations."""

    name: str
    closer: str
    bounds: tuple[float, float]
    n_rows: int
    scores: Callable[[list[Index]], Iterator[Matrix]]


def recorded(options: dict[str, Any], truncate: int | float | None) -> dict[str, Any]:
    """Options as plain values, for the result."""
    given = options | ({} if truncate is None else {"truncate": truncate})
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}


def prepare(
    X: Data,
    Y: Data,
    measure: Chosen,
    options: dict[str, Any],
    *,
    truncate: int | float | None = None,
    seed: Seed = None,
) -> Subject:
    """Check the data; the views are made, once, when scores are asked for."""
    if callable(measure) and not isinstance(getattr(measure, "measure", None), Measure):
        return _of_function(X, Y, measure, options, truncate)
    chosen = drawn(measure, options, truncate=truncate, seed=seed)
    given = Representation.of(X, "X"), Representation.of(Y, "Y")
    require_inputs_as_rows(chosen, *given)
    a, b = aligned(*given, chosen.view.folding, anywhere=chosen.anywhere)

    def scores(orders: list[Index]) -> Iterator[Matrix]:
        chosen.require_comparable(a, b)
        views = look_at(chosen, [leading(side, truncate) for side in (a, b)])
        # A reason not to have the observed value is told, not counted.
        null_kernel.observed_alone(chosen, *views)
        return null_kernel.grids(chosen, views[:1], views[1:], orders)

    if a.n_rows != b.n_rows:
        raise ValueError(f"Y must have as many rows as X ({a.n_rows}), got {b.n_rows}")
    return Subject(chosen.name, chosen.closer, chosen.bounds, a.n_rows, scores)


def require_inputs_as_rows(measure: Measure, *sides: Representation) -> None:
    """Refuse tokens and positions as rows: those of one input are not exchangeable with those of others."""
    kinds = {len(side.shape) for side in sides}
    if kinds == {3} or (kinds == {4} and measure.view.folding == "rows"):
        raise ValueError(
            f"X and Y must have one row per input to be calibrated by {measure.name}, got tokens or positions: average "
            "over them first"
        )


def drawn(
    measure: Chosen, options: dict[str, Any], *, truncate: int | float | None = None, seed: Seed = None
) -> Measure:
    """Return the measure with its options, refusing those that have no permutation null."""
    chosen = get(measure).configured(**options).drawn(seed)
    if truncate is not None and "orthogonal" not in chosen.invariant:
        raise ValueError(
            f"truncate must come with a measure that rotations leave alone, got {chosen.name}: components have "
            "arbitrary signs"
        )
    if not chosen.paired:
        raise ValueError(
            f"measure must look at which row is which, got {chosen.name}: permuting rows leaves it alone, so it has no "
            "permutation null"
        )
    return chosen


def look_at(measure: Measure, sides: list[Representation], *, keep: bool = True) -> list[View]:
    """Make the views of all sides, once each: side by side where they are small. Keep what they were made of?"""

    def look(side: Representation) -> View:
        view = measure.look(side)
        if keep:
            return view
        side.drop_views()
        return null_kernel.lighten(view)

    kind, options = measure.view_key
    working = max(sum(kind.memory(*side.size(kind.folding), **dict(options))) for side in sides)
    if working < TOGETHER:
        return list(parallel(look, sides))
    with single_threaded_blas():
        return [look(side) for side in sides]


def _of_function(
    X: Any, Y: Any, function: Callable[..., float], options: dict[str, Any], truncate: int | float | None
) -> Subject:
    if truncate is not None:
        X, Y = (leading(Representation.of(side), truncate) for side in (X, Y))
    X, Y = (side.on_host.rows if isinstance(side, Representation) else side for side in (X, Y))
    x, y = check.paired(X, Y)
    if all(hasattr(side, "detach") for side in (X, Y)):
        # A function for tensors gets tensors.
        x, y = X, Y
    bounds = (-np.inf, np.inf)
    name = getattr(function, "__name__", type(function).__name__)

    def scores(orders: list[Index]) -> Iterator[Matrix]:
        return null_kernel.of_function(lambda p, q: function(p, q, **options), [x], [y], orders)

    return Subject(name, "higher", bounds, len(x), scores)


def collect(scores: Iterator[Matrix], total: int) -> tuple[Matrix, bool]:
    """Take the scores as they come; Ctrl-C keeps what has come, if that is at least one draw."""
    found: list[Matrix] = []
    try:
        found.extend(track(scores, total, "permuting"))
    except KeyboardInterrupt:
        if len(found) < 2:
            raise
        return np.stack(found), True
    return np.stack(found), False
