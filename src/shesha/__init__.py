"""Tools for measuring representations: how stable, how similar, and whether either exceeds chance."""

from typing import TYPE_CHECKING

from shesha._version import DISTRIBUTION as DISTRIBUTION, __version__ as __version__
from shesha.support import conflicting_distributions as _conflicting_distributions
from shesha.support.lazy import lazy_names

_conflicting_distributions.notice()

if TYPE_CHECKING:
    from shesha import (
        benchmark as benchmark,
        bio as bio,
        calibration as calibration,
        coherence as coherence,
        comparison as comparison,
        core as core,
        data as data,
        descriptors as descriptors,
        drift as drift,
        extract as extract,
        io as io,
        measures as measures,
        neuro as neuro,
        nulls as nulls,
        report as report,
        results as results,
        sim as sim,
        stability as stability,
        steering as steering,
        transfer as transfer,
    )
    from shesha.auditing.audit import audit as audit
    from shesha.calibration import calibrate as calibrate
    from shesha.changes.diff import diff as diff
    from shesha.changes.row_map import explore as explore
    from shesha.citations.cite import cite as cite
    from shesha.comparison.compare import compare as compare
    from shesha.comparison.layer_grid import calibrate_layers as calibrate_layers, compare_layers as compare_layers
    from shesha.comparison.noise_ceiling import noise_ceiling as noise_ceiling
    from shesha.comparison.pairwise import compare_all as compare_all
    from shesha.comparison.procrustes_consensus import consensus as consensus, mean_shape as mean_shape
    from shesha.comparison.unit_matching import match_units as match_units
    from shesha.comparison.within_classes import (
        compare_within as compare_within,
    )
    from shesha.doubting.doubts import doubts as doubts
    from shesha.moments.layer_pair_sums import LayerMoments as LayerMoments
    from shesha.moments.moments import Moments as Moments
    from shesha.ranking.rank_models import rank_models as rank_models
    from shesha.results import load as load, settings_table as settings_table
    from shesha.stability import (
        anchor_profile_stability as anchor_profile_stability,
        anchor_stability as anchor_stability,
        basis_averaged_split as basis_averaged_split,
        class_separation_ratio as class_separation_ratio,
        compute_rdm as compute_rdm,
        drift_path as drift_path,
        encoder_stability as encoder_stability,
        feature_split as feature_split,
        label_conditioned_split as label_conditioned_split,
        lda_stability as lda_stability,
        lda_subspace_stability as lda_subspace_stability,
        rdm_drift as rdm_drift,
        rdm_similarity as rdm_similarity,
        replicate_stability as replicate_stability,
        sample_split as sample_split,
        shesha as shesha,
        supervised_alignment as supervised_alignment,
        variance_ratio as variance_ratio,
        zscore_separation as zscore_separation,
    )
    from shesha.stability.estimate import estimate as estimate
    from shesha.support.warnings import (
        CalibrationWarning as CalibrationWarning,
        GuessedLayersWarning as GuessedLayersWarning,
        MeasureWarning as MeasureWarning,
        NotEstimable as NotEstimable,
        NotEstimableWarning as NotEstimableWarning,
        NotIdentifiableWarning as NotIdentifiableWarning,
        PoolingWarning as PoolingWarning,
        RowNamesWarning as RowNamesWarning,
    )
    from shesha.views import Rdm as Rdm

__getattr__, __dir__ = lazy_names(__name__)
