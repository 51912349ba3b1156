"""Numbers of the study of further training, and of the published table itself."""

from __future__ import annotations

import re

import numpy as np

from shesha.studies.checks import Found
from shesha.studies.published_checks import Answers, Table, lines_of, shown
from shesha_studies.language._model_outputs import stand_in
from shesha_studies.language._tuning import TASKS

SHOWN = ("shesha", "cka", "procrustes", "squared")
_LEAST = 32
"""Minimum number of rows of a model that is reported: one training on each task."""
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


def published_numbers(trained: Table, theirs: Table) -> Answers:
    """Return ratios of the stand-in by kind of prompts, and numbers of the text that follow from Table 42."""
    medians = trained[trained.model == best_stand_in(trained)].groupby("prompts")["times CKA"].median()
    answers = shown({f"{row}: times CKA, shesha": float(medians[kind]) for row, kind in _KINDS.items()})
    families = {name: theirs[theirs.family.str.startswith(name)] for name in ("Llama", "BLOOM", "Falcon")}
    for row, table in {"mean": theirs, **families}.items():
        for name in SHOWN[:3]:
            mean = float(table[name].mean())
            answers |= {f"{row}: {name}": Found(mean), f"{row}: times CKA, {name}": Found(mean / table.cka.mean())}
    counts = {"pairs": len(theirs), "families": theirs.family.nunique(), "observations": 4 * len(theirs)}
    return answers | {f"counts: {name}": Found(float(count)) for name, count in counts.items()}


def best_stand_in(trained: Table) -> str:
    return stand_in(trained, _LEAST)


_KINDS = {"factual": "news", "descriptive": "captions", "conversational": "forums", "instructions": "reviews"}
"""Kinds of prompts of the paper, and ours."""
