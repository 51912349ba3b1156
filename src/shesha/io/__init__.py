"""Read and write representations and labels in files, without ever unpickling anything."""

from shesha.inputs import NamedRows
from shesha.io._save import save
from shesha.io.array_selection import Contents
from shesha.io.file_checks import UnreadableFileError
from shesha.io.formats import reader
from shesha.io.large_matrices import open_matrix
from shesha.io.read import open_file, read, read_labels
from shesha.io.single_cell_files import from_anndata

__all__ = [
    "Contents",
    "NamedRows",
    "UnreadableFileError",
    "from_anndata",
    "open_file",
    "open_matrix",
    "read",
    "read_labels",
    "reader",
    "save",
]
