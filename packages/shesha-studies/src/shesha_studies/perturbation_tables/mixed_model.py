"""Mixed models of coherence with magnitude, group size and spread, over several data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from shesha.bio.perturbation_scores import complete_lines
from shesha.inputs import validation as check
from shesha.kernels.rounding_and_scaling import z_scores
from shesha.results.base import Result
from shesha.results.number import Number
from shesha.support import types as kinds
from shesha.support.types import Vector
from shesha_studies.perturbation_tables._correlations import parts
from shesha_studies.perturbation_tables.random_intercept import RandomIntercept, random_intercept


@dataclass(frozen=True, kw_only=True)
class Effect(Number):
    """The slope of one predictor, with its interval and test."""

    z: float = float("nan")


@dataclass(frozen=True)
class MixedModel(Result):
    """A linear model with a separate intercept for each data set."""

    response: str
    effects: tuple[Effect, ...]
    dataset_variance: float
    """Variance of the intercepts; 0 if the estimate is at this bound or the response was centred."""
    residual_variance: float
    fitted: str
    """Fitting method, which is restricted maximum likelihood."""
    n_rows: int
    n_datasets: int
    notes: tuple[str, ...] = ()
    """For quantities that cannot be estimated from these data, the reasons."""

    def _text(self) -> str:
        """Return one line per predictor."""
        lines = [f"{self.response}, {self.n_rows} perturbations of {self.n_datasets} data sets ({self.fitted})"]
        lines += [
            f"  {effect.name:<12} {effect.value:+.4f} [{effect.low:+.4f}, {effect.high:+.4f}]  z {effect.z:.1f}, "
            f"p {effect.p_value:.2g}"
            for effect in self.effects
            if effect.z == effect.z
        ]
        lines.append(f"  variance: data sets {self.dataset_variance:.4g}, residual {self.residual_variance:.4g}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def mixed_model(
    table: pd.DataFrame,
    response: str = "coherence",
    predictors: Sequence[str] = ("magnitude", "log n", "spread"),
    *,
    by: str = "dataset",
    centre: bool = False,
) -> MixedModel:
    """Fit score = b0 + slopes . predictors + intercept per data set, with predictors z-scored within each.

    The fit uses restricted maximum likelihood, as in the paper. In the paper, the intercept (0.000) and the variance
    between data sets (0) result from centring the response within data sets (``centre=True``), which removes all
    differences between them. If the estimated variance between data sets is 0, the fit equals ordinary least squares.

    Parameters
    ----------
    table : DataFrame
        One row per perturbation. Rows with missing values are left out.
    response : str
        Column of the score; ``'unbiased'`` does not depend on group size.
    predictors : sequence of str
        Columns of predictors; 'log n' stands for the logarithm of column n.
    by : str
        Column that names data sets, of which there must be at least two.
    centre : bool
        Whether to centre the response within data sets.

    Returns
    -------
    MixedModel
        With 95 % intervals from the normal distribution, which cover the slopes as often as stated. The interval of
        the intercept is too narrow with few data sets (coverage of 90 % with six). Quantities that cannot be estimated
        are NaN, with a note: slopes of predictors that are constant within each data set, and the interval of the
        intercept after centring.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.random((90, 2)), columns=["magnitude", "spread"])
    >>> table["n"], table["dataset"] = rng.integers(10, 400, 90), np.repeat(["a", "b", "c"], 30)
    >>> table["coherence"] = 0.5 * table.magnitude + 0.1 * rng.random(90) + (table.dataset == "b")
    >>> found = mixed_model(table)
    >>> found.effects[1].name, round(found.effects[1].value, 2), round(found.dataset_variance, 1)
    ('magnitude', 0.14, 0.3)
    """
    lines = _add_logarithms(table, predictors)
    complete = complete_lines(lines, [response, *predictors], "table", [by])
    sets = [part for _, part in parts(complete, by)]
    if len(sets) < 2:
        raise ValueError(
            f"table must contain at least two data sets in {by!r}, got {len(sets)}; for a single data set use "
            "correlation()"
        )
    small = [str(part[by].iloc[0]) for part in sets if len(part) < 2]
    if small:
        raise ValueError(f"table must contain at least two perturbations of each data set, got one for {small[0]}")
    codes = np.repeat(np.arange(len(sets)), [len(part) for part in sets])
    columns = {name: np.concatenate([z_scores(_numbers(part, name)) for part in sets]) for name in predictors}
    varied = [name for name in predictors if columns[name].any()]
    check.boolean(centre, "centre")
    y = np.concatenate([_numbers(part, response) - centre * part[response].mean() for part in sets])
    design = np.column_stack([np.ones(len(y)), *(columns[name] for name in varied)])
    # Centring uses one degree of freedom per data set. The design's column of ones accounts for one of them.
    fit = random_intercept(design, y, codes, n_taken=len(sets) - 1 if centre else 0)
    known = _effects(fit, ("intercept", *varied))
    if centre:
        known["intercept"] = Effect(name="intercept", value=0.0)
    effects = tuple(known.get(name, Effect(name=name)) for name in ("intercept", *predictors))
    between_variance = 0.0 if centre else fit.between
    notes = _notes(response, [name for name in predictors if name not in varied], centre, between_variance)
    return MixedModel(response, effects, between_variance, fit.residual, "REML", len(y), len(sets), notes)


def _numbers(part: pd.DataFrame, name: str) -> Vector:
    values: Vector = part[name].to_numpy(dtype=float)
    return values


def _notes(response: str, fixed: Sequence[str], centre: bool, between_variance: float) -> tuple[str, ...]:
    notes = [f"{name} is constant within each data set, so its slope cannot be estimated" for name in fixed]
    if centre:
        notes.append(
            f"{response} is centred within data sets, so the intercept and the variance between data sets are 0 "
            "by construction"
        )
    elif between_variance == 0:
        notes.append(
            "the estimated variance between data sets is 0, the lower bound, so the estimate has no standard error"
        )
    return tuple(notes)


def _add_logarithms(table: pd.DataFrame, predictors: Sequence[str]) -> pd.DataFrame:
    if "log n" not in kinds.names(predictors, "predictors") or "log n" in kinds.frame(table, "table"):
        return table
    n = check.columns(table, "table", ["n"])["n"].astype(float)
    if (n <= 0).any():
        raise ValueError("table must contain positive numbers in n, got zero or less")
    return table.assign(**{"log n": np.log(n)})


def _effects(fit: RandomIntercept, names: Sequence[str]) -> dict[str, Effect]:
    from scipy.special import ndtr

    return {
        name: Effect(
            name=name,
            value=b,
            low=b - 1.959964 * e,
            high=b + 1.959964 * e,
            z=b / e,
            p_value=float(2 * ndtr(-abs(b / e))),
        )
        for name, b, e in zip(names, fit.betas.tolist(), fit.errors.tolist(), strict=True)
    }
