"""What was published of drift and losses of causal models, beside a small one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shesha.studies.checks import DIFFERS, INCONCLUSIVE, Check
from shesha.studies.facts import Facts, over_draws, rate
from shesha.studies.published import Answers, Table, against, claim, derived, number, of, stand_ins, unreachable
from shesha_studies.language._drifts import BOUND
from shesha_studies.language._perturbed_models import stand_in

SHOWN = ("shesha", "cka", "procrustes", "squared", "wasserstein")
LOST, STABLE = 0.05, 1.0
LEAST = 27
"""Rows of a model that is told of: all changes but rounding, once."""


def checks(own: Table, name: str, numbers: Table, published: Table, claims: Table) -> Iterator[Check]:
    """Yield a check for every published number and claim of 10.4, and of what 3.3 and 10.5 say of it."""
    why = f"15 causal models that are not at hand; ours: {name}"
    means = own.groupby(["kind", "amount"])[["drop", *SHOWN]].mean()

    def ours(row: str, what: str) -> float | None:
        kind, _, amount = ("rank 8" if row == "scale 0.01" else row).partition(" ")
        at = (kind, float(amount) if amount else 8.0 if kind == "int8" else 4.0)
        return float(means.loc[at, what]) if at in means.index and what in means.columns else None

    for table in ("Table 49", "Table 50", "Table 51"):

        def in_its_unit(row: str, what: str, share: float = 1.0 if table == "Table 51" else 0.01) -> float | None:
            return _scaled(ours(row, what), what, share)

        yield from stand_ins(of(published, table), in_its_unit, why)
    columns = {"correlation": "probe", "first noise": "first noise beyond 0.05"}
    text = of(published, "10.4", "3.3", "10.5")
    for lines in (of(published, "Table 48"), text[text.number.isin(list(columns))]):
        yield from stand_ins(lines, lambda row, what: float(numbers.loc[row, columns[what]]), why)
    rest = text[~text.number.isin(list(columns))]
    ratio = rest.number.str.startswith(("times", "points"))
    yield from stand_ins(
        rest[~ratio], lambda row, what: ours(row, what) if " " not in row or row.startswith("scale") else None, why
    )
    yield from derived(rest[ratio], lambda _, what: _quotient(published, what), "quotient of the printed numbers")
    yield from against(claims, _claims(own, numbers, published))


def _scaled(value: float | None, what: str, share: float) -> float | None:
    return value if value is None or what != "drop" else share * value


def _quotient(published: Table, what: str) -> float:
    if what.startswith("points"):
        both = [
            number(published, "3.3", "LoRA", f"sensitivity at 5 % false positives, {one}")
            for one in ("shesha", "procrustes")
        ]
        return both[0] - both[1]
    if what.startswith("times the drift"):
        return number(published, "3.3", "scale 0.001", "procrustes") / number(published, "3.3", "scale 0.001", "shesha")
    rates = [
        number(published, "3.3", "stable (drop below 1 %)", f"false alarms, {one}") for one in ("procrustes", "shesha")
    ]
    return rates[0] / rates[1]


def _claims(own: Table, numbers: Table, published: Table) -> Answers:
    return {**_answer_detection(numbers, published), **_answer_scale(own, numbers), **_answer_damage(own)}


def _answer_detection(numbers: Table, published: Table) -> Answers:
    """What drift foretells, how early and how surely."""
    answers: Answers = {}
    three = numbers.loc[["shesha", "cka", "procrustes"]]
    level = float(numbers.loc["amount", "probe"])
    answers["foretells"] = claim(
        bool(three.probe.max() > level + 0.05),
        f"{three.probe.min():.2f} to {three.probe.max():.2f}; noise itself {level:.2f}",
        f"in one model every number rises with the noise, whose own correlation with the loss is {level:.2f}",
    )
    first = [number(published, "10.4", one, "first noise") for one in ("shesha", "cka")]
    answers["earlier"] = claim(
        first[0] < first[1],
        f"{first[0]} and {first[1]}",
        "in the published causal models CKA (0.117) is before Shesha (0.120)",
    )
    ours = three["area under the curve"]
    answers["detector"] = claim(
        bool(ours["shesha"] > ours[["cka", "procrustes"]].max() + 0.02),
        f"{ours['shesha']:.3f}, CKA {ours['cka']:.3f}, Procrustes {ours['procrustes']:.3f}",
        "a difference of 0.002 in 165 changes is one pair in five hundred; on the stand-in there is none either",
    )
    return answers


def _answer_scale(own: Table, numbers: Table) -> Answers:
    """What is said of Procrustes, whose number is a root."""
    answers: Answers = {}
    answers["rotations"] = unreachable(
        "no cell only turns or shifts the rows: Procrustes takes that away before it measures, by its definition"
    )
    least = own[(own.kind == "scale") & (own.amount == 0.001)]
    small, shesha, squared = np.sqrt(2 * float(least.squared.mean())), float(least.shesha.mean()), least.squared.mean()
    answers["minimal"] = claim(
        bool(squared > shesha),
        f"{small:.4f} and {shesha:.6f}",
        "the root of a small number is large: 0.015 squared, halved, is 0.0001, below Shesha's 0.0004",
    )
    return answers


def _answer_damage(own: Table) -> Answers:
    """What fewer bits and adapters cost."""
    answers: Answers = {}
    bits = own[own.kind.isin(["int8", "nf4"])]
    worst = float(bits["p_drop"].min()) if len(bits) else float("nan")
    answers["bits"] = claim(
        False if len(bits) else None,
        f"drops {', '.join(f'{value:.1f} %' for value in bits['drop'])}, smallest p = {worst:.2f}",
        "a loss beyond chance on the stand-in"
        if worst <= LOST
        else "no loss is seen, and a p-value above 0.05 does not show that there is none",
        DIFFERS if worst <= LOST else INCONCLUSIVE,
    )
    adapters = own[own.kind.isin(["rank", "scale"])]
    rho = float(adapters.shesha.corr(adapters["drop"], method="spearman"))
    low, high = np.tanh(np.arctanh(rho) + np.array([-1.96, 1.96]) / np.sqrt(len(adapters) - 3))
    real = int((adapters.p_drop < LOST).sum())
    answers["adapters"] = claim(
        rho > 0.3,
        rho,
        f"{len(adapters)} adapters give {low:.2f} to {high:.2f}, which may hold the published 0.67; {real} of them "
        "lose more than chance (McNemar), so that the order of the other losses is chance",
        DIFFERS if high < 0.3 else INCONCLUSIVE,
    )
    return answers


def make_facts(rows: Table) -> Facts:
    """Shares of changes that lose less than 1 % which pass a drift of 0.05, also of Procrustes squared, as printed."""
    own = rows[rows.model == stand_in(rows, LEAST)]
    still = own[(own.kind != "precision") & (own["drop"].round(6) < STABLE)]
    alarms = still[["shesha", "procrustes", "squared"]].gt(BOUND).astype(float)
    made = {str(name): rate(int(alarms[name].sum()), len(still)) for name in alarms}
    return made | {f"{name}_more": over_draws(alarms[name] - alarms.shesha) for name in ("procrustes", "squared")}
