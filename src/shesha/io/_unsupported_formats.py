"""Unsupported file formats, each with lines of Python that convert it."""

from __future__ import annotations

from pathlib import Path

_TORCH = (
    "import torch; from shesha.io import save",
    "save({new}, torch.load({old}, map_location='cpu', weights_only=True))  # a dict of tensors by name",
)
_PICKLE = (
    "import numpy, pickle  # reading a pickle can run any code: do this only with files that you wrote yourself",
    "numpy.save({npy}, numpy.asarray(pickle.load(open({old}, 'rb'))))",
)
_TEXT = ("import numpy", "numpy.save({npy}, numpy.loadtxt({old}))")
_MATLAB = (
    "import scipy.io; from shesha.io import save",
    "save({new}, {{k: v for k, v in scipy.io.loadmat({old}).items() if not k.startswith('__')}})",
)
_HDF5 = (
    "import h5py; from shesha.io import save",
    "save({new}, {{k: v[()] for k, v in h5py.File({old}).items()}})  # data sets at the top of the file",
)
_EXCEL = ("import pandas", "pandas.read_excel({old}).to_csv({csv}, index=False)")
_LINES = {
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), _TORCH),
    **dict.fromkeys((".pkl", ".pickle", ".p"), _PICKLE),
    ".joblib": (_PICKLE[0].replace("pickle  #", "joblib  #"), "numpy.save({npy}, numpy.asarray(joblib.load({old})))"),
    ".txt": _TEXT,
    ".dat": _TEXT,
    ".mat": _MATLAB,
    **dict.fromkeys((".h5", ".hdf5", ".hdf"), _HDF5),
    **dict.fromkeys((".xlsx", ".xls"), _EXCEL),
}
"""Lines of Python that convert a file, by file extension."""


def how_to_convert(path: Path) -> str:
    """Return lines of Python that convert an unsupported file, or an empty string."""
    lines = _LINES.get(path.suffix.lower())
    if lines is None:
        return ""
    names = {"old": path, "new": path.with_suffix(".npz"), "npy": path.with_suffix(".npy")}
    names["csv"] = path.with_suffix(".csv")
    quoted = {name: repr(str(file)) for name, file in names.items()}
    code = "\n".join(f"    {line.format(**quoted)}" for line in lines)
    return f"; to convert it:\n{code}"
