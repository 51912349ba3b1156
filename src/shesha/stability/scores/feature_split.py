"""Feature-split stability, stability of encoders, and two documented scores that estimate no well-defined quantity."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.kernels import ranks
from shesha.kernels.distances import Metric
from shesha.stability.registry import mean_score, stability
from shesha.stability.split_scores import estimate_split
from shesha.support.device_arrays import namespace
from shesha.support.seeds import generator
from shesha.support.types import Matrix, Seed
from shesha.support.warnings import NotEstimable, NotIdentifiableWarning, warn
from shesha.views import SplitHalves, Standard
from shesha.views.features import MIN_FEATURES

_SETTINGS = {"metric": "cosine", "n_draws": 30}


@stability(
    view=SplitHalves,
    title="Feature-split stability",
    bounds=(-1, 1),
    means="Do random halves of the features have the same geometry?",
    means_not="High stability does not imply correctness, and low stability does not imply loss of information.",
    reference="Raju 2026, section 3.2",
    invariant=("scaling",),
    estimator=estimate_split,
    settings=_SETTINGS,
    min_columns=MIN_FEATURES,
    samples_pairs=True,
    audited=True,
    place=1,
)
def feature_split(
    halves: SplitHalves,
    n_splits: int = 30,
    metric: Metric = "cosine",
    seed: Seed = None,
    max_samples: int | None = 1600,
) -> float:
    """Feature-split Shesha: agreement between random halves of the features on the geometry of the rows.

    The features are divided at random into two halves, and the distances between all rows are computed in each half.
    The score is the rank correlation between the two sets of distances, averaged over splits.

    High values mean that the geometry is spread redundantly over the coordinate axes. The score is a property of the
    representation *and its axes*. Under 'cosine', scaling single rows does not change it. Reordering the features does
    not change its average over seeds, but rotating them does (Raju 2026, journal version, A.2; the contrary claim in
    7.1.5 of the long version holds only for isotropic data). `basis_averaged_split` is a property of the geometry
    alone.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows, 4 columns and finite values.
    n_splits : int
        Number of random splits of the features. If the number of features is odd, the second half has one feature more.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    seed : int, Generator or None
        Seed for the random splits, which are drawn as in the public package.
    max_samples : int or None
        Maximum number of rows. If there are more, a random subset of this size is used; None uses all rows.
        (`shesha.stability.estimate` never subsamples rows.)

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, if in every split all distances of a half are equal.

    Raises
    ------
    ValueError
        If a row has no direction under the metric: it is zero (cosine) or constant (correlation) in all features or
        within a half.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> latent = rng.standard_normal((100, 5))
    >>> round(feature_split(latent @ rng.standard_normal((5, 64)), seed=320), 3)
    0.889
    >>> abs(feature_split(rng.standard_normal((100, 64)), seed=320)) < 0.05
    True
    """
    return halves.mean_correlation(check.count(n_splits, "n_splits"), seed)


@stability(
    view=SplitHalves,
    view_options={"rotated": True},
    title="Basis-averaged stability",
    bounds=(-1, 1),
    means="Do random halves have the same geometry after random rotations? The score does not depend on the axes.",
    means_not="If the score is far above feature_split, a few axes carry the geometry.",
    reference="Raju 2026, section 3.2, averaged over the orthogonal group",
    invariant=("scaling", "orthogonal"),
    estimator=estimate_split,
    settings=_SETTINGS,
    min_columns=MIN_FEATURES,
    samples_pairs=True,
    audited=True,
    place=2,
)
def basis_averaged_split(
    halves: SplitHalves,
    n_rotations: int = 30,
    metric: Metric = "cosine",
    seed: Seed = None,
    max_samples: int | None = 1600,
) -> float:
    """Feature-split stability after random rotations of the features, averaged over the rotations.

    `feature_split` measures whether the *axes* share the geometry. After a random rotation, every axis is a random
    direction. This score therefore measures how much of the geometry a random half of all directions preserves. It
    depends only on the number of features and on the inner products between rows (between centred rows under
    'correlation'). It is therefore unchanged by X -> X Q for any orthogonal Q, by scaling all values and, under
    'euclidean', by translation. Adding features that are all zero raises the score, so compare only representations of
    equal width.

    The difference `feature_split - basis_averaged_split` shows what the axes themselves contribute. It is negative if
    few axes contain most of the geometry, as after PCA.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows, 4 columns and finite values.
    n_rotations : int
        Number of rotations drawn from the Haar (uniform) distribution, each followed by one split.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows. 'correlation' centres each row before the rotation rather than within each half, because
        rotated features have no common unit.
    seed : int, Generator or None
        Seed for the random rotations. With the same seed, X and X Q have the same score up to rounding if the singular
        values of X are distinct.
    max_samples : int or None
        Maximum number of rows. If there are more, a random subset of this size is used; None uses all rows.

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, as for `feature_split`.

    Examples
    --------
    A rotation that concentrates the geometry in a few axes does not change the score:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 5)) @ rng.standard_normal((5, 64))
    >>> principal = np.linalg.svd(X, full_matrices=False)
    >>> rotated = X @ principal.Vh.T
    >>> float(np.round(basis_averaged_split(X, seed=0), 6)) == float(np.round(basis_averaged_split(rotated, seed=0), 6))
    True
    """
    return halves.mean_correlation(check.count(n_rotations, "n_rotations"), seed)


Perturbation = Callable[..., Any]


def encoder_stability(
    f: Callable[[Any], ArrayLike], X: Any, perturb: Perturbation | float, n: int = 30, *, seed: Seed = None
) -> float:
    """Stability of the direction of an encoder's output when its input is perturbed.

    Each output row is scaled to unit length, and its displacement is the Euclidean distance between the perturbed and
    the unperturbed output. The score is 1 / (1 + mean displacement), with the mean over all rows and perturbations
    (long version, 6.1.1, "latent space").

    Parameters
    ----------
    f : callable
        Encoder: a function from inputs to a matrix with one row per input.
    X : array
        Inputs, in any form that `f` and `perturb` accept.
    perturb : callable or float
        Function `perturb(X, rng)` or `perturb(X)` that returns perturbed inputs. It receives a random generator if it
        requires two arguments or has one named `rng`. A number instead of a function is the standard deviation of
        Gaussian noise to add.
    n : int
        Number of perturbations.
    seed : int, Generator or None
        Seed for the random generator that `perturb` receives.

    Returns
    -------
    float
        Stability, in [1/3, 1]: 1 if the outputs do not change direction, and 0.41 if they rotate by a right angle.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> encoder_stability(lambda X: X, X, lambda X, rng: 2 * X)
    1.0
    >>> round(encoder_stability(lambda X: X, X, 0.1, seed=0), 2)
    0.91
    """
    n = check.count(n, "n")
    if not callable(f):
        raise TypeError(f"f must be callable, got {type(f).__name__}")
    disturb = _as_callable(perturb)
    rng = generator(seed)
    clean = _unit_output(f(X), "f(X)")
    total = 0.0
    for _ in range(n):
        moved = _unit_output(f(disturb(X, rng)), "f(perturbed X)")
        if moved.shape != clean.shape:
            raise ValueError(f"f(perturbed X) must have the shape of f(X) {clean.shape}, got {moved.shape}")
        total += float(np.linalg.norm(moved - clean, axis=1).mean())
    return 1.0 / (1.0 + total / n)


def _as_callable(perturb: Perturbation | float) -> Perturbation:
    if not callable(perturb):
        sd = check.positive(perturb, "perturb")
        return lambda X, rng: _add_noise(X, sd, rng)
    return perturb if _wants_generator(perturb) else lambda X, rng: perturb(X)


def _add_noise(X: Any, sd: float, rng: np.random.Generator) -> Any:
    values = check.dense(X)
    moved = np.asarray(values, dtype=np.float64) + sd * rng.standard_normal(values.shape)
    # A torch module takes tensors of its own precision only.
    return namespace(X).asarray(moved, dtype=X.dtype, device=X.device) if hasattr(X, "detach") else moved


def _wants_generator(perturb: Perturbation) -> bool:
    """Return whether a function takes a random generator in addition to its input."""
    if isinstance(perturb, np.ufunc):  # In older NumPy, ufuncs have no readable signature.
        return perturb.nin > 1
    try:
        parameters = inspect.signature(perturb).parameters.values()
    except ValueError:  # If the signature cannot be read, assume the documented one.
        return True
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]
    return len(required) > 1 or "rng" in {p.name for p in parameters}


def _unit_output(output: ArrayLike, name: str) -> NDArray[np.float64]:
    rows = check.matrix(output, name, min_rows=1)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        raise ValueError(
            f"{name} must have no zero row, got zero rows {check.join_items(np.flatnonzero(largest == 0))}"
        )
    # Scaling by a power of two keeps the squares in range and causes no rounding error.
    exponents = np.frexp(largest)[1]
    rows = np.ldexp(rows, -exponents)
    return np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None])


_EQUAL = "all distances are equal, so the correlation is undefined"
_SHRINK = 0.9
_FEWEST_ANCHORS, _FEWEST_PROBES = 10, 20


@stability(
    view=Standard,
    title="Sample-split score",
    bounds=(-1, 1),
    means="A score of the paper, kept as documented.",
    means_not="The score does not measure stability: it correlates distances of different pairs of rows, so the "
    "expected value is about 0.",
    reference="Raju 2026, section 3.2",
    invariant=("scaling", "orthogonal"),
    estimand=False,
)
def sample_split(
    rows: Standard,
    n_splits: int = 30,
    subsample_fraction: float = 0.4,
    metric: Metric = "cosine",
    seed: Seed = None,
    max_samples: int | None = 1500,
) -> float:
    """Sample-split Shesha, as documented; it warns because it does not measure stability.

    The distances within two random subsamples are rank-correlated *by position*. Entry k belongs to different pairs of
    rows in the two subsamples, so the expected value is about 0 for any data. (Distances between rows that are in both
    subsamples would agree perfectly for any encoder.) Use `replicate_stability` with two replicates of the same rows
    instead.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows and finite values.
    n_splits : int
        Number of pairs of subsamples.
    subsample_fraction : float
        Share of the rows in each subsample, in (0, 1].
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    seed : int, Generator or None
        Seed for the random subsamples, which are drawn as in the public package.
    max_samples : int or None
        Maximum number of rows. If there are more, a random subset of this size is used; None uses all rows.

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, if a subsample would have fewer than 5 rows.

    Warns
    -----
    NotIdentifiableWarning
        Always.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     abs(sample_split(X, seed=0)) < 0.1
    True
    """
    _warn("sample_split", "replicate_stability (two replicates of the same rows)")
    n_splits = check.count(n_splits, "n_splits")
    share = check.fraction(subsample_fraction, "subsample_fraction")
    rng = generator(seed)
    size = int(rows.n_rows * share)
    if rows.n_rows < 10 or size < 5:
        raise NotEstimable(f"at least 10 rows and 5 per subsample are needed, got {rows.n_rows} and {size}")
    tolerance = rows.level
    scores = []
    for _ in range(n_splits):
        first, second = (rng.choice(rows.n_rows, size, replace=False) for _ in range(2))
        a, b = (rows.permute(idx).squared() for idx in (first, second))
        scores.append(ranks.spearman(a, b, (tolerance, tolerance)))
    return mean_score(scores, _EQUAL)


@stability(
    view=Standard,
    title="Anchor score",
    bounds=(-1, 1),
    means="A score of the paper, kept as documented.",
    means_not="The score does not measure stability: it correlates distances of different pairs of rows, so the "
    "expected value is about 0.",
    reference="Raju 2026, section 3.2",
    invariant=("scaling", "orthogonal"),
    estimand=False,
    alias="anchor",
)
def anchor_stability(
    rows: Standard,
    n_splits: int = 30,
    n_anchors: int = 100,
    n_per_split: int = 200,
    metric: Metric = "cosine",
    rank_normalize: bool = True,
    seed: Seed = None,
    max_samples: int | None = 1500,
) -> float:
    """Anchor-based Shesha, as documented; it warns because it does not measure stability.

    The distances from fixed anchors to two disjoint sets of rows are correlated by position. Position k is a different
    row in each set, and ranking the distances does not make the rows match. Use `anchor_profile_stability` with two
    replicates of the same rows instead.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with finite values.
    n_splits : int
        Number of pairs of disjoint sets.
    n_anchors, n_per_split : int
        Number of anchors, and number of rows in each set. If there are too few rows, both numbers are reduced in
        proportion.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    rank_normalize : bool
        Whether to rank the distances of each anchor before they are correlated.
    seed : int, Generator or None
        Seed for the random anchors and sets, which are drawn as in the public package.
    max_samples : int or None
        Maximum number of rows. If there are more, a random subset of this size is used; None uses all rows.

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, if there are too few rows for the smallest sizes.

    Warns
    -----
    NotIdentifiableWarning
        Always.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     abs(anchor_stability(X, seed=0)) < 0.1
    True
    """
    check.boolean(rank_normalize, "rank_normalize")
    _warn("anchor_stability", "anchor_profile_stability (two replicates of the same rows)")
    n_splits = check.count(n_splits, "n_splits")
    sizes = check.count(n_anchors, "n_anchors"), check.count(n_per_split, "n_per_split")
    rng, n = generator(seed), rows.n_rows
    anchors, per_split = _shrink_sizes(n, *sizes)
    if n < anchors + 2 * per_split:
        raise NotEstimable(f"{anchors} anchors and two sets of {per_split} rows are needed, got {n} rows")
    anchor_ids = rng.choice(n, anchors, replace=False)
    others = np.setdiff1d(np.arange(n), anchor_ids)
    drawn = np.array([rng.permutation(others)[: 2 * per_split] for _ in range(n_splits)])
    used, places = np.unique(drawn, return_inverse=True)
    i, j = (ids.ravel() for ids in np.meshgrid(anchor_ids, used, indexing="ij"))
    distances = rows.squared_distances_between(i, j).reshape(len(anchor_ids), len(used))
    scores = []
    for both in places.reshape(n_splits, 2, per_split):
        profiles = [distances[:, probes] for probes in both]
        if rank_normalize:
            scores.append(_rank_correlation(*(_rank_rows(profile, rows.level) for profile in profiles)))
        else:
            scores.append(ranks.spearman(profiles[0].ravel(), profiles[1].ravel(), (rows.level, rows.level)))
    return mean_score(scores, _EQUAL)


def _rank_correlation(first: Matrix, second: Matrix) -> float:
    """Return the rank correlation over all rows of values that are already ranks within each row."""
    n = first.shape[1]
    centred = [matrix - (n - 1) / 2 for matrix in (first, second)]
    variance = len(first) * (n**3 - n) / 12
    # Without ties, each row contains every rank once, so ranking all values again would only rescale them. With ties,
    # the sum of squares is smaller, so that the following condition is false. Single values have no order.
    if n > 1 and all(np.vdot(matrix, matrix) == variance for matrix in centred):
        return float(np.vdot(*centred) / variance)
    return ranks.spearman(first.ravel(), second.ravel())


def _rank_rows(values: Matrix, level: float) -> Matrix:
    """Rank the values of each row; values that differ by at most the level share their mean rank."""
    order = np.argsort(values, axis=1)
    table = np.empty(values.shape)
    np.put_along_axis(table, order, np.arange(values.shape[1], dtype=np.float64)[None], axis=1)
    gaps = np.diff(np.take_along_axis(values, order, axis=1), axis=1)
    for row in np.flatnonzero((gaps <= level).any(axis=1)):
        table[row] = ranks.midranks(values[row].copy(), level)[0]
    return table


def _shrink_sizes(n: int, n_anchors: int, n_per_split: int) -> tuple[int, int]:
    """Reduce both numbers in proportion if there are too few rows, as the public package does."""
    needed = n_anchors + 2 * n_per_split
    if n >= needed:
        return n_anchors, n_per_split
    scale = n / needed * _SHRINK
    return max(_FEWEST_ANCHORS, int(n_anchors * scale)), max(_FEWEST_PROBES, int(n_per_split * scale))


def _warn(name: str, instead: str) -> None:
    warn(
        f"{name} correlates distances of different pairs of rows, so it does not measure stability. Use {instead}",
        NotIdentifiableWarning,
    )
