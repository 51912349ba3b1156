"""Shapes after the best rotation, and rows in fewer coordinates with the same inner products."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from shesha.kernels.threads import parallel, single_threaded_blas, threads_for
from shesha.support.types import Array, Index, Matrix, Vector

_PANEL = 4
"""Features per panel, as a multiple of the number of rows. It is fixed, so that results do not depend on memory."""


PANEL = 1 << 21
"""Largest number of entries in a panel of a sum over all entries. It is fixed for the same reason."""


def column_panels(rows: Matrix) -> Iterator[slice]:
    """Yield slices of columns with a limited number of entries each."""
    n, d = rows.shape
    step = max(1, PANEL // max(1, n))
    return (slice(start, start + step) for start in range(0, d, step))


def rotate_rows(rows: Matrix, *others: Matrix) -> Matrix:
    """Return rows with the same inner products in as many coordinates as there are rows, if features outnumber them.

    The features are read in panels, each of which is added to the triangular factor of those before it (Demmel et al.
    2012), so the memory depends on the number of rows only. Further matrices of the same features are placed below
    the first, so that all share the coordinates.
    """
    n, d = sum(map(len, (rows, *others))), rows.shape[1]
    factor: Matrix = np.empty((n, 0))
    with single_threaded_blas():
        for start in range(0, d, max(1, _PANEL * n)):
            columns = slice(start, start + _PANEL * n)
            panel = np.concatenate([one[:, columns] for one in (rows, *others)])
            factor = triangular_factor(np.hstack([factor, panel]))
    return factor


def triangular_factor(rows: Matrix) -> Matrix:
    """Return rows with the same inner products in at most as many coordinates as rows; the argument is overwritten."""
    rows = np.ascontiguousarray(rows, dtype=float)
    n = len(rows)
    if rows.shape[1] <= n:
        return rows
    # The transpose of a contiguous matrix is in the order of LAPACK, which therefore works in place.
    raw, *_ = lapack.dgeqrf(rows.T, lwork=_BLOCK * n, overwrite_a=1)
    return _lower(raw[:n].T)


def triangular_rows(rows: Matrix) -> Matrix:
    """Return the lower triangular factor of the rows, with the same inner products; the rows are copied once."""
    n, d = rows.shape
    raw, *_ = lapack.dgeqrf(np.array(rows, dtype=float, order="C").T, lwork=_BLOCK * n, overwrite_a=1)
    return _lower(raw[: min(n, d)].T)


def _lower(rows: Matrix) -> Matrix:
    """Return a copy of the lower triangle, without the mask that NumPy would make."""
    lower = np.array(rows, order="C")
    for place, row in enumerate(lower):
        row[place + 1 :] = 0
    return lower


_MEAN_STEPS = 1000
_MEAN_TOLERANCE, _CLIMB_TOLERANCE = 1e-10, 1e-8
"""Relative gain of the mean's norm at which a search ends: by rotations onto the mean, and by quasi-Newton steps."""
_WIDE, _WIDE_TOLERANCE = 512, 1e-7
"""Coordinates from which configurations are rotated in turn, and the relative gain at which this search ends."""
_FIRST_MEAN_STEPS, _FAR = 8, 40
"""After this many steps onto the mean, quasi-Newton steps follow if more than `_FAR` are expected to remain."""
_ROWS, _BLOCK = 1024, 32
"""Rows that are copied at a time, and columns that LAPACK reduces at a time."""
_ROTATING, _MOVING = 20, 4
"""Multiplications for a new rotation, and for a step of a rotation, in products of as many features."""
_PRECISE, _ROUNDED = 1e-9, 8 * float(np.finfo(float).eps)
"""Relative error of a sum of singular values; rounding error of squared ones, relative to the largest."""
_FEW = 8
"""Most configurations for which limits of all pairs take less time than the rotations."""
_EPS = float(np.finfo(float).eps)
_HISTORY, _IN_A_ROW, _SMALLEST_SIZE = 5, 2, 1e-6
"""Moves from which a quasi-Newton step is estimated; small gains in a row that end the search; smallest step."""


_COPY = 1e-3
"""Procrustes distance below which two shapes of unit size are copies, perhaps in another precision."""


_LOST = 1e-13
"""Share of the size of a shape below which the rows other than a far one are lost to rounding."""


def find_copies(shapes: Mapping[str, Matrix]) -> dict[str, str]:
    """Return the centred shapes that equal an earlier one up to rotation and scale, with the name of that one.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((9, 3))
    >>> find_copies({"a": rows, "b": 1 - rows[:, ::-1] ** 3, "c": -2 * rows[:, ::-1]})
    {'c': 'a'}
    """
    copies: dict[str, str] = {}
    images: dict[str, Vector] = {}
    for name, shape in shapes.items():
        # Equal inner products map a random vector alike, whatever the axes.
        image = shape @ (np.random.default_rng(0).standard_normal(len(shape)) @ shape)
        image /= max(float(np.linalg.norm(image)), np.finfo(float).tiny)
        # Images of different shapes may be alike where one direction has nearly all of the variance.
        near = (known for known, other in images.items() if np.linalg.norm(image - other) <= _COPY)
        same = (known for known in near if _is_copy(shape, shapes[known]))
        if (first := next(same, None)) is None:
            images[name] = image
        else:
            copies[name] = first
    return copies


def _is_copy(rows: Matrix, others: Matrix) -> bool:
    """Return whether two centred shapes are equal up to rotation, scale and rounding, without a distant row as well."""
    if len(rows) < 2:
        return False
    rest = np.arange(len(rows)) != np.argmax(np.einsum("ij,ij->i", rows, rows))
    parts = [side[rest] - side[rest].mean(axis=0) for side in (rows, others)]
    is_lost = np.linalg.norm(parts[0]) <= _LOST * np.linalg.norm(rows)
    return _are_equal(rows, others) and not is_lost and _are_equal(*parts)


def _are_equal(rows: Matrix, others: Matrix) -> bool:
    sizes = float(np.linalg.norm(rows) * np.linalg.norm(others))
    # Of single columns, such as distances, one with the other sign is no copy.
    near = float((rows.T @ others).sum()) if rows.shape[1] == others.shape[1] == 1 else closeness(rows, others)
    return sizes > 0 and near >= (1 - _COPY**2 / 2) * sizes


def rotate_onto(rows: Matrix, target: Matrix) -> Matrix:
    """Return the rows after the rotation (or reflection) that brings them closest to the target."""
    left, _, right = np.linalg.svd(rows.T @ target)
    result: Matrix = rows @ (left @ right)
    return result


def closeness(rows: Matrix, target: Matrix) -> float:
    """Largest inner product of two configurations over all rotations and reflections."""
    return sum_of_singular_values(rows.T @ target)


def sum_of_singular_values(product: Matrix) -> float:
    """Return the sum of the singular values; unless many of them are tiny, their squares take a third of the time."""
    squares = np.maximum(np.linalg.eigvalsh(product.T @ product), 0.0)
    roots, rounding = np.sqrt(squares), _ROUNDED * squares[-1]
    # An error of a square changes its root by less than the error divided by the root, and by less than its own root.
    if (rounding / np.maximum(roots, np.sqrt(rounding or 1.0))).sum() <= _PRECISE * roots.sum():
        return float(roots.sum())
    return float(np.linalg.svd(product, compute_uv=False).sum())


def mean_shape(configurations: Sequence[Matrix], start: Matrix | None = None) -> tuple[Matrix, int, bool]:
    """Mean of the configurations after the rotations that maximise the norm of the mean (Gower 1975).

    Parameters
    ----------
    configurations : sequence of arrays of shape (n, d)
        Centred configurations that all have the same shape.
    start : array of shape (n, d), optional
        Starting point of the search. Default: the configuration with the largest total closeness to the others.

    Returns
    -------
    array of shape (n, d), int and bool
        The mean, the number of steps, and whether the search converged.
    """
    product = product_with_rotated(configurations)
    rotations, n_steps, converged = rotations_onto_mean(product, first_pulls(configurations, start))
    return mean_of_rotated(configurations, rotations), n_steps, converged


def mean_of_rotated(configurations: Sequence[Matrix], rotations: Sequence[Matrix] | NDArray[np.float64]) -> Matrix:
    """Return the mean of configurations after the rotation of each."""
    total = np.zeros((len(configurations[0]), rotations[0].shape[1]))
    for rows, turn in zip(configurations, rotations, strict=True):
        total += rows @ turn
    mean: Matrix = total / len(configurations)
    return mean


def first_pulls(configurations: Sequence[Matrix], start: Matrix | None = None) -> Array:
    """Return the product of each configuration with the start of the search, by default the most central of them."""
    target = _most_central(configurations) if start is None else start
    return np.stack([rows.T @ target for rows in configurations])


Product = Callable[..., Array]
"""A function of the rotations of some configurations, and perhaps of the numbers of some: the product of each of these
(otherwise of all) with the sum of all rotated ones."""


def rotations_onto_mean(product: Product, pulls: Array) -> tuple[Array, int, bool]:
    """Return the rotations that maximise the norm of the mean, the number of steps, and whether they converged.

    `pulls` are the products of each configuration with the start of the search. Each step rotates all configurations
    onto their mean. Where they share little, the gain per step falls off so slowly that hundreds of steps would follow;
    the search then continues with a quasi-Newton method.
    """
    if len(pulls) == 2:
        # Of two configurations, one can keep its place, and the best rotation of the other is known.
        keep = np.eye(pulls.shape[1])
        turn, _ = nearest_rotation(product(np.stack([keep, np.zeros_like(keep)]))[1])
        return np.stack([keep, turn]), 1, True
    length, gain = 0.0, np.inf
    is_wide = pulls.shape[1] >= _WIDE
    tolerance = _WIDE_TOLERANCE if is_wide else _MEAN_TOLERANCE
    rotations = _rotate_each(pulls)
    for step in range(1, _MEAN_STEPS + 1):
        pulls = product(rotations)
        before, length = length, float(np.sqrt((pulls * rotations).sum()))
        earlier, gain = gain, (length - before) / length
        if gain <= tolerance:
            return rotations, step, True
        if step >= _FIRST_MEAN_STEPS and np.log(tolerance / gain) < _FAR * np.log(min(gain / earlier, 1.0)):
            break
        rotations = _rotate_in_turn(product, rotations) if is_wide else _rotate_each(pulls)
    return _climb(product, rotations, step)


def _rotate_each(pulls: Array) -> Array:
    """Return the rotation of each configuration onto the mean, several at once."""
    n_at_once = threads_for(_ROTATING * pulls[0].size * len(pulls[0]))
    return np.stack(list(parallel(lambda pull: nearest_rotation(pull)[0], pulls, at_once=n_at_once)))


def _rotate_in_turn(product: Product, rotations: Array) -> Array:
    """Rotate one configuration after another onto the sum of the others (ten Berge 1977), which takes fewer steps."""
    rotations = rotations.copy()
    for k in range(len(rotations)):
        rotations[k] = 0.0
        rotations[k], _ = nearest_rotation(product(rotations, [k])[0])
    return rotations


def _climb(product: Product, rotations: Array, step: int) -> tuple[Array, int, bool]:
    """Maximise the norm of the mean by a quasi-Newton method on the rotations (L-BFGS, Nocedal 1980)."""

    def objective(rotations: Array) -> tuple[float, Array]:
        """Return the squared norm of the sum, and its skew-symmetric gradients."""
        pulls = product(rotations)
        slope = rotations.swapaxes(1, 2) @ pulls
        return float((pulls * rotations).sum()), slope - slope.swapaxes(1, 2)

    value, slope = objective(rotations)
    moves, changes = deque[Vector](maxlen=_HISTORY), deque[Vector](maxlen=_HISTORY)
    n_small = 0
    while step < _MEAN_STEPS:
        step += 1
        direction = _quasi_newton(slope.ravel(), moves, changes).reshape(slope.shape)
        size = 1.0 if moves else slope.shape[1] * len(slope) / (2 * value)
        while True:
            trial = _retract(rotations, size * direction)
            reached, new_slope = objective(trial)
            if reached >= value or size < _SMALLEST_SIZE:
                break
            size /= 4
        move, change = size * direction.ravel(), (slope - new_slope).ravel()
        if reached < value:
            return rotations, step, False
        if move @ change > 0:
            moves.append(move)
            changes.append(change)
        # The norm of the mean is the square root of the value, so its relative gain is half as large.
        n_small = n_small + 1 if reached - value <= 2 * _CLIMB_TOLERANCE * reached else 0
        rotations, value, slope = trial, reached, new_slope
        if n_small == _IN_A_ROW:
            return rotations, step, True
    return rotations, step, False


def _panels(
    configurations: Sequence[Matrix], orders: Sequence[Index] | None = None, *, unit: bool = False
) -> Iterator[Matrix]:
    """Yield rows of configurations side by side, each with its rows in an order of its own or scaled to unit norm."""
    sizes = [float(np.linalg.norm(rows)) if unit else 1.0 for rows in configurations]
    for start in range(0, len(configurations[0]), _ROWS):
        chosen = slice(start, start + _ROWS)
        parts = (rows[chosen if orders is None else orders[k][chosen]] for k, rows in enumerate(configurations))
        yield np.hstack([part / size for part, size in zip(parts, sizes, strict=True)])


def _join_panels(panels: Iterator[Matrix], shape: tuple[int, int]) -> Matrix:
    """Return panels of rows as one matrix."""
    joint: Matrix = np.empty(shape)
    for number, panel in enumerate(panels):
        joint[_ROWS * number : _ROWS * (number + 1)] = panel
    return joint


def product_with_rotated(
    configurations: Sequence[Matrix],
    n_uses: int = _FAR,
    orders: Sequence[Index] | None = None,
    *,
    unit: bool = False,
) -> Product:
    """Return the products of configurations with the sum of all rotated ones, as a function of the rotations."""
    n, d = configurations[0].shape
    width = d * len(configurations)
    panels = _panels(configurations, orders, unit=unit)
    by_gram = n * width**2 + 2 * n_uses * width**2 * d < 4 * n_uses * n * width * d
    if by_gram:
        factor: Matrix = sum((panel.T @ panel for panel in panels), np.zeros((width, width)))
    else:
        factor = _join_panels(panels, (n, width))

    def product(rotations: Array, some: Sequence[int] | None = None) -> Array:
        stacked = rotations.reshape(width, -1)
        right = stacked if by_gram else factor @ stacked
        left = factor.reshape(-1, d, width) if by_gram else np.split(factor.T, len(configurations))
        left = left if some is None else [left[k] for k in some]
        return np.stack(list(parallel(lambda part: part @ right, left, at_once=threads_for(width * right.size))))

    return product


def product_of_others(product: Product, left_out: int) -> Product:
    """Return the same function for all configurations but one."""

    def of_others(rotations: Array, some: Sequence[int] | None = None) -> Array:
        chosen = range(len(rotations)) if some is None else some
        return product(np.insert(rotations, left_out, 0.0, axis=0), [k + (k >= left_out) for k in chosen])

    return of_others


def norm_of_rough_mean(
    configurations: Sequence[Matrix],
    n_steps: int,
    orders: Sequence[Index] | None = None,
    *,
    unit: bool = False,
    beyond: float = 0.0,
) -> float:
    """Return the norm of the mean after a few steps of rotations, the first of them onto the first configuration.

    The rows of each configuration may be permuted by an order of its own, and each may be scaled to unit norm. If no
    rotations can reach the norm `beyond`, an upper limit below it is returned.
    """
    k, d = len(configurations), configurations[0].shape[1]
    if beyond and k <= _FEW:
        squares = sum(1.0 if unit else float(np.vdot(rows, rows)) for rows in configurations)
        products = _products_of_pairs(_panels(configurations, orders, unit=unit), k, d)
        for largest in (_rough_limit, _close_limit):
            limit = float(np.sqrt(squares + 2 * sum(map(largest, products)))) / k
            if limit < beyond:
                return limit
    product = product_with_rotated(configurations, n_steps + 1, orders, unit=unit)
    rotations = np.zeros((k, d, d))
    rotations[0] = np.eye(d)
    for _ in range(n_steps):
        rotations = nearest_rotations(product(rotations))
    return float(np.sqrt((product(rotations) * rotations).sum())) / k


def _products_of_pairs(panels: Iterable[Matrix], k: int, d: int) -> Array:
    """Return the product of each pair of configurations, whose rows are side by side in panels."""
    pairs = list(combinations(range(k), 2))
    products = np.zeros((len(pairs), d, d))
    for panel in panels:
        parts = np.split(panel, k, axis=1)
        for product, (i, j) in zip(products, pairs, strict=True):
            product += parts[i].T @ parts[j]
    return products


def _rough_limit(product: Matrix) -> float:
    """Return an upper limit of the inner product of two configurations over all rotations, from their product."""
    return float(np.sqrt(len(product)) * np.linalg.norm(product))


def _close_limit(product: Matrix) -> float:
    """Return a closer upper limit, which takes longer: the sum of the singular values, up to rounding."""
    squares = np.linalg.eigvalsh(product.T @ product)
    return float(np.sqrt(np.maximum(squares, 0.0) + len(squares) * _EPS * squares[-1]).sum())


def _quasi_newton(slope: Vector, moves: Sequence[Vector], changes: Sequence[Vector]) -> Vector:
    """Return the uphill direction from the gradient and the latest moves with their changes of gradient."""
    direction = slope.copy()
    factors = []
    for move, change in zip(reversed(moves), reversed(changes), strict=True):
        factors.append((move @ direction) / (move @ change))
        direction -= factors[-1] * change
    if moves:
        direction *= (moves[-1] @ changes[-1]) / (changes[-1] @ changes[-1])
    for move, change, factor in zip(moves, changes, reversed(factors), strict=True):
        direction += (factor - (change @ direction) / (move @ change)) * move
    return direction


def _retract(rotations: Array, skew: Array) -> Array:
    """Return rotations moved along skew-symmetric directions, by the Cayley transform."""
    one = np.eye(skew.shape[1])

    def move(pair: tuple[Matrix, Matrix]) -> Matrix:
        rotation, half = pair[0], pair[1] / 2
        moved: Matrix = rotation @ np.linalg.solve(one - half, one + half)
        return moved

    pairs = list(zip(rotations, skew, strict=True))
    return np.stack(list(parallel(move, pairs, at_once=threads_for(_MOVING * skew[0].size * len(one)))))


def _most_central(configurations: Sequence[Matrix]) -> Matrix:
    totals = np.zeros(len(configurations))
    for i, configuration in enumerate(configurations):
        for j in range(i):
            value = closeness(configuration, configurations[j])
            totals[[i, j]] += value
    return configurations[int(np.argmax(totals))]


_STEPS, _TOLERANCE = 1000, 1e-10
_STARTS, _FIRST_STEPS, _FINISHED = 12, 15, 5
"""Number of starting rotations, of steps from each, and of starts besides the means that are run to convergence."""
_NEAREST = 1e-12
"""Smallest allowed distance between two trials, in units of the mean distance; smaller ones are replaced by it."""


def symmetric_roots(covariances: Array) -> Array:
    """Return the symmetric square root of each covariance.

    Examples
    --------
    >>> symmetric_roots(np.diag([4.0, 9.0])[None])[0]
    array([[2., 0.],
           [0., 3.]])
    """
    values, axes = np.linalg.eigh(covariances)
    roots: Array = (axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ axes.swapaxes(1, 2)
    return roots


def gaussian_distance(
    means: tuple[Matrix, Matrix], covariances: tuple[Array, Array], weight: float
) -> tuple[float, Matrix]:
    """Mean squared distance between Gaussian clouds, and the rotation of the second set that minimises it.

    The squared distance between two clouds is `weight` times the squared distance between their means, plus 2 -
    `weight` times the squared Bures distance between their covariances. Rotations within each cloud and the rotation of
    all clouds are optimised alternately. The result is the best of several starts, but may be a local minimum.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> means, covariances = rng.standard_normal((5, 2)), np.tile(np.diag([1.0, 2.0]), (5, 1, 1))
    >>> turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> turned = means @ turn, turn.T @ covariances @ turn
    >>> bool(gaussian_distance((means, turned[0]), (covariances, turned[1]), 1.0)[0] < 1e-9)
    True
    """
    (m_x, m_y), (r_x, r_y) = means, (symmetric_roots(covariance) for covariance in covariances)
    from_means = m_y.T @ m_x

    def descend(rotation: Matrix, n_steps: int) -> tuple[float, Matrix]:
        reached = -np.inf
        for _ in range(n_steps):
            within = nearest_rotations(r_y @ rotation @ r_x)
            from_spread = np.einsum("cij,cjk,ckl->il", r_y, within, r_x, optimize=True)
            rotation, overlap = nearest_rotation(weight * from_means + (2 - weight) * from_spread)
            if overlap - reached <= _TOLERANCE * overlap:
                break
            reached = overlap
        return -overlap, rotation

    rotation = nearest_rotation(from_means)[0] if weight == 2 else _best(descend, from_means)
    mean_gap = ((m_x - m_y @ rotation) ** 2).sum()
    spreads = sum(float(np.einsum("cii->", covariance)) for covariance in covariances)
    shared = float(np.linalg.svd(r_y @ rotation @ r_x, compute_uv=False).sum())
    return float(weight * mean_gap + (2 - weight) * (spreads - 2 * shared)) / len(m_x), rotation


def energy_distance(first: Sequence[Matrix], second: Sequence[Matrix]) -> tuple[float, Matrix]:
    """Mean energy distance between clouds of trials, and the rotation of the second set that minimises it.

    The rotation minimises the mean distance between the trials of the two clouds, by iteratively reweighted least
    squares. Means over pairs within a cloud exclude each trial's pair with itself, so that the distance is not biased
    if there are few trials.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> clouds = [rng.standard_normal((4, 2)) + 9 * i for i in range(3)]
    >>> apart, _ = energy_distance(clouds, [cloud[:, ::-1] for cloud in clouds])
    >>> apart < 0.1
    True
    """
    pairs = [np.full((len(a), len(b)), 1.0 / (len(a) * len(b))) for a, b in zip(first, second, strict=True)]

    def distances(rotation: Matrix) -> list[Matrix]:
        return [lengths(a, b @ rotation) for a, b in zip(first, second, strict=True)]

    def descend(rotation: Matrix, n_steps: int) -> tuple[float, Matrix]:
        reached = np.inf
        for _ in range(n_steps):
            gaps = distances(rotation)
            now = float(np.mean([gap.mean() for gap in gaps]))
            if reached - now <= _TOLERANCE * now:
                break
            reached = now
            weights = [part / np.maximum(gap, _NEAREST * now) for part, gap in zip(pairs, gaps, strict=True)]
            rotation, _ = nearest_rotation(_products(first, second, weights))
        return now, rotation

    rotation = _best(descend, _products(first, second, pairs))
    between = float(np.mean([gap.mean() for gap in distances(rotation)]))
    within = sum(float(np.mean([_mean_pair(cloud) for cloud in side])) for side in (first, second))
    return between - 0.5 * within, rotation


def _best(descend: Callable[[Matrix, int], tuple[float, Matrix]], from_means: Matrix) -> Matrix:
    """Return the rotation with the lowest value that is reached from several fixed starting points."""
    by_means, *others = [descend(start, _FIRST_STEPS) for start in _starts(from_means)]
    others.sort(key=lambda end: end[0])
    return min((descend(start, _STEPS) for _, start in (by_means, *others[:_FINISHED])), key=lambda end: end[0])[1]


def _starts(from_means: Matrix) -> Iterator[Matrix]:
    """Yield the rotation that fits the means best, then other starting rotations.

    The means of only a few conditions do not determine all directions. Half of the other rotations differ from the
    first only in the undetermined directions, and half are completely random.
    """
    rng, n = np.random.default_rng(0), len(from_means)
    left, values, right = np.linalg.svd(from_means)
    fixed = int(np.count_nonzero(values > 1e-9 * values[0]))
    yield left @ right
    for number in range(_STARTS - 1):
        kept = fixed if number % 2 == 0 and fixed < n else 0
        # The nearest rotation to a random matrix does not depend on the basis in which LAPACK returns free directions.
        free, _ = nearest_rotation(left[:, kept:].T @ rng.standard_normal((n, n)) @ right[kept:].T)
        yield left[:, :kept] @ right[:kept] + left[:, kept:] @ free @ right[kept:]


def _products(first: Sequence[Matrix], second: Sequence[Matrix], weights: Sequence[Matrix]) -> Matrix:
    parts = [b.T @ w.T @ a for a, b, w in zip(first, second, weights, strict=True)]
    product: Matrix = np.sum(parts, axis=0)
    return product


def nearest_rotation(product: Matrix) -> tuple[Matrix, float]:
    """Return the orthogonal matrix closest to the transpose, transposed back, and the inner product."""
    left, values, right = np.linalg.svd(product)
    return left @ right, float(values.sum())


def nearest_rotations(products: Array) -> Array:
    """Return the orthogonal matrix closest to each transposed matrix in a stack, transposed back."""
    left, _, right = np.linalg.svd(products)
    rotations: Array = left @ right
    return rotations


def lengths(a: Matrix, b: Matrix) -> Matrix:
    """Return the distances from all rows of one matrix to all rows of another."""
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    distances: Matrix = np.sqrt(np.maximum(squares, 0.0))
    return distances


def _mean_pair(cloud: Matrix) -> float:
    n = len(cloud)
    return float(lengths(cloud, cloud)[np.triu_indices(n, 1)].mean())
