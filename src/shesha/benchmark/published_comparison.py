"""Comparison with published results, which can also replace measures that were not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.benchmark._published import published
from shesha.benchmark.measure_ranks import Pooling, rank, require_columns
from shesha.benchmark.tables import base_name, match_published

if TYPE_CHECKING:
    import pandas as pd

_PLACE = ["domain", "dataset", "architecture"]


def add_published(results: pd.DataFrame) -> pd.DataFrame:
    """Add the published scores of the measures that `results` lacks, for the networks and tests that it has.

    The published scores come from other models that were trained by the same protocol. They show the approximate rank
    of a measure. For an accurate comparison, run the other measures on the same models.

    Parameters
    ----------
    results : DataFrame
        Scores as returned by the function `results`.

    Returns
    -------
    DataFrame
        The results with additional rows, and a column `source`: 'own' or 'published'.
    """
    import pandas as pd

    require_columns(results, [*_PLACE, "test", "pooling", "measure"], "results")
    own_results = results.assign(source="own")
    paper = published().assign(source="published")
    there = set(own_results[[*_PLACE, "test", "pooling"]].itertuples(index=False, name=None))
    names = {base_name(name) for name in own_results["measure"]}
    places = paper[[*_PLACE, "test", "pooling"]].itertuples(index=False, name=None)
    wanted = [place in there for place in places]
    chosen = paper[pd.Series(wanted, index=paper.index) & ~paper["measure"].isin(names)]
    if chosen.empty:
        return own_results
    return pd.concat([own_results, chosen[[name for name in chosen if name in own_results]]], ignore_index=True)


def rank_with_published(results: pd.DataFrame, *, pooling: Pooling = "cls") -> pd.DataFrame:
    """Rank your measures among the published scores of those that were not run on the same networks and tests.

    Parameters
    ----------
    results : DataFrame
        Scores as returned by the function `results`.
    pooling : {'cls', 'mean', 'all'}
        As for `rank`.

    Returns
    -------
    DataFrame
        The columns of `rank`, and `source` ('own' or 'published').
    """
    table = add_published(results)
    ranks = rank(table, pooling=pooling)
    sources = table.drop_duplicates("measure").set_index("measure")["source"]
    return ranks.assign(source=ranks["measure"].map(sources))


def compare_ranks(results: pd.DataFrame) -> pd.DataFrame:
    """Rank your scores and the published ones, for the measures and columns that both have.

    Parameters
    ----------
    results : DataFrame
        Scores as returned by the function `results`.

    Returns
    -------
    DataFrame
        domain, measure, position and mean (rank) of your scores, published_position and published_mean. Rows are in the
        order of the published positions. Empty if there are no common scores.
    """
    both = match_published(results, published())
    if both.empty:
        return both.reindex(columns=["domain", "measure", "position", "mean", "published_position", "published_mean"])
    user_ranks, paper = (rank(both.rename(columns={name: "value"})) for name in ("own", "published"))
    columns = ["domain", "measure", "position", "mean"]
    paper_ranks = paper[columns].rename(columns={"position": "published_position", "mean": "published_mean"})
    joined = user_ranks[columns].merge(paper_ranks, on=["domain", "measure"])
    return joined.sort_values(["domain", "published_position"], ignore_index=True)
