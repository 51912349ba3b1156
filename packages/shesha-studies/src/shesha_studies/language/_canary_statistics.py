"""Statistics of the canary study, and our values of its published numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from shesha.studies import checks
from shesha.studies.published_checks import Answers, Table, lines_of, shown
from shesha.support.types import Vector
from shesha_studies.language._detection import NEVER, area, contest, correlation_within_groups, firsts
from shesha_studies.language._drift_measures import BOUND, METRICS
from shesha_studies.language._perturbed_models import MINILM
from shesha_studies.language_models import MPNET

UNIT = ["model", "task", "layer", "seed"]
TASK = "SST-2"
"""The task of the paper's method (10.3, step 4)."""
LATE = 0.55
"""Value that replaces "never detected" in means over levels up to 0.5."""
LOST = 0.05


@dataclass(frozen=True)
class Found:
    """Rows with noise, and the statistics computed from them."""

    noise: Table
    correlations: Table
    within: Table
    first: Table
    firsts: dict[str, Table]
    contests: dict[str, tuple[int, int, int]]
    matched: Table

    def compare_with(self, published: Table) -> Table:
        """Our means of the last layer, SST-2, next to Table 47, whose numbers are means over 26 encoders."""
        last = self.noise[self.noise["last"]]
        table = lines_of(published, "Table 47").assign(
            published=lambda t: t.published.astype(float), row=lambda t: t.row.astype(float)
        )
        paper_table = table.pivot(index="row", columns="number", values="published")
        means = last.groupby(["task", "level"])[["drop", "shesha", "cka", "procrustes", "squared"]].mean().reset_index()
        shown = means.merge(paper_table.add_prefix("published "), left_on="level", right_index=True)
        return shown.rename(columns={"drop": "loss, %", "published drop": "published loss, %"})


def gather_statistics(rows: Table) -> Found:
    """Gather the statistics of the page."""
    # Round losses, so that equal losses are ties despite rounding errors.
    depth = rows.layer / rows.groupby("model").layer.transform("max")
    rows = rows.assign(drop=rows["drop"].round(6), depth=depth, last=depth == 1)
    noise, unchanged = rows[rows.kind == "noise"], rows[rows.kind == "unchanged"]
    bounds = {
        "bound 0.05": {m: noise.groupby(UNIT).shesha.first() * 0 + BOUND for m in METRICS},
        "bound from chance": {m: _largest(noise, unchanged, m) for m in METRICS},
    }
    early = {name: firsts(noise, METRICS, each, UNIT) for name, each in bounds.items()}
    return Found(
        noise,
        _correlations(noise),
        _layer_correlations(noise),
        pd.DataFrame({name: table.mean() for name, table in _last_layers(noise, early).items()}).T,
        _last_layers(noise, early),
        _contests(early),
        _equal_alarm_bounds(noise),
    )


def _contests(early: dict[str, Table]) -> dict[str, tuple[int, int, int]]:
    """Count the units in which each of two scores is first, over both tasks and for each task."""
    tables = dict(early)
    for name, table in early.items():
        tasks = table.index.get_level_values("task")
        tables |= {f"{name}, {task}": table[tasks == task] for task in ("SST-2", "STS-B")}
    roots = ((name, other) for name in ("procrustes", "squared") for other in ("shesha", "cka"))
    pairs = (("shesha", "cka"), *roots)
    contests = {f"{name}: {a} {b}": contest(table, a, b) for name, table in tables.items() for a, b in pairs}
    detected = tables["bound 0.05, SST-2"].wasserstein
    return contests | {"never": (int((detected == NEVER).sum()), len(detected), 0)}


def _largest(noise: Table, unchanged: Table, metric: str) -> Table:
    """Largest drift of the re-encodings of each layer and task, for every draw of the noise."""
    largest = unchanged.groupby(["model", "task", "layer"])[metric].max()
    units = noise.groupby(UNIT)[metric].first()
    return units * 0 + np.array([largest[(model, task, layer)] for model, task, layer, _ in units.index])


def _last_layers(noise: Table, early: dict[str, Table]) -> dict[str, Table]:
    """Lowest noise that is detected in each unit of the last layers."""
    chosen = noise.loc[noise["last"], UNIT].drop_duplicates()
    units = list(chosen.itertuples(index=False, name=None))
    return {name: table.loc[units].replace(NEVER, LATE) for name, table in early.items()}


def _correlations(noise: Table) -> Table:
    names = (*METRICS, "level")
    every = {name: noise[name].corr(noise["drop"], method="spearman") for name in names}
    return pd.DataFrame({"rho": every, "last": last_layer_correlations(noise).mean()})


def last_layer_correlations(noise: Table) -> Table:
    """Rank correlations with the loss over the levels of noise: one line per encoder, task and draw."""
    units = noise[noise["last"]].groupby(["model", "task", "seed"])
    names = (*METRICS, "level")
    return pd.DataFrame([{name: df[name].corr(df["drop"], method="spearman") for name in names} for _, df in units])


def _layer_correlations(noise: Table) -> Table:
    rows = {
        name: correlation_within_groups(noise, name, ["model", "task", "level", "seed"], "depth") for name in METRICS
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["rho", "p"])


def _equal_alarm_bounds(noise: Table) -> Table:
    """Bounds that 5 % of harmless changes exceed, set on one draw of the noise and tested on the other draws."""
    lost = (noise.p_drop <= LOST).to_numpy()
    rows = {}
    for name in (*METRICS, "level"):
        scores = noise[name].to_numpy(dtype=float)
        sensitivity, two, bound = losses_found(noise, name)
        old = float((scores[~lost] > BOUND).mean()) if name != "level" else float("nan")
        rows[name] = (bound, sensitivity, two, area(scores, lost), old)
    columns = ["bound", "sensitivity", "false alarms", "area under the curve", "alarms at 0.05 where nothing is lost"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def losses_found(noise: Table, name: str) -> Vector:
    """Return the shares of losses and of harmless changes beyond such a bound, and the bound."""
    scores, seeds = noise[name].to_numpy(dtype=float), noise.seed.to_numpy()
    lost, rates = (noise.p_drop <= LOST).to_numpy(), []
    for seed in np.unique(seeds):
        mask = seeds == seed
        rest = ~mask if (~mask).any() else mask
        bound = np.quantile(scores[rest & ~lost], 0.95)
        rates.append(((scores[mask & lost] > bound).mean(), (scores[mask & ~lost] > bound).mean(), bound))
    return np.asarray(np.mean(rates, axis=0))


def published_numbers(found: Found, published: Table) -> Answers:
    """Return our values for Tables 47 and 54 and the text, and counts that follow from the tables."""
    last = found.noise[found.noise["last"] & (found.noise.task == TASK)].groupby("level")
    means = last[["drop", "shesha", "cka", "procrustes"]].mean()
    values: dict[str, float | None] = {}
    for _, line in lines_of(published, "Table 47").iterrows():
        level = float(line.row)
        known = 0.0 if level == 0 else None
        values[f"{line.row}: {line.number}"] = float(means.loc[level, line.number]) if level in means.index else known
    models = lines_of(published, "Table 54")
    at_hand = {f"sentence-transformers/{MINILM}": "MiniLM", f"sentence-transformers/{MPNET}": "MPNet"}
    names = {f"{line.row}: {line.number}": at_hand.get(str(line.row)) for _, line in models.iterrows()}
    counts = {
        "counts: observations": 26 * 51,
        "counts: models": len(models),
        "per cent of models: Shesha before CKA": 100 * 19 / 26,
        "per cent of models: Shesha and CKA tied": 100 * 7 / 26,
        "per cent of models: CKA before Shesha": 0,
    }
    return {
        **shown({**values, **_detections(found)}),
        **{key: checks.Found(name) for key, name in names.items() if name},
        **{key: checks.Found(float(count)) for key, count in counts.items()},
    }


def _detections(results: Found) -> dict[str, float]:
    """Cases in which a score is first, first detected noise, and correlations, for our two encoders."""
    sees, ties, later = results.contests["bound 0.05, SST-2: shesha cka"]
    values: dict[str, float] = {
        "counts: levels of noise": results.noise.level.nunique() + 1,
        "counts: sentences": 240.0,
        "models: Shesha before CKA": sees,
        "models: Shesha and CKA tied": ties,
        "models: CKA before Shesha": later,
        "models: Procrustes before Shesha and CKA": results.contests["bound 0.05, SST-2: procrustes shesha"][0],
        "models: Wasserstein never beyond 0.05": results.contests["never"][0],
        "per cent of models that differ: Shesha first": 100 * sees / max(1, sees + later),
    }
    for row, table in (
        ("first noise beyond 0.05", results.first.loc["bound 0.05"]),
        ("correlation with the drop", results.correlations["last"]),
    ):
        values |= {f"{row}: {name}": float(value) for name, value in table.items()}
    return {key: float(value) for key, value in values.items()}
