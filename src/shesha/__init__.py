"""Tools for measuring representations: how stable, how similar, and whether either exceeds chance."""

from typing import TYPE_CHECKING

from shesha._version import DISTRIBUTION as DISTRIBUTION
from shesha._version import __version__ as __version__
from shesha.support import conflicting_distributions as _conflicting_distributions
from shesha.support.lazy import lazy_names

_conflicting_distributions.notice()

if TYPE_CHECKING:
    import shesha.benchmark as benchmark
    import shesha.bio as bio
    import shesha.calibration as calibration
    import shesha.coherence as coherence
    import shesha.comparison as comparison
    import shesha.core as core
    import shesha.data as data
    import shesha.descriptors as descriptors
    import shesha.drift as drift
    import shesha.extract as extract
    import shesha.io as io
    import shesha.measures as measures
    import shesha.neuro as neuro
    import shesha.nulls as nulls
    import shesha.report as report
    import shesha.results as results
    import shesha.sim as sim
    import shesha.stability as stability
    import shesha.steering as steering
    import shesha.transfer as transfer
    from shesha.auditing.audit import audit
    from shesha.calibration import benjamini_hochberg, calibrate, holm
    from shesha.changes.diff import diff
    from shesha.changes.row_map import explore
    from shesha.citations.cite import cite
    from shesha.comparison.compare import compare
    from shesha.comparison.layer_grid import calibrate_layers, compare_layers
    from shesha.comparison.noise_ceiling import noise_ceiling
    from shesha.comparison.pairwise import compare_all
    from shesha.comparison.procrustes_consensus import consensus, mean_shape
    from shesha.comparison.unit_matching import match_units
    from shesha.comparison.within_classes import compare_several_within, compare_within
    from shesha.doubting.doubts import doubts
    from shesha.moments.layer_pair_sums import LayerMoments
    from shesha.moments.moments import Moments
    from shesha.ranking.rank_models import rank_models
    from shesha.results import (
        Audit,
        Coherence,
        CoherenceTable,
        Comparison,
        Consensus,
        Diff,
        Doubt,
        Doubts,
        DriftPath,
        Estimate,
        LayerComparison,
        ModelRanking,
        NoiseCeiling,
        PairwiseComparison,
        RowMap,
        Score,
        SettingsTable,
        UnitMatching,
        load,
        settings_table,
    )
    from shesha.stability import (
        anchor_profile_stability,
        anchor_stability,
        basis_averaged_split,
        class_separation_ratio,
        compute_rdm,
        drift_path,
        encoder_stability,
        feature_split,
        label_conditioned_split,
        lda_stability,
        lda_subspace_stability,
        rdm_drift,
        rdm_similarity,
        replicate_stability,
        sample_split,
        shesha,
        supervised_alignment,
        variance_ratio,
        zscore_separation,
    )
    from shesha.stability.estimate import estimate
    from shesha.support.warnings import (
        CalibrationWarning,
        GuessedLayersWarning,
        MeasureWarning,
        NotEstimable,
        NotEstimableWarning,
        NotIdentifiableWarning,
        PoolingWarning,
        RowNamesWarning,
    )
    from shesha.views import Rdm

__getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "Audit",
    "CalibrationWarning",
    "Coherence",
    "CoherenceTable",
    "Comparison",
    "Consensus",
    "Diff",
    "Doubt",
    "Doubts",
    "DriftPath",
    "Estimate",
    "GuessedLayersWarning",
    "LayerComparison",
    "LayerMoments",
    "MeasureWarning",
    "ModelRanking",
    "Moments",
    "NoiseCeiling",
    "NotEstimable",
    "NotEstimableWarning",
    "NotIdentifiableWarning",
    "PairwiseComparison",
    "PoolingWarning",
    "Rdm",
    "RowMap",
    "RowNamesWarning",
    "Score",
    "SettingsTable",
    "UnitMatching",
    "anchor_profile_stability",
    "anchor_stability",
    "audit",
    "basis_averaged_split",
    "benchmark",
    "benjamini_hochberg",
    "bio",
    "calibrate",
    "calibrate_layers",
    "calibration",
    "cite",
    "class_separation_ratio",
    "coherence",
    "compare",
    "compare_all",
    "compare_layers",
    "compare_several_within",
    "compare_within",
    "comparison",
    "compute_rdm",
    "consensus",
    "core",
    "data",
    "descriptors",
    "diff",
    "doubts",
    "drift",
    "drift_path",
    "encoder_stability",
    "estimate",
    "explore",
    "extract",
    "feature_split",
    "holm",
    "io",
    "label_conditioned_split",
    "lda_stability",
    "lda_subspace_stability",
    "load",
    "match_units",
    "mean_shape",
    "measures",
    "neuro",
    "noise_ceiling",
    "nulls",
    "rank_models",
    "rdm_drift",
    "rdm_similarity",
    "replicate_stability",
    "report",
    "results",
    "sample_split",
    "settings_table",
    "shesha",
    "sim",
    "stability",
    "steering",
    "supervised_alignment",
    "transfer",
    "variance_ratio",
    "zscore_separation",
]
