"""Frozen results: numbers with their uncertainty that can be printed, saved and converted to tables."""

from typing import TYPE_CHECKING

from shesha.support.lazy import lazy_names

if TYPE_CHECKING:
    from shesha.results.audit import Audit, Faults, LabelClasses, Meaning, RepresentationAudit
    from shesha.results.coherence import Coherence, CoherenceTable
    from shesha.results.comparison import Comparison, NoiseCeiling, NoiseCeilingFields, PairwiseComparison, Score
    from shesha.results.consensus import Consensus, Member, UnitMatching
    from shesha.results.correlation import Correlation
    from shesha.results.diff import (
        ClassChange,
        Diff,
        IndexChange,
        LayerChange,
        MeasureChange,
        MovedRow,
        Recall,
        SeparationChange,
        StructureChange,
    )
    from shesha.results.doubts import Dependence, Doubt, Doubts
    from shesha.results.drift import CheckSequence, DriftScore, DriftVerdict, Moved, StreamVerdict, TwoSample
    from shesha.results.json_loading import load
    from shesha.results.layer_grids import LayerComparison
    from shesha.results.model_ranking import ModelCombination, ModelDifference, ModelRanking, RankedModel
    from shesha.results.neuro import (
        OverTime,
        SessionDrift,
        SessionPair,
        SessionPart,
        TrialScore,
    )
    from shesha.results.number import Number
    from shesha.results.row_map import RowMap
    from shesha.results.settings import SettingsTable, settings_table
    from shesha.results.stability import DriftPath, Estimate
    from shesha.results.steering import (
        LayerRanking,
        RankedLayer,
        Steerability,
        SteeringScore,
    )
    from shesha.results.within_classes import SeveralWithinClasses, WithinClasses

__getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "Audit",
    "CheckSequence",
    "ClassChange",
    "Coherence",
    "CoherenceTable",
    "Comparison",
    "Consensus",
    "Correlation",
    "Dependence",
    "Diff",
    "Doubt",
    "Doubts",
    "DriftPath",
    "DriftScore",
    "DriftVerdict",
    "Estimate",
    "Faults",
    "IndexChange",
    "LabelClasses",
    "LayerChange",
    "LayerComparison",
    "LayerRanking",
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
    "SettingsTable",
    "SeveralWithinClasses",
    "Steerability",
    "SteeringScore",
    "StreamVerdict",
    "StructureChange",
    "TrialScore",
    "TwoSample",
    "UnitMatching",
    "WithinClasses",
    "load",
    "settings_table",
]
