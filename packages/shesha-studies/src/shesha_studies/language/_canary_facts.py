"""Facts of the canary study, by which its claims are judged."""

from __future__ import annotations

from shesha.studies.facts import Fact, Facts, as_facts, over_draws, rate, sign_difference
from shesha.studies.published import Table, number
from shesha_studies.language._canary_numbers import Found, gather_statistics, last_layer_correlations


def make_facts(rows: Table, published: Table) -> Facts:
    """How often Shesha is first under each kind of bound, and how drift and noise correlate with the loss."""
    statistics = gather_statistics(rows)
    early = {name: statistics.contests[f"{name}: shesha cka"] for name in ("bound 0.05", "bound from chance")}
    rho = last_layer_correlations(statistics.noise)
    made = {
        "earlier": rate(early["bound 0.05"][0], sum(early["bound 0.05"])),
        "later": rate(early["bound 0.05"][2], sum(early["bound 0.05"])),
        "earlier_less_later": _first_less_later(early["bound 0.05"]),
        "earlier_than_chance": rate(early["bound from chance"][0], sum(early["bound from chance"])),
        "earlier_less_later_than_chance": _first_less_later(early["bound from chance"]),
        "drift": over_draws(rho["shesha"]),
        "beyond_noise": over_draws(rho["shesha"] - rho["level"]),
    }
    return made | as_facts({**_losses(statistics), **_bounds(statistics), **_table_47(statistics, published)})


def _losses(found: Found) -> dict[str, float]:
    """How numbers go with the loss, and with the noise."""
    last, equal = found.correlations["last"], found.within
    alike = last[["shesha", "cka", "procrustes"]]
    means = found.noise.groupby("level")[["shesha", "cka", "procrustes"]].mean()
    return {
        **{f"loss and {name}": float(last[name]) for name in ("shesha", "cka", "procrustes", "level")},
        **{f"at equal noise, {name}": float(equal.rho[name]) for name in ("shesha", "cka", "procrustes")},
        "at equal noise_p": float(equal.p.shesha),
        "alike_lowest": float(alike.min()),
        "alike_highest": float(alike.max()),
        "alike_range": float(alike.max() - alike.min()),
        "smallest_step": float(means.diff().dropna().min(axis=None)),
    }


def _bounds(found: Found) -> dict[str, float]:
    """Lowest noise that is detected under each kind of bound, and losses found at equal false alarms."""
    fixed, chance, caught = found.first.loc["bound 0.05"], found.first.loc["bound from chance"], found.matched
    names = ("shesha", "cka", "procrustes", "squared", "wasserstein")
    return {
        **{f"first, {name}": float(fixed[name]) for name in names},
        **{f"first by chance, {name}": float(chance[name]) for name in names},
        **{f"losses, {name}": float(caught.sensitivity[name]) for name in ("shesha", "cka", "procrustes", "level")},
        "procrustes_first": float(min(chance.shesha, chance.cka) - chance.procrustes),
        "gain": float(caught.sensitivity.shesha - caught.sensitivity[["cka", "procrustes"]].max()),
    }


def _table_47(found: Found, published: Table) -> dict[str, float]:
    """Which formula and which task the published table fits, and what the text says of its own numbers."""
    fits = found.beside(published)
    away = {name: float((fits[name] - fits["published procrustes"]).abs().max()) for name in ("procrustes", "squared")}
    off = (fits["loss, %"] - fits["published loss, %"]).abs().groupby(fits.task).mean()
    scores = [number(published, "10.5", "correlation with the drop", name) for name in ("shesha", "cka")]
    return {
        **{f"away from Table 47, {name}": value for name, value in away.items()},
        "squared_further": away["squared"] - away["procrustes"],
        **{f"losses off, {task}": float(value) for task, value in off.items()},
        **{"published_cka": scores[1], "shesha_higher": scores[0] - scores[1]},
    }


def _first_less_later(contest: tuple[int, int, int]) -> Fact:
    first, ties, later = contest
    return sign_difference(first, later, first + ties + later)
