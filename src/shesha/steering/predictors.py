"""Predictors of how well rows can be steered, and their raw and partial correlations with steering over models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.descriptors import anisotropy
from shesha.inputs import MissingRows
from shesha.inputs import validation as check
from shesha.kernels.class_statistics import class_means
from shesha.measures import procrustes_similarity
from shesha.nulls import Exchange, exchange, summarise
from shesha.results import PartialCorrelation, PartialCorrelations, SteeringPredictors, SteeringScore
from shesha.stability import estimate, supervised_alignment
from shesha.steering.labelled_rows import (
    NO_SHUFFLES,
    Labelled,
    check_labelled,
    coordinates,
    shuffle_count,
    warn_of_dependence,
)
from shesha.steering.vectors import agreement
from shesha.support import types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.progress import track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import draw_seed, generator, number, spawn
from shesha.support.types import Index, Labels, Mask, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimableWarning
from shesha.support.wording import agree, count
from shesha.transfer import fisher_discriminant, silhouette
from shesha.views import select_rows

Predictor = Callable[[Matrix, Labels], float]
_SHUFFLING = 73
_LEVEL = 0.05
_ROWS = 1000
"""Largest number of rows whose distances are ranked; published scores use fewer rows."""

_PAIRS = 1_000_000


def _alignment(X: Matrix, codes: Labels) -> float:
    return supervised_alignment(X, codes, seed=0, max_samples=_ROWS)


def _procrustes(X: Matrix, codes: Labels) -> float:
    return procrustes_similarity(X, np.eye(int(codes.max()) + 1)[codes])


_SUPERVISED: dict[str, tuple[Predictor, float | None]] = {
    "supervised_alignment": (_alignment, 1.0),
    "fisher": (fisher_discriminant, None),
    "silhouette": (silhouette, 1.0),
    "procrustes": (_procrustes, 1.0),
}
"""Functions that score labelled rows, each with the maximum of its score."""
_NO_LABELS = "does not use labels, so shuffling them changes nothing"


@keep_statements
def predictors(
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_draws: int = 99,
    missing: MissingRows = "refuse",
    seed: Seed = None,
) -> SteeringPredictors:
    """Compute scores that may predict how well a representation can be steered, each with its null.

    Pass rows other than those to be steered (see `halves`); on the same rows, the prediction would be circular.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Activations of one layer, finite, at least 8 rows.
    y : array of shape (n_samples,)
        Class labels, at least two classes.
    groups : array of shape (n_samples,), optional
        Template, speaker or document of each row. Labels are shuffled within groups that contain several classes, and
        among groups of a single class.
    n_draws : int
        Number of shuffles of the labels, 0 or at least 19. With 0, there are no chance levels.
    missing : {'refuse', 'drop'}
        Whether rows with NaN or infinity raise an error, or are left out together with rows of zeros, and counted. Rows
        without a label are left out.
    seed : int, Generator or None
        Seed for the shuffles; None draws a new one.

    Returns
    -------
    SteeringPredictors
        These scores have a chance level and a p-value: `supervised_alignment` (the paper's supervised Shesha, the rank
        correlation of distances with whether labels differ), `fisher`, `silhouette`, `procrustes` (similarity to the
        one-hot labels), `coherence` (of the shifts between the two classes farthest apart) and `unbiased_coherence`.
        `feature_split` and `anisotropy` have none, because they do not use labels. With random labels, Procrustes
        similarity and Fisher's ratio are not 0, and they grow with the number of features per row. With two classes,
        the Procrustes similarity is sqrt(f / (1 + f)), where f is Fisher's ratio, so both rank models in the same
        order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> found = predictors(rng.standard_normal((60, 8)) + 2 * np.eye(8)[y], y, n_draws=19, seed=0)
    >>> round(found["supervised_alignment"], 2), round(found["fisher"], 2)
    (0.5, 0.24)
    """
    sides, along = select_rows({"X": X}, {"y": y, "groups": groups}, missing=missing)
    X, y, groups = sides["X"], along["y"], along["groups"]
    rows = check.matrix(X, min_rows=8)
    known = check_labelled(X, y, groups, len(rows), halved=False)
    warn_of_dependence(rows, known)
    n_shuffles, drawn_seed = shuffle_count(n_draws), draw_seed(seed)
    rng = spawn(drawn_seed, _SHUFFLING)
    shuffles = [known.shuffle(rng) for _ in range(n_shuffles)]
    scores = [_score_predictor(name, rows, known, shuffles) for name in _SUPERVISED]
    scores += _coherence(rows, known, n_shuffles, drawn_seed)
    # The score is feature_split without rows that are zero in all features or in one half of them.
    there = np.asarray(rows.any(axis=1))
    split = estimate(rows[there], n_bootstrap=0, n_permutations=0, pairs=_PAIRS, seed=drawn_seed)
    scores.append(SteeringScore(name="feature_split", value=split.value, reason=split.reason or _NO_LABELS))
    scores.append(SteeringScore(name="anisotropy", value=anisotropy(rows), reason=_NO_LABELS))
    return SteeringPredictors(
        tuple(scores), len(rows), known.shuffle_description, n_shuffles, (*known.notes, *_zero(there)), drawn_seed
    )


def _zero(there: Mask) -> tuple[str, ...]:
    n_zero = int((~there).sum())
    return (
        ()
        if there.all()
        else (f"{count(n_zero, 'zero row')} {agree(n_zero, 'was', 'were')} left out of feature_split",)
    )


def _score_predictor(name: str, X: Matrix, y: Labelled, shuffles: list[Labels]) -> SteeringScore:
    function, best = _SUPERVISED[name]
    with warnings.catch_warnings():
        # A shuffle without a score counts as extreme; if the observed score is missing, the result reports it.
        warnings.simplefilter("ignore", NotEstimableWarning)
        value = function(X, y.codes)
        null = np.array([function(X, codes) for codes in track(shuffles, len(shuffles), "shuffles")])
    if np.isnan(value):
        return SteeringScore(name=name, value=value, reason="not estimable from these rows")
    return _score_with_null(name, value, null, best)


def _score_with_null(name: str, value: float, null: Vector, best: float | None) -> SteeringScore:
    if not len(null):
        return SteeringScore(name=name, value=value, reason=NO_SHUFFLES)
    worth = summarise(value, null, "higher", _LEVEL, best)
    return SteeringScore(
        name=name,
        value=value,
        **worth.evidence(),
    )


def _coherence(X: Matrix, y: Labelled, n_draws: int, seed: int) -> tuple[SteeringScore, SteeringScore]:
    """Coherence of the shifts between the two classes whose means are farthest apart."""
    turned = coordinates(X).values
    means = class_means(turned, y.codes)[0]
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    source, target = (int(index) for index in np.unravel_index(int(np.triu(distances).argmax()), distances.shape))
    first, second = agreement(turned, y, source, target, n_draws, seed)
    return first, replace(second, name="unbiased_coherence")


_ROUNDING = 1e-10
_FEW = 20
"""Number of models below which a note says that correlations are often large by chance."""


def partial_correlations(
    table: Mapping[str, ArrayLike],
    target: str,
    *,
    covariates: Sequence[str] = ("fisher", "silhouette"),
    groups: ArrayLike | None = None,
    n_draws: int = 999,
    seed: Seed = None,
) -> PartialCorrelations:
    """Rank correlation of each predictor with a target over models, raw and controlling for others.

    The partial correlation is the correlation between the ranks of predictor and target after the ranks of `covariates`
    have been regressed out of both.

    Parameters
    ----------
    table : mapping of str to arrays, or DataFrame
        The target and the predictors, with one number per model (or layer). Columns that are not numeric are ignored.
    target : str
        Name of the column to predict, such as 'max_drop'.
    covariates : sequence of str
        Names of the predictors to control for. Default: those of the paper.
    groups : array of shape (n_models,), optional
        Family of each model, or the model to which each layer belongs. The layers of one model are not independent, so
        whole groups are resampled and shuffled.
    n_draws : int
        Number of bootstrap resamples for the intervals, and of shuffles for p-values and chance levels; at least 19.
    seed : int, Generator or None
        Seed for the resamples and shuffles; None draws a new one.

    Returns
    -------
    PartialCorrelations
        Raw and partial correlation of each predictor, with intervals, p-values and chance levels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fisher, own = rng.standard_normal((2, 40))
    >>> drop = fisher + own
    >>> table = {"fisher": fisher, "alignment": fisher + own / 3, "drop": drop}
    >>> found = partial_correlations(table, "drop", covariates=["fisher"], n_draws=99, seed=0)
    >>> round(found["alignment"].raw, 2), round(found["alignment"].partial, 2)
    (0.77, 0.91)
    """
    columns = _columns(table)
    kinds.sequence(covariates, "covariates")
    for name, column in (("target", target), *(("covariates", control) for control in covariates)):
        check.choice(column, tuple(columns), name)
    if target in covariates:
        raise ValueError(f"covariates must not contain the target, got {target!r}")
    values = _numbers(columns, len(covariates))
    n, names = len(values), list(columns)
    design = exchange(n, groups=groups)
    n_shuffles = check.count(n_draws, "n_draws", minimum=19)
    held = [names.index(control) for control in covariates]
    index = names.index(target)
    places = [place for place in range(len(names)) if place != index]
    rng = generator(seed)
    observed = _correlations(values, index, held, places)
    # Neither a covariate nor a predictor whose ranks the covariates determine has a partial correlation.
    tested = np.isfinite(observed[1])
    drawn = np.array([_correlations(values[_rows(design, rng)], index, held, places) for _ in range(n_shuffles)])
    null = _null(values, index, held, places, design, n_shuffles, rng)
    for correlations in (observed[None], drawn, null):
        correlations[:, 1, ~tested] = 0.0
    lows, highs = np.nanquantile(drawn, [0.025, 0.975], axis=0)
    extreme = np.abs(null) >= np.abs(observed) - _ROUNDING
    p_values = (1 + extreme.sum(axis=0)) / (n_shuffles + 1)
    parts = np.array([observed, lows, highs, p_values])
    parts[:, 1, ~tested] = np.nan
    lines = [PartialCorrelation(names[place], *map(float, parts[:, :, j].T.ravel())) for j, place in enumerate(places)]
    return PartialCorrelations(
        target,
        tuple(covariates),
        tuple(lines),
        chance=float(np.quantile(np.abs(null[:, 0]), 0.95)),
        partial_chance=float(np.quantile(np.abs(null[:, 1][:, tested]), 0.95)) if tested.any() else float("nan"),
        n_models=n,
        n_units=int(design.clusters.max()) + 1,
        n_draws=n_shuffles,
        notes=(*_notes(n, design), *_align_models([names[place] for place in places], tested, covariates)),
        seed=number(seed),
    )


def _align_models(names: list[str], tested: Mask, controls: Sequence[str]) -> tuple[str, ...]:
    same = [name for name, there in zip(names, tested, strict=True) if not there and name not in controls]
    return (
        (f"{', '.join(same)} without a partial correlation, because other predictors explain the ranks completely",)
        if same
        else ()
    )


def _columns(table: Any) -> dict[str, Vector]:
    """Return the numeric columns by name."""
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        raise TypeError(f"table must be a DataFrame or a mapping of names to numbers, got {type(table).__name__}")
    columns = {str(name): to_host(table[name], f"table[{name!r}]") for name in table}
    return {name: column.astype(np.float64) for name, column in columns.items() if column.dtype.kind in "fiub"}


def _numbers(columns: dict[str, Vector], n_given: int) -> Matrix:
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise ValueError(f"table must have columns of equal length, got lengths {sorted(lengths)}")
    fewest = n_given + 4
    if lengths.pop() < fewest:
        raise ValueError(f"table must have at least {fewest} models, got {len(next(iter(columns.values())))}")
    for name, column in columns.items():
        if not np.isfinite(column).all():
            raise ValueError(f"table must not contain NaN, got NaN in {name!r}; leave out this column or these models")
        if (column == column[0]).all():
            raise ValueError(f"table must have columns that vary, got a constant {name!r}")
    return np.column_stack(list(columns.values()))


def _rows(design: Exchange, rng: np.random.Generator) -> Index:
    counts = design.resample(rng)
    return np.repeat(np.arange(len(counts)), counts)


def _rank_columns(values: Matrix) -> Matrix:
    from scipy.stats import rankdata

    ranks = rankdata(values, axis=0)
    return np.asarray(ranks - ranks.mean(axis=0))


def _residual_ranks(ranks: Matrix, held: list[int]) -> Matrix:
    """Residual ranks after regression on other predictors; zero if these explain the ranks up to rounding."""
    basis = ranks[:, held]
    residuals = ranks - basis @ np.linalg.lstsq(basis, ranks, rcond=None)[0]
    tiny = np.linalg.norm(residuals, axis=0) <= _ROUNDING * np.linalg.norm(ranks, axis=0)
    return np.where(tiny, 0.0, residuals)


def _cosines(columns: Matrix, target: Vector) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(columns.T @ target / (np.linalg.norm(columns, axis=0) * np.linalg.norm(target)))


def _correlations(values: Matrix, index: int, held: list[int], places: list[int]) -> Matrix:
    """Raw and partial rank correlations with the target, of shape (2, n_predictors)."""
    ranks = _rank_columns(values)
    residuals = _residual_ranks(ranks, held)
    return np.array([_cosines(ranks[:, places], ranks[:, index]), _cosines(residuals[:, places], residuals[:, index])])


def _null(
    values: Matrix,
    index: int,
    held: list[int],
    places: list[int],
    design: Exchange,
    n_draws: int,
    rng: np.random.Generator,
) -> Matrix:
    """Null correlations with permuted targets; for the partial ones, the target's residuals are permuted."""
    ranks = _rank_columns(values)
    residuals = _residual_ranks(ranks, held)
    null = np.empty((n_draws, 2, len(places)))
    for draw in null:
        order = design.draw(rng)
        # As in Freedman and Lane, the covariates are regressed out again after the residuals have been shuffled.
        shuffled = np.column_stack([ranks[:, held], residuals[order, index]])
        again = _residual_ranks(shuffled, list(range(len(held))))[:, -1]
        draw[0], draw[1] = _cosines(ranks[:, places], ranks[order, index]), _cosines(residuals[:, places], again)
    return null


def _notes(n: int, design: Exchange) -> tuple[str, ...]:
    notes = []
    if n < _FEW:
        notes.append(
            f"with only {n} models, intervals are approximate and large correlations occur by chance; use more models"
        )
    if design.log_count < np.log(1000):
        ways = count(round(np.exp(design.log_count)), "way")
        notes.append(f"there are only {ways} to shuffle {design.text}, so p-values cannot be small")
    return tuple(notes)
