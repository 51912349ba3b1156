"""The page on perturbations: tables and the picture."""

from __future__ import annotations

from typing import Any

import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, logarithmic
from shesha.studies.published_checks import split_numbers_and_claims
from shesha_studies.biology._crispr_checks import BOTH, GAUSSIAN, OF_READING, STIMULATION, Found, published_checks

_GREY = "0.55"
_NAMED = ("STAT1", "IFNGR1", "SMAD4", "SPI1", "IRF1", "ATF2")


def make_page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Compare the screen with Tables 59 to 74, and with groups without an effect."""
    statistics = Found(rows)
    printed = split_numbers_and_claims(published)[0]
    checks = tuple(published_checks(statistics, printed))
    picture = Picture(
        "crispr",
        _draw(statistics),
        "Scores of control groups against group size; scores of targets against magnitude",
    )
    return Page("", tuple(_tables(statistics)), (picture,), _notes(statistics), checks)


def _tables(statistics: Found) -> Any:
    groups = statistics.build("group").sort_values("unbiased", ascending=False)
    score_columns = ["n", "coherence", "chance", "p_adj", "unbiased", "unbiased_ci_low", "unbiased_ci_high"]
    columns = [*score_columns, "guides_low", "guides_high", "magnitude"]
    yield (
        "Targets, with intervals of the pairwise score over cells and over guides",
        _rename(groups[columns], "target"),
    )
    kinds = statistics.build("group", STIMULATION).sort_values("unbiased", ascending=False)
    yield (
        "Stimulation with interferon-beta of seven cell types (Kang 2018, not a CRISPR screen)",
        _rename(kinds[[*score_columns, "magnitude"]], "type"),
    )
    sizes = ["coherence", "low", "high", "expected", "unbiased", "magnitude"]
    yield "Groups of control cells, by number of cells", _rename(statistics.build("size")[sizes], "cells")
    parts: tuple[tuple[str, str, str, list[str]], ...] = (
        ("Targets with only 25 of their cells", "fewer cells", "papalexi2021", ["coherence", "unbiased", "magnitude"]),
        ("Correlation of magnitude and score, controlling for another variable", "given", "papalexi2021", _BESIDE),
        (
            "Correlation of magnitude and score over both data sets, controlling for another variable",
            "given",
            BOTH,
            _BESIDE,
        ),
        ("Correlation of score and a confounder", "confound", "papalexi2021", _BESIDE),
        ("Correlation of score and a confounder over both data sets", "confound", BOTH, _BESIDE),
        ("Numbers of components", "components", "papalexi2021", [*_BESIDE, "rank_score", "rank_magnitude"]),
        ("Other normalisations", "reading", "papalexi2021", _READING),
        ("Correlation of magnitude and score over both data sets, raw and standardised", "pooled", BOTH, _BESIDE),
        ("Mixed model of both data sets", "mixed", BOTH, _MIXED),
        ("Gaussian cells", "null model", GAUSSIAN, ["magnitude_rho", "snr_rho", "partial_rho", "within_noise"]),
    )
    yield "Correlation of magnitude and score by three methods", _rename(statistics.build("method")[_LINKS], "method")
    for title, part, data, columns in parts:
        if statistics.has(part, data):
            highest = {"coherence_high": "highest coherence"} if part == "reading" else {}
            yield title, _rename(statistics.build(part, data)[columns], "setting").rename(columns=highest)


_BESIDE = ["rho", "rho_low", "rho_high", "chance", "fake_low", "fake_high", "fake_p"]
_READING = ["rho", "spread_rho", "n_rho", "coherence_mean", "coherence_high", "magnitude_mean", "magnitude_sd"]
_MIXED = ["magnitude_beta", "magnitude_fake", "log_n_beta", "log_n_fake", "spread_beta", "spread_fake"]
_MIXED += ["between", "residual", "fitted"]
_LINKS = [f"{score}_{name}" for score in ("coherence", "unbiased") for name in ("rho", "low", "high", "chance", "p")]


def _rename(table: pd.DataFrame, name: str) -> pd.DataFrame:
    return table.rename(columns=lambda column: column.replace("fake", "null")).rename_axis(name).reset_index()


def _draw(results: Found) -> Any:
    drawn, (left, right) = figure(2, width=4.4, height=3.7)
    _sizes(left, results)
    _groups(right, results.build("group"))
    return drawn


def _sizes(ax: Any, results: Found) -> None:
    sizes = results.build("size")
    n = sizes.index.astype(float).to_numpy()
    spread = [sizes.coherence - sizes.low, sizes.high - sizes.coherence]
    ax.errorbar(n, sizes.coherence, yerr=spread, fmt="o-", color=PALETTE[0], capsize=3, label="mean cosine, 95 %")
    ax.plot(n, sizes.expected, ":", color="black", zorder=5, label="isotropic noise, closed form")
    ax.plot(n, sizes.unbiased, "s-", color=PALETTE[1], label="pairwise")
    logarithmic(ax, n)
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.set(xlabel="control cells in a group", ylabel="score", title="Control cells (no effect)")
    ax.legend(frameon=False, fontsize="small")


def _groups(ax: Any, groups: pd.DataFrame) -> None:
    ax.plot(groups.magnitude_chance, groups.chance, "x", color=_GREY, label="mean cosine of null groups")
    ax.plot(groups.magnitude, groups.coherence, "o", color=PALETTE[0], label="mean cosine of targets")
    ax.plot(groups.magnitude, groups.unbiased, "s", color=PALETTE[1], markersize=4, label="pairwise")
    for name in _NAMED:
        if name in groups.index:
            place = (groups.magnitude[name], groups.coherence[name])
            ax.annotate(name, place, (-4, 5), textcoords="offset points", fontsize=7, ha="right")
    ax.set_xscale("log")
    ax.set_xticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="magnitude", ylabel="score", title="25 targets")
    ax.legend(frameon=False, fontsize="small")


def _notes(statistics: Found) -> tuple[str, ...]:
    stats = {name: statistics.get(name, "reading", "10,000 counts") for name in OF_READING}
    groups, kinds = statistics.build("group"), statistics.build("group", STIMULATION)
    alone = groups[groups.guides_low > 0]
    return (
        "Null groups are random groups of control cells with the sizes of the real groups, compared with the "
        "remaining controls. There are 999 for each size (99 with nearest neighbours), and 400 tables of null "
        "groups. In the data of Kang, cell types have as many stimulated cells as controls, so the null shuffles "
        "stimulation within a type.",
        "The pairwise score is the mean cosine between the shifts of two cells. Without an effect its expected "
        "value is near 0 for any number of cells.",
        "The numbers of Table 61 depend on the normalisation. Counts scaled to 10,000 give nearly the published "
        f"magnitudes ({stats['magnitude_mean']:.1f} +- {stats['magnitude_sd']:.1f}, {stats['magnitude_low']:.1f} to "
        f"{stats['magnitude_high']:.1f}), although we have only 299 genes.",
        "The paper contradicts itself. It gives 422 and 811 perturbations, pooled partial correlations of -0.258 "
        "and 0.374, three values of Norman's correlation (0.953, 0.963 and 0.945), and intervals that do not "
        "contain their value.",
        f"The {len(kinds)} cell types of Kang are too few to distinguish a correlation from chance: coherence and "
        f"magnitude have {statistics.text('method', 'standard', 'coherence_', data=STIMULATION)}, and "
        f"{statistics.text('method', 'standard', 'coherence_', fake=True, data=STIMULATION)} with shuffled "
        f"stimulation. The response to interferon exceeds chance in {int((kinds.p_adj <= 0.05).sum())} of the types.",
        "Cells with the same guide are not independent replicates. With guides as the units, the interval of the "
        f"pairwise score is above 0 for {len(alone)} targets ({', '.join(sorted(alone.index))}). With cells as the "
        f"units, {int((groups.p_adj <= 0.05).sum())} targets are above chance.",
    )
