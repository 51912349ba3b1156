"""The documented split-half reproducibility of a perturbation's mean shift."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from shesha.bio._anndata_fields import data_matrix, dense_rows, labels, require_anndata
from shesha.bio.shifts_from_controls import NO_LENGTH
from shesha.inputs import validation as check
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.support import argument_types as kinds
from shesha.support.types import Matrix

if TYPE_CHECKING:
    from anndata import AnnData

_OFFSETS = 100_000


def split_half_reproducibility(
    adata: AnnData,
    perturbation_key: str = "perturbation",
    control_label: str = "control",
    n_splits: int = 50,
    random_state: int = 320,
    min_cells: int = 30,
    layer: str | None = None,
) -> pd.DataFrame:
    """Mean cosine between the mean shifts of random halves of a perturbation's cells, as documented.

    Both halves share the sampling error of the mean control. For n cells that did not move and m controls, the expected
    cosine is therefore above 0: about n / (n + 2 m).

    Parameters
    ----------
    adata : AnnData
        Cells by features.
    perturbation_key : str
        Column of ``adata.obs`` with the perturbations. Cells without a label are left out.
    control_label : str
        The label of the control cells.
    n_splits : int
        Number of random splits into halves.
    random_state : int
        Base seed. The seed for each perturbation is derived from it and from the label, as in the public package.
    min_cells : int
        Minimum number of cells of a perturbation; smaller ones are left out.
    layer : str, optional
        Layer with the data. Default: X.

    Returns
    -------
    DataFrame
        One row per perturbation, with columns split_half_cosine and n_cells.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["control", "STAT1", "NONE"], (200, 60, 60))
    >>> cells = rng.standard_normal((320, 10)) + (labels == "STAT1")[:, None]
    >>> adata = anndata.AnnData(cells, obs=pd.DataFrame({"gene": labels}, index=np.arange(320).astype(str)))
    >>> split_half_reproducibility(adata, "gene").round(2).T
    perturbation        NONE  STAT1
    split_half_cosine   0.09   0.97
    n_cells            60.00  60.00
    """
    require_anndata(adata)
    n_splits = check.count(n_splits, "n_splits")
    min_cells = check.count(min_cells, "min_cells", minimum=2)
    random_state = check.count(random_state, "random_state", minimum=0)
    values, matrix = labels(adata, perturbation_key, "perturbation_key"), data_matrix(adata, layer)
    known = sorted({label for label in values if label is not None})
    # A set compares hashes first, which avoids comparisons with pandas.NA, whose result has no truth value.
    if kinds.label(control_label, "control_label") not in set(known):
        raise ValueError(f"control_label must be one of {check.join_items(known) or 'none'}, got {control_label!r}")
    centre = dense_rows(matrix, values == control_label, "the control cells").mean(axis=0)
    lines: list[dict[str, Any]] = []
    for label in known:
        mask = values == label
        if label == control_label or mask.sum() < min_cells:
            continue
        cells = dense_rows(matrix, mask, f"the cells of {label}")
        shifts = (cells - centre) / length_unit(cells)
        cosine = _half_agreement(shifts, n_splits, np.random.default_rng(_seed(label, random_state)))
        lines.append({"perturbation": label, "split_half_cosine": cosine, "n_cells": int(mask.sum())})
    table = pd.DataFrame(lines, columns=["perturbation", "split_half_cosine", "n_cells"])
    return table.set_index("perturbation")


def _half_agreement(shifts: Matrix, n_splits: int, rng: np.random.Generator) -> float:
    n, half = len(shifts), len(shifts) // 2
    orders = np.array([rng.permutation(n) for _ in range(n_splits)])
    sums = []
    for part in (orders[:, :half], orders[:, half : 2 * half]):
        chosen = np.zeros((n_splits, n))
        np.put_along_axis(chosen, part, 1.0 / half, axis=1)
        sums.append(chosen @ shifts)
    lengths = [np.linalg.norm(vectors, axis=1) for vectors in sums]
    has_no_length = np.minimum(*lengths) < NO_LENGTH
    product = np.einsum("ij,ij->i", *sums)
    return float(np.mean(np.where(has_no_length, 0.0, product / np.where(has_no_length, 1.0, lengths[0] * lengths[1]))))


def _seed(label: str, base: int) -> int:
    """Return the seed for a perturbation, which is the same in every process and in the public package."""
    digest = hashlib.blake2b(f"builtins.str:{label!r}".encode(), digest_size=8).digest()
    return base + int.from_bytes(digest, "big") % _OFFSETS
