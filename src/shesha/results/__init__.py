"""Frozen results: a number with its uncertainty, printable, serialisable, tabular."""

from typing import TYPE_CHECKING

from shesha._later import later

if TYPE_CHECKING:
    from shesha.results._audit import Audit, Faults, Meaning, RepresentationAudit
    from shesha.results._beside import BesideNull, NullSummary
    from shesha.results._calibrated import Calibrated
    from shesha.results._calibrated_layers import CalibratedLayers
    from shesha.results._calibrated_many import CalibratedMany
    from shesha.results._ceiling import BesideRepeats, NoiseCeiling
    from shesha.results._chance import Chance
    from shesha.results._coherence import Coherence, CoherenceTable, Link
    from shesha.results._comparison import Comparison, Score
    from shesha.results._dependence import Dependence
    from shesha.results._doubts import Doubt, Doubts
    from shesha.results._drift import DriftPath
    from shesha.results._estimate import Estimate
    from shesha.results._labels import LabelClasses
    from shesha.results._layer_ranking import LayerRanking, RankedLayer
    from shesha.results._monitor import CheckSequence, DriftScore, DriftVerdict, Moved
    from shesha.results._over_time import OverTime
    from shesha.results._pairwise import LayerComparison, PairScore, PairwiseComparison
    from shesha.results._partial import PartialCorrelation, PartialCorrelations
    from shesha.results._saved import load
    from shesha.results._session_drift import SessionDrift, SessionPair, SessionPart
    from shesha.results._session_table import AreaLine, AreaScore, Association, Group, GroupMean, SessionTable
    from shesha.results._steering import Steerability, SteeringPredictors, SteeringScore
    from shesha.results._stream import StreamVerdict, TwoSample
    from shesha.results._trial_score import Tertiles, TrialScore

__getattr__, __dir__ = later(
    __name__,
    {
        "_audit": ("Audit", "Faults", "Meaning", "RepresentationAudit"),
        "_beside": ("BesideNull", "NullSummary"),
        "_calibrated": ("Calibrated",),
        "_calibrated_layers": ("CalibratedLayers",),
        "_calibrated_many": ("CalibratedMany",),
        "_ceiling": ("BesideRepeats", "NoiseCeiling"),
        "_chance": ("Chance",),
        "_coherence": ("Coherence", "CoherenceTable", "Link"),
        "_comparison": ("Comparison", "Score"),
        "_dependence": ("Dependence",),
        "_doubts": ("Doubt", "Doubts"),
        "_drift": ("DriftPath",),
        "_estimate": ("Estimate",),
        "_labels": ("LabelClasses",),
        "_layer_ranking": ("LayerRanking", "RankedLayer"),
        "_monitor": ("CheckSequence", "DriftScore", "DriftVerdict", "Moved"),
        "_over_time": ("OverTime",),
        "_pairwise": ("LayerComparison", "PairScore", "PairwiseComparison"),
        "_partial": ("PartialCorrelation", "PartialCorrelations"),
        "_saved": ("load",),
        "_session_drift": ("SessionDrift", "SessionPair", "SessionPart"),
        "_session_table": ("AreaLine", "AreaScore", "Association", "Group", "GroupMean", "SessionTable"),
        "_steering": ("Steerability", "SteeringPredictors", "SteeringScore"),
        "_stream": ("StreamVerdict", "TwoSample"),
        "_trial_score": ("Tertiles", "TrialScore"),
    },
)

__all__ = [
    "AreaLine",
    "AreaScore",
    "Association",
    "Audit",
    "BesideNull",
    "BesideRepeats",
    "Calibrated",
    "CalibratedLayers",
    "CalibratedMany",
    "Chance",
    "CheckSequence",
    "Coherence",
    "CoherenceTable",
    "Comparison",
    "Dependence",
    "Doubt",
    "Doubts",
    "DriftPath",
    "DriftScore",
    "DriftVerdict",
    "Estimate",
    "Faults",
    "Group",
    "GroupMean",
    "LabelClasses",
    "LayerComparison",
    "LayerRanking",
    "Link",
    "Meaning",
    "Moved",
    "NoiseCeiling",
    "NullSummary",
    "OverTime",
    "PairScore",
    "PairwiseComparison",
    "PartialCorrelation",
    "PartialCorrelations",
    "RankedLayer",
    "RepresentationAudit",
    "Score",
    "SessionDrift",
    "SessionPair",
    "SessionPart",
    "SessionTable",
    "Steerability",
    "SteeringPredictors",
    "SteeringScore",
    "StreamVerdict",
    "Tertiles",
    "TrialScore",
    "TwoSample",
    "load",
]
