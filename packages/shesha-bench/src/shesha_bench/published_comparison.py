"""Compare results with the published ones, and add published scores of measures that were not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha_bench._published_results import published
from shesha_bench.mantel import rank_correlation
from shesha_bench.measure_ranks import CELL, Pooling, rank, require_columns
from shesha_bench.paper_tables import base_name

if TYPE_CHECKING:
    import pandas as pd

_PLACE = ["domain", "dataset", "architecture"]


def add_published(results: pd.DataFrame) -> pd.DataFrame:
    """Add published scores of measures that `results` lacks, for the same networks and tests.

    The published scores come from other models, which were trained by the same protocol. They therefore show only
    approximately where a measure ranks. For an accurate comparison, run the other measures on your models as well.

    Parameters
    ----------
    results : DataFrame
        Scores as returned by the function `results`.

    Returns
    -------
    DataFrame
        The results with the published rows appended, and a column `source` with 'own' or 'published' for each row.
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
    """Rank your measures together with published scores of measures that you did not run.

    Parameters
    ----------
    results : DataFrame
        Scores as returned by the function `results`.
    pooling : {'cls', 'mean', 'all'}
        As for `rank`.

    Returns
    -------
    DataFrame
        The columns that `rank` returns, and `source` ('own' or 'published').
    """
    table = add_published(results)
    ranks = rank(table, pooling=pooling)
    sources = table.drop_duplicates("measure").set_index("measure")["source"]
    return ranks.assign(source=ranks["measure"].map(sources))


def compare_ranks(results: pd.DataFrame) -> pd.DataFrame:
    """Rank your scores and the published ones, using only measures and columns that both have.

    Parameters
    ----------
    results : DataFrame
        Scores as returned by the function `results`.

    Returns
    -------
    DataFrame
        Columns domain, measure, position and mean (position and mean rank by your scores), published_position and
        published_mean (by the published scores). Rows are sorted by published position. The table is empty if there are
        no scores in common.
    """
    both = match_published(results, published())
    if both.empty:
        return both.reindex(columns=["domain", "measure", "position", "mean", "published_position", "published_mean"])
    user_ranks, paper = (rank(both.rename(columns={name: "value"})) for name in ("own", "published"))
    columns = ["domain", "measure", "position", "mean"]
    paper_ranks = paper[columns].rename(columns={"position": "published_position", "mean": "published_mean"})
    joined = user_ranks[columns].merge(paper_ranks, on=["domain", "measure"])
    return joined.sort_values(["domain", "published_position"], ignore_index=True)


def agreement(own: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Measure how well your results agree with the published ones in each column of the tables.

    Parameters
    ----------
    own, published : DataFrame
        Scores with the columns of `published`. Measures are matched by their names without options. If several measures
        in `own` then have the same name, the one without options is used, or otherwise the first.

    Returns
    -------
    DataFrame
        Columns domain, dataset, architecture, pooling, test and quality; spearman (rank correlation over the measures),
        difference (mean absolute difference between the values), spread (standard deviation of the published values, to
        which the difference can be compared) and n (number of measures that have both values).
    """
    import pandas as pd

    rows = []
    for cell, both in match_published(own, published).groupby(list(CELL), sort=False):
        own_values, published_values = (both[name].to_numpy(dtype=float) for name in ("own", "published"))
        kept = ~(np.isnan(own_values) | np.isnan(published_values))
        own_values, published_values, n = own_values[kept], published_values[kept], int(kept.sum())
        row: dict[str, Any] = dict(zip(CELL, cell, strict=True))
        row["spearman"] = rank_correlation(own_values, published_values)
        row["difference"] = float(np.abs(own_values - published_values).mean()) if n else np.nan
        row["spread"] = float(published_values.std()) if n else np.nan
        rows.append(row | {"n": n})
    return pd.DataFrame(rows, columns=[*CELL, "spearman", "difference", "spread", "n"])


def match_published(own: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return the scores that both tables have, in columns `own` and `published`."""
    keys = [*CELL, "measure"]
    for name, frame in (("own", own), ("published", published)):
        require_columns(frame, [*keys, "value"], name)
    mine = own.assign(optional=own["measure"].str.contains("(", regex=False), measure=own["measure"].map(base_name))
    mine = mine.sort_values("optional", kind="stable").drop_duplicates(keys).sort_index()
    mine = mine[[*keys, "value"]].rename(columns={"value": "own"})
    return mine.merge(
        published[[*keys, "value"]].rename(columns={"value": "published"}), on=keys, validate="one_to_one"
    )
