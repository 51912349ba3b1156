"""How often are p-values significant without an effect, for independent and dependent rows?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from shesha import measures
from shesha.calibration import calibrate
from shesha.stability import chance
from shesha.studies.facts import Facts
from shesha.studies.page import Page
from shesha.studies.study_decorator import study
from shesha_studies.chance import _doubt_cases as doubtful
from shesha_studies.chance import _false_positive_data as unrelated
from shesha_studies.chance._false_positives_page import SCALED, make_facts, make_page

LEVEL, RUNS, BATCHES = 0.05, 20, 10
PERMUTATIONS = {"measures": 19, "scores": 39, "designs": 39}
"""Numbers of permutations by kind of score, each the smallest number that reaches the level exactly, or twice that."""
SPLIT, ROTATED = "feature_split", "basis_averaged_split"
FEATURES = ("Gaussian", "unequal scales", "heavy tails", "sparse, 10 %", "spike counts, mean 0.06")
KNOWN = ("a known batch", "a known number")
NOTHING, SIGNAL = "nothing", "signal"


def _cell(*values: Any) -> dict[str, Any]:
    return dict(zip(("part", "score", "data", "design", "n", "d", "truth", "batch"), values, strict=True))


def _measures() -> Iterator[dict[str, Any]]:
    """Cells of every measure with a null: independent rows, clusters of rows, and rows with a shared part."""
    names = [name for name in measures.names() if measures.get(name).paired]
    for score in [*names, "CKA(kernel=rbf)"]:
        for n in (64, 256):
            for data in unrelated.CLOUDS:
                for d in (n // 4, n, 4 * n):
                    yield _cell("measures", score, data, "free", n, d, NOTHING, 0)
        for batch in range(BATCHES):
            for design in ("blocks", "free"):
                yield _cell("measures", score, "clusters of rows", design, 64, 16, NOTHING, batch)
            yield _cell("measures", score, "Gaussian", "free", 64, 16, SIGNAL, batch)


def _scores() -> Iterator[dict[str, Any]]:
    """Cells of scores of one representation, with random matchings of the halves or permuted features."""
    kinds = [(SPLIT, data, keep) for data in SCALED for keep in ("-", "row scale")]
    kinds += [(score, data, "-") for score in (SPLIT, ROTATED) for data in FEATURES]
    for score, data, design in kinds:
        d = 200 if data == SCALED[1] else 64 if data.startswith("sparse") else 128 if data.startswith("spike") else 32
        for n in (20, 50, 200):
            for truth in (NOTHING, SIGNAL):
                for batch in range(BATCHES):
                    yield _cell("scores", score, data, design, n, d, truth, batch)


def _designs() -> Iterator[dict[str, Any]]:
    """Cells of dependent rows, with designs that account for the dependence and designs that do not."""
    kinds = [
        (score, data, "covariates", n)
        for score in ("CKA", "RSA(metric=euclidean)", "mutual kNN(k=5)")
        for data in unrelated.KNOWN
        for n in (20, 50, 200)
        if data in KNOWN or not score.startswith("mutual")
    ]
    kinds += [
        (score, "series: 0.5", "shift", n) for score in ("RSA(metric=euclidean)", "mutual kNN(k=5)") for n in (50, 200)
    ]
    exchanges = ("free", "blocks of 8", "blocks of 25", "stretches of 8", "stretches of 25", "shift")
    for phi in ("0.5", "0.9"):
        for n in (64, 128, 447):
            kinds += [("CKA", f"series: {phi}", null, n) for null in exchanges if (null, n) != ("stretches of 25", 64)]
        kinds += [("CKA", f"8 sessions: {phi}", null, 64) for null in ("blocks", "blocks, shift")]
    kinds += [("CKA", "20 groups: equal", null, 200) for null in ("free", "groups")]
    kinds += [("CKA", "20 groups: of four sizes", null, 225) for null in ("free", "groups")]
    kinds += [("CKA", "20 groups: all different", "equal_groups", 290)]
    kinds += [("CKA", f"a number: {effect}", null, 400) for effect in ("0.3", "1") for null in ("free", "within")]
    kinds += [("CKA", f"a number: {effect}", "within", n) for effect in ("1", "2") for n in (50, 200)]
    kinds += [
        (score, "a period", null, 200) for score in ("CKA", "mutual kNN(k=5)") for null in ("shift", "phase covariates")
    ]
    for score, data, design, n in kinds:
        d = unrelated.WIDE if "features" in data else unrelated.WIDTH
        for truth in (NOTHING, SIGNAL):
            # The power of a design is meaningful only if the design keeps its level.
            if truth == NOTHING or (design in ("covariates", "shift") and (data in KNOWN or "known" not in data)):
                for batch in range(BATCHES):
                    yield _cell("designs", score, data, design, n, d, truth, batch)


def _groups() -> Iterator[dict[str, Any]]:
    """Cells of groups without an effect, drawn at random from controls of several kinds."""
    for size in (150, 300, 450):
        for batch in range(BATCHES):
            yield _cell("groups", "coherence", f"{size} rows of", "-", doubtful.CONTROLS, 10, NOTHING, batch)


def _doubts() -> Iterator[dict[str, Any]]:
    """Cells of data that should raise no doubt, and of data that should raise a doubt."""
    for truth, known in ((NOTHING, doubtful.WITHOUT_CAUSE), (SIGNAL, doubtful.WITH_CAUSE)):
        for data in known:
            for batch in range(BATCHES):
                yield _cell("doubts", " or ".join(known[data][0]), data, "-", doubtful.ROWS, 0, truth, batch)


FULL = [*_measures(), *_scores(), *_designs(), *_groups(), *_doubts()]
QUICK = [
    one
    for one in FULL
    if one["batch"] < 2
    and one["n"] <= 64
    and (one["d"] <= 16 or one["part"] == "scores")
    and one["score"] in ("CKA", "mutual kNN", SPLIT)
]


@study("false-positives", paper="new", version=2, full=FULL, quick=QUICK)
def false_positives(
    part: str, score: str, data: str, design: str, n: int, d: int, truth: str, batch: int
) -> dict[str, Any]:
    """Do p-values keep their level, and do designs for dependent rows restore it without a loss of power?

    A batch has twenty runs at level 0.05. If all draws of a run have the same value, the batch has no rate.
    """
    p_value = _P_VALUES.get(part, _pair_hits)
    hits = runs = warned = 0
    for run in range(batch * RUNS, (batch + 1) * RUNS):
        rng = np.random.default_rng([71, n, d, run, len(data), len(score)])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                p = p_value(rng, part, score, data, design, n, d, truth == SIGNAL)
            except ValueError as error:
                return {"rate": float("nan"), "hits": 0, "runs": 0, "warned": 0, "reason": str(error)[:60]}
        if p is None:
            return {"rate": float("nan"), "hits": 0, "runs": 0, "warned": 0, "reason": "no draw differs"}
        hits, runs, warned = hits + (p <= LEVEL), runs + 1, warned + bool(caught)
    return {"rate": hits / runs, "hits": int(hits), "runs": runs, "warned": warned, "reason": ""}


def _pair_hits(
    rng: np.random.Generator, part: str, score: str, data: str, design: str, n: int, d: int, shared: bool
) -> float | None:
    """p-value of a similarity; none if all draws are equal."""
    if part == "measures":
        arguments = unrelated.clouds(rng, n, d, data, design, shared)
    else:
        arguments = unrelated.designed(rng, n, data, design, shared)
    result = calibrate(**arguments, measure=score, n_permutations=PERMUTATIONS[part], alpha=LEVEL, seed=rng)
    return result.p_value if result.null_sd > 1e-9 * abs(result.null_mean) else None


def _matrix_hits(
    rng: np.random.Generator, part: str, score: str, data: str, design: str, n: int, d: int, shared: bool
) -> float:
    """p-value of a score of one representation."""
    X = unrelated.one_matrix(rng, n, data, shared)
    keep = None if design == "-" else design
    return chance(X, variant=score, n_permutations=PERMUTATIONS[part], n_draws=10, keep=keep, seed=0).p_value


_P_VALUES: dict[str, Callable[..., float | None]] = {
    "scores": _matrix_hits,
    "groups": lambda rng, part, score, data, *_: doubtful.group_p_value(rng, int(data.split()[0])),
    # 0 if the doubt is raised and 1 if it is not, so that the rate is the share of runs with a doubt.
    "doubts": lambda rng, part, score, data, *_: 0.0 if doubtful.is_doubted(rng, data) else 1.0,
}


@false_positives.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Make the page: rates with their limits for measures, scores and designs."""
    return make_page(rows, LEVEL)


@false_positives.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Rates of false positives by kind of rows and design."""
    return make_facts(rows, LEVEL)
