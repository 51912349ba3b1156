"""Measure how often intervals hold what they should, and write docs/intervals.md.

    python scripts/make_interval_table.py [--part similarities|scores] [--seconds 120] [--runs 200] [--workers 1]
                                          [--store FILE]

Its parts are the intervals of similarities, `compare(..., calibrate=True)`, and of scores of one representation,
`estimate` (score_coverage.py); asked for one part, the other stays as it is.

A run draws a sample of n rows, and asks for every measure whether its intervals contain the mean value over samples of
n rows, which is known from many other samples. A condition (kind of data, rows, features) takes runs until there are
enough or its time is over. Conditions are kept in a store, so that a run that ends early goes on where it was.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import score_coverage
from scipy.stats import binom

import shesha.measures as measures
from shesha._atomic import write_text
from shesha.benchmark.sources import cache_folder
from shesha.comparison._engine import Group, grouped
from shesha.comparison._evidence import Evidence
from shesha.report import markdown_table
from shesha.results import Score
from shesha.runs import FOLLOWED, Here, Job, Kept, LocalProcesses, Meter, run, search_paths, version_of_code, writing
from shesha.stability import registered
from shesha.stability.estimate import as_estimate
from shesha.views import Representation

LEVELS = (0.9, 0.95)
RANK, CLUSTERS = 4, 8
N_TRUTH = 500
FEWEST_RUNS = 30
NAMES = """
CKA; unbiased CKA; RV; DistCorr; RSA; RSMDiff; mutual kNN; Jaccard; CKNNA; CCA; SVCCA; PWCCA; LinReg; GULP; EOS;
subspace overlap; OrthProc; ProcDist; SoftCorr; HardCorr; MagDiff; ConcDiff; UnifDiff; IMD; MMD;
eigenspectrum similarity
"""
Draw = Callable[[np.random.Generator], list[np.ndarray]]


@dataclass(frozen=True)
class Condition:
    """A population, and how many rows a sample of it has."""

    label: str
    n: int
    d: int
    signal: float = 0.0
    noise: str = "normal"

    def population(self) -> Draw:
        """Fix what samples have in common: how X and Y mix the shared part, or where the clusters lie."""
        fixed = np.random.default_rng([self.n, self.d])
        mixing = fixed.standard_normal((2, RANK, self.d)) / np.sqrt(RANK)
        centres = 1.5 * fixed.standard_normal((2, CLUSTERS, self.d))

        def draw(rng: np.random.Generator) -> list[np.ndarray]:
            if self.noise == "clusters":
                cluster = rng.integers(0, CLUSTERS, self.n)
                return [where[cluster] + rng.standard_normal((self.n, self.d)) for where in centres]
            sample = rng.standard_normal if self.noise == "normal" else lambda size: rng.standard_t(3, size)
            shared = self.signal * sample((self.n, RANK))
            return [shared @ one + sample((self.n, self.d)) for one in mixing]

        return draw

    def __str__(self) -> str:
        return f"{self.label}, {self.n} x {self.d}"


CONDITIONS = (
    Condition("independent", 60, 30),
    Condition("weak", 60, 6, 0.5),
    Condition("weak", 60, 30, 0.5),
    Condition("strong", 60, 30, 2.0),
    Condition("strong", 60, 44, 2.0),
    Condition("strong", 60, 120, 2.0),
    Condition("t(3)", 60, 30, 0.5, "t"),
    Condition("clusters", 60, 6, noise="clusters"),
    Condition("weak", 150, 15, 0.5),
    Condition("strong", 150, 75, 2.0),
    Condition("t(3)", 150, 75, 2.0, "t"),
    Condition("strong", 300, 30, 2.0),
)


def values(groups: list[Group], sample: list[np.ndarray]) -> dict[str, float]:
    """Value of each measure; NaN where the data cannot give it."""
    sides = [Representation.of(side) for side in sample]
    found = {}
    for group in groups:
        for measure in group.measures:
            try:
                found[measure.name] = measure.compared(*(measure.look(side) for side in sides))
            except Exception:
                found[measure.name] = float("nan")
    return found


def chosen_measures() -> list[measures.Measure]:
    """The measures of the table, with their seeds drawn."""
    return [measures.get(name.strip()).drawn(0) for name in NAMES.split(";")]


def counts(condition: Condition, n_runs: int, seconds: float) -> tuple[dict[str, list[int]], int]:
    """For each measure the runs that had an interval, and those whose interval held the truth, at both levels."""
    warnings.simplefilter("ignore")
    chosen = chosen_measures()
    groups = grouped(chosen, {measure.name: [("X", "Y")] for measure in chosen})
    draw, key = condition.population(), [condition.n, condition.d]
    others = [values(groups, draw(np.random.default_rng([0, i, *key]))) for i in range(N_TRUTH)]
    truth = {name: float(np.mean([one[name] for one in others])) for name in others[0]}
    total = {name: np.zeros(3, dtype=int) for name in truth}
    done, start = 0, time.monotonic()
    while done < n_runs and (done < FEWEST_RUNS or time.monotonic() - start < seconds):
        rng = np.random.default_rng([1, done, *key])
        for name, ends in intervals(groups, draw(rng), done).items():
            total[name] += [1, *(low <= truth[name] <= high for low, high in ends)]
        done += 1
    return {name: [int(count) for count in found] for name, found in total.items()}, done


def intervals(groups: list[Group], sample: list[np.ndarray], seed: int) -> dict[str, list[tuple[float, float]]]:
    """Ends of the intervals at both levels, of the measures that have one."""
    sides = Representation.of(sample[0]), Representation.of(sample[1])
    evidence = [Evidence.drawn(len(sample[0]), 19, 0.05, level, seed) for level in LEVELS]
    known, found = values(groups, sample), {}
    for group in groups:
        table = np.array(list(evidence[0].on_subsets(group, group.measures, sides)))
        for measure, column in zip(group.measures, table.T, strict=True):
            score = Score(measure.name, "", known[measure.name], measure.closer, *map(float, measure.bounds))
            added = [one.with_interval(score, column) for one in evidence]
            if score.estimated and np.isfinite(added[0].interval_low):
                found[measure.name] = [(one.interval_low, one.interval_high) for one in added]
    return found


def cell(runs: int, *inside: int) -> str:
    """Percentages; bold where the level is not reached beyond chance."""
    if runs < FEWEST_RUNS:
        return "-"
    shares = []
    for level, count in zip(LEVELS, inside, strict=True):
        low = binom.ppf(0.001, runs, level) > count
        shares.append(f"**{count / runs:.0%}**" if low else f"{count / runs:.0%}")
    return " / ".join(shares).replace("%", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("similarities", "scores"))
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--store", type=Path, help="default: in the user's cache")
    asked = parser.parse_args()
    page = Path(__file__).resolve().parents[1] / "docs" / "intervals.md"
    old, _, old_scores = page.read_text(encoding="utf-8").partition(_SCORES_TITLE)
    first = old if asked.part == "scores" else similarities(asked)
    second = old_scores if asked.part == "similarities" else scores(asked)
    write_text(page, first.rstrip("\n") + "\n\n" + _SCORES_TITLE + second)


def similarities(asked: argparse.Namespace) -> str:
    """The first part of the page."""
    chosen = chosen_measures()
    code = [part for one in chosen for part in (one.function, one.view)]
    version = version_of_code(Evidence, *code, follow=(*FOLLOWED, "comparison"))
    design = f"{LEVELS}{RANK}/{CLUSTERS}/{N_TRUTH}/{NAMES.split()}/{version}"
    keys = {str(one): f"{one}/{one.signal}/{one.noise}/{design}" for one in CONDITIONS}
    found = all_counts(asked, counts, CONDITIONS, keys)
    heads, columns = ["measure"], []
    for condition in CONDITIONS:
        by_measure, runs = found[str(condition)]
        columns.append({name: cell(*by_measure[name]) for name in by_measure})
        heads.append(f"{condition} ({runs})")
        print(heads[-1], columns[-1], flush=True)
    lines = [[measure.name, *(column[measure.name] for column in columns)] for measure in chosen]
    return _HEAD + markdown_table(heads, lines) + "\n" + _FOOT


def scores(asked: argparse.Namespace) -> str:
    """The second part of the page."""
    followed = (*FOLLOWED, "stability", "results")
    functions = [registered()[name].function for one in score_coverage.CONDITIONS for name in one.variants]
    version = version_of_code(as_estimate, *dict.fromkeys(functions), follow=followed)
    keys = {repr(one): f"{one!r}/{score_coverage.N_TRUTH}/{version}" for one in score_coverage.CONDITIONS}
    found = all_counts(asked, score_coverage.counts, score_coverage.CONDITIONS, keys)
    splits, labels = [], []
    for condition in score_coverage.CONDITIONS:
        by_score = found[repr(condition)]
        told = f"`{condition.told}=`" if condition.told else ""
        cells = [cell(*by_score[name]) for name in condition.variants]
        runs = max(one[0] for one in by_score.values())
        (labels if condition.labelled else splits).append([str(condition), told, *condition.names, str(runs), *cells])
        print(splits[-1:], labels[-1:], flush=True)
    heads = ["rows", "told", "score", "runs", "90 / 95"]
    label_heads = ["rows", "told", "runs", *score_coverage.LABEL_SCORES]
    return (
        _SCORES_HEAD
        + markdown_table(heads, splits)
        + "\n\n"
        + markdown_table(label_heads, labels)
        + "\n"
        + _SCORES_FOOT
    )


def all_counts(
    asked: argparse.Namespace, counts: Callable[..., Any], conditions: Sequence[Any], keys: dict[str, str]
) -> dict[str, Any]:
    """Counts of every condition; those of earlier runs by the same code are taken from the store."""
    store = asked.store or cache_folder() / "interval_table.sqlite"
    store.parent.mkdir(parents=True, exist_ok=True)
    keys = {name: f"{key}/{asked.runs} runs/{asked.seconds} s" for name, key in keys.items()}
    with writing(store) as kept:
        meter = Meter(asked.workers, "conditions")
        jobs = [
            Job(key, name, 1, counts, (one, asked.runs, asked.seconds))
            for (name, key), one in zip(keys.items(), conditions, strict=True)
        ]
        plan = Kept(kept, "condition of the interval table", jobs, meter)
        run(plan, Here() if asked.workers == 1 else LocalProcesses(asked.workers, search_paths()), meter)
    if plan.failures:
        raise SystemExit("\n".join(f"{key}: {reason}" for key, reason in plan.failures.items()))
    return {name: plan.results[key] for name, key in keys.items()}


_HEAD = f"""\
# Intervals: how often they hold what they should

Made by `python scripts/make_interval_table.py`.

## Similarities

The interval of a similarity, from `compare(..., calibrate=True)`,
should contain the mean value over samples of as many rows. Each cell: the percentage of runs in which it did at
{LEVELS[0]:.0%} / {LEVELS[1]:.0%} confidence; bold where that is too rare (below the 0.1 % quantile of the binomial
distribution); "-" where the data give no value or no interval. Columns: kind of data, rows x features of each side, and
in parentheses the number of runs.

Independent: Gaussian. Weak and strong: a shared part of rank {RANK} with a quarter of, and four times, the variance of
the Gaussian noise. t(3): shared part (weak with 60 rows, strong with 150) and noise from Student's t with 3 degrees of
freedom. Clusters: each row lies in one of {CLUSTERS} clusters, at places of their own in X and in Y, plus noise.

"""
_FOOT = """
An interval is the value plus and minus a multiple of the standard deviation of its values on 50 random subsets of four
fifths of the rows; on them values vary by a quarter of the variance that samples of all rows have (delete-d jackknife).
Most intervals hold as often as they say, or more often: between hardly related representations, and for canonical
correlations of many features, they are up to twice as wide as they need be.

They fail in four cases. Few more rows than features (60 x 44): four fifths of the rows fit almost perfectly, whichever
they are, so that regression (LinReg, GULP, EOS) spreads too little; with no more rows than features left in a subset
there is no interval, and a note says so (where all rows are no more than the features, the value is the same for every
sample, and the interval is that point). Rows far from the others (t(3)): a sample that has none cannot tell what they
would do; measures of sizes (RSMDiff, ProcDist), eigenspectrum similarity and LinReg suffer most, OrthProc, CKA and
distance correlation less, measures of ranks and neighbours hardly. RSMDiff grows with the number of rows, so that its
spread on fewer rows is too small, by a fifth. UnifDiff between many features is carried by the nearest pairs of rows:
its mean over samples comes from a few of them, and most samples are far below it. Rows that depend on one another
(time points, cells of a donor) are not in the table: no interval here allows for them.
"""

_SCORES_TITLE = "## Scores of one representation"
_SCORES_HEAD = f"""

The interval of `estimate`, whose ends are also the brackets of an audit, should contain the mean score over samples of
as many rows (or groups), each averaged over all partitions of these features. Cells as above: percentage of runs at
{score_coverage.LEVELS[0]:.0%} / {score_coverage.LEVELS[1]:.0%} confidence, bold where it is too rare. Of 100 runs, such
a percentage has a standard error of 3 / 2. Intervals are from {score_coverage.N_BOOTSTRAP} resamples and 30 partitions;
with 20,000 rows they are the analytic ones of 50,000 random pairs. "told": what `estimate` was given beside the rows.

Rows: a shared Gaussian part of rank {score_coverage.RANK} and as much Gaussian noise in each feature; both from
Student's t with 3 degrees of freedom; features whose scales rise tenfold; {score_coverage.CLUSTERS} clusters; every row
present twice; rows of donors, whose shared parts have a mean of their own for each donor.

"""
_SCORES_FOOT = """
"""


if __name__ == "__main__":
    main()
