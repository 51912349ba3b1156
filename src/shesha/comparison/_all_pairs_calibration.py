"""One permutation null that serves all pairs of many representations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from shesha.calibration import side_by_side
from shesha.calibration.dependence_warnings import warn_of_dependence
from shesha.comparison._subset_intervals import interval
from shesha.comparison.chance_and_intervals import Evidence, correct_p_values
from shesha.comparison.input_manifest import IndexedInput
from shesha.doubting.pair_doubts import saturated_measures
from shesha.inputs import labels_in_order
from shesha.inputs import validation as check
from shesha.measures import Measure
from shesha.nulls import exchange
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.nulls.permutations_per_representation import RepresentationPermutations
from shesha.results import PairScore
from shesha.runs import FOLLOWED, version_of_code
from shesha.support.types import Vector
from shesha.support.warnings import CalibrationWarning, warn


def calibrated_code() -> list[Any]:
    """Return the functions and classes, apart from the measures, that determine draws and intervals."""
    return [RepresentationPermutations, side_by_side, Evidence, interval]


@dataclass(frozen=True)
class Calibration:
    """What is added to each score: draws shared by all pairs, and row subsets for intervals."""

    evidence: Evidence
    joint: RepresentationPermutations

    @property
    def key(self) -> str:
        """Key that identifies everything stored draws depend on, besides the data and the measure."""
        code = version_of_code(*calibrated_code(), follow=(*FOLLOWED, "calibration"))
        return f"{self.joint.key} {self.evidence.confidence:g} {code}"

    def add_chances(
        self,
        scores: Sequence[PairScore],
        measures: Sequence[Measure],
        draws: Mapping[tuple[str, tuple[str, str]], Vector],
    ) -> list[PairScore]:
        """Add chance levels to the scores, with p-values corrected for the number of pairs per measure."""
        corrected = []
        for measure in measures:
            family = []
            for pair_score in scores:
                values = draws.get((measure.name, (pair_score.first, pair_score.second)))
                # Comparing a representation with itself tests nothing.
                if (
                    pair_score.score.measure == measure.name
                    and values is not None
                    and pair_score.first != pair_score.second
                ):
                    pair_score = replace(pair_score, score=self.evidence.add_chance(measure, pair_score.score, values))
                if pair_score.score.measure == measure.name:
                    family.append(pair_score)
            corrected += correct_p_values(family, draws)
        _warn_of_saturation(corrected)
        return corrected


@dataclass(frozen=True)
class Request:
    """The chance levels and intervals that `compare_all` should add to each score."""

    n_permutations: int
    alpha: float
    confidence: float | None
    design: Design
    seed: int

    def draw(self, known: Mapping[str, IndexedInput]) -> Calibration:
        """Check the design, warn if rows depend on one another, and draw row subsets and permutations."""
        sides = list(known.values())
        design = cast(Design, labels_in_order((side.names for side in sides), self.design))
        row_exchange = exchange(sides[0].outline.n_rows, **nonempty_arguments(design))
        row_exchange.require_enough(self.n_permutations, self.alpha)
        # Two representations suffice for this check, because all have the same rows in the same order.
        warn_of_dependence([sides[0].place.load(), sides[-1].place.load()], design, None)
        evidence = Evidence.draw_subsets(row_exchange, self.alpha, self.confidence, self.seed)
        return Calibration(evidence, RepresentationPermutations(row_exchange, self.n_permutations, self.seed))


def build_request(design: Design, n_permutations: int, alpha: float, confidence: float | None, seed: int) -> Request:
    """Check the arguments and return the request."""
    n_permutations = check.count(n_permutations, "n_permutations")
    check.fraction(alpha, "alpha", closed=False)
    if confidence is not None:
        check.fraction(confidence, "confidence", closed=False)
    return Request(n_permutations, float(alpha), confidence, design, seed)


def _warn_of_saturation(scores: Sequence[PairScore]) -> None:
    """Warn of each measure for which unrelated data reach the best value, and name one such pair."""
    warned: set[str] = set()
    for pair_score in scores:
        score = pair_score.score
        worst, best = (
            (score.possible_low, score.possible_high)
            if score.closer == "higher"
            else (score.possible_high, score.possible_low)
        )
        if score.measure not in warned and saturated_measures({score.measure: (score.null_mean, worst, best)}):
            warned.add(score.measure)
            warn(
                f"{score.measure} is saturated for {pair_score.first} and {pair_score.second}: unrelated data reach "
                "the value of perfect agreement. Use more rows, fewer features, or another measure",
                CalibrationWarning,
            )
