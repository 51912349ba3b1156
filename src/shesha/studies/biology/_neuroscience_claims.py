"""Claims about the recordings, each judged beside chance, equal numbers and whole sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from shesha.studies._published import Answers, claim
from shesha.studies.biology._neuroscience_numbers import SIZES, by_session, order_of_regions, z_of
from shesha.studies.biology._recordings import associated, beyond, over_sessions

if TYPE_CHECKING:
    import pandas as pd


def told(found: tuple[float, float, float], decimals: int = 3) -> str:
    """Print a mean and its interval."""
    return f"{found[0]:.{decimals}f} [{found[1]:.{decimals}f}, {found[2]:.{decimals}f}]"


def rho(one: dict[str, float]) -> str:
    """Print a correlation over whole sessions."""
    return f"{one['rho']:+.2f} [{one['low']:+.2f}, {one['high']:+.2f}], p = {one['p']:.2g}"


def claims(rows: pd.DataFrame, published: pd.DataFrame) -> Answers:
    """Judge what is said in words."""
    answers: Answers = {}
    answers |= _of_geometry(rows, published)
    answers |= _of_behaviour(rows)
    answers |= _of_drift(rows, published)
    return answers


def _of_geometry(rows: pd.DataFrame, published: pd.DataFrame) -> Answers:
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
    orders = {name: order_of_regions(rows, published, name) for name in ("shesha", "equal", "few")}
    answers["hierarchy"] = claim(
        orders["shesha"] > 0.74 and orders["few"] > 0,
        f"rank correlation with the published order: {orders['shesha']:+.2f} with all trials, {orders['equal']:+.2f} "
        f"with 4 trials each, {orders['few']:+.2f} with 20 neurons as well",
        "the order follows numbers of trials and neurons (chance reaches 0.74 at 5 %), and intervals overlap; regions "
        "of many neurons lead only until all are given 20",
    )
    white = order_of_regions(rows, published, "wuc")
    answers["wuc order"] = claim(
        white > 0.5,
        f"{white:+.2f}",
        note="WUC, free of unequal numbers of trials, has the published order more than the split itself has",
    )
    return answers


def _of_behaviour(rows: pd.DataFrame) -> Answers:
    answers: Answers = {}
    found = {name: associated(rows, "coupling", name) for name in ("shesha", "drift", "wuc", "equal")}
    given = {name: associated(rows, "coupling", name, SIZES) for name in ("shesha", "drift", "wuc", "equal")}
    answers["coupling"] = claim(
        given["shesha"]["p"] <= 0.05,
        f"{rho(found['shesha'])} over sessions; given neurons, trials and rate {rho(given['shesha'])}",
        "given what both rise with, numbers of neurons, trials and spikes, it is not told from zero; the sign stays",
    )
    answers["coupling wuc"] = claim(
        found["wuc"]["p"] > 0.05,
        f"WUC {rho(found['wuc'])}; split {rho(found['shesha'])}",
        "WUC goes with it as much as the split does",
    )
    answers["coupling drift"] = claim(
        found["drift"]["p"] > 0.05,
        rho(found["drift"]),
        note="the sign is not told apart from zero, nor from that of the split once numbers are given",
    )
    accuracy = associated(rows, "accuracy", "shesha")
    answers["accuracy"] = claim(
        accuracy["p"] > 0.05,
        rho(accuracy),
        "" if accuracy["p"] > 0.05 else "over the sessions at hand the two go together",
    )
    sessions = by_session(rows)
    change = associated(rows, "accuracy_change", "shesha")
    answers["change"] = claim(
        change["p"] > 0.05, rho(change), note="intervals this wide hold large correlations as well"
    )
    step = sessions.accuracy_change
    answers["latter half"] = claim(
        bool(np.mean(step) < -np.std(step) / np.sqrt(len(step))),
        f"{step.mean():.3f} +- {step.std():.3f}, {int((step < 0).sum())} of {len(step)} sessions",
    )
    return answers


def _of_drift(rows: pd.DataFrame, published: pd.DataFrame) -> Answers:
    answers: Answers = {}
    free, shifted = (z_of(rows, name) for name in ("drift", "shifted"))
    share = (1 - rows.shifted_chance.mean()) / (1 - rows.drift.mean())
    below, n = beyond(rows, "shifted")
    answers["beyond chance"] = claim(
        bool(shifted.z.mean() < -5),
        f"trials in any order {told(over_sessions(free, 'z'), 1)}; sessions cut elsewhere "
        f"{told(over_sessions(shifted, 'z'), 1)}",
        f"trials in any order have no neighbours; {share:.0%} of the drop from 1 is there wherever a session is cut, "
        "where a steady drift would leave a third",
    )
    answers["halves"] = claim(below > 0.2 * n, f"{below} of {n} areas at 5 %", note="in most areas, not in nearly all")
    step = rows.assign(step=rows.early_middle - rows.middle_late)
    found = over_sessions(step, "step")
    answers["gradual"] = claim(
        bool(found[1] <= 0 <= found[2]),
        f"{told(found)} over sessions",
        "" if found[1] <= 0 <= found[2] else "the change comes earlier than later",
    )
    order = order_of_regions(rows, published, "drift", "drift")
    apart = rows.groupby("region")[["shesha", "drift"]].mean()
    between = float(spearmanr(apart.shesha, apart.drift).statistic) if len(apart) > 3 else float("nan")
    answers["order of drift"] = claim(
        order > 0.74,
        f"rank correlation with the published order {order:+.2f}",
        "eight regions of overlapping intervals (chance reaches 0.74 at 5 %); motor areas, second to last there, are "
        "among the first here",
    )
    answers["opposite orders"] = claim(
        bool(between < -0.5),
        f"rank correlation of the two over {len(apart)} regions {between:+.2f}",
        "eight regions with intervals this wide tell no dissociation"
        + ("" if np.isfinite(between) else "; too few regions"),
    )
    return answers
