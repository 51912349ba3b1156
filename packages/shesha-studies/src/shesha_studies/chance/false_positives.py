"""How often are p-values significant without an effect, for independent and dependent rows?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from shesha import measures
from shesha.calibration import calibrate
from shesha.stability import estimate
from shesha_studies.chance import _false_positive_data as simulated
from shesha_studies.chance._false_positives_page import LEVEL, SCALED, make_facts, make_page
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows

RUNS, BATCHES = 20, 10
PERMUTATIONS = {"measures": 19, "scores": 39, "designs": 39}
"""Numbers of permutations by kind of score, each the smallest number that reaches the level exactly, or twice that."""
SPLIT, ROTATED = "feature_split", "basis_averaged_split"
SPARSE = ("sparse, 10 %", "spike counts, mean 0.06")
FEATURES = ("Gaussian", "unequal scales", "heavy tails", *SPARSE)
KNOWN = ("a known batch", "a known number")
NOTHING, SIGNAL = "nothing", "signal"

_grid = grid_of("part", "score", "data", "design", "n", "d", "truth", "batch")
Cells = Iterator[dict[str, Any]]


def _measures() -> Cells:
    """Cells of every measure with a null: independent rows, clusters of rows, and rows with a shared part."""
    names = [name for name in measures.names() if measures.get(name).paired]
    for score in [*names, "CKA(kernel=rbf)"]:
        for n in (64, 256):
            yield from _grid(["measures"], [score], simulated.CLOUDS, ["free"], [n], (n // 4, n, 4 * n), [NOTHING], [0])
        for batch in range(BATCHES):
            designs = ("blocks", "free")
            yield from _grid(["measures"], [score], ["clusters of rows"], designs, [64], [16], [NOTHING], [batch])
            yield from _grid(["measures"], [score], ["Gaussian"], ["free"], [64], [16], [SIGNAL], [batch])


def _scores() -> Cells:
    """Cells of scores of one representation, with random matchings of the halves or permuted features."""
    kinds = [*product([SPLIT], SCALED, ["-", "row scale"]), *product([SPLIT, ROTATED], FEATURES, ["-"])]
    widths = {SCALED[1]: 200, SPARSE[0]: 64, SPARSE[1]: 128}
    for score, data, design in kinds:
        d = widths.get(data, 32)
        yield from _grid(["scores"], [score], [data], [design], (20, 50, 200), [d], (NOTHING, SIGNAL), range(BATCHES))


_RSA, _KNN = "RSA(metric=euclidean)", "mutual kNN(k=5)"
_EXCHANGES = ("free", "blocks of 8", "blocks of 25", "stretches of 8", "stretches of 25", "shift")
DESIGNS = (
    (["CKA", _RSA], simulated.KNOWN, [20, 50, 200], ["covariates"]),
    ([_KNN], KNOWN, [20, 50, 200], ["covariates"]),
    ([_RSA, _KNN], ["series: 0.5"], [50, 200], ["shift"]),
    *(
        (["CKA"], [f"{kind}: {phi}"], sizes, designs)
        for phi in ("0.5", "0.9")
        for kind, sizes, designs in (
            # 64 rows do not contain enough stretches of 25.
            ("series", [64], [design for design in _EXCHANGES if design != "stretches of 25"]),
            ("series", [128, 447], _EXCHANGES),
            ("8 sessions", [64], ["blocks", "blocks, shift"]),
        )
    ),
    (["CKA"], ["20 groups: equal"], [200], ["free", "groups"]),
    (["CKA"], ["20 groups: of four sizes"], [225], ["free", "groups"]),
    (["CKA"], ["20 groups: all different"], [290], ["equal_groups"]),
    (["CKA"], ["a number: 0.3", "a number: 1"], [400], ["free", "within"]),
    (["CKA"], ["a number: 1", "a number: 2"], [50, 200], ["within"]),
    (["CKA", _KNN], ["a period"], [200], ["shift", "phase covariates"]),
)
"""Scores, kinds of dependent rows, numbers of rows, and designs, all of which are combined."""


def _designs() -> Cells:
    """Cells of dependent rows, with designs that account for the dependence and designs that do not."""
    for score, data, n, design in (case for lists in DESIGNS for case in product(*lists)):
        d = simulated.WIDE if "features" in data else simulated.WIDTH
        # The power of a design is meaningful only if the design keeps its level.
        has_power = design in ("covariates", "shift") and (data in KNOWN or "known" not in data)
        truths = (NOTHING, SIGNAL) if has_power else (NOTHING,)
        yield from _grid(["designs"], [score], [data], [design], [n], [d], truths, range(BATCHES))


def _groups_and_doubts() -> Cells:
    """Cells of random groups of controls, and of data that should raise no doubt or a doubt."""
    groups = [f"{size} rows of" for size in (150, 300, 450)]
    yield from _grid(["groups"], ["coherence"], groups, ["-"], [simulated.CONTROLS], [10], [NOTHING], range(BATCHES))
    for truth, known in ((NOTHING, simulated.WITHOUT_CAUSE), (SIGNAL, simulated.WITH_CAUSE)):
        for data, (names, _) in known.items():
            score = " or ".join(names)
            yield from _grid(["doubts"], [score], [data], ["-"], [simulated.ROWS], [0], [truth], range(BATCHES))


FULL = [*_measures(), *_scores(), *_designs(), *_groups_and_doubts()]
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
    hits = warned = 0
    try:
        for run in range(batch * RUNS, (batch + 1) * RUNS):
            rng = np.random.default_rng([71, n, d, run, len(data), len(score)])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                p_value = _p_value(rng, part, score, data, design, n, d, truth == SIGNAL)
            hits, warned = hits + int(p_value <= LEVEL), warned + bool(caught)
    except ValueError as error:
        return {"rate": float("nan"), "hits": 0, "runs": 0, "warned": 0, "reason": str(error)[:60]}
    return {"rate": hits / RUNS, "hits": hits, "runs": RUNS, "warned": warned, "reason": ""}


def _p_value(
    rng: np.random.Generator, part: str, score: str, data: str, design: str, n: int, d: int, shared: bool
) -> float:
    """Draw data, and return the p-value; a doubt counts as 0 and no doubt as 1, so that the rate is that of doubts."""
    if part == "groups":
        return simulated.group_p_value(rng, int(data.split()[0]))
    if part == "doubts":
        return 0.0 if simulated.is_doubted(rng, data) else 1.0
    if part == "scores":
        X = simulated.one_matrix(rng, n, data, shared)
        keep = None if design == "-" else design
        return estimate(
            X, variant=score, n_permutations=PERMUTATIONS[part], n_draws=10, keep=keep, seed=0, n_bootstrap=0
        ).p_value
    if part == "measures":
        arguments = simulated.clouds(rng, n, d, data, design, shared)
    else:
        arguments = simulated.designed(rng, n, data, design, shared)
    measure = measure_of_stored_rows(score)
    result = calibrate(**arguments, measure=measure, n_permutations=PERMUTATIONS[part], alpha=LEVEL, seed=rng)
    if not result.chance_sd > 1e-9 * abs(result.chance):
        raise ValueError("no draw differs")
    return result.p_value


false_positives.page(make_page)
false_positives.facts(make_facts)
