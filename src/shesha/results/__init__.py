"""Frozen results: numbers with their uncertainty that can be printed, saved and converted to tables."""

from typing import TYPE_CHECKING

from shesha.support.lazy import lazy_names

if TYPE_CHECKING:
    from shesha.results.audit import (
        Audit as Audit,
        Faults as Faults,
        LabelClasses as LabelClasses,
        Meaning as Meaning,
        RepresentationAudit as RepresentationAudit,
    )
    from shesha.results.coherence import Coherence as Coherence, CoherenceTable as CoherenceTable
    from shesha.results.comparison import (
        Comparison as Comparison,
        NoiseCeiling as NoiseCeiling,
        NoiseCeilingFields as NoiseCeilingFields,
        PairwiseComparison as PairwiseComparison,
        Score as Score,
    )
    from shesha.results.consensus import Consensus as Consensus, Member as Member, UnitMatching as UnitMatching
    from shesha.results.correlation import Correlation as Correlation
    from shesha.results.diff import (
        ClassChange as ClassChange,
        Diff as Diff,
        IndexChange as IndexChange,
        LayerChange as LayerChange,
        MeasureChange as MeasureChange,
        MovedRow as MovedRow,
        SeparationChange as SeparationChange,
        StructureChange as StructureChange,
    )
    from shesha.results.doubts import Dependence as Dependence, Doubt as Doubt, Doubts as Doubts
    from shesha.results.drift import (
        CheckSequence as CheckSequence,
        DriftScore as DriftScore,
        DriftVerdict as DriftVerdict,
        Moved as Moved,
        StreamVerdict as StreamVerdict,
        TwoSample as TwoSample,
    )
    from shesha.results.json_loading import load as load
    from shesha.results.layer_grids import LayerComparison as LayerComparison
    from shesha.results.model_ranking import (
        ModelCombination as ModelCombination,
        ModelDifference as ModelDifference,
        ModelRanking as ModelRanking,
        RankedModel as RankedModel,
    )
    from shesha.results.neuro import (
        OverTime as OverTime,
        SessionDrift as SessionDrift,
        SessionPair as SessionPair,
        SessionPart as SessionPart,
        TrialScore as TrialScore,
    )
    from shesha.results.number import Number as Number
    from shesha.results.row_map import RowMap as RowMap
    from shesha.results.settings import SettingsTable as SettingsTable, settings_table as settings_table
    from shesha.results.stability import DriftPath as DriftPath, Estimate as Estimate
    from shesha.results.steering import (
        LayerRanking as LayerRanking,
        RankedLayer as RankedLayer,
        Steerability as Steerability,
    )
    from shesha.results.within_classes import (
        SeveralWithinClasses as SeveralWithinClasses,
        WithinClasses as WithinClasses,
    )

__getattr__, __dir__ = lazy_names(__name__)
