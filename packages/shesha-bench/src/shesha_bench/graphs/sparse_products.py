"""Products of a constant sparse matrix and a dense matrix, with gradients for the dense one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor


@dataclass(frozen=True)
class SparseMatrix:
    """A constant matrix, stored by rows, together with its transpose.

    The transpose is stored because torch, to compute the gradient of a sparse product, transposes the matrix in every
    step, which takes several times as long as the product.
    """

    matrix: Tensor
    transpose: Tensor

    @classmethod
    def build(cls, matrix: sparse.csr_array) -> SparseMatrix:
        """Store a SciPy matrix as float32."""
        return cls(_rows(matrix), _rows(sparse.csr_array(matrix.T)))

    @property
    def T(self) -> SparseMatrix:
        """The transpose."""
        return SparseMatrix(self.transpose, self.matrix)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Multiply by a dense matrix of shape (n_columns, n_channels)."""
        product: Tensor = _Product.apply(self.matrix, self.transpose, dense)  # type: ignore[no-untyped-call]
        return product


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transpose: Tensor, dense: Tensor) -> Tensor:
        ctx.transpose = transpose
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transpose @ gradient


def _rows(matrix: sparse.csr_array) -> Tensor:
    """Copy a SciPy matrix without torch's checks, because its indices are sorted and within its shape."""
    matrix.sort_indices()
    with warnings.catch_warnings():
        # torch 2.11 and 2.12 warn that checks are disabled implicitly, even though the argument disables them.
        for message in ("Sparse CSR tensor support is in beta", "Sparse invariant checks are implicitly disabled"):
            warnings.filterwarnings("ignore", message=message, category=UserWarning)
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            size=matrix.shape,
            check_invariants=False,
        )
