"""Does stability predict how far a linear probe can be steered?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.steering import halves, predictors, steerability
from shesha.studies.facts import Facts
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import grid
from shesha.studies.study_decorator import grid_of, study
from shesha_studies.causal_lm_embeddings import CAUSAL, CAUSAL_ENCODERS, SINK, encoder_rows
from shesha_studies.language._steering_statistics import (
    PREDICTORS,
    Tables,
    correlations,
    encoder_tables,
    make_facts,
    published_numbers,
)
from shesha_studies.sentence_encoders import ENCODERS, FAMILIES
from shesha_studies.sentences import SETS, read_set

SEEDS = (3, 7)
SMALL = (-0.1, -0.05, 0.0, 0.05, 0.1)
METRICS = {
    "supervised_alignment": "supervised alignment",
    "feature_split": "feature split",
    "procrustes": "Procrustes",
    "fisher": "Fisher",
    "silhouette": "silhouette",
    "anisotropy": "anisotropy",
}
CONTROLS = [
    *("max_drop", "largest_drop", "max_drop_chance", "random_drop", "small_drop"),
    *("supervised_alignment", "alignment_chance", "to_target", "to_target_chance"),
]

_grid = grid_of("sentences", "encoder", "seed")


@study(
    "steering",
    paper="Geometric Stability, 8.1 to 8.4, Tables 18 to 21",
    version=1,
    full=[*_grid(SETS, ENCODERS, SEEDS), *_grid(SETS, CAUSAL_ENCODERS, SEEDS)],
    # The quick grid has the encoders that count words, and the layers of MiniLM by the mean over tokens.
    quick=_grid(SETS[:2], ENCODERS[:12], SEEDS[:1]),
    published="steering.csv",
    stand_ins="layers of one sentence encoder, trained and untrained, encoders that count words, and layers of "
    "SmolLM2 replace the 35 and 69 published encoders",
)
def steering(sentences: str, encoder: str, seed: int) -> dict[str, float]:
    """Does supervised stability of one half of the rows predict how far a probe on the other half can be steered?

    Thirty-one encoders replace 69 and 35 sentence encoders. They are layers of MiniLM-L6 (mean over tokens, first
    token), the same layers with random weights, and five encoders that count words. Ten layers of a causal model,
    SmolLM2-135M-Instruct, are reported separately (mean over all tokens, mean without the first token, last token).
    Strengths are -2 to 2 as published, and 0.05 and 0.1 mean row norms.
    """
    X, y = encoder_rows(sentences, encoder), read_set(sentences)[1]
    # Shuffle labels for one split of the rows only, because the page shows their mean over encoders.
    n_draws = 19 if seed == SEEDS[0] else 0
    first, second = halves(y, seed=seed)
    predictor_scores = predictors(X[first], y[first], n_draws=n_draws, seed=seed)
    raw = steerability(X[second], y[second], n_splits=1, n_draws=n_draws, seed=seed)
    options: dict[str, Any] = {"alphas": SMALL, "units": "norm", "n_splits": 1, "n_draws": 0, "n_directions": 1}
    small = steerability(X[second], y[second], **options, seed=seed)
    (alignment,) = (score for score in predictor_scores.scores if score.name == "supervised_alignment")
    row = {
        **{name: value for name, value in predictor_scores.values().items() if name in PREDICTORS},
        "max_drop": raw.max_drop.value,
        "accuracy": raw.accuracy.value,
        "random_drop": raw.random_drop,
        "largest_drop": raw.largest_drop,
        "small_drop": small.max_drop.value,
        "alignment_chance": alignment.chance,
        "max_drop_chance": raw.max_drop.chance,
        "to_target": raw.to_target.value,
        "to_target_chance": raw.to_target.chance,
        "length": raw.norm,
    }
    return {name: float(value) for name, value in row.items()}


@steering.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Correlate predictors with max drop over encoders, and over layers of a causal model; ask what max drop is."""
    tables, causal = encoder_tables(rows)
    shows = "Max drop against supervised alignment and against the accuracy of the probe"
    pictures = [Picture("steering", draw_encoders(tables), shows)]
    page_tables = [
        ("Rank correlations with max drop over encoders", correlation_table(tables, networks=True)),
        ("Max drop and controls (means over encoders)", controls_table(tables)),
    ]
    if causal:
        shows = (
            f"Layers of {CAUSAL}: max drop at the published strengths against row norm; max drop at a tenth of the "
            "row norm against alignment"
        )
        pictures.append(Picture("steering_causal", draw_causal(causal), shows))
        title = f"{CAUSAL}: rank correlations with max drop over ten layers and three poolings"
        page_tables.append((title, correlation_table(causal, networks=False)))
        page_tables.append((f"{CAUSAL}: max drop and controls (means over layers)", controls_table(causal)))
    notes = (SINK,) if causal else ()
    return Page("", tuple(page_tables), tuple(pictures), notes, answers=published_numbers(tables, published))


@steering.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Correlations over encoders, and over the layers of the causal model with strengths in lengths of a row."""
    return make_facts(*encoder_tables(rows))


def correlation_table(tables: Tables, *, networks: bool) -> pd.DataFrame:
    """Correlations with max drop at both ranges of strengths, with p-values over networks or for both ranges."""
    parts = {}
    for name, table in tables.items():
        large, small = _estimates(table, "max_drop"), _estimates(table, "small_drop")
        part = large[["raw", "interval", "raw_p", "partial", "partial_p"]]
        if networks:
            part = part.assign(networks_p=_estimates(table, "max_drop", whole=True).partial_p)
        columns = ["raw", "partial"] if networks else ["raw", "raw_p", "partial", "partial_p"]
        parts[name] = part.join(small[columns].add_suffix(", small strengths"))
    return pd.concat(parts, names=["sentences", "metric"]).reset_index()


def _estimates(table: pd.DataFrame, target: str, *, whole: bool = False) -> pd.DataFrame:
    found = correlations(table, target, whole=whole)
    lines = pd.DataFrame([asdict(found[name]) for name in METRICS], index=list(METRICS.values()))
    return lines.assign(interval=[f"{line.raw_low:.2f} to {line.raw_high:.2f}" for line in lines.itertuples()])


def controls_table(tables: Tables) -> pd.DataFrame:
    """Max drop, its comparisons and its controls: means over encoders."""
    means = pd.DataFrame({name: table[CONTROLS].mean() for name, table in tables.items()}).T
    for place, column in ((5, "accuracy"), (6, "length")):
        rhos = [table[column].corr(table.max_drop, method="spearman") for table in tables.values()]
        means.insert(place, f"{column} and max drop", rhos)
    return means.reset_index(names="sentences")


def draw_encoders(tables: Tables) -> Any:
    """Draw alignment and accuracy against max drop, one point per encoder."""
    figure, axes = grid(2, len(tables), width=3.6, height=3.3)
    colours = dict(zip(FAMILIES, PALETTE, strict=False))
    for (above, below), (name, table) in zip(axes.T, tables.items(), strict=True):
        for ax, x in ((above, "supervised_alignment"), (below, "accuracy")):
            for family, group in table.groupby("family", sort=False):
                ax.scatter(group[x], group.max_drop, color=colours[str(family)], s=26, label=str(family))
        above.set(title=name, xlabel="supervised alignment")
        below.set(xlabel="accuracy of the probe, without steering")
        constant = (table.accuracy - table.largest_drop).mean()
        span = np.array([table.accuracy.min(), table.accuracy.max()])
        below.plot(span, span - constant, color="0.5", linestyle="--", linewidth=1, label="all rows read as one class")
        above.axhline(table.max_drop_chance.mean(), color="0.5", linestyle=":", label="shuffled labels (mean)")
    return _label(figure, axes, ["max drop of the accuracy"] * 2)


def draw_causal(tables: Tables) -> Any:
    """Draw the length of a row against max drop at published strengths, and alignment against it in that unit."""
    figure, axes = grid(2, len(tables), width=3.6, height=3.3)
    for (above, below), (name, table) in zip(axes.T, tables.items(), strict=True):
        for colour, mark, (family, group) in zip(PALETTE, "os^", table.groupby("family", sort=False), strict=False):
            sizes = 6 + 2 * group.encoder.str.split().str[-1].astype(int)
            label = f"{str(family).partition(', ')[2]} (larger: deeper)"
            for ax, x, y in ((above, "length", "max_drop"), (below, "supervised_alignment", "small_drop")):
                ax.plot(group[x], group[y], color=colour, linewidth=0.6, alpha=0.5)
                ax.scatter(group[x], group[y], s=sizes, edgecolors=colour, facecolors="none", marker=mark, label=label)
        above.axhline(table.max_drop_chance.mean(), color="0.5", linestyle=":", label="shuffled labels (mean)")
        above.set(title=name, xlabel="mean row norm", xscale="log")
        below.set(xlabel="supervised alignment")
    return _label(figure, axes, ["max drop, strengths up to 2", "max drop, strengths up to 0.1 row norms"])


def _label(figure: Any, axes: Any, names: list[str]) -> Any:
    """Add names of the vertical axes and a common legend."""
    for row, name in zip(axes, names, strict=True):
        row[0].set_ylabel(name)
    handles = {name: handle for ax in axes.flat for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    options = {"loc": "outside lower center", "ncols": 4, "frameon": False, "fontsize": "small"}
    figure.legend(handles.values(), handles.keys(), **options)
    return figure
