"""Drift between sessions with the same neurons, in rates, tuning or geometry, and drift along a session."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.stats import norm as normal

from shesha.inputs import MissingRows, Names, validation as check
from shesha.inputs.table_columns import column_names
from shesha.kernels.condition_distances import agreement, centre_and_scale, condition_distances, half_sums
from shesha.kernels.rounding_and_scaling import centred_units, is_constant, safe_unit
from shesha.neuro.trial_order_null import Null, Orders, over_orders
from shesha.neuro.trials import Trials, alternate, name_sessions, state_neurons_that_end, state_shared_trials
from shesha.nulls import summarise
from shesha.nulls.null_summary import max_statistic_p_values
from shesha.results import SessionDrift, SessionPair, SessionPart, TrialScore
from shesha.results.number import TIE
from shesha.support import types as kinds
from shesha.support.provenance import keep_statements, state, state_warning
from shesha.support.seeds import ALPHA, CONFIDENCE, N_PERMUTATIONS, generator, number, spawn
from shesha.support.types import Index, Labels, Matrix, Seed, Vector
from shesha.support.wording import count

MISSING = -1


def check_tracked(
    tracked: ArrayLike,
    n_neurons: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    *,
    first: Literal[0, 1] = 0,
) -> NDArray[np.intp]:
    """Check a table of tracked neurons, and return it with columns counted from 0 and -1 for missing neurons.

    Parameters
    ----------
    tracked : array of shape (n_tracked, n_sessions)
        For each tracked neuron, its column index in each session, counted from `first`. -1 or NaN marks a neuron that
        the session lacks, as does 0 if `first` is 1.
    n_neurons : sequence of int, optional
        Number of neurons in each session. None: indices have no upper limit.
    names : sequence of str, optional
        Names of the sessions, for error messages. Default: their numbers.
    first : {0, 1}
        Number of the first column: 0 as in Python (CaImAn), or 1 as in MATLAB (CellReg).

    Returns
    -------
    array of shape (n_tracked, n_sessions)

    Raises
    ------
    ValueError
        If an index is out of range, or if a neuron of a session occurs twice.

    Examples
    --------
    >>> check_tracked([[0, 3], [1, -1]], n_neurons=[2, 4]).tolist()
    [[0, 3], [1, -1]]
    """
    if not isinstance(first, int | np.integer) or first not in (0, 1):
        raise ValueError(f"first must be 0 or 1, got {first!r}")
    table = check.dense(tracked, "tracked")
    if table.dtype.kind == "O":
        from pandas import isna

        # Integers that are too large for floats, and other objects, are refused below.
        with suppress(OverflowError, ValueError, TypeError):
            table = np.where(isna(table), np.nan, table).astype(np.float64)
    if table.dtype.kind == "f" and table.size:
        table = np.where(np.isnan(table), MISSING, table)
        table = table.astype(np.intp) if (table == np.round(table)).all() else table
    if table.ndim != 2 or table.dtype.kind not in "iu":
        raise ValueError(
            "tracked must be whole numbers of shape (n_tracked, n_sessions), -1 for a neuron that a session "
            "lacks, got "
            f"{table.dtype} of shape {table.shape}"
        )
    counts = None if n_neurons is None else kinds.sequence(n_neurons, "n_neurons", "whole numbers")
    n_neurons = None if counts is None else [check.count(n, "n_neurons", minimum=0) for n in counts]
    if n_neurons is not None and table.shape[1] != len(n_neurons):
        raise ValueError(f"tracked must have one column per session ({len(n_neurons)}), got {table.shape[1]}")
    names = None if names is None else list(kinds.sequence(names, "names"))
    if names is not None and len(names) != table.shape[1]:
        raise ValueError(f"names must be one per column of tracked ({table.shape[1]}), got {len(names)}")
    table = table.astype(np.intp)
    if (
        first == 0
        and table.size
        and (table.min(axis=0, where=table >= 0, initial=np.iinfo(table.dtype).max) == 1).all()
    ):
        state("tracked counts neurons from 0, although no session has its neuron 0 (pass first=1 if it counts from 1)")
    if first == 1 and (table == 0).any() and (table == MISSING).any():
        raise ValueError(
            "tracked must mark missing neurons by 0 if it counts from 1, got both 0 and -1, as in a table that counts "
            "from 0; pass first=0"
        )
    if first == 1:
        table = np.where(table > 0, table - 1, np.where(table == 0, MISSING, table))
    for index, column in enumerate(table.T):
        name = names[index] if names is not None else str(index)
        _require_numbers(column, None if n_neurons is None else n_neurons[index], name)
    return table


def _require_numbers(column: Index, n: int | None, name: str) -> None:
    top = np.iinfo(np.intp).max if n is None else n
    outside = column[(column < MISSING) | (column >= top)]
    if len(outside):
        limit = "" if n is None else f" to {n - 1}"
        hint = "use the column index of each neuron, not the number from cell detection"
        if n is not None and (outside == n).all():
            hint += ", or pass first=1 if the table counts from 1"
        raise ValueError(
            f"tracked must number the neurons of session {name} from 0{limit}, or be -1, got "
            f"{check.join_items(outside)}; {hint}"
        )
    values, counts = np.unique(column[column != MISSING], return_counts=True)
    if (counts > 1).any():
        repeated = values[counts > 1]
        hint = "; if 0 marks a missing neuron in a table that counts from 1, pass first=1" if 0 in repeated else ""
        raise ValueError(
            f"tracked must name each neuron of session {name} once, got {check.join_items(repeated)} repeatedly{hint}"
        )


def shared_neurons(tracked: ArrayLike, *, first: Literal[0, 1] = 0) -> NDArray[np.intp]:
    """Count the tracked neurons that each pair of sessions shares.

    Parameters
    ----------
    tracked, first
        See `check_tracked`.

    Returns
    -------
    array of shape (n_sessions, n_sessions)
        Number of shared neurons; the diagonal contains the number of tracked neurons in each session.

    Examples
    --------
    >>> shared_neurons([[0, 3, -1], [1, -1, 2], [2, 0, 0]]).tolist()
    [[3, 2, 2], [2, 2, 1], [2, 1, 2]]
    """
    presence = (check_tracked(tracked, first=first) != MISSING).astype(np.intp)
    counts: NDArray[np.intp] = presence.T @ presence
    return counts


_FEWEST = 3
_DIVISIONS = 31
_FAR_BETTER = 0.3
"""Difference in tuning correlation from which a table of tracked neurons is taken to count from 1."""
_TRIALS = 1000
_STANDARDISED = "all neurons have the same mean, as if responses were standardised in each session; pass raw responses"
_EQUAL, _RELIABLE = 0.25, 0.5
"""Variance of the means of neurons, relative to their squared errors, up to which responses were standardised, which
leaves a part of it if trials were left out later; and agreement of halves that is reliable."""
Cube = NDArray[np.float64]
"""Mean responses in each half of a session's trials: (n_halves, n_conditions, n_neurons)."""
Score = Callable[[Cube, Cube], Matrix]
"""Function that compares each half of one session with each half of another session."""


@dataclass(frozen=True, eq=False)
class _Session:
    """Mean responses to the conditions in a session's odd and even trials."""

    name: str
    names: tuple[str, ...]
    halves: Cube
    """Mean responses in odd and in even trials, of shape (2, n_conditions, n_neurons)."""
    rates: Matrix
    codes: Labels
    neurons: Names | None = None
    """Names of the neurons, if the responses are a table with column names."""

    @classmethod
    def build(cls, name: str, X: Any, conditions: Any, missing: MissingRows) -> _Session:
        trials = Trials.build(X, conditions, f"session {name}", missing=missing)
        trials.state_blocked_conditions()
        if not trials.n_conditions:
            raise ValueError(
                f"session {name} must have a condition with at least 2 trials, got {count(trials.n_trials, 'trial')} "
                "of different conditions"
            )
        rows = np.column_stack([trials.rates, np.ones(trials.n_trials)])
        place = alternate(trials.codes, 2)
        sums = half_sums(rows, trials.codes, trials.n_conditions, place, np.array([[True, False]]))
        first, second = (half[0, :, :-1] / half[0, :, -1:] for half in sums)
        neurons = column_names(X if trials.source is None else trials.source)
        neurons = neurons if neurons is None or trials.neurons is None else neurons.take(trials.neurons)
        return cls(name, trials.names, np.stack([first, second]), trials.rates, codes=trials.codes, neurons=neurons)

    @property
    def n_neurons(self) -> int:
        return int(self.halves.shape[2])

    @cached_property
    def is_standardised(self) -> bool:
        """Whether the means of the neurons differ less than equal means would by sampling, as after z-scoring."""
        rows = self.rates / safe_unit(self.rates)
        rows = rows[:, ~is_constant(rows, n_terms=_TRIALS)]
        if rows.shape[1] < _FEWEST:
            return False
        means, errors = rows.mean(axis=0), rows.std(axis=0) / len(rows) ** 0.5
        return bool(np.mean(((means - means.mean()) / errors) ** 2) < _EQUAL)

    def take(self, names: Sequence[str], neurons: Index) -> Cube:
        return self.halves[:, [self.names.index(name) for name in names]][:, :, neurons]


@keep_statements
def session_drift(
    sessions: Mapping[str, tuple[Any, Any]] | Sequence[tuple[Any, Any]],
    tracked: ArrayLike | None = None,
    *,
    first: Literal[0, 1] = 0,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = ALPHA,
    confidence: float = CONFIDENCE,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> SessionDrift:
    """Agreement of population vectors, rates, tuning and geometry, within and between sessions.

    Population vectors (the responses of all neurons to one condition) differ between sessions if neurons change their
    rates, their tuning, or both. This function separates these parts (Deitch et al. 2021). `rate` is the correlation,
    over neurons, of the mean responses. `tuning` is the median over neurons of each neuron's correlation over
    conditions. `geometry` is the rank correlation of the cosine distances between conditions. Each part is computed
    between halves of the trials, both across and within sessions, so that noise lowers both values alike.

    A change in `geometry` does not imply a change in tuning. Cosine distances weight neurons by their rates, so gain
    changes that differ between neurons change the geometry even if tuning is constant. Interpret a change in `geometry`
    as a separate effect only if `rate` agrees between the sessions. A gain that all neurons share, such as brightness,
    changes none of the parts; the `gain` of each pair of sessions reports it.

    Parameters
    ----------
    sessions : mapping from names to pairs (X, conditions), or sequence of such pairs
        Responses and conditions for at least two sessions, see `trial_split`. Two sessions are compared on the
        conditions that they share.
    tracked : array of shape (n_tracked, n_sessions), optional
        For each tracked neuron, its column index in each session, counted from `first`; -1 or NaN if the session lacks
        the neuron. None: neurons of tables are matched by the names of the columns, and other sessions have the same
        neurons in the same order.
    first : {0, 1}
        Number of the first column in `tracked`: 0 as in Python, or 1 as in MATLAB, where 0 marks a missing neuron.
    n_permutations : int
        Number of permutations for each null distribution. Agreement is compared with random matchings: for population
        vectors, rates and tuning, as many neurons as the sessions share are drawn from each and matched at random; for
        the geometry, the conditions of one session are permuted. A change is compared with the changes between random
        divisions of the trials of both sessions, in which each condition keeps its numbers of trials.
    alpha : float
        Significance level, for the thresholds of agreement and for the corrected p-values of changes.
    confidence : float
        Confidence level of the intervals for changes.
    seed : int, Generator or None
    missing
        See `crossnobis`.

    Returns
    -------
    SessionDrift
        For each pair of sessions, `n_shared`, `n_conditions`, `gain` and the `parts`. Each part has the `change` with
        its interval, its p-value and one corrected for all pairs and parts (`corrected_change_p_value`); `p_value`
        belongs to the agreement between the sessions. If the sessions share fewer than three neurons or conditions,
        `parts` is empty and `reason` says why. `rate` is NaN, with a reason, if responses were standardised. Without
        `tracked`, `matched` is False if neurons of reliable sessions agree no more than randomly matched ones; the
        headline then names these sessions and does not count their changes.

    Raises
    ------
    ValueError
        If there are fewer than two sessions, or if the table of tracked neurons does not fit the sessions.

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
    n_permutations = check.count(n_permutations, "n_permutations", minimum=19)
    check.fraction(alpha, "alpha", closed=False)
    check.fraction(confidence, "confidence", closed=False)
    named = name_sessions(sessions, "pairs (X, conditions)")
    if len(named) < 2:
        raise ValueError(f"sessions must be at least 2, got {len(named)}")
    built = [_Session.build(name, *_pair(session, name), missing) for name, session in named]
    every = dict.fromkeys(name for session in built for name in session.names)
    for session in built:
        if lacking := [name for name in every if name not in session.names]:
            total = count(len(every), "condition")
            state(f"session {session.name} lacks {len(lacking)} of {total}: {check.join_items(lacking)}")
    _state_other_numbering(built)
    table = _table(tracked, built, first)
    state_shared_trials({session.name: session.rates for session in built})
    _state_standardised(built)
    _state_lost_neurons(built, table)
    rng, dividing = generator(seed), spawn(seed, _DIVISIONS)
    places = list(combinations(range(len(built)), 2))
    pairs, changes = [], []
    for i, j in places:
        shared = table[:, [i, j]]
        pair = _compare_sessions(built[i], built[j], shared, n_permutations, alpha, rng)
        changes.append(_changes(built[i], built[j], shared, pair, n_permutations, dividing))
        pairs.append(replace(pair, matched=tracked is not None or _are_matched(pair, alpha)))
    tested = _test_changes(pairs, changes, confidence)
    names = tuple(session.name for session in built)
    return SessionDrift(names, tested, n_permutations, alpha, confidence=confidence, seed=number(seed))


def _state_other_numbering(sessions: Sequence[_Session]) -> None:
    """Warn if conditions are counted from 0 in some sessions and from 1 in others, as by Python and MATLAB."""
    starts = {}
    for session in sessions:
        numbers = sorted(int(name) for name in session.names if name.isdecimal())
        if len(numbers) == len(session.names) and numbers == [*range(numbers[0], numbers[0] + len(numbers))]:
            starts[session.name] = numbers[0]
    if len(starts) == len(sessions) and set(starts.values()) == {0, 1} and len({len(s.names) for s in sessions}) == 1:
        one, other = (next(name for name, start in starts.items() if start == first) for first in (0, 1))
        state_warning(
            f"conditions seem to count from 0 in {one} and from 1 in {other}, so different conditions are compared "
            "under one name; number them alike"
        )


def _state_standardised(sessions: Sequence[_Session]) -> None:
    """Warn if rates are not estimable in some sessions, and in the result if others were processed otherwise."""
    standardised = [session.name for session in sessions if session.is_standardised]
    if standardised:
        check.not_estimable(f"agreement in rate with session {check.join_items(standardised)}: {_STANDARDISED}")
    if 0 < len(standardised) < len(sessions):
        state_warning(
            f"all neurons of session {check.join_items(standardised)} have the same mean, as after z-scoring, but not "
            "those of the other sessions, so population vectors differ by their units. Process all sessions alike"
        )


def _state_lost_neurons(sessions: Sequence[_Session], table: Index) -> None:
    """Warn in the result if neurons that respond in some sessions are 0 in another, like units that were lost."""
    active = np.ones(table.shape, dtype=bool)
    for place, session in enumerate(sessions):
        known = table[:, place] != MISSING
        active[known, place] = np.any(session.rates, axis=0)[table[known, place]]
    lost = ~active & np.any(active, axis=1, keepdims=True)
    if lost.any():
        where = [f"{n} in {session.name}" for n, session in zip(lost.sum(axis=0), sessions, strict=True) if n]
        state_warning(
            f"neurons that respond in another session are 0 in all trials ({', '.join(where)}), so units that were "
            "lost look like changes of rate and tuning. Leave them out, or mark them as -1 in tracked="
        )


def _are_matched(pair: SessionPair, alpha: float) -> bool:
    """Return whether neurons of sessions, if they are reliable, agree more than randomly matched ones (Stouffer's z).

    A part may change completely in the same neurons, and one of two parts is significant by chance more often than one.
    """
    known = [pair[name] for name in ("rate", "tuning") if not np.isnan(pair[name].value)] if pair.parts else []
    scores = [part.z for part in known if not np.isnan(part.z)]
    if not scores or not all(part.within > _RELIABLE for part in known):
        return True
    return bool(np.sum(scores) / len(scores) ** 0.5 > normal.isf(alpha))


def _changes(
    a: _Session, b: _Session, table: NDArray[np.intp], pair: SessionPair, n_draws: int, rng: np.random.Generator
) -> Matrix:
    """For each part, the observed change, then its changes for random divisions of the trials of both sessions."""
    if not pair.parts:
        return np.empty((0, n_draws + 1))
    names, shared = _shared(a, b, table)
    rates, codes, groups = [], [], []
    for place, (session, column) in enumerate(zip((a, b), shared.T, strict=True)):
        number_of = [names.index(name) if name in names else -1 for name in session.names]
        own = np.array([*number_of, -1])[session.codes]
        rates.append(session.rates[own >= 0][:, column])
        codes.append(own[own >= 0])
        groups.append(2 * place + alternate(codes[-1], 2))
    rows, code, group = np.concatenate(rates), np.concatenate(codes), np.concatenate(groups)
    by_code = np.argsort(code, kind="stable")
    changes = [[part.change for part in pair.parts]]
    for _ in range(n_draws):
        moved = np.lexsort((rng.random(len(code)), code))
        drawn = np.empty_like(group)
        drawn[by_code] = group[moved]
        cubes = _means(rows, drawn * len(names) + code, len(names))
        scores = [
            (score(cubes[:2], cubes[2:]).mean(), _split_half_score(score, cubes[:2], cubes[2:]))
            for score in PARTS.values()
        ]
        changes.append([within - between for between, within in scores])
    return np.array(changes, dtype=np.float64).T


def _means(rows: Matrix, cells: Index, n_conditions: int) -> Cube:
    """Mean response in each half of each session, of shape (4, n_conditions, n_neurons)."""
    counts = np.bincount(cells, minlength=4 * n_conditions)
    indicator = sparse.csr_matrix(
        (1.0 / counts[cells], (cells, np.arange(len(cells)))), shape=(4 * n_conditions, len(cells))
    )
    return np.asarray(indicator @ rows).reshape(4, n_conditions, -1)


def _test_changes(
    pairs: Sequence[SessionPair], changes: Sequence[Matrix], confidence: float
) -> tuple[SessionPair, ...]:
    """Add p-values and intervals of the changes, corrected for the number of pairs and parts."""
    lines = [line for matrix in changes for line in matrix]
    known = [line for line in lines if line[0] == line[0]]
    corrected = iter(max_statistic_p_values(known, ["higher"] * len(known)).tolist())
    tested = []
    for pair, matrix in zip(pairs, changes, strict=True):
        parts = []
        for part, line in zip(pair.parts, matrix, strict=True):
            if line[0] != line[0]:
                parts.append(part)
                continue
            null = line[1:][~np.isnan(line[1:])]
            tail = (1 - confidence) / 2
            low, high = np.quantile(null, [tail, 1 - tail]) if len(null) else (np.nan, np.nan)
            parts.append(
                replace(
                    part,
                    change_low=float(line[0] - high),
                    change_high=float(line[0] - low),
                    change_p_value=float(np.count_nonzero(~(line < line[0] - TIE)) / len(line)),
                    corrected_change_p_value=next(corrected),
                )
            )
        tested.append(replace(pair, parts=tuple(parts)))
    return tuple(tested)


def _pair(session: Any, name: object) -> tuple[Any, Any]:
    if not isinstance(session, tuple | list) or len(session) != 2:
        raise TypeError(f"sessions must be pairs (X, conditions), got a {type(session).__name__} for session {name}")
    return session[0], session[1]


def _table(tracked: ArrayLike | None, sessions: list[_Session], first: Literal[0, 1]) -> NDArray[np.intp]:
    sizes = [session.n_neurons for session in sessions]
    if tracked is not None:
        table = check_tracked(tracked, sizes, [session.name for session in sessions], first=first)
        if first == 0 and (table >= 0).all():
            _refuse_count_from_one(table, sessions)
        return table
    known = [session.neurons for session in sessions if session.neurons is not None]
    if len(known) == len(sessions) and not all(names.has_same_order(known[0]) for names in known):
        shared = reduce(np.intersect1d, (names.values for names in known))
        if not len(shared):
            raise ValueError(
                f"sessions must have neurons of the same names unless tracked is given, got {known[0].values[0]} and "
                f"{known[1].values[0]}; pass a table of neurons x sessions as tracked=, or arrays without names"
            )
        most = max(sizes)
        few = "" if len(shared) == most else f"{len(shared)} of {most} "
        state(f"{few or 'all '}neurons matched by name{', in another order' * (not few)}")
        kept = known[0].values[np.isin(known[0].values, shared)]
        places = [{name: place for place, name in enumerate(names.values.tolist())} for names in known]
        return np.array([[of[name] for of in places] for name in kept.tolist()], dtype=np.intp)
    if len(set(sizes)) > 1:
        raise ValueError(
            f"sessions must have the same neurons unless tracked is given, got {check.join_items(sizes)} neurons; "
            "pass a table of neurons x sessions as tracked="
        )
    if len(known) in (0, len(sessions)):
        state(f"neurons {'matched by name' if known else 'paired by position (no names)'}")
    return np.repeat(np.arange(sizes[0])[:, None], len(sizes), axis=1)


def _refuse_count_from_one(table: NDArray[np.intp], sessions: list[_Session]) -> None:
    """Refuse a table under which tuning agrees far better if columns are counted from 1, with 0 for missing neurons."""
    as_given: list[float] = []
    from_one: list[float] = []
    for i, j in combinations(range(len(sessions)), 2):
        for agreements, columns in ((as_given, table[:, [i, j]]), (from_one, table[:, [i, j]] - 1)):
            names, shared = _shared(sessions[i], sessions[j], columns)
            if min(len(shared), len(names)) >= _FEWEST:
                a, b = sessions[i].take(names, shared[:, 0]), sessions[j].take(names, shared[:, 1])
                agreements.append(float(tuning_correlation(a, b).mean()))
    if not as_given or not from_one:
        return
    given, other = float(np.nanmean(as_given)), float(np.nanmean(from_one))
    if other - given > _FAR_BETTER:
        raise ValueError(
            f"tracked must count columns from 0, got a table under which tuning agrees better if counted from 1 "
            f"({other:.2f} against {given:.2f}); pass first=1 if 1 is the first column and 0 a missing neuron"
        )


def _shared(a: _Session, b: _Session, table: NDArray[np.intp]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the conditions that both sessions have, and the columns of the neurons that both have."""
    return [name for name in a.names if name in b.names], table[(table >= 0).all(axis=1)]


def _compare_sessions(
    a: _Session, b: _Session, table: NDArray[np.intp], n_permutations: int, alpha: float, rng: np.random.Generator
) -> SessionPair:
    names, shared = _shared(a, b, table)
    fields = (a.name, b.name, len(shared), len(names))
    if len(shared) < _FEWEST or len(names) < _FEWEST:
        n, kind = (len(shared), "neuron") if len(shared) < _FEWEST else (len(names), "condition")
        reason = f"they share only {count(n, kind)}, but at least {_FEWEST} are needed"
        check.not_estimable(f"sessions {a.name} and {b.name}: {reason}")
        return SessionPair(*fields, reason=reason)
    first, other = a.take(names, shared[:, 0]), b.take(names, shared[:, 1])
    nulls: dict[str, list[float]] = {name: [] for name in PARTS}
    distances = _distances(first), _distances(other)
    for _ in range(n_permutations):
        c, d = (session.take(names, rng.choice(session.n_neurons, len(shared), replace=False)) for session in (a, b))
        for name in ("population_vector", "rate", "tuning"):
            nulls[name].append(float(PARTS[name](c, d).mean()))
        relabelled = _relabel(distances[1], rng.permutation(len(names)))
        nulls["geometry"].append(float(_agreements(distances[0], relabelled).mean()))
    parts = [
        _part(
            name,
            float(score(first, other).mean()),
            _split_half_score(score, first, other),
            np.array(nulls[name]),
            alpha,
        )
        for name, score in PARTS.items()
    ]
    if a.is_standardised or b.is_standardised:
        unknown = SessionPart(name="rate", value=np.nan, within=np.nan, reason=_STANDARDISED)
        parts = [unknown if part.name == "rate" else part for part in parts]
    gain, has_other_gain = _gain(first, other)
    return SessionPair(*fields, tuple(parts), gain=gain, has_other_gain=has_other_gain)


def _gain(a: Cube, b: Cube) -> tuple[float, bool]:
    """Return the ratio of the mean responses, and whether it is clearly not 1, which halves of a session show."""
    means = np.array([np.nanmean(session, axis=(1, 2)) for session in (a, b)])
    if not (means > 0).all():
        return np.nan, False
    ratio = float(np.log(means[1].mean() / means[0].mean()))
    noise = float(np.abs(np.diff(np.log(means), axis=1)).max())
    return float(np.exp(ratio)), abs(ratio) > max(np.log(_OTHER_GAIN), _TIMES_NOISE * noise)


_OTHER_GAIN, _TIMES_NOISE = 1.1, 3
"""Smallest ratio of mean responses that is told, and how many times the ratio of halves it exceeds (logarithms)."""


def _split_half_score(score: Score, a: Cube, b: Cube) -> float:
    return float(np.mean([score(session, session)[0, 1] for session in (a, b)]))


def _part(name: str, between: float, within: float, null: Vector, alpha: float) -> SessionPart:
    if np.isnan(between):
        return SessionPart(name=name, value=between, within=within)
    evidence = summarise(between, null, "higher", alpha, 1.0).evidence()
    return SessionPart(name=name, value=between, within=within, **evidence)


def _standard(values: Cube, axis: int) -> Cube:
    """Centre and scale to unit length along an axis; NaN without variation."""
    return centred_units(values, axis, constant=np.nan, n_terms=_TRIALS)


def _summary(values: Cube, summary: Callable[..., Any], of_known: Callable[..., Any]) -> Matrix:
    """Mean or median of the values along the last axis, without NaN."""
    if not np.isnan(values).any():
        return np.asarray(summary(values, axis=-1))
    with warnings.catch_warnings():
        # NaN is the intended result if all values are missing.
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(of_known(values, axis=-1))


def population_vector(a: Cube, b: Cube) -> Matrix:
    """For every pair of halves, the correlation over neurons, averaged over conditions."""
    return _summary(np.einsum("akn,bkn->abk", _standard(a, 2), _standard(b, 2)), np.mean, np.nanmean)


def rate(a: Cube, b: Cube) -> Matrix:
    """For every pair of halves, the correlation over neurons of the mean responses."""
    return np.asarray(_standard(a.mean(axis=1), 1) @ _standard(b.mean(axis=1), 1).T)


def tuning_correlation(a: Cube, b: Cube) -> Matrix:
    """Median over neurons of their correlation over conditions, without neurons of constant response."""
    return _summary(np.einsum("akn,bkn->abn", _standard(a, 1), _standard(b, 1)), np.median, np.nanmedian)


def geometry(a: Cube, b: Cube) -> Matrix:
    """For every pair of halves, the rank correlation of the cosine distances between conditions."""
    return _agreements(_distances(a), _distances(b))


def _distances(halves: Cube) -> Matrix:
    return condition_distances(halves, np.ones(halves.shape[:2]), "cosine")


def _relabel(distances: Matrix, order: Index) -> Matrix:
    n = len(order)
    place = np.zeros((n, n), dtype=np.intp)
    upper = np.triu_indices(n, k=1)
    place[upper] = np.arange(distances.shape[1])
    place += place.T
    relabelled: Matrix = distances[:, place[np.ix_(order, order)][upper]]
    return relabelled


def _agreements(first: Matrix, second: Matrix) -> Matrix:
    pairs = agreement(np.repeat(first, len(second), axis=0), np.tile(second, (len(first), 1)))
    return pairs.reshape(len(first), len(second))


PARTS: Mapping[str, Score] = {
    "population_vector": population_vector,
    "rate": rate,
    "tuning": tuning_correlation,
    "geometry": geometry,
}


@keep_statements
def centroid_drift(
    X: Any,
    *,
    normalize: bool = True,
    n_permutations: int = 500,
    null: Null = "permute",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> TrialScore:
    """Cosine between the mean responses in the two halves of a session; a low value means drift.

    The cosine depends on the numbers of trials and neurons, so its chance level is its value for trials in random
    order. Both drift and brain states that last for several trials lower the cosine. With circular shifts
    (`null='shift'`), it is compared with the cosine between other halves of the same session. To separate changes in
    rates from other drift, use `session_drift`.

    Parameters
    ----------
    X : array of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), or xarray.DataArray
        Responses, with trials in the order of recording; they are averaged over time.
    normalize : bool
        Whether to scale the response of each trial to unit length first, which removes its overall rate.
    n_permutations, null, blocks, block_length, alpha, seed
        See `trial_split`. Here, the trials themselves are permuted.
    missing
        See `crossnobis`.

    Returns
    -------
    TrialScore
        Value in [-1, 1] (in [0, 1] for counts); low values are significant. `further` contains the cosine divided by
        the chance level, which is 1 without drift. NaN, with a reason and a warning, if a half has no responses.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rates = np.linspace(rng.gamma(2, 2, 20), rng.gamma(2, 2, 20), 200)
    >>> print(centroid_drift(rng.poisson(rates)))
    centroid drift 0.9284, below chance at 0.05 (p = 0.002)
      chance 0.9976 (500 draws, all rows)
      excess over the threshold 0.06725, threshold 0.9957, null sd 0.00097
      200 trials x 20 neurons
      share of the chance level 0.9306
    """
    rows, trials = _rows(X, normalize, missing)
    orders = Orders.draw(trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed)
    return drift_score(rows, trials, orders)


def drift_score(rows: Matrix, trials: Trials, orders: Orders) -> TrialScore:
    """Score trials that have been checked."""
    values = over_orders(lambda order: float(steps(rows[order], 2)[0]), orders)
    chance = float(np.nanmean(values[1:])) if len(values) > 1 and not np.isnan(values[1:]).all() else float("nan")
    return orders.summarise(
        "centroid drift",
        values,
        trials,
        closer="lower",
        best=None,
        reason="one half of the session has no responses",
        further={"share of the chance level": float(values[0]) / chance} if len(values) > 1 else {},
    )


def _rows(X: Any, normalize: bool, missing: MissingRows, min_trials: int = 4) -> tuple[Matrix, Trials]:
    check.boolean(normalize, "normalize")
    trials = Trials.from_responses(X, min_trials=min_trials, missing=missing)
    state_neurons_that_end(trials.rates, trials.codes, "X")
    return centre_and_scale(trials.rates, unit=normalize, centred=False), trials


def steps(rows: Matrix, n_parts: int) -> Vector:
    """Cosines between the mean rows of consecutive parts; NaN if a mean is zero."""
    edges = np.arange(n_parts + 1) * len(rows) // n_parts
    sums = np.add.reduceat(rows, edges[:-1], axis=0)
    lengths = np.linalg.norm(sums, axis=1)
    # If rows cancel, their sum is only a rounding error, which has no direction.
    rounding = np.finfo(np.float64).eps * len(rows) * float(np.abs(rows).max(initial=0.0))
    lengths = np.where(lengths > rounding, lengths, np.nan)
    return np.array([float(sums[a] @ sums[b] / (lengths[a] * lengths[b])) for a, b in pairwise(range(n_parts))])
