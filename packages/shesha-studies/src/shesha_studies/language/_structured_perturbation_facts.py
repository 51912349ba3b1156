"""Facts of the study of structured perturbations: on a stand-in, and in the published tables themselves."""

from __future__ import annotations

from typing import Any

from shesha.studies.facts import Fact, Facts, absolute, as_facts, over_draws, smallest, steps
from shesha.studies.published_checks import Table, lines_of, number, split_numbers_and_claims
from shesha_studies.language._perturbed_models import stand_in
from shesha_studies.language._structured_perturbation_checks import LEAST, SHOWN
from shesha_studies.language._tiny_gpt import TINY

_THREE = ["shesha", "cka", "procrustes"]


def make_facts(rows: Table, lines: Table) -> Facts:
    """Return the facts by which the claims are judged."""
    means = rows.groupby(["model", "kind", "amount"])[list(SHOWN)].mean()
    name = stand_in(rows, LEAST)
    table, tiny = means.loc[name], means.loc[TINY[0]]
    model_rows = rows[rows.model == name]
    values = {**_noise(table), **_bits_and_adapters(table), **_tables(split_numbers_and_claims(lines)[0])}
    facts: dict[str, Any] = {**values, **_over_prompts(model_rows)}
    return as_facts({"model": name, **facts}) | as_facts(tiny.loc[("noise", 0.5)][_THREE].to_dict(), "tiny GPT, ")


def _noise(table: Table) -> dict[str, float]:
    """Whether all scores rise with the noise, and which is largest at little and at much noise, on a common scale."""
    noise = table.loc["noise"].sort_index()
    fallen = noise[_THREE].shift().dropna().where(noise[_THREE].diff().dropna() <= 0)
    low, high, harmless = noise.loc[0.05], noise.loc[0.5], table.loc[("precision", 16.0)]
    units = high / harmless
    return {
        "falls_from": fallen.min(axis=None) if fallen.notna().any(axis=None) else 0.0,
        **{f"low, {name}": low[name] for name in SHOWN},
        **{f"high, {name}": high[name] for name in SHOWN},
        **{f"units, {name}": units[name] for name in SHOWN},
        **{f"harmless, {name}": harmless[name] for name in SHOWN},
    }


_UNIT = ["prompts", "seed"]


def _over_prompts(rows: Table) -> dict[str, Fact]:
    """Differences and ratios within kinds of prompts; the model has one draw of noise and of adapters."""
    parts = {key: part.set_index(_UNIT) for key, part in rows.groupby(["kind", "amount"])}
    low, high, harmless = parts["noise", 0.05], parts["noise", 0.5], parts["precision", 16.0]
    kinds = {"smallest_step": "noise", "smallest_step of rank": "rank", "smallest_step of scale": "scale"}
    ratio = high.shesha / high.cka
    roots = [part.procrustes - part[["shesha", "cka"]].max(axis=1) for part in (parts["int8", 8.0], parts["nf4", 4.0])]
    few = [part.squared - part[["shesha", "cka"]].max(axis=1) for part in (parts["int8", 8.0], parts["nf4", 4.0])]
    return {
        **{
            key: smallest(step for name in _THREE for step in steps(rows[rows.kind == kind], "amount", name, _UNIT))
            for key, kind in kinds.items()
        },
        "low_order_of_roots": smallest(map(over_draws, (low.procrustes - low.shesha, low.shesha - low.cka))),
        "roots_largest": smallest(map(over_draws, roots)),
        "low_order": smallest(map(over_draws, (low.squared - low.shesha, low.shesha - low.cka))),
        "high_ratio": over_draws(ratio),
        "high_ratio_in_units": over_draws(ratio / (harmless.shesha / harmless.cka)),
        "four_bits_off": absolute(over_draws(parts["nf4", 4.0].shesha / parts["int8", 8.0].shesha - 3)),
        "squared_largest": smallest(map(over_draws, few)),
        "scale_more": over_draws(parts["scale", 0.1].shesha - parts["rank", 64.0].shesha),
    }


def _bits_and_adapters(table: Table) -> dict[str, float]:
    """Facts on the drift by fewer bits, and on its rise with the rank and the scale of random adapters."""
    eight, four = table.loc[("int8", 8.0)], table.loc[("nf4", 4.0)]
    rank, scale = table.loc[("rank", 64.0)].shesha, table.loc[("scale", 0.1)].shesha
    drifts = {f"{bits}, {name}": means[name] for bits, means in (("int8", eight), ("nf4", four)) for name in SHOWN}
    return {
        **drifts,
        "four_bits": four.shesha / eight.shesha,
        **{"rank 64": rank, "scale 01": scale},
    }


def _tables(published: Table) -> dict[str, float]:
    """Facts computed from the published tables alone."""
    lines = lines_of(published, "Table 43")
    lines = lines[lines.number.isin(_THREE)]
    wide = lines.assign(value=lines.published.astype(float)).pivot(index="row", columns="number", values="value")
    adapters = lines_of(published, "Table 45")
    of_shesha = adapters[adapters.number == "shesha"].set_index("row").published.astype(float)
    of_shesha.index = of_shesha.index.astype(str)
    pairs = [number(published, table, row, "cka") for table, row in (("Table 45", "8"), ("Table 46", "0.01"))]
    return {
        "smallest_step of Table 43": wide.diff().min().min(),
        **{"rank 4 of Table 45": of_shesha["4"], "rank 8 of Table 45": of_shesha["8"]},
        "step of Table 45": of_shesha["8"] - of_shesha["4"],
        "same setting": pairs[1],
        "same_setting_apart": abs(pairs[0] - pairs[1]),
    }
