"""Judge the claims about steering on stand-ins, and what follows from the published tables themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.studies.checks import AGREES, DIFFERS, HOLDS_NOT, INCONCLUSIVE, UNREACHABLE
from shesha.studies.facts import Fact, Facts, mean_correlation
from shesha.studies.published import Found, claim, unreachable
from shesha_studies.causal_rows import CAUSAL
from shesha_studies.sentences import SETS

if TYPE_CHECKING:
    import pandas as pd

Tables = Mapping[str, "pd.DataFrame"]
_OF_ALL = ("claim/all", "claim/unique", "claim/anisotropy", "claim/ratio falls", "claim/direction")
SAME = 0.95
"""Correlation of accuracy and max drop from which one is taken for the other."""


@dataclass(frozen=True)
class Collection:
    """Encoders, and their correlations with max drop by set of sentences.

    Attributes
    ----------
    whole : mapping
        Networks exchanged with all their layers; of one network alone as `found`.
    called : str
        How they are spoken of.
    """

    tables: Tables
    found: Mapping[str, Any]
    whole: Mapping[str, Any]
    called: str


def found_of(encoders: Collection, causal: Collection, published: pd.DataFrame | None) -> dict[str, Found]:
    """Judge claims on encoders and on the causal model, and what follows from the published tables themselves."""
    assert published is not None
    also = _claims(causal)
    return _arithmetic(published) | {key: _both(one, also.get(key)) for key, one in _claims(encoders).items()}


def _claims(some: Collection) -> dict[str, Found]:
    if not some.tables:
        return {}
    made = _predicts(some) | _against_controls(some.tables) | _max_drop(some.tables)
    # What is said of all three sets is not asked of two.
    return made if set(some.tables) == set(SETS) else {key: one for key, one in made.items() if key not in _OF_ALL}


def _both(one: Found, other: Found | None) -> Found:
    """Join what is found on encoders and in the causal model: a claim agrees where it does on both."""
    if other is None or one.verdict in (None, UNREACHABLE):
        return one
    held = [found.verdict == AGREES for found in (one, other)]
    told = (
        "" if held[0] else one.why,
        f"In {CAUSAL} it is found." if held[1] and not held[0] else "" if held[1] else f"{CAUSAL}: {other.why}",
    )
    joined = f"{one.ours}; {CAUSAL}: {other.ours}"
    return replace(
        one, ours=joined, verdict=other.verdict if held[0] else one.verdict, why=" ".join(filter(None, told))
    )


def _predicts(some: Collection) -> dict[str, Found]:
    return (
        _alone(some)
        | _given_separability(some)
        | _beside_fisher(some)
        | _unsupervised(some)
        | _inconsistent(some.found)
    )


def _clear(one: Any) -> bool:
    """Whether a correlation is positive beyond chance."""
    return bool(one.raw > 0 and one.raw_p < 0.05)


def _alone(some: Collection) -> dict[str, Found]:
    """Whether supervised alignment foretells max drop, and whether max drop is more than accuracy."""
    raw = {name: result["supervised_alignment"] for name, result in some.found.items()}
    rho = {name: float(table.accuracy.corr(table.max_drop, "spearman")) for name, table in some.tables.items()}
    made = {}
    for name, one in raw.items():
        accuracy = f"accuracy of the probe alone correlates with max drop at {rho[name]:.2f} there"
        taken = f"{accuracy[0].upper()}{accuracy[1:]}: at these strengths max drop is accuracy."
        turned = one.raw < 0 and one.raw_p < 0.05
        absent = f"{'The other way round' if turned else 'Not found'} on {some.called}; {accuracy}."
        made[f"claim/raw/{name}"] = claim(
            _clear(one) and rho[name] < SAME,
            f"{one.raw:.2f} (p = {one.raw_p:.3f})",
            taken if _clear(one) else absent,
            HOLDS_NOT if _clear(one) else DIFFERS if turned else INCONCLUSIVE,
        )
    return made


def _given_separability(some: Collection) -> dict[str, Found]:
    """Whether anything is left given Fisher and silhouette, once the layers of a network are exchanged together."""
    raw = {name: result["supervised_alignment"] for name, result in some.found.items()}
    together = {name: float(result["supervised_alignment"].partial_p) for name, result in some.whole.items()}
    beyond = {name: bool(one.partial > 0 and together[name] < 0.05) for name, one in raw.items()}
    turned = {name: bool(one.partial < 0 and together[name] < 0.05) for name, one in raw.items()}
    several = some.whole is not some.found
    told = {
        name: f"{one.partial:.2f} (p = {one.partial_p:.3f}"
        + (f", networks whole {together[name]:.3f})" if several else ")")
        for name, one in raw.items()
    }
    made = {}
    for name, one in raw.items():
        apart = one.partial > 0 and one.partial_p < 0.05
        made[f"claim/partial/{name}"] = claim(
            beyond[name],
            told[name],
            "No more than chance given Fisher and silhouette, once layers of one network are exchanged together; few "
            "networks cannot rule it out for others."
            if apart
            else f"Not found on {some.called}, where layers are even taken as independent.",
            DIFFERS if turned[name] else INCONCLUSIVE,
        )
    made["claim/unique"] = claim(
        all(beyond.values()),
        "; ".join(f"{name} {one}" for name, one in told.items()),
        f"Beyond chance in {sum(beyond.values())} of {len(beyond)} sets on {some.called}"
        + (", once layers of one network are exchanged together." if several else "."),
        HOLDS_NOT if any(turned.values()) else INCONCLUSIVE,
    )
    return made


def _beside_fisher(some: Collection) -> dict[str, Found]:
    made = {}
    for name, result in some.found.items():
        ours, fisher = result["supervised_alignment"], result["fisher"]
        either = _clear(ours) or _clear(fisher)
        made[f"claim/fisher/{name}"] = claim(
            either and ours.raw >= fisher.raw,
            f"{ours.raw:.2f} against {fisher.raw:.2f} (Fisher)",
            f"Fisher's ratio does better on {some.called}." if either else f"Neither predicts on {some.called}.",
            DIFFERS if either else INCONCLUSIVE,
        )
    return made


def _unsupervised(some: Collection) -> dict[str, Found]:
    split = {name: result["feature_split"] for name, result in some.found.items()}
    said = ", ".join(f"{one.raw:.2f} ({name}, p = {one.raw_p:.3f})" for name, one in split.items())
    related = [name for name, one in split.items() if name != "Synthetic" and one.raw_p <= 0.05]
    made = {
        "claim/unsupervised/real": claim(
            False,
            said,
            f"On {some.called} it goes with the drop, in {' and '.join(related)}.",
            DIFFERS,
        )
        if related
        else Found(said, why="No p-value above 0.05 shows that it fails.", verdict=INCONCLUSIVE)
    }
    if "Synthetic" in split:
        one = split["Synthetic"]
        turned = one.raw < 0 and one.raw_p < 0.05
        made["claim/unsupervised/synthetic"] = claim(
            _clear(one),
            said,
            f"The correlation has the other sign on {some.called}: those of a lower feature split drop more."
            if turned
            else f"Not found on {some.called}.",
            DIFFERS,
        )
    return made


def _inconsistent(found: Mapping[str, Any]) -> dict[str, Found]:
    anisotropy = [result["anisotropy"].raw for result in found.values()]
    said = ", ".join(f"{one:.2f}" for one in anisotropy)
    return {"claim/anisotropy": claim(max(anisotropy) - min(anisotropy) > 0.2, said, "It is alike.", DIFFERS)}


def _against_controls(tables: Tables) -> dict[str, Found]:
    shuffled = {name: table.alignment_chance.mean() for name, table in tables.items()}
    ratios = {name: table.max_drop.mean() / table.random_drop.mean() for name, table in tables.items()}
    made = {f"shuffled/{name}": Found(float(value), 0.002, "Otherwise.") for name, value in shuffled.items()}
    falls = bool(np.all(np.diff([ratios[name] for name in SETS if name in ratios]) < 0))
    said = ", ".join(f"{value:.1f} ({name})" for name, value in ratios.items())
    made["claim/ratio falls"] = claim(falls, said, "Not in this order.", DIFFERS)
    return made


def _max_drop(tables: Tables) -> dict[str, Found]:
    rhos = {name: table.accuracy.corr(table.max_drop, "spearman") for name, table in tables.items()}
    said = ", ".join(f"{value:.2f} ({name})" for name, value in rhos.items())
    reached = {name: (int((t.max_drop >= 0.95 * t.largest_drop - 1e-6).sum()), len(t)) for name, t in tables.items()}
    full = ", ".join(f"{n} of {of} ({name})" for name, (n, of) in reached.items())
    all_of_one = sum(n for n, _ in reached.values()) > sum(of for _, of in reached.values()) / 2
    return {
        "claim/regardless of accuracy": claim(
            max(map(abs, rhos.values())) < 0.5,
            f"accuracy and max drop: {said}",
            f"Those that reach 95 % of the largest drop there is: {full}. "
            + (
                "Max drop is then the accuracy less the share of one class."
                if all_of_one
                else "Strengths of 2 are small beside their rows, and more accurate layers drop less."
            ),
        ),
        "claim/causal": unreachable(
            "Correlations over encoders, of a target that is the accuracy of the probe at these strengths, name no "
            f"cause (accuracy and max drop: {said})."
        ),
        "claim/flips": claim(
            all(t.to_target.mean() > t.to_target_chance.mean() + 0.1 for t in tables.values()),
            "; ".join(f"{t.to_target.mean():.2f}, shuffled {t.to_target_chance.mean():.2f}" for t in tables.values()),
            "Rates are not published; at a strength of 2 vectors of shuffled labels flip nearly as many rows of their "
            "probe, or more, so that a rate says nothing of the labels.",
        ),
    }


def _arithmetic(published: pd.DataFrame) -> dict[str, Found]:
    """p-values that follow from published correlations and numbers of encoders, and counts that are products."""
    from scipy.stats import t

    told = dict(zip(published.key.astype(str), published.published.astype(str), strict=True))
    made = {"observations/69": Found(float(69 * 15)), "observations/35": Found(float(35 * 15))}
    for key, value in told.items():
        if not key.startswith("p/"):
            continue
        _, n, of = key.split("/", 2)
        freedom = int(n) - 2 - (2 if "partial" in of else 0)
        rho = abs(float(told[of]))
        p = float(2 * t.sf(rho * math.sqrt(freedom / (1 - rho**2)), freedom))
        holds = _said(p, value)
        made[key] = Found(p, 0.0, f"A correlation of {rho:g} over {n} has p = {p:.2g}.", AGREES if holds else DIFFERS)
    return made


def _said(p: float, value: str) -> bool:
    """Whether a p-value is as said: below a bound (to a power of ten), about a number, or not significant."""
    if value == "n.s.":
        return p > 0.05
    if value.startswith("<"):
        return round(math.log10(p)) <= round(math.log10(float(value.removeprefix("<"))))
    return abs(math.log10(p) - math.log10(float(value))) < math.log10(1.5)


AT_CHANCE = 0.05
"""A probe whose accuracy exceeds the larger class's share by less says nothing of its direction."""


def make_facts(encoders: Collection, small: Mapping[str, Any]) -> Facts:
    """Correlations over encoders, as if each were drawn, and what steering by shuffled labels does."""
    n = min(len(table) for table in encoders.tables.values())
    at = "supervised_alignment"
    raw, partial = ([getattr(one[at], name) for one in encoders.found.values()] for name in ("raw", "partial"))
    split = [one["feature_split"].raw for name, one in encoders.found.items() if name != "Synthetic"]
    lengths = [one[at].raw for one in small.values()]
    drops = {name: (t.max_drop.mean(), t.max_drop_chance.mean()) for name, t in encoders.tables.items()}
    ratios = [float(t.max_drop.mean() / t.random_drop.mean()) for t in encoders.tables.values()]
    own = {name: float(drop - chance) for name, (drop, chance) in drops.items()}
    read = [name for name, t in encoders.tables.items() if t.max_drop.mean() > AT_CHANCE]
    found = {
        "alignment": mean_correlation(raw, n),
        "alignment_given_separability": mean_correlation(partial, n, 2),
        "split": mean_correlation(split, n),
        "ratio_to_random": Fact(min(ratios)),
        "beyond_shuffled": Fact(min(own[name] for name in read)),
    }
    return found | ({"alignment_in_lengths": mean_correlation(lengths, 30)} if lengths else {})
