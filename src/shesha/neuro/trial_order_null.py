"""Null distribution of a score or statistic of trials, from permutations of the trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows, align_labels, validation as check
from shesha.kernels.rounding_and_scaling import is_constant
from shesha.kernels.threads import single_threaded_blas
from shesha.neuro.trials import Trials
from shesha.nulls import Exchange, draw_permutations, exchange, identity_first, summarise
from shesha.nulls.design_warnings import find_undeclared_dependence
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import TrialScore
from shesha.support import types as kinds
from shesha.support.provenance import keep_statements, state_warning
from shesha.support.seeds import ALPHA, generator, number
from shesha.support.types import Array, Index, Seed, Vector

Null = Literal["shift", "permute", "stretches"]
NULLS: tuple[Null, ...] = get_args(Null)
_NO_NULL = (
    "every permutation gives the observed value, so this test cannot detect anything. Circular shifts of conditions in "
    "a fixed cycle only rename the conditions: pass null='permute' if trials do not depend on one another"
)


@dataclass(frozen=True, eq=False)
class Orders:
    """The recorded order of the trials, followed by the permutations that form the null."""

    orders: tuple[Index, ...]
    exchanged: str
    alpha: float
    seed: int | None
    design: Exchange | None = None
    """The design from which the permutations were drawn; None without permutations."""

    @classmethod
    def draw(
        cls,
        trials: Trials | int,
        n_permutations: int,
        null: Null = "shift",
        *,
        blocks: ArrayLike | None = None,
        block_length: int | None = None,
        alpha: float = ALPHA,
        seed: Seed = 0,
    ) -> Orders:
        """Draw the permutations for trials, or for a number of them; without any, only the recorded order is returned.

        If `blocks` has row names, it is aligned with the trials; blocks of left-out trials are ignored.
        """
        n_trials = trials if isinstance(trials, int) else trials.n_trials
        check.choice(null, NULLS, "null")
        generator(seed)
        if check.count(n_permutations, "n_permutations", minimum=0) == 0:
            return cls((np.arange(n_trials),), "", check.fraction(alpha, "alpha", closed=False), number(seed))
        if (null == "stretches") != (block_length is not None):
            got = "none" if block_length is None else f"null={null!r}"
            raise ValueError(f"block_length must be given if and only if null='stretches', got {got}")
        if null != "stretches" and blocks is None and not isinstance(trials, int):
            blocked = trials.state_blocked_conditions(shifted=null == "shift")
            if null == "permute" and not blocked and trials.n_conditions > 1:
                inside = trials.codes >= 0
                signs = find_undeclared_dependence([trials.rates[inside]], trials.codes[inside])
                state_dependence("responses and conditions", "neighbouring trials are similar" if signs else "")
        if blocks is not None and not isinstance(trials, int):
            blocks = trials.take(align_labels(trials.given, blocks, "blocks"), "blocks")
            if null == "permute":
                trials.state_dependent_stretches(check.labels(blocks, n_trials, "blocks", min_classes=1)[0])
        options: Design = {"blocks": blocks, "shift": null == "shift", "block_length": block_length}
        design = exchange(n_trials, **nonempty_arguments(options))
        drawn, text = draw_permutations(n_trials, n_permutations, alpha, design=design, seed=seed)
        return cls(tuple(identity_first(drawn)), text, alpha, number(seed), design)

    def summarise(
        self,
        name: str,
        values: Vector,
        trials: Trials,
        *,
        closer: str = "higher",
        best: float | None = 1.0,
        reason: str = "",
        **fields: Any,
    ) -> TrialScore:
        """Compare the observed value with its null; NaN, with a warning, if there is no value."""
        observed, null = float(values[0]), np.asarray(values[1:], dtype=np.float64)
        if np.isnan(observed):
            check.not_estimable(f"{name}: {reason}")
        score = TrialScore(
            name=name,
            value=observed,
            closer=closer,
            n_rows=trials.n_trials,
            n_neurons=trials.n_neurons,
            column_noun=trials.column_noun,
            alpha=self.alpha,
            n_draws=len(null),
            exchanged=self.exchanged,
            null=tuple(null.tolist()),
            seed=self.seed,
            reason=reason if np.isnan(observed) else "",
            **fields,
        )
        if np.isnan(observed) or not len(null):
            return score
        notes = (*score.notes, _NO_NULL) if is_constant(values, n_terms=trials.n_trials) else score.notes
        return replace(score, notes=notes, **null_evidence(observed, null, closer, self.alpha, best))


def null_evidence(observed: float, null: Vector, closer: str, alpha: float, best: float | None) -> Mapping[str, Any]:
    """Return chance level, threshold and p-value; with closer='either', of a two-sided test."""
    if closer != "either":
        return summarise(observed, null, closer, alpha, best).evidence()
    # The two-sided test compares absolute deviations from the mean of the null.
    middle = float(np.nanmean(null)) if not np.isnan(null).all() else 0.0
    deviations = summarise(abs(observed - middle), np.abs(null - middle), "higher", alpha, None)
    spread = float(np.nanstd(null)) if not np.isnan(null).all() else np.nan
    return deviations.evidence() | {"chance": middle, "chance_sd": spread if not is_constant(null) else 0.0}


def state_dependence(what: str, sign: str) -> None:
    """Warn in the result if there is a sign that both sides of a test depend on the order that it permutes."""
    if sign:
        state_warning(
            f"p may be too small: {what} both depend on the order of the trials ({sign}), as with a drift, which "
            "permuted trials lose; use null='shift'"
        )


def over_orders(score: Callable[[Index], float], orders: Orders) -> Vector:
    """Compute the score for the recorded order and for every permutation."""
    # The products for a single permutation are too small to gain from threads.
    with single_threaded_blas():
        return np.array([score(order) for order in orders.orders])


@keep_statements
def permutation_null(
    X: Any,
    statistic: Callable[[Array], float],
    *,
    closer: str = "higher",
    name: str = "",
    n_permutations: int = 500,
    null: Null = "permute",
    blocks: ArrayLike | None = None,
    block_length: int | None = None,
    alpha: float = ALPHA,
    seed: Seed = 0,
    missing: MissingRows = "refuse",
) -> TrialScore:
    """Compare any statistic of the trials with its null distribution from permuted trials.

    Parameters
    ----------
    X : array of shape (n_trials, n_neurons) or (n_trials, n_neurons, n_times), or xarray.DataArray
        Responses, with trials in the order of recording.
    statistic : callable
        Function that takes an array with the shape of X and returns a number, or NaN if undefined.
    closer : {'higher', 'lower', 'either'}
        Which values count as evidence: high, low, or both (two-sided).
    name : str
        Name of the statistic. Default: the name of the function.
    n_permutations, null, blocks, block_length, alpha, seed, missing
        See `centroid_drift`.

    Returns
    -------
    TrialScore

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 5)).cumsum(axis=0)
    >>> def step(trials):
    ...     return float(np.linalg.norm(np.diff(trials, axis=0), axis=1).mean())
    >>> found = permutation_null(X, step, closer="lower")
    >>> found.significant
    True
    """
    check.choice(closer, ("higher", "lower", "either"), "closer")
    kinds.function(statistic, "statistic")
    trials = Trials.from_responses(X, missing=missing)
    values = trials.values
    orders = Orders.draw(trials, n_permutations, null, blocks=blocks, block_length=block_length, alpha=alpha, seed=seed)
    label = kinds.text(name, "name") or getattr(statistic, "__name__", "statistic")

    def score(order: Index) -> float:
        return check.real_number(statistic(values[order]), f"the value that {label} returns")

    return orders.summarise(
        label, over_orders(score, orders), trials, closer=closer, best=None, reason="the statistic is NaN"
    )
