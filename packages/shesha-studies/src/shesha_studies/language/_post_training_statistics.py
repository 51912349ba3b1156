"""Numbers of the study of further training, and of the published table itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from shesha.studies.checks import Check
from shesha.studies.published_checks import Table, lines_of, models, stand_ins, text_checks
from shesha_studies.language._perturbed_models import stand_in
from shesha_studies.language._sst2_and_stsb import SETS
from shesha_studies.language._tuning import TASKS

SHOWN = ("shesha", "cka", "procrustes", "squared")
_LEAST = 32
"""Minimum number of rows of a model that is reported: one training on each task."""
OTHER = "The 23 published pairs of causal models are not available"
FAMILIES = (
    "SmolLM2",
    "SmolLM",
    "Qwen",
    "BLOOM",
    "Pythia",
    "Llama-3",
    "TinyLlama",
    "StableLM",
    "Gemma",
    "Mistral",
    "Falcon",
)


def training_ratios(rows: Table) -> Table:
    """Add the ratio of the two drift scores, and the ratio of the amounts of noise with the same drift."""
    subset = rows[rows.change.isin(TASKS)]
    noise = rows[rows.change == "noise in rows"]
    same = {
        name: [
            _dose(noise[(noise.model == line.model) & (noise.prompts == line.prompts)], name, line[name])
            for _, line in subset.iterrows()
        ]
        for name in ("shesha", "cka")
    }
    ratio = np.array(same["shesha"]) / np.array(same["cka"])
    return subset.assign(**{"times CKA": subset.shesha / subset.cka, "noise, times CKA": ratio})


def _dose(noise: Table, name: str, drift: float) -> float:
    """Interpolate the amount of noise, both on logarithmic scales, where drift rises with the noise."""
    curve = noise.sort_values("amount")
    values = np.maximum.accumulate(np.maximum(curve[name].to_numpy(dtype=float), 1e-9))
    return float(
        np.exp(np.interp(np.log(max(drift, 1e-9)), np.log(values), np.log(curve["amount"].to_numpy(dtype=float))))
    )


def published_pairs(published: Table) -> Table:
    """Return Table 42, one line per pair, with its family."""
    table = lines_of(published, "Table 42").pivot(index="row", columns="number", values="published")
    for name in SHOWN[:3]:
        table[name] = table[name].astype(float)
    table["weights"] = [float(re.sub("[MB]", "", size)) / (1000 if size.endswith("M") else 1) for size in table["size"]]
    family = [next(prefix for prefix in FAMILIES if str(name).startswith(prefix)) for name in table.index]
    return table.assign(family=family, large=table.weights >= 1.5, relative=table.procrustes / table.cka).sort_values(
        "weights"
    )


def number_checks(trained: Table, theirs: Table, published: Table) -> Iterator[Check]:
    yield from stand_ins(lines_of(published, "Table 42"), lambda *_: None, f"{OTHER}.")
    yield from models(lines_of(published, "Table 52"), {}, "We do not have these weights.")
    lines = lines_of(published, "10.1", "3.3", "Figure 21", "Figure 22")
    kinds = lines[lines.row.isin(["factual", "descriptive", "conversational", "instructions"])]
    stands = {"factual": "news", "descriptive": "captions", "conversational": "forums", "instructions": "reviews"}
    real = stand_in(trained, _LEAST)
    medians = trained[trained.model == real].groupby("prompts")["times CKA"].median()
    yield from stand_ins(
        kinds,
        lambda row, _: float(medians[stands[row]]),
        f"{OTHER}; ours is {real} with other sentences ({', '.join(SETS)}).",
    )
    tables = {
        "mean": theirs,
        **{name: theirs[theirs.family.str.startswith(name)] for name in ("Llama", "BLOOM", "Falcon")},
    }
    yield from text_checks(
        lines[lines.row.isin(list(tables))],
        lambda row, what: float(
            tables[row][what.removeprefix("times CKA, ")].mean()
            / (tables[row].cka.mean() if what.startswith("times") else 1.0)
        ),
        "Ours follows from the rows of Table 42 (mean of the column, or quotient of means).",
    )
    counts = {
        "pairs": float(len(theirs)),
        "families": float(theirs.family.nunique()),
        "observations": 4.0 * len(theirs),
    }
    yield from text_checks(lines[lines.row == "counts"], lambda _, what: counts[what], "counted in Table 42")
