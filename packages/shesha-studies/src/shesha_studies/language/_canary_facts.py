"""Facts of the canary study, by which its claims are judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from shesha.studies.facts import (
    NAN,
    Fact,
    Facts,
    as_facts,
    largest,
    over_draws,
    rate,
    resampled,
    sign_difference,
    smallest,
    steps,
)
from shesha.studies.published_checks import Table, number, split_numbers_and_claims
from shesha_studies.language._canary_statistics import (
    TASK,
    UNIT,
    Found,
    gather_statistics,
    last_layer_correlations,
    losses_found,
)


def make_facts(rows: Table, published: Table) -> Facts:
    """Return how often Shesha is first on SST-2, the task of the paper, and correlations of drift and noise with the
    loss."""
    both, published = gather_statistics(rows), split_numbers_and_claims(published)[0]
    # The method of the paper classifies sentences of SST-2.
    of_task = rows.task == TASK
    results = gather_statistics(rows[of_task]) if of_task.any() else both
    early = {name: results.contests[f"{name}: shesha cka"] for name in ("bound 0.05", "bound from chance")}
    other = both.contests["bound 0.05, STS-B: shesha cka"]
    rho = last_layer_correlations(results.noise)
    facts = {
        "earlier": rate(early["bound 0.05"][0], sum(early["bound 0.05"])),
        "later": rate(early["bound 0.05"][2], sum(early["bound 0.05"])),
        "earlier_other": rate(other[0], sum(other)),
        "earlier_less_later": _first_less_later(early["bound 0.05"]),
        "earlier_than_chance": rate(early["bound from chance"][0], sum(early["bound from chance"])),
        "earlier_less_later_than_chance": _first_less_later(early["bound from chance"]),
        "drift": over_draws(rho["shesha"]),
        "drift_of_any": smallest(over_draws(rho[name]) for name in ("shesha", "cka", "procrustes")),
        "beyond_noise": largest(over_draws(rho[name] - rho["level"]) for name in ("shesha", "cka", "procrustes")),
    }
    numbers = {**_losses(results), **_bounds(results), **_table_47(both, published)}
    return facts | as_facts({**numbers, **_intervals(results)})


def _intervals(results: Found) -> dict[str, Fact]:
    """Facts that decide claims, over encoders, layers and draws."""
    noise, three = results.noise, ("shesha", "cka", "procrustes")
    last = last_layer_correlations(noise)[list(three)].to_numpy()
    chance = results.firsts["bound from chance"]
    # Draws of one encoder, task and layer are one unit: both draws are needed for its bounds.
    cases = [np.array(indices) for indices in noise.groupby(["model", "task", "layer"]).indices.values()]

    def gain(rows: Any) -> float:
        sample = noise.iloc[rows]
        shesha, *others = (float(losses_found(sample, name)[0]) for name in three)
        return shesha - max(others)

    return {
        "alike_range": resampled(
            lambda rows: float(np.ptp(last[rows].mean(axis=0))), [np.array([place]) for place in range(len(last))]
        ),
        "smallest_step": smallest(step for name in three for step in steps(noise, "level", name, UNIT)),
        "procrustes_first": _procrustes_first(results, "bound 0.05"),
        "procrustes_first_by_chance": _procrustes_first(results, "bound from chance"),
        "first, wasserstein": over_draws(results.firsts["bound 0.05"].wasserstein),
        "first by chance, wasserstein": over_draws(chance.wasserstein),
        "gain": resampled(gain, cases, draws=200),
    }


def _procrustes_first(results: Found, bound: str) -> Fact:
    """Return how much more often Procrustes is first than later, compared with the score it leads least."""
    return smallest(_first_less_later(results.contests[f"{bound}: procrustes {name}"]) for name in ("shesha", "cka"))


def _losses(results: Found) -> dict[str, float]:
    """Correlations of scores with the loss and with the noise."""
    last, equal = results.correlations["last"], results.within
    rhos = last[["shesha", "cka", "procrustes"]]
    return {
        **{f"loss and {name}": float(last[name]) for name in ("shesha", "cka", "procrustes", "level")},
        **{f"at equal noise, {name}": float(equal.rho[name]) for name in ("shesha", "cka", "procrustes")},
        "at equal noise_p": float(equal.p.shesha),
        "alike_lowest": float(rhos.min()),
        "alike_highest": float(rhos.max()),
    }


def _bounds(results: Found) -> dict[str, float]:
    """Lowest noise that is detected under each kind of bound, and losses found at equal false alarms."""
    fixed, chance, caught = results.first.loc["bound 0.05"], results.first.loc["bound from chance"], results.matched
    names = ("shesha", "cka", "procrustes", "squared", "wasserstein")
    return {
        "lowest noise": float(results.noise.level[results.noise.level > 0].min()),
        **{f"first, {name}": float(fixed[name]) for name in names},
        **{f"first by chance, {name}": float(chance[name]) for name in names},
        **{f"losses, {name}": float(caught.sensitivity[name]) for name in ("shesha", "cka", "procrustes", "level")},
    }


def _distances(fits: Table) -> dict[str, float]:
    """Largest distance of both formulas from the published table."""
    return {name: float((fits[name] - fits["published procrustes"]).abs().max()) for name in ("procrustes", "squared")}


def _cases(last: Table) -> list[Any]:
    """Rows of each encoder, task and draw."""
    unit = last.groupby(["model", "task", "seed"]).ngroup()
    return [(unit == place).to_numpy() for place in range(unit.max() + 1)]


def _table_47(results: Found, published: Table) -> dict[str, Any]:
    """Facts on the formula and the task that fit the published table, and on the numbers in the text."""
    fits = results.beside(published)
    distances = _distances(fits)
    last = results.noise[results.noise["last"]]
    cases = [np.flatnonzero(mask) for mask in _cases(last)]

    def further(rows: Any) -> float:
        drawn = _distances(results.beside(published, last.iloc[rows]))
        return drawn["squared"] - drawn["procrustes"]

    off = (fits["loss, %"] - fits["published loss, %"]).abs().groupby(fits.task).mean()
    scores = [number(published, "10.5", "correlation with the drop", name) for name in ("shesha", "cka")]
    return {
        **{f"away from Table 47, {name}": value for name, value in distances.items()},
        "squared_further": resampled(further, cases, draws=100),
        **{f"losses off, {task}": float(value) for task, value in off.items()},
        **{"published_cka": scores[1], "shesha_higher": scores[0] - scores[1]},
    }


def _first_less_later(contest: tuple[int, int, int]) -> Fact:
    first, ties, later = contest
    cases = first + ties + later
    return sign_difference(first, later, cases) if cases else Fact(NAN)
