"""Every number and claim of the transfer section, judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from shesha import stability, transfer
from shesha.studies.checks import DIFFERS, INCONCLUSIVE, RECIPE, Check
from shesha.studies.published import (
    Answers,
    Found,
    Table,
    against,
    check_of,
    claim,
    derived,
    number,
    of,
    stand_ins,
)
from shesha_studies.language._transfer_models import FAMILIES, TEST
from shesha_studies.language._transfer_numbers import by_metric, of_table_57, table_57

KEYS = {
    "Label-RDM Align": "alignment",
    "Class Separation": "separation",
    "Split-Half": "split",
    "LDA": "lda",
    "LogME": "logme",
    "Bhatt": "bhattacharyya",
    "H-Score": "h_score",
    "Margin": "margin",
    "Centroid": "centroid",
    "NCE": "nce",
}
_SCORES: dict[str, Callable[..., Any]] = {
    "alignment": stability.supervised_alignment,
    "separation": stability.class_separation_ratio,
    "split": stability.feature_split,
    "lda": stability.lda_stability,
    "logme": transfer.logme,
    "bhattacharyya": transfer.bhattacharyya,
    "h_score": transfer.h_score,
    "margin": transfer.margin_score,
    "centroid": transfer.centroid_softmax,
    "nce": transfer.nce,
}
MODELS = 30
HERE = (
    f"30 encoders, IMDB to SST-2 or Yelp; ours: {sum(map(len, FAMILIES.values()))} representations of {len(FAMILIES)} "
    "families, SST-2 phrases to sentences"
)
AT_HAND = {"all-MiniLM-L6-v2": ("MiniLM", 6), "all-mpnet-base-v2": ("MPNet", 12)}
"""Published encoders whose weights we have: their last layer is a representation of ours."""
TEST_ROWS = 1000
"""Published sentences that accuracies were tested on."""


def checks(rows: Table, published: Table, claims: Table) -> Iterator[Check]:
    """Yield a check for every row of Tables 55 to 58 and every number of the text."""
    found = by_metric(rows).set_index(["number", "accuracy"])
    yield from _stars(published)
    for table in ("Table 55", "Table 56"):
        lines = of(published, table)
        lines = lines[~lines.number.str.contains("stars|type")]
        yield from stand_ins(lines, lambda row, at: _rho(found, row, at), HERE, "rank correlation,")
    for _, one in of(published, "Table 56").query("number == 'type'").iterrows():
        ours = _kind(str(one.row))
        yield check_of(one, claim(ours == one.published, ours, "the metric takes other information", DIFFERS))
    yield from _table_57(rows, published)
    yield from _check_tables(published)
    yield from against(claims, _claims(found, published))


def _table_57(rows: Table, published: Table) -> Iterator[Check]:
    """Compare accuracies on SST-2 of the encoders that we have; the other numbers need other weights, IMDB or Yelp."""
    lines = of(published, "Table 57")
    reached = lines.row.isin(list(AT_HAND)) & (lines.number == "accuracy 1")
    yield from stand_ins(
        lines[~reached], lambda *_: None, "weights of most of these encoders, IMDB and Yelp are not at hand"
    )
    accuracy = rows.set_index(["family", "part"])["accuracy 512"] / 100
    for _, line in lines[reached].iterrows():
        ours = float(accuracy.get(AT_HAND[str(line.row)], np.nan))
        if np.isnan(ours):
            yield check_of(line, claim(None, None))
            continue
        error = float(np.sqrt(ours * (1 - ours) * (1 / TEST + 1 / TEST_ROWS)))
        why = f"512 training sentences and {TEST} test sentences here"
        yield replace(check_of(line, Found(ours, error, why)), basis=RECIPE)


def _key(row: str) -> str:
    return next(value for key, value in KEYS.items() if row.startswith(key))


def _rho(found: Table, row: str, at: str) -> float | None:
    accuracy = "accuracy 512" if at == "correlation" else f"accuracy {at}"
    return float(found.loc[(_key(row), accuracy), "rho"]) if (_key(row), accuracy) in found.index else None


def _kind(row: str) -> str:
    """Say whether our score of that name takes labels, by its signature."""
    named = signature(_SCORES[_key(row)]).parameters
    return "Label-informed" if "y" in named else "Unsupervised"


def _stars(published: Table) -> Iterator[Check]:
    """Stars are those of Student's t for 30 independent models."""
    from scipy.stats import t

    for table in ("Table 55", "Table 56"):
        lines = of(published, table)
        for _, line in lines[lines.number.str.contains("stars")].iterrows():
            at = "correlation" if line.number == "stars" else line.number.split()[0]
            rho = number(published, table, str(line.row), at)
            p = 2 * t.sf(abs(rho) * np.sqrt((MODELS - 2) / (1 - rho**2)), MODELS - 2)
            ours = float(sum(p < level for level in (0.05, 0.01, 0.001)))
            said = float(line.published)
            why = f"rho = {rho} with n = 30 has p = {p:.4f}: rounding of rho"
            asked = {**line, "what": f"{line.row}: {line.number}, as of {MODELS} independent models"}
            yield check_of(asked, claim(ours == said, ours, why, DIFFERS))


def _check_tables(published: Table) -> Iterator[Check]:
    """Numbers that the published tables themselves give."""
    table = table_57(published)
    lines = of(published, "11.3", "11.6", "11.7")
    over_k = lines[lines.number.isin(["lowest over k", "highest over k"])]
    yield from derived(over_k, lambda row, which: _extreme(published, row, which), "Table 55 has another extreme")
    again = lines[lines.number.isin(["64", "correlation"])]
    yield from derived(
        again,
        lambda row, at: number(published, "Table 55" if at == "64" else "Table 56", row, at),
        "the table has another value",
    )
    from scipy.stats import t

    rho = number(published, "Table 56", "Split-Half (dims)", "correlation")
    p = float(2 * t.sf(abs(rho) * np.sqrt(28 / (1 - rho**2)), 28))
    yield from derived(lines[lines.number == "p"], lambda *_: p, "the correlation has two digits: 0.034 gives p = 0.86")
    named = of(published, "11.4")
    plain = named[named.row.isin(table.index)]
    yield from derived(plain, lambda row, what: float(table.loc[row, what]), "Table 57 has another value")
    ends = {
        name: 100
        * (table.sort_values("alignment")[name].tail(5).mean() - table.sort_values("alignment")[name].head(5).mean())
        for name in ("accuracy 1", "accuracy 2")
    }
    yield from derived(
        named[~named.row.isin(table.index)],
        lambda _, what: float(ends[what]),
        "the five highest and lowest rows of Table 57 give this; Exp1 of the table has no k",
    )
    yield from _table_58(published)
    counts: dict[str, float] = {
        **table.capacity.value_counts().astype(float).to_dict(),
        "models": float(len(table)),
        "observations, experiment 1": 180.0,
        "observations, experiment 2": 30.0,
    }
    own = of(published, "11.1")
    yield from derived(own[own.number.isin(list(counts))], lambda _, what: counts[what], "counted in Table 57")
    used = {
        "source samples": 300.0,
        "target training rows": 512.0,
        "target validation rows": 88.0,
        "target test rows": 300.0,
    }
    yield from stand_ins(
        own[own.number.isin(list(used))],
        lambda _, what: used[what],
        "other texts: phrases and sentences of SST-2, fewer for time",
    )


def _extreme(published: Table, row: str, which: str) -> float:
    lines = of(published, "Table 55")
    values = lines[(lines.row == row) & ~lines.number.str.contains("stars")].published.astype(float)
    return float(values.min() if which.startswith("lowest") else values.max())


def _table_58(published: Table) -> Iterator[Check]:
    lines = of(published, "Table 58", "11.5", "11.7")
    yield from derived(
        lines[(lines.number == "gap")],
        lambda row, _: (
            number(published, "Table 58", row, "label-informed") - number(published, "Table 58", row, "unsupervised")
        ),
        "the difference of the two columns",
    )
    gaps = (
        of(published, "Table 58")
        .query("number == 'gap' and row.str.startswith('Transfer')", engine="python")
        .published.astype(float)
    )
    yield from derived(
        lines[lines.row == "gap"],
        lambda _, which: float(gaps.min() if which == "lowest" else gaps.max()),
        "from Table 58",
    )
    told = {
        ("Transfer (SST-2, k = 64)", "unsupervised"): number(published, "Table 55", "Split-Half (unsup.)", "64"),
        ("Transfer (SST-2, k = 64)", "label-informed"): number(published, "Table 55", "H-Score", "64"),
        ("Transfer (Yelp)", "unsupervised"): number(published, "Table 56", "Split-Half (dims)", "correlation"),
        ("Transfer (Yelp)", "label-informed"): number(published, "Table 56", "LogME", "correlation"),
    }
    rest = lines[lines.number.isin(["unsupervised", "label-informed"])]
    yield from derived(
        rest[rest.row.str.startswith("Transfer")], lambda row, what: told[(row, what)], "the tables have another value"
    )
    yield from stand_ins(
        rest[rest.row.str.startswith("Steering")],
        lambda *_: None,
        "a number of the steering experiments: see the study steering",
    )


def _claims(found: Table, published: Table) -> Answers:
    at: Any = {name: found.loc[(name, "accuracy 512")] for name in KEYS.values()}
    return {
        **_answer_published_models(published),
        **_answer_scores(at),
        **_answer_summary(published),
    }


def _answer_published_models(published: Table) -> Answers:
    """What Table 57 itself says: by families, and at equal size."""
    answers: Answers = {}
    theirs = of_table_57(published)
    one, two = theirs["alignment, accuracy 1"], theirs["alignment, accuracy 2"]
    for name, line, table, column in (
        ("Exp1 Acc", one, "Table 55", "512"),
        ("Exp2 Acc", two, "Table 56", "correlation"),
    ):
        said = number(published, table, "Label-RDM Align." if column == "512" else "Label-RDM Alignment", column)
        answers[f"table 57, {name}"] = claim(
            abs(said - line.rho) < 0.015,
            float(line.rho),
            f"Table 57 gives {line.rho:.3f}; its Exp1 names no k, and two models of equal accuracy share a rank",
            DIFFERS,
        )
    answers["families"] = claim(
        bool(max(one.p_families, two.p_families) <= 0.05),
        f"over {one.families:.0f} families: rho {one.rho_families:.2f} (p = {one.p_families:.3f}) and "
        f"{two.rho_families:.2f} (p = {two.p_families:.3f})",
        f"models of a family share training and data: over the families of Table 57 p is {one.p_families:.3f} and "
        f"{two.p_families:.3f}, which neither keeps the claim nor takes it away",
        INCONCLUSIVE,
    )
    answers["size"] = claim(
        bool(min(one.at_equal_width, two.at_equal_width) > 0.4),
        f"at equal size (Small, Base, Large) rho is {one.at_equal_width:.2f} and {two.at_equal_width:.2f}; within "
        f"families {one.mean_within_families:.2f} and {two.mean_within_families:.2f}",
        "at equal size little is left",
    )
    return answers


def _answer_scores(at: Any) -> Answers:
    """Which score is strongest here, and what it owes to the number of features."""
    answers: Answers = {}
    best = max((one.rho, name) for name, one in at.items())
    answers["h_score"] = claim(
        best[1] == "h_score",
        f"{at['h_score'].rho:.2f}; strongest here: {best[1]} ({best[0]:.2f})",
        f"it is correlated {at['h_score'].width:.2f} with the number of features: with 300 rows many features fit any "
        f"labels; at equal width {at['h_score'].at_equal_width:.2f}",
    )
    answers["lda"] = claim(
        bool(at["lda"].rho < 0 and at["lda"].at_equal_width < -0.2),
        f"{at['lda'].rho:.2f}; at equal width {at['lda'].at_equal_width:.2f}",
        f"its correlation with the number of features is {at['lda'].width:.2f}: wide features have unstable "
        f"directions, and at equal width {at['lda'].at_equal_width:.2f} is left",
    )
    gap = max(at[name].rho for name in ("alignment", "h_score", "logme")) - at["split"].rho
    answers["gap"] = claim(
        bool(gap > 0.3),
        float(gap),
        "the gap is small on these representations: what separates trained from random ones separates stable from "
        "unstable ones",
        DIFFERS,
    )
    return answers


def _answer_summary(published: Table) -> Answers:
    """What the text says of the published tables."""
    answers: Answers = {}
    alone = number(published, "Table 58", "Transfer (SST-2, k = 64)", "unsupervised")
    answers["fails"] = claim(alone < 0.1, alone, "the published value at k = 64 itself is 0.33")
    labelled = number(published, "Table 55", "Label-RDM Align.", "64")
    answers["predictive"] = claim(
        labelled > 0.85,
        labelled,
        "Shesha's own label score is 0.81 at k = 64; the 0.89 and 0.93 of Table 58 are H-Score and LogME",
    )
    jina = table_57(published).loc["jina-embeddings-v2-base-en"]
    answers["jina"] = claim(
        bool(jina.alignment < 0.05 and max(jina["accuracy 1"], jina["accuracy 2"]) < 0.6),
        f"{jina['accuracy 1']} and {jina['accuracy 2']}, {jina.alignment}",
        "Table 57 has other numbers",
    )
    return answers
