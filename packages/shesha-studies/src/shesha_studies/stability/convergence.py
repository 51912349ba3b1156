"""How many rows does the score need?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.data import digits
from shesha.stability import feature_split
from shesha_studies.framework.checks import Found
from shesha_studies.framework.facts import Facts, as_facts, over_draws
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import unjudged_answers
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.framework.tolerance import JOINT
from shesha_studies.stability._stand_in_representations import DIGITS, NETWORKS, SENTENCES, stand_in

PIXELS = "digits, pixels"
SIZES = (50, 100, 200, 400, 800, 1600)
MODELS = (PIXELS, DIGITS, *SENTENCES, *NETWORKS)


def _cells(models: tuple[str, ...], n_draws: int) -> list[dict[str, object]]:
    cells = grid_of("representation", "n", "draw")(models, SIZES, range(n_draws))
    return [cell for cell in cells if cell["n"] < 800 or cell["draw"] == 0]


@study(
    "convergence",
    paper="Geometric Stability, 6.2, Test 1, Table 2; journal version, Table 9 and B.1",
    version=2,
    full=_cells(MODELS, 4),
    quick=_cells((PIXELS, DIGITS, *SENTENCES), 2),
    published="convergence.csv",
    stand_ins="fifteen representations of small networks, MiniLM and digits replace fifteen published vision models",
)
def convergence(representation: str, n: int, draw: int) -> dict[str, float]:
    """How much do scores change between 400 and 1,600 rows, and with fewer rows?

    Rows are drawn without replacement. If there are fewer than n rows, all are used (900 digits, 872 sentences).
    """
    X = digits()[0] if representation == PIXELS else stand_in(representation)[0]
    rows = np.random.default_rng([draw, n]).permutation(len(X))[:n]
    return {"rows": len(rows), "shesha": feature_split(X[rows], seed=320)}


@convergence.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return our answers to the published lines."""
    table = _drifts(rows)
    answers = {
        "table mean": Found(float(_table_2(published).mean()), 0.00005),
        **unjudged_answers({"mean drift": table["drift of one draw at 400"].abs().mean()}),
        "mean drift is 0.0077": Found(_printed_number(published, "mean drift"), decimals=4),
    }
    return Page(answers=answers)


def _drifts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one line per representation: the score by number of rows, and its deviation from the largest number."""
    scores = rows.pivot_table(index="representation", columns="n", values="shesha", sort=False)
    table = scores.rename(columns=lambda n: f"{n} rows")
    most = rows.sort_values("n", kind="stable").groupby("representation", sort=False).shesha.last()
    first = rows[(rows.n == 400) & (rows.draw == 0)].set_index("representation").shesha
    table["drift of one draw at 400"] = first - most
    for n in (50, 400):
        table[f"sd of draws at {n}"] = rows[rows.n == n].groupby("representation").shesha.std()
    return table


def _table_2(published: pd.DataFrame) -> pd.Series[float]:
    """Return the absolute drifts of fifteen models in Table 2."""
    return published[published["where"].str.endswith("Table 2")].published.iloc[:15].astype(float).abs()


def _printed_number(published: pd.DataFrame, key: str) -> float:
    return float(published[published.key == key].published.iloc[0])


@convergence.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Return the deviations of scores of few rows from scores of the largest number of rows."""
    table, models = _drifts(rows), _table_2(published)
    sizes = table["drift of one draw at 400"].abs()
    change, change_of_50 = (table[f"{n} rows"] - table["1600 rows"] for n in (400, 50))
    lowest = "model/lowest score at {} rows (vit_tiny, CIFAR-100)"
    of_400, of_1600 = (_printed_number(published, lowest.format(n)) for n in ("400", "1,600"))
    return as_facts(
        {
            "representations": len(table),
            "drift": sizes.mean(),
            "largest_drift": sizes.max(),
            "beyond_5_percent": (sizes >= 0.05).sum(),
            "sd_of_400": table["sd of draws at 400"].mean(),
            "spread_of_400": JOINT * table["sd of draws at 400"].max(),
            "sd_of_50": table["sd of draws at 50"].mean(),
            "mean_change": over_draws(change),
            "largest_change": change.abs().max(),
            "change_of_50": change_of_50.abs().max(),
            "models": len(models),
            "largest_of_table_2": models.max(),
            "largest_of_text": abs(of_400 - of_1600),
        }
    )
