"""Does stability recover a known share of signal?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.stability import feature_split
from shesha.studies._data import mixture
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure, lines
from shesha.studies._rates import rank_correlations
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

LEVELS = [level / 20 for level in range(21)]


@study(
    "ground-truth",
    paper="Geometric Stability, 7.1.1",
    version=1,
    full={"level": LEVELS, "seed": range(30)},
    quick={"level": LEVELS, "seed": range(5)},
    published="ground_truth.csv",
)
def ground_truth(level: float, seed: int) -> dict[str, float]:
    """Does the feature split follow the share of signal in a representation?

    200 rows, 256 features: a share of a signal of 50 factors, the rest isotropic noise.
    """
    X = mixture(level, np.random.default_rng([seed, round(100 * level)]))
    return {"shesha": feature_split(X, n_splits=50, metric="correlation", seed=320)}


@ground_truth.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Correlate score and share of signal within each draw of all levels."""
    import pandas as pd

    rhos = rank_correlations(rows, "level", "shesha")
    assert published is not None
    table = published.assign(ours=rhos.mean(), sd=rhos.std(ddof=1), lowest=rhos.min(), highest=rhos.max())
    inside = ((table.published - table.ours).abs() <= 3 * table.sd).all()
    made, (ax,) = figure()
    lines(ax, rows.assign(all="feature split"), "level", "shesha", "all")
    ax.set(xlabel="share of signal", ylabel="feature split")
    low = rows[rows.level <= 0.2].shesha.abs().mean()
    answer = (
        f"Spearman's correlation of score and share is {rhos.mean():.3f} +- {rhos.std():.3f} over {len(rhos)} draws "
        f"({rhos.min():.3f} to {rhos.max():.3f}); the published {', '.join(f'{x:.3f}' for x in table.published)} are "
        f"{'all within three standard deviations' if inside else 'not all within three standard deviations'}."
    )
    notes = (
        f"Up to a share of 0.2 the score is nothing but noise (mean size {low:.3f}), and from 0.9 on it is level: what "
        "keeps the correlation below 1 are these ends, not error of the score.",
        "The signal has entries of unit variance. By the formula as printed (signal over its Frobenius norm) it would "
        "drown at every level but 1.",
    )
    levels = pd.DataFrame(rows.groupby("level").shesha.agg(["mean", "std"])).reset_index()
    picture = Picture("ground_truth", made, "Feature split against the share of signal, mean and spread of the draws")
    return Page(answer, (("Correlation", table), ("Scores", levels)), (picture,), notes)
