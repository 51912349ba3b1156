"""Published results in the place of measures that were not run: where a new measure would stand among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.benchmark._published import published
from shesha.benchmark.tables import base_name

if TYPE_CHECKING:
    import pandas as pd

_PLACE = ["domain", "dataset", "architecture"]


def with_published(results: pd.DataFrame) -> pd.DataFrame:
    """Add the published scores of the measures that `results` lacks, for the networks and tests that it has.

    The published scores come from other trained models of the same protocol. That is good enough to see where a measure
    would stand; to compare it well, run the others on the same models.

    Parameters
    ----------
    results : DataFrame
        As `results` returns them.

    Returns
    -------
    DataFrame
        The same with more rows, and a column `source`: 'own' or 'published'.
    """
    import pandas as pd

    own = results.assign(source="own")
    paper = published().assign(source="published")
    there = set(own[[*_PLACE, "test", "pooling"]].itertuples(index=False, name=None))
    names = {base_name(name) for name in own["measure"]}
    places = paper[[*_PLACE, "test", "pooling"]].itertuples(index=False, name=None)
    wanted = [place in there for place in places]
    chosen = paper[pd.Series(wanted, index=paper.index) & ~paper["measure"].isin(names)]
    if chosen.empty:
        return own
    return pd.concat([own, chosen[[name for name in chosen if name in own]]], ignore_index=True)
