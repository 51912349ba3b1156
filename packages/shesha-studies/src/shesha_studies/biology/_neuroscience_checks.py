"""Numbers of the recordings and the published ones compared with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy.stats import spearmanr, ttest_rel

from shesha.studies import tolerance
from shesha.studies.checks import AGREES, DIFFERS, INCONCLUSIVE, UNREACHABLE, Check, judge_number
from shesha.studies.tolerance import LOOSE
from shesha_studies.biology._recordings import over_sessions, session_correlation

SIZES = ("n_neurons", "n_trials", "rate")
_HAND = "We have {sessions:.0f} of 39 sessions, of four mice (the paper: 26 sessions)."
_WINDOW = "We have the spikes in the 400 ms after the stimulus (the paper: 500 ms)."
_WHY = {
    "n_sessions": _HAND,
    "n_lines": _HAND,
    "n_areas": _HAND,
    "n": _HAND,
    "n_conditions": "The data have {conditions:.0f} pairs of contrasts. The paper has nine and does not say how it "
    "counts them. With nine (no, weak and full contrast on either side) stability is {nine:.2f} and chance is "
    "{nine_chance:.2f}; with nine (contrast on the right minus that on the left) stability is {difference:.2f} and "
    "chance is {difference_chance:.2f}.",
    "change": f"{_HAND} Accuracy depends on the mouse.",
    "accuracy": f"{_HAND} Accuracy depends on the mouse.",
    "shesha": f"{_HAND} {_WINDOW} Scores depend on the numbers of neurons and trials, as the table of regions shows.",
    "drift": f"{_HAND} {_WINDOW} The intervals of the regions overlap.",
    "wuc": "The paper gives no formula of its WUC. Ours, with products of different trials only and the shrinkage of "
    "Ledoit and Wolf, has higher values than those it prints, so it is another score.",
    "coupling": f"{_HAND} {_WINDOW}",
    "z": _HAND,
    "early_middle": _HAND,
    "middle_late": _HAND,
    "thirds_t": "Values of t without significance cannot be compared between different numbers of observations.",
    "thirds": f"{_HAND} The text gives the difference with both signs.",
}
_MERGED = ("nine", "difference")
_PAIRS = (
    "This is for each pair of contrasts (16). With nine conditions, the number that the paper prints, it is {:.2g} "
    "(no, weak and full contrast on either side) or {:.2g} (contrast on the right minus that on the left)."
)


@dataclass(frozen=True)
class Number:
    """Our number, with its standard error over sessions; NaN if there is none."""

    value: float
    error: float = float("nan")

    @classmethod
    def build(cls, found: tuple[float, float, float]) -> Number:
        """Compute the standard error from a 95 % interval."""
        return cls(found[0], (found[2] - found[1]) / 3.92)


def session_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one line per session: means over its areas."""
    return rows.groupby("session", sort=False)[["shesha", "accuracy", "accuracy_change"]].mean()


def drift_z(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Add the distance of the drift from its chance level, in standard deviations of the null distribution."""
    return rows.assign(z=(rows["drift"] - rows[f"{name}_chance"]) / rows[f"{name}_sd"])


def numbers(rows: pd.DataFrame) -> Mapping[str, Number]:
    """Return our numbers, by the key in the file of published numbers."""
    sessions = session_means(rows)
    change = sessions.accuracy_change
    values = {
        "n_sessions": Number(len(sessions)),
        "n_lines": Number(len(rows)),
        "n_areas": Number(rows.area.nunique()),
        "n_conditions": Number(float(rows.n_conditions.median())),
        "change_mean": Number(float(change.mean()), float(change.std() / np.sqrt(len(change)))),
        "change_sd": Number(float(change.std()), float(change.std() / np.sqrt(2 * len(change)))),
        "change_min": Number(float(change.min())),
        "change_max": Number(float(change.max())),
        "wuc_min": Number(float(rows.wuc.min())),
        "wuc_max": Number(float(rows.wuc.max())),
        "wuc_mean": Number.build(over_sessions(rows, "wuc")),
        "drift_mean": Number.build(over_sessions(rows, "drift")),
        "drift_chance": Number.build(over_sessions(rows, "drift_chance")),
        "z": Number.build(over_sessions(drift_z(rows, "drift"), "z")),
        "early_middle": Number.build(over_sessions(rows, "early_middle")),
        "middle_late": Number.build(over_sessions(rows, "middle_late")),
    }
    step = rows.assign(step=rows.early_middle - rows.middle_late)
    paired = ttest_rel(rows.early_middle, rows.middle_late)
    values |= {
        "thirds": Number.build(over_sessions(step, "step")),
        "thirds_t": Number(float(paired.statistic), 1.0),
        "thirds_p": Number(float(paired.pvalue)),
    }
    return values | _correlations(rows, sessions) | _regions(rows)


def _correlations(rows: pd.DataFrame, sessions: pd.DataFrame) -> dict[str, Number]:
    values: dict[str, Number] = {}
    pairs = {
        "coupling_shesha": ("coupling", "shesha"),
        "coupling_drift": ("coupling", "drift"),
        "coupling_wuc": ("coupling", "wuc"),
        "accuracy_shesha": ("accuracy", "shesha"),
        "change_shesha_areas": ("accuracy_change", "shesha"),
        "wuc_shesha": ("wuc", "shesha"),
    }
    for key, (first, second) in pairs.items():
        result = session_correlation(rows, first, second)
        error = (result["high"] - result["low"]) / 3.92
        values |= {key: Number(result["rho"], error), f"{key}_p": Number(result["naive_p"])}
    if len(sessions) > 3:
        alone = spearmanr(sessions.shesha, sessions.accuracy_change)
        values["change_shesha"] = Number(float(alone.statistic), 1 / np.sqrt(len(sessions) - 3))
        values["change_shesha_p"] = Number(float(alone.pvalue))
    return values


def _regions(rows: pd.DataFrame) -> dict[str, Number]:
    values: dict[str, Number] = {}
    for region, group in rows.groupby("region"):
        values[f"n {region}"] = Number(len(group))
        for score in ("shesha", "drift", "wuc"):
            number = Number.build(over_sessions(group, score))
            # If there are few areas or sessions, the error is at least the standard error over areas.
            spread = float(group[score].std() / np.sqrt(len(group)))
            values[f"{score} {region}"] = Number(
                number.value, max((e for e in (number.error, spread) if e == e), default=float("nan"))
            )
    return values


def published_checks(rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Check]:
    """Yield a check for every line of the tables and the text."""
    values, of_merged = numbers(rows), [numbers(rows.assign(shesha=rows[name])) for name in _MERGED]
    facts = {name: float(rows[name].mean()) for one in _MERGED for name in (one, f"{one}_chance")}
    facts |= {"conditions": float(rows.n_conditions.median()), "sessions": float(rows.session.nunique())}
    for line in cast(Any, published.itertuples(index=False)):
        if line.key != line.key:
            yield Check(line.where, line.what, line.published, None, UNREACHABLE, _HAND.format(**facts))
            continue
        answer, why = values.get(line.key, Number(float("nan"))), _why(line.key).format(**facts)
        # The lowest value of a part of the sessions cannot be compared with that of all.
        counts = line.key == "change_min" or (line.key.startswith(("n_", "n ")) and line.key != "n_conditions")
        if counts or ("wuc" in line.key and answer.value == answer.value):
            reason = _HAND.format(**facts) if counts else why
            yield Check(line.where, line.what, line.published, answer.value, UNREACHABLE, reason)
        elif line.key == "thirds_t" and max(abs(answer.value), abs(line.published)) <= tolerance.JOINT:
            yield Check(line.where, line.what, line.published, answer.value, INCONCLUSIVE, why)
        else:
            merged = [found[line.key].value for found in of_merged if "shesha" in line.key and line.key in found]
            yield _add_pairs(_judge(line, answer, merged, why), merged)


def _judge(line: Any, answer: Number, merged: list[float], why: str) -> Check:
    """Compare a number with the published one; `merged` are our numbers with nine conditions, if it depends on them."""
    if line.key.endswith("_p"):
        return _p_value(line, answer.value, merged, why)
    return judge_number(
        line.where,
        line.what,
        float(line.published),
        answer.value,
        error=answer.error,
        published_error=tolerance.interval_error(line.low, line.high),
        decimals=len(f"{line.published:g}".partition(".")[2]),
        why=why,
        admissible=(min(answer.value, *merged), max(answer.value, *merged)) if merged else None,
    )


def _add_pairs(check: Check, merged: list[float]) -> Check:
    """Add our numbers with nine conditions to the reason."""
    if not merged or check.ours is None:
        return check
    return replace(check, why=". ".join(filter(None, (check.why.removesuffix("."), _PAIRS.format(*merged)))))


def _why(key: str) -> str:
    if "wuc" in key:
        return _WHY["wuc"]
    return _WHY.get(key) or _WHY.get(key.partition(" ")[0]) or _WHY.get(key.partition("_")[0], _HAND)


def _p_value(line: Any, p_value: float, merged: list[float], reason: str) -> Check:
    """Check a p-value, which agrees if it is on the same side of 0.05; `merged` are those with nine conditions."""
    if p_value != p_value:
        return judge_number(line.where, line.what, line.published, None, why=reason)
    if any((p_value <= 0.05) != (other <= 0.05) for other in merged):
        why = "The choice of the conditions decides whether this p-value is below 0.05."
        return Check(line.where, line.what, line.published, p_value, INCONCLUSIVE, why)
    near = tolerance.p_values_agree(f"{line.published:g}", p_value)
    if near is None:
        return Check(line.where, line.what, line.published, p_value, INCONCLUSIVE, tolerance.UNDECIDED)
    same = near or max(p_value, line.published) <= 0.05
    agrees = tolerance.loose_p_value(f"{line.published:g}")
    agrees = agrees if near else f"{LOOSE} any p-value on the same side of 0.05 would agree"
    why = agrees if same else f"{reason} For this p-value areas are treated as independent, as in the paper."
    return Check(line.where, line.what, line.published, p_value, AGREES if same else DIFFERS, why)


def order_of_regions(rows: pd.DataFrame, published: pd.DataFrame, score: str, table: str = "shesha") -> float:
    """Rank correlation of the regions' means with the published ones."""
    known = published[published.key.astype(str).str.startswith(f"{table} ") & published["where"].str.contains("Table")]
    means = {line.key.partition(" ")[2]: float(line.published) for line in cast(Any, known.itertuples())}
    scores = rows.groupby("region")[score].mean()
    both = [
        (scores[region], value)
        for region, value in means.items()
        if region in scores and scores[region] == scores[region]
    ]
    if len(both) < 4:
        return float("nan")
    return float(spearmanr(*np.array(both).T).statistic)
