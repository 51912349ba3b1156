"""Facts of the study of structured perturbations: on a stand-in, and in the published tables themselves."""

from __future__ import annotations

from shesha.studies.facts import Facts, as_facts
from shesha.studies.published import Table, lines_of, number, split_numbers_and_claims
from shesha_studies.language._perturbed_models import stand_in
from shesha_studies.language._structured_numbers import LEAST, SHOWN
from shesha_studies.language._tiny_gpt import TINY

_THREE = ["shesha", "cka", "procrustes"]


def make_facts(rows: Table, lines: Table) -> Facts:
    """Return what decides the claims."""
    means = rows.groupby(["model", "kind", "amount"])[list(SHOWN)].mean()
    name = stand_in(rows, LEAST)
    own, tiny = means.loc[name], means.loc[TINY[0]]
    parts = (_noise(own), _bits_and_adapters(own), _tables(split_numbers_and_claims(lines)[0]))
    found = {key: value for part in parts for key, value in part.items()}
    return as_facts({"model": name, **found}) | as_facts(tiny.loc[("noise", 0.5)][_THREE].to_dict(), "tiny GPT, ")


def _noise(own: Table) -> dict[str, float]:
    """Whether all numbers rise with the noise, and which leads at little and at much noise, on one scale."""
    noise = own.loc["noise"].sort_index()
    steps = noise[_THREE].diff().dropna()
    fallen = noise[_THREE].shift().dropna().where(steps <= 0)
    low, high, harmless = noise.loc[0.05], noise.loc[0.5], own.loc[("precision", 16.0)]
    units = high / harmless
    return {
        "smallest_step": steps.min(axis=None),
        "falls_from": fallen.min(axis=None) if fallen.notna().any(axis=None) else 0.0,
        **{f"low, {name}": low[name] for name in SHOWN},
        **{f"high, {name}": high[name] for name in SHOWN},
        **{f"units, {name}": units[name] for name in SHOWN},
        **{f"harmless, {name}": harmless[name] for name in SHOWN},
        "low_order": min(low.squared - low.shesha, low.shesha - low.cka),
        "high_ratio": high.shesha / high.cka,
        "high_ratio_in_units": units.shesha / units.cka,
    }


def _bits_and_adapters(own: Table) -> dict[str, float]:
    """What fewer bits move, and whether drift rises with the rank and the scale of random adapters."""
    eight, four = own.loc[("int8", 8.0)], own.loc[("nf4", 4.0)]
    rank, scale = own.loc[("rank", 64.0)].shesha, own.loc[("scale", 0.1)].shesha
    found = {f"{bits}, {name}": one[name] for bits, one in (("int8", eight), ("nf4", four)) for name in SHOWN}
    for kind in ("rank", "scale"):
        found[f"smallest_step of {kind}"] = own.loc[kind].sort_index()[_THREE].diff().dropna().min(axis=None)
    return {
        **found,
        "four_bits": four.shesha / eight.shesha,
        "four_bits_off": abs(four.shesha / eight.shesha - 3),
        "squared_largest": min(one.squared - max(one.shesha, one.cka) for one in (eight, four)),
        **{"rank 64": rank, "scale 01": scale, "scale_more": scale - rank},
    }


def _tables(published: Table) -> dict[str, float]:
    """What the published tables say of themselves."""
    theirs = lines_of(published, "Table 43")
    theirs = theirs[theirs.number.isin(_THREE)]
    wide = theirs.assign(value=theirs.published.astype(float)).pivot(index="row", columns="number", values="value")
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
