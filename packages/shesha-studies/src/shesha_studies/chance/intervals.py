"""How often do intervals contain the mean over samples of the same size?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from shesha.studies.study_definition import study
from shesha_studies.chance import _interval_coverage as coverage
from shesha_studies.chance._intervals_page import make_facts, make_page

RUNS, BATCHES = 10, 20
SPLIT = "feature_split"
SIMILARITIES = (
    ("independent", 60, 30),
    ("weak", 60, 6),
    ("weak", 60, 30),
    ("strong", 60, 30),
    ("strong", 60, 44),
    ("strong", 60, 120),
    ("weak, t(3)", 60, 30),
    ("clusters", 60, 6),
    ("weak", 150, 15),
    ("strong", 150, 75),
    ("strong, t(3)", 150, 75),
    ("strong", 300, 30),
)
SCORES = (
    ("Gaussian", 40, 12, "-", SPLIT),
    ("Gaussian", 300, 12, "-", SPLIT),
    ("Gaussian", 20_000, 12, "-", SPLIT),
    ("Gaussian", 40, 24, "-", SPLIT),
    ("Gaussian", 20_000, 24, "-", SPLIT),
    ("Gaussian", 40, 200, "-", SPLIT),
    ("Gaussian", 300, 200, "-", SPLIT),
    ("clusters", 100, 24, "-", SPLIT),
    ("t(3)", 100, 24, "-", SPLIT),
    ("unequal scales", 100, 24, "-", SPLIT),
    ("each row twice", 100, 24, "groups=", SPLIT),
    ("each row twice", 100, 24, "-", SPLIT),
    ("10 donors", 200, 24, "groups=", SPLIT),
    ("10 donors", 200, 24, "-", SPLIT),
    ("30 donors", 300, 24, "groups=", SPLIT),
    ("Gaussian", 100, 24, "-", "basis_averaged_split"),
    ("random classes", 100, 12, "-", "label scores"),
    ("fixed classes", 100, 12, "blocks=", "label scores"),
    ("random classes", 200, 24, "-", "label scores"),
    ("fixed classes", 200, 24, "blocks=", "label scores"),
)


def _cells() -> Iterator[dict[str, Any]]:
    names = ("part", "data", "n", "d", "told", "score", "batch")
    for batch in range(BATCHES):
        for data, n, d in SIMILARITIES:
            yield dict(zip(names, ("similarities", data, n, d, "-", "all", batch), strict=True))
        for case in SCORES:
            yield dict(zip(names, ("scores", *case, batch), strict=True))


FULL = sorted(_cells(), key=lambda one: one["part"])
QUICK = [
    one
    for one in FULL
    if one["batch"] < 2 and (one["data"], one["n"], one["d"]) in {("Gaussian", 40, 12), ("10 donors", 200, 24)}
] + [one for one in FULL if one["batch"] == 0 and (one["data"], one["d"]) == ("weak", 6)]


@study("intervals", paper="new", version=1, full=FULL, quick=QUICK)
def intervals(part: str, data: str, n: int, d: int, told: str, score: str, batch: int) -> dict[str, float | int]:
    """Do intervals contain the mean value over samples of the same size as often as they should?

    A batch is ten samples: of each score, the runs that had an interval, and the share that held the mean, at 90 and
    95 %.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if part == "similarities":
            truth = coverage.similarity_truth(data, n, d)
        else:
            truth = coverage.score_truth(data, n, d, told, score)
        run_ends = [_ends(part, data, n, d, told, score, batch * RUNS + run) for run in range(RUNS)]
    row: dict[str, float | int] = {}
    for name, value in truth.items():
        pairs = [ends[name] for ends in run_ends if name in ends]
        row[f"{name} runs"] = len(pairs)
        for place, level in enumerate(coverage.LEVELS):
            inside = [ends[place][0] <= value <= ends[place][1] for ends in pairs]
            row[f"{name} {level:.0%}"] = sum(inside) / len(pairs) if pairs else float("nan")
    return row


def _ends(part: str, data: str, n: int, d: int, grouping: str, score: str, run: int) -> coverage.Ends:
    if part == "similarities":
        return coverage.similarity_ends(data, n, d, run)
    return coverage.score_ends(data, n, d, grouping, score, run)


intervals.page(make_page)
intervals.facts(make_facts)
