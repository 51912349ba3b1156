"""The whole of what can be said of one or several representations alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import nullcontext

import numpy as np
from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha._layers import LayerAxis, split_layers
from shesha._progress import muted, track
from shesha._random import generator
from shesha._types import Seed
from shesha._warnings import NotEstimableWarning
from shesha.auditing.findings import Settings, audited, meanings, size
from shesha.auditing.movement import movement
from shesha.kernels.distances import METRICS, Metric
from shesha.nulls.orders import asked_for
from shesha.results import Audit
from shesha.views import Rdm, Representation, Rows, rows_or_distances

_RECORDED = ("metric", "confidence", "n_bootstrap", "n_permutations", "pairs")
Data = ArrayLike | Rdm | Representation | Rows
_MANY_CLASSES = 0.5
"""With more classes than this share of the rows the labels are row names, not classes."""


def audit(
    representations: Data | Mapping[str, Data],
    y: ArrayLike | None = None,
    *,
    metric: Metric = "cosine",
    confidence: float = 0.95,
    n_bootstrap: int = 200,
    n_permutations: int = 200,
    pairs: int | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    layer_axis: LayerAxis = "guess",
    seed: Seed = 0,
) -> Audit:
    """Audit representations: faults, stability with interval and chance, spectrum, labels, drift.

    Rows that have no direction under the metric are left out, named and counted. A representation
    that cannot be scored (NaN, too few rows or columns) keeps its place and gets a reason; the
    others are audited.

    Parameters
    ----------
    representations : mapping of names to arrays, or one array of shape (n_samples, n_features)
        Several of the same rows (layers, checkpoints) are ranked, and their drift along the order
        given is measured. Memory-mapped files stay on disk, sparse matrices sparse; of an `Rdm`, what distances
        can tell is told.
    y : array of shape (n_samples,), optional
        Class labels: adds the supervised scores.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows, for all scores but those with a convention of their own (alignment with the labels:
        correlation; class separation: Euclidean).
    confidence : float
        Of the intervals, in (0, 1).
    n_bootstrap, n_permutations : int
        Resamples behind each interval, and random matchings behind the chance level.
    pairs : int, optional
        Use this many random pairs of rows in the split scores (see `estimate`).
    blocks, groups, within, shift, block_length
        Which rows may take each other's place, and which are resampled together: as for `shesha.nulls.exchange`. Where
        none is given and rows look dependent, the report says so and what to pass.
    layer_axis : int, None or 'guess'
        Which axis of a 3-D array counts layers, each a representation: as for `compare_all`.
    seed : int, Generator or None
        For everything random; 0 unless told otherwise, so that an audit can be repeated.

    Returns
    -------
    Audit
        Prints as a report; `to_frame()` gives a row per representation, `plot()` a picture.

    Examples
    --------
    >>> import shesha.data
    >>> layers, labels = shesha.data.digits_network()
    >>> last = {"init": layers["init_layer3"], "trained": layers["trained_layer3"]}
    >>> found = audit(last, labels, n_bootstrap=20, n_permutations=19)
    >>> found.ranking
    ('trained', 'init')
    >>> found.to_frame()[["representation", "n_samples", "n_features"]]
      representation  n_samples  n_features
    0           init        900          32
    1        trained        900          32
    """
    check.choice(metric, METRICS, "metric")
    generator(seed)
    settings = Settings(
        metric=metric,
        confidence=check.fraction(confidence, "confidence", closed=False),
        n_bootstrap=check.count(n_bootstrap, "n_bootstrap", minimum=0),
        n_permutations=check.count(n_permutations, "n_permutations", minimum=19),
        pairs=check.optional_count(pairs, "pairs", minimum=100),
        seed=int(seed) if isinstance(seed, int | np.integer) else seed,
        design={
            "blocks": blocks,
            "groups": groups,
            "within": within,
            "shift": shift,
            "block_length": block_length,
        },
    )
    named = _named(representations, layer_axis)
    if y is not None:
        _require_usable_labels(y, named)
    found = []
    several = track(named.items(), len(named), "representations") if len(named) > 1 else named.items()
    for name, X in several:
        # One representation shows the progress of its parts, several that of the whole.
        with muted() if len(named) > 1 else nullcontext(), warnings.catch_warnings():
            # The reason stands in the result.
            warnings.simplefilter("ignore", NotEstimableWarning)
            found.append(audited(name, X, y, settings))
    drift, reason = movement(named, found, metric)
    plain = {name: getattr(settings, name) for name in _RECORDED}
    plain["seed"] = settings.seed if isinstance(settings.seed, int) else None
    if asked_for(settings.design):
        plain["design"] = tuple(asked_for(settings.design))
    return Audit(tuple(found), drift, reason, plain, meanings())


def _named(representations: Data | Mapping[str, Data], layer_axis: LayerAxis) -> dict[str, Rows | Rdm]:
    if isinstance(representations, list | tuple) and all(np.ndim(one) == 2 for one in representations):
        raise TypeError(f"representations must be a mapping of names to matrices, got a list of {len(representations)}")
    if not isinstance(representations, Mapping):
        representations = {"X": representations}
    if not representations:
        raise ValueError("representations must hold at least one matrix, got none")
    representations = split_layers(representations, layer_axis)
    names = [str(name) for name in representations]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"representations must have distinct names, got {check.listed(map(repr, twice))} more than once"
        )
    arrays = zip(names, representations.values(), strict=True)
    return {name: rows_or_distances(X, name, min_rows=0, min_columns=0) for name, X in arrays}


def _require_usable_labels(y: ArrayLike, named: Mapping[str, Rows | Rdm]) -> None:
    """Refuse labels that fit no representation, or are as many as the rows, before the long work."""
    n_rows = {size(X) for X in named.values()}
    length = len(np.asarray(y)) if np.ndim(y) == 1 else -1
    codes, classes = check.labels(y, length if length in n_rows else next(iter(n_rows)))
    if len(classes) > max(2, _MANY_CLASSES * len(codes)):
        raise ValueError(f"y must hold classes, got {len(classes)} different labels for {len(codes)} rows")
