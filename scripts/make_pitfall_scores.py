"""Measure how each problem changes each main score, if nothing or much is shared; a part of docs/pitfalls.md.

    python scripts/make_pitfall_scores.py [--seeds 20]

Every trap is added to the same two kinds of data, and its remedy is tested on the same draws.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _traps
import numpy as np
from _traps import FAR, ONCE, D, N, Rng, noise

import shesha
from shesha.report import markdown_line, markdown_table
from shesha.support.files import write_text

PAGE = Path(__file__).resolve().parents[1] / "docs" / "pitfalls.md"
BEGIN, END = "## How each problem changes each score\n", "## Twenty simulated problems\n"
SPLITS = {"feature split": "feature_split", "basis averaged": "basis_averaged_split"}
MEASURES = ("CKA", "unbiased CKA", "RSA", "mutual kNN(metric=dot)", "Procrustes similarity", "SVCCA")
SCORES = (*SPLITS, *MEASURES)
DONORS = 20
N_SHARED = 6
"""Number of draws for data with a large shared part, whose scores vary little."""
MANY = 0.2
"""Share of draws above which false positives are printed bold; 5 of 20 occur in one cell of 400 at a level of 5 %."""
READING = """\
Slow drift and dependent or duplicated rows are the most harmful problems: without a remedy, every score of unrelated
data is often significant. Many features or few rows raise the raw scores of most similarity measures, but a permutation
test corrects for this. An outlying row raises CKA and Procrustes to about 1 and leaves RSA unchanged. A rogue dimension
(one feature with very large variance) lowers most scores to about 0, even if much is shared. It raises the
basis-averaged score and SVCCA, although X and Y share no more than before. A common offset makes nearest neighbours by
cosine uninformative."""
Pair = tuple[np.ndarray, np.ndarray]
Data = tuple[np.ndarray, np.ndarray, dict[str, Any]]
"""X, Y, and the arguments that describe the rows."""


def clean(rng: Rng, shared: bool, n: int = N, d: int = D) -> Pair:
    """Two matrices of noise, or of six shared directions with different mixtures and less noise."""
    if not shared:
        return noise(rng, n, d), noise(rng, n, d)
    common = noise(rng, n, 6)
    return tuple(common @ noise(rng, 6, d) / np.sqrt(6) + 0.7 * noise(rng, n, d) for _ in range(2))  # type: ignore[return-value]


def offset(rng: Rng, pair: Pair) -> Pair:
    return _traps.offset(rng, pair[0]), _traps.offset(rng, pair[1])


def rogue(rng: Rng, pair: Pair) -> Pair:
    return _traps.rogue(rng, pair[0]), _traps.rogue(rng, pair[1])


def far(_: Rng, pair: Pair) -> Pair:
    return _traps.far(pair[0]), _traps.far(pair[1])


def twice(_: Rng, pair: Pair) -> Pair:
    return pair[0][ONCE], pair[1][ONCE]


def donors(rng: Rng, pair: Pair) -> Pair:
    return tuple(X + np.repeat(noise(rng, DONORS, X.shape[1]), N // DONORS, axis=0) for X in pair)  # type: ignore[return-value]


def trend(rng: Rng, pair: Pair) -> Pair:
    return _traps.trend(rng, pair[0]), _traps.trend(rng, pair[1])


def ties(_: Rng, pair: Pair) -> Pair:
    return tuple((X > 0).astype(float) for X in pair)  # type: ignore[return-value]


def as_it_is(_: Rng, pair: Pair) -> Pair:
    return pair


def each(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Pair], Data]:
    return lambda pair: (change(pair[0]), change(pair[1]), {})


def centred(X: np.ndarray) -> np.ndarray:
    return X - X.mean(axis=0)


def standardised(X: np.ndarray) -> np.ndarray:
    return centred(X) / X.std(axis=0)


def detrended(X: np.ndarray) -> np.ndarray:
    line = np.vander(np.linspace(-1, 1, len(X)), 2)
    return X - line @ np.linalg.lstsq(line, X, rcond=None)[0]


def within_donors(X: np.ndarray) -> np.ndarray:
    return (
        X.reshape(DONORS, N // DONORS, -1) - X.reshape(DONORS, N // DONORS, -1).mean(axis=1, keepdims=True)
    ).reshape(X.shape)


@dataclass(frozen=True)
class Trap:
    """A problem, how it is simulated, and its remedy, for pairs and, if different, for one representation."""

    title: str
    use: str
    set_up: Callable[[Rng, Pair], Pair] = as_it_is
    remedy: Callable[[Pair], Data] = field(default=lambda pair: (*pair, {}))
    alone: Callable[[np.ndarray], np.ndarray] | None = None
    changes: bool = True
    """Whether the remedy changes values, not only their null distribution."""
    size: tuple[int, int] = (N, D)


TRAPS = (
    Trap("none", "", changes=False),
    Trap("anisotropy: an offset that all rows share", "columns centred", offset, each(centred)),
    Trap("a rogue dimension with 30 times the standard deviation", "columns standardised", rogue, each(standardised)),
    Trap("one row with 60 times the norm, in both", "without that row", far, each(lambda X: np.delete(X, FAR, axis=0))),
    Trap("few rows: 12", "report the chance level (`--calibrate`)", changes=False, size=(12, D)),
    Trap("width: 256 features", "report the chance level; use `unbiased CKA`", changes=False, size=(N, 256)),
    Trap("each row twice", "one copy of each", twice, each(lambda X: X[: N // 2])),
    Trap(
        "dependent rows: 20 donors with 10 cells each",
        "`groups=`; for splits, donors' means removed",
        donors,
        lambda pair: (*pair, {"groups": np.repeat(np.arange(DONORS), N // DONORS)}),
        within_donors,
        changes=False,
    ),
    Trap("slow drift along the rows", "trend removed", trend, each(detrended)),
    Trap("ties: binary features", "none needed: ties are averaged", ties, changes=False),
)  # fmt: skip


def value(score: str, X: np.ndarray, Y: np.ndarray) -> float:
    if score in SPLITS:
        return shesha.estimate(X, variant=SPLITS[score], seed=0, n_bootstrap=0).value
    return float(shesha.compare(X, Y, score)[score].value)


def alarm(score: str, X: np.ndarray, Y: np.ndarray, told: dict[str, Any]) -> bool:
    """Return whether the score is significant at 5 %."""
    if score in SPLITS:
        return shesha.estimate(X, variant=SPLITS[score], n_permutations=19, seed=0, n_bootstrap=0).p_value <= 0.05
    return shesha.calibrate(X, Y, score, n_permutations=19, seed=0, **told).p_value <= 0.05


@dataclass
class Line:
    """The results for one trap."""

    nothing: dict[str, list[float]]
    alarms: dict[str, list[bool]]
    after: dict[str, list[bool]]
    much: dict[str, list[float]]
    mended: dict[str, list[float]]


def measured(trap: Trap, n_seeds: int) -> Line:
    line = Line(*({score: [] for score in SCORES} for _ in range(5)))
    for seed in range(n_seeds):
        for shared in (False, True)[: 1 + (seed < N_SHARED)]:
            rng = np.random.default_rng([seed, 11])
            X, Y = trap.set_up(rng, clean(rng, shared, *trap.size))
            A, B, told = trap.remedy((X, Y))
            for score in SCORES:
                alone = trap.alone(X) if trap.alone and score in SPLITS else A
                if shared:
                    line.much[score].append(value(score, X, Y))
                    line.mended[score].append(value(score, alone, B))
                else:
                    line.nothing[score].append(value(score, X, Y))
                    line.alarms[score].append(alarm(score, X, Y, {}))
                    line.after[score].append(alarm(score, alone, B, told))
    return line


def section(lines: dict[Trap, Line], n_seeds: int) -> str:
    shut = [
        markdown_line([trap.title, *nothing_cells(line), trap.use, after_cell(line)]) for trap, line in lines.items()
    ]
    shared = []
    for trap, line in lines.items():
        shared.append(markdown_line([trap.title, *(shown(line.much[score]) for score in SCORES)]))
        if trap.changes:
            cells = [shown(line.mended[score]) for score in SCORES]
            shared.append(markdown_line([f"*after: {trap.use}*", *cells]))
    return "\n".join(
        [
            BEGIN,
            f"Each line shows data with one simulated problem. Scores are medians of {n_seeds} draws of {N} rows x {D} "
            "features, unless the line\nsays otherwise (`python scripts/make_pitfall_scores.py`). In the first table, "
            "**nothing is shared**: X and Y are\nindependent noise. A score is in bold type if more than "
            f"{100 * MANY:.0f} % of draws are above chance at the 5 % level, with rows\npermuted freely. After the "
            "remedy, this percentage lies in the range of the last column for all eight scores.",
            "",
            markdown_table(["problem", *SCORES, "remedy", "above chance after"], []),
            *shut,
            "",
            "In the next table, **much is shared**: six shared variables account for two thirds of each feature's "
            "variance, and X\nand Y mix them differently. Scores are medians of "
            f"{N_SHARED} draws, before and after the remedy.",
            "",
            markdown_table(["problem", *SCORES], []),
            *shared,
            "",
            READING,
            "",
            group_sizes(),
            "",
        ]
    )


def shown(values: list[float]) -> str:
    found = float(np.median(values))
    return "-" if np.isnan(found) else f"{found:.2f}".replace("-0.00", "0.00")


def nothing_cells(line: Line) -> list[str]:
    cells = []
    for score in SCORES:
        number = shown(line.nothing[score])
        cells.append(f"**{number}**" if np.mean(line.alarms[score]) > MANY else number)
    return cells


def after_cell(line: Line) -> str:
    rates = [100 * np.mean(line.after[score]) for score in SCORES]
    return f"{min(rates):.0f} to {max(rates):.0f} %"


def group_sizes() -> str:
    """Coherence of groups of cells without an effect, by group size."""
    lines = []
    for size in (10, 25, 100, 400):
        rng = np.random.default_rng(size)
        labels = np.r_[np.repeat([f"g{i}" for i in range(20)], size), np.repeat("control", 1000)]
        found = shesha.coherence.coherence_by_group(
            noise(rng, len(labels), 50), labels, "control", n_draws=99
        ).to_frame(full=True)
        shown = ("coherence", "magnitude", "coherence_chance", "value")
        numbers = [f"{found[name].median():.3f}" for name in shown]
        lines.append(markdown_line([str(size), *numbers, f"{(found['p_value'] <= 0.05).sum()} of {len(found)}"]))
    return "\n".join(
        [
            "**Small groups** have a high coherence by chance. (Coherence is the mean cosine between the shifts of "
            "single cells and\ntheir mean shift.) The table shows medians over 20 groups of cells without an effect "
            "(50 features, 1,000 controls). Use\nthe *unbiased* score, or the p-value, which compares each group with "
            "equally large groups of control cells.",
            "",
            markdown_table(["cells in a group", "coherence", "magnitude", "chance", "unbiased", "p at most 0.05"], []),
            *lines,
            "",
            "The groups share their controls, so small p-values tend to occur together. Over many draws, [the false "
            "positive",
            "rate is about 5 % or lower](coherence_rates.md).",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    asked = parser.parse_args()
    lines = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for trap in TRAPS:
            lines[trap] = measured(trap, asked.seeds)
            print(markdown_line([trap.title, *nothing_cells(lines[trap]), after_cell(lines[trap])]), flush=True)
        written = section(lines, asked.seeds)
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(END)
    write_text(PAGE, before.split(BEGIN)[0] + written + "\n" + END + rest)


if __name__ == "__main__":
    main()
