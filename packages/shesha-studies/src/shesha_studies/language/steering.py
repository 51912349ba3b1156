"""Does stability predict how far a linear probe can be steered?"""

from __future__ import annotations

import pandas as pd

from shesha.steering import halves, predictors, steerability
from shesha.studies.facts import Facts
from shesha.studies.page import Page, Picture
from shesha.studies.study_decorator import grid_of, study
from shesha_studies.causal_lm_embeddings import CAUSAL, CAUSAL_ENCODERS, SINK, encoder_rows
from shesha_studies.language._steering_page import controls_table, correlation_table, draw_causal, draw_encoders
from shesha_studies.language._steering_statistics import PREDICTORS, encoder_tables, make_facts, published_numbers
from shesha_studies.sentence_encoders import ENCODERS
from shesha_studies.sentences import SETS, read_set

SEEDS = (3, 7)
SMALL = (-0.1, -0.05, 0.0, 0.05, 0.1)
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
    small = steerability(
        X[second], y[second], alphas=SMALL, units="norm", n_splits=1, n_draws=0, n_directions=1, seed=seed
    )
    chances = {score.name: score.chance for score in predictor_scores.scores} if n_draws else {}
    nothing = float("nan")
    return {
        **{name: float(value) for name, value in predictor_scores.values().items() if name in PREDICTORS},
        "max_drop": float(raw.max_drop.value),
        "accuracy": float(raw.accuracy.value),
        "random_drop": float(raw.random_drop),
        "largest_drop": float(raw.largest_drop),
        "small_drop": float(small.max_drop.value),
        "alignment_chance": float(chances.get("supervised_alignment", nothing)),
        "max_drop_chance": float(raw.max_drop.chance) if n_draws else nothing,
        "to_target": float(raw.to_target.value),
        "to_target_chance": float(raw.to_target.chance) if n_draws else nothing,
        "length": float(raw.norm),
    }


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
