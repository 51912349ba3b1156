"""The page of the transfer study."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.published_checks import Table, split_numbers_and_claims
from shesha_studies.causal_lm_embeddings import CAUSAL, SINK
from shesha_studies.language._transfer_checks import checks
from shesha_studies.language._transfer_statistics import LABELS, NUMBERS, metric_correlations, table_57_correlations


def make_page(rows: Table, lines: Table) -> Page:
    """Make the page: correlations of scores with accuracies over models, families and equal widths."""
    published, claims = split_numbers_and_claims(lines)
    correlations, paper_rhos = metric_correlations(rows), table_57_correlations(published)
    all_of = correlations[correlations.accuracy == "accuracy 512"].set_index("number")
    tables = (
        (
            ("Rank correlations of scores of the source with accuracy (512 examples)"),
            all_of.reset_index().drop(columns="accuracy"),
        ),
        ("Rank correlations of scores with accuracy, by number of examples", _shots_table(correlations)),
        (
            "Rank correlations of alignment with accuracy in the published Table 57",
            pd.DataFrame(paper_rhos).T.reset_index(names="what"),
        ),
        (
            "Models",
            rows[
                ["family", "part", "alignment", "split", "h_score", "logme", "accuracy 64", "accuracy 512"]
            ].sort_values("alignment", ascending=False),
        ),
    )
    notes = (
        "The published models are 30 sentence encoders of ten families, and the published stars treat them as "
        "independent. Layers of one network, and models of one series, are not independent. We therefore permute "
        "the means of families as well, and leave out each family in turn.",
        "With many features any labels of few rows can be fitted, so H-Score and LDA depend on the width. The "
        "correlation at equal width controls for this.",
        *([SINK] if CAUSAL in set(rows.family) else []),
        "NCE needs labels of a source classifier, which sentence encoders do not have. The paper does not say what "
        "it used; we use KMeans clusters.",
        "We do not have the data of experiment 2 (IMDB to Yelp). Transfer from phrases to whole sentences with 512 "
        "training rows replaces it. As in the paper, both experiments have the same source.",
    )
    return Page("", tables, (_picture(rows, correlations),), notes, tuple(checks(rows, published, claims)))


def _shots_table(correlations: Table) -> Table:
    table = correlations.pivot(index="number", columns="accuracy", values="rho")
    ordered = sorted(table.columns, key=lambda name: int(name.split()[-1]))
    return table[ordered].reindex(NUMBERS).reset_index()


def _picture(rows: Table, correlations: Table) -> Picture:
    fig, axes = figure(3, width=3.9, height=3.7)
    for ax, name in zip(axes[:2], ("alignment", "split"), strict=True):
        for place, (family, group) in enumerate(rows.groupby("family", sort=False)):
            mark = "os^Dv<>PX*"[place % 10]
            ax.plot(
                group[name],
                group["accuracy 512"],
                mark,
                color=PALETTE[place % len(PALETTE)],
                label=str(family),
                markersize=5,
            )
        rho = correlations[(correlations.number == name) & (correlations.accuracy == "accuracy 512")].rho.iloc[0]
        ax.set(xlabel=LABELS[name], ylabel="accuracy, k = 512, %", title=f"rank correlation {rho:.2f}")
    axes[0].legend(frameon=False, fontsize="x-small")
    last = correlations[correlations.accuracy == "accuracy 512"].set_index("number").reindex(NUMBERS)
    places = np.arange(len(NUMBERS))
    axes[2].hlines(places, last.lowest, last.highest, color="0.7", linewidth=3, label="one family left out")
    axes[2].plot(last.rho, places, "o", color=PALETTE[0], label="all models")
    axes[2].plot(last.rho_families, places, "D", color=PALETTE[1], label="means of families")
    axes[2].axvline(0, color="0.5", linewidth=0.8)
    axes[2].set(
        yticks=places,
        yticklabels=[LABELS[name] for name in NUMBERS],
        xlim=(-1.05, 1.05),
        xlabel="rank correlation, k = 512",
    )
    axes[2].invert_yaxis()
    axes[2].legend(frameon=False, fontsize="x-small", loc="lower left")
    return Picture(
        "transfer",
        fig,
        "Accuracy against alignment with labels and against the feature split, by family; rank correlations of ten "
        "scores with accuracy",
    )
