"""Score representations of different widths on equally many features: more features raise stability."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from shesha.auditing.fingerprinted_representation import Subject
from shesha.auditing.representation_audit import Settings
from shesha.auditing.stored_audits import StoredValues, settings_key
from shesha.results import Estimate, RepresentationAudit
from shesha.results.json_loading import require_types
from shesha.stability import registered_variants
from shesha.stability.estimate import as_estimate
from shesha.stability.evaluation import build_request, evaluate, resolve_design
from shesha.support.progress import mute_progress, track
from shesha.support.seeds import generator
from shesha.support.sqlite import StoreError
from shesha.support.types import Index
from shesha.support.warnings import NotEstimable, NotEstimableWarning
from shesha.views import Rows

WIDTHS = "width"
"""Key under which a store keeps scores at equal width."""
_SCORE = "feature_split"
_CHOICES, _SPLITS = 10, 3
"""Number of random subsets of features, and number of feature partitions for each subset.

Their product, 30, is the default number of partitions for this score.
"""


def equal_width_scores(
    subjects: Mapping[str, Subject], findings: Sequence[RepresentationAudit], settings: Settings, stored: StoredValues
) -> list[RepresentationAudit]:
    """If widths differ, add to each finding its score at equal width; one file is in memory at a time."""
    width = common_width(findings)
    if width is None:
        return list(findings)

    def score(finding: RepresentationAudit) -> Estimate | None:
        subject = subjects[finding.name]
        try:
            return stored.get(
                WIDTHS,
                lambda: f"{subject.fingerprint} {width} {settings_key(None, settings)}",
                lambda: _as_plain(_equal_width_score(subject, finding, width, settings)),
                _from_plain,
            )
        except StoreError:
            raise
        except (OSError, ValueError, MemoryError) as error:
            # The file may have changed since it was audited.
            return _missing_score(finding, width, str(error) or type(error).__name__)

    with mute_progress():
        return [
            replace(finding, same_width=score(finding)) if _has_score(finding) else finding
            for finding in track(findings, len(findings), "scores at equal width")
        ]


def _as_plain(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.to_dict()


def _from_plain(plain: dict[str, Any] | None) -> Estimate | None:
    return None if plain is None else require_types(Estimate.from_dict(plain))


def common_width(findings: Sequence[RepresentationAudit]) -> int | None:
    """Return the smallest number of features among scored representations; None if all have the same."""
    widths = {finding.n_features for finding in findings if _has_score(finding)}
    return min(widths) if len(widths) > 1 else None


def score_at_width(source: Rows, width: int, settings: Settings, n_features: int) -> Estimate:
    """Score random subsets of the features, all of the same size, and average the scores.

    Parameters
    ----------
    source : Rows
        Rows to score.
    width : int
        Number of features in each subset.
    settings : Settings
        Metric, confidence level, numbers of resamples and pairs, seed, and the exchange design of these rows.
    n_features : int
        Total number of features of the rows.

    Returns
    -------
    Estimate
        Mean score. Its interval combines the errors due to the sampling of rows and to the choice of features.
    """
    rng = generator(settings.seed)
    chosen = [np.sort(rng.choice(n_features, width, replace=False)) for _ in range(_CHOICES)]
    scores = [_score_columns(source, columns, settings, rng) for columns in chosen]
    values = np.array([score.value for score in scores])
    if not np.isfinite(values).any():
        return scores[0]
    known = values[np.isfinite(values)]
    between_draws = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else 0.0
    rows = float(np.sqrt(np.mean([score.standard_error**2 for score in scores])))
    half = NormalDist().inv_cdf(0.5 + settings.confidence / 2) * float(np.hypot(rows, between_draws))
    value = float(known.mean())
    return replace(
        scores[0],
        value=value,
        low=max(-1.0, value - half),
        high=min(1.0, value + half),
        standard_error=rows,
        monte_carlo_error=between_draws,
        n_partitions=sum(score.n_partitions for score in scores),
        pairs_dropped=sum(score.pairs_dropped for score in scores),
        reason="",
    )


def _score_columns(rows: Rows, columns: Index, settings: Settings, rng: np.random.Generator) -> Estimate:
    request = build_request(
        rows.take_columns(columns),
        None,
        registered_variants()[_SCORE],
        {"metric": settings.metric, "n_draws": _SPLITS},
        n_bootstrap=settings.n_bootstrap,
        pairs=settings.pairs,
        seed=int(rng.integers(2**63)),
        design=settings.exchange,
    )
    return as_estimate(request, evaluate(request), settings.confidence)


def _equal_width_score(
    subject: Subject, finding: RepresentationAudit, width: int, settings: Settings
) -> Estimate | None:
    """Score a representation at the common width; the narrowest keeps the score that it already has."""
    if finding.n_features == width:
        return finding.feature_split
    rows = subject.load()
    assert isinstance(rows, Rows)
    design = resolve_design(settings.design, finding.n_rows)
    row_settings = replace(settings, design={}, exchange=design)
    with warnings.catch_warnings():
        # The result contains the reason, so the warning is not needed.
        warnings.simplefilter("ignore", NotEstimableWarning)
        try:
            return score_at_width(rows, width, row_settings, finding.n_features)
        except (NotEstimable, ValueError) as error:
            # A row may be zero, and so have no direction, in the chosen features.
            return _missing_score(finding, width, str(error))


def _has_score(finding: RepresentationAudit) -> bool:
    score = finding.feature_split
    return not finding.reason and score is not None and score.value == score.value


def _missing_score(finding: RepresentationAudit, width: int, reason: str) -> Estimate | None:
    nan = float("nan")
    if finding.feature_split is None:
        return None
    return replace(finding.feature_split, value=nan, low=nan, high=nan, n_features=width, reason=reason, notes=())
