"""Test which pairs of conditions differ, using cross-validated distances and permuted trials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro._trials import Conditions, Trials
from shesha.neuro.crossnobis import Crossed, Estimate, run_codes
from shesha.nulls import benjamini_hochberg, holm
from shesha.report import columns
from shesha.results import sentence_parts as say
from shesha.results.base import Result
from shesha.results.paper_sentences import claim
from shesha.support.progress import track
from shesha.support.seeds import generator, number
from shesha.support.types import Index, Labels, Seed

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10
_TIE = 1e-12


@dataclass(frozen=True)
class CrossnobisPairs(Result):
    """Cross-validated distances between pairs of conditions, each with a p-value."""

    ALIGNED = (("first", "second", "distances", "p_values", "p_holm", "p_benjamini_hochberg"),)

    first: tuple[str, ...]
    second: tuple[str, ...]
    distances: tuple[float, ...]
    """Squared distances per neuron; if conditions do not differ, about half of them are negative."""
    p_values: tuple[float, ...]
    p_holm: tuple[float, ...]
    """Holm-corrected p-values (familywise error rate)."""
    p_benjamini_hochberg: tuple[float, ...]
    """Benjamini-Hochberg-corrected p-values (false discovery rate)."""
    n_permutations: int
    n_trials: int
    n_neurons: int
    exchanged: str
    seed: int | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of conditions."""
        import pandas as pd

        names = ("first", "second", "distance", "p_value", "p_holm", "p_benjamini_hochberg")
        values = (self.first, self.second, self.distances, self.p_values, self.p_holm, self.p_benjamini_hochberg)
        return pd.DataFrame(dict(zip(names, values, strict=True)))

    def _text(self) -> str:
        """Return a text that says how many pairs differ and lists the most different ones."""
        n_apart = sum(p <= 0.05 for p in self.p_holm)
        rows = [["", "", "distance", "p", "Holm"]]
        order = np.argsort([-value if value == value else np.inf for value in self.distances], kind="stable")
        for pair in order[:_SHOWN].tolist():
            p_values = (f"{self.p_values[pair]:.3g}", f"{self.p_holm[pair]:.3g}")
            rows.append([self.first[pair], self.second[pair], f"{self.distances[pair]:.4g}", *p_values])
        more = len(self.first) - _SHOWN
        return "\n".join(
            [
                f"{n_apart} of {len(self.first)} pairs of conditions differ (Holm, 5 %); {self.n_permutations} "
                f"permutations of {self.exchanged}",
                *(f"  {line}" for line in columns(rows, "<<>>>")),
                *([f"  {more} more pairs; `to_frame()` returns all"] if more > 0 else []),
            ]
        )


@claim.register
def _claim(result: CrossnobisPairs) -> str:
    lines = zip(result.first, result.second, result.distances, result.p_holm, strict=True)
    ordered = sorted(lines, key=lambda line: (line[3] != line[3], line[3], -line[2]))
    clauses = say.join_clauses(
        [f"{a} and {b} {say.format_number(value)}, p = {say.format_p(p)}" for a, b, value, p in ordered], "more pairs"
    )
    n_apart = sum(p <= 0.05 for p in result.p_holm)
    return (
        f"{n_apart} of {say.count(len(result.first), 'pair')} of conditions differed at 0.05 by cross-validated "
        f"squared distances over {result.n_trials:,} trials of {result.n_neurons:,} neurons: {clauses} "
        f"({say.draws(result.n_permutations, result.exchanged)}, p corrected by Holm)"
    )


def crossnobis_test(
    X: Any,
    conditions: Conditions,
    runs: Conditions | None = None,
    *,
    noise: Estimate | float | ArrayLike | None = "ledoit-wolf",
    n_permutations: int = 199,
    seed: Seed = 0,
) -> CrossnobisPairs:
    """Test, for every pair of conditions, whether their responses differ, by cross-validated distances.

    The labels of the two conditions are permuted within runs, and the noise is estimated again for each permutation.
    The test is therefore valid for any noise, provided that trials are independent. Use it to test individual pairs. To
    test all conditions together, use `discriminability`, whose null distribution also allows for slow changes.
    Computing time is proportional to the number of pairs times `n_permutations`.

    Parameters
    ----------
    X, conditions, runs, noise
        See `crossnobis`. The trials within a run must be independent of one another.
    n_permutations : int
        Number of permutations for each pair, at least 19.
    seed : int, Generator or None

    Returns
    -------
    CrossnobisPairs
        Distances, one-sided p-values and corrected p-values; NaN for pairs that occur together in fewer than two runs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> shown, runs = np.tile([0, 1, 2], 40), np.repeat(np.arange(6), 20)
    >>> X = rng.standard_normal((120, 10)) + np.array([0, 0, 1])[shown, None]
    >>> found = crossnobis_test(X, shown, runs)
    >>> found.to_frame()[["first", "second", "p_holm"]].round(3)
      first second  p_holm
    0     0      1   0.395
    1     0      2   0.015
    2     1      2   0.015
    """
    if check.count(n_permutations, "n_permutations") < 19:
        raise ValueError(
            f"n_permutations must be at least 19, because fewer cannot reach p = 0.05, got {n_permutations}"
        )
    trials = Trials.build(X, conditions, min_trials=1)
    rng = generator(seed)
    parts = run_codes(X, trials, runs)
    pairs = list(combinations(range(trials.n_conditions), 2))
    with single_threaded_blas():
        crossed = Crossed.build(trials, parts, noise)
        observed = crossed.distances(trials.codes)
        p_values = [
            _p_value(crossed, trials.codes, parts, pair, float(observed[pair]), n_permutations, rng)
            for pair in track(pairs, len(pairs), "pairs")
        ]
    return CrossnobisPairs(
        first=tuple(trials.names[i] for i, _ in pairs),
        second=tuple(trials.names[j] for _, j in pairs),
        distances=tuple(float(observed[pair]) for pair in pairs),
        p_values=tuple(p_values),
        p_holm=tuple(holm(p_values).tolist()),
        p_benjamini_hochberg=tuple(benjamini_hochberg(p_values).tolist()),
        n_permutations=n_permutations,
        n_trials=trials.n_trials,
        n_neurons=trials.n_neurons,
        exchanged="the trials of both conditions" + ("" if runs is None else " within runs"),
        seed=number(seed),
    )


def _p_value(
    crossed: Crossed,
    codes: Labels,
    runs: Labels | None,
    pair: tuple[int, int],
    observed: float,
    n_permutations: int,
    rng: np.random.Generator,
) -> float:
    """Share of permutations, including the observed labels, whose distance is at least as large."""
    if observed != observed:
        return float("nan")
    rows = np.flatnonzero(np.isin(codes, pair))
    null = np.array([crossed.distances(labels)[pair] for labels in _exchanges(codes, runs, rows, n_permutations, rng)])
    return float((1 + np.count_nonzero(~(null < observed - _TIE * abs(observed)))) / (n_permutations + 1))


def _exchanges(
    codes: Labels, runs: Labels | None, own_trials: Index, n_permutations: int, rng: np.random.Generator
) -> Iterator[Labels]:
    """Yield labels in which the trials of two conditions are permuted within runs."""
    parts = np.zeros(len(own_trials), dtype=np.intp) if runs is None else runs[own_trials]
    order = np.argsort(parts, kind="stable")
    for _ in range(n_permutations):
        moved = np.lexsort((rng.random(len(own_trials)), parts))
        labels = codes.copy()
        labels[own_trials[order]] = codes[own_trials[moved]]
        yield labels
