"""Warnings about invalid exchange designs: short series, dependent rows, drifts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.nulls.dependence import dependence, find_dependence
from shesha.nulls.design_builder import exchange
from shesha.nulls.neighbours_within_design import p_value_within_design
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.nulls.residual_confounding import residual_confounding_warnings
from shesha.nulls.sampled_rows_for_checks import DiagnosticRows
from shesha.results import Dependence
from shesha.results.audit.dependence import DRIFT, LEVEL, describe_period
from shesha.support.plurals import lowercase_start
from shesha.support.types import Labels
from shesha.support.warnings import CalibrationWarning, warn


def warn_of_series(sides: list[NDArray[Any]], design: Design) -> None:
    """Warn if rows depend on one another and the design's permutations destroy this dependence.

    Parameters
    ----------
    sides : arrays of shape (n_samples, n_features)
        The compared representations. Only dependence that all of them show is reported.
    design : dict
        Arguments for `exchange`, at least one of which is set.
    """
    options = nonempty_arguments(design)
    test = dependence(*sides)
    reasons = [DRIFT] if test.has_drift else []
    if test.period and (options.get("shift") or options.get("block_length")):
        reasons.append(describe_period(test.period))
    elif options.get("shift"):
        reasons += _short_series(test, options.get("blocks"))
    else:
        reasons += _autocorrelation_warnings(p_value_within_design(exchange(test.n_rows, **options), *sides), options)
    reasons += residual_confounding_warnings(sides, options.get("within"), exchange(test.n_rows, **options).block)
    if reasons:
        problems = ". Also, ".join(map(lowercase_start, reasons))
        warn(f"p-values of this design may be too small: {problems}", CalibrationWarning)


def undeclared_dependence(sides: Sequence[NDArray[Any]], codes: Labels | None = None) -> str:
    """Return the signs that rows depend on one another, for functions that offer `groups=` alone; empty without a sign.

    Labels that are permuted, as integer codes, are one more side: dependent rows matter only if labels depend on the
    order as well. Class means are subtracted from the rows, because rows sorted by class need not be dependent.
    """
    if codes is not None:
        member = np.eye(codes.max() + 1)[codes]
        sides = [side - (member / member.sum(axis=0)) @ (member.T @ side) for side in sides] + [member]
    signs = find_dependence([DiagnosticRows(side) for side in sides], screened=True).signs
    return f"{signs}. If rows share a donor, session or stretch of time, pass groups=" if signs else ""


def _short_series(test: Dependence, blocks: ArrayLike | None) -> list[str]:
    length = _series_length(test.n_rows, blocks)
    if not test.is_short(length):
        return []
    return [
        f"series of {length:g} rows are too short for a memory of {test.memory:.1f} rows. Use series at least 30 times "
        "as long as the memory, and first remove drifts that last as long as the series"
    ]


def _autocorrelation_warnings(p_value: float, options: Collection[str]) -> list[str]:
    if p_value > LEVEL:
        return []
    return [
        f"neighbouring rows are closer than after permutations by {' and '.join(options)} (p = {p_value:.1g}), so rows "
        "are not exchangeable. If rows are a time series, use shift=True, with sessions as blocks. If groups belong to "
        "larger units (such as donors to sites), pass these as blocks="
    ]


def _series_length(n_rows: int, blocks: ArrayLike | None) -> float:
    """Number of rows in a typical series."""
    if blocks is None:
        return n_rows
    return float(np.median(np.bincount(check.labels(blocks, n_rows, "blocks", min_classes=1)[0])))
