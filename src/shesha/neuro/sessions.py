"""Two sessions with the same neurons: did rates change, tuning, or the geometry?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._random import generator, number
from shesha._types import Index, Matrix, Seed, Vector
from shesha.kernels.trial_geometry import agreement, distances_of, half_sums
from shesha.neuro._trials import Trials
from shesha.neuro.tracked import MISSING, tracked_table
from shesha.nulls import summarise
from shesha.results import SessionDrift, SessionPair, SessionPart

_FEWEST = 3


@dataclass(frozen=True, eq=False)
class _Session:
    """Mean responses of the conditions in odd and in even trials."""

    name: str
    names: tuple[str, ...]
    halves: tuple[Matrix, Matrix]
    """Of shape (n_conditions, n_neurons); NaN where a half has no trial."""

    @classmethod
    def of(cls, name: str, X: Any, conditions: Any) -> _Session:
        trials = Trials.of(X, conditions, f"session {name}")
        rows = np.column_stack([trials.rates, np.ones(trials.n_trials)])
        place = np.empty(trials.n_trials, dtype=np.intp)
        for code in range(-1, trials.n_conditions):
            # Every other trial of each condition, so that none lacks a half.
            own = np.flatnonzero(trials.codes == code)
            place[own] = np.arange(len(own)) % 2
        sums = half_sums(rows, trials.codes, trials.n_conditions, place, np.array([[True, False]]))
        first, second = (one[0, :, :-1] / one[0, :, -1:] for one in sums)
        return cls(name, trials.names, (first, second))

    @property
    def n_neurons(self) -> int:
        return int(self.halves[0].shape[1])

    def of_shared(self, conditions: Index, neurons: Index) -> tuple[Matrix, Matrix]:
        first, second = (half[np.ix_(conditions, neurons)] for half in self.halves)
        return first, second


def session_drift(
    sessions: Mapping[str, tuple[Any, Any]] | Sequence[tuple[Any, Any]],
    tracked: ArrayLike | None = None,
    *,
    n_permutations: int = 200,
    alpha: float = 0.05,
    seed: Seed = 0,
) -> SessionDrift:
    """Agreement of sessions in population vectors, rates, tuning and geometry, within and between them.

    Population vectors, the responses of all neurons to one condition, differ between sessions if neurons change their
    rate, their tuning, or both; so the parts are told apart (Deitch et al. 2021): `rate` is the correlation over
    neurons of the mean response, `tuning` the median over neurons of the correlation over conditions, and `geometry`
    the rank correlation of the cosine distances between conditions. Each between halves of the trials of two sessions,
    and within the sessions, so that noise takes the same from both.

    Parameters
    ----------
    sessions : mapping of names, or sequence, of pairs (X, conditions)
        Responses and conditions, each as for `trial_split`; at least two sessions. A pair of sessions is compared by
        the conditions that both have.
    tracked : array of shape (n_tracked, n_sessions), optional
        Number of each tracked neuron among the columns of each session, from 0, and -1 where a session lacks it. None:
        all sessions have the same neurons in the same order.
    n_permutations : int
        For the null of population vectors, rates and tuning as many neurons as are shared are drawn from both
        sessions and matched at random; for that of the geometry, the conditions of one session are.
    alpha : float
        Level of the thresholds.
    seed : int, Generator or None

    Returns
    -------
    SessionDrift
        For each pair of sessions `n_shared`, `n_conditions` and the `parts`; NaN where neurons or conditions are fewer
        than three.

    Raises
    ------
    ValueError
        If there are fewer than two sessions, or the table of tracked neurons does not fit them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> tuning, shown = rng.gamma(1, 2, size=(6, 30)), np.tile(np.arange(6), 20)
    >>> gain = rng.gamma(2, 1, size=30)
    >>> days = {"day 1": (rng.poisson(tuning[shown]), shown), "day 2": (rng.poisson((tuning * gain)[shown]), shown)}
    >>> found = session_drift(days)
    >>> pair = found.pairs[0]
    >>> round(pair["rate"].change, 2), round(pair["tuning"].change, 2)
    (0.59, 0.01)
    """
    check.count(n_permutations, "n_permutations", minimum=19)
    check.fraction(alpha, "alpha", closed=False)
    named = sessions if isinstance(sessions, Mapping) else {str(at): one for at, one in enumerate(sessions)}
    if len(named) < 2:
        raise ValueError(f"sessions must be at least 2, got {len(named)}")
    found = [_Session.of(str(name), *_pair(one, name)) for name, one in named.items()]
    table = _table(tracked, found)
    rng = generator(seed)
    pairs = tuple(
        _compared(found[i], found[j], table[:, [i, j]], n_permutations, alpha, rng)
        for i, j in combinations(range(len(found)), 2)
    )
    return SessionDrift(tuple(one.name for one in found), pairs, n_permutations, number(seed))


def _pair(given: Any, name: object) -> tuple[Any, Any]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise TypeError(f"sessions must be pairs (X, conditions), got a {type(given).__name__} for session {name}")
    return given[0], given[1]


def _table(tracked: ArrayLike | None, sessions: list[_Session]) -> NDArray[np.intp]:
    sizes = [one.n_neurons for one in sessions]
    if tracked is not None:
        return tracked_table(tracked, sizes, [one.name for one in sessions])
    if len(set(sizes)) > 1:
        raise ValueError(
            f"sessions must have the same neurons where none are tracked, got {check.listed(sizes)} neurons: pass "
            "tracked, a table of neurons x sessions"
        )
    return np.repeat(np.arange(sizes[0])[:, None], len(sizes), axis=1)


def _compared(
    a: _Session, b: _Session, table: NDArray[np.intp], n_permutations: int, alpha: float, rng: np.random.Generator
) -> SessionPair:
    shared = table[(table != MISSING).all(axis=1)]
    names = [name for name in a.names if name in b.names]
    told = (a.name, b.name, len(shared), len(names))
    if len(shared) < _FEWEST or len(names) < _FEWEST:
        kind = "neurons" if len(shared) < _FEWEST else "conditions"
        reason = f"{min(len(shared), len(names))} {kind} are shared, at least {_FEWEST} are needed"
        check.not_estimable(f"sessions {a.name} and {b.name}: {reason}")
        return SessionPair(*told, reason=reason)
    at = np.array([a.names.index(name) for name in names]), np.array([b.names.index(name) for name in names])
    own, other = a.of_shared(at[0], shared[:, 0]), b.of_shared(at[1], shared[:, 1])
    nulls: dict[str, list[float]] = {name: [] for name in PARTS}
    for _ in range(n_permutations):
        strangers = (rng.choice(one.n_neurons, len(shared), replace=False) for one in (a, b))
        c, d = (one.of_shared(rows, cells) for one, rows, cells in zip((a, b), at, strangers, strict=True))
        for name in ("population_vector", "rate", "tuning"):
            nulls[name].append(_between(PARTS[name], c, d))
        order = rng.permutation(len(names))
        nulls["geometry"].append(_between(geometry, own, (other[0][order], other[1][order])))
    parts = tuple(
        _part(name, _between(score, own, other), _within(score, own, other), np.array(nulls[name]), alpha)
        for name, score in PARTS.items()
    )
    return SessionPair(*told, parts)


Halves = tuple[Matrix, Matrix]


def _between(score: Callable[[Matrix, Matrix], float], a: Halves, b: Halves) -> float:
    return float(np.mean([score(one, other) for one in a for other in b]))


def _within(score: Callable[[Matrix, Matrix], float], a: Halves, b: Halves) -> float:
    return float(np.mean([score(*a), score(*b)]))


def _part(name: str, between: float, within: float, null: Vector, alpha: float) -> SessionPart:
    if np.isnan(between):
        return SessionPart(name, between, within)
    found = summarise(between, null, "higher", alpha, 1.0)
    fields = ("null_mean", "null_sd", "threshold", "score", "p_value")
    return SessionPart(name, between, within, **{field: getattr(found, field) for field in fields})


def _correlations(a: Matrix, b: Matrix) -> Vector:
    """Correlation of each row of one with that of the other, NaN where one is constant."""
    a, b = (one - one.mean(axis=1, keepdims=True) for one in (a, b))
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    found: Vector = np.einsum("ij,ij->i", a, b) / np.where(lengths > 0, lengths, np.nan)
    return found


def _known(values: Vector, summary: Callable[[Vector], Any]) -> float:
    known = values[~np.isnan(values)]
    return float(summary(known)) if len(known) else float("nan")


def population_vector(a: Matrix, b: Matrix) -> float:
    """Mean over conditions of the correlation over neurons."""
    return _known(_correlations(a, b), np.mean)


def rate(a: Matrix, b: Matrix) -> float:
    """Correlation over neurons of the mean response."""
    return _known(_correlations(a.mean(axis=0)[None], b.mean(axis=0)[None]), np.mean)


def tuning(a: Matrix, b: Matrix) -> float:
    """Median over neurons of the correlation over conditions; neurons that respond alike to all have none."""
    return _known(_correlations(a.T, b.T), np.median)


def geometry(a: Matrix, b: Matrix) -> float:
    """Rank correlation of the cosine distances between conditions."""
    one = np.ones((1, len(a)))
    return float(agreement(distances_of(a[None], one, "cosine"), distances_of(b[None], one, "cosine"))[0])


PARTS: Mapping[str, Callable[[Matrix, Matrix], float]] = {
    "population_vector": population_vector,
    "rate": rate,
    "tuning": tuning,
    "geometry": geometry,
}
