"""Read representations and labels from files, and write them; nothing is ever unpickled."""

from shesha.given import NamedRows
from shesha.io._contents import Contents
from shesha.io._files import UnreadableFileError
from shesha.io._formats import reader
from shesha.io._from_anndata import from_anndata
from shesha.io._open import open_file, read, read_labels
from shesha.io._save import save

__all__ = [
    "Contents",
    "NamedRows",
    "UnreadableFileError",
    "from_anndata",
    "open_file",
    "read",
    "read_labels",
    "reader",
    "save",
]
