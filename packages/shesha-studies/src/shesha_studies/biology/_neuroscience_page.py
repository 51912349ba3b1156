"""The page on recordings: tables of scores, regions, null models and coupling, and the picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.facts import Fact
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import draw_with_intervals, figure
from shesha.studies.published_checks import split_numbers_and_claims
from shesha_studies.biology._neuroscience_checks import (
    SIZES,
    drift_z,
    published_checks,
)
from shesha_studies.biology._recordings import (
    add_regions,
    count_areas,
    over_sessions,
    session_correlation,
)

_CALLED = {
    "shesha": "odd and even trials",
    "nine": "odd and even, 9 conditions (no, weak, full)",
    "difference": "odd and even, 9 conditions (differences)",
    "equal": "odd and even, 4 trials of each condition",
    "few": "odd and even, 4 trials of each condition, 20 neurons",
    "wuc": "whitened unbiased cosine",
    "whitened": "odd and even, whitened (shrinkage 0.1)",
    "drift": "first and second half",
}
_REGIONS = ("Striatum", "Motor", "Visual", "Thalamus", "Midbrain", "Other", "Frontal", "Hippocampus")


def make_page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Compare areas, regions and drift with Tables 75 to 78."""
    rows = add_regions(rows)
    lines = split_numbers_and_claims(published)[0]
    printed = lines.assign(published=lines.published.astype(float))
    shows = (
        "Scores of regions for odd and even trials, equal numbers of trials, and halves of the session, with "
        "null values and the published values"
    )
    picture = Picture("neuroscience", _draw(rows, printed), shows)
    checks = tuple(published_checks(rows, printed))
    return Page("", tuple(_tables(rows)), (picture,), _notes(rows), checks)


def interval_text(found: tuple[float, float, float], decimals: int = 3) -> str:
    """Print a mean and its interval."""
    return f"{Fact(*found):.{decimals}f}"


def _tables(rows: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    yield "All areas", pd.DataFrame([_line(rows, name) for name in _CALLED])
    yield "Regions (Tables 76 and 77)", pd.DataFrame([_region(rows, name) for name in _REGIONS])
    lines = []
    nulls = {"drift": "trials in random order (500 draws)", "shifted": "sessions cut at other points (99)"}
    for name, called in nulls.items():
        below, n = count_areas(rows, name)
        z = interval_text(over_sessions(drift_z(rows, name), "z"), 1)
        observed, chance = (interval_text(over_sessions(rows, column)) for column in ("drift", f"{name}_chance"))
        lines.append({"chance": called, "z": z, "observed": observed, "by chance": chance, "below": f"{below} of {n}"})
    yield "Null models of the similarity between halves of a session (Table 78)", pd.DataFrame(lines)
    yield (
        "Correlation of scores with the coupling of response and outcome (Table 75)",
        pd.DataFrame([_coupling_line(rows, name) for name in _COUPLED]),
    )


_COUPLED = ("shesha", "nine", "difference", "equal", "drift", "wuc")


def _line(rows: pd.DataFrame, name: str) -> dict[str, Any]:
    values: dict[str, Any] = {
        "score": _CALLED[name],
        "mean, interval over sessions": interval_text(over_sessions(rows, name)),
    }
    if f"{name}_chance" not in rows:
        return values | {"chance": float("nan"), "beyond": "-"}
    beyond_, n = count_areas(rows, name)
    return values | {"chance": float(rows[f"{name}_chance"].mean()), "beyond": f"{beyond_} of {n}"}


def _region(rows: pd.DataFrame, region: str) -> dict[str, Any]:
    subset = rows[rows.region == region]
    values: dict[str, Any] = {"region": region, "n": len(subset), "neurons": float(subset.n_neurons.median())}
    for name, short in (("shesha", "odd and even"), ("equal", "4 trials each"), ("few", "and 20 neurons")):
        values[short] = interval_text(over_sessions(subset, name), 2)
        if name != "few" and len(subset):
            values[f"{short}: chance"] = float(subset[f"{name}_chance"].mean())
            values[f"{short}: above"] = "{}/{}".format(*count_areas(subset, name))
    values["drift"] = interval_text(over_sessions(subset, "drift"), 2)
    values["cut elsewhere"] = float(subset.shifted_chance.mean())
    return values


def _coupling_line(rows: pd.DataFrame, name: str) -> dict[str, Any]:
    plain, partial = session_correlation(rows, "coupling", name), session_correlation(rows, "coupling", name, SIZES)
    return {
        "score": _CALLED[name],
        "rho": f"{plain['rho']:+.3f} [{plain['low']:+.2f}, {plain['high']:+.2f}]",
        "p over sessions": plain["p"],
        "p as if areas were independent": plain["naive_p"],
        "given neurons, trials, rate": f"{partial['rho']:+.3f} [{partial['low']:+.2f}, {partial['high']:+.2f}]",
        "p of it": partial["p"],
    }


def _draw(rows: pd.DataFrame, published: pd.DataFrame) -> Any:
    drawn, axes = figure(3, width=4.3, height=4.1)
    panels = (
        ("odd and even trials", "shesha", "shesha", (("shesha_chance", "conditions shifted"),)),
        ("4 trials of each condition per half", "equal", "", (("equal_chance", "conditions shifted"),)),
        (
            "first and second half",
            "drift",
            "drift",
            (("drift_chance", "trials in random order"), ("shifted_chance", "session cut elsewhere")),
        ),
    )
    for ax, (title, score, table, nulls) in zip(axes, panels, strict=True):
        known = [region for region in _REGIONS if (rows.region == region).any()]
        positions = np.arange(len(known))
        means = [Fact(*over_sessions(rows[rows.region == region], score)) for region in known]
        draw_with_intervals(ax, positions - 0.12, means, fmt="o", color=PALETTE[0], label="ours")
        if table:
            keys = published[published["where"].str.contains("Table")].set_index("key")[["published", "low", "high"]]
            printed = [Fact(*keys.loc[f"{table} {region}"].astype(float)) for region in known]
            draw_with_intervals(ax, positions + 0.12, printed, fmt="x", color="k", label="paper")
        for (column, description), colour in zip(nulls, PALETTE[1:], strict=False):
            chance = [rows[rows.region == region][column].mean() for region in known]
            style = {"marker": "_", "markersize": 15, "markeredgewidth": 2, "linestyle": "", "color": colour}
            ax.plot(positions, chance, label=f"chance: {description}", **style)
        ax.set_xticks(positions, known, rotation=40, ha="right")
        ax.set(title=title)
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylabel("rank correlation of distances")
    axes[2].set_ylabel("cosine of mean responses")
    return drawn


def _notes(rows: pd.DataFrame) -> tuple[str, ...]:
    share = (1 - rows.shifted_chance.mean()) / (1 - rows["drift"].mean())
    return (
        f"We have {rows.session.nunique()} of 39 sessions, from four mice (the paper: 26 sessions). We use spikes in "
        "the 400 ms after the stimulus (the paper: 500 ms) and areas with at least 10 neurons. Our intervals are "
        "over sessions. Those of the paper are over areas, as if areas of one session were independent.",
        "The paper has condition means for 'each unique stimulus combination (9 contrast pairings)'. These sessions "
        "have 15 or 16 different pairs of contrasts, and the paper does not say how it counts nine. Our main reading "
        "is the definition in words, each pair. We also use three levels on either side (no, weak and full contrast) "
        "and the contrast on the right minus that on the left, both of which give nine conditions. A claim is decided "
        "only if all three readings agree.",
        "The mean response to a rare "
        "pair is noisy and far from all others in both halves. The expected score without any geometry is therefore "
        "0 only with equal numbers of trials. The study `odd-even` separates slow drift from unequal numbers.",
        f"Halves of a session that is cut at other points have a mean cosine of {rows.shifted_chance.mean():.3f}. "
        f"This explains {share:.0%} of the drop from 1.",
        "The numbers of areas above or below a null are counted at 5 % without correction, so one in twenty is "
        "expected by chance.",
        "The paper contradicts itself. It gives 228 and 229 areas, 68 and 42 brain areas, differences between "
        "thirds of 0.001 and -0.001, and correlations with the change of accuracy of -0.05 (areas) and -0.079 "
        "(sessions).",
    )
