"""Facts of the transfer study, by which its claims are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from shesha.studies.facts import Fact, Facts, rank_correlation
from shesha.studies.published import Table, apart
from shesha_studies.language._transfer_checks import MODELS
from shesha_studies.language._transfer_numbers import by_metric, of_table_57


def make_facts(rows: Table, published: Table) -> Facts:
    """Correlations with accuracy over representations and over families, ours and the paper's."""
    found = by_metric(rows).set_index(["number", "accuracy"])
    at: Any = {name: found.loc[(name, "accuracy 512")] for name in ("alignment", "split", "h_score")}
    theirs = of_table_57(apart(published)[0])
    n = rows.groupby(["family", "part"]).ngroups
    made = {"representations": Fact(float(n)), "families": Fact(float(rows.family.nunique()))}
    made |= {name: rank_correlation(float(one.rho), n) for name, one in at.items()}
    made |= {f"{name}_families": rank_correlation(float(one.rho_families), one.families) for name, one in at.items()}
    for name in ("accuracy 1", "accuracy 2"):
        one = theirs[f"alignment, {name}"]
        made[f"published_{name[-1]}"] = rank_correlation(float(one.rho), MODELS)
        made[f"published_{name[-1]}_families"] = rank_correlation(float(one.rho_families), one.families)
    for name, unit in (("behind_bhattacharyya", ["family", "part"]), ("behind_bhattacharyya_families", ["family"])):
        made[name] = _difference(rows, "alignment", "bhattacharyya", unit)
    return made


def _difference(rows: Table, metric: str, other: str, unit: list[str], draws: int = 2000) -> Fact:
    """How much better one metric ranks accuracy than another, by Spearman's correlation; units are resampled whole."""
    numbers = rows[[metric, other, "accuracy 512"]].to_numpy()
    members = [numbers[index] for index in rows.groupby(unit).indices.values()]
    rng = np.random.default_rng(0)

    def better(sample: Any) -> float:
        ranks = rankdata(sample, axis=0)
        return float(np.corrcoef(ranks[:, 0], ranks[:, 2])[0, 1] - np.corrcoef(ranks[:, 1], ranks[:, 2])[0, 1])

    drawn = [
        better(np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))]))
        for _ in range(draws)
    ]
    return Fact(better(numbers), *(float(limit) for limit in np.quantile(drawn, [0.025, 0.975])))
