"""What was published of structured perturbations, beside stand-ins and the published tables themselves."""

from __future__ import annotations

from collections.abc import Iterator

from shesha.studies.checks import DIFFERS, Check
from shesha.studies.published import Answers, Found, Table, against, claim, derived, models, number, of, stand_ins

SHOWN = ("shesha", "cka", "procrustes", "squared")
TABLES = {"Table 43": "noise", "Table 44": "", "Table 45": "rank", "Table 46": "scale"}
_NOTHING_LEFT = 0.9
"""Drift beyond which two representations are told apart from strangers by chance."""
WHY = "means over 16 causal models that are not at hand; ours: "


def key_of(table: str, row: str) -> tuple[str, float]:
    """Return the change and the amount that a row of a table is about."""
    if table == "Table 44":
        return row, 8.0 if row == "int8" else 4.0
    return TABLES[table], float(row)


def checks(own: Table, name: str, published: Table, claims: Table) -> Iterator[Check]:
    """Yield a check for every published number and claim of 10.2."""
    for table, kind in TABLES.items():
        yield from stand_ins(
            of(published, table),
            lambda row, what, table=table: _value(own, key_of(table, row), what),  # type: ignore[misc]
            WHY + name,
            kind,
        )
    yield from models(
        of(published, "Table 53"), {}, "these weights are not at hand; `load` finds them by name where they are"
    )
    yield from _text(published)
    yield from against(claims, _claims(own, name, published))


def _value(own: Table, at: tuple[str, float], what: str) -> float | None:
    return float(own.loc[at, what]) if at in own.index else None


def _text(published: Table) -> Iterator[Check]:
    """Numbers of the text are those of the tables, in per cent."""
    lines = of(published, "10.2", "Figure 23", "Figure 24")
    plain = lines[lines.number.isin(SHOWN)]

    def of_table(row: str, what: str) -> float:
        kind, _, amount = row.partition(" ")
        table = {"noise": "Table 43", "rank": "Table 45", "scale": "Table 46"}.get(kind, "Table 44")
        keys = of(published, table).row.astype(str)
        wanted = next(key for key in keys if key == kind or (amount and _same(key, amount)))
        return 100 * number(published, table, wanted, what)

    yield from derived(plain, of_table, "the published table itself gives another number", "per cent,", rounding=0.05)
    at = [number(published, "Table 43", "0.50", one) for one in ("shesha", "cka")]
    bits = [number(published, "Table 44", one, "shesha") for one in ("nf4", "int8")]
    ratios = {"noise 0.5": at[0] / at[1], "nf4": bits[0] / bits[1]}
    yield from derived(lines[~lines.number.isin(SHOWN)], lambda row, _: ratios[row], "from the published table")


def _same(key: str, amount: str) -> bool:
    try:
        return float(key) == float(amount)
    except ValueError:
        return False


def _claims(own: Table, name: str, published: Table) -> Answers:
    return {
        **_answer_noise(own, name),
        **_answer_levels(own, name),
        **_answer_bits(own, name),
        **_answer_adapters(own, name),
        **_answer_tables(published),
    }


def _answer_noise(own: Table, name: str) -> Answers:
    """Whether all numbers rise with the noise, and why not if not."""
    noise = own.loc["noise"].sort_index()
    three = noise[["shesha", "cka", "procrustes"]]
    steps = three.diff().dropna()
    fallen = three.shift().dropna().where(steps <= 0).min(axis=None)
    if fallen > _NOTHING_LEFT:
        why = f"one falls from {fallen:.2f}, where nothing is left in common and what is measured is chance"
    else:
        why = "draws of noise differ by more than a step"
    said = f"smallest step {steps.min(axis=None):+.3f} ({name})"
    return {"rises": claim(bool((steps > 0).all(axis=None)), said, f"not at every step on {name}: {why}", DIFFERS)}


def _answer_levels(own: Table, name: str) -> Answers:
    """Which number leads at little and at much noise, on one scale."""
    answers: Answers = {}
    noise = own.loc["noise"]
    low = noise.loc[0.05]
    answers["low noise"] = claim(
        bool(low.squared > low.shesha > low.cka),
        f"{low.procrustes:.3f}, {low.shesha:.3f}, {low.cka:.3f}; squared {low.squared:.4f}",
        f"Procrustes is large because it is a root: squared, as its formula is printed, it is {low.squared:.4f} on "
        f"{name}, below both others",
    )
    high, units = noise.loc[0.5], own / own.loc[("precision", 16.0)]
    answers["high noise"] = claim(
        bool(high.shesha > 1.2 * high.cka and units.loc[("noise", 0.5)].shesha > 1.2 * units.loc[("noise", 0.5)].cka),
        f"{high.shesha:.3f}, {high.cka:.3f}, {high.procrustes:.3f}; in units of bfloat16 weights "
        f"{units.loc[('noise', 0.5)].shesha:.0f}, {units.loc[('noise', 0.5)].cka:.0f}",
        "1 - rho and 1 - CKA are not on one scale: relative to a harmless change (weights in bfloat16) the order is "
        "another",
    )
    return answers


def _answer_bits(own: Table, name: str) -> Answers:
    """What fewer bits move."""
    answers: Answers = {}
    answers["four bits"] = claim(
        2 <= own.loc[("nf4", 4.0), "shesha"] / own.loc[("int8", 8.0), "shesha"] <= 4,
        float(own.loc[("nf4", 4.0), "shesha"] / own.loc[("int8", 8.0), "shesha"]),
        f"on {name}, where all weights are rounded by rows (eight bits) and blocks (four): bitsandbytes' eight bits "
        f"also round activations, which these do not",
        DIFFERS,
    )
    bits = own.loc[[("int8", 8.0), ("nf4", 4.0)]]
    answers["few bits"] = claim(
        bool((bits.squared > bits[["shesha", "cka"]].max(axis=1)).all()),
        f"squared {own.loc[('int8', 8.0), 'squared']:.5f} and {own.loc[('nf4', 4.0), 'squared']:.4f}; Shesha "
        f"{own.loc[('int8', 8.0), 'shesha']:.5f} and {own.loc[('nf4', 4.0), 'shesha']:.4f}",
        "Procrustes takes rotations away before it measures, so no rotation can raise it; its printed numbers are "
        "roots",
    )
    return answers


def _answer_adapters(own: Table, name: str) -> Answers:
    """Whether drift rises with the rank and the scale of random adapters, and which moves more."""
    answers: Answers = {f"rises with {kind}": _rises(own, name, kind) for kind in ("rank", "scale")}
    size, rank = own.loc[("rank", 64.0)].shesha, own.loc[("scale", 0.1)].shesha
    answers["size"] = claim(bool(rank > size), f"{size:.4f} and {rank:.4f} ({name})", f"not on {name}", DIFFERS)
    return answers


def _answer_tables(published: Table) -> Answers:
    """What the published tables say of themselves."""
    answers: Answers = {}
    theirs = of(published, "Table 43").query("number in ('shesha', 'cka', 'procrustes')")
    falls = (
        theirs.assign(value=theirs.published.astype(float))
        .pivot(index="row", columns="number", values="value")
        .diff()
        .min()
    )
    answers["rises in the table"] = claim(
        bool(falls.min() > 0), f"smallest step {falls.min():+.3f}", "CKA falls from 0.432 to 0.430 at the last step"
    )
    adapters = of(published, "Table 45")
    four, eight = (
        float(adapters[(adapters.row.astype(str) == row) & (adapters.number == "shesha")].published.iloc[0])
        for row in ("4", "8")
    )
    answers["ranks"] = claim(
        four < eight, f"rank 4: {four}, rank 8: {eight}", "the published table falls from rank 4 to rank 8"
    )
    pairs = [number(published, table, row, "cka") for table, row in (("Table 45", "8"), ("Table 46", "0.01"))]
    answers["same setting"] = claim(
        pairs[0] == pairs[1],
        pairs[1],
        "the same setting differs in the last digit between the tables (another draw of the adapters)",
        DIFFERS,
    )
    return answers


def _rises(own: Table, name: str, kind: str) -> Found:
    steps = own.loc[kind].sort_index()[["shesha", "cka", "procrustes"]].diff().dropna()
    smallest = float(steps.min(axis=None))
    return claim(
        smallest > -1e-3,
        f"smallest step {smallest:+.5f} ({name})",
        f"falls at a step on {name}: draws of single adapters differ by more",
        DIFFERS,
    )
