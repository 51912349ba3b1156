"""Facts of the study of canaries in causal models."""

from __future__ import annotations

from typing import Any

import numpy as np

from shesha.studies.facts import NAN, Fact, Facts, as_facts, over_draws, rank_correlation, rate, smallest
from shesha.studies.published_checks import Table, number, split_numbers_and_claims
from shesha_studies.language._canary_lm_checks import LEAST, STABLE, model_tables, round_losses
from shesha_studies.language._drift_measures import BOUND
from shesha_studies.language._perturbed_models import stand_in
from shesha_studies.language._tiny_gpt import TINY

_LOST = 0.05


def make_facts(rows: Table, published: Table) -> Facts:
    """Return the share of harmless changes (loss below 1 %) with a drift above 0.05, also for squared Procrustes."""
    rows, published = round_losses(rows), split_numbers_and_claims(published)[0]
    real = stand_in(rows, LEAST)
    changes, numbers = rows[rows.model == real], model_tables(rows, real)
    still = changes[(changes.kind != "precision") & (changes["drop"] < STABLE)]
    alarms = still[["shesha", "cka", "procrustes", "squared"]].gt(BOUND).astype(float)
    facts = {str(name): rate(int(alarms[name].sum()), len(still)) for name in alarms}
    facts |= {
        f"{name}_more": smallest(over_draws(alarms[name] - alarms[other]) for other in ("shesha", "cka"))
        for name in ("procrustes", "squared")
    }
    return facts | as_facts(
        {"changes": len(still), "model": real, **_detection(changes, numbers, real, published), **_damage(changes)}
    )


def _detection(rows: Table, numbers: dict[str, Table], real: str, published: Table) -> dict[str, Any]:
    """Facts on the prediction and detection of losses by drift."""
    subset = numbers[real]
    three, first = subset.loc[["shesha", "cka", "procrustes"]], {}
    for name in ("shesha", "cka"):
        first[name] = number(published, "10.4", name, "first noise")
    values = {
        f"{task}, {name}": float(subset.loc[name, task])
        for task in ("probe", "next words")
        for name in ("shesha", "cka", "procrustes", "amount")
    }
    surely = three["area under the curve"]
    return {
        **values,
        **{f"area, {name}": float(value) for name, value in surely.items()},
        "probe of untrained": float(numbers[TINY[1]].loc["shesha", "probe"]),
        "probe_lowest": rank_correlation(float(three.probe.min()), len(rows[rows.kind == "noise"])),
        "probe_highest": float(three.probe.max()),
        "drift_and_noise": _least_order(rows[(rows.model == real) & (rows.kind == "noise")]),
        "beyond_noise": float(three.probe.max() - subset.loc["amount", "probe"]),
        **{f"published first, {name}": value for name, value in first.items()},
        "shesha_earlier": first["cka"] - first["shesha"],
        "shesha_surer": float(surely["shesha"] - surely[["cka", "procrustes"]].max()),
    }


def _least_order(noise: Table) -> float:
    """Lowest rank correlation of a drift and the amount of noise."""
    return float(noise[["shesha", "cka", "procrustes"]].corrwith(noise.amount, method="spearman").min())


def _damage(changes: Table) -> dict[str, Fact | float | str]:
    """Facts on the drift by the smallest adapter, and on the loss by fewer bits and by adapters."""
    least = changes[(changes.kind == "scale") & (changes.amount == 0.001)]
    squared, shesha = float(least.squared.mean()), float(least.shesha.mean())
    bits, adapters = changes[changes.kind.isin(["int8", "nf4"])], changes[changes.kind.isin(["rank", "scale"])]
    rho, lost = adapters.shesha.corr(adapters["drop"], method="spearman"), int((bits.p_drop <= _LOST).sum())
    low, high = np.tanh(np.arctanh(rho) + np.array([-1.96, 1.96]) / np.sqrt(len(adapters) - 3))
    return {
        **{"least_root": np.sqrt(2 * squared), "least_shesha": shesha, "least_squared_more": squared - shesha},
        "least_root_more": np.sqrt(2 * squared) - shesha,
        # Between those that lose beyond chance and all, as a p-value above the level shows no absence.
        "bits_that_lose": Fact(lost, lost, len(bits)) if len(bits) else Fact(NAN),
        "drops by bits": ", ".join(f"{value:.1f} %" for value in bits["drop"]),
        "smallest p of bits": float(bits.p_drop.min()),
        "adapters": Fact(float(rho), float(low), float(high)),
        "n_adapters": len(adapters),
        "adapters_that_lose": int((adapters.p_drop < _LOST).sum()),
    }
