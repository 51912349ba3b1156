"""Judge the claims about steering on stand-ins, and what follows from the published tables themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.studies._checks import AGREES, DIFFERS, HOLDS_NOT
from shesha.studies._published import Found, claim, unreachable
from shesha.studies._sentences import SETS

if TYPE_CHECKING:
    import pandas as pd

Tables = Mapping[str, "pd.DataFrame"]
_OF_ALL = ("claim/all", "claim/unique", "claim/anisotropy", "claim/ratio falls", "claim/direction")
SAME = 0.95
"""Correlation of accuracy and max drop from which one is taken for the other."""


def found_of(
    tables: Tables, found: Mapping[str, Any], whole: Mapping[str, Any], published: pd.DataFrame | None
) -> dict[str, Found]:
    """Judge claims on stand-ins, and what follows from the published tables themselves."""
    assert published is not None
    made = _arithmetic(published)
    if tables:
        made |= _predicts(tables, found, whole) | _against_controls(tables) | _max_drop(tables)
    if set(tables) != set(SETS):
        # What is said of all three sets is not asked of two.
        made = {key: one for key, one in made.items() if key not in _OF_ALL}
    return made


def _predicts(tables: Tables, found: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Found]:
    rho = {name: float(table.accuracy.corr(table.max_drop, "spearman")) for name, table in tables.items()}
    return (
        _alone(found, rho)
        | _given_separability(found, whole)
        | _beside_fisher(found)
        | _unsupervised(found)
        | _inconsistent(found)
    )


def _clear(one: Any) -> bool:
    """Whether a correlation is positive beyond chance."""
    return bool(one.raw > 0 and one.raw_p < 0.05)


def _alone(found: Mapping[str, Any], rho: Mapping[str, float]) -> dict[str, Found]:
    """Whether supervised alignment foretells max drop, and whether max drop is more than accuracy."""
    raw = {name: result["supervised_alignment"] for name, result in found.items()}
    made = {}
    for name, one in raw.items():
        accuracy = f"accuracy of the probe alone correlates with max drop at {rho[name]:.2f} there"
        taken = f"{accuracy[0].upper()}{accuracy[1:]}: at these strengths max drop is accuracy."
        absent = f"Not found on these stand-ins; {accuracy}."
        made[f"claim/raw/{name}"] = claim(
            _clear(one) and rho[name] < SAME,
            f"{one.raw:.2f} (p = {one.raw_p:.3f})",
            taken if _clear(one) else absent,
            HOLDS_NOT if _clear(one) else DIFFERS,
        )
    clear = [name for name, one in raw.items() if _clear(one)]
    made["claim/all"] = claim(
        len(clear) == len(raw) and max(rho.values()) < SAME,
        ", ".join(f"{one.raw:.2f} ({name}, p = {one.raw_p:.3f})" for name, one in raw.items()),
        f"Clear in {len(clear)} of {len(raw)} sets of these stand-ins, and accuracy of the probe alone correlates with "
        f"max drop at {', '.join(f'{one:.2f}' for one in rho.values())}: at these strengths max drop is accuracy.",
    )
    return made


def _given_separability(found: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Found]:
    """Whether anything is left given Fisher and silhouette, once the layers of a network are exchanged together."""
    raw = {name: result["supervised_alignment"] for name, result in found.items()}
    together = {name: float(result["supervised_alignment"].partial_p) for name, result in whole.items()}
    beyond = {name: bool(one.partial > 0 and together[name] < 0.05) for name, one in raw.items()}
    told = {
        name: f"{one.partial:.2f} (p = {one.partial_p:.3f}, networks whole {together[name]:.3f})"
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
            else "Not found on these stand-ins, whose layers are even taken as independent.",
            HOLDS_NOT if apart else DIFFERS,
        )
    made["claim/unique"] = claim(
        all(beyond.values()),
        "; ".join(f"{name} {one}" for name, one in told.items()),
        f"Beyond chance in {sum(beyond.values())} of {len(beyond)} sets of these stand-ins, once layers of one network "
        "are exchanged together.",
    )
    return made


def _beside_fisher(found: Mapping[str, Any]) -> dict[str, Found]:
    made = {}
    for name, result in found.items():
        ours, fisher = result["supervised_alignment"], result["fisher"]
        either = _clear(ours) or _clear(fisher)
        made[f"claim/fisher/{name}"] = claim(
            either and ours.raw >= fisher.raw,
            f"{ours.raw:.2f} against {fisher.raw:.2f} (Fisher)",
            "Fisher's ratio does better on these stand-ins." if either else "Neither predicts on these stand-ins.",
            DIFFERS,
        )
    return made


def _unsupervised(found: Mapping[str, Any]) -> dict[str, Found]:
    split = {name: result["feature_split"] for name, result in found.items()}
    said = ", ".join(f"{one.raw:.2f} ({name}, p = {one.raw_p:.3f})" for name, one in split.items())
    made = {
        "claim/unsupervised/real": claim(
            not any(_clear(one) for name, one in split.items() if name != "Synthetic"),
            said,
            "On these stand-ins it predicts.",
            DIFFERS,
        )
    }
    if "Synthetic" in split:
        one = split["Synthetic"]
        turned = one.raw < 0 and one.raw_p < 0.05
        made["claim/unsupervised/synthetic"] = claim(
            _clear(one),
            said,
            "The correlation has the other sign on these stand-ins: encoders of a lower feature split drop more."
            if turned
            else "Not found on these stand-ins.",
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
    chance = {name: (table.max_drop.mean(), table.max_drop_chance.mean()) for name, table in tables.items()}
    made = {f"shuffled/{name}": Found(float(value), 0.002, "Otherwise.") for name, value in shuffled.items()}
    falls = bool(np.all(np.diff([ratios[name] for name in SETS if name in ratios]) < 0))
    said = ", ".join(f"{value:.1f} ({name})" for name, value in ratios.items())
    made["claim/ratio falls"] = claim(falls, said, "Not in this order.", DIFFERS)
    drop, by_chance = chance.get("MNLI", (math.nan, math.nan))
    made["claim/direction"] = claim(
        drop > 2 * by_chance,
        f"{said}; MNLI {drop:.3f}, shuffled labels {by_chance:.3f}",
        "Vectors of shuffled labels also move their own probe more than random directions do: on MNLI its accuracy "
        f"drops by {by_chance:.3f}, by those of the task {drop:.3f}, so a ratio of 1.3 to random directions is no "
        "evidence of a direction of the task.",
    )
    return made


def _max_drop(tables: Tables) -> dict[str, Found]:
    rhos = {name: table.accuracy.corr(table.max_drop, "spearman") for name, table in tables.items()}
    said = ", ".join(f"{value:.2f} ({name})" for name, value in rhos.items())
    full = ", ".join(
        f"{(t.max_drop >= 0.95 * t.largest_drop - 1e-6).sum()} of {len(t)} ({name})" for name, t in tables.items()
    )
    return {
        "claim/regardless of accuracy": claim(
            max(rhos.values()) < 0.5,
            f"accuracy and max drop: {said}",
            f"Encoders that reach 95 % of the largest drop there is: {full}. Max drop is then the accuracy less the "
            "share of one class.",
        ),
        "claim/causal": unreachable(
            "Correlations over encoders, of a target that is the accuracy of the probe at these strengths, name no "
            f"cause (accuracy and max drop: {said})."
        ),
        "claim/flips": claim(
            all(t.to_target.mean() > t.to_target_chance.mean() + 0.1 for t in tables.values()),
            "; ".join(f"{t.to_target.mean():.2f}, shuffled {t.to_target_chance.mean():.2f}" for t in tables.values()),
            "Rates are not published; at a strength of 2 vectors of shuffled labels flip nearly as many rows of their "
            "probe, so that a rate says nothing of the labels.",
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
