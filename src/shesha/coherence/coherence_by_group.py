"""Coherence of groups of rows relative to controls, or of paired differences, and null groups of equal size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.controls import FEWEST_CONTROLS, LARGE, GroupLayout, layout, warn_of_shared_rows, whitening_matrix
from shesha.coherence.group_scores import (
    PAIR,
    GroupEvidence,
    evidence,
    mean_cosine_over_units,
    scores_of_sums,
    unit_signs,
)
from shesha.coherence.null_groups import Draws, NullGroupScores, nearest_control_shifts, score_null_groups
from shesha.coherence.scores import NO_DIRECTION
from shesha.inputs import align_all_labels, align_features, align_labels, validation as check
from shesha.inputs.validation import require_squarable
from shesha.kernels.condition_distances import agreement
from shesha.measures.expected_time import MINUTE
from shesha.nulls.dependence import dependence, stretches
from shesha.nulls.design_warnings import find_undeclared_dependence
from shesha.nulls.null_summary import benjamini_hochberg, draw_stages, note_early_end, open_tests, p_of_draws, summarise
from shesha.results import Coherence, CoherenceTable, Correlation
from shesha.results.number import TIE, format_value
from shesha.support.progress import best_answer
from shesha.support.provenance import keep_statements, state
from shesha.support.seeds import ALPHA, CONFIDENCE, default_draws, draw_seed, generator, number
from shesha.support.types import Index, Matrix, Seed
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import agree, count

_NO_SPREAD = 1e-7
"""Ratio of spread to magnitude below which the spread is mere rounding error."""


def lines(
    row_layout: GroupLayout, observed: GroupEvidence, drawn: NullGroupScores, alpha: float, confidence: float
) -> list[Coherence]:
    """Return one result per group: its scores with intervals, chance levels and p-values.

    Parameters
    ----------
    row_layout : Layout
    observed : Evidence
    drawn : NullGroupScores
    alpha, confidence : float
        Significance level of the thresholds, and confidence level of the intervals.
    """
    from scipy.special import stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = np.where(observed.degrees > 0, observed.degrees, np.nan)
        margins = observed.pairwise_error * stdtrit(degrees, 0.5 + confidence / 2)
        has_spread = observed.spread > _NO_SPREAD * observed.magnitude
        snr = np.where(has_spread, observed.magnitude / observed.spread, np.nan)
    unbiased = observed.magnitude**2 - observed.noise
    unbiased = np.sign(unbiased) * np.sqrt(np.abs(unbiased))
    result = [
        Coherence(
            name=name,
            n_rows=int(observed.n[g]),
            value=float(observed.pairwise[g]),
            low=float(np.maximum(observed.pairwise[g] - margins[g], -1)),
            high=float(np.minimum(observed.pairwise[g] + margins[g], 1)),
            coherence=float(observed.mean_cosine[g]),
            magnitude=float(observed.magnitude[g]),
            unbiased_magnitude=float(unbiased[g]),
            spread=float(observed.spread[g]),
            snr=float(snr[g]),
            n_controls=len(row_layout.controls),
            confidence=confidence,
            reason=drawn.reasons[g],
            **({"n_draws": len(drawn.scores[g]), "alpha": alpha} | _null_fields(observed, g, drawn.scores[g], alpha)),
        )
        for g, name in enumerate(row_layout.names)
    ]
    # The unbiased coherence decides, because it means the same for groups of all sizes.
    adjusted = benjamini_hochberg([line.p_value for line in result])
    return [replace(line, corrected_p_value=float(p)) for line, p in zip(result, adjusted, strict=True)]


def _null_fields(evidence: GroupEvidence, g: int, scores: Matrix, alpha: float) -> dict[str, Any]:
    """Return the chance levels and p-values of a group's three scores."""
    if not len(scores) or evidence.mean_cosine[g] != evidence.mean_cosine[g]:
        return {}
    # Noise alone makes a mean shift longer, and groups differ in noise, so magnitudes are tested relative to their
    # noise.
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = evidence.magnitude[g] / np.sqrt(evidence.noise[g])
    observed = (evidence.mean_cosine[g], evidence.pairwise[g], evidence.magnitude[g], excess)
    best = (1.0, 1.0, None, None)
    mean, pair, size, beyond_noise = (
        summarise(float(value), scores[:, i], "higher", alpha, top)
        for i, (value, top) in enumerate(zip(observed, best, strict=True))
    )
    return {
        **pair.evidence(),
        "coherence_chance": mean.chance,
        "coherence_p_value": mean.p_value,
        "magnitude_chance": size.chance,
        "magnitude_p": beyond_noise.p_value,
    }


_FEWEST_GROUPS = 5
_MEAN, _PAIR, _MAGNITUDE = range(3)
"""Columns in the arrays of null group scores."""


def links(groups: Sequence[Coherence], drawn: NullGroupScores, most: int) -> tuple[Correlation, ...]:
    """Correlate magnitude with plain and unbiased coherence, over groups and over null groups.

    Parameters
    ----------
    groups : sequence of Coherence
    drawn : NullGroupScores
        Scores of the null groups, in the order of `groups`.
    most : int
        Number of null groups to use, which all groups have unless there are fewer choices.
    """
    n_draws = min(max((len(scores) for scores in drawn.scores), default=0), most)
    used = [g for g, scores in enumerate(drawn.scores) if len(scores) == n_draws and groups[g].has_null]
    if len(used) < _FEWEST_GROUPS or not n_draws:
        return ()
    fake = np.stack([drawn.scores[g] for g in used], axis=1)
    return (
        _link(groups, used, "magnitude", "coherence", fake[..., _MAGNITUDE], fake[..., _MEAN]),
        _link(groups, used, "magnitude", "value", fake[..., _MAGNITUDE], fake[..., _PAIR]),
    )


def _link(
    groups: Sequence[Coherence], used: list[int], first: str, second: str, fake_first: Matrix, fake_second: Matrix
) -> Correlation:
    real = [np.array([[getattr(groups[g], name) for g in used]]) for name in (first, second)]
    rho = float(agreement(*real)[0])
    chance = agreement(fake_first, fake_second)
    low, high = np.nanquantile(chance, [0.025, 0.975])
    named = "unbiased coherence" if second == "value" else second
    return Correlation(
        name=f"{first} and {named}",
        first=first,
        second=named,
        value=rho,
        unit="group",
        n_units=len(used),
        n_rows=len(used),
        chance=float(np.nanmean(chance)),
        chance_low=float(low),
        chance_high=float(high),
        p_value=float(p_of_draws((chance >= rho - TIE).sum(), len(chance))),
        n_draws=len(chance),
        exchanged="null groups",
    )


_MOST_FIRST, _FEWEST_FIRST = 999, 199
"""Number of null groups of each group at first, and the number if so many would take more than a minute."""
_ENTRY_SECONDS = 1.5e-9
"""Seconds of a typical core for each feature of each row of a null group."""
Method = Literal["standard", "whitened", "knn"]
METHODS: tuple[Method, ...] = get_args(Method)
Null = Literal["controls", "pooled"]
NULLS: tuple[Null, ...] = get_args(Null)
_STRETCH = 128
"""Number of consecutive controls in each of the stretches that are searched for dependence."""


@keep_statements
def coherence_by_group(
    X: Any,
    labels: ArrayLike,
    control: Any,
    *,
    method: Method = "standard",
    k: int = 50,
    shrinkage: float | None = None,
    null: Null = "controls",
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_draws: int | None = None,
    min_size: int = 10,
    alpha: float = ALPHA,
    confidence: float = CONFIDENCE,
    seed: Seed = 0,
) -> CoherenceTable:
    """Test whether the rows of each group move together, away from the controls, more than by chance.

    The shift of a row is its position minus the mean of the controls. Even without any effect, small groups look
    coherent and strongly shifted. Each group is therefore compared with null groups of the same size that are drawn
    from the controls. Shifts of a null group start from the mean of the remaining controls, corrected for their smaller
    number.

    Parameters
    ----------
    X : array, sparse matrix, or object whose slices of rows are one of these; of shape (n, n_features)
        Sparse rows stay sparse, and rows on disk are read in pieces; "whitened" and "knn" require dense rows.
    labels : array of shape (n,)
        Group of each row, such as the perturbation of a cell or the class of a sentence.
    control : label or collection of labels
        The label or labels of the controls.
    method : {"standard", "whitened", "knn"}
        "standard": shifts from the mean of the controls. "whitened": the same, but with features whitened by the
        covariance of the controls. "knn": shifts from the mean of the k nearest controls, which suits controls of
        several kinds.
    k : int
        Number of nearest controls for "knn". Rows share nearest controls, so their shifts are not independent: rely on
        the p-value, not on the interval.
    shrinkage : float, optional
        Share of the identity in the shrunk covariance for "whitened", in [0, 1]. Default: the estimate of Ledoit and
        Wolf.
    null : {"controls", "pooled"}
        "controls": null groups are drawn from the controls. "pooled": they are drawn from the controls and the group
        together (shuffled labels). The pooled null is exact if there is no effect, and it does not require more
        controls than rows, but an effect of the group also enters the chance level. Labels are shuffled as well for
        groups with more than 15 % as many rows (or units) as the controls, which would leave too few controls (except
        with "knn"). A note names these groups.
    blocks : array of shape (n,), optional
        Batch, replicate or session of each row. Shifts start from the controls of the same block, and null groups have
        as many rows in each block as the group has. Without blocks, a group from a single batch would look coherent
        relative to controls from all batches.
    groups : array of shape (n,), optional
        Sampling unit of each row, such as a guide, donor or template. The unbiased score then uses only pairs of rows
        from different units, and each unit is one observation in p-values and intervals. If units have either controls
        or other rows, null groups consist of whole units. If most rows of groups share their unit with controls (paired
        donors), shifts start from the controls of the same unit, and the null distribution changes the signs of all
        shifts of a unit together. If there are only a few choices of units or signs, each is used once, so the p-value
        is exact.
    n_draws : int, optional
        Number of null groups. Default: 999 (199 for "knn", or if 999 would take more than a minute of one core), or as
        many as one group needs to be significant after the correction for the number of groups. A group gets more than
        these only while they could change whether it is significant (with a probability of at least 0.001). With 0, no
        chance level is computed.
    min_size : int
        Minimum number of rows in a group. Smaller groups are listed but not scored.
    alpha, confidence : float
        Significance level of the thresholds, and confidence level of the intervals, in (0, 1).
    seed : int, Generator or None

    Returns
    -------
    CoherenceTable
        `to_frame()` returns a data frame, and `table["name"]` selects one group. `links` holds the correlation between
        magnitude and coherence, compared with its null distribution.

    Raises
    ------
    ValueError
        If labels do not fit the rows, no group can be scored, there are fewer than five controls, or X contains NaN.

    Notes
    -----
    The verdict follows from one statistic, the unbiased coherence: its p-value, corrected for the number of groups. Its
    interval has the same unit of observation. Intervals account for the sampling of rows (or units) and of controls,
    estimated from the influence of each on the score.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 20))
    >>> labels = np.repeat(["control", "nothing", "moved"], [240, 30, 30])
    >>> X[270:, 0] += 2
    >>> table = coherence_by_group(X, labels, "control", n_draws=199)
    >>> [(one.name, round(one.coherence, 2), round(one.coherence_chance, 2), one.significant) for one in table.groups]
    [('moved', 0.48, 0.19, True), ('nothing', 0.17, 0.19, False)]
    """
    check.choice(method, METHODS, "method")
    check.choice(null, NULLS, "null")
    check.fraction(alpha, "alpha", closed=False)
    check.fraction(confidence, "confidence", closed=False)
    rows = RowPieces(X)
    aligned = align_all_labels(X, {"labels": labels, "blocks": blocks, "groups": groups})
    row_layout = layout(control=control, n_rows=rows.shape[0], min_size=min_size, **aligned)
    matched = check.count(k, "k") if method == "knn" else None
    if matched and null == "pooled":
        raise ValueError(
            "null must be 'controls' for method='knn', because pooled rows have no fixed neighbours, got 'pooled'"
        )
    share = None
    if method != "standard":
        rows, share = _whiten_rows(rows, row_layout, method, shrinkage)
    if n_draws is None:
        is_slow = _MOST_FIRST * row_layout.part_sizes().sum() * rows.shape[1] * _ENTRY_SECONDS > MINUTE
        fewest = _FEWEST_FIRST if matched or is_slow else _MOST_FIRST
        stages = draw_stages(fewest, default_draws(row_layout.n_groups, alpha, fewest))
    else:
        stages = [check.count(n_draws, "n_draws", minimum=0)]
    draws = stages[0]
    shift_rows = _evidence_rows(rows, row_layout, matched)
    observed = evidence(shift_rows, row_layout, centred=not matched)
    if draws and blocks is None and groups is None and not rows.sparse:
        _warn_of_order(rows, row_layout)
    none, reasons = (np.empty((0, 4)),) * row_layout.n_groups, ("no null groups were requested",) * row_layout.n_groups
    drawn = first = NullGroupScores(none, reasons, "nothing")
    null_seed = draw_seed(seed)
    active = np.ones(row_layout.n_groups, dtype=bool)
    results = lines(row_layout, observed, drawn, alpha, confidence)
    for start, stop in pairwise([0, *stages] if draws else [0]):
        stage = Draws(start, stop, stages[-1], null_seed, active)
        with best_answer(partial(_describe_groups, results)):
            more = score_null_groups(rows, row_layout, observed, null=null, k=matched, draws=stage)
        drawn = drawn.extend(more) if start else more
        first, draws = drawn if not start else first, stop
        results = lines(row_layout, observed, drawn, alpha, confidence)
        counts = np.array([line.n_draws for line in results])
        # Groups with fewer null groups than were requested have all their choices.
        most = np.where(counts < stop, counts, stages[-1])
        active &= open_tests([line.p_value for line in results], counts, most, benjamini_hochberg, alpha, len(stages))
        if drawn.interrupted:
            draws = int(counts.max())
        if drawn.interrupted or not active.any():
            break
    _warn_of_one_direction(results, observed)
    if not drawn.interrupted:
        results = [note_early_end(line, stages) for line in results]
    return CoherenceTable(
        groups=tuple(results),
        excluded=row_layout.excluded,
        control=row_layout.control,
        n_controls=len(row_layout.controls),
        method=method,
        shrinkage=share,
        k=matched,
        null=null,
        exchanged=drawn.exchanged,
        n_draws=draws,
        interrupted=drawn.interrupted,
        n_shuffled=sum(map(bool, drawn.shuffled)),
        links=links(results, first, stages[0]),
        notes=(
            *_notes(row_layout, drawn, is_drawn=draws > 0),
            *_note_of_draws(n_draws is None and not matched, stages[0]),
            *dict.fromkeys(note for line in results for note in line.notes),
        ),
        seed=number(seed),
        cosines=observed.cosines,
    )


def _whiten_rows(
    rows: RowPieces, row_layout: GroupLayout, method: str, shrinkage: float | None
) -> tuple[RowPieces, float | None]:
    """Return the rows as a dense matrix, whitened if requested."""
    if rows.sparse:
        raise ValueError(
            f"X must be dense for method={method!r}, got sparse rows; reduce them first, for example by PCA"
        )
    dense = rows.take(np.arange(rows.shape[0]))
    if method == "knn":
        return RowPieces(dense, moved=False), None
    centred = dense.copy()
    for block in range(row_layout.n_blocks):
        here = row_layout.block == block
        if (here & (row_layout.group == -1)).any():
            centred[here] -= dense[here & (row_layout.group == -1)].mean(axis=0)
    turn, share = whitening_matrix(centred[row_layout.controls], shrinkage)
    return RowPieces(dense @ turn), share


def _evidence_rows(rows: RowPieces, row_layout: GroupLayout, k: int | None) -> RowPieces:
    """Return the rows, or, for method 'knn', their shifts from their nearest controls."""
    if k is None:
        return rows
    dense = rows.take(np.arange(rows.shape[0]))
    shifts: Matrix = np.zeros_like(dense)
    for block in range(row_layout.n_blocks):
        here = np.flatnonzero((row_layout.group >= 0) & (row_layout.block == block))
        if len(here):
            controls = dense[row_layout.controls[row_layout.block[row_layout.controls] == block]]
            shifts[here] = nearest_control_shifts(dense[here], controls, k)
    return RowPieces(shifts, moved=False)


def _warn_of_order(rows: RowPieces, row_layout: GroupLayout) -> None:
    """Warn if controls that follow one another resemble one another, as those of a batch do."""
    controls = row_layout.controls[np.concatenate(stretches(len(row_layout.controls), _STRETCH))]
    if dependence(rows.take(controls)).has_order:
        warn(
            "control rows that follow one another resemble one another, as rows of one batch or donor do. If they "
            "are such rows, p-values are too small: pass blocks= or groups=",
            CalibrationWarning,
        )


_FEWEST_KINDS, _ONE_DIRECTION = 4, 0.5
"""Fewest names of groups, and least mean cosine between their shifts, from which on the controls are doubted."""


def _warn_of_one_direction(results: Sequence[Coherence], observed: GroupEvidence) -> None:
    """Warn if all groups shift alike, because then the controls, rather than each group, may be what differs."""
    # Doses of one compound, and one perturbation in several cell types, are expected to act alike.
    kinds = {re.sub(r"[\W\d_]+", "", line.name.split(" | ")[0]) for line in results}
    if len(kinds) < _FEWEST_KINDS or not all(line.significant for line in results):
        return
    units = observed.means / observed.magnitude[:, None]
    n = len(units)
    cosine = float(((units.sum(axis=0) ** 2).sum() - n) / (n * (n - 1)))
    if cosine > _ONE_DIRECTION:
        warn(
            f"all {n} groups shift in one direction (mean cosine {cosine:.2f} between their mean shifts), as if the "
            "controls differed from all of them in batch, quality or treatment. Unless all groups are expected to act "
            "alike, compare them with other controls, or with one another",
            CalibrationWarning,
        )


_SHOWN = 3
"""Number of groups in the progress."""


def _describe_groups(results: Sequence[Coherence]) -> str:
    """Return the most coherent groups so far, for the progress."""
    shown = sorted((one for one in results if one.has_value), key=lambda one: -one.value)[:_SHOWN]
    return "most coherent so far: " + ", ".join(f"{one.name} {format_value(one)}" for one in shown)


def _note_of_draws(is_default: bool, first: int) -> tuple[str, ...]:
    """Return a note if there are fewer null groups than usual, because they take long."""
    if not is_default or first == _MOST_FIRST:
        return ()
    return (
        f"chance levels and thresholds are estimated from {first} null groups of each group, because {_MOST_FIRST} "
        f"would take more than a minute; n_draws={_MOST_FIRST} uses as many",
    )


def _notes(row_layout: GroupLayout, drawn: NullGroupScores, *, is_drawn: bool) -> tuple[str, ...]:
    """Return notes on rows that were left out, missing chance levels and limits of the p-values."""
    notes = []
    units = row_layout.unit is not None
    if n := row_layout.n_lonely:
        where = "units (values of groups)" if row_layout.is_paired else "blocks"
        few = f"fewer than {FEWEST_CONTROLS} controls"
        notes.append(f"{count(n, 'row')} {agree(n, 'is', 'are')} left out, because their {where} have {few}")
        n_rows = len(row_layout.group)
        state(f"{n_rows - n:,} of {count(n_rows, 'row')} used: {n:,} in {where} with {few} left out")
    if row_layout.is_paired:
        notes.append(
            "units (values of groups) contain both controls and other rows, so shifts start from the controls of the "
            "same unit" + ", and the null distribution changes the signs of whole units" * is_drawn
        )
    if not is_drawn:
        return tuple(notes)
    for reason in dict.fromkeys(filter(None, drawn.reasons)):
        names = [name for name, why in zip(row_layout.names, drawn.reasons, strict=True) if why == reason]
        notes.append(f"{check.join_items(names)} {agree(len(names), 'has', 'have')} no chance level: {reason}")
    large = [
        name
        for name, shuffled, reason in zip(row_layout.names, drawn.shuffled, drawn.reasons, strict=False)
        if shuffled and not reason
    ]
    if large:
        counted = "units (values of groups)" if units else "rows"
        notes.append(
            f"{check.join_items(large)} {agree(len(large), 'has', 'have')} more than {100 * LARGE:.0f} % as many "
            f"{counted} as the controls. Null groups drawn from the controls would leave too few of them as a "
            f"reference, and p-values would be too small. The labels of {'units' if units else 'rows'} are shuffled "
            "instead, as with null='pooled'"
        )
    return tuple(notes)


@keep_statements
def coherence(
    X: ArrayLike,
    controls: ArrayLike,
    *,
    method: Method = "standard",
    k: int = 50,
    shrinkage: float | None = None,
    null: Null = "controls",
    n_draws: int | None = None,
    alpha: float = ALPHA,
    confidence: float = CONFIDENCE,
    seed: Seed = 0,
) -> Coherence:
    """Test whether rows move together, away from the controls, more than by chance.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The rows of one group.
    controls : array of shape (n_controls, n_features)
        The controls. Rows of X that also occur here would bias the score, so a warning states how many there are.
    method, k, shrinkage, null, n_draws, alpha, confidence, seed
        See `coherence_by_group`.

    Returns
    -------
    Coherence

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> print(coherence(rng.normal(size=(20, 30)) + 0.5, rng.normal(size=(200, 30)), n_draws=199))
    group: unbiased coherence 0.2169 [0.16, 0.2737], moves together at 0.05 (p =
        0.005, corrected 0.005)
      chance 0.003689 (199 draws)
      calibrated 0.1878, threshold 0.03578, null sd 0.015
      20 rows against 200 controls; coherence 0.506 (chance 0.228), magnitude 3.06
    """
    rows = require_squarable(check.matrix(X, "X", min_rows=2))
    controls = align_features(X, controls, "X", "controls")
    others = require_squarable(check.matrix(controls, "controls", min_rows=1), "controls")
    if rows.shape[1] != others.shape[1]:
        raise ValueError(f"controls must have as many features as X ({rows.shape[1]}), got {others.shape[1]}")
    warn_of_shared_rows(others, rows, controls_name="controls", rows_name="X")
    labels = np.repeat(["control", "group"], [len(others), len(rows)])
    table = coherence_by_group(
        np.concatenate([others, rows]),
        labels,
        "control",
        method=method,
        k=k,
        shrinkage=shrinkage,
        null=null,
        n_draws=n_draws,
        min_size=2,
        alpha=alpha,
        confidence=confidence,
        seed=seed,
    )
    return table.groups[0]


_TOGETHER = 1 << 22
"""Maximum number of array entries that are in memory at a time."""


@keep_statements
def coherence_of_differences(
    differences: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_draws: int = 999,
    alpha: float = ALPHA,
    confidence: float = CONFIDENCE,
    seed: Seed = 0,
) -> Coherence:
    """Test whether paired differences point in the same direction, compared with random signs.

    Parameters
    ----------
    differences : array of shape (n, n_features)
        One difference per pair.
    groups : array of shape (n,), optional
        Template or donor of each pair. All differences of a group change sign together.
    n_draws : int
        Number of random draws of signs. If there are at most this many different choices of signs, each is used once.
    alpha, confidence : float
        Significance level of the threshold, and confidence level of the interval, in (0, 1).
    seed : int, Generator or None

    Returns
    -------
    Coherence
        The result for all differences. With groups, `unbiased` uses only pairs of differences from different groups.

    Raises
    ------
    ValueError
        If there are fewer than two pairs or fewer than two groups.

    Examples
    --------
    >>> import numpy as np
    >>> found = coherence_of_differences(np.random.default_rng(0).normal(size=(30, 20)) + 0.4)
    >>> round(found.coherence, 2), round(found.coherence_chance, 2), found.p_value
    (0.39, 0.18, 0.001)
    """
    check.fraction(alpha, "alpha", closed=False)
    check.fraction(confidence, "confidence", closed=False)
    v = require_squarable(check.matrix(differences, "differences", min_rows=2), "differences")
    n = len(v)
    groups = align_labels(differences, groups, "groups", "differences")
    unit = np.arange(n) if groups is None else check.labels(groups, n, "groups", min_classes=2)[0]
    if groups is None and (signs := find_undeclared_dependence([v])):
        warn(f"p-values may be too small: {signs}", CalibrationWarning)
    layout = GroupLayout(
        ("differences",),
        np.zeros(n, np.intp),
        np.zeros(n, np.intp),
        None if groups is None else unit,
        excluded={},
        control="",
    )
    observed = evidence(RowPieces(v, moved=False), layout, centred=False)
    scores = _flip_signs(v, unit, check.count(n_draws, "n_draws"), seed, between=groups is not None)
    drawn = NullGroupScores((scores,), ("",), "signs")
    return lines(layout, observed, drawn, alpha, confidence)[0]


def _flip_signs(v: Matrix, unit: Index, n_draws: int, seed: Seed, *, between: bool) -> Matrix:
    """Return scores under random signs of whole units: (n_draws, 4), in the order of `windows`."""
    lengths = np.linalg.norm(v, axis=1)
    there = lengths > NO_DIRECTION * lengths.max()
    units = np.where(there[:, None], v / np.where(there, lengths, 1.0)[:, None], 0.0)
    n_units, directed, square = int(unit.max()) + 1, there.sum(keepdims=True), (lengths**2).sum(keepdims=True)
    sums = [np.stack([vectors[unit == code].sum(axis=0) for code in range(n_units)]) for vectors in (units, v)]
    signs = unit_signs(n_units, n_draws, generator(seed))
    counts = np.bincount(unit, there, n_units).astype(np.float64)[None]
    scores = []
    step = max(1, _TOGETHER // v.shape[1])
    for start in range(0, len(signs), step):
        turned, moved = (signs[start : start + step] @ vectors for vectors in sums)
        scores.append(scores_of_sums(turned, moved, directed, square, np.zeros(1), np.array([len(v)])))
        if between:
            scores[-1][:, PAIR] = mean_cosine_over_units(turned, (sums[0] ** 2).sum(axis=1)[None], counts)
    return np.concatenate(scores)
