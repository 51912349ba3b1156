"""The type of a file format, and formats that are not read, with lines of Python that convert them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from shesha.inputs import NamedRows
from shesha.io.array_selection import (
    Contents,
    Keys,
    NamedArrays,
    StoredArray,
    contents,
    gather,
    labels_of_arrays,
    refuse_weights,
)
from shesha.io.file_checks import COMPRESSED
from shesha.io.tables import Table, contents_of_table, labels_of_table
from shesha.support.layer_axis import LayerAxis
from shesha.support.types import Array
from shesha.support.wording import visible_name

_FEWEST_ITEMS = 8
"""Number of arrays without groups from which on these can be the vectors of single items."""


@dataclass(frozen=True)
class Format:
    """The functions that read files with one extension."""

    labels: Callable[[Path, str | None], Array | NamedRows]
    contents: Callable[[Path, Keys, str | Sequence[str] | None, LayerAxis], Contents]
    folder: bool = False
    """Whether files of this format are directories."""
    recognises: Callable[[Path], bool] | None = None
    """Function that tells representations from notes in a folder, if files with this ending are often notes."""
    table: bool = False
    """Whether keys name columns."""
    describe: Callable[[Path], Table] | None = None
    """Function that reads the columns of a table, if files of this format are always tables."""
    distances: Callable[[Path, Keys], Contents] | None = None
    """Function that reads distances between rows, if a file can contain several square matrices."""


def array_format(describe: Callable[[Path], Mapping[str, StoredArray]]) -> Format:
    """Return the format of files that contain named arrays."""
    return Format(
        labels=lambda path, column: labels_of_arrays(path, describe(path), column),
        contents=lambda path, keys, _, layer_axis: array_contents(path, describe(path), keys, layer_axis),
        distances=lambda path, keys: contents(path, describe(path), keys, distances=True),
    )


def array_contents(
    path: Path, arrays: Mapping[str, StoredArray], keys: Keys, layer_axis: LayerAxis = "guess"
) -> Contents:
    """Read the representations among named arrays, with the row names that their format stores."""
    refuse_weights(path, arrays, keys)
    if not isinstance(arrays, NamedArrays) and len(arrays) >= _FEWEST_ITEMS:
        arrays = gather(path, arrays, "./")
    unread = [] if keys is not None else [name for name in arrays if name in getattr(arrays, "on_request", ())]
    found = contents(path, {name: array for name, array in arrays.items() if name not in unread}, keys, layer_axis)
    found.skipped.update(dict.fromkeys(map(visible_name, unread), "is read only if keys= names it"))
    if own := {
        name: one for name, one in getattr(arrays, "names_by_array", {}).items() if name in found.representations
    }:
        return replace(found, names_by_array=own)
    names = getattr(arrays, "row_names", None)
    if names is None or {len(matrix) for matrix in found.representations.values()} != {len(names.values)}:
        return found
    return replace(found, row_names=names)


def table_format(describe: Callable[[Path], Table]) -> Format:
    """Return the format of files whose columns form one matrix."""
    return Format(
        labels=lambda path, column: labels_of_table(path, describe(path), column),
        contents=lambda path, keys, labels, axis: contents_of_table(path, describe(path), keys, labels, axis),
        table=True,
        describe=describe,
    )


FOLDER_KINDS = "parts of a table, one vector per file, a data set that was saved to disk, or the files of Cell Ranger"
_LOOKED_AT = 1024
"""Number of bytes that show whether a file is text."""
_CARE = "can run any code: do this only with files that you wrote yourself"
_PLAIN = (
    "data = data.to_dict('split') if hasattr(data, 'columns') else data",
    "plain = lambda value: value.tolist() if hasattr(value, 'tolist') else str(value)",
    "json.dump(data, open({json}, 'w'), default=plain)",
)
"""Lines that write arrays in any lists, dictionaries and tables as JSON, with the names of the rows."""
_TORCH_OBJECTS = (
    f"import json, torch  # loading objects {_CARE}",
    "data = torch.load({old}, map_location='cpu', weights_only=False)",
    *_PLAIN,
)
_PICKLE = (f"import json, pickle  # reading a pickle {_CARE}", "data = pickle.load(open({old}, 'rb'))", *_PLAIN)
_JOBLIB = (f"import json, joblib  # reading a pickle {_CARE}", "data = joblib.load({old})", *_PLAIN)
_WORDS = (
    f"import gensim.models  # reading a pickle {_CARE}",
    "gensim.models.KeyedVectors.load({old}).save_word2vec_format({vec})",
)
_WORD_MODEL = (
    f"import gensim.models  # reading a pickle {_CARE}",
    "gensim.models.Word2Vec.load({old}).wv.save_word2vec_format({vec})",
)
_NIFTI = (
    "import nibabel, numpy",
    "data = nibabel.load({old}).get_fdata()",
    "numpy.save({npy}, data.reshape(-1, data.shape[-1]).T)  # volumes x voxels; apply a mask first if you have one",
)
_EPOCHS = (
    "import mne, numpy",
    "epochs = mne.read_epochs({old})",
    "numpy.save({npy}, epochs.get_data(picks='data').reshape(len(epochs), -1))  # good channels and times",
)
_EEGLAB = (
    "import numpy, pathlib, scipy.io",
    "eeg = scipy.io.loadmat({old}, simplify_cells=True)",
    "eeg = eeg.get('EEG', eeg)",
    "size, data = [int(eeg[name]) for name in ('nbchan', 'pnts', 'trials')], eeg['data']",
    "data = numpy.fromfile(pathlib.Path({old}).with_name(data), 'f4') if isinstance(data, str) else data",
    "numpy.save({npy}, data.reshape(size, order='F').transpose(2, 0, 1).reshape(size[2], -1))  # trials",
)
_FAISS = (
    "import faiss, numpy",
    "index = faiss.read_index({old})",
    "ids = faiss.vector_to_array(index.id_map) if hasattr(index, 'id_map') else numpy.arange(index.ntotal)",
    "inner = faiss.downcast_index(index.index) if hasattr(index, 'id_map') else index",
    "numpy.savez({npz}, vectors=inner.reconstruct_n(0, index.ntotal), faiss_id=ids)",
)
_LAYERS = (
    "import numpy, pathlib  # the files as the layers of one model",
    "files = sorted(pathlib.Path({old}).glob('*.npy'))",
    "numpy.savez({npz}, **{{file.stem: numpy.load(file) for file in files}})",
)
_NUMBERS = (
    "import numpy; n_features = 768  # the number of features",
    "numpy.save({npy}, numpy.fromfile({old}, dtype='float32').reshape(-1, n_features))  # the type of its numbers",
)
_TEXT = ("import numpy", "numpy.save({npy}, numpy.loadtxt({old}))")
_COUNTED = (
    "import numpy; kind = {{'f': 'f4', 'u': 'u1', 'i': 'i1', 'h': 'f2'}}[{ending}[1]]",
    "n_rows, n_features = numpy.fromfile({old}, 'u4', 2)",
    "numpy.save({npy}, numpy.fromfile({old}, kind, offset=8).reshape(n_rows, n_features))",
)

_R = (
    "import pyreadr  # or in R: write.csv(readRDS({old}), {csv})",
    "next(iter(pyreadr.read_r({old}).values())).to_csv({csv})",
)
_ONNX = (
    "import numpy, onnxruntime",
    "session = onnxruntime.InferenceSession({old})",
    "inputs = numpy.load('inputs.npy')  # the inputs of the model, along the first axis",
    "numpy.save({npy}, session.run(None, {{session.get_inputs()[0].name: inputs}})[0])",
)

_SQLITE = (
    "import pandas, sqlite3",
    "database = sqlite3.connect({old})",
    "(table,) = database.execute(\"select name from sqlite_master where type = 'table'\").fetchone()  # or its name",
    "pandas.read_sql(f'select * from \"{{table}}\"', database).to_parquet({parquet}, index=False)",
)
_DUCKDB = (
    "import duckdb",
    "database = duckdb.connect({old}, read_only=True)",
    "(table,) = database.execute('show tables').fetchone()  # or its name",
    "database.table(table).write_parquet({parquet})",
)
_LANCE = ("import lance, pyarrow.parquet", "pyarrow.parquet.write_table(lance.dataset({old}).to_table(), {parquet})")


def _pandas(reader: str) -> tuple[str, ...]:
    return ("import pandas", f"pandas.{reader}({{old}}).to_parquet({{parquet}}, index=False)")


_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys((".pkl", ".pickle", ".p"), ("Pickles are never read, because they can run code", _PICKLE)),
    ".joblib": ("Joblib files are pickles, which are never read because they can run code", _JOBLIB),
    **dict.fromkeys((".kv", ".wordvectors"), ("Files that gensim saves are pickles, which are never read", _WORDS)),
    ".model": ("Files that gensim saves are pickles, which are never read", _WORD_MODEL),
    **dict.fromkeys((".xlsx", ".xls"), ("Excel files are not read", _pandas("read_excel"))),
    ".dta": ("Stata files are not read", _pandas("read_stata")),
    ".orc": ("ORC files are not read", _pandas("read_orc")),
    **dict.fromkeys((".nii", ".nii.gz"), ("NIfTI images are not read", _NIFTI)),
    ".set": ("Recordings of EEGLAB are not read", _EEGLAB),
    ".fif": ("MNE files are not read", _EPOCHS),
    **dict.fromkeys((".faiss", ".index"), ("FAISS indexes are not read", _FAISS)),
    **dict.fromkeys((".rds", ".rdata", ".rda"), ("R files are not read", _R)),
    ".onnx": ("ONNX files hold a model, whose outputs are compared", _ONNX),
    ".gguf": ("GGUF files hold a model, whose outputs are compared; pass it as --model, with --texts", ()),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), ("Databases are not read", _SQLITE)),
    **dict.fromkeys(
        (".hnsw", ".ann", ".usearch", ".nmslib"),
        ("Vector indexes are not read; save their vectors and ids with the library that made them, as .npz", ()),
    ),
    **dict.fromkeys(
        (".emb", ".embedding", ".embeddings"),
        (
            "Files of embeddings have many formats; if it is text with "
            "a word and its vector in each line, as of node2vec, rename it to .vec",
            (),
        ),
    ),
    **dict.fromkeys(
        (".pkl.gz", ".pickle.gz", ".pkl.bz2"),
        ("Pickles are never read, because they can run code; unpack it to see lines that convert it", ()),
    ),
    ".duckdb": ("Databases are not read", _DUCKDB),
    ".lance": ("Lance data sets are not read", _LANCE),
    **dict.fromkeys((".fbin", ".u8bin", ".i8bin", ".hbin"), ("Files of big-ann-benchmarks are not read", _COUNTED)),
    **dict.fromkeys(
        (".dat", ".raw", ".mmap", ".memmap", ".f32", ".float32"), ("Files of unknown content are not read", _NUMBERS)
    ),
    **dict.fromkeys(
        (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"),
        (
            "Images are not read; encode them with a model first, such as by shesha.extract.encode, and save the rows",
            (),
        ),
    ),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".tar.gz"), ("Archives are not read; unpack it and pass the files", ())),
}
"""The reason and the lines of Python that convert a file, by file extension."""


_MOST_LOOKED_AT = 1000
"""Most files of a folder that are looked at for the reason why it cannot be read."""


def unsupported(path: Path, endings: Sequence[str]) -> str:
    """Return the error message for a path whose format is not read."""
    if path.is_dir() and path.suffix.lower() not in _KINDS:
        inside = sorted(islice(path.rglob("*"), _MOST_LOOKED_AT))
        if not any(file.name.lower().endswith(tuple(endings)) for file in inside):
            # The error says how to convert a file.
            known = (file for file in inside if file.suffix.lower() in _KINDS)
            if (file := next(known, None)) is not None:
                return unsupported(file, endings)
        return (
            f"path must be a file, or a folder that is one input ({FOLDER_KINDS}), got the folder {path}; pass "
            f"the files in it{_as_text(path, _LAYERS) if any(path.glob('*.npy')) else ''}"
        )
    last = path.suffix.lower()
    double = Path(path.stem).suffix.lower() + last
    found = _KINDS.get(double) or _KINDS.get(last)
    if found is None and last in COMPRESSED and Path(path.stem).suffix.lower() in endings:
        module = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}.get(last)
        lines: tuple[str, ...] = (
            f"import {module}, shutil",
            f"shutil.copyfileobj({module}.open({{old}}), open({{unpacked}}, 'wb'))",
        )
        found = (f"Compressed {Path(path.stem).suffix} files are not read", lines if module else ())
    if found is None:
        plain = dict.fromkeys(ending for ending in endings if not ending.endswith(COMPRESSED))
        return f"path must end in one of {', '.join(plain)}, got {str(path)!r}"
    reason, lines = found
    if lines == _NUMBERS:
        lines = _FAISS if is_faiss(path) else _TEXT if _is_text(path) else lines
    return f"{reason}, got {str(path)!r}{_as_text(path, lines)}"


def is_faiss(path: Path) -> bool:
    """Return whether a file begins as an index of FAISS does, whatever its ending."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return re.fullmatch(rb"(Ix|Iw|IB)\w\w", stream.read(4)) is not None


def convert_numbers(path: Path) -> str:
    """Return the lines that convert a file of unknown content."""
    return _as_text(path, _FAISS if is_faiss(path) else _NUMBERS)


def _is_text(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(_LOOKED_AT).isascii()


def convert_objects(path: Path) -> str:
    """Return the lines that convert a PyTorch file with other objects than tensors."""
    return _as_text(path, _TORCH_OBJECTS)


def _as_text(path: Path, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    names = {"old": path, "unpacked": path.with_suffix(""), "ending": path.suffix.lower()}
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    names |= {ending: plain.with_suffix(f".{ending}") for ending in ("npy", "npz", "json", "vec", "parquet", "csv")}
    quoted = {name: repr(str(file)) for name, file in names.items()}
    code = "\n".join(f"    {line.format(**quoted)}" for line in lines)
    return f"; to convert it:\n{code}"
