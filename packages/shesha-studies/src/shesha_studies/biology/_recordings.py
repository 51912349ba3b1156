"""Recordings of Steinmetz et al. (2019) that studies share: 18 sessions of four mice, one area at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from shesha.neuro import Session, brain_region, session_table
from shesha.neuro.clustered_intervals import jackknife_correlation, mean_interval
from shesha.neuro.score_correlations import partial_rank_correlation
from shesha.results import AreaLine
from shesha.support.types import Array
from shesha_studies.external_data import lines, place

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


@cache
def session(name: str) -> Session:
    """Return the responses in the 400 ms after the stimulus, both contrasts, areas, and correctness of the choice.

    Raises
    ------
    Unreachable
        If the recordings are missing.
    """
    mouse, number = name.split()
    mice = {int(line["session"]): line["mouse"] for line in lines(FOLDER, "sessions.csv", source=_DEPOSIT)}
    assert mice[int(number)] == mouse
    with np.load(place(FOLDER, f"session{int(number):02d}.npz", source=_DEPOSIT)) as file:
        contrasts = np.column_stack([file["contrast_left"], file["contrast_right"]])
        correct = (file["feedback_type"] > 0).astype(float)
        return Session(file["counts"].mean(axis=2, dtype=float), contrasts, file["brain_area"], correct, mouse)


def one_area(name: str, area: str, merge: Callable[[Array], Array] | None = None) -> Session:
    """Return a session with the neurons of one area; `merge` turns the pairs of contrasts into fewer conditions."""
    record = session(name)
    mask = np.asarray(record.areas) == area
    shown = record.conditions if merge is None else merge(np.asarray(record.conditions))
    return Session(np.asarray(record.X)[:, mask], shown, np.asarray(record.areas)[mask], record.outcome, record.animal)


def as_nine(contrasts: Array) -> Array:
    """Reduce the contrasts on either side to three levels: none, weak (0.25 and 0.5), full.

    Examples
    --------
    >>> as_nine(np.array([0, 0.25, 0.5, 1])).tolist()
    [0.0, 1.0, 1.0, 2.0]
    """
    return np.asarray(np.ceil(1.9 * contrasts))


def as_difference(contrasts: Array) -> Array:
    """Return the contrast on the right minus that on the left, which has nine values in every session.

    Examples
    --------
    >>> as_difference(np.array([[0, 0.25], [1, 0.25]])).tolist()
    [[0.25], [-0.75]]
    """
    return contrasts[:, 1:] - contrasts[:, :1]


def session_line(recorded: Session, **options: Any) -> AreaLine:
    """Score a session with one area by `session_table`."""
    (line,) = session_table({"": recorded}, by="region", seed=0, **options).lines
    return line


def score_numbers(line: AreaLine, score: str, called: str) -> dict[str, float]:
    """Return a score, the mean and standard deviation of chance, and p, under a name."""
    result = line.scores[score]
    return {
        called: result.value,
        f"{called}_chance": result.null_mean,
        f"{called}_sd": result.null_sd,
        f"{called}_p": result.p_value,
    }


def add_regions(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the region of the paper's 13.6 and the mouse."""
    mouse = rows.session.str.partition(" ")[0]
    return rows.assign(region=[brain_region(area) for area in rows.area], mouse=mouse)


def over_sessions(rows: pd.DataFrame, column: str) -> tuple[float, float, float]:
    """Return a mean over areas with its interval over whole sessions, which are independent."""
    known = rows.dropna(subset=[column])
    values = known[column].to_numpy(dtype=float)
    if not len(values):
        return float("nan"), float("nan"), float("nan")
    return (float(values.mean()), *mean_interval(values, known.session.tolist(), 0.95))


def session_correlation(
    rows: pd.DataFrame, first: str, second: str, covariates: Sequence[str] = ()
) -> dict[str, float]:
    """Return a rank correlation over areas, its interval and p over whole sessions, and p for independent areas."""
    known = rows.dropna(subset=[first, second, *covariates])
    values = known[[first, second, *covariates]].to_numpy(dtype=float)

    def score(subset: Any) -> float:
        return partial_rank_correlation(values[subset, 0], values[subset, 1], values[subset, 2:])

    rho, free = score(np.ones(len(values), dtype=bool)), len(values) - 2 - len(covariates)
    (low, high), p = jackknife_correlation(score, known.session.tolist(), 0.95)
    naive = 2 * student.sf(abs(rho) * np.sqrt(free / (1 - rho**2)), free)
    return {"rho": rho, "low": low, "high": high, "p": p, "naive_p": float(naive)}


def count_areas(rows: pd.DataFrame, column: str) -> tuple[int, int]:
    """Count the areas that are beyond chance at 5 %, uncorrected, and those with a value."""
    known = rows.dropna(subset=[column])
    return int((known[f"{column}_p"] <= 0.05).sum()), len(known)
