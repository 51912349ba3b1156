"""Facts of the study on recordings, with chance, equal numbers and whole sessions."""

from __future__ import annotations

import pandas as pd
from scipy.stats import spearmanr

from shesha.studies.facts import Fact, Facts, over_draws, rank_correlation, rate
from shesha.studies.published_checks import split_numbers_and_claims
from shesha_studies.biology._neuroscience_checks import SIZES, drift_z, order_of_regions, session_means
from shesha_studies.biology._recordings import add_regions, count_areas, over_sessions, session_correlation


def make_facts(rows: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Return means and correlations with intervals over whole sessions, and shares of areas beyond chance."""
    lines, _ = split_numbers_and_claims(published)
    published = lines.assign(published=lines.published.astype(float))
    rows = add_regions(rows).assign(step=lambda table: table.early_middle - table.middle_late)
    means = ("shesha", "shesha_chance", "equal", "equal_chance", "step")
    facts = {name: Fact(*over_sessions(rows, name)) for name in means}
    for name in ("shesha", "equal", "drift", "shifted"):
        above, n = count_areas(rows, name)
        facts |= {f"beyond_{name}": rate(above, n), f"areas_{name}": Fact(n), f"areas_beyond_{name}": Fact(above)}
    for name, score in (("z", "drift"), ("z_elsewhere", "shifted")):
        facts[name] = Fact(*over_sessions(drift_z(rows, score), "z"))
    return facts | _correlations(rows) | _orders(rows, published)


def _correlations(rows: pd.DataFrame) -> dict[str, Fact]:
    """Correlations of scores with behaviour; whole sessions are resampled."""

    def fact(result: dict[str, float]) -> Fact:
        return Fact(result["rho"], result["low"], result["high"])

    facts = {
        f"coupling_{name}": fact(session_correlation(rows, "coupling", name)) for name in ("shesha", "drift", "wuc")
    }
    facts |= {name: fact(session_correlation(rows, name, "shesha")) for name in ("accuracy", "accuracy_change")}
    step = session_means(rows).accuracy_change
    return facts | {
        "coupling_given": fact(session_correlation(rows, "coupling", "shesha", SIZES)),
        "latter_half": over_draws(step),
        "latter_half_sd": Fact(float(step.std())),
        "sessions_worse": Fact(float((step < 0).sum())),
        "sessions": Fact(float(len(step))),
    }


def _orders(rows: pd.DataFrame, published: pd.DataFrame) -> dict[str, Fact]:
    """Rank correlations of our order of the regions with the published order, and of two scores with each other."""
    n = rows.region.nunique()
    facts = {
        f"order_{name}": rank_correlation(order_of_regions(rows, published, name), n)
        for name in ("shesha", "few", "wuc")
    }
    facts["order_drift"] = rank_correlation(order_of_regions(rows, published, "drift", "drift"), n)
    means = rows.groupby("region")[["shesha", "drift"]].mean()
    rho = float(spearmanr(means.shesha, means.drift).statistic) if len(means) > 3 else float("nan")
    return facts | {"orders": rank_correlation(rho, n)}
