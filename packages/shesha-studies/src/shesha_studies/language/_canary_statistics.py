"""Statistics and facts of the canary study, and our values of its published numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha_studies.framework.checks import Found
from shesha_studies.framework.facts import (
    Fact,
    Facts,
    as_facts,
    over_draws,
    rate,
    resampled,
    resampled_groups,
    smallest,
    steps,
)
from shesha_studies.framework.published_checks import (
    Answers,
    Table,
    derived_answers,
    number,
    numbers_by_cell,
    printed_table,
    unjudged_answers,
)
from shesha_studies.framework.rates import sign_difference
from shesha_studies.language._drift_and_loss import BOUND, METRICS, NEVER, contest, correlation_within_groups, firsts
from shesha_studies.language_models import MINILM, MPNET

UNIT = ["model", "task", "layer", "last", "seed"]
TASK = "SST-2"
"""The task of the paper's method (10.3, step 4)."""
THREE = ["shesha", "cka", "procrustes"]
LATE = 0.55
"""Value that replaces "never detected" in means over levels up to 0.5."""
LOST = 0.05
FIXED, CHANCE = "bound 0.05", "bound from chance"


def noisy_rows(rows: Table) -> tuple[Table, Table]:
    """Return the rows with noise and those of re-encodings."""
    # Round losses, so that equal losses are ties despite rounding errors.
    depth = rows.layer / rows.groupby("model").layer.transform("max")
    rows = rows.assign(drop=rows["drop"].round(6), depth=depth, last=depth == 1)
    return rows[rows.kind == "noise"], rows[rows.kind == "unchanged"]


def first_alarms(noise: Table, unchanged: Table) -> Table:
    """Return the lowest noise that each score detects, by the kind of bound and by unit."""
    units = noise.groupby(UNIT)[list(METRICS)].first()
    largest = unchanged.groupby(UNIT[:-1])[list(METRICS)].max()
    # A bound from chance is the largest drift of the re-encodings of a layer and task, for every draw of the noise.
    chance = largest.reindex(units.index.droplevel("seed")).set_axis(units.index)
    bounds = {FIXED: units * 0 + BOUND, CHANCE: chance}
    return pd.concat({name: firsts(noise, bound, UNIT) for name, bound in bounds.items()}, names=["bound"])


def last_layer_alarms(alarms: Table) -> Table:
    """Return the lowest noise that is detected in the last layers, by the kind of bound and by unit."""
    return alarms.xs(True, level="last").replace(NEVER, LATE)


def correlation_table(noise: Table) -> Table:
    """Rank correlations of scores with the loss: over all layers, in the last layers, and at equal noise."""
    names = [*METRICS, "level"]
    groups = ["model", "task", "level", "seed"]
    table = pd.DataFrame({"rho": {name: noise[name].corr(noise["drop"], method="spearman") for name in names}})
    equal = {name: correlation_within_groups(noise, name, groups, "depth") for name in METRICS}
    within = pd.DataFrame.from_dict(equal, orient="index", columns=["rho among equal noise", "p"])
    return table.assign(last=last_layer_correlations(noise).mean()).join(within)


def last_layer_correlations(noise: Table) -> Table:
    """Rank correlations with the loss over the levels of noise: one line per encoder, task and draw."""
    units = noise[noise["last"]].groupby(["model", "task", "seed"])
    names = [*METRICS, "level"]
    return pd.DataFrame([{name: df[name].corr(df["drop"], method="spearman") for name in names} for _, df in units])


def losses_found(noise: Table, name: str) -> float:
    """Share of losses beyond the bound that 5 % of harmless changes exceed, set on the other draws of the noise."""
    scores, seeds, lost = noise[name].to_numpy(dtype=float), noise.seed.to_numpy(), (noise.p_drop <= LOST).to_numpy()
    shares = []
    for seed in np.unique(seeds):
        mask = seeds == seed
        rest = ~mask if (~mask).any() else mask
        shares.append((scores[mask & lost] > np.quantile(scores[rest & ~lost], 0.95)).mean())
    return float(np.mean(shares))


def join_table_47(noise: Table, published: Table) -> Table:
    """Return our means of the last layers next to Table 47, whose numbers are means over 26 encoders."""
    printed = printed_table(published, "Table 47").rename(index=float).add_prefix("published ")
    means = noise[noise["last"]].groupby(["task", "level"])[["drop", *THREE, "squared"]].mean().reset_index()
    both = means.merge(printed, left_on="level", right_index=True)
    return both.rename(columns={"drop": "loss, %", "published drop": "published loss, %"})


def published_numbers(rows: Table, published: Table) -> Answers:
    """Return our values for Tables 47 and 54 and the text, and counts that follow from the tables."""
    # The method of the paper classifies SST-2 sentences, which a quick run does not contain.
    noise, unchanged = noisy_rows(rows[rows.task == TASK] if TASK in set(rows.task) else rows)
    levels = noise[noise["last"] & (noise.task == TASK)].groupby("level")[["drop", *THREE]].mean()
    levels.loc[0.0] = 0.0
    alarms = first_alarms(noise, unchanged)
    first, rhos = last_layer_alarms(alarms).loc[FIXED].mean(), last_layer_correlations(noise).mean()
    scores = pd.DataFrame({"first noise beyond 0.05": first, "correlation with the drop": rhos}).T
    early = alarms.loc[FIXED].xs(TASK, level="task")
    sees, ties, later = contest(early, "shesha", "cka")
    ours = {
        "counts: levels of noise": noise.level.nunique() + 1,
        "counts: sentences": 240,
        "models: Shesha before CKA": sees,
        "models: Shesha and CKA tied": ties,
        "models: CKA before Shesha": later,
        "models: Procrustes before Shesha and CKA": contest(early, "procrustes", "shesha")[0],
        "models: Wasserstein never beyond 0.05": (early.wasserstein == NEVER).sum(),
        "per cent of models that differ: Shesha first": 100 * sees / max(1, sees + later),
    }
    ours |= numbers_by_cell(levels.rename(index="{:.2f}".format)) | numbers_by_cell(scores)
    follows = {
        "counts: observations": 26 * 51,
        "counts: models": len(printed_table(published, "Table 54")),
        "per cent of models: Shesha before CKA": 100 * 19 / 26,
        "per cent of models: Shesha and CKA tied": 100 * 7 / 26,
        "per cent of models: CKA before Shesha": 0,
    }
    families = {MINILM: "MiniLM", MPNET: "MPNet"}
    named = {f"sentence-transformers/{model}: family": Found(family) for model, family in families.items()}
    return unjudged_answers({key: float(value) for key, value in ours.items()}) | named | derived_answers(follows)


def make_facts(rows: Table, published: Table) -> Facts:
    """Return correlations, alarms and losses for SST-2, the task of the paper's method."""
    if TASK not in set(rows.task):
        return {}
    noise, unchanged = noisy_rows(rows)
    alarms = first_alarms(noise, unchanged)
    first_on_other_task = contest(alarms.loc[FIXED].xs("STS-B", level="task"), "shesha", "cka")
    earlier = rate(first_on_other_task[0], sum(first_on_other_task))
    facts = {"earlier_other": earlier} | _published_facts(noise, published)
    other = correlation_table(noise[noise.task != TASK])
    facts |= {
        "at equal noise, other task": other.loc["shesha", "rho among equal noise"],
        "at equal noise, other task_p": other.p["shesha"],
    }
    noise, alarms = noise[noise.task == TASK], alarms.xs(TASK, level="task")
    return as_facts(facts | _correlations(noise) | _alarms(noise, alarms) | _losses(noise))


def _correlations(noise: Table) -> dict[str, Fact | float]:
    """Correlations of scores with the loss and with the noise."""
    rho, table = last_layer_correlations(noise), correlation_table(noise)
    three, means = rho[THREE].to_numpy(), rho.mean()
    return {
        "drift": over_draws(rho["shesha"]),
        "drift_of_any": smallest(over_draws(rho[name]) for name in THREE),
        "loss and level": means["level"],
        **{f"at equal noise, {name}": table.loc[name, "rho among equal noise"] for name in THREE},
        "at equal noise_p": table.p["shesha"],
        "alike_lowest": means[THREE].min(),
        "alike_highest": means[THREE].max(),
        "alike_range": resampled(lambda lines: float(np.ptp(three[lines].mean(axis=0))), len(three)),
        "smallest_step": smallest(step for name in THREE for step in steps(noise, "level", name, UNIT)),
    }


def _alarms(noise: Table, alarms: Table) -> dict[str, Fact | float]:
    """Which score detects noise first, with the published bound and with bounds from re-encodings."""
    fixed, chance = (contest(alarms.loc[bound], "shesha", "cka") for bound in (FIXED, CHANCE))
    last, cases = last_layer_alarms(alarms), sum(fixed)
    procrustes, squared = (
        [contest(alarms.loc[FIXED], name, other) for other in ("shesha", "cka")] for name in ("procrustes", "squared")
    )
    return {
        "cases": cases,
        "earlier": rate(fixed[0], cases),
        "later": rate(fixed[2], cases),
        "earlier_less_later": sign_difference(fixed[0], fixed[2], cases),
        "earlier_less_later_than_chance": sign_difference(chance[0], chance[2], cases),
        # Of the two other scores, the one that Procrustes leads less often decides.
        "procrustes_not_first": max(cases - first for first, _, _ in procrustes),
        "squared_first": smallest(sign_difference(first, later, cases) for first, _, later in squared),
        "lowest noise": noise.level.min(),
        **{f"first, {name}": last.loc[FIXED, name].mean() for name in (*THREE, "squared")},
        **{f"first by chance, {name}": last.loc[CHANCE, name].mean() for name in THREE},
        "first, wasserstein": over_draws(last.loc[FIXED, "wasserstein"]),
        "first by chance, wasserstein": over_draws(last.loc[CHANCE, "wasserstein"]),
    }


def _losses(noise: Table) -> dict[str, Fact | float]:
    """Losses found at equal rates of false alarms."""

    def gain(sample: Table) -> float:
        shesha, *others = (losses_found(sample, name) for name in THREE)
        return shesha - max(others)

    return {
        **{f"losses, {name}": losses_found(noise, name) for name in (*THREE, "level")},
        # Both draws of an encoder, task and layer form one unit, because its bounds need both.
        "gain": resampled_groups(gain, noise, ["model", "task", "layer"], draws=200),
    }


def _published_facts(noise: Table, published: Table) -> dict[str, Fact | float]:
    """Facts on the formula and the task that fit the published table, and on the numbers in the text."""
    fits = join_table_47(noise, published)
    growth = fits[fits.task == TASK].set_index("level")[["procrustes", "squared", "published procrustes"]]
    off = (fits["loss, %"] - fits["published loss, %"]).abs().groupby(fits.task).mean()
    shesha, cka = (number(published, "10.5", "correlation with the drop", name) for name in ("shesha", "cka"))
    return {
        **{f"growth, {name}": high / growth.loc[0.04, name] for name, high in growth.loc[0.08].items()},
        **{f"losses off, {task}": value for task, value in off.items()},
        "published_cka": cka,
        "shesha_higher": shesha - cka,
    }
