"""Claims about the recordings, each judged beside chance, equal numbers and whole sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from shesha.studies._checks import AGREES, HOLDS_NOT, Check
from shesha.studies.biology._neuroscience_numbers import PAPER, SIZES, by_session, order_of_regions, z_of
from shesha.studies.biology._recordings import associated, beyond, over_sessions

if TYPE_CHECKING:
    import pandas as pd


def told(found: tuple[float, float, float], decimals: int = 3) -> str:
    """Print a mean and its interval."""
    return f"{found[0]:.{decimals}f} [{found[1]:.{decimals}f}, {found[2]:.{decimals}f}]"


def rho(one: dict[str, float]) -> str:
    """Print a correlation over whole sessions."""
    return f"{one['rho']:+.2f} [{one['low']:+.2f}, {one['high']:+.2f}], p = {one['p']:.2g}"


def claim(where: str, what: str, published: str, ours: str, holds: bool, why: str = "") -> Check:
    """Judge a claim in words."""
    return Check(f"{PAPER}, {where}", what, published, ours, AGREES if holds else HOLDS_NOT, why)


def claims(rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Check]:
    """Judge what is said in words."""
    yield from _of_geometry(rows, published)
    yield from _of_behaviour(rows)
    yield from _of_drift(rows, published)


def _of_geometry(rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Check]:
    above, n = beyond(rows, "shesha")
    score, chance = (told(over_sessions(rows, name), 2) for name in ("shesha", "shesha_chance"))
    yield claim(
        "13.3",
        "the correlation of odd and even trials measures how reliable the geometry of the responses is",
        "yes",
        f"{score}; conditions shifted along the session {chance}; above them in {above} of {n} areas",
        above > 0.2 * n,
        "conditions shown rarely have noisy means, far from all others in both halves, whatever the neurons do",
    )
    equal, m = beyond(rows, "equal")
    yield claim(
        "13.3",
        "there is a reliable geometry of the responses (with 4 trials of each condition in either half)",
        "yes",
        f"{told(over_sessions(rows, 'equal'), 2)}; shifted {told(over_sessions(rows, 'equal_chance'), 2)}; above in "
        f"{equal} of {m} areas",
        equal > 0.2 * m,
        "found once numbers of trials are equal",
    )
    orders = {name: order_of_regions(rows, published, name) for name in ("shesha", "equal", "few")}
    yield claim(
        "13.7.2",
        "regions have a hierarchy of geometric stability: striatum, motor and visual first, hippocampus last",
        "yes",
        f"rank correlation with the published order: {orders['shesha']:+.2f} with all trials, {orders['equal']:+.2f} "
        f"with 4 trials each, {orders['few']:+.2f} with 20 neurons as well",
        orders["shesha"] > 0.74 and orders["few"] > 0,
        "the order follows numbers of trials and neurons (chance reaches 0.74 at 5 %), and intervals overlap; regions "
        "of many neurons lead only until all are given 20",
    )
    white = order_of_regions(rows, published, "wuc")
    yield claim(
        "13.7.2",
        "WUC has a similar regional pattern (rank correlation with the published order of the split)",
        "similar",
        f"{white:+.2f}",
        white > 0.5,
        "WUC, free of unequal numbers of trials, has the published order more than the split itself has",
    )


def _of_behaviour(rows: pd.DataFrame) -> Iterator[Check]:
    found = {name: associated(rows, "coupling", name) for name in ("shesha", "drift", "wuc", "equal")}
    given = {name: associated(rows, "coupling", name, SIZES) for name in ("shesha", "drift", "wuc", "equal")}
    yield claim(
        "13.7.1",
        "stability predicts the coupling of trials with behaviour",
        "+0.184, p = 0.005",
        f"{rho(found['shesha'])} over sessions; given neurons, trials and rate {rho(given['shesha'])}",
        given["shesha"]["p"] <= 0.05,
        "given what both rise with, numbers of neurons, trials and spikes, it is not told from zero; the sign stays",
    )
    yield claim(
        "13.7.1",
        "the coupling is specific to geometric stability: WUC has none",
        "+0.089, p = 0.180",
        f"WUC {rho(found['wuc'])}; split {rho(found['shesha'])}",
        found["wuc"]["p"] > 0.05,
        "WUC goes with it as much as the split does",
    )
    yield claim(
        "13.7.1",
        "the coupling is specific to geometric stability: centroid drift has none",
        "+0.002, p = 0.976",
        rho(found["drift"]),
        found["drift"]["p"] > 0.05,
        "the sign is not told apart from zero, nor from that of the split once numbers are given",
    )
    accuracy = associated(rows, "accuracy", "shesha")
    yield claim(
        "Table 75",
        "stability and mean accuracy are unrelated",
        "+0.087, p = 0.191",
        rho(accuracy),
        accuracy["p"] > 0.05,
        "" if accuracy["p"] > 0.05 else "over the sessions at hand the two go together",
    )
    sessions = by_session(rows)
    change = associated(rows, "accuracy_change", "shesha")
    yield claim(
        "3.5 and 13.7.1",
        "stability and the change of accuracy are unrelated",
        "-0.05, p = 0.44; -0.079, p = 0.70",
        rho(change),
        change["p"] > 0.05,
        "intervals this wide hold large correlations as well",
    )
    step = sessions.accuracy_change
    yield claim(
        "13.4",
        "animals do worse in the latter half of sessions",
        "-0.103 +- 0.091",
        f"{step.mean():.3f} +- {step.std():.3f}, {int((step < 0).sum())} of {len(step)} sessions",
        bool(np.mean(step) < -np.std(step) / np.sqrt(len(step))),
    )


def _of_drift(rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Check]:
    free, shifted = (z_of(rows, name) for name in ("drift", "shifted"))
    share = (1 - rows.shifted_chance.mean()) / (1 - rows.drift.mean())
    below, n = beyond(rows, "shifted")
    yield claim(
        "13.7.3",
        "a z of -45 shows systematic drift beyond what trials vary by chance",
        "-44.7 [-49.2, -40.4]",
        f"trials in any order {told(over_sessions(free, 'z'), 1)}; sessions cut elsewhere "
        f"{told(over_sessions(shifted, 'z'), 1)}",
        bool(shifted.z.mean() < -5),
        f"trials in any order have no neighbours; {share:.0%} of the drop from 1 is there wherever a session is cut, "
        "where a steady drift would leave a third",
    )
    yield claim(
        "13.7.3",
        "the first and the second half of a session differ more than other halves of it",
        "nearly all",
        f"{below} of {n} areas at 5 %",
        below > 0.2 * n,
        "in most areas, not in nearly all",
    )
    step = rows.assign(step=rows.early_middle - rows.middle_late)
    found = over_sessions(step, "step")
    yield claim(
        "13.7.4",
        "drift is gradual: thirds of a session do not differ",
        "difference 0.001, p = 0.77",
        f"{told(found)} over sessions",
        bool(found[1] <= 0 <= found[2]),
        "" if found[1] <= 0 <= found[2] else "the change comes earlier than later",
    )
    order = order_of_regions(rows, published, "drift", "drift")
    apart = rows.groupby("region")[["shesha", "drift"]].mean()
    between = float(spearmanr(apart.shesha, apart.drift).statistic) if len(apart) > 3 else float("nan")
    yield claim(
        "13.7.2",
        "regions have an order of drift: thalamus and visual areas most stable, striatum least",
        "yes",
        f"rank correlation with the published order {order:+.2f}",
        order > 0.74,
        "eight regions of overlapping intervals (chance reaches 0.74 at 5 %); motor areas, second to last there, are "
        "among the first here",
    )
    yield claim(
        "13.7.2",
        "stability and drift order regions in opposite ways",
        "striatum first and last, hippocampus last and second",
        f"rank correlation of the two over {len(apart)} regions {between:+.2f}",
        bool(between < -0.5),
        "eight regions with intervals this wide tell no dissociation"
        + ("" if np.isfinite(between) else "; too few regions"),
    )
