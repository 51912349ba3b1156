"""The layer test: are layers more similar the closer they are to each other?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from shesha.support.types import Seed
from shesha_bench.tests._kinds import ByLayers

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.user_representations import Choices

LAYER_MONOTONICITY = ByLayers(
    name="layer_monotonicity",
    title="Layer monotonicity",
    claim="Layers of a model are less similar the more layers lie between them.",
    rows=("layer_monotonicity",),
    counts={"layer_monotonicity": "conformity"},
)


def layer_monotonicity(
    models: Sequence[Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether layers are less similar the more layers lie between them.

    Parameters
    ----------
    models : sequence of sequences of arrays
        The layers of each model from input to output, at least three, all with the same rows.
    measures : str, measure or sequence of them
        As for `compare`.
    seed : int, Generator or None
        Seed for measures that draw randomly.

    Returns
    -------
    DataFrame
        Columns as for `accuracy_correlation`, except that `n` and `dropped` count models. Scores are averaged over
        models: `conformity` (0 to 1, share of the triples of layers that have the expected order), `spearman` (-1 to 1,
        averaged over the layers of a model, as in the published tables) and `spearman_pooled` (-1 to 1, from all pairs
        of layers at once).

    Examples
    --------
    >>> import numpy as np
    >>> steps = np.random.default_rng(0).standard_normal((4, 50, 6))
    >>> layer_monotonicity([steps.cumsum(axis=0)], ["CKA"])[["quality", "measure", "value"]].round(2)
               quality measure  value
    0       conformity     CKA   1.00
    1         spearman     CKA   1.00
    2  spearman_pooled     CKA   0.77
    """
    return LAYER_MONOTONICITY.score_arrays(models, measures, seed)
