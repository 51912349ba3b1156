"""Facts of the study `geometric-tax`, from our networks at equal width and from the paper's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from shesha.studies.facts import NAN, Fact, Facts, as_facts, mean_correlation, rank_correlation
from shesha_studies.stability_correlations._geometric_tax_statistics import TARGETS, Findings

_MODELS = 93
"""Number of models that all image sets of Table 28 have in common."""
_L, _J = "Geometric Stability", "Geometric Stability (journal)"


def make_facts(found: Findings, published: pd.DataFrame) -> Facts:
    """Return the facts by which the claims are judged."""
    parts = (_trade(found), _scores(found), _width_facts(found), _groups(found))
    published_facts = (_ranks_of_dino(published), _correlations(published), _p_values(published), _places(published))
    return as_facts({name: value for part in (*parts, *published_facts) for name, value in part.items()})


def _column(published: pd.DataFrame, where: str, row: str | None = None, number: str | None = None) -> pd.Series[Any]:
    table = published[published["where"] == where]
    if row is not None:
        return table[table.row == row].set_index("number").published.astype(str)
    return table[table.number == number].set_index("row").published.astype(str)


def _join_signed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:+.2f}" for value in values)


def _name_signed(values: Iterable[float], names: Iterable[str] = TARGETS) -> str:
    """Numbers with a sign, each with the name of its images."""
    return ", ".join(f"{value:+.2f} ({name})" for value, name in zip(values, names, strict=True))


def _p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _trade(findings: Findings) -> Mapping[str, Any]:
    """Facts on stability against LogME, and on every pair of scores at equal width."""
    plain, equal = (
        [findings.trade["stability", "logme", target, flag] for target in TARGETS] for flag in (False, True)
    )
    every = [rho for (_, _, _, same), rho in findings.trade.items() if same]
    signs = [sum(sign * rho.value > 0 and rho.p < 0.05 for rho in every) for sign in (-1, 1)]
    return {
        "networks": len(findings.rows),
        "equal_width": mean_correlation([rho.value for rho in equal], len(findings.rows)),
        "cells_negative": signs[0],
        "cells_positive": signs[1],
        "trade in words": _name_signed(rho.value for rho in plain),
        "trade at equal width in words": _name_signed(rho.value for rho in equal),
        "negative at equal width": sum(rho.value < 0 and rho.p < 0.05 for rho in equal),
    }


def _width_facts(findings: Findings) -> Mapping[str, Any]:
    """Correlations with the number of features."""
    names = ("logme", "accuracy", "stability", "equal")
    rhos = {name: findings.with_width(name) for name in names}
    means = ("shuffled", "stability", "repeated stability", "logme", "repeated logme")
    return {
        **{f"mean {name}": findings.rows[[f"{name} {t}" for t in TARGETS]].mean().mean() for name in means},
        **{f"{name} with width": rank_correlation(min(values), len(findings.rows)) for name, values in rhos.items()},
        **{f"{name} with width in words": _name_signed(values) for name, values in rhos.items()},
    }


def _scores(findings: Findings) -> Mapping[str, Any]:
    """Facts on LogME of few rows, agreement of ranks, and effects of rotations."""
    exact, code = _few_rows(findings)
    pairs = [(f"stability {first}", f"stability {second}") for first, second in combinations(TARGETS, 2)]
    plain, equal = (
        [findings.rank_correlation(*pair, same_width=flag).value for pair in pairs] for flag in (False, True)
    )
    ranks = [findings.rank_correlation(f"stability {target}", f"averaged {target}").value for target in TARGETS]
    return {
        **{"few_rows": code, "few_rows_exact": exact, "few_rows_apart": abs(code - exact)},
        "ranks across in words": _name_signed(plain, (" and ".join(pair) for pair in combinations(TARGETS, 2))),
        "ranks across at equal width in words": _join_signed(equal),
        "ranks across": rank_correlation(min(equal), len(findings.rows)),
        "ranks after rotation in words": _name_signed(ranks),
    }


_GROUPS = (
    ("objective", "contrastive", ("autoencoder", "rotation")),
    ("shape", "hierarchical", ("columnar",)),
)


def _groups(findings: Findings) -> Mapping[str, Any]:
    """Facts on objectives and architectures by Mann-Whitney tests; differences in two of three sets decide.

    The limits of the number of sets are the sets that show the difference and the sets that do not show the opposite.
    """
    facts: dict[str, Any] = {}
    for column, group, others in _GROUPS:
        numbers = {target: findings.compared(target, column, group, others) for target in TARGETS}
        clear, turned = (
            sum(sign * line["difference"] > 0 and line["p"] < 0.05 for line in numbers.values()) for sign in (1, -1)
        )
        counts = [int(findings.rows[column].isin(names).sum()) for names in ((group,), others)]
        known = all(line["p"] == line["p"] for line in numbers.values())
        facts |= {
            f"{group} sets": Fact(clear if known else NAN, clear, len(TARGETS) - turned),
            f"{group} networks": " and ".join(map(str, counts)),
            f"{group} in words": ", ".join(
                f"{line['difference']:+.3f} ({target}, {_p_value(line['p'])})" for target, line in numbers.items()
            ),
        }
    return facts


def _ranks_of_dino(published: pd.DataFrame) -> Mapping[str, Any]:
    ranks = _column(published, f"{_L}, Table 25", number="FS rank")
    places = {name: float(text.split("/")[0]) / float(text.split("/")[1]) for name, text in ranks.items()}
    others = [place for name, place in places.items() if name != "EuroSAT"]
    first = sum(text.startswith("1/") for text in _column(published, f"{_L}, Table 25", number="LogME rank"))
    below = [int(text.split("/")[1]) - int(text.split("/")[0]) for name, text in ranks.items() if name != "EuroSAT"]
    error = _error_of_dino(published)
    fewest, most = (_most_below_dino(published, sign * error) for sign in (-1, 1))
    return {
        "dino_below": Fact(max(below), min(fewest, max(below)), max(most, *below)),
        "dino_error": error,
        "dino_last": sum(place == 1 for place in others),
        "dino_not_last": sum(place < 1 for place in others),
        "dino_best": ", ".join(
            f"{text} ({name})" for name, text in ranks.items() if places[name] < 1 and name != "EuroSAT"
        ),
        "dino_first": first,
        "dino_first_off": abs(first - 4),
    }


def _error_of_dino(published: pd.DataFrame) -> float:
    """Twice the standard error of DINOv2's stability over its four models, which are printed only for CIFAR-100."""
    scores = _column(published, f"{_L}, Table 36", number="CIFAR-100 FS").astype(float)
    models = scores[scores.index.str.contains("dinov2")]
    return float(2 * models.std(ddof=1) / np.sqrt(len(models)))


def _most_below_dino(published: pd.DataFrame, moved: float) -> int:
    """Largest number of families of Table 29 below a shifted DINOv2 score, on any set of images except EuroSAT."""
    table = published[published["where"] == f"{_L}, Table 29"]
    wide = table.pivot_table(index="row", columns="number", values="published", aggfunc="first").astype(float)
    others = wide.drop(columns=["EuroSAT", "mean"])
    return int((others.drop("DINOv2") < others.loc["DINOv2"] + moved).sum().max())


def _correlations(published: pd.DataFrame) -> Mapping[str, Any]:
    """Facts on the correlations of Tables 23 and 28, and on the families of Tables 29 and 41."""
    table = _column(published, f"{_L}, Table 23", row="LogME vs Shesha-FS").astype(float)
    families = _families_published(published)
    domain = _column(published, f"{_L}, Table 22", number="domain").to_dict()
    own = published[published["where"] == f"{_L}, Table 28"]
    pairs = dict(zip(zip(own.row, own.number, strict=True), own.published.astype(float), strict=True))
    within, across = (
        [value for (a, b), value in pairs.items() if (domain[a] == domain[b]) == flag] for flag in (True, False)
    )
    return {
        "Oxford Pets": table["Oxford Pets"],
        "above the most negative": table["Oxford Pets"] - table.min(),
        "Table 23 in words": _join_signed(table),
        "published negative": _significantly_negative(published),
        "families": mean_correlation(families["rho"], int(families.families.min())),
        "number of families": families.families.min(),
        "textures and pets": pairs["DTD", "Oxford Pets"],
        "flowers and pets": pairs["Flowers-102", "Oxford Pets"],
        "within beyond across": _less(rank_correlation(min(within), _MODELS), rank_correlation(max(across), _MODELS)),
        "lowest across": rank_correlation(min(across), _MODELS),
    }


def _less(first: Fact, second: Fact) -> Fact:
    """Difference of two numbers, with the widest limits that their intervals allow."""
    return Fact(first.value - second.value, first.low - second.high, first.high - second.low)


def _p_values(published: pd.DataFrame) -> Mapping[str, float]:
    """Facts on the smallest p-values that 3 and 10 models allow, and on how many of six are below 0.05."""
    smallest, published_p = 1 / comb(13, 3), float(_column(published, f"{_L}, Table 26", number="p")["CIFAR-10"])
    both = (_column(published, where, number="p") for where in (f"{_L}, Table 27", f"{_J}, Table 7"))
    small = [sum(text.startswith("<") or float(text) < 0.05 for text in some) for some in both]
    return {
        **{"smallest": smallest, "smallest_two_sided": 2 * smallest, "too small": smallest - published_p},
        **{"significant": small[0], "significant in the journal": small[1]},
    }


def _places(published: pd.DataFrame) -> Mapping[str, float]:
    """Count the ranks of families that match their scores."""
    scores = published[(published["where"] == f"{_L}, Table 29") & (published.number != "mean")]
    ranks = published[published["where"] == f"{_L}, Table 40"]
    wide = scores.pivot_table(index="row", columns="number", values="published", aggfunc="first").astype(float)
    positions = wide.rank(ascending=False, method="min")
    both = ranks.merge(positions.reset_index().melt("row"), on=["row", "number"])
    equal = int((both.value == both.published.astype(float)).sum())
    turned = sum(_turned_pairs(group.value, group.published.astype(float)) for _, group in both.groupby("number"))
    return {"ranks that follow": equal, "pairs turned": turned}


def _turned_pairs(first: pd.Series[float], second: pd.Series[float]) -> int:
    """Count the pairs that two rankings of the same families put in opposite orders."""
    a, b = (np.sign(np.subtract.outer(series.to_numpy(), series.to_numpy())) for series in (first, second))
    return int((a * b < 0).sum()) // 2


def _few_rows(found: Findings) -> tuple[float, float]:
    """Mean LogME of 200 rows of the widest networks, exact and by the public code."""
    table = found.rows[found.rows.width == found.rows.width.max()]
    exact, code = (
        float(table[[f"{name} {target}" for target in TARGETS]].to_numpy().mean())
        for name in ("few logme", "few published logme")
    )
    return exact, code


def _significantly_negative(published: pd.DataFrame) -> int:
    """Count the published correlations of LogME and stability below 0 with p < 0.05."""
    from scipy.stats import t

    lines = published[(published["where"] == "Geometric Stability, Table 23") & (published.row == "LogME vs Shesha-FS")]
    values = lines.published.astype(float).to_numpy()
    freedom = _MODELS - 2
    p = 2 * t.sf(np.abs(values) * np.sqrt(freedom / (1 - values**2)), freedom)
    return int(((values < 0) & (p < 0.05)).sum())


def _families_published(published: pd.DataFrame) -> pd.DataFrame:
    """Rank correlation of the families of Tables 29 and 41, by image set."""
    wide = [
        published[published["where"] == f"Geometric Stability, Table {table}"]
        .pivot_table(index="row", columns="number", values="published", aggfunc="first")
        .astype(float)
        for table in (29, 41)
    ]
    lines = []
    for images in wide[1].columns:
        both = pd.concat([table[images] for table in wide], axis=1, keys=["stability", "LogME"]).dropna()
        lines.append({"families": len(both), "rho": both.corr(method="spearman").iloc[0, 1]})
    return pd.DataFrame(lines)
