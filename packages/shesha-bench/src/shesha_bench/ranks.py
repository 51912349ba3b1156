"""Ranks of measures, tables in the layout of the paper, and the published results."""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from shesha.charts import PALETTE, boxes, legend_of_colours, literal, pyplot
from shesha.inputs import validation as check
from shesha.report import markdown_table
from shesha.support import types as kinds
from shesha_bench.scores import rank_correlation
from shesha_bench.tests import TESTS
from shesha_bench.tests.registry import main_qualities, ranking_scores

if TYPE_CHECKING:
    import pandas as pd


def published() -> pd.DataFrame:
    """Return the scores of 24 measures in all tests, domains, data sets and architectures, as printed.

    Returns
    -------
    DataFrame
        8,640 rows with the columns domain ('graph', 'language', 'vision'), dataset, architecture, pooling ('cls' or
        'mean' for language, where 'cls' is the last token for SmolLM2; '' elsewhere), test, quality, measure, value
        (two decimals, NaN if missing), and significance_stars (2: p at most 1 %, 1: at most 5 %, 0: above 5 % or not
        tested).

    References
    ----------
    M. Klabunde, T. Wald, T. Schumacher, K. Maier-Hein, M. Strohmaier and F. Lemmerich, "ReSi: A Comprehensive
    Benchmark for Representational Similarity Measures", ICLR 2025, tables of appendix C.

    Examples
    --------
    >>> table = published()
    >>> len(table), int(table["value"].isna().sum())
    (8640, 140)
    >>> chosen = table.query("dataset == 'Cora' and architecture == 'SAGE' and measure == 'CKA' and test == 'shortcut'")
    >>> dict(zip(chosen["quality"], chosen["value"]))
    {'auprc': 0.78, 'conformity': 0.9}
    """
    import pandas as pd

    with (files("shesha_bench") / "data" / "resi_published.csv.gz").open("rb") as file:
        return pd.read_csv(file, compression="gzip", keep_default_na=False, na_values={"value": ["", "nan"]})


def published_runtimes() -> pd.DataFrame:
    """Return the mean time in seconds in which each measure compared two representations, as printed.

    Returns
    -------
    DataFrame
        One row per measure (the index) and one column per architecture. The values are means over data sets and tests
        that ran on different machines, so only their orders of magnitude are comparable.

    References
    ----------
    As for `published`, appendix D.

    Examples
    --------
    >>> published_runtimes().loc["CKA", ["GCN", "BERT", "RNet18"]].to_list()
    [0.035, 0.114, 5.196]
    """
    import pandas as pd

    with (files("shesha_bench") / "data" / "resi_runtimes.csv").open("rb") as file:
        return pd.read_csv(file, index_col="measure")


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
    >>> from shesha_bench.ranks import published
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
    """Return ranks for display: a domain's single measure has none, and published scores are marked."""
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
    check.choice(pooling, get_args(Pooling), "pooling")
    chosen = _read_scores(results, "results")[[*CELL, "measure", "value"]]
    chosen = chosen[_counts(chosen, tests, qualities)]
    chosen = chosen[_has_pooling(chosen, pooling)]
    if chosen.empty:
        raise ValueError("results must contain scores of the requested tests and qualities, got none")
    _require_distinct(chosen, [*CELL, "measure"], "results")
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


def _read_scores(results: pd.DataFrame, name: str, column: str = "value") -> pd.DataFrame:
    """Return a table of scores after checking its columns."""
    read: pd.DataFrame = check.columns(results, name, [column], texts=[*CELL, "measure"])
    return read


def _require_distinct(results: pd.DataFrame, keys: Collection[str], name: str) -> None:
    if results.duplicated(list(keys)).any():
        raise ValueError(f"{name} must contain each score of a measure once, got duplicates")


TYPES = {
    "CCA": ("PWCCA", "SVCCA"),
    "Alignment": (
        *("AlignCos", "AngShape", "HardCorr", "LinReg"),
        *("OrthProc", "PermProc", "ProcDist", "SoftCorr"),
    ),
    "RSM": ("CKA", "DistCorr", "EOS", "GULP", "RSA", "RSMDiff"),
    "Neighbors": ("2nd-Cos", "Jaccard", "RankSim"),
    "Topology": ("IMD", "RTD"),
    "Statistic": ("ConcDiff", "MagDiff", "UnifDiff"),
}
"""The measures of the paper grouped by type, in the order in which its tables list them."""
OTHER = "Other"
_PLACES = {measure: (kind, place) for kind, found in TYPES.items() for place, measure in enumerate(found)}


def base_name(measure: str) -> str:
    """Return a measure's name without its options, so that 'RTD(subsets=2)' counts as 'RTD'."""
    return measure.split("(")[0]


def measure_type(measure: str) -> str:
    """Return a measure's type in the paper's tables, or 'Other' if the paper does not include it."""
    return _PLACES.get(base_name(measure), (OTHER, 0))[0]


def table(results: pd.DataFrame, test: str | None = None, domain: str | None = None) -> pd.DataFrame:
    """Arrange results as the paper does, with measures as rows and data sets and architectures as columns.

    Parameters
    ----------
    results : DataFrame
        Scores with the columns of `published`.
    test, domain : str, optional
        Test and domain to include; default: all. If there are several, a column level distinguishes them.

    Returns
    -------
    DataFrame
        The row levels are type and measure. The column levels are test, domain, quality, dataset, architecture and
        pooling, where test, domain and pooling are left out if they have only one value.

    Examples
    --------
    >>> from shesha_bench.ranks import published
    >>> frame = table(published(), "shortcut", "graph")
    >>> frame.shape, float(frame.loc[("RSM", "CKA"), ("auprc", "Cora", "SAGE")])
    ((24, 20), 0.78)
    """
    return _pivot(_read_scores(results, "results"), "value", test, domain)


def stars(results: pd.DataFrame, test: str | None = None, domain: str | None = None) -> pd.DataFrame:
    """Return the significance stars for `table`: '**' if p is at most 0.01, '*' if at most 0.05, else ''.

    They are computed from the column `p_value` if there is one. Otherwise they are taken from the column
    `significance_stars`, which the published results have.
    """
    column = "p_value" if "p_value" in kinds.frame(results, "results").columns else "significance_stars"
    results = _read_scores(results, "results", column)
    counts = results[column].to_numpy(dtype=float)
    if column == "p_value":
        counts = (counts <= 0.05).astype(float) + (counts <= 0.01)
    if not np.isin(counts, (0, 1, 2)).all():
        raise ValueError(f"results must contain 0, 1 or 2 in column {column!r}, got other numbers")
    marked = results.assign(stars=["*" * int(count) for count in counts])
    return _pivot(marked, "stars", test, domain).fillna("")


def to_markdown(frame: pd.DataFrame, stars: pd.DataFrame | None = None) -> str:
    """Format a `table` as Markdown, with two decimals and the best value of each column in bold.

    Parameters
    ----------
    frame : DataFrame
        A table as returned by `table`, whose values are better the higher they are.
    stars : DataFrame, optional
        Significance stars as returned by the function `stars` for the same results; default: no stars.
    """
    kinds.frame(frame, "frame")
    if stars is not None and not (
        kinds.frame(stars, "stars").index.equals(frame.index) and stars.columns.equals(frame.columns)
    ):
        raise ValueError("stars must have the rows and columns of frame, got different ones")
    if stars is not None and not all(isinstance(mark, str) for mark in stars.to_numpy().ravel()):
        raise TypeError("stars must be text, as the function `stars` returns it, got other values")
    values = check.real(frame, "frame")
    marks = np.full(values.shape, "", dtype=object) if stars is None else stars.to_numpy()
    head = [*map(str, frame.index.names), *("<br>".join(filter(None, _levels(column))) for column in frame.columns)]
    rows = []
    printed = np.array([[f"{value:.2f}" for value in row] for row in values], dtype=object).reshape(values.shape)
    best = [f"{max(numbers):.2f}" if len(numbers := column[~np.isnan(column)]) else "" for column in values.T]
    for label, row, marked in zip(frame.index, printed, marks, strict=True):
        # Escape stars, which Markdown reads as emphasis.
        starred = [mark.replace("*", r"\*") for mark in marked]
        cells = [f"**{v}**{s}" if v == b else f"{v}{s}" for v, s, b in zip(row, starred, best, strict=True)]
        rows.append([*_levels(label), *cells])
    return markdown_table(head, rows, numbers=frame.shape[1]) + "\n"


def _pivot(results: pd.DataFrame, column: str, test: str | None, domain: str | None) -> pd.DataFrame:
    """Arrange one column of the results as a table of measures by data sets and architectures."""
    chosen = results
    for name, wanted in (("test", test), ("domain", domain)):
        if wanted is not None:
            check.choice(wanted, [str(value) for value in results[name].unique()], name)
            chosen = chosen[chosen[name] == wanted]
    levels = [
        name
        for name in ("test", "domain", "quality", "dataset", "architecture", "pooling")
        if name in ("quality", "dataset", "architecture") or chosen[name].nunique() > 1
    ]
    _require_distinct(chosen, [*levels, "measure"], "results")
    chosen = chosen.assign(type=chosen["measure"].map(measure_type))
    table = chosen.pivot(index=["type", "measure"], columns=levels, values=column)
    order = {name: {value: place for place, value in enumerate(chosen[name].unique())} for name in levels}
    columns = sorted(table.columns, key=lambda labels: [order[n][v] for n, v in zip(levels, labels, strict=True)])
    return table.loc[sorted(table.index, key=_row_order), columns]


def _row_order(row: tuple[str, str]) -> tuple[int, int]:
    kind, measure = row
    kinds = [*TYPES, OTHER]
    return kinds.index(kind), _PLACES.get(base_name(measure), ("", 0))[1]


def _levels(label: Any) -> list[str]:
    return [str(part) for part in label] if isinstance(label, tuple) else [str(label)]


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

    own_results: pd.DataFrame = check.columns(results, "results", [], texts=[*_PLACE, "test", "pooling", "measure"])
    own_results = own_results.assign(source="own")
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
    own, published = _read_scores(own, "own"), _read_scores(published, "published")
    _require_distinct(published, keys, "published")
    mine = own.assign(optional=own["measure"].str.contains("(", regex=False), measure=own["measure"].map(base_name))
    mine = mine.sort_values("optional", kind="stable").drop_duplicates(keys).sort_index()
    mine = mine[[*keys, "value"]].rename(columns={"value": "own"})
    return mine.merge(
        published[[*keys, "value"]].rename(columns={"value": "published"}), on=keys, validate="one_to_one"
    )


_COLOURS = dict(zip([*TYPES, OTHER], PALETTE, strict=False))
_ROW = 0.21
"""Height in inches that a figure needs for each measure."""


def plot_ranks(results: pd.DataFrame, axes: Any = None, *, pooling: Pooling = "cls", title: str | None = None) -> Any:
    """Draw the ranks of each measure as a box plot, with the best on top and one panel per domain.

    Parameters
    ----------
    results : DataFrame
        Scores with the columns of `published`. They are ranked as `rank` does.
    axes : sequence of matplotlib Axes, optional
        Axes to draw on, one per domain; default: a new figure.
    pooling : {'cls', 'mean', 'all'}
        As for `rank`.
    title : str, optional
        Title above the panels. Default: none.

    Returns
    -------
    array of matplotlib Axes
        The panels, one per domain. Boxes show the median and quartiles, whiskers extend to the extremes, and colours
        show the type of each measure.
    """
    plt = pyplot()
    order, ranks = rank(results, pooling=pooling), rank_table(results, pooling=pooling)
    domains = list(order["domain"].unique())
    if axes is None:
        rows = int(order["domain"].value_counts().max())
        size = (3.4 * len(domains) + 0.4, _ROW * rows + 1.5)
        _, axes = plt.subplots(1, len(domains), figsize=size, layout="constrained", squeeze=False)
    panels = np.asarray(axes, dtype=object).ravel()
    if not all(hasattr(panel, "boxplot") for panel in panels):
        raise TypeError(f"axes must be Axes of matplotlib, got {axes!r}")
    if len(panels) != len(domains):
        raise ValueError(f"axes must be one per domain ({len(domains)}), got {len(panels)}")
    for ax, domain in zip(panels, domains, strict=True):
        groups = ranks[ranks["domain"] == domain].groupby("measure")["rank"]
        measures = [name for name in order.loc[order["domain"] == domain, "measure"] if groups.get_group(name).count()]
        values = {name: groups.get_group(name).dropna().to_numpy() for name in measures}
        boxes(ax, values, [_COLOURS[measure_type(name)] for name in measures], label="rank (1 is best)")
        ax.set_title(domain)
    shown = set(map(measure_type, order["measure"]))
    legend_of_colours(panels[-1].figure, {kind: colour for kind, colour in _COLOURS.items() if kind in shown})
    if title is not None:
        panels[-1].figure.suptitle(literal(title))
    return panels
