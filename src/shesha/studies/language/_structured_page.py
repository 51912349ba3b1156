"""What the study of structured perturbations makes of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from shesha.plots import PALETTE
from shesha.studies._checks import Check
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure
from shesha.studies.language._drifts import NAMES
from shesha.studies.language._perturbed_models import MINILM, SMOLLM2
from shesha.studies.language._published_rows import Table, claim, derived, models, number, of, stand_ins
from shesha.studies.language._tiny_gpt import TINY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = ("shesha", "cka", "procrustes", "squared")
TABLES = {"Table 43": "noise", "Table 44": "", "Table 45": "rank", "Table 46": "scale"}
WHY = "means over 16 causal models that are not at hand; ours: "


def page(rows: Table, published: Table) -> Page:
    """Say which orders and ratios hold on the stand-ins, and what they owe to the scale of each number."""
    means = rows.groupby(["model", "kind", "amount"])[list(SHOWN)].mean()
    name = _stand_in(rows)
    own = means.loc[name]
    strong, weak = own.loc[("noise", 0.5)], own.loc[("noise", 0.05)]
    harmless = own.loc[("precision", 16.0)]
    tiny = means.loc[TINY[0]]
    answer = (
        f"On {name} noise of 0.5 moves Shesha by {strong.shesha:.2f}, CKA by {strong.cka:.2f} and Procrustes by "
        f"{strong.procrustes:.2f} (published: 0.72, 0.43, 0.41), on a small causal model by "
        f"{tiny.loc[('noise', 0.5)].shesha:.2f}, {tiny.loc[('noise', 0.5)].cka:.2f} and "
        f"{tiny.loc[('noise', 0.5)].procrustes:.2f}: that Shesha is largest is no law. That Procrustes leads at low "
        f"noise ({weak.procrustes:.3f} against {weak.shesha:.3f} and {weak.cka:.3f}) is its scale: squared, as in its "
        f"printed formula, it is {weak.squared:.4f}, and weights in bfloat16, which harm nothing, already give it "
        f"{harmless.procrustes:.4f}."
    )
    tables = (
        (f"Beside Tables 43 to 46: {name}, means of draws and sets of sentences", _beside(own, published)),
        ("All stand-ins", means.reset_index()),
        ("Times the drift of bfloat16 weights", _in_units(means)),
    )
    notes = (
        "Published: means over 16 causal models of 0.1 to 7 thousand million weights, 50 prompts each of four kinds, "
        "made by "
        "language models and not published with the text. Ours: sentences of STS-B (news, captions, forums) and SST-2.",
        "1 - rho, 1 - CKA and a distance are not on one scale. Each is 0 for no change and about 1 for none in common "
        '(Procrustes: up to 1.4), but they bend differently in between: "times more drift" compares bends, not '
        "changes.",
        "Fewer bits are simulated (float weights rounded as bitsandbytes would), random adapters are merged. A small "
        "model "
        "moves less under adapters of the same scale: their size is per entry and does not know the weights' own.",
    )
    return Page(answer, tables, (_picture(rows, published),), notes, tuple(_checks(rows, own, name, published)))


def _stand_in(rows: Table) -> str:
    """A published family if its rows are there, else the encoder, else the model trained here."""
    full = rows.groupby("model").size()
    return next((name for name in (SMOLLM2, MINILM) if full.get(name, 0) >= 96), TINY[0])


def _key(table: str, row: str) -> tuple[str, float]:
    if table == "Table 44":
        return row, 8.0 if row == "int8" else 4.0
    return TABLES[table], float(row)


def _beside(own: Table, published: Table) -> Table:
    lines = []
    for table in TABLES:
        for row, theirs in of(published, table).groupby("row", sort=False):
            at = _key(table, str(row))
            values = {line.number: float(line.published) for line in theirs.itertuples()}
            ours = own.loc[at].to_dict() if at in own.index else {}
            pairs = {
                f"{name}{what}": side.get(name)
                for name in SHOWN[:3]
                for what, side in (("", ours), (", published", values))
            }
            lines.append({"table": table, "change": at[0], "amount": at[1], **pairs, "squared": ours.get("squared")})
    return pd.DataFrame(lines)


def _in_units(means: Table) -> Table:
    """Drift in units of that of weights in bfloat16."""
    found = []
    for name, own in means.groupby("model", sort=False):
        if (name, "precision", 16.0) in means.index:
            found.append(own / means.loc[(name, "precision", 16.0)])
    return pd.concat(found).reset_index() if found else means.reset_index().head(0)


def _checks(rows: Table, own: Table, name: str, published: Table) -> Iterator[Check]:
    for table, kind in TABLES.items():
        yield from stand_ins(
            of(published, table),
            lambda row, what, table=table: _value(own, _key(table, row), what),  # type: ignore[misc]
            WHY + name,
            kind,
        )
    yield from models(
        of(published, "Table 53"), {}, "these weights are not at hand; `load` finds them by name where they are"
    )
    yield from _text(own, published)
    yield from _claims(rows, own, name, published)


def _value(own: Table, at: tuple[str, float], what: str) -> float | None:
    return float(own.loc[at, what]) if at in own.index else None


def _text(own: Table, published: Table) -> Iterator[Check]:
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
    del own


def _same(key: str, amount: str) -> bool:
    try:
        return float(key) == float(amount)
    except ValueError:
        return False


def _claims(rows: Table, own: Table, name: str, published: Table) -> Iterator[Check]:
    noise = own.loc["noise"].sort_index()
    steps = noise[["shesha", "cka", "procrustes"]].diff().dropna()
    yield claim(
        "10.2",
        "all numbers rise with the noise",
        "monotone",
        f"smallest step {steps.min(axis=None):+.3f} ({name})",
        bool((steps > 0).all(axis=None)),
        f"not at every step on {name}",
        control=False,
    )
    theirs = of(published, "Table 43").query("number in ('shesha', 'cka', 'procrustes')")
    falls = (
        theirs.assign(value=theirs.published.astype(float))
        .pivot(index="row", columns="number", values="value")
        .diff()
        .min()
    )
    yield claim(
        "Table 43",
        "all numbers rise with the noise, in the table itself",
        "monotone",
        f"smallest step {falls.min():+.3f}",
        bool(falls.min() > 0),
        "CKA falls from 0.432 to 0.430 at the last step",
    )
    low = noise.loc[0.05]
    yield claim(
        "10.2",
        "at low noise Procrustes is most sensitive, then Shesha, then CKA",
        "0.085, 0.049, 0.032",
        f"{low.procrustes:.3f}, {low.shesha:.3f}, {low.cka:.3f}; squared {low.squared:.4f}",
        bool(low.squared > low.shesha > low.cka),
        f"Procrustes is large because it is a root: squared, as its formula is printed, it is {low.squared:.4f} on "
        f"{name}, below both others",
    )
    high, units = noise.loc[0.5], own / own.loc[("precision", 16.0)]
    yield claim(
        "10.2",
        "at high noise Shesha captures the full extent of change, CKA and Procrustes less",
        "0.716, 0.430, 0.414",
        f"{high.shesha:.3f}, {high.cka:.3f}, {high.procrustes:.3f}; in units of bfloat16 weights "
        f"{units.loc[('noise', 0.5)].shesha:.0f}, {units.loc[('noise', 0.5)].cka:.0f}",
        bool(high.shesha > 1.2 * high.cka and units.loc[("noise", 0.5)].shesha > 1.2 * units.loc[("noise", 0.5)].cka),
        "1 - rho and 1 - CKA are not on one scale: relative to a harmless change (weights in bfloat16) the order is "
        "another",
    )
    yield claim(
        "10.2",
        "four bits move a model about three times as far as eight (Shesha)",
        3.0,
        float(own.loc[("nf4", 4.0), "shesha"] / own.loc[("int8", 8.0), "shesha"]),
        2 <= own.loc[("nf4", 4.0), "shesha"] / own.loc[("int8", 8.0), "shesha"] <= 4,
        f"on {name}, where all weights are rounded by rows (eight bits) and blocks (four): bitsandbytes' eight bits "
        f"also round activations, which these do not",
        control=False,
    )
    yield claim(
        "10.2",
        "drift by fewer bits is largest for Procrustes since bits rotate a model without harm",
        "0.053 and 0.097, largest",
        f"squared {own.loc[('int8', 8.0), 'squared']:.5f} and {own.loc[('nf4', 4.0), 'squared']:.4f}; Shesha "
        f"{own.loc[('int8', 8.0), 'shesha']:.5f} and {own.loc[('nf4', 4.0), 'shesha']:.4f}",
        False,
        "Procrustes takes rotations away before it measures, so no rotation can raise it; its printed numbers are "
        "roots",
    )
    for table, kind in (("Table 45", "rank"), ("Table 46", "scale")):
        yield from _rises(own, name, published, table, kind)
    adapters = of(published, "Table 45")
    four, eight = (
        float(adapters[(adapters.row.astype(str) == row) & (adapters.number == "shesha")].published.iloc[0])
        for row in ("4", "8")
    )
    yield claim(
        "10.2",
        "drift increases monotonically with rank, in the table itself",
        "monotone",
        f"rank 4: {four}, rank 8: {eight}",
        four < eight,
        "the published table falls from rank 4 to rank 8",
    )
    pairs = [number(published, table, row, "cka") for table, row in (("Table 45", "8"), ("Table 46", "0.01"))]
    yield claim(
        "Table 46",
        "scale 0.01 at rank 8 is the row of rank 8 in Table 45",
        pairs[0],
        pairs[1],
        pairs[0] == pairs[1],
        "the same setting differs in the last digit between the tables (another draw of the adapters)",
        control=False,
    )
    size, rank = own.loc[("rank", 64.0)].shesha, own.loc[("scale", 0.1)].shesha
    yield claim(
        "10.2",
        "the size of an adapter, not its rank alone, decides",
        "0.153 (rank 64) and 0.441 (scale 0.1)",
        f"{size:.4f} and {rank:.4f} ({name})",
        bool(rank > size),
        f"not on {name}",
        control=False,
    )


def _rises(own: Table, name: str, published: Table, table: str, kind: str) -> Iterator[Check]:
    steps = own.loc[kind].sort_index()[["shesha", "cka", "procrustes"]].diff().dropna()
    smallest = float(steps.min(axis=None))
    yield claim(
        table,
        f"drift rises with the {kind} of random adapters",
        "rises",
        f"smallest step {smallest:+.5f} ({name})",
        smallest > -1e-3,
        f"falls at a step on {name}: draws of single adapters differ by more",
        control=False,
    )
    del published


def _picture(rows: Table, published: Table) -> Picture:
    made, axes = figure(4, width=3.1, height=3.5)
    _curves(axes[0], of(published, "Table 43"))
    for ax, name in zip(axes[1:3], (TINY[0], _stand_in(rows) if _stand_in(rows) != TINY[0] else TINY[1]), strict=True):
        own = rows[(rows.model == name) & (rows.kind == "noise")].groupby("amount")[list(SHOWN)].mean()
        for place, what in enumerate(SHOWN):
            ax.plot(own.index, own[what], "o-", markersize=3, color=PALETTE[place], label=NAMES[what])
        ax.set(title=name, xlabel="noise", ylim=(0, None))
    axes[0].legend(frameon=False, fontsize="x-small")
    axes[1].legend(frameon=False, fontsize="x-small")
    _units(axes[3], rows)
    return Picture(
        "structured_perturbation",
        made,
        "Drift by noise: published, and of two stand-ins; and in units of the drift of bfloat16 weights",
    )


def _curves(ax: Axes, lines: Table) -> None:
    for place, what in enumerate(SHOWN[:3]):
        own = lines[lines.number == what]
        ax.plot(
            own.row.astype(float),
            own.published.astype(float),
            "o-",
            markersize=3,
            color=PALETTE[place],
            label=NAMES[what],
        )
    ax.set(title="published, 16 models", xlabel="noise", ylabel="drift", ylim=(0, None))


def _units(ax: Axes, rows: Table) -> None:
    own = rows[rows.model == TINY[0]].groupby(["kind", "amount"])[list(SHOWN)].mean()
    unit, noise = own.loc[("precision", 16.0)], own.loc["noise"]
    for place, what in enumerate(SHOWN):
        ax.plot(noise.index, noise[what] / unit[what], "o-", markersize=3, color=PALETTE[place])
    ax.set(yscale="log", title=f"{TINY[0]}, times bfloat16", xlabel="noise")
