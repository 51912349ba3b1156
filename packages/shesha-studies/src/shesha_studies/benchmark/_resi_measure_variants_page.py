"""The table, notes and picture on calibration, restricted permutations and basis averaging."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Picture
from shesha.studies.pictures import figure
from shesha_studies.benchmark._resi_measure_variants import AXES, DESIGNS, EPOCHS, MEASURES, N_PERMUTATIONS, N_ROWS

_MARKS = "os^"
NOTE = (
    "The table on calibration, restricted permutations and basis averaging uses nine networks per cell, three for "
    f"each of three settings of a test. They were trained for {EPOCHS} epochs on Cora instead of the suite's 200. We "
    f"compare their last layers on {N_ROWS} of the 1,000 test nodes with {N_PERMUTATIONS} permutations. Each score "
    'is therefore based on 36 pairs, and differences of 0.05 are noise. In the column "within classes", nodes are '
    "permuted within classes only, so the classes alone cannot raise the score. The columns on the feature split "
    "compare networks by the difference of their splits on the given axes, or averaged over random rotations "
    '(`basis_averaged_split`). The column "chance" is for random values. The study `which-measure` has more on '
    "calibration."
)


def option_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one line per test and measure: mean AUPRC over networks in each design, with the range of chance."""
    options, records = rows[rows.part == "options"], []
    for test, lines in options.groupby("test", sort=False):
        chance = lines["chance auprc"].mean()
        for name, columns in (*((measure, DESIGNS) for measure in MEASURES), ("stability difference", AXES)):
            values = {column: float(lines[f"{name}, {column} auprc"].mean()) for column in columns}
            records.append(
                {"test": str(test).replace("_", " "), "networks": len(lines), "measure": name}
                | {column: values.get(column, float("nan")) for column in (*DESIGNS, *AXES)}
                | {"chance": chance, "95 % of chance": lines["chance auprc, 95 %"].mean()}
            )
    return pd.DataFrame(records)


def option_facts(options: pd.DataFrame) -> dict[str, float]:
    """Return how much each option changes the scores, and in how many tests the stability difference is above
    chance."""
    if not len(options):
        return {}
    scored, split = options[options.raw.notna()], options[options.raw.isna()]
    facts = {"tests of axes": float(len(split))}
    for name, after, before in (
        ("calibration", "calibrated", "raw"),
        ("within classes", "within classes", "calibrated"),
    ):
        move = scored[after] - scored[before]
        facts |= {f"{name} moves": move.mean(), f"{name}, lowest": move.min(), f"{name}, highest": move.max()}
    for axes in AXES:
        facts[f"{axes} above chance"] = float((split[axes] > split["95 % of chance"]).sum())
    return facts | {"averaging moves": (split["basis-averaged"] - split["feature split"]).mean()}


def options_picture(options: pd.DataFrame) -> Picture:
    """Draw AUPRC by measure and design, one panel per test, above the range of chance."""
    tests = list(dict.fromkeys(options.test))
    fig, axes = figure(len(tests), width=3.7, height=3.0, sharey=True)
    for ax, test in zip(axes, tests, strict=True):
        group = options[options.test == test].iloc[::-1].reset_index(drop=True)
        ax.axvspan(0, group["95 % of chance"].iloc[0], color="0.92", zorder=0, label="chance, up to 95 %")
        for index, column in enumerate((*DESIGNS, *AXES)):
            known = group[group[column].notna()]
            places = np.asarray(known.index, dtype=float) + 0.18 * (1 - index % len(DESIGNS))
            ax.plot(known[column], places, _MARKS[index % 3], color=PALETTE[index], label=column)
        ax.set_yticks(range(len(group)), group.measure)
        ax.set(title=test, xlabel="AUPRC", xlim=(0, 1.02))
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, frameon=False, fontsize="small", loc="outside lower center", ncol=len(names) // 2)
    return Picture(
        "options",
        fig,
        (
            "AUPRC of small networks trained on Cora, by measure: raw, calibrated, permuted within classes, and with "
            "the feature split on the axes and averaged"
        ),
    )
