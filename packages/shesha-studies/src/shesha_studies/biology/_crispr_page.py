"""The page on perturbations: tables and the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, logarithmic
from shesha.studies.published_checks import against, split_numbers_and_claims
from shesha_studies.biology._crispr_checks import BOTH, GAUSSIAN, OF_READING, STIMULATION, Found, published_checks

if TYPE_CHECKING:
    import pandas as pd

_GREY = "0.55"
_METHODS = {"standard": "Euclidean", "whitened": "whitened", "knn": "k-NN"}
_NAMED = ("STAT1", "IFNGR1", "SMAD4", "SPI1", "IRF1", "ATF2")


def make_page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return the page of all rows."""
    statistics = Found(rows)
    printed, worded = split_numbers_and_claims(published)
    checks = (*published_checks(statistics, printed), *against(worded, {}))
    picture = Picture(
        "crispr",
        _draw(statistics),
        "Scores by group size; magnitude against score; correlations of targets and of control groups",
    )
    return Page("", tuple(_tables(statistics)), (picture,), _notes(statistics), checks)


def _tables(statistics: Found) -> Any:
    groups = statistics.build("group").sort_values("unbiased", ascending=False)
    score_columns = ["n", "coherence", "chance", "p_adj", "unbiased", "unbiased_ci_low", "unbiased_ci_high"]
    columns = [*score_columns, "guides_low", "guides_high", "magnitude"]
    yield (
        "The targets, and intervals of the pairwise score over cells and over guides",
        _rename(groups[columns], "target"),
    )
    kinds = statistics.build("group", STIMULATION).sort_values("unbiased", ascending=False)
    yield (
        "Interferon-beta in seven types of cells (Kang 2018, no CRISPR)",
        _rename(kinds[[*score_columns, "magnitude"]], "type"),
    )
    sizes = ["coherence", "low", "high", "expected", "unbiased", "magnitude"]
    yield "Groups of control cells, by their number of cells", _rename(statistics.build("size")[sizes], "cells")
    parts: tuple[tuple[str, str, str, list[str]], ...] = (
        ("With 25 of its cells", "fewer cells", "papalexi2021", ["coherence", "unbiased", "magnitude"]),
        ("Magnitude and score, controlling for another variable", "given", "papalexi2021", _BESIDE),
        ("The same over both data sets", "given", BOTH, _BESIDE),
        ("Score and a confound", "confound", "papalexi2021", _BESIDE),
        ("Score and a confound over both data sets", "confound", BOTH, _BESIDE),
        ("Numbers of components", "components", "papalexi2021", [*_BESIDE, "rank_score", "rank_magnitude"]),
        ("Other normalisations", "reading", "papalexi2021", _READING),
        ("Both data sets on one scale", "pooled", BOTH, _BESIDE),
        ("Mixed model of both data sets", "mixed", BOTH, _MIXED),
        ("Gaussian cells", "null model", GAUSSIAN, ["magnitude_rho", "snr_rho", "partial_rho", "within_noise"]),
    )
    yield "Magnitude and score by three methods", _rename(statistics.build("method")[_LINKS], "method")
    for title, part, data, columns in parts:
        if statistics.has(part, data):
            yield title, _rename(statistics.build(part, data)[columns], "setting")


_BESIDE = ["rho", "rho_low", "rho_high", "chance", "fake_low", "fake_high", "fake_p"]
_READING = ["rho", "spread_rho", "n_rho", "coherence_mean", "coherence_high", "magnitude_mean", "magnitude_sd"]
_MIXED = ["magnitude_beta", "magnitude_fake", "log_n_beta", "log_n_fake", "spread_beta", "spread_fake"]
_MIXED += ["between", "residual", "fitted"]
_LINKS = [f"{score}_{name}" for score in ("coherence", "unbiased") for name in ("rho", "low", "high", "chance", "p")]


def _rename(table: pd.DataFrame, name: str) -> pd.DataFrame:
    return table.rename(columns=lambda column: column.replace("fake", "null")).rename_axis(name).reset_index()


def _draw(results: Found) -> Any:
    drawn, (left, middle, right) = figure(3, width=4.4, height=3.7)
    _sizes(left, results)
    _groups(middle, results.build("group"))
    _methods(right, results)
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
    ax.set(xlabel="control cells in a group", ylabel="score", title="No effect at all")
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


def _methods(ax: Any, results: Found) -> None:
    methods = results.build("method")
    known = [name for name in _METHODS if name in methods.index]
    positions = np.arange(len(known))
    for shift, (score, label) in enumerate((("coherence", "mean cosine"), ("unbiased", "pairwise"))):
        table = methods.loc[known]
        places = positions + 0.36 * shift - 0.18
        for real, colour, move in ((True, PALETTE[shift], -0.07), (False, _GREY, 0.07)):
            names = ("rho", "low", "high") if real else ("chance", "fake_low", "fake_high")
            value, low, high = (table[f"{score}_{name}"].to_numpy() for name in names)
            marker = "os"[shift] if real else "x"
            legend = label if real else ("null groups" if shift == 0 else None)
            spread = np.maximum([value - low, high - value], 0)
            ax.errorbar(places + move, value, yerr=spread, fmt=marker, color=colour, capsize=3, label=legend)
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.set_xticks(positions, [_METHODS[name] for name in known])
    ax.set(ylabel="rho(magnitude, score)", title="Targets and null groups", ylim=(-0.45, 1.3))
    ax.legend(frameon=False, fontsize="small", ncols=3, loc="upper center")


def _notes(statistics: Found) -> tuple[str, ...]:
    stats = {name: statistics.get(name, "reading", "10,000 counts") for name in OF_READING}
    groups, kinds = statistics.build("group"), statistics.build("group", STIMULATION)
    alone = groups[groups.guides_low > 0]
    return (
        "Null groups are groups of control cells of the sizes of the real ones, compared with the remaining controls: "
        "999 of each (99 with nearest neighbours), and 400 tables of them. Kang's types have as many stimulated cells "
        "as controls, so stimulation is shuffled within the type.",
        "*unbiased* is the mean cosine of pairs of shifts. It is 0 without an effect, for any number of cells.",
        "The normalisation sets the numbers of Table 61. Counts scaled to 10,000 give nearly the published magnitudes "
        f"({stats['magnitude_mean']:.1f} +- {stats['magnitude_sd']:.1f}, {stats['magnitude_low']:.1f} to "
        f"{stats['magnitude_high']:.1f}) from 299 genes.",
        "The text contradicts itself: 422 and 811 perturbations; a pooled partial correlation of -0.258 and 0.374; "
        "Norman's correlation of 0.953, 0.963 and 0.945; intervals that do not contain their value.",
        f"{len(kinds)} types of cells cannot distinguish a correlation from chance: the mean cosine has "
        f"{statistics.text('method', 'standard', 'coherence_', data=STIMULATION)}, and with shuffled stimulation "
        f"{statistics.text('method', 'standard', 'coherence_', fake=True, data=STIMULATION)}. "
        f"{int((kinds.p_adj <= 0.05).sum())} of the types answer to interferon beyond chance.",
        "Cells of one guide are not replicates. With guides as the unit the pairwise score of "
        f"{len(alone)} targets stays above 0 ({', '.join(sorted(alone.index))}). With cells as the unit, "
        f"{int((groups.p_adj <= 0.05).sum())} targets are above chance.",
    )
