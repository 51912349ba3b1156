"""Raw and partial correlations between predictors and steering, over models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.nulls import Exchange, exchange
from shesha.results import PartialCorrelation, PartialCorrelations
from shesha.support import argument_types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.plurals import count
from shesha.support.seeds import generator, number
from shesha.support.types import Index, Mask, Matrix, Seed, Vector

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
