"""Scores of the benchmark, published and of our small suites, and the places of the measures in either."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr

from shesha.support.types import Matrix
from shesha_bench import published, rank_table
from shesha_studies.external_data import PUBLISHED

COLUMN = ("domain", "dataset", "architecture", "pooling")
BLOCK = (*COLUMN, "test", "quality")
RESAMPLES = 400


def small_suites() -> pd.DataFrame:
    """Return the scores of our small suites, with one column per measure."""
    return pd.read_csv(PUBLISHED / "resi_small_suites.csv", comment="#", keep_default_na=False, na_values=[""])


@cache
def scores(source: str) -> pd.DataFrame:
    """Return a long table of scores: "published", our "small" suites (24 measures), or "all" our suites."""
    if source == "published":
        return published()
    table = small_suites().melt(id_vars=list(BLOCK), var_name="measure")
    table["pooling"] = table.pooling.replace("-", "")
    return table if source == "all" else table[table.measure.isin(set(published().measure))]


@cache
def columns(source: str, domain: str, test: str, quality: str) -> pd.DataFrame:
    """Return one column of scores per data set, network and pooling; one line per measure."""
    table = scores(source)
    table = table[(table.domain == domain) & (table.test == test) & (table.quality == quality)]
    return table.pivot_table(index="measure", columns=list(COLUMN[1:]), values="value", dropna=False)


def correlation(first: pd.Series[float], second: pd.Series[float]) -> float:
    """Spearman's correlation over the measures that have both scores."""
    both = first.notna() & second.reindex(first.index).notna()
    a, b = first[both], second.reindex(first.index)[both]
    return float(spearmanr(a, b).statistic) if len(a) > 2 and a.nunique() > 1 and b.nunique() > 1 else float("nan")


def order(ranks: Matrix) -> np.ndarray:
    """Return the measures (columns) from best to worst, by median and then mean rank; those without ranks are last."""
    n, columns, ascending = np.isfinite(ranks).sum(axis=0), np.arange(ranks.shape[1]), np.sort(ranks, axis=0)
    # NaN is sorted to the end.
    median = (ascending[(n - 1) // 2, columns] + ascending[n // 2 - (n == 0), columns]) / 2
    mean = np.nansum(ranks, axis=0) / np.maximum(n, 1)
    return np.lexsort((mean, np.where(n, median, np.inf)))


def mean_agreement(columns: pd.DataFrame) -> float:
    """Return the mean correlation between all pairs of columns."""
    return float(np.nanmean([correlation(columns[a], columns[b]) for a, b in combinations(columns, 2)]))


def positions(found: pd.DataFrame) -> dict[str, tuple[int, float]]:
    """Return each measure's position, and how often it is first if data sets and networks are drawn with
    replacement."""
    observed, drawn = _places(found)
    return {name: (place, float((drawn[name] == 1).mean())) for name, place in observed.items()}


def _places(score_table: pd.DataFrame) -> tuple[dict[str, int], pd.DataFrame]:
    """Return the positions of the measures, and their positions in every draw: draws down, measures across."""
    names, ranks, samples = _samples(score_table)
    observed, *drawn = (np.argsort(order(some)) + 1 for some in (ranks, *(ranks[rows] for rows in samples)))
    return dict(zip(names, observed.tolist(), strict=True)), pd.DataFrame(drawn, columns=names)


def _samples(score_table: pd.DataFrame) -> tuple[list[str], Matrix, list[np.ndarray]]:
    """Return the measures, their ranks in each cell, and the cells of every draw of data sets and networks."""
    table = rank_table(score_table)
    wide = table.pivot_table(index=list(BLOCK), columns="measure", values="rank", dropna=False).dropna(how="all")
    units = wide.index.to_frame()[["dataset", "architecture"]].agg("/".join, axis=1).to_numpy()
    rows_of = [np.flatnonzero(units == unit) for unit in dict.fromkeys(units)]
    rng = np.random.default_rng(0)
    samples = [
        np.concatenate([rows_of[index] for index in rng.integers(len(rows_of), size=len(rows_of))])
        for _ in range(RESAMPLES)
    ]
    return list(wide.columns), wide.to_numpy(dtype=np.float64), samples


@cache
def places(source: str, domain: str, test: str | tuple[str, ...] = "") -> tuple[dict[str, int], pd.DataFrame]:
    """Return the positions of the measures, over all tests or in those that start so, and those in every draw."""
    table = scores(source)
    return _places(table[(table.domain == domain) & (table.test.str.startswith(test))])


def places_by_test(source: str) -> list[tuple[dict[str, int], pd.DataFrame]]:
    """Return the positions of the measures in each test of each domain, and those in every draw."""
    return [places(source, *key) for key, _ in rank_table(scores(source)).groupby(["domain", "test"])]


def place_by_mean(measure: str, domain: str) -> tuple[int, float]:
    """Return the position of a measure in the published tables by its mean rank, and how often it is first."""
    table = scores("published")
    names, ranks, samples = _samples(table[table.domain == domain])
    observed, *drawn = (np.nanmean(some, axis=0) for some in (ranks, *(ranks[rows] for rows in samples)))
    index = names.index(measure)
    return int(rankdata(observed)[index]), float(np.mean([np.nanargmin(means) == index for means in drawn]))
