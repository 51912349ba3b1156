"""The choice of the null distribution for a split score."""

from __future__ import annotations

from collections.abc import Sequence

from shesha.stability.nulls.feature_shuffle import UnlinkedFeatures
from shesha.stability.nulls.residual_matching import MatchedResiduals
from shesha.stability.nulls.row_matching import Matchings
from shesha.stability.request import Request
from shesha.views.feature_halves import Draw


def choose_null(
    request: Request, n_features: int, draws: Sequence[Draw]
) -> Matchings | MatchedResiduals | UnlinkedFeatures:
    """Return the null of a split score, which permutes features if they are rotated, otherwise rows."""
    if request.variant.view_options.get("rotated"):
        return UnlinkedFeatures(request, draws)
    if request.covariates is not None and request.n_permutations:
        return MatchedResiduals(request, draws)
    return Matchings.build(request, n_features)
