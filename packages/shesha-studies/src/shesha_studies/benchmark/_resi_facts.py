"""Facts of the study `resi`: places of measures in the published tables and in our small suites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from shesha.benchmark import published_runtimes, rank
from shesha.benchmark.paper_tables import measure_type
from shesha.studies.facts import Fact, Facts, as_facts, over_draws
from shesha_studies.benchmark import _resi_scores_and_places as tables

DOMAINS = ("graph", "language", "vision")
NEIGHBOURS = ("2nd-Cos", "Jaccard", "RankSim")
CHANCE = 1 / np.sqrt(23)
"""Standard deviation of the rank correlation between two random orders of 24 measures."""
_SOURCES = ("published", "small")
_RESAMPLED = {"published": "resampled", "small": "small"}
"""Ends of the names of facts whose limits come from draws of the data sets and networks."""


class Places:
    """Positions of all measures, by domain and source, from the rows of the study."""

    def __init__(self, rows: pd.DataFrame) -> None:
        ranks = rows[rows.part == "ranks"]
        self.of = {(line.domain, line.dataset): line for _, line in ranks.iterrows()}

    def place(self, measure: str, domain: str, source: str = "published") -> int:
        """Return the position; 1 is best."""
        return int(self.of[domain, source][measure])

    def first(self, domain: str, source: str = "published") -> list[str]:
        """Return the measures from the best."""
        names = [name for name in tables.scores("published").measure.unique() if name in self.of[domain, source].index]
        return sorted(names, key=lambda name: self.place(name, domain, source))

    def share(self, measure: str, domain: str, source: str = "published") -> float:
        """Return how often a measure is first if data sets and networks are resampled."""
        return float(self.of[domain, source][f"{measure} first"])


def make_facts(rows: pd.DataFrame) -> Facts:
    """Positions of measures in the published tables and in our small suites, and how often they keep these
    positions."""
    places = Places(rows)
    facts: dict[str, Fact] = _place_facts(places, "published")
    for name, domain in (("CKA", "language"), ("Jaccard", "vision")):
        often = (places.share(name, domain), tables.share_first_by_mean(name, domain))
        for what, share in zip(("often", "often_by_mean", "often_best"), (*often, max(often)), strict=True):
            facts[f"{name.casefold()}_{what}"] = Fact(share)
    for source, end in _RESAMPLED.items():
        facts |= _resampled_places(places, source, end)
    for name, domain in (("Jaccard", "vision"), ("CKA", "language")):
        facts[f"{name.casefold()}_{domain}_by_mean"] = Fact(float(tables.place_by_mean(name, domain)))
        both = (facts[f"{name.casefold()}_{domain}_{end}"].value for end in ("published", "by_mean"))
        facts[f"{name.casefold()}_{domain}_best"] = Fact(min(both))
    facts |= _procrustes()
    looks = (
        _column_scores(),
        _networks(),
        _prominent(places),
        _families(places),
        _cka_positions(places),
        _for_outputs(),
        _orders(rows, places),
    )
    return facts | as_facts({name: value for part in looks for name, value in part.items()})


def _procrustes() -> dict[str, Fact]:
    """Return the distance in rank of two versions of Procrustes, and the change in rank of one between draws of
    columns."""
    facts: dict[str, Fact] = {}
    for source in _SOURCES:
        apart = np.array(tables.distance_by_test("OrthProc", "ProcDist", source))
        moves = np.mean([tables.distance_by_draws(name, source) for name in ("OrthProc", "ProcDist")], axis=0)
        facts |= {
            f"procrustes_{source}": Fact(float(np.mean(apart))),
            f"procrustes_moves_{source}": Fact(float(np.mean(moves))),
            f"procrustes_beyond_{source}": over_draws(apart - moves),
            f"tests_{source}": Fact(float(len(apart))),
        }
    return facts


def _place_facts(places: Places, source: str) -> dict[str, Fact]:
    """Places in the tables of one source."""
    facts: dict[str, Fact] = {}
    first = [places.first(domain, source)[0] for domain in DOMAINS]
    facts[f"most_first_{source}"] = Fact(float(max(first.count(name) for name in first)))
    for name, measures, domains in _PLACES:
        worst = max(places.place(measure, domain, source) for measure in measures for domain in domains)
        facts[f"{name}_{source}"] = Fact(float(worst))
    halves = [sum(places.place(measure, domain, source) <= _TOP for domain in DOMAINS) for measure in ("RSA", "SVCCA")]
    facts[f"outstanding_{source}"] = Fact(float(max(halves)))
    return facts


def _prominent(places: Places) -> dict[str, str]:
    """Return the places of RSA and SVCCA in each domain."""
    return {
        f"outstanding_{source} in words": " and ".join(
            f"{name} " + ", ".join(str(places.place(name, domain, source)) for domain in DOMAINS)
            for name in ("RSA", "SVCCA")
        )
        for source in _SOURCES
    }


def _resampled_places(places: Places, source: str, end: str) -> dict[str, Fact]:
    """Places in the tables of one source, with the interval of draws of their data sets and networks."""
    drawn = {domain: tables.drawn_places(source, domain) for domain in DOMAINS}

    def over_draws_of(value: float, values: Any) -> Fact:
        low, high = np.percentile(values, [2.5, 97.5])
        return Fact(value, float(low), float(high))

    draws = {
        f"{name}_": np.max([drawn[domain][list(measures)].to_numpy().max(axis=1) for domain in domains], axis=0)
        for name, measures, domains in _PLACES
    }
    tops = [[drawn[domain][measure].to_numpy() <= _TOP for domain in DOMAINS] for measure in ("RSA", "SVCCA")]
    first = [drawn[domain].idxmin(axis=1) for domain in DOMAINS]
    draws["outstanding_"] = np.sum(tops, axis=1).max(axis=0)
    draws["most_first_"] = np.array([max(map(names.count, names)) for names in zip(*first, strict=True)])
    found = _place_facts(places, source)
    return {name + end: over_draws_of(found[name + source].value, values) for name, values in draws.items()}


_TOP = 12
_PLACES = (
    ("cka_language", ("CKA",), ("language",)),
    ("cka_vision", ("CKA",), ("vision",)),
    ("cka_graph", ("CKA",), ("graph",)),
    ("jaccard_vision", ("Jaccard",), ("vision",)),
    ("neighbours_graph", NEIGHBOURS, ("graph",)),
    ("orthproc", ("OrthProc",), DOMAINS),
)


def _column_scores() -> dict[str, Any]:
    """Scores of single columns: GraphSAGE's layers and shortcuts, and runtimes."""
    facts: dict[str, Any] = {}
    for source, column in (("published", ("Flickr", "SAGE", "")), ("small", ("Cora", "SAGE", ""))):
        layers, cuts = (
            tables.columns(source, "graph", *selection)[column]
            for selection in (("layer_monotonicity", "conformity"), ("shortcut", "auprc"))
        )
        facts[f"layers_{source}"] = Fact(float(layers[["EOS", "GULP"]].min()))
        facts[f"shortcuts_{source}"] = Fact(float((cuts[["EOS", "GULP"]] - cuts.median()).max()))
    for name, selection in (("layers", ("layer_monotonicity", "conformity")), ("shortcuts", ("shortcut", "auprc"))):
        # The interval is over data sets, because a single column has no spread.
        table = tables.columns("published", "graph", *selection).xs("SAGE", level="architecture", axis=1)
        table = table - table.median() if name == "shortcuts" else table
        ends = table.loc[["EOS", "GULP"]]
        facts[f"{name}_of_all"] = over_draws(ends.max() if name == "shortcuts" else ends.min())
    seconds = published_runtimes()
    # Times are printed to a millisecond, so the smallest may be longer by half of one.
    facts["runtimes"] = Fact(float(f"{(seconds.max() / (seconds.where(seconds > 0).min() + 5e-4)).min():.2g}"))
    return facts


_ON_BERT = {
    "BERT outputs": (NEIGHBOURS, ("jsd", "spearman"), 0.75),
    "BERT concentricity": (("ConcDiff",), ("label_randomization", "auprc"), 0.5),
    "uniformity": (("UnifDiff",), ("augmentation", "auprc"), 0.75),
}
"""Measures, a test and a score, and the quantile over all measures with which the mean of these is compared."""
_TABLE_3 = ("SST2", "BERT", "cls")
"""Column of language that the paper shows as its example."""


def _networks() -> dict[str, Any]:
    """Return by how much scores exceed a quantile of all measures, over the columns of BERT and of MiniLM, and the
    lowest place of the measures in each column of BERT."""
    facts: dict[str, Any] = {}
    for key, (measures, selection, least) in _ON_BERT.items():
        table = tables.columns("published", "language", *selection)
        lowest = table.rank(ascending=False, method="min").loc[list(measures)].max()
        facts[f"{key}, Table 3"] = lowest[_TABLE_3]
        bert: pd.Series[float] = lowest.xs("BERT", level="architecture")
        facts[f"{key}, places in words"] = ", ".join(
            f"{bert[column]:.0f} ({', '.join(map(str, column))})" for column in bert.index
        )
        for source, network in zip(_SOURCES, ("BERT", "MiniLM"), strict=True):
            facts[f"{key}, {source}"] = _over_columns(
                tables.columns(source, "language", *selection), measures, least, network
            )
    return facts


def _over_columns(table: pd.DataFrame, measures: Sequence[str], least: float, network: str) -> Fact:
    """Return the same, with the interval over columns: data sets and poolings."""
    scores = table[[column for column in table.columns if column[1] == network]]
    return over_draws(scores.loc[list(measures)].mean() - scores.quantile(least))


def _cka_positions(places: Places) -> dict[str, Any]:
    """Count the domains in which CKA does not have the position that the text states."""
    stated = {"language": 1, "vision": 8, "graph": 11}
    positions = {source: {domain: places.place("CKA", domain, source) for domain in DOMAINS} for source in _SOURCES}
    phrases = (f"{positions['published'][domain]} / {positions['small'][domain]} ({domain})" for domain in DOMAINS)
    return {
        **{f"CKA elsewhere, {name}": sum(stated[k] != v for k, v in row.items()) for name, row in positions.items()},
        "CKA in words": ", ".join(phrases),
    }


_BETTER = ("Alignment", "RSM", "Neighbors")


def _families(places: Places) -> dict[str, Any]:
    """Return how many positions the worst of the better families is ahead of the best other family."""
    facts: dict[str, Any] = {}
    for source in _SOURCES:
        means: dict[str, list[int]] = {}
        for name in tables.scores("published").measure.unique():
            means.setdefault(measure_type(name), []).extend(places.place(name, domain, source) for domain in DOMAINS)
        mean = {family: float(np.mean(all_of)) for family, all_of in means.items()}
        better, worse = ([value for name, value in mean.items() if (name in _BETTER) == flag] for flag in (True, False))
        ahead = min(worse) - max(better)
        facts |= {f"families, {source}": ahead, f"families, {_RESAMPLED[source]}": _drawn_families(ahead, source)}
        phrases = (f"{name} {value:.1f}" for name, value in sorted(mean.items(), key=lambda item: item[1]))
        facts[f"families, {source}, in words"] = ", ".join(phrases)
    return facts


def _drawn_families(value: float, source: str) -> Fact:
    """Return the same with the interval of draws of the data sets and networks."""
    drawn = [tables.drawn_places(source, domain) for domain in DOMAINS]
    families = np.array([measure_type(str(name)) for name in drawn[0].columns])
    places = np.mean([table.to_numpy() for table in drawn], axis=0)
    means = {name: places[:, families == name].mean(axis=1) for name in dict.fromkeys(families)}
    better, worse = ([mean for name, mean in means.items() if (name in _BETTER) == flag] for flag in (True, False))
    ahead = np.min(worse, axis=0) - np.max(better, axis=0)
    return Fact(value, *(float(end) for end in np.percentile(ahead, [2.5, 97.5])))


def _for_outputs() -> dict[str, Any]:
    """Return the positions in the output test of the measures that the text recommends for it."""
    wanted = {"vision": "Jaccard", "language": "DistCorr", "graph": "RSA"}
    facts: dict[str, Any] = {}
    for source in _SOURCES:
        ranks = rank(tables.scores(source), tests=["disagreement"])
        parts = {str(domain): group.set_index("measure") for domain, group in ranks.groupby("domain")}
        worst = {}
        for how, places in (("", "position"), (" by mean", "mean")):
            positions = {domain: int(parts[domain][places].rank(method="min")[name]) for domain, name in wanted.items()}
            worst[how] = max(positions.values())
            text = ", ".join(f"{wanted[domain]} {place} ({domain})" for domain, place in positions.items())
            facts[f"outputs, {source}{how}, in words"] = text
        facts |= {f"outputs, {source}": min(worst.values()), f"outputs, {source} by median": worst[""]}
    for source, end in _RESAMPLED.items():
        drawn = [tables.drawn_places(source, domain, "disagreement")[name] for domain, name in wanted.items()]
        low, high = np.percentile(np.max(drawn, axis=0), [2.5, 97.5])
        facts[f"outputs, {end}"] = Fact(float(facts[f"outputs, {source} by median"]), float(low), float(high))
    shares = (tables.drawn_places("published", domain, "disagreement")[name] for domain, name in wanted.items())
    phrases = (f"{(share == 1).mean():.0%} ({share.name})" for share in shares)
    return facts | {"outputs, first in words": ", ".join(phrases)}


def _orders(rows: pd.DataFrame, places: Places) -> dict[str, float]:
    """Agreement of our order of the measures with the published one, over all tests and by single columns."""
    values, groups = {}, rows[rows.part == "table"].groupby(["domain", "test", "quality"])
    means = groups[["agreement", "published_agreement"]].mean().groupby("domain").mean()
    for domain in DOMAINS:
        names = places.first(domain)
        published_places, small_places = ([places.place(name, domain, source) for name in names] for source in _SOURCES)
        values[f"order, {domain}"] = float(np.corrcoef(published_places, small_places)[0, 1])
        values[f"columns, {domain}"] = float(means.agreement[domain])
        values[f"published columns, {domain}"] = float(means.published_agreement[domain])
    return values
