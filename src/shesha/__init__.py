"""The geometry of representations: how stable it is, how similar two are, above chance or not, by which measure."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shesha._version import DISTRIBUTION as DISTRIBUTION
from shesha._version import __version__ as __version__
from shesha._warnings import (
    CalibrationWarning,
    GuessedLayersWarning,
    MeasureWarning,
    NotEstimable,
    NotEstimableWarning,
    NotIdentifiableWarning,
    RowNamesWarning,
)
from shesha.auditing import audit
from shesha.doubting import doubts
from shesha.results import (
    Audit,
    Calibrated,
    CalibratedLayers,
    CalibratedMany,
    Chance,
    Coherence,
    CoherenceTable,
    Comparison,
    Doubt,
    Doubts,
    DriftPath,
    Estimate,
    LayerComparison,
    NoiseCeiling,
    PairwiseComparison,
    load,
)
from shesha.stability import (
    anchor_profile_stability,
    anchor_stability,
    basis_averaged_split,
    chance,
    class_separation_ratio,
    compute_rdm,
    drift_path,
    encoder_stability,
    estimate,
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
from shesha.views import Rdm

if TYPE_CHECKING:
    import shesha.bio as bio
    import shesha.coherence as coherence
    import shesha.descriptors as descriptors
    import shesha.drift as drift
    import shesha.extract as extract
    import shesha.measures as measures
    import shesha.neuro as neuro
    import shesha.sim as sim
    import shesha.steering as steering
    import shesha.studies as studies
    import shesha.transfer as transfer
    from shesha.calibration import benjamini_hochberg, calibrate, calibrate_layers, calibrate_many, holm
    from shesha.comparison.ceiling import noise_ceiling
    from shesha.comparison.compare import compare
    from shesha.comparison.layers import compare_layers
    from shesha.comparison.pairwise import compare_all
    from shesha.comparison.within import compare_within

_NAMESPACES = (
    "bio",
    "coherence",
    "descriptors",
    "drift",
    "extract",
    "measures",
    "neuro",
    "plot",
    "sim",
    "steering",
    "studies",
    "transfer",
)
_LATER = {
    **dict.fromkeys(
        ("benjamini_hochberg", "calibrate", "calibrate_layers", "calibrate_many", "holm"), "shesha.calibration"
    ),
    **dict.fromkeys(
        ("compare", "compare_all", "compare_layers", "compare_within", "noise_ceiling"), "shesha.comparison"
    ),
}
"""Names whose modules are imported when they are first asked for: measures take as long to import as all the rest."""


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return import_module(f"shesha.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'shesha' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "Audit",
    "Calibrated",
    "CalibratedLayers",
    "CalibratedMany",
    "CalibrationWarning",
    "Chance",
    "Coherence",
    "CoherenceTable",
    "Comparison",
    "Doubt",
    "Doubts",
    "DriftPath",
    "Estimate",
    "GuessedLayersWarning",
    "LayerComparison",
    "MeasureWarning",
    "NoiseCeiling",
    "NotEstimable",
    "NotEstimableWarning",
    "NotIdentifiableWarning",
    "PairwiseComparison",
    "Rdm",
    "RowNamesWarning",
    "anchor_profile_stability",
    "anchor_stability",
    "audit",
    "basis_averaged_split",
    "benjamini_hochberg",
    "bio",
    "calibrate",
    "calibrate_layers",
    "calibrate_many",
    "chance",
    "class_separation_ratio",
    "coherence",
    "compare",
    "compare_all",
    "compare_layers",
    "compare_within",
    "compute_rdm",
    "descriptors",
    "doubts",
    "drift",
    "drift_path",
    "encoder_stability",
    "estimate",
    "extract",
    "feature_split",
    "holm",
    "label_conditioned_split",
    "lda_stability",
    "lda_subspace_stability",
    "load",
    "measures",
    "neuro",
    "noise_ceiling",
    "rdm_drift",
    "rdm_similarity",
    "replicate_stability",
    "sample_split",
    "shesha",
    "sim",
    "steering",
    "studies",
    "supervised_alignment",
    "transfer",
    "variance_ratio",
    "zscore_separation",
]
