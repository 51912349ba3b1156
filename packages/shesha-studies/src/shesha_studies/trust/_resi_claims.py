"""The benchmark's claims in words, looked for in the published tables and in our small suites."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from shesha.benchmark import published_runtimes
from shesha.benchmark.tables import measure_type
from shesha.studies.checks import AGREES, DIFFERS, HOLDS_NOT, NOT_RUN, Check
from shesha.studies.facts import Fact, Facts
from shesha.studies.published import ABSENT
from shesha_studies.trust import _resi as tables

if TYPE_CHECKING:
    import pandas as pd

DOMAINS = ("graph", "language", "vision")
NEIGHBOURS = ("2nd-Cos", "Jaccard", "RankSim")
_STAND_INS = "other data and networks than the published ones (SST-2, MNLI, Fashion-MNIST and CIFAR-10 subsets)"


class Found(NamedTuple):
    """What the tables say of a claim: whether it is so in the published ones, and in ours, and with which numbers."""

    there: bool
    here: bool | None
    numbers: str
    why: str = ""


class Places:
    """Positions of all measures, by domain and source, from the rows of the study."""

    def __init__(self, rows: pd.DataFrame) -> None:
        own = rows[rows.part == "ranks"]
        self.of = {(line.domain, line.dataset): line for _, line in own.iterrows()}

    def place(self, measure: str, domain: str, source: str = "published") -> int:
        """Return the position; 1 is best."""
        return int(self.of[domain, source][measure])

    def first(self, domain: str, source: str = "published") -> list[str]:
        """Return the measures from the best."""
        names = [name for name in tables.scores("published").measure.unique() if name in self.of[domain, source].index]
        return sorted(names, key=lambda name: self.place(name, domain, source))

    def share(self, measure: str, domain: str, source: str = "published") -> float:
        """Return how often it is first where data sets and networks are drawn anew."""
        return float(self.of[domain, source][f"{measure} first"])

    def told(self, measures: tuple[str, ...], domains: tuple[str, ...] = DOMAINS) -> str:
        """Name positions, published / ours."""
        return "; ".join(
            f"{name} "
            + ", ".join(
                f"{self.place(name, domain)} / {self.place(name, domain, 'small')}"
                + f" ({domain})" * (len(domains) > 1)
                for domain in domains
            )
            for name in measures
        )


def _above_median(
    measures: tuple[str, ...], test: str, quality: str, theirs: tuple[str, str], ours: tuple[str, str], least: float
) -> Callable[[Places], Found]:
    """Whether the measures' scores exceed a quantile of all, averaged over the columns of a network."""

    def look(places: Places) -> Found:
        found, said = [], []
        for source, (domain, network) in (("published", theirs), ("small", ours)):
            table = tables.columns(source, domain, test, quality)
            mean = table[[one for one in table.columns if one[1] == network]].mean(axis=1)
            found.append(bool((mean[list(measures)] >= mean.quantile(least)).all()))
            values = ", ".join(f"{name} {mean[name]:.2f}" for name in measures)
            said.append(f"{network}: {values} (median measure {mean.median():.2f}, best {mean.max():.2f})")
        return Found(found[0], found[1], "; ".join(said))

    return look


def _stated(places: Places) -> Found:
    wanted = {"language": 1, "vision": 8, "graph": 11}
    there = all(places.place("CKA", domain) == place for domain, place in wanted.items())
    here = all(places.place("CKA", domain, "small") == place for domain, place in wanted.items())
    return Found(there, here, places.told(("CKA",)))


_BETTER = ("Alignment", "RSM", "Neighbors")


def _families(places: Places) -> Found:
    found, told = [], []
    for source in _SOURCES:
        means: dict[str, list[int]] = {}
        for name in tables.scores("published").measure.unique():
            means.setdefault(measure_type(name), []).extend(places.place(name, one, source) for one in DOMAINS)
        mean = {family: sum(all_of) / len(all_of) for family, all_of in means.items()}
        better, worse = ([value for name, value in mean.items() if (name in _BETTER) == one] for one in (True, False))
        found.append(max(better) < min(worse))
        told.append(", ".join(f"{name} {value:.1f}" for name, value in sorted(mean.items(), key=lambda one: one[1])))
    why = "RTD alone, of the two topological measures, is among the first three of graphs and vision"
    return Found(found[0], found[1], f"mean positions: {' / '.join(told)}", why)


def _outputs(places: Places) -> Found:
    from shesha.benchmark import rank

    wanted = {"vision": "Jaccard", "language": "DistCorr", "graph": "RSA"}
    found, told = [], []
    for source in _SOURCES:
        ranks = rank(tables.scores(source), tests=["disagreement"]).sort_values("mean")
        first = {domain: list(own.measure) for domain, own in ranks.groupby("domain")}
        found.append(all(first[domain][0] == name for domain, name in wanted.items()))
        told.append(", ".join(f"{name} {first[domain].index(name) + 1} ({domain})" for domain, name in wanted.items()))
    return Found(found[0], found[1], f"disagreement, positions by mean rank: {' / '.join(told)}")


_SOURCES = ("published", "small")
_LOOKS: Mapping[str, Callable[[Places], Found]] = {
    "BERT outputs": _above_median(NEIGHBOURS, "jsd", "spearman", ("language", "BERT"), ("language", "MiniLM"), 0.5),
    "BERT concentricity": _above_median(
        ("ConcDiff",), "label_randomization", "auprc", ("language", "BERT"), ("language", "MiniLM"), 0.5
    ),
    "CKA positions": _stated,
    "families": _families,
    "outputs": _outputs,
    "uniformity": _above_median(
        ("UnifDiff",), "augmentation", "auprc", ("language", "BERT"), ("language", "MiniLM"), 0.75
    ),
}


def claims(rows: pd.DataFrame, published: pd.DataFrame) -> list[Check]:
    """Return a check for each claim: so in the published tables, and in ours."""
    places, checks = Places(rows), []
    for _, line in published.iterrows():
        if line.key not in _LOOKS:
            # Its claim is data, and the engine decides it.
            checks.append(Check(line["where"], line.claim, line.published, None, NOT_RUN, ABSENT))
            continue
        found = _LOOKS[line.key](places)
        if not found.there:
            verdict, why = HOLDS_NOT, f"the published tables do not bear it out: {found.why or found.numbers}"
        elif found.here is False:
            verdict, why = DIFFERS, f"so in the published tables, not in our small suites: {_STAND_INS}"
        else:
            verdict, why = AGREES, ""
        checks.append(Check(line["where"], line.claim, line.published, found.numbers, verdict, why))
    return checks


def make_facts(rows: pd.DataFrame) -> Facts:
    """Places of measures in the published tables and in our small suites, and how often they keep them."""
    places = Places(rows)
    made: dict[str, Fact] = {}
    for source in _SOURCES:
        first = [places.first(domain, source)[0] for domain in DOMAINS]
        made[f"most_first_{source}"] = Fact(float(max(first.count(name) for name in first)))
        for name, measures, domains in _PLACES:
            worst = max(places.place(one, domain, source) for one in measures for domain in domains)
            made[f"{name}_{source}"] = Fact(float(worst))
        fives = [sum(places.place(one, domain, source) <= _TOP for domain in DOMAINS) for one in ("RSA", "SVCCA")]
        made[f"outstanding_{source}"] = Fact(float(max(fives)))
        apart = [abs(places.place("OrthProc", one, source) - places.place("ProcDist", one, source)) for one in DOMAINS]
        made[f"procrustes_apart_{source}"] = Fact(float(max(apart)))
    for name, domain in (("CKA", "language"), ("Jaccard", "vision")):
        made[f"{name.casefold()}_often"] = Fact(places.share(name, domain))
    return made | _of_columns()


_TOP = 5
_PLACES = (
    ("cka_language", ("CKA",), ("language",)),
    ("cka_vision", ("CKA",), ("vision",)),
    ("cka_graph", ("CKA",), ("graph",)),
    ("jaccard_vision", ("Jaccard",), ("vision",)),
    ("neighbours_graph", NEIGHBOURS, ("graph",)),
    ("orthproc", ("OrthProc",), DOMAINS),
)


def _of_columns() -> dict[str, Fact]:
    """Scores of single columns: GraphSAGE's layers and shortcuts, and runtimes."""
    made = {}
    for source, column in (("published", ("Flickr", "SAGE", "")), ("small", ("Cora", "SAGE", ""))):
        layers, cuts = (
            tables.columns(source, "graph", *of)[column]
            for of in (("layer_monotonicity", "conformity"), ("shortcut", "auprc"))
        )
        made[f"layers_{source}"] = Fact(float(layers[["EOS", "GULP"]].min()))
        made[f"shortcuts_{source}"] = Fact(float((cuts[["EOS", "GULP"]] - cuts.median()).max()))
    seconds = published_runtimes()
    made["runtimes"] = Fact(float((seconds.max() / seconds.where(seconds > 0).min()).min()))
    return made
