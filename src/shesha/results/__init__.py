"""Frozen results: numbers with their uncertainty that can be printed, saved and converted to tables."""

from typing import TYPE_CHECKING

from shesha.support.lazy import lazy_names

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, Faults, LabelClasses, Meaning, RepresentationAudit
    from shesha.results.audit.dependence import Dependence
    from shesha.results.audit.doubts import Doubt, Doubts
    from shesha.results.changes.diff import Diff, LayerChange, MeasureChange, MovedRow
    from shesha.results.changes.kind_of_change import ClassChange, SeparationChange, StructureChange
    from shesha.results.changes.row_map import RowMap
    from shesha.results.changes.vector_index_verdict import IndexChange, Recall
    from shesha.results.coherence.coherence import Coherence, CoherenceTable, Link
    from shesha.results.drift.stream import StreamVerdict, TwoSample
    from shesha.results.drift.verdict import CheckSequence, DriftScore, DriftVerdict, Moved
    from shesha.results.json_loading import load
    from shesha.results.neuro.session_drift import SessionDrift, SessionPair, SessionPart
    from shesha.results.neuro.session_table import AreaLine, AreaScore, Association, Group, GroupMean, SessionTable
    from shesha.results.neuro.time_by_time import OverTime
    from shesha.results.neuro.trial_score import Tertiles, TrialScore
    from shesha.results.number import Number
    from shesha.results.similarity.comparison import Comparison
    from shesha.results.similarity.consensus import Consensus, Member
    from shesha.results.similarity.layer_grids import LayerComparison
    from shesha.results.similarity.model_ranking import (
        ModelCombination,
        ModelDifference,
        ModelRanking,
        RankedModel,
    )
    from shesha.results.similarity.pairwise import PairwiseComparison
    from shesha.results.similarity.score import NoiseCeiling, NoiseCeilingFields, Score
    from shesha.results.similarity.unit_matching import UnitMatching
    from shesha.results.similarity.within_classes import SeveralWithinClasses, WithinClasses
    from shesha.results.stability.scores import DriftPath, Estimate
    from shesha.results.steering.layer_ranking import LayerRanking, RankedLayer
    from shesha.results.steering.partial_correlations import PartialCorrelation, PartialCorrelations
    from shesha.results.steering.steering import Steerability, SteeringPredictors, SteeringScore

__getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "AreaLine",
    "AreaScore",
    "Association",
    "Audit",
    "CheckSequence",
    "ClassChange",
    "Coherence",
    "CoherenceTable",
    "Comparison",
    "Consensus",
    "Dependence",
    "Diff",
    "Doubt",
    "Doubts",
    "DriftPath",
    "DriftScore",
    "DriftVerdict",
    "Estimate",
    "Faults",
    "Group",
    "GroupMean",
    "IndexChange",
    "LabelClasses",
    "LayerChange",
    "LayerComparison",
    "LayerRanking",
    "Link",
    "Meaning",
    "MeasureChange",
    "Member",
    "ModelCombination",
    "ModelDifference",
    "ModelRanking",
    "Moved",
    "MovedRow",
    "NoiseCeiling",
    "NoiseCeilingFields",
    "Number",
    "OverTime",
    "PairwiseComparison",
    "PartialCorrelation",
    "PartialCorrelations",
    "RankedLayer",
    "RankedModel",
    "Recall",
    "RepresentationAudit",
    "RowMap",
    "Score",
    "SeparationChange",
    "SessionDrift",
    "SessionPair",
    "SessionPart",
    "SessionTable",
    "SeveralWithinClasses",
    "Steerability",
    "SteeringPredictors",
    "SteeringScore",
    "StreamVerdict",
    "StructureChange",
    "Tertiles",
    "TrialScore",
    "TwoSample",
    "UnitMatching",
    "WithinClasses",
    "load",
]
