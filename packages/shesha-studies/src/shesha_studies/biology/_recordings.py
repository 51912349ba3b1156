"""Recordings of Steinmetz et al. (2019) that studies share: 18 sessions of four mice, one area at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shesha.kernels.mean_intervals import mean_interval
from shesha.neuro.score_correlations import jackknife_correlation
from shesha.support.types import Array
from shesha_studies.external_data import place
from shesha_studies.framework.facts import Fact
from shesha_studies.framework.tolerance import correlation_p
from shesha_studies.partial_rank_correlations import partial_rank_correlations
from shesha_studies.session_table import AreaLine, Session, brain_region, session_table

AREAS: Mapping[str, str] = {
    "Cori 1": "ACA CA3 DG LS MOs SUB VISp",
    "Cori 2": "CA1 POST VISl VISpm",
    "Cori 3": "CA1 DG MG MRN NB POST SPF VISam VISp",
    "Forssmann 4": "ACA CA1 DG LGd LSr MOs SUB TH VISa VISp VPL",
    "Forssmann 5": "ACA CA1 DG MOs OLF ORB PL SUB VISa",
    "Forssmann 6": "AUD CA1 SSp TH",
    "Forssmann 7": "CA3 CP EPd LD PIR SSp VPL",
    "Hench 8": "CA1 CA3 DG ILA LD LP MOs PL PO SUB TT VISa VISp",
    "Hench 9": "CA1 CA3 LD LSr ORBm PL TH TT VISam VISl VPL",
    "Hench 10": "CA1 DG GPe MB MRN POL POST SCm SCsg VISl VISp VISrl",
    "Hench 11": "CP LSc MOp PT",
    "Lederberg 12": "ACA CA1 DG LGd LH MD PL SUB VISam VISp",
    "Lederberg 13": "ACA CA1 DG LGd MB MOs MRN MS PL RN SCm SCs VISam ZI",
    "Lederberg 14": "CA1 MOs MRN ORB PAG RSP SCm SCs VISp",
    "Lederberg 15": "BLA GPe LGd MB VPM ZI",
    "Lederberg 16": "CA3 LGd MB SSp SSs TH",
    "Lederberg 17": "LD MEA RT VPL VPM",
    "Lederberg 18": "ACB CA3 CP LGd OT SI SNr TH ZI",
}
"""Brain areas with at least 10 neurons in the available sessions, by session. Neurons outside any area (root) are
excluded."""
FOLDER, _DEPOSIT = "steinmetz2019", "the original deposit is figshare 9598406"
CELLS = [{"session": session, "area": area} for session, areas in AREAS.items() for area in areas.split()]
EACH = 4
"""Number of trials of each condition in each half if numbers are equalised."""
SIZES = ("n_neurons", "n_trials", "rate")


@cache
def session(name: str) -> Session:
    """Return the responses in the 400 ms after the stimulus, both contrasts, areas, and correctness of the choice."""
    mouse, number = name.split()
    with np.load(place(FOLDER, f"session{int(number):02d}.npz", source=_DEPOSIT)) as file:
        contrasts = np.column_stack([file["contrast_left"], file["contrast_right"]])
        correct = (file["feedback_type"] > 0).astype(float)
        return Session(file["counts"].mean(axis=2, dtype=float), contrasts, file["brain_area"], correct, mouse)


def one_area(name: str, area: str, merge: Callable[[Array], Array] = np.asarray) -> Session:
    """Return a session with the neurons of one area; `merge` turns the pairs of contrasts into fewer conditions."""
    record = session(name)
    mask = np.asarray(record.areas) == area
    shown = merge(np.asarray(record.conditions))
    return Session(np.asarray(record.X)[:, mask], shown, np.asarray(record.areas)[mask], record.outcome, record.animal)


MERGED: Mapping[str, Callable[[Array], Array]] = {
    # The contrasts 0, 0.25, 0.5 and 1 become the levels 0, 1, 1 and 2.
    "nine": lambda contrasts: np.ceil(1.9 * contrasts),
    "difference": lambda contrasts: contrasts[:, 1:] - contrasts[:, :1],
}
"""Nine conditions of pairs of contrasts: three levels (no, weak, full) on either side, or right minus left."""
READINGS = ("shesha", *MERGED)
"""The split with each pair of contrasts, and with nine conditions. The paper has "each unique stimulus combination (9
contrast pairings)"; the data have 15 or 16 pairs."""


def session_line(recorded: Session, **options: Any) -> AreaLine:
    """Score a session with one area by `session_table`."""
    (line,) = session_table({"": recorded}, by="region", seed=0, **options).lines
    return line


def score_numbers(line: AreaLine, score: str, called: str) -> dict[str, float]:
    """Return a score, the mean and standard deviation of chance, and p, under a name."""
    result = line.scores[score]
    null = {f"{called}_chance": result.chance, f"{called}_sd": result.chance_sd, f"{called}_p": result.p_value}
    return {called: result.value, **null}


def score_one_area(recorded: Session, score: str, called: str, **options: Any) -> dict[str, float]:
    """Compute one score of a session with one area, and return the same numbers."""
    return score_numbers(session_line(recorded, scores=(score,), **options), score, called)


def derived_columns(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the region (13.6), the difference of thirds, and the drift in standard deviations of both null models."""
    distances = {
        f"{name}_z": (rows["drift"] - rows[f"{name}_chance"]) / rows[f"{name}_sd"] for name in ("drift", "shifted")
    }
    return rows.assign(region=rows.area.map(brain_region), step=rows.early_middle - rows.middle_late, **distances)


def session_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one line per session: means over its areas."""
    return rows.groupby("session", sort=False)[[*READINGS, "accuracy_change"]].mean()


def printed_regions(published: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return the published means of a score in Tables 76 and 77, with their intervals, by region."""
    lines = published[published["where"].str.contains("Table") & published.key.str.startswith(f"{score} ")]
    return lines.set_index(lines.key.str.removeprefix(f"{score} "))[["published", "low", "high"]].astype(float)


def over_sessions(rows: pd.DataFrame, column: str) -> Fact:
    """Return a mean over areas with its interval over whole sessions, which are independent."""
    known = rows.dropna(subset=[column])
    if known.empty:
        return Fact(float("nan"))
    values = known[column].to_numpy(dtype=float)
    return Fact(float(values.mean()), *mean_interval(values, known.session.tolist(), 0.95))


class SessionCorrelation(NamedTuple):
    """Rank correlation over areas, with its interval and p over whole sessions, and p for independent areas."""

    rho: Fact
    p: float
    naive_p: float


def session_correlation(
    rows: pd.DataFrame, first: str, second: str, covariates: Sequence[str] = ()
) -> SessionCorrelation:
    """Return the rank correlation of two columns over areas."""
    known = rows.dropna(subset=[first, second, *covariates])
    values = known[[first, second, *covariates]].to_numpy(dtype=float)

    def score(subset: Any) -> float:
        return float(partial_rank_correlations(values[subset], 0, range(2, values.shape[1]))[1])

    rho = score(np.ones(len(values), dtype=bool))
    limits, p = jackknife_correlation(score, known.session.tolist(), 0.95)
    return SessionCorrelation(Fact(rho, *limits), p, correlation_p(rho, len(values), len(covariates)))


def count_areas(rows: pd.DataFrame, column: str) -> tuple[int, int]:
    """Count the areas that are beyond chance at 5 %, uncorrected, and those with a value."""
    known = rows.dropna(subset=[column])
    return int((known[f"{column}_p"] <= 0.05).sum()), len(known)
