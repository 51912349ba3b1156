"""Facts of the canary study, by which its claims are judged."""

from __future__ import annotations

from shesha.studies.facts import Fact, Facts, over_draws, rate, sign_difference
from shesha.studies.published import Table
from shesha_studies.language._canary_claims import found_in, of_last_layers


def make_facts(rows: Table) -> Facts:
    """How often Shesha is first under each kind of bound, and how drift and noise correlate with the loss."""
    found = found_in(rows)
    early = {name: found.contests[f"{name}: shesha cka"] for name in ("bound 0.05", "bound from chance")}
    rho = of_last_layers(found.noise)
    return {
        "earlier": rate(early["bound 0.05"][0], sum(early["bound 0.05"])),
        "later": rate(early["bound 0.05"][2], sum(early["bound 0.05"])),
        "earlier_less_later": _first_less_later(early["bound 0.05"]),
        "earlier_than_chance": rate(early["bound from chance"][0], sum(early["bound from chance"])),
        "earlier_less_later_than_chance": _first_less_later(early["bound from chance"]),
        "drift": over_draws(rho["shesha"]),
        "beyond_noise": over_draws(rho["shesha"] - rho["level"]),
    }


def _first_less_later(contest: tuple[int, int, int]) -> Fact:
    first, ties, later = contest
    return sign_difference(first, later, first + ties + later)
