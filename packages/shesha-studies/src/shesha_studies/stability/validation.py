"""Is the score repeatable, bounded, and robust to seeds, noise, reduction and imbalance?"""

from __future__ import annotations

from typing import Any

import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.facts import Facts
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, logarithmic
from shesha.studies.study_decorator import grid_of, study
from shesha_studies.stability._stand_in_representations import DIGITS, SENTENCES, STAND_INS, stand_in, untrained
from shesha_studies.stability._ten_tests import all_tests, baseline
from shesha_studies.stability._validation_facts import make_facts, published_numbers

NOISE = {"noise, 10 classes": (500, 128, 10), "noise, 100 classes": (500, 512, 100)}


_grid = grid_of("representation", "seed")


@study(
    "validation",
    paper="Geometric Stability, 6.2, Tables 3 to 10; journal version, Table 9",
    version=1,
    full=[*_grid(NOISE, range(20)), *_grid(STAND_INS, [0])],
    quick=[*_grid(NOISE, range(3)), *_grid((DIGITS, *SENTENCES), [0])],
    published="validation.csv",
    stand_ins="fourteen representations of small networks, MiniLM and digits replace fifteen published vision models",
)
def validation(representation: str, seed: int) -> dict[str, float]:
    """Which of the ten tests does the score pass on available representations, and what do they test?

    Fifteen vision models are replaced by a dense layer on digits, three layers of MiniLM on SST-2, and ten small
    networks on Fashion-MNIST and CIFAR-10. There is also noise of 500 x 128 (ten labels) and of 500 x 512 (a hundred
    labels).
    """
    if representation in NOISE:
        return baseline(*NOISE[representation], seed)
    return all_tests(*stand_in(representation)) | {"feature_split_untrained": untrained(representation)}


@validation.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Compare the tests with the published ones, and the tables with their own lines."""
    models, noise = _split_rows(rows)
    tables = tuple((title, models[["representation", *columns.split()]]) for title, columns in _TABLES.items())
    shows = (
        "Drift under noise against the standard deviation of the features; feature split of all features, of "
        "principal components, and of rotated components"
    )
    picture = Picture("validation", _draw(models), shows)
    return Page("", tables, (picture,), answers=published_numbers(models, noise, published))


@validation.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Return the facts by which the claims are judged."""
    return make_facts(*_split_rows(rows), published)


def _split_rows(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    noise = rows.representation.isin(NOISE)
    return rows[~noise].reset_index(drop=True), rows[noise]


_TABLES = {
    "Scores, seeds, scales (tests 2, 3, 4, 9)": "n d feature_split seed_difference identical valid moved_by_scale",
    "64 principal components (test 5)": "feature_split_400 feature_split_centred feature_split_pca "
    "feature_split_pca_fresh feature_split_pca_turned variance_400 variance_pca zscore_400 zscore_pca",
    "Random labels and imbalance (tests 6, 7)": "variance_true variance_random variance_expected zscore_true "
    "zscore_random variance_imbalanced variance_imbalanced_random zscore_imbalanced zscore_imbalanced_random",
    "Noise (test 8)": "size drift drift_own_units",
    "Before training (test 10)": "feature_split_400 feature_split_untrained",
}
"""Names of the columns of each table."""


def _draw(models: pd.DataFrame) -> Any:
    fig, (left, right) = figure(2)
    left.scatter(models["size"], models.drift, s=22, color=PALETTE[0], label="sd 0.1")
    own_units = {"marker": "s", "color": PALETTE[1], "label": "a tenth of the features' sd"}
    left.scatter(models["size"], models.drift_own_units, s=22, **own_units)
    logarithmic(left, (0.1, 0.2, 0.5, 1.0, 2.0))
    left.set(xlabel="sd of the features", ylabel="drift of the feature split")
    left.legend(frameon=False, fontsize="small", title="noise of")
    scores = models[["feature_split_400", "feature_split_pca", "feature_split_pca_turned"]]
    for place, column in enumerate(scores):
        right.scatter([place] * len(scores), scores[column], s=22, color=PALETTE[place])
    right.plot(range(3), scores.to_numpy().T, color="0.8", linewidth=0.6, zorder=0)
    right.axhline(0, color="0.6", linewidth=0.8)
    labels = ("all features", "64 components", "rotated")
    right.set(xticks=range(3), xticklabels=labels, ylabel="feature split of 400 rows")
    return fig
