"""The published results of the benchmark, as printed."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

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
