"""Natural cubic splines of a single covariate."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Matrix, Vector

MOST_TERMS = 4
"""Largest default number of spline terms; more terms would often fit noise."""
_DENSITY = 2 / 3
"""Exponent applied to the gaps between values when knots are placed; below 1, the tails get more knots."""


def natural_spline(values: Vector, n_terms: int) -> Matrix:
    """Return standardised terms whose linear combinations are the natural cubic splines of a covariate.

    Parameters
    ----------
    values : array of shape (n,)
        Finite values, not all equal.
    n_terms : int
        Number of terms; 1 gives the values only. With up to 4 terms, knots are at quantiles; with more, they favour the
        tails.

    Returns
    -------
    array of shape (n, n_found)
        The values, followed by the other terms. If repeated values make knots coincide, n_found is less than n_terms.

    References
    ----------
    .. [1] Stone & Koo 1985, Additive splines in statistics; in the form of Harrell 2015, section 2.4.5.
    """
    unit = _standardise(values)
    knots = _knots(unit, n_terms + 1)
    if len(knots) < 3:
        return unit[:, None]
    last, before = knots[-1], knots[-2]

    def cubes(knot: float) -> Vector:
        return np.maximum(unit - knot, 0.0) ** 3

    terms = [
        cubes(knot) - cubes(before) * (last - knot) / (last - before) + cubes(last) * (before - knot) / (last - before)
        for knot in knots[:-2]
    ]
    return np.stack([unit, *map(_standardise, terms)], axis=1)


def _knots(unit: Vector, n_knots: int) -> Vector:
    """Return distinct knots; the outer knots are the extreme values, as in R's ns()."""
    places = np.linspace(0, 1, n_knots)
    if n_knots <= MOST_TERMS + 1:
        return np.unique(np.quantile(unit, places))
    distinct = np.unique(unit)
    steps = np.concatenate([[0.0], np.cumsum(np.diff(distinct) ** _DENSITY)])
    knots: Vector = np.unique(np.interp(places * steps[-1], steps, distinct))
    return knots


def _standardise(values: Vector) -> Vector:
    centred = values / np.abs(values).max()
    centred = centred - centred.mean()
    return np.asarray(centred / centred.std())
