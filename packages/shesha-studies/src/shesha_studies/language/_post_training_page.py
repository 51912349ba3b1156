"""The page of the study of further training."""

from __future__ import annotations

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, logarithmic
from shesha.studies.published_checks import Table, against, split_numbers_and_claims
from shesha_studies.language._drift_measures import NAMES
from shesha_studies.language._post_training_statistics import SHOWN, number_checks, published_pairs, training_ratios


def make_page(rows: Table, lines: Table) -> Page:
    """Make the page: ratios on a common scale, the amount of noise in the rows that gives the same drift."""
    published, claims = split_numbers_and_claims(lines)
    trained, pairs = training_ratios(rows), published_pairs(published)
    steps = (
        trained.groupby(["model", "change", "amount"])[[*SHOWN, "times CKA", "noise, times CKA"]].mean().reset_index()
    )
    sets = (
        trained.groupby(["model", "prompts"])[["shesha", "cka", "times CKA", "noise, times CKA"]].median().reset_index()
    )
    shuffled = rows[rows.change == "shuffled rows"].groupby("model")[list(SHOWN)].mean().reset_index()
    tables = (
        ("Drift after training (means over sets of sentences and draws)", steps),
        ("Drift by set of sentences (medians)", sets),
        ("Drift between unrelated rows (rows in another order)", shuffled),
        ("The published Table 42 (drifts in per cent)", pairs.reset_index().rename(columns={"row": "pair"})),
    )
    notes = (
        "1 - rho (Shesha) and 1 - CKA are both 0 for no change and about 1 if nothing is shared, but they follow "
        "different curves in between. Which of the two is larger depends on the representation and on the kind of "
        'change. For the ratio "as equivalent noise", each drift is expressed as the amount of Gaussian noise in '
        "the rows that causes the same drift in the same model and sentences.",
        "SmolLM2-135M-Instruct is the second model of a published pair, and we do not have the first. Like the "
        "other models, we train it further. At most 32 steps are few compared with instruction tuning.",
        (
            "The paper lists Pythia-1B and Pythia-1B-deduped as base and instruct model, but the second has the "
            "same training on other data."
        ),
        (
            "We do not have the published prompts. Our sentences are from news, captions and forums (STS-B) and "
            "reviews (SST-2)."
        ),
    )
    return Page(
        "",
        tables,
        (_picture(trained, pairs),),
        notes,
        (*number_checks(trained, pairs, published), *against(claims, {})),
    )


def _picture(trained: Table, pairs: Table) -> Picture:
    fig, axes = figure(3, width=3.8, height=3.6)
    for place, (name, part) in enumerate(trained.groupby("model", sort=False)):
        axes[0].plot(part.cka, part.shesha, "o", markersize=4, color=PALETTE[place], label=str(name))
    axes[0].plot(pairs.cka / 100, pairs.shesha / 100, "^", markersize=4, color="0.5", label="published pairs")
    axes[0].axline((0, 0), slope=1, color="0.7", linewidth=0.8)
    axes[0].set(xlabel="CKA drift", ylabel="Shesha drift", title="two scales")
    for place, (name, part) in enumerate(trained.groupby("model", sort=False)):
        axes[1].boxplot([part["times CKA"], part["noise, times CKA"]], positions=[3 * place, 3 * place + 1], widths=0.7)
        axes[1].text(
            3 * place + 0.5,
            1.02,
            str(name).replace("-", "-\n", 1),
            ha="center",
            fontsize="x-small",
            transform=axes[1].get_xaxis_transform(),
        )
    ticks = [3 * place + i for place in range(trained.model.nunique()) for i in (0, 1)]
    axes[1].set(xticks=ticks, xticklabels=["drift", "as\nnoise"] * trained.model.nunique(), ylabel="Shesha, times CKA")
    axes[1].axhline(1, color="0.7", linewidth=0.8)
    axes[2].plot(pairs.weights, pairs.relative, "o", color=PALETTE[2], label=f"{NAMES['procrustes']} / CKA")
    axes[2].plot(pairs.weights, pairs.shesha / pairs.cka, "^", color=PALETTE[0], label=f"{NAMES['shesha']} / CKA")
    axes[2].axvline(1.3, color="0.7", linestyle="--", linewidth=0.8)
    logarithmic(axes[2], (0.1, 0.3, 1.0, 3.0, 7.0))
    axes[2].set(xlabel="weights, billions", ylabel="published, times CKA", title="Table 42")
    for ax in (axes[0], axes[2]):
        ax.legend(frameon=False, fontsize="x-small")
    return Picture(
        "post_training",
        fig,
        "Drift after training by Shesha against CKA; ratio of the two, raw and as equivalent noise; ratios in the "
        "published table against model size",
    )
