"""Correlations with max drop over encoders, beside Tables 18 to 21: tables, picture and checks of `steering`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.plots import PALETTE, pyplot
from shesha.steering import partial_correlations
from shesha.studies._checks import AGREES, DIFFERS
from shesha.studies._encoders import FAMILIES
from shesha.studies._published import Found, claim, unreachable
from shesha.studies._sentences import SETS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Tables = Mapping[str, "pd.DataFrame"]
METRICS = {
    "supervised_alignment": "supervised alignment",
    "feature_split": "feature split",
    "procrustes": "Procrustes",
    "fisher": "Fisher",
    "silhouette": "silhouette",
    "anisotropy": "anisotropy",
}
_THIRTY_FIVE = (
    "A correlation over published sentence encoders (35 or 69), of which one, MiniLM-L6, is at hand: its layers, "
    "trained or not, and encoders that count words stand in for the claims."
)
UNREACHABLE = {"model/": _THIRTY_FIVE, "family/": _THIRTY_FIVE}


_OF_ALL = ("claim/all", "claim/unique", "claim/anisotropy", "claim/ratio falls", "claim/direction")
MIN_ENCODERS = 8


def over_encoders(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """One table per set of sentences, one line per encoder: means over seeds; sets of few encoders are left out."""
    numbers = [name for name in rows.columns if name not in ("sentences", "encoder", "seed")]
    found = {}
    for name, own in rows.groupby("sentences", sort=False):
        # Drops are counts of rows: what differs by less than that is rounding, and must not have a rank.
        table = own.groupby("encoder", sort=False)[numbers].mean().round(5).reset_index()
        if len(table) >= MIN_ENCODERS:
            found[str(name)] = table.assign(family=table.encoder.str.partition(":")[0])
    return found


def correlations(table: pd.DataFrame, target: str, *, whole: bool = False) -> Any:
    """Rank correlations with the target, raw and given Fisher and silhouette, with chance.

    The layers of a network are no independent witnesses: `whole` exchanges networks, each with all its layers.
    """
    network = table.family.str.partition(",")[0].where(table.family != "words", table.encoder)
    columns = {name: table[name].to_numpy() for name in (*METRICS, target)}
    return partial_correlations(columns, target, groups=network.to_numpy() if whole else None, n_draws=499, seed=0)


def tables_of(
    tables: Tables, found: Mapping[str, Any], small: Mapping[str, Any], whole: Mapping[str, Any]
) -> tuple[tuple[str, pd.DataFrame], ...]:
    """Tables of the page: correlations, those at small strengths, what max drop is, controls."""
    import pandas as pd

    lines = [
        {
            "sentences": name,
            "metric": label,
            "raw": one.raw,
            "95 % interval": f"{one.raw_low:.2f} to {one.raw_high:.2f}",
            "p": one.raw_p,
            "partial": one.partial,
            "p of partial": one.partial_p,
            "p of partial, networks whole": whole[name][metric].partial_p,
            "raw, small strengths": small[name][metric].raw,
            "partial, small strengths": small[name][metric].partial,
        }
        for name, result in found.items()
        for metric, label in METRICS.items()
        for one in (result[metric],)
    ]
    return (
        ("Rank correlations with max drop over encoders", pd.DataFrame(lines)),
        ("What max drop is, and controls (means over encoders)", pd.DataFrame(_controls(tables))),
        ("The seven mean-pooled layers of MiniLM alone", pd.DataFrame(_layers(tables))),
    )


def _controls(tables: Tables) -> list[dict[str, object]]:
    return [
        {
            "sentences": name,
            "max drop": table.max_drop.mean(),
            "largest possible": table.largest_drop.mean(),
            "shuffled labels": table.max_drop_chance.mean(),
            "random directions": table.random_drop.mean(),
            "accuracy and max drop, Spearman": table.accuracy.corr(table.max_drop, "spearman"),
            "alignment": table.supervised_alignment.mean(),
            "alignment, shuffled": table.alignment_chance.mean(),
            "flips": table.to_target.mean(),
            "flips, shuffled": table.to_target_chance.mean(),
        }
        for name, table in tables.items()
    ]


def _layers(tables: Tables) -> list[dict[str, object]]:
    """Rank correlations of seven numbers, of which chance passes 0.75 in 5 %; equal max drops have none."""
    made = []
    for name, table in tables.items():
        own = table[table.family == FAMILIES[0]]
        varies = len(own) > 2 and float(np.ptp(own.max_drop)) > 1e-9
        told = {
            label: own[metric].corr(own.max_drop, "spearman") if varies else math.nan
            for metric, label in METRICS.items()
        }
        made.append({"sentences": name, **told})
    return made


def drawn(tables: Tables) -> Figure:
    """Alignment and accuracy against max drop, encoder by encoder."""
    figure: Figure
    figure, axes = pyplot().subplots(
        2, len(tables), figsize=(3.6 * len(tables), 6.6), layout="constrained", squeeze=False
    )
    colours = dict(zip(FAMILIES, PALETTE, strict=False))
    for (above, below), (name, table) in zip(axes.T, tables.items(), strict=True):
        for ax, x in ((above, "supervised_alignment"), (below, "accuracy")):
            for family, own in table.groupby("family", sort=False):
                ax.scatter(own[x], own.max_drop, color=colours[str(family)], s=26, label=str(family))
            ax.spines[["top", "right"]].set_visible(False)
        above.set(title=name, xlabel="supervised alignment")
        below.set(xlabel="accuracy of the probe, not steered")
        constant = (table.accuracy - table.largest_drop).mean()
        span = np.array([table.accuracy.min(), table.accuracy.max()])
        below.plot(span, span - constant, color="0.5", linestyle="--", linewidth=1, label="all read as one class")
        above.axhline(table.max_drop_chance.mean(), color="0.5", linestyle=":", label="shuffled labels (mean)")
    for row in axes:
        row[0].set_ylabel("max drop of the accuracy")
    handles = {name: handle for ax in axes[:, -1] for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    return figure


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
    made: dict[str, Found] = {}
    raw = {name: result["supervised_alignment"] for name, result in found.items()}
    said = ", ".join(f"{one.raw:.2f} ({name}, p = {one.raw_p:.3f})" for name, one in raw.items())
    together = {name: float(result["supervised_alignment"].partial_p) for name, result in whole.items()}
    beyond = {name: one.partial > 0 and together[name] < 0.05 for name, one in raw.items()}
    told = {
        name: f"{one.partial:.2f} (p = {one.partial_p:.3f}, networks whole {together[name]:.3f})"
        for name, one in raw.items()
    }
    accuracy = ", ".join(f"{t.accuracy.corr(t.max_drop, 'spearman'):.2f}" for t in tables.values())
    why = (
        f"Accuracy of the probe alone correlates with max drop at {accuracy}: at these strengths max drop is accuracy."
    )
    survives = {
        name: one.raw > 0 and one.raw_p < 0.05 and tables[name].accuracy.corr(tables[name].max_drop, "spearman") < 0.95
        for name, one in raw.items()
    }
    for name, one in raw.items():
        made[f"claim/raw/{name}"] = claim(bool(survives[name]), f"{one.raw:.2f} (p = {one.raw_p:.3f})", why)
        made[f"claim/partial/{name}"] = claim(
            bool(beyond[name]),
            told[name],
            "No more than chance given Fisher and silhouette, once layers of one network are exchanged together; few "
            "networks cannot rule it out for others.",
        )
        fisher = found[name]["fisher"].raw
        made[f"claim/fisher/{name}"] = claim(
            one.raw >= fisher,
            f"{one.raw:.2f} against {fisher:.2f} (Fisher)",
            "Fisher's ratio does better, or neither predicts.",
            DIFFERS,
        )
    made["claim/all"] = claim(all(survives.values()), said, why)
    made["claim/unique"] = claim(
        all(beyond.values()),
        "; ".join(f"{name} {one}" for name, one in told.items()),
        "Not in all.",
    )
    split = {name: result["feature_split"] for name, result in found.items()}
    unsupervised = ", ".join(f"{one.raw:.2f} ({name}, p = {one.raw_p:.3f})" for name, one in split.items())
    made["claim/unsupervised/real"] = claim(
        all(not (split[name].raw > 0 and split[name].raw_p < 0.05) for name in split if name != "Synthetic"),
        unsupervised,
        "It does.",
    )
    made["claim/unsupervised/synthetic"] = claim(
        all(one.raw > 0 and one.raw_p < 0.05 for name, one in split.items() if name == "Synthetic"),
        unsupervised,
        "The correlation has the other sign here: encoders of a lower feature split drop more.",
    )
    anisotropy = [result["anisotropy"].raw for result in found.values()]
    made["claim/anisotropy"] = claim(
        max(anisotropy) - min(anisotropy) > 0.2, ", ".join(f"{one:.2f}" for one in anisotropy), "It is alike.", DIFFERS
    )
    return made


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
        "Vectors of shuffled labels also move their own probe more than random directions do: on MNLI they drop as "
        "far, so a ratio of 1.3 to random directions is no evidence of a direction of the task.",
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
            ", ".join(f"{t.to_target.mean():.2f}, shuffled {t.to_target_chance.mean():.2f}" for t in tables.values()),
            "Rates are not published; at a strength of 2 vectors of shuffled labels flip as many rows of their probe.",
            DIFFERS,
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
