"""Residuals of a representation after regression on covariates, and their permutation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from shesha.inputs import labels_in_order
from shesha.kernels.distances import Metric
from shesha.support.types import Index, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views._covariates import Covariates
from shesha.views.rdm_input import Rdm
from shesha.views.representation import Representation, View

_ONLY_DISTANCES = "controlling for covariates needs features and covariate columns, got a distance matrix"


class Adjusted(Representation):
    """A representation from which covariates have been regressed out.

    If the measure compares distances, the covariates are regressed out of the distances, otherwise out of the features.
    If the representation or the covariates are given as distances, only distances can be adjusted and compared.
    """

    def __init__(self, given: Representation, covariates: Covariates) -> None:
        self.given, self.covariates = given, covariates
        self.by_distances = given.has_distances_only or covariates.columns is None
        array = given._array if self.by_distances else covariates.residuals(given.rows)
        super().__init__(array, given.precision)

    @property
    def rows(self) -> Matrix:
        """The residuals of the features after regression on the covariates."""
        self._require_features()
        return super().rows

    @property
    def distances(self) -> Rdm:
        """Raise an error, because given distances are not adjusted."""
        raise NotEstimable(_ONLY_DISTANCES)

    def condensed_distances(
        self, metric: Metric, *, squared: bool = False, missing: bool = False
    ) -> tuple[Vector, float]:
        """Distances between the adjusted rows, and the difference below which two count as equal."""
        self._require_features()
        return super().condensed_distances(metric, squared=squared, missing=missing)

    def _require_features(self) -> None:
        if self.by_distances:
            raise NotEstimable(_ONLY_DISTANCES)

    def take_rows(self, chosen: Index) -> Adjusted:
        """Return the representation of some rows, adjusted for the covariates of these rows."""
        return Adjusted(self.given.take_rows(chosen), self.covariates.take(chosen))

    def reorder(self, order: Index) -> Representation:
        """Permute the residuals so that they stay free of the covariates and keep their degrees of freedom."""
        return Representation(self.covariates.permute(self.rows, order), self.precision)

    def __getstate__(self) -> tuple[Any, Any]:
        """Leave out views when pickling, because each copy computes its views again."""
        return self.given, self.covariates

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        """Start without views."""
        self.__init__(*state)  # type: ignore[misc]


@dataclass(frozen=True)
class Refitted(View):
    """A view of an adjusted representation for a null, which adjusts every permutation again."""

    source: Adjusted
    look: Callable[[Representation], View]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    def permute(self, order: Index) -> View:  # type: ignore[override]
        """Return the view of the residuals in another order, adjusted again."""
        return self.look(self.source.reorder(order))


def adjust_for_covariates(
    sides: list[Representation], covariates: ArrayLike | Rdm | None
) -> tuple[list[Representation], Any]:
    """Adjust all sides for covariates; return them and the covariates (None if there are none)."""
    if covariates is None:
        return sides, None
    for side in sides:
        if len(side.shape) > 2:
            raise ValueError(f"covariates must have one row per input, got data of shape {side.shape}")
    ordered = labels_in_order((side.names for side in sides), {"covariates": covariates})["covariates"]
    known = Covariates.build(ordered, sides[0].n_rows)
    for side in sides:
        if side.n_rows != known.n_rows:
            raise ValueError(f"covariates must have the {side.n_rows} rows of the data, got {known.n_rows} rows")
    sides = [side.to_numpy for side in sides]
    features = [side.rows for side in sides if not side.has_distances_only]
    if features and known.columns is not None:
        known = known.fit(*features)
    return [Adjusted(side, known) for side in sides], known
