"""Does stability predict how far a linear probe can be steered?"""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd

from shesha.charts import PALETTE
from shesha.steering import halves, steerability
from shesha.support.warnings import CalibrationWarning
from shesha_studies.causal_lm_embeddings import CAUSAL, CAUSAL_ENCODERS, SINK, encoder_rows
from shesha_studies.framework.facts import Facts
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import grid
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.language import _steering_statistics as statistics
from shesha_studies.language._steering_statistics import Tables
from shesha_studies.sentence_encoders import ENCODERS
from shesha_studies.sentences import SETS, read_set
from shesha_studies.steering_predictors import predictors

SEEDS = (3, 7)
SMALL = (-0.1, -0.05, 0.0, 0.05, 0.1)
AXES = {
    "supervised_alignment": "supervised alignment",
    "accuracy": "accuracy of the probe, without steering",
    "length": "mean row norm",
    "max_drop": "max drop, strengths up to 2",
    "small_drop": "max drop, strengths up to 0.1 row norms",
}
"""Labels of axes, by column."""
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
    options: dict[str, Any] = {"alphas": SMALL, "units": "norm", "n_splits": 1, "n_draws": 0, "n_directions": 1}
    with warnings.catch_warnings():
        # Neighbouring sentences of a set resemble one another. The page compares encoders and reports no p-value.
        warnings.simplefilter("ignore", CalibrationWarning)
        predictor_scores = predictors(X[first], y[first], n_draws=n_draws, seed=seed)
        raw = steerability(X[second], y[second], n_splits=1, n_draws=n_draws, seed=seed)
        small = steerability(X[second], y[second], **options, seed=seed)
    (alignment,) = (score for score in predictor_scores.scores if score.name == "supervised_alignment")
    row = {
        **{name: value for name, value in predictor_scores.values().items() if name in statistics.PREDICTORS},
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
    tables, causal = statistics.encoder_tables(rows)
    shows = "Max drop against supervised alignment and against the accuracy of the probe"
    figure = draw(tables, ("supervised_alignment", "max_drop"), ("accuracy", "max_drop"))
    pictures = [Picture("steering", figure, shows)]
    page_tables = [
        ("Rank correlations with max drop over encoders", correlation_table(tables)),
        ("Max drop and controls (means over encoders)", controls_table(tables)),
    ]
    if causal:
        shows = (
            f"Layers of {CAUSAL}: max drop at the published strengths against row norm; max drop at a tenth of the "
            "row norm against alignment"
        )
        figure = draw(causal, ("length", "max_drop"), ("supervised_alignment", "small_drop"))
        pictures.append(Picture("steering_causal", figure, shows))
        title = f"{CAUSAL}: rank correlations with max drop over ten layers and three poolings"
        page_tables.append((title, correlation_table(causal)))
    notes = (SINK,) if causal else ()
    return Page("", tuple(page_tables), tuple(pictures), notes, answers=statistics.published_numbers(tables, published))


@steering.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Correlations over encoders, and over the layers of the causal model with strengths in lengths of a row."""
    return statistics.make_facts(*statistics.encoder_tables(rows))


def correlation_table(tables: Tables) -> pd.DataFrame:
    """Correlations with max drop at both ranges of strengths: raw, and controlling for Fisher and silhouette."""
    parts = {}
    for name, table in tables.items():
        large, small = _estimates(table, "max_drop"), _estimates(table, "small_drop")
        parts[name] = large.join(small.drop(columns=["raw_low", "raw_high"]).add_suffix(", small strengths"))
    return pd.concat(parts, names=["sentences"]).reset_index()


def _estimates(table: pd.DataFrame, target: str) -> pd.DataFrame:
    lines: pd.DataFrame = statistics.correlations(table, target).to_frame().set_index("name").rename_axis("predictor")
    lines.index = lines.index.str.replace("_", " ")
    names = {"raw_value": "raw", "raw_low": "raw_low", "raw_high": "raw_high", "raw_p_value": "raw_p"}
    return lines.rename(columns={**names, "value": "partial", "p_value": "partial_p"})[
        [*names.values(), "partial", "partial_p"]
    ]


def controls_table(tables: Tables) -> pd.DataFrame:
    """Max drop, its comparisons and its controls: means over encoders."""
    return pd.DataFrame([{"sentences": name, **table[CONTROLS].mean()} for name, table in tables.items()])


def draw(tables: Tables, *panels: tuple[str, str]) -> Any:
    """Draw one point per encoder, with one row of axes per pair of columns and one column per set of sentences."""
    figure, axes = grid(len(panels), len(tables), width=3.6, height=3.3)
    for row, (x, y) in zip(axes, panels, strict=True):
        row[0].set_ylabel(AXES[y])
        for ax, (name, table) in zip(row, tables.items(), strict=True):
            for colour, (family, group) in zip(PALETTE, table.groupby("family", sort=False), strict=False):
                ax.scatter(group[x], group[y], edgecolors=colour, facecolors="none", s=26, label=str(family))
            ax.set(title=name, xlabel=AXES[x], xscale="log" if x == "length" else "linear")
            if y == "max_drop":
                ax.axhline(table.max_drop_chance.mean(), color="0.5", linestyle=":", label="shuffled labels (mean)")
            if x == "accuracy":
                largest, span = (table.accuracy - table.largest_drop).mean(), table.accuracy.agg(["min", "max"])
                ax.plot(span, span - largest, color="0.5", linestyle="--", label="all rows read as one class")
    handles = {name: handle for ax in axes.flat for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    options: dict[str, Any] = {"loc": "outside lower center", "ncols": 4, "frameon": False, "fontsize": "small"}
    figure.legend(handles.values(), handles.keys(), **options)
    return figure
