"""Read HDF5 files: their data sets as matrices, or a format that is built on HDF5, decided by their content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shesha.inputs import NamedRows
from shesha.io._anndata import labels_of_h5ad, open_h5ad
from shesha.io._format_type import Format, array_contents, array_format
from shesha.io.array_selection import Contents, Keys, labels_of_arrays
from shesha.io.file_checks import optional, reading
from shesha.io.hdf5_arrays import hdf5_arrays, nwb_arrays
from shesha.io.matlab_files import matlab_hdf5_arrays
from shesha.io.single_cell_files import LOOM, MUDATA, tenx_hdf5_arrays
from shesha.support.layer_axis import LayerAxis
from shesha.support.types import Array


def open_hdf5(path: Path, keys: Keys, labels: str | Sequence[str] | None, layer_axis: LayerAxis) -> Contents:
    """Read the representations of an HDF5 file, in the format that its content shows."""
    return _kind(path).contents(path, keys, labels, layer_axis)


def labels_of_hdf5(path: Path, column: str | None) -> Array | NamedRows:
    """Read labels from an HDF5 file, in the format that its content shows."""
    return _kind(path).labels(path, column)


def _kind(path: Path) -> Format:
    """Return the format of an HDF5 file from the groups at its top."""
    h5py = optional("h5py", path)
    with path.open("rb") as stream:
        matlab = stream.read(10) == b"MATLAB 7.3"
    with reading(path), h5py.File(path, "r") as root:
        names = set(root)
        encoding = root.attrs.get("encoding-type", "")
        tenx = "matrix" in names and hasattr(root["matrix"], "keys") and "barcodes" in root["matrix"]
        older = bool(names) and all(
            hasattr(root.get(name), "keys") and {"barcodes", "indptr", "data"} <= set(root[name]) for name in names
        )
        # What a format is recognised by, in this order.
        marks: list[tuple[bool, Format]] = [
            (matlab, array_format(matlab_hdf5_arrays)),
            (encoding == "MuData" or ("mod" in names and "obs" in names), MUDATA),
            (encoding == "anndata" or {"X", "obs", "var"} <= names, Format(labels_of_h5ad, _open_anndata)),
            (tenx or older, array_format(tenx_hdf5_arrays)),
            ("matrix" in names and {"row_attrs", "col_attrs"} <= names, LOOM),
            ("nwb_version" in root.attrs, array_format(nwb_arrays)),
        ]
    return next((found for matches, found in marks if matches), Format(_labels, _open))


def _open_anndata(path: Path, keys: Keys, labels: Any, layer_axis: LayerAxis) -> Contents:
    return open_h5ad(path, keys)


def _open(path: Path, keys: Keys, labels: Any, layer_axis: LayerAxis) -> Contents:
    return array_contents(path, hdf5_arrays(path, keys), keys, layer_axis)


def _labels(path: Path, column: str | None) -> Array:
    return labels_of_arrays(path, hdf5_arrays(path, None if column is None else [column]), column)
