"""A representation less what covariates explain of it, and the views of it in other orders of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import labels_in_order
from shesha.kernels.distances import Metric
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views._covariates import Covariates
from shesha.views.rdm_input import Rdm
from shesha.views.representation import Representation, View

_ONLY_DISTANCES = "needs the features and covariates as columns, got distances between rows of one of them"


class Adjusted(Representation):
    """Features with the covariates taken out; where distances are compared, they are taken out of these instead.

    Where only distances are known, of the representation or of the covariates, nothing else can be looked at.
    """

    def __init__(self, given: Representation, covariates: Covariates) -> None:
        self.given, self.covariates = given, covariates
        self.by_distances = given.has_distances_only or covariates.columns is None
        array = given._array if self.by_distances else covariates.residuals(given.rows)
        super().__init__(array, given.precision)

    @property
    def rows(self) -> Matrix:
        """The features less what the covariates explain."""
        self._require_features()
        return super().rows

    @property
    def distances(self) -> Rdm:
        """Refused: what is known is not adjusted."""
        raise NotEstimable(_ONLY_DISTANCES)

    def condensed_distances(self, metric: Metric, *, squared: bool = False) -> tuple[Vector, float]:
        """Distances between the adjusted rows."""
        self._require_features()
        return super().condensed_distances(metric, squared=squared)

    def _require_features(self) -> None:
        if self.by_distances:
            raise NotEstimable(_ONLY_DISTANCES)

    def take_rows(self, chosen: Index) -> Adjusted:
        """The same of some rows only, adjusted among themselves."""
        return Adjusted(self.given.take_rows(chosen), self.covariates.take(chosen))

    def reorder(self, order: Index) -> Adjusted:
        """What is left in another order of the rows, adjusted again: as many degrees of freedom are gone then."""
        return Adjusted(Representation(np.ascontiguousarray(self.rows[order]), self.precision), self.covariates)

    def __getstate__(self) -> tuple[Any, Any]:
        """Views are made anew where a copy goes."""
        return self.given, self.covariates

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        """Start without views."""
        self.__init__(*state)  # type: ignore[misc]


@dataclass(frozen=True)
class Refitted(View):
    """Stands for a view of an adjusted representation in a null: each order is adjusted anew, then looked at."""

    source: Adjusted
    look: Callable[[Representation], View]

    @property
    def n_rows(self) -> int:
        """Number of inputs."""
        return self.source.n_rows

    def permute(self, order: Index) -> View:  # type: ignore[override]
        """Look at the residuals in another order, from which the covariates are taken out again."""
        return self.look(self.source.reorder(order))


def adjust_for_covariates(
    sides: list[Representation], covariates: ArrayLike | Rdm | None
) -> tuple[list[Representation], Any]:
    """Take the covariates out of all sides; without any, return them as they are, and None."""
    if covariates is None:
        return sides, None
    for side in sides:
        if len(side.shape) > 2:
            raise ValueError(f"covariates must come with one row per input, got data of shape {side.shape}")
    ordered = labels_in_order((side.names for side in sides), {"covariates": covariates})["covariates"]
    found = Covariates.build(ordered, sides[0].n_rows)
    for side in sides:
        if side.n_rows != found.n_rows:
            raise ValueError(f"covariates must be of the {side.n_rows} rows compared, got {found.n_rows} rows")
    return [Adjusted(side.to_numpy, found) for side in sides], found
