"""Facts of the transfer study, by which its claims are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from shesha.studies.facts import Fact, Facts, as_facts, largest, rank_correlation
from shesha.studies.published_checks import Table, number, split_numbers_and_claims
from shesha_studies.causal_lm_embeddings import CAUSAL
from shesha_studies.language._transfer_checks import KEYS, MODELS
from shesha_studies.language._transfer_statistics import LABELS, metric_correlations, table_57, table_57_correlations


def make_facts(rows: Table, published: Table) -> Facts:
    """Correlations with accuracy over representations and over families, ours and the paper's."""
    found = metric_correlations(rows).set_index(["number", "accuracy"])
    at: Any = {name: found.loc[(name, "accuracy 512")] for name in ("alignment", "split", "h_score")}
    theirs = table_57_correlations(split_numbers_and_claims(published)[0])
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
    made |= _over_representations(rows, found, n)
    return made | as_facts({**_tables(published), **_scores(found)}) | as_facts(_causal(rows), "causal ")


def _over_representations(rows: Table, found: Table, n: int) -> dict[str, Fact]:
    """What scores add to others, and what features alone leave of them; representations are the units."""
    best = str(found.xs("accuracy 512", level="accuracy").rho.idxmax())
    leaders = ("alignment", "h_score", "logme")
    unit = ["family", "part"]
    lda: Any = found.loc[("lda", "accuracy 512")]
    return {
        "h_score_behind": _difference(rows, best, "h_score", unit),
        "gap": largest(_difference(rows, name, "split", unit) for name in leaders),
        "lda, rho": rank_correlation(float(lda.rho), n),
        "lda, at_equal_width": rank_correlation(float(lda.at_equal_width), n, 1),
    }


_SAMPLED = [("lda", "rho"), ("lda", "at_equal_width")]
"""Numbers that have intervals."""


def _scores(found: Table) -> dict[str, Any]:
    """Which score is strongest here, and what scores owe to the number of features."""
    at: Any = {name: found.loc[(name, "accuracy 512")] for name in KEYS.values()}
    told = [(name, of) for name in at for of in ("rho", "width", "at_equal_width") if (name, of) not in _SAMPLED]
    made = {f"{name}, {of}": float(at[name][of]) for name, of in told}
    best = max(at, key=lambda name: at[name].rho)
    return made | {
        "best": LABELS[best],
        "best_rho": float(at[best].rho),
        "alignment_p": float(at["alignment"].p),
        "alignment_families_p": float(at["alignment"].p_families),
        "split_families_p": float(at["split"].p_families),
    }


def _tables(published: Table) -> dict[str, Any]:
    """What the published tables themselves say: over families, at equal size, and compared with the text."""
    lines = split_numbers_and_claims(published)[0]
    theirs, table = table_57_correlations(lines), table_57(lines)
    made: dict[str, Any] = {}
    ends = {"Exp1": ("Table 55", "Label-RDM Align.", "512"), "Exp2": ("Table 56", "Label-RDM Alignment", "correlation")}
    for place, (name, end) in enumerate(ends.items(), 1):
        one = theirs[f"alignment, accuracy {place}"]
        made |= {f"{name} {of}": float(one[of]) for of in ("rho", "rho_families", "p_families", "at_equal_width")}
        made |= {f"{name} within": float(one.mean_within_families), "table_57_families": float(one.families)}
        made[f"{name} apart"] = abs(number(lines, *end) - float(one.rho))
    jina = table.loc["jina-embeddings-v2-base-en"]
    return made | {
        "families_p": max(made["Exp1 p_families"], made["Exp2 p_families"]),
        "at_equal_size": rank_correlation(min(made["Exp1 at_equal_width"], made["Exp2 at_equal_width"]), MODELS, 1),
        "unsupervised_64": number(lines, "Table 58", "Transfer (SST-2, k = 64)", "unsupervised"),
        "labelled_64": number(lines, "Table 55", "Label-RDM Align.", "64"),
        "jina": float(jina.alignment),
        **{f"jina {name}": float(jina[name]) for name in ("accuracy 1", "accuracy 2")},
        "jina accuracy": float(max(jina["accuracy 1"], jina["accuracy 2"])),
    }


def _causal(rows: Table) -> dict[str, Any]:
    """Where the causal model's most accurate layer stands by accuracy and by alignment."""
    own = rows[rows.family == CAUSAL]
    if not len(own):
        return {}
    ranks = rows[["accuracy 512", "alignment"]].rank(ascending=False, method="min")
    best = own["accuracy 512"].idxmax()
    found = {"layer": rows.part[best], "accuracy": rows["accuracy 512"][best]}
    return found | {f"place by {name.split()[0]}": ranks[name][best] for name in ranks}


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
