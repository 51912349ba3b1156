"""Facts of the study `resi`: places of measures in the published tables and in our small suites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from shesha.support.types import Array
from shesha_bench import published_runtimes, rank
from shesha_bench.ranks import measure_type
from shesha_studies.benchmark import _resi_scores_and_places as tables
from shesha_studies.framework.facts import Fact, Facts, as_facts, over_draws

DOMAINS = ("graph", "language", "vision")
SOURCES = ("published", "small")
CHANCE = 1 / np.sqrt(23)
"""Standard deviation of the rank correlation between two random orders of 24 measures."""
_NEIGHBOURS = ("2nd-Cos", "Jaccard", "RankSim")
_BETTER = ("Alignment", "RSM", "Neighbors")
_PLACES = {
    "cka_language_{}": (("CKA",), ("language",)),
    "jaccard_vision_{}": (("Jaccard",), ("vision",)),
    "neighbours_graph_{}": (_NEIGHBOURS, ("graph",)),
    "orthproc_{}": (("OrthProc",), DOMAINS),
}
"""Measures and domains whose worst place is a fact."""
_ON_BERT = {
    "BERT outputs": (_NEIGHBOURS, ("jsd", "spearman"), 0.75),
    "BERT concentricity": (("ConcDiff",), ("label_randomization", "auprc"), 0.5),
    "uniformity": (("UnifDiff",), ("augmentation", "auprc"), 0.75),
}
"""Measures, a test and a score, and the quantile over all measures with which the mean of these is compared."""
_FEW_MODELS = (
    ". Two sets of ten networks of our own, trained in the same way, have rank correlations of only 0.04 to 0.58 in "
    "the tests of accuracy and outputs."
)
_OUTPUT_TESTS = ("jsd", "disagreement")
"""Columns of the test of output differences."""
_FOR_OUTPUTS = [("vision", "Jaccard"), ("language", "DistCorr"), ("graph", "RSA")]
"""Measures that the text recommends for the output test."""


def places(rows: pd.DataFrame, suffix: str = "") -> pd.DataFrame:
    """Return the place of each measure (1 is best) by domain and source; with " first", how often it is first."""
    ranks = rows[rows.part == "ranks"].set_index(["domain", "dataset"])
    names = tables.scores("published").measure.unique()
    return ranks[[f"{name}{suffix}" for name in names]].set_axis(names, axis=1).T


def make_facts(rows: pd.DataFrame) -> Facts:
    """Positions of measures in the published tables and in our small suites, and how often they keep these
    positions."""
    by_domain = places(rows).astype(int)
    facts = _first_places(by_domain, places(rows, " first")) | _places_with_intervals(by_domain)
    facts |= _procrustes() | _column_scores() | _scores_on_bert() | _places_in_words(by_domain) | _for_outputs()
    return as_facts(facts | _orders(rows, by_domain) | _orders_by_table(rows[rows.part == "table"]))


def _first_places(by_domain: pd.DataFrame, shares: pd.DataFrame) -> dict[str, Any]:
    """Return places by mean rank, and how often a measure is first by median or by mean rank."""
    facts: dict[str, Any] = {}
    for name, domain in (("CKA", "language"), ("Jaccard", "vision")):
        place, often = by_domain[domain, "published"][name], shares[domain, "published"][name]
        by_mean, often_by_mean = tables.place_by_mean(name, domain)
        key = name.casefold()
        facts |= {f"{key}_often": often, f"{key}_often_by_mean": often_by_mean}
        facts |= {f"{key}_{domain}_by_mean": by_mean, f"{key}_{domain}_best": min(place, by_mean)}
        facts[f"{key}_often_best"] = max(often, often_by_mean)
    facts["distcorr_often"] = shares["language", "published"]["DistCorr"]
    return facts | {"cka_or_distcorr_often": facts["cka_often"] + facts["distcorr_often"]}


def _places_with_intervals(by_domain: pd.DataFrame) -> dict[str, Any]:
    """Statistics of places, with the interval of draws of the data sets and networks."""
    facts: dict[str, Any] = {}
    for source, end in (("published", "resampled"), ("small", "small")):
        observed = _statistics({domain: by_domain[[(domain, source)]].T for domain in DOMAINS})
        drawn = _statistics({domain: tables.places(source, domain)[1] for domain in DOMAINS})
        facts |= {name.format(source): values[0] for name, values in observed.items()}
        facts |= {name.format(end): _with_interval(values[0], drawn[name]) for name, values in observed.items()}
    return facts


def _with_interval(value: float, drawn: Array) -> Fact:
    return Fact(float(value), *np.percentile(drawn, [2.5, 97.5]))


def _statistics(drawn: Mapping[str, pd.DataFrame]) -> dict[str, Array]:
    """Return statistics of places by draw; the tables of the domains have a line per draw and a column per measure."""
    winners = np.array([drawn[domain].idxmin(axis=1) for domain in DOMAINS])
    in_top_half = np.sum([drawn[domain][["RSA", "SVCCA"]] <= 12 for domain in DOMAINS], axis=0)
    means = _family_means(drawn)
    is_better = means.columns.isin(_BETTER)
    return {
        **{
            name: np.max([drawn[domain][list(measures)].max(axis=1) for domain in domains], axis=0)
            for name, (measures, domains) in _PLACES.items()
        },
        "most_first_{}": np.array([max(map(list(names).count, names)) for names in winners.T]),
        "outstanding_{}": in_top_half.max(axis=1),
        # How far the worst of the better families is ahead of the best other family.
        "families, {}": (means.loc[:, ~is_better].min(axis=1) - means.loc[:, is_better].max(axis=1)).to_numpy(),
    }


def _family_means(drawn: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the mean place of each family of measures over the domains, by draw."""
    mean = np.mean([drawn[domain].to_numpy() for domain in DOMAINS], axis=0)
    families = [measure_type(str(name)) for name in drawn["graph"].columns]
    return pd.DataFrame(mean.T).groupby(families).mean().T


def _procrustes() -> dict[str, Any]:
    """Return the distance in rank of two versions of Procrustes, and the change in rank of one between draws of
    columns."""
    facts: dict[str, Any] = {}
    for source in SOURCES:
        tests = tables.places_by_test(source)
        apart = np.array([abs(place["OrthProc"] - place["ProcDist"]) for place, _ in tests])
        draws = [drawn[["OrthProc", "ProcDist"]].to_numpy() for _, drawn in tests]
        moves = np.array([np.abs(drawn[::2] - drawn[1::2]).mean() for drawn in draws])
        facts[f"procrustes_beyond_{source}"] = over_draws(apart - moves)
    return facts


def _column_scores() -> dict[str, Any]:
    """Scores of EOS and GULP in columns of GraphSAGE, and runtimes."""
    seconds = published_runtimes()
    # Times are printed to a millisecond, so the smallest may be longer by half of one.
    times = (seconds.max() / (seconds.where(seconds > 0).min() + 5e-4)).min()
    facts: dict[str, Any] = {"runtimes": float(f"{times:.2g}")}
    both = zip(_eos_and_gulp("published"), _eos_and_gulp("small"), strict=True)
    for name, (published, ours) in zip(("layers", "shortcuts"), both, strict=True):
        # The interval is over data sets, because a single column has no spread.
        facts[f"{name}_of_all"] = over_draws(published)
        facts |= {f"{name}_published": published["Flickr", ""], f"{name}_small": ours["Cora", ""]}
    return facts


def _eos_and_gulp(source: str) -> tuple[Any, Any]:
    """Return the lower layer score of both, and the larger lead over the median measure in the test of shortcuts."""
    layers, cuts = (
        tables.columns(source, "graph", *selection).xs("SAGE", level="architecture", axis=1)
        for selection in (("layer_monotonicity", "conformity"), ("shortcut", "auprc"))
    )
    return layers.loc[["EOS", "GULP"]].min(), (cuts.loc[["EOS", "GULP"]] - cuts.median()).max()


def _scores_on_bert() -> dict[str, Any]:
    """Return by how much scores exceed a quantile of all measures over the columns of BERT, and the lowest place of the
    measures in each column."""
    facts: dict[str, Any] = {}
    for key, (measures, selection, least) in _ON_BERT.items():
        scores = tables.columns("published", "language", *selection).xs("BERT", level="architecture", axis=1)
        chosen = scores.loc[list(measures)]
        lowest: Any = scores.rank(ascending=False, method="min").loc[list(measures)].max()
        facts[f"{key}, published"] = over_draws(chosen.mean() - scores.quantile(least))
        facts[f"{key}, Table 3"] = lowest["SST2", "cls"]
        facts[f"{key}, places in words"] = ", ".join(
            f"{place:.0f} ({data}, {pooling})" for (data, pooling), place in lowest.items()
        )
    return facts


def _places_in_words(by_domain: pd.DataFrame) -> dict[str, Any]:
    """Return the places of RSA, SVCCA, CKA and the families of measures."""
    cka = by_domain.loc["CKA"]
    facts: dict[str, Any] = {
        # The text states the places 11, 1 and 8.
        "CKA elsewhere, published": (cka.xs("published", level="dataset")[list(DOMAINS)] != [11, 1, 8]).sum(),
        "CKA in words": ", ".join(f"{cka[one, 'published']} / {cka[one, 'small']} ({one})" for one in DOMAINS),
    }
    for source in SOURCES:
        facts[f"outstanding_{source} in words"] = " and ".join(
            f"{name} " + ", ".join(str(by_domain.loc[name, (domain, source)]) for domain in DOMAINS)
            for name in ("RSA", "SVCCA")
        )
        means = _family_means({domain: by_domain[[(domain, source)]].T for domain in DOMAINS}).iloc[0].sort_values()
        facts[f"families, {source}, in words"] = ", ".join(f"{name} {value:.1f}" for name, value in means.items())
    return facts


def _for_outputs() -> dict[str, Any]:
    """Return the places in the output test of the measures that the text recommends for it."""
    facts: dict[str, Any] = {}
    for source in SOURCES:
        ranks = rank(tables.scores(source), tests=list(_OUTPUT_TESTS)).set_index(["domain", "measure"])
        chosen: Any = ranks.groupby("domain")[["position", "mean"]].rank(method="min").loc[_FOR_OUTPUTS]
        for how, name in (("position", ""), ("mean", " by mean")):
            facts[f"outputs, {source}{name}, in words"] = ", ".join(
                f"{measure} {place:.0f} ({domain})" for (domain, measure), place in chosen[how].items()
            )
        if source == "published":
            drawn = [tables.places(source, domain, _OUTPUT_TESTS)[1][name] for domain, name in _FOR_OUTPUTS]
            phrases = (f"{(draws == 1).mean():.0%} ({draws.name})" for draws in drawn)
            facts |= {"outputs, published": chosen.max().min(), "outputs, first in words": ", ".join(phrases)}
            facts["outputs, resampled"] = _with_interval(chosen.position.max(), np.max(drawn, axis=0))
    return facts


def _orders(rows: pd.DataFrame, by_domain: pd.DataFrame) -> dict[str, Any]:
    """Agreement of our order of the measures with the published one, over all tests and by single columns."""
    groups = rows[rows.part == "table"].groupby(["domain", "test", "quality"])
    means = groups[["agreement", "published_agreement"]].mean().groupby("domain").mean()
    return {
        **{f"order, {one}": np.corrcoef(by_domain[one].astype(float).T)[0, 1] for one in DOMAINS},
        **{f"columns, {domain}": value for domain, value in means.agreement.items()},
        **{f"published columns, {domain}": value for domain, value in means.published_agreement.items()},
    }


def _on_cora(agreement: pd.Series[float]) -> dict[str, str]:
    """Return the agreement of each network, and the networks that do not agree beyond chance, as an end of sentence."""
    unlike = " and ".join(map(str, agreement.index[agreement <= 2 * CHANCE]))
    return {
        "single": ", ".join(f"{value:.2f} ({name})" for name, value in agreement.items()),
        "exceptions": f". For {unlike} the order does not agree beyond chance." if unlike else ".",
    }


def _orders_by_table(rows: pd.DataFrame) -> dict[str, Any]:
    """Agreement of our order of the measures with the published columns of each test and score.

    The limits of `order` are our agreement and the larger of ours and that of published columns with each other. The
    p-value is that of the agreement which our mean and more than half of our columns reach.
    """
    facts: dict[str, Any] = {}
    groups: Any = rows.groupby(["domain", "test", "quality"], sort=False)
    for (domain, test, quality), lines in groups:
        agreement, mean, ceiling = lines.agreement, lines.agreement.mean(), lines.published_agreement.mean()
        values = {
            **{"order": Fact(mean, mean, max(mean, ceiling)), "mean": mean, "ceiling": ceiling},
            **{"n": len(lines), "n agreeing": (agreement > 2 * CHANCE).sum()},
            "single": f"{agreement.min():.2f} to {agreement.max():.2f}",
            "few models": _FEW_MODELS if test in ("accuracy", "jsd", "disagreement") else ".",
        }
        if domain == "graph":
            values |= _on_cora(lines.set_index("architecture").agreement)
            values["ceiling"] = tables.mean_agreement(tables.columns("published", domain, test, quality)[["Cora"]])
        key = f"{domain}/{test.replace('_', ' ')}, {quality}"
        facts |= {f"{name}, {key}": value for name, value in values.items()}
        half = agreement.quantile(interpolation="lower")
        facts[f"agreement, {key}_p"] = norm.sf(min(mean, half) / CHANCE)
    return facts
