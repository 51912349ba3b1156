"""Write the rates and coverages in docs/decide.md from the rows of the studies that measured them.

python scripts/make_decision_tables.py
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from shesha.report import markdown_line, markdown_table
from shesha.support.files import write_text
from shesha_studies.framework.rates import rate_interval

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "decide.md"
LEVEL = 0.05
CASES = (
    (
        "all of them: images, independent texts, cells of one culture",
        "no option: the default",
        [],
        [{"part": "measures", "data": "independent"}],
    ),
    (
        "only rows of the same batch, session or cluster",
        "`blocks=`",
        [{"part": "measures", "data": "clusters of rows", "design": "free"}],
        [{"part": "measures", "data": "clusters of rows", "design": "blocks"}],
    ),
    (
        "only whole donors, subjects or documents of equal size",
        "`groups=`",
        [{"data": "20 groups: equal", "design": "free"}, {"data": "20 groups: of four sizes", "design": "free"}],
        [{"data": "20 groups: equal", "design": "groups"}, {"data": "20 groups: of four sizes", "design": "groups"}],
    ),
    (
        "only whole donors, subjects or documents of different sizes",
        "`shesha.nulls.equal_groups`, then `groups=`",
        [],
        [{"data": "20 groups: all different", "design": "equal_groups"}],
    ),
    (
        "none: a time series with a short memory (AR 0.5, 64 rows)",
        "`shift=True`; for several sessions also `blocks=`",
        [{"data": "series: 0.5", "design": "free", "n": 64}],
        [{"data": "series: 0.5", "design": "shift"}],
    ),
    (
        "none: a time series with a long memory (AR 0.9, 64 rows)",
        "more rows (30 times the memory); otherwise `shift=True`",
        [{"data": "series: 0.9", "design": "free", "n": 64}],
        [{"data": "series: 0.9", "design": "shift", "n": 64}],
    ),
    (
        "all, but both representations depend on a known batch or number",
        "`covariates=`: removes the effect from the score and its null",
        [],
        [{"data": "a known batch", "design": "covariates"}, {"data": "a known number", "design": "covariates"}],
    ),
    (
        "only rows of about the same depth, length or age",
        "`within=`",
        [{"data": "a number: 0.3", "design": "free"}],
        [{"data": "a number: 0.3", "design": "within"}],
    ),
    (
        "one representation whose rows differ in scale or depth",
        '`shesha.estimate(X, keep="row scale")`',
        [{"data": name, "design": "-"} for name in ("row scale about an offset", "depth of counts")],
        [{"data": name, "design": "row scale"} for name in ("row scale about an offset", "depth of counts")],
    ),
)
"""Rows that may be permuted, the argument that declares this, and the cells of the study without and with it."""


def rate(rows: pd.DataFrame, cells: list[dict[str, object]]) -> str:
    """Share of runs in these cells with a false positive, with its limits."""
    if not cells:
        return "-"
    chosen = pd.concat([rows[(rows[list(cell)] == pd.Series(cell)).all(axis=1)] for cell in cells])
    hits, runs = int(chosen["hits"].sum()), int(chosen["runs"].sum())
    low, high = rate_interval(hits, runs)
    text = f"{100 * hits / runs:.1f} % ({100 * low:.0f} to {100 * high:.0f}) of {runs:,}"
    return f"**{text}**" if low > LEVEL else text


def designs() -> list[str]:
    rows = pd.read_csv(DOCS / "studies" / "false-positives" / "rows.csv", keep_default_na=False)
    rows = rows[rows["truth"] == "nothing"]
    dependent = rows["data"] == "clusters of rows"
    rows.loc[(rows["part"] == "measures") & ~dependent, "data"] = "independent"
    head = ["rows that could swap places", "use", "false positives without this option", "false positives with it"]
    return [
        markdown_table(head, []),
        *(markdown_line([case, say, rate(rows, free), rate(rows, told)]) for case, say, free, told in CASES),
    ]


def depth() -> str:
    rows = pd.read_csv(DOCS / "studies" / "depth" / "rows.csv")
    rows = rows[(rows["aggregate"] == "max") & (rows["kinship"] == 0)]
    deepest = rows[rows["layers"] == rows["layers"].max()]
    return (
        f"the best pair of {deepest['layers'].iloc[0]} x {deepest['layers'].iloc[0]} unrelated layers exceeds the "
        f"threshold of a single pair in {(deepest['best_alone_p'] <= LEVEL).mean():.0%} of "
        f"{len(deepest)} runs; over all depths, it exceeds the threshold of maxima in only "
        f"{(rows['p_value'] <= LEVEL).mean():.1%} of {len(rows)} runs"
    ).replace("%", " %")


def intervals() -> list[str]:
    rows = pd.read_csv(DOCS / "studies" / "intervals" / "rows.csv", keep_default_na=False)
    lines = []
    for title, data, told in (
        ("independent rows", "Gaussian", "-"),
        ("each row twice, undeclared", "each row twice", "-"),
        ("the same, `groups=`", "each row twice", "groups="),
        ("10 donors of 20 rows, undeclared", "10 donors", "-"),
        ("the same, `groups=`", "10 donors", "groups="),
    ):
        chosen = rows[(rows["data"] == data) & (rows["told"] == told) & (rows["feature_split runs"] != "")]
        runs = chosen["feature_split runs"].astype(float)
        held = (chosen["feature_split 95%"].astype(float) * runs).sum() / runs.sum()
        text = f"{100 * held:.0f} % of {int(runs.sum())}"
        lines.append(markdown_line([title, f"**{text}**" if held < 0.9 else text]))
    return [markdown_table(["feature split of", "95 % intervals that contain the mean"], []), *lines]


def ranks() -> list[str]:
    rows = pd.read_csv(DOCS / "studies" / "which-measure" / "rows.csv")
    means = (
        rows[rows["data"] == "noise"]
        .groupby(["measure", "widths"], sort=False)[["raw auprc", "calibrated auprc"]]
        .mean()
    )
    lines = []
    for measure in (
        "CKA",
        "DistCorr",
        "OrthProc",
        "unbiased CKA",
        "RSA",
        "mutual kNN(metric=dot)",
        "Jaccard",
        "SVCCA",
        "LinReg",
    ):
        cells = [f"{means.loc[(measure, widths), column]:.2f}" for widths in ("equal", "unequal") for column in means]
        lines.append(markdown_line([measure, *cells]))
    head = ["measure", "equal widths, raw", "calibrated", "unequal widths, raw", "calibrated"]
    return [markdown_table(head, []), *lines]


def filled(page: str, kind: str, name: str, text: str) -> str:
    gap = "\n" if kind == "table" else ""
    found = re.compile(rf"(<!-- {kind}: {name} -->).*?(<!-- end -->)", re.DOTALL)
    if not found.search(page):
        raise ValueError(f"{PAGE} must contain a place for {name}, got none")
    return found.sub(lambda match: f"{match[1]}{gap}{gap}{text}{gap}{gap}{match[2]}", page)


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for table in (designs, intervals, ranks):
        page = filled(page, "table", table.__name__, "\n".join(table()))
    write_text(PAGE, filled(page, "value", "depth", depth()))


if __name__ == "__main__":
    main()
