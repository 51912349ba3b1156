"""Claims about the recordings, each judged beside chance, equal numbers and whole sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from shesha.studies.checks import DIFFERS, INCONCLUSIVE
from shesha.studies.facts import Fact, Facts, rank_correlation, rate
from shesha.studies.published import Answers, claim, unrelated
from shesha_studies.biology._neuroscience_numbers import SIZES, by_session, order_of_regions, z_of
from shesha_studies.biology._recordings import associated, beyond, over_sessions

if TYPE_CHECKING:
    import pandas as pd


_NEARLY_ALL = 0.9
"""Share of areas from which on "nearly all" is a fair word."""
_EQUAL = 0.01
"""Similarities that differ by less are equal: the interval that the paper prints is within it."""


def told(found: tuple[float, float, float], decimals: int = 3) -> str:
    """Print a mean and its interval."""
    return f"{found[0]:.{decimals}f} [{found[1]:.{decimals}f}, {found[2]:.{decimals}f}]"


def rho(one: dict[str, float]) -> str:
    """Print a correlation over whole sessions."""
    return f"{one['rho']:+.2f} [{one['low']:+.2f}, {one['high']:+.2f}], p = {one['p']:.2g}"


def claims(rows: pd.DataFrame, published: pd.DataFrame) -> Answers:
    """Judge what is said in words."""
    answers: Answers = {}
    answers |= _answer_geometry(rows, published)
    answers |= _answer_behaviour(rows)
    answers |= _answer_drift(rows, published)
    return answers


def _answer_geometry(rows: pd.DataFrame, published: pd.DataFrame) -> Answers:
    answers: Answers = {}
    above, n = beyond(rows, "shesha")
    score, chance = (told(over_sessions(rows, name), 2) for name in ("shesha", "shesha_chance"))
    answers["reliable"] = claim(
        above > 0.2 * n,
        f"{score}; conditions shifted along the session {chance}; above them in {above} of {n} areas",
        "conditions shown rarely have noisy means, far from all others in both halves, whatever the neurons do",
    )
    equal, m = beyond(rows, "equal")
    answers["equal"] = claim(
        equal > 0.2 * m,
        f"{told(over_sessions(rows, 'equal'), 2)}; shifted {told(over_sessions(rows, 'equal_chance'), 2)}; above in "
        f"{equal} of {m} areas",
        note="found once numbers of trials are equal",
    )
    white = order_of_regions(rows, published, "wuc")
    answers["wuc order"] = claim(
        white > 0.5,
        f"{white:+.2f}",
        note="WUC, free of unequal numbers of trials, has the published order more than the split itself has",
    )
    return answers


def _answer_behaviour(rows: pd.DataFrame) -> Answers:
    answers: Answers = {}
    found = {name: associated(rows, "coupling", name) for name in ("shesha", "drift", "wuc", "equal")}
    answers["coupling wuc"] = unrelated(
        found["wuc"],
        f"WUC {rho(found['wuc'])}; split {rho(found['shesha'])}",
        "WUC goes with it as much as the split does",
    )
    answers["coupling drift"] = unrelated(found["drift"], rho(found["drift"]), "drift goes with it as well")
    accuracy = associated(rows, "accuracy", "shesha")
    answers["accuracy"] = unrelated(accuracy, rho(accuracy), "over the sessions at hand the two go together")
    sessions = by_session(rows)
    change = associated(rows, "accuracy_change", "shesha")
    answers["change"] = unrelated(change, rho(change), "over the sessions at hand the two go together")
    step = sessions.accuracy_change
    answers["latter half"] = claim(
        bool(np.mean(step) < -np.std(step) / np.sqrt(len(step))),
        f"{step.mean():.3f} +- {step.std():.3f}, {int((step < 0).sum())} of {len(step)} sessions",
    )
    return answers


def _answer_drift(rows: pd.DataFrame, published: pd.DataFrame) -> Answers:
    answers: Answers = {}
    below, n = beyond(rows, "shifted")
    # A share of four times the level is more than chance makes in so many areas.
    answers["halves"] = claim(
        below >= _NEARLY_ALL * n,
        f"{below} of {n} areas at 5 %",
        f"found in {below / n:.0%} of the areas, where nearly all is {_NEARLY_ALL:.0%} or more",
        DIFFERS,
    )
    step = rows.assign(step=rows.early_middle - rows.middle_late)
    found = over_sessions(step, "step")
    answers["gradual"] = unrelated(
        {"low": found[1], "high": found[2]},
        f"{told(found)} over sessions",
        "the change comes earlier than later",
        small=_EQUAL,
    )
    order = order_of_regions(rows, published, "drift", "drift")
    apart = rows.groupby("region")[["shesha", "drift"]].mean()
    between = float(spearmanr(apart.shesha, apart.drift).statistic) if len(apart) > 3 else float("nan")
    answers["order of drift"] = claim(
        order > 0.74,
        f"rank correlation with the published order {order:+.2f}",
        "eight regions of overlapping intervals (chance reaches 0.74 at 5 %); motor areas, second to last there, are "
        "among the first here",
        INCONCLUSIVE,
    )
    answers["opposite orders"] = claim(
        bool(between < -0.5),
        f"rank correlation of the two over {len(apart)} regions {between:+.2f}",
        "eight regions with intervals this wide tell no dissociation"
        + ("" if np.isfinite(between) else "; too few regions"),
        INCONCLUSIVE,
    )
    return answers


def make_facts(rows: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Means and correlations over whole sessions, and shares of areas beyond chance."""
    rows = rows.assign(step=rows.early_middle - rows.middle_late)
    made = {name: Fact(*over_sessions(rows, name)) for name in ("shesha", "shesha_chance", "equal", "step")}
    for name in ("shesha", "equal", "shifted"):
        made[f"beyond_{name}"] = rate(*beyond(rows, name))
    for name, score in (("z", "drift"), ("z_elsewhere", "shifted")):
        made[name] = Fact(*over_sessions(z_of(rows, score), "z"))
    for name in ("shesha", "drift", "wuc"):
        one = associated(rows, "coupling", name)
        made[f"coupling_{name}"] = Fact(one["rho"], one["low"], one["high"])
    one = associated(rows, "coupling", "shesha", SIZES)
    made["coupling_given"] = Fact(one["rho"], one["low"], one["high"])
    n = rows.region.nunique()
    for name in ("shesha", "few"):
        made[f"order_{name}"] = rank_correlation(order_of_regions(rows, published, name), n)
    made["order_drift"] = rank_correlation(order_of_regions(rows, published, "drift", "drift"), n)
    return made
