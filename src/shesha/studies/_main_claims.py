"""What the papers are read for: their main claims in plain words, and the check of a study that decides each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class MainClaim(NamedTuple):
    """A claim in plain words, the study that asks it, and words of the name of its check."""

    paper: str
    claim: str
    study: str
    words: str


_STABILITY, _NULL, _RESI = "Geometric Stability", "Null calibration", "ReSi"
MAIN_CLAIMS = tuple(
    MainClaim(*one)
    for one in (
        (
            _STABILITY,
            "The feature split follows the share of signal in a representation",
            "ground-truth",
            "Spearman of",
        ),
        (_STABILITY, "Rotating a representation leaves the feature split alone", "invariance", "rotation leaves the"),
        (
            _STABILITY,
            "Without its leading components stability degrades slowly where similarities collapse",
            "spectral",
            "degrades gracefully",
        ),
        (
            _STABILITY,
            "Stability and similarity are distinct: over encoders they are uncorrelated",
            "distinctness",
            "makes distinctness a fundamental property",
        ),
        (_STABILITY, "The feature split sees axes, which CKA cannot", "distinctness", "formal distinctness"),
        (
            _STABILITY,
            "PCA destroys fine structure: stability falls, CKA stays",
            "distinctness",
            "PCA destroys fine-grained",
        ),
        (_STABILITY, "Features that transfer well pay for it with stability", "geometric-tax", "(geometric tax)"),
        (_STABILITY, "DINOv2 has the lowest stability nearly everywhere", "geometric-tax", "DINOv2 has the lowest"),
        (_STABILITY, "Supervised stability foretells steering", "steering", "predicts in all settings"),
        (
            _STABILITY,
            "Supervised stability foretells more than separability does",
            "steering",
            "what separability misses",
        ),
        (_STABILITY, "Steering is specific to its direction", "steering", "specific to the direction"),
        (_STABILITY, "Shesha sees twice the change by post-training that CKA sees", "post-training", "nearly twice"),
        (_STABILITY, "Drift foretells what a task loses", "canary", "foretells functional loss"),
        (_STABILITY, "Shesha warns earlier than CKA", "canary", "Shesha warns earlier than CKA"),
        (_STABILITY, "Procrustes gives six times the false alarms", "canary-lm", "six times the false alarms"),
        (_STABILITY, "Alignment with labels foretells transfer", "transfer", "alignment with labels foretells"),
        (_STABILITY, "Stability without labels does not foretell it", "transfer", "stability without labels does not"),
        (_STABILITY, "Strong perturbations move cells more alike", "crispr", "the larger the shift of a perturbation"),
        (_STABILITY, "Their coherence does not depend on the number of cells", "crispr", "insensitive to sample size"),
        (_STABILITY, "Areas of the brain keep a reliable geometry", "neuroscience", "there is a reliable geometry"),
        (
            _STABILITY,
            "The correlation of odd and even trials measures it",
            "neuroscience",
            "the correlation of odd and even trials measures",
        ),
        (_STABILITY, "Stability foretells the coupling with behaviour", "neuroscience", "predicts the coupling"),
        (_STABILITY, "Recordings drift systematically (z of -45)", "neuroscience", "a z of -45"),
        (_NULL, "Raw similarity of unrelated data rises with the width", "width", "raw scores of independent data"),
        (_NULL, "Calibrated scores of unrelated data stay at zero", "width", "calibrated scores of independent data"),
        (
            _NULL,
            "They stay at zero for random networks that see the same inputs",
            "generative",
            "calibrated CKA of unrelated random",
        ),
        (_NULL, "The best of many layer pairs rises with the depth", "depth", "raw maximum at L"),
        (_NULL, "Calibrating that best one takes it away", "depth", "calibrated maximum"),
        (_NULL, "Rejection rates keep the level", "type-1", "rejection rates at"),
        (
            _NULL,
            "They keep it for series permuted within blocks",
            "type-1",
            "dependence of consecutive samples",
        ),
        (_NULL, "Signals are found nearly as often as with the true null", "power", "sensitivity beside"),
        (_NULL, "On real networks the threshold rises with the width", "width-real", "threshold at fixed n"),
        (_NULL, "Models converge to local neighbourhoods, not to one geometry", "platonic", "as models become capable"),
        (_NULL, "Models agree on who is near, not on how near", "locality", "topological versus metric"),
        (_RESI, "No measure is best in all domains", "resi", "no measure outperforms"),
        (_RESI, "CKA is best in language", "resi", "CKA performs best in language"),
        (_RESI, "Jaccard is best in vision", "resi", "Jaccard is the best in vision"),
        (_RESI, "Orthogonal Procrustes is always in the upper half", "resi", "OrthProc is consistently"),
    )
)


def decided(checks: pd.DataFrame) -> Iterator[tuple[MainClaim, pd.Series]]:
    """Yield each claim with the line of its check; those whose study is not in the folder are left out."""
    for one in MAIN_CLAIMS:
        own = checks[(checks.study == one.study) & checks.what.str.contains(one.words, regex=False)]
        if len(own):
            yield one, own.iloc[0]
