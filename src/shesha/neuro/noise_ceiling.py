"""The noise ceiling for models of the distances between conditions, and the distances' reliability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, combinations
from typing import Any, Literal, get_args

import numpy as np
from scipy.spatial.distance import squareform

from shesha.inputs import MissingRows, validation as check
from shesha.kernels.condition_distances import Cube, centre_and_scale, condition_distances, half_sums
from shesha.kernels.distances import METRICS, Metric
from shesha.kernels.ranks import centred_ranks
from shesha.kernels.rounding_and_scaling import centred_units
from shesha.neuro.trials import (
    FEWEST_IN_HALF,
    Conditions,
    EqualTrials,
    Numbers,
    Trials,
    Use,
    check_numbers,
    describe_use,
    mean_of_known,
    means_of_known,
)
from shesha.nulls.design_warnings import CEILING_TOO_HIGH, warn_of_dependent_repeats
from shesha.results import NoiseCeiling
from shesha.support import provenance
from shesha.support.provenance import keep_statements
from shesha.support.seeds import number
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.wording import agree
from shesha.views.representation import Rdm, warn_of_unknown_distances

Method = Literal["spearman", "pearson", "cosine"]
METHODS: tuple[Method, ...] = get_args(Method)
_FEWEST_PAIRS = 3


@keep_statements
def noise_ceiling(
    rdms_or_trials: Any,
    conditions: Conditions | None = None,
    runs: Conditions | None = None,
    *,
    method: Method = "spearman",
    metric: Metric = "cosine",
    normalize: bool = True,
    trials_per_run: Numbers = "all",
    n_draws: int = 20,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> NoiseCeiling:
    """Noise ceiling: the range of scores that a perfect model of the distances could reach.

    `lower` is the mean similarity of each repeat (such as a subject or run) to the mean of the other repeats; `upper`
    is its mean similarity to the mean of all (Nili et al. 2014). The reliability of the distances is also returned.
    Distances may be negative, as cross-validated ones are, or missing: each repeat is then compared with the mean of
    the others over the pairs of conditions that it knows. If the repeats do not agree, there is no ceiling.

    Parameters
    ----------
    rdms_or_trials : array, RDMs of rsatoolbox, or several tables or `Rdm`
        Distances of shape (n_repeats, n_conditions, n_conditions) or (n_repeats, n_pairs), with NaN for missing values.
        Several objects with names of conditions may lack some, and have them in any order. If `conditions` are given:
        responses, see `trial_split`.
    conditions : optional
        Condition of each trial, see `trial_split`. The repeats are then the distances in each run.
    runs : as `conditions`, optional
        Run of each trial. None: the odd trials and the even trials form two runs.
    method : {'spearman', 'pearson', 'cosine'}
        Similarity between two sets of distances. Before repeats are averaged, their distances are ranked, standardised,
        or scaled to unit length, respectively.
    metric, normalize
        Distance between the mean responses to two conditions, see `trial_split`.
    trials_per_run : 'all', 'equal' or int
        Number of trials of each condition in each run, see `trials_per_half` of `trial_split`. Use 'all' for models of
        distances that were computed from all trials. Rare conditions are far from all others in every run, so unequal
        numbers raise the ceiling even without a neural code; a note then reports the reliability with equal numbers.
    n_draws : int
        Number of random choices of trials over which results are averaged.
    seed : int, Generator or None
    missing
        See `crossnobis`.

    Returns
    -------
    NoiseCeiling
        Contains `lower`, `upper`, and `reliability`, which is the mean similarity of two repeats. For odd and even
        trials, `reliability` equals the value of `trial_split` with the same `trials_per_half`. If it is not above 0,
        `lower` and `upper` are NaN, with a reason and a warning.

    Raises
    ------
    ValueError
        If there are fewer than two repeats, or an array has the wrong shape.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> found = noise_ceiling(rng.standard_normal(45) + rng.standard_normal((6, 45)))
    >>> round(found.lower, 2), round(found.upper, 2), round(found.reliability, 2)
    (0.61, 0.74, 0.46)
    """
    check.choice(method, METHODS, "method")
    scaled = _SCALED[method]
    notes: tuple[str, ...] = ()
    reason = (
        f"no two repeats have distances of the same {_FEWEST_PAIRS} pairs of conditions, which are needed to compare "
        "them"
    )
    if conditions is None:
        if runs is not None:
            raise ValueError("runs must be given together with conditions, got runs only")
        rdms, n_conditions = _rdms_as_matrix(rdms_or_trials)
        for repeat in rdms:
            warn_of_unknown_distances(repeat, n_conditions)
        draws = rdms[None]
    else:
        check.choice(metric, METRICS, "metric")
        check.boolean(normalize, "normalize")
        n_draws = check.count(n_draws, "n_draws")
        trials = Trials.build(rdms_or_trials, conditions, missing=missing, runs=runs)
        # Without runs, odd and even trials serve as two runs.
        run, fewest = np.arange(trials.n_trials) % 2, FEWEST_IN_HALF
        if runs is not None:
            run, fewest = trials.label_codes(rdms_or_trials, runs, "runs")[0], 1
            if run.max() < 1:
                raise ValueError("runs must be at least 2, got 1")
        numbers = check_numbers(trials_per_run, "trials_per_run")
        equal = EqualTrials.draw(numbers, run[None], n_draws, seed, fewest)
        draws, use = _rdms_of_runs(trials, run, equal, metric, normalize)
        n_conditions, notes = trials.n_conditions - len(use.dropped), (*trials.notes, *use.notes)
        if trials_per_run == "all" and use.notes:
            equal = EqualTrials.draw("equal", run[None], n_draws, seed, fewest)
            _, _, reliability = _ceilings(_rdms_of_runs(trials, run, equal, metric, normalize)[0], scaled)
            notes = (*notes, f"with equal numbers of trials, the reliability is {float(reliability.mean()):.3g}")
        if runs is None and trials.alternate:
            reason = "odd and even trials show different conditions; pass runs="
    warn_of_dependent_repeats(draws[0], CEILING_TOO_HIGH)
    fields: dict[str, Any] = {
        "measure": f"RDM {method}",
        "n_repeats": draws.shape[1],
        "n_rows": n_conditions,
        "notes": notes,
    }
    fields["seed"] = number(seed)
    return _summarise(draws, scaled, reason, fields)


def _summarise(
    draws: Cube, scaled: Callable[[Matrix], Matrix], incomparable: str, fields: Mapping[str, Any]
) -> NoiseCeiling:
    """Average the ceilings over draws; return the reason instead if repeats do not agree or are incomparable."""
    left_out, included, reliabilities = _ceilings(draws, scaled)
    reason, reliability = "", float(reliabilities.mean())
    n_known = np.isfinite(draws).all(axis=0).sum(axis=1)
    fields = {**fields, "n_pairs": draws.shape[2], "n_known_pairs": tuple(n_known.tolist())}
    if (n_known < draws.shape[2]).any():
        span = f"{n_known.min()}" if n_known.min() == n_known.max() else f"{n_known.min()} to {n_known.max()}"
        provenance.state(f"distances missing (NaN): {span} of {draws.shape[2]} pairs of conditions known per repeat")
    unused = np.flatnonzero(np.isnan(left_out).all(axis=0))
    if 0 < len(unused) < left_out.shape[1]:
        provenance.state_warning(
            f"not used, because they share fewer than {_FEWEST_PAIRS} pairs of conditions with the others: "
            f"{agree(len(unused), 'repeat', 'repeats')} {check.join_items(unused)}, counted from 0. Check that "
            "conditions have the same names in all, also in upper and lower case"
        )
    if np.isnan(reliability) or np.isnan(left_out).all():
        reason = incomparable
    elif not reliability > 0:
        reason = f"repeats do not agree (reliability {reliability:.3g}), so there is no ceiling"
    if reason:
        nan = check.not_estimable(f"noise ceiling: {reason}")
        ceilings: dict[str, Any] = {"lower": nan, "upper": nan, "reason": reason}
    else:
        ceilings = {"lower": float(np.nanmean(left_out)), "upper": float(np.nanmean(included))}
        ceilings |= {
            "left_out": tuple(left_out.mean(axis=0).tolist()),
            "included": tuple(included.mean(axis=0).tolist()),
        }
    return NoiseCeiling(closer="higher", reliability=reliability, **ceilings, **fields)


def _unit_rows(values: Matrix) -> Matrix:
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    unit_vectors: Matrix = values / np.where(lengths > 0, lengths, np.nan)
    return unit_vectors


_SCALED: Mapping[Method, Callable[[Matrix], Matrix]] = {
    "spearman": centred_ranks,
    "pearson": lambda values: centred_units(values, 1, constant=np.nan),
    "cosine": _unit_rows,
}
"""Functions that normalise distances so that their inner product is the correlation or cosine."""


def _ceilings(draws: Cube, scaled: Callable[[Matrix], Matrix]) -> tuple[Matrix, Matrix, Vector]:
    """Per draw: similarity of each repeat to the others and to all, and mean similarity of two repeats."""
    left_out, included, reliabilities = zip(
        *(
            _ceiling(repeats, scaled) if np.isfinite(repeats).all() else _pairwise_ceiling(repeats, scaled)
            for repeats in draws
        ),
        strict=True,
    )
    return np.array(left_out), np.array(included), np.array(reliabilities)


def _pairwise_ceiling(repeats: Matrix, scaled: Callable[[Matrix], Matrix]) -> tuple[Vector, Vector, float]:
    """As `_ceiling`, with missing distances: similarities are computed over the pairs that both sides know.

    Pairs of conditions that a single repeat knows are not used.
    """
    known = np.isfinite(repeats)
    known &= known.sum(axis=0) > 1
    vectors = np.full(repeats.shape, np.nan)
    for line, (values, own) in enumerate(zip(repeats, known, strict=True)):
        if own.sum() >= _FEWEST_PAIRS:
            vectors[line, own] = scaled(values[own][None])[0]

    def similarity(first: Vector, second: Vector) -> float:
        both = np.isfinite(first) & np.isfinite(second)
        if both.sum() < _FEWEST_PAIRS:
            return float("nan")
        return float(scaled(first[both][None])[0] @ scaled(second[both][None])[0])

    everyone = range(len(vectors))
    mean = means_of_known(vectors)
    left_out = [similarity(vectors[k], means_of_known(vectors[[j for j in everyone if j != k]])) for k in everyone]
    included = [similarity(vector, mean) for vector in vectors]
    pairs = np.array([similarity(a, b) for a, b in combinations(vectors, 2)])
    return np.array(left_out), np.array(included), mean_of_known(pairs)


def _ceiling(repeats: Matrix, scaled: Callable[[Matrix], Matrix]) -> tuple[Vector, Vector, float]:
    vectors = scaled(repeats)
    total: Vector = vectors.sum(axis=0)
    scaled_total = scaled(total[None])[0]
    others = scaled(total - vectors)
    pairs = [float(a @ b) for a, b in combinations(vectors, 2)]
    return np.einsum("ij,ij->i", vectors, others), vectors @ scaled_total, float(np.mean(pairs))


def _rdms_as_matrix(rdms: Any) -> tuple[Matrix, int]:
    """Return the distances of each repeat, NaN for conditions that it lacks, and the number of conditions."""
    several = isinstance(rdms, Mapping | list | tuple)
    if not several and not hasattr(rdms, "get_matrices"):
        values = check.real(rdms, "rdms")
        n = check.condensed_rows(values.shape[1:])
        if n and len(values) > 1 and not np.isinf(values).any():
            # All of them may be negative, because only differences between repeats count.
            for one in values:
                check.require_no_diagonal(one, n - 1, "rdms")
            n_other = check.condensed_rows(values.shape[:1])
            if values.ndim == 2 and n_other > n:
                provenance.state_warning(
                    f"rdms are read as {len(values)} repeats of {n} conditions; if they are {values.shape[1]} repeats "
                    f"of {n_other} conditions, with pairs in rows, pass rdms.T"
                )
            return values, n
    try:
        parts = rdms.items() if isinstance(rdms, Mapping) else enumerate(rdms if several else Rdm.stack(rdms, "rdms"))
        repeats = [one if isinstance(one, Rdm) else Rdm(one, f"rdms[{name!r}]") for name, one in parts]
    except ValueError as error:
        raise ValueError(f"{error}; for trials, pass conditions" if "got shape" in str(error) else error) from error
    if len(repeats) < 2:
        raise ValueError(f"rdms must contain at least 2 repeats, got {len(repeats)}")
    named = [one.names.values.astype(str).tolist() for one in repeats if one.names is not None]
    sizes = sorted({one.n_rows for one in repeats})
    if len(named) < len(repeats):
        if len(sizes) > 1:
            found = check.join_items(sizes)
            raise ValueError(f"rdms must have names if their numbers of conditions differ, got {found}")
        return np.stack([one.condensed for one in repeats]), sizes[0]
    order = {name: place for place, name in enumerate(dict.fromkeys(chain(*named)))}
    squares = np.full((len(repeats), len(order), len(order)), np.nan)
    for square, one, names in zip(squares, repeats, named, strict=True):
        places = [order[name] for name in names]
        square[np.ix_(places, places)] = squareform(one.condensed)
    return squares[:, *np.triu_indices(len(order), k=1)], len(order)


def _rdms_of_runs(
    trials: Trials, run: Index, equal: EqualTrials | None, metric: Metric, normalize: bool
) -> tuple[Cube, Use]:
    """Return distances in each run, of shape (n_draws, n_runs, n_pairs), and the use of trials behind them."""
    rows = centre_and_scale(trials.rates, unit=normalize, centred=metric == "correlation")
    fields = np.column_stack([rows, np.ones(len(rows))])
    if equal is None:
        each = np.eye(run.max() + 1, dtype=bool)
        sums = half_sums(fields, trials.codes, trials.n_conditions, run, each)[0][None]
    else:
        sums = equal.sums(fields, trials.codes, trials.n_conditions)
    rdms = np.array([condition_distances(draw[:, :, :-1], draw[:, :, -1], metric) for draw in sums])
    return rdms, describe_use(equal, trials, "run")
