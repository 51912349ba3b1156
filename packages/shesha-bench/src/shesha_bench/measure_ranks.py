"""Rank measures over tests, data sets and architectures."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal, get_args

from shesha.inputs import validation as check
from shesha.support import argument_types as kinds
from shesha_bench.tests import TESTS
from shesha_bench.tests.registry import main_qualities, ranking_scores

if TYPE_CHECKING:
    import pandas as pd

Pooling = Literal["cls", "mean", "all"]
CELL = ("domain", "dataset", "architecture", "pooling", "test", "quality")
"""Columns in which two scores must agree to be ranked against each other."""
QUALITY_OF = {row: quality for test in TESTS for row, quality in test.counts.items()}
"""The score of each test that determines ranks; `jsd` is excluded so as not to count the output test twice."""

PUBLISHED = " (published)"
"""Suffix of the names of measures whose scores are taken from the paper."""
_DIGITS = 10


def rank(
    results: pd.DataFrame,
    *,
    tests: Collection[str] | None = None,
    qualities: Collection[str] | None = None,
    pooling: Pooling = "cls",
) -> pd.DataFrame:
    """Order the measures of each domain by median rank, then by mean rank.

    Applied to the published results, this rule ranks CKA first for language, eighth for vision and eleventh for graphs,
    as in the paper.

    Parameters
    ----------
    results : DataFrame
        Scores with the columns of `published`: domain, dataset, architecture, pooling, test, quality, measure, value.
        Other columns are ignored.
    tests : collection of str, optional
        Values of the column `test` to include; default: all except 'jsd', which would count the output test twice.
    qualities : collection of str, optional
        Scores to include; default: one score per test, as in `QUALITY_OF`.
    pooling : {'cls', 'mean', 'all'}
        Pooling to include for architectures with several poolings. Architectures with a single pooling are always
        included.

    Returns
    -------
    DataFrame
        Columns domain, measure, mean and median of the ranks (1 is best), position (1 is best; ties share the best
        position), n (number of ranks), missing (number of scores that the measure lacks). Measures without any rank
        come last.

    Examples
    --------
    >>> from shesha_bench._published_results import published
    >>> rank(published()).query("measure == 'CKA'")[["domain", "position"]].to_string(index=False, header=False)
    '   graph 11\\nlanguage  1\\n  vision  8'
    """
    import pandas as pd

    table = rank_table(results, tests=tests, qualities=qualities, pooling=pooling)
    ordered = []
    for domain, rows in table.groupby("domain", sort=False):
        cells = rows.groupby(list(CELL), sort=False).ngroups
        summary = rows.groupby("measure", sort=False)["rank"].agg(["mean", "median", "count"]).reset_index()
        summary = summary.sort_values(["median", "mean"], kind="stable", na_position="last", ignore_index=True)
        summary.insert(0, "domain", domain)
        summary["position"] = range(1, len(summary) + 1)
        summary["position"] = summary.groupby(["median", "mean"], dropna=False)["position"].transform("min")
        summary = summary.rename(columns={"count": "n"})
        ordered.append(summary.assign(missing=cells - summary["n"]))
    columns = ["domain", "measure", "mean", "median", "position", "n", "missing"]
    return pd.concat(ordered, ignore_index=True)[columns]


def ranks_for_display(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return ranks for display: a domain's single measure has none, and published scores are marked.

    Parameters
    ----------
    ranks : DataFrame
        Ranks that `rank` or `rank_with_published` returned.
    """
    if "source" in ranks:
        published = ranks["source"] == "published"
        ranks = ranks.assign(measure=ranks["measure"].where(~published, ranks["measure"] + PUBLISHED))
        ranks = ranks.drop(columns="source")
    alone = ranks.groupby("domain")["measure"].transform("size") == 1
    names = ("mean", "median", "position")
    return ranks.assign(**{name: ranks[name].astype(object).where(~alone, "-") for name in names})


def rank_table(
    results: pd.DataFrame,
    *,
    tests: Collection[str] | None = None,
    qualities: Collection[str] | None = None,
    pooling: Pooling = "cls",
) -> pd.DataFrame:
    """Return every single rank on which `rank` is based; the parameters are the same.

    Returns
    -------
    DataFrame
        Columns domain, dataset, architecture, pooling, test, quality, measure, value, rank. Rank 1 is best, equal
        values share their mean rank, and the rank of NaN is NaN.
    """
    require_columns(results, [*CELL, "measure", "value"], "results")
    check.choice(pooling, get_args(Pooling), "pooling")
    chosen = results[[*CELL, "measure", "value"]]
    chosen = chosen[_counts(chosen, tests, qualities)]
    chosen = chosen[_has_pooling(chosen, pooling)]
    if chosen.empty:
        raise ValueError("results must contain scores of the requested tests and qualities, got none")
    if chosen.duplicated([*CELL, "measure"]).any():
        raise ValueError("results must contain each score of a measure once, got duplicates")
    # Scores that differ only by rounding share a rank.
    rounded = chosen.assign(value=chosen["value"].round(_DIGITS))
    ranks = rounded.groupby(list(CELL), sort=False)["value"].rank(ascending=False)
    return chosen.assign(rank=ranks).reset_index(drop=True)


def _counts(results: pd.DataFrame, tests: Collection[str] | None, qualities: Collection[str] | None) -> pd.Series[bool]:
    """Return which rows count in ranks."""
    for name, wanted, column in (("tests", tests, "test"), ("qualities", qualities, "quality")):
        unknown = sorted({*([] if wanted is None else kinds.names(wanted, name))} - {*results[column]})
        if unknown:
            raise ValueError(f"{name} must be among those of the results, got {check.join_items(unknown)}")
    by_test = results["test"].isin(list(ranking_scores()) if tests is None else list(tests))
    if qualities is not None:
        return by_test & results["quality"].isin(list(qualities))
    main_quality = results["test"].map(main_qualities())
    return by_test & (results["quality"] == main_quality)


def _has_pooling(results: pd.DataFrame, pooling: Pooling) -> pd.Series[bool]:
    """Return which rows have the pooling, or belong to an architecture with a single pooling."""
    n_poolings = results.groupby(["domain", "dataset", "architecture"])["pooling"].transform("nunique")
    return (results["pooling"] == pooling) | (n_poolings == 1) | (pooling == "all")


def require_columns(results: pd.DataFrame, columns: Collection[str], name: str) -> None:
    """Refuse a table that lacks any of the columns."""
    missing = [column for column in columns if column not in kinds.frame(results, name).columns]
    if missing:
        raise ValueError(f"{name} must have the columns {', '.join(columns)}, got a table without {', '.join(missing)}")
