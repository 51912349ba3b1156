"""What of the coherence do magnitude, group size and spread explain, over several data sets?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha._optional import require
from shesha._types import Matrix, Vector
from shesha.bio.analysis._correlations import Correlation, correlation, parts
from shesha.bio.reproducibility import complete
from shesha.kernels.standardisation import z_scores
from shesha.results._base import Result

if TYPE_CHECKING:
    import pandas as pd

_OPTIMISERS = ("lbfgs", "powell", "cg", "bfgs")
_NONE = "none converged"


@dataclass(frozen=True)
class Effect(Result):
    """The slope of one predictor."""

    predictor: str
    beta: float
    low: float
    high: float
    z: float
    p_value: float


@dataclass(frozen=True)
class MixedModel(Result):
    """A linear model with an intercept of its own for each data set."""

    response: str
    effects: tuple[Effect, ...]
    dataset_variance: float
    """Of the intercepts; 0 by construction where the response was centred within data sets."""
    residual_variance: float
    fitted: str
    """How it was fitted: REML, else ML with the optimiser that converged."""
    n: int
    n_datasets: int
    partial: Correlation | None = None
    """Where no fit converged: the rank correlation of response and first predictor, given the others."""

    def __str__(self) -> str:
        """Print one line per predictor."""
        lines = [f"{self.response}, {self.n} perturbations of {self.n_datasets} data sets ({self.fitted})"]
        lines += [
            f"  {one.predictor:<12} {one.beta:+.4f} [{one.low:+.4f}, {one.high:+.4f}]  z {one.z:.1f}, "
            f"p {one.p_value:.2g}"
            for one in self.effects
        ]
        if self.partial is not None:
            lines.append(f"  {self.partial}")
        return "\n".join(
            [*lines, f"  variance: data sets {self.dataset_variance:.4g}, rest {self.residual_variance:.4g}"]
        )


def mixed_model(
    table: pd.DataFrame,
    response: str = "coherence",
    predictors: Sequence[str] = ("magnitude", "log n", "spread"),
    *,
    by: str = "dataset",
    centre: bool = False,
) -> MixedModel:
    """Fit score = b0 + slopes . predictors + an intercept of each data set, predictors z-scored within data sets.

    REML, and where that does not converge maximum likelihood with four optimisers in turn, as the paper has it. Its
    published intercept (0.000) and variance between data sets (0) follow from a response that is centred within data
    sets (``centre=True``): nothing is left between them to be found.

    Parameters
    ----------
    table : DataFrame
        A line per perturbation. Lines with a missing value are left out.
    response : str
        Column of the score; ``'unbiased'`` asks what is left when the score does not depend on group size.
    predictors : sequence of str
        Columns; 'log n' is the logarithm of the column n.
    by : str
        Column of data sets, at least two.
    centre : bool
        Whether the response is centred within data sets.

    Returns
    -------
    MixedModel
        Intervals are at 95 %, from the normal distribution.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.random((90, 2)), columns=["magnitude", "spread"])
    >>> table["n"], table["dataset"] = rng.integers(10, 400, 90), np.repeat(["a", "b", "c"], 30)
    >>> table["coherence"] = 0.5 * table.magnitude + 0.1 * rng.random(90) + (table.dataset == "b")
    >>> found = mixed_model(table)
    >>> found.effects[1].predictor, round(found.effects[1].beta, 2), round(found.dataset_variance, 1)
    ('magnitude', 0.14, 0.3)
    """
    lines = _with_logarithm(table, predictors)
    kept = complete(lines, [response, by, *predictors], "table")
    sets = [part for _, part in parts(kept, by)]
    if len(sets) < 2:
        raise ValueError(
            f"table must hold at least two data sets in {by!r}, got {len(sets)}: correlation() does for one"
        )
    small = [str(part[by].iloc[0]) for part in sets if len(part) < 2]
    if small:
        raise ValueError(f"table must hold at least two perturbations of each data set, got one of {small[0]}")
    codes = np.repeat(np.arange(len(sets)), [len(part) for part in sets])
    columns = [np.concatenate([z_scores(part[name].to_numpy(dtype=float)) for part in sets]) for name in predictors]
    y = np.concatenate([part[response].to_numpy(dtype=float) - centre * part[response].mean() for part in sets])
    design = np.column_stack([np.ones(len(y)), *columns])
    found, how = _fit(y, design, codes)
    names = ("intercept", *predictors)
    partial = None
    if found is None:
        partial = correlation(kept, predictors[0], response, given=predictors[1:])
    effects = _effects(found, names)
    variances = (float(np.ravel(found.cov_re)[0]), float(found.scale)) if found is not None else (np.nan, np.nan)
    return MixedModel(response, effects, *variances, how, len(y), len(sets), partial)


def _with_logarithm(table: pd.DataFrame, predictors: Sequence[str]) -> pd.DataFrame:
    if "log n" not in predictors or "log n" in table:
        return table
    return table.assign(**{"log n": np.log(complete(table, ["n"], "table")["n"].astype(float))})


def _fit(y: Vector, design: Matrix, codes: Any) -> tuple[Any, str]:
    """Return the first fit that converges, and what it was."""
    api = require("statsmodels.api", "bio", "the mixed-effects model needs statsmodels")
    model = api.MixedLM(y, design, groups=codes)
    attempts: list[tuple[str, Mapping[str, Any]]] = [("REML", {"reml": True})]
    attempts += [(f"ML, {one}", {"reml": False, "method": one}) for one in _OPTIMISERS]
    for name, options in attempts:
        # Whether it converged is asked of the result; a variance on its boundary, which warns, is a finding.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = model.fit(**options)
            except np.linalg.LinAlgError:
                continue
        if found.converged and np.isfinite(found.bse_fe).all():
            return found, name
    return None, _NONE


def _effects(found: Any, names: Sequence[str]) -> tuple[Effect, ...]:
    from scipy.special import ndtr

    if found is None:
        return tuple(Effect(name, *[float("nan")] * 5) for name in names)
    betas, errors = np.asarray(found.fe_params), np.asarray(found.bse_fe)
    return tuple(
        Effect(name, b, b - 1.959964 * e, b + 1.959964 * e, b / e, float(2 * ndtr(-abs(b / e))))
        for name, b, e in zip(names, betas.tolist(), errors.tolist(), strict=True)
    )
