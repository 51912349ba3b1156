"""Read damaged files of every format in limited processes; report crashes, tracebacks, excessive time or memory.

    python scripts/fuzz_files.py --minutes 10 --seed 0

Good files of each format are damaged (bytes flipped, deleted or replaced, or text edited) and read with `open_file` and
`read_labels`. This must return a result, or raise one error of the library. Everything else is reported with its format
and number. `--only FORMAT --case N` then writes the file to a temporary folder, which is kept, and reads it.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

SECONDS, BYTES = 20, 3 << 30
"""Processor time of a reader, and its address space in addition to that used by imports."""
FAT = 1 << 30
"""Memory above which a file is reported."""
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)
CONTROLS = b"\x1b[2J\r\nFAKE: line"
WORDS = (
    CONTROLS,
    b"9" * 18,
    b"-1",
    b"1e999",
    b"NaN",
    b"|O8",
    b"[1000000000]",
    b"null",
    b'{"a":' * 50,
    b"../../x",
    b"\x00",
)


def seeds(folder: Path) -> dict[str, Path]:
    """Write one good file of each format, with text, missing values, compression and several arrays if supported."""
    import anndata
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet
    import safetensors.numpy
    import zarr
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6)).astype(np.float32)
    names = [f"row{row}" for row in range(30)]
    table = pd.DataFrame(X, columns=list("abcdef"), index=names).assign(label=np.arange(30) % 3)
    found = {kind: folder / f"good.{kind}" for kind in ("npy", "npz", "safetensors", "parquet", "csv", "tsv", "h5ad")}
    np.save(found["npy"], X)
    np.savez_compressed(found["npz"], a=X, hidden=rng.normal(size=(30, 2, 6)), label=np.arange(30))
    safetensors.numpy.save_file({"a": X, "b": X.astype(np.float16), "y": np.arange(30)}, found["safetensors"])
    table.to_parquet(found["parquet"])
    table.to_csv(found["csv"])
    table.to_csv(found["tsv"], sep="\t")
    obs = pd.DataFrame({"kind": pd.Categorical(list("abc") * 10), "n": np.arange(30.0)}, index=names)
    parts = {"obsm": {"X_pca": X, "frame": table[["a", "b"]]}, "layers": {"counts": sparse.csc_matrix(X)}}
    adata = anndata.AnnData(sparse.csr_matrix(X), obs=obs, **parts)
    adata.write_h5ad(found["h5ad"], compression="gzip")
    found["lists.parquet"] = folder / "lists.parquet"
    pa.parquet.write_table(pa.table({"text": names, "e": list(X)}), found["lists.parquet"], compression="zstd")
    found["arrow"] = folder / "good.arrow"
    with pa.OSFile(str(found["arrow"]), "wb") as sink:
        plain = pa.table({"text": names, "e": list(X)})
        with pa.ipc.new_stream(sink, plain.schema) as writer:
            writer.write_table(plain)
    for version in (2, 3):
        found[f"v{version}.zarr"] = folder / f"v{version}.zarr"
        group = zarr.open_group(found[f"v{version}.zarr"], mode="w", zarr_format=version)
        group.create_array("a", data=X, chunks=(10, 6))
        group.create_array("deep/b", data=rng.normal(size=(30, 5)), chunks=(30, 5))
    found["ad.zarr"] = folder / "ad.zarr"
    adata.write_zarr(found["ad.zarr"])
    return found | foreign_seeds(folder, X, names) | folder_seeds(folder, X, names)


def folder_seeds(folder: Path, X: Any, names: list[str]) -> dict[str, Path]:
    """Write one good folder of each kind, and the formats that are variants of others."""
    import bz2
    import lzma

    import h5py
    import pandas as pd
    import pyarrow as pa
    import scipy.io
    from scipy import sparse

    found = {kind: folder / f"good.{kind}" for kind in ("parts", "hive", "saved", "vectors", "10x")}
    for place in found.values():
        place.mkdir()
    frame = pd.DataFrame({"id": names, "e": list(X)})
    for part in range(2):
        rows = frame[15 * part : 15 * part + 15]
        rows.to_parquet(found["parts"] / f"train-0000{part}-of-00002.parquet", index=False)
        (found["hive"] / f"kind={'ab'[part]}").mkdir()
        rows.to_parquet(found["hive"] / f"kind={'ab'[part]}" / "part-0.parquet", index=False)
    for name, row in zip(names[:6], X, strict=False):
        np.save(found["vectors"] / f"{name}.npy", row)
    table = pa.table({"id": names, "e": list(X)})
    target = found["saved"] / "data-00000-of-00001.arrow"
    with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_format_type": None, "_indices": None}
    (found["saved"] / "state.json").write_text(json.dumps(state))
    features = {"id": {"dtype": "string", "_type": "Value"}}
    (found["saved"] / "dataset_info.json").write_text(json.dumps({"features": features}))
    scipy.io.mmwrite(found["10x"] / "matrix.mtx", sparse.coo_matrix(np.abs(X).T))
    (found["10x"] / "barcodes.tsv").write_text("\n".join(names) + "\n")
    (found["10x"] / "features.tsv").write_text("".join(f"g{i}\tg{i}\tGene Expression\n" for i in range(6)))
    files = {kind: folder / f"good.{kind}" for kind in ("csr.npz", "bvecs", "csv.bz2", "vec.xz", "h5mu")}
    sparse.save_npz(files["csr.npz"], sparse.csr_matrix(X))
    width = np.int32(6).tobytes()
    files["bvecs"].write_bytes(b"".join(width + np.clip(row * 20 + 99, 0, 255).astype("u1").tobytes() for row in X))
    lines = "\n".join(" ".join([name, *map(str, row)]) for name, row in zip(names, X, strict=True))
    files["csv.bz2"].write_bytes(bz2.compress(pd.DataFrame(X).to_csv(index=False).encode()))
    files["vec.xz"].write_bytes(lzma.compress(f"30 6\n{lines}".encode()))
    with h5py.File(files["h5mu"], "w") as file:
        for modality in ("rna", "prot"):
            file[f"mod/{modality}/X"] = X
            file[f"mod/{modality}/obs/_index"] = np.array(names, "S")
            file[f"mod/{modality}/obs"].attrs["_index"] = "_index"
    files["batch.jsonl"] = folder / "good.batch.jsonl"
    answer = {"model": "m", "data": [{"object": "embedding", "index": 0, "embedding": X[0].tolist()}]}
    records = [{"custom_id": name, "response": {"status_code": 200, "body": answer}, "error": None} for name in names]
    files["batch.jsonl"].write_text("\n".join(map(json.dumps, records)))
    return found | files


def foreign_seeds(folder: Path, X: Any, names: list[str]) -> dict[str, Path]:
    """Write one good file of each format that other tools write."""
    import h5py
    import pandas as pd
    import scipy.io
    import torch
    import xarray
    from scipy import sparse

    kinds = "json jsonl csv.gz txt vec fvecs pt old.pt mat packed.mat 73.mat h5 10x.h5 loom nc classic.nc nwb mtx"
    found = {kind: folder / f"good.{kind}" for kind in (*kinds.split(), "feather")}
    records = [{"id": name, "label": row % 3, "embedding": X[row].tolist()} for row, name in enumerate(names)]
    found["json"].write_text(json.dumps({"data": [{"index": i, "embedding": X[i].tolist()} for i in range(30)]}))
    found["jsonl"].write_text("\n".join(map(json.dumps, records)))
    pd.DataFrame(X).to_csv(found["csv.gz"], index=False)
    lines = [" ".join([name, *map(str, row)]) for name, row in zip(names, X, strict=True)]
    found["txt"].write_text("\n".join(lines))
    found["vec"].write_text("\n".join(["30 6", *lines]))
    width = np.int32(6).tobytes()
    found["fvecs"].write_bytes(b"".join(width + row.tobytes() for row in X))
    tensors = {"a": torch.tensor(X), "deep": {"b": torch.tensor(X).to_sparse(), "c": [torch.ones(30)]}}
    torch.save(tensors, found["pt"])
    torch.save({"a": torch.tensor(X)}, found["old.pt"], _use_new_zipfile_serialization=False)
    variables = {
        "X": X,
        "s": {"v": X, "name": "x"},
        "c": np.array([X[0], X[1]], dtype=object),
        "m": sparse.csc_matrix(X),
    }
    scipy.io.savemat(found["mat"], variables)
    scipy.io.savemat(found["packed.mat"], variables, do_compression=True)
    with h5py.File(found["73.mat"], "w", userblock_size=512) as file:
        file["X"], file["s/v"] = X.T, X.T
        file["s"].attrs["MATLAB_class"] = np.bytes_("struct")
    with found["73.mat"].open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(116) + b"\0" * 8 + b"\x00\x02IM")
    with h5py.File(found["h5"], "w") as file:
        file["a"], file["deep/b"], file["deep/label"] = X, X, np.arange(30)
        file.create_dataset("names", data=names, dtype=h5py.string_dtype())
    matrix = sparse.csc_matrix(np.abs(X).T)
    with h5py.File(found["10x.h5"], "w") as file:
        for name in ("data", "indices", "indptr"):
            file[f"matrix/{name}"] = getattr(matrix, name)
        file["matrix/shape"], file["matrix/barcodes"] = np.array(matrix.shape), np.array(names, "S")
    with h5py.File(found["loom"], "w") as file:
        file["matrix"], file["row_attrs/Gene"] = X.T, np.arange(6)
        file["col_attrs/CellID"] = np.array(names, "S")
    array = xarray.DataArray(X, dims=("stimulus", "voxel"), coords={"stimulus": names}, name="R")
    array.to_netcdf(found["nc"], engine="h5netcdf")
    array.to_netcdf(found["classic.nc"], engine="scipy")
    with h5py.File(found["nwb"], "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        file["intervals/trials/id"], file["units/id"] = np.arange(30), np.arange(2)
        file["intervals/trials/start_time"], file["intervals/trials/stop_time"] = np.arange(30.0), np.arange(30) + 0.5
        file["units/spike_times"], file["units/spike_times_index"] = np.arange(30.0), np.array([10, 30])
    scipy.io.mmwrite(found["mtx"], sparse.coo_matrix(X))
    pd.DataFrame({"id": names, "e": list(X)}).to_feather(found["feather"])
    return found


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Change a few bytes of a file, more often near its start and end, which contain headers."""
    found = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        if not found:
            break
        size = len(found)
        spread = [size, min(size, 256), min(size, 64)][int(rng.integers(3))]
        place = int(rng.integers(spread))
        place = size - 1 - place if rng.random() < 0.3 else place
        how = int(rng.integers(7))
        if how == 0:
            found[place] ^= 1 << int(rng.integers(8))
        elif how == 1:
            found[place] = int(rng.integers(256))
        elif how == 2:
            del found[place:]
        elif how == 3:
            width = int(rng.choice([1, 2, 4, 8]))
            number = NUMBERS[int(rng.integers(len(NUMBERS)))] & ((1 << 8 * width) - 1)
            found[place : place + width] = number.to_bytes(width, "little")
        elif how == 4:
            end = int(rng.integers(place, min(size, place + 64) + 1))
            found[place:place] = found[place:end]
        elif how == 5:
            word = WORDS[int(rng.integers(len(WORDS)))]
            found[place : place + len(word)] = word
        else:
            _edit_a_number(found, rng)
    return bytes(found)


def _edit_a_number(found: bytearray, rng: np.random.Generator) -> None:
    """Replace a number that is written as text, as in JSON headers, by another number of any length."""
    digits = [at for at in range(min(len(found), 4096)) if 48 <= found[at] < 58]
    if digits:
        at = digits[int(rng.integers(len(digits)))]
        found[at : at + 1] = str(NUMBERS[int(rng.integers(len(NUMBERS)))]).encode()


def _edit_header(path: Path, rng: np.random.Generator) -> None:
    """Change a value in the header of a safetensors file, and adapt the header length."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.dumps(_edited(json.loads(data[8 : 8 + length]), rng)).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + length :])


def _edit_document(path: Path, rng: np.random.Generator) -> None:
    """Change a value of a document of a Zarr store."""
    path.write_text(json.dumps(_edited(json.loads(path.read_text()), rng)))


def _edited(document: Any, rng: np.random.Generator) -> Any:
    """Return a document in which one value, at any depth, is replaced."""
    if isinstance(document, dict | list) and document and rng.random() < 0.85:
        key = list(document)[int(rng.integers(len(document)))] if isinstance(document, dict) else None
        place = int(rng.integers(len(document))) if key is None else key
        found = dict(document) if isinstance(document, dict) else list(document)
        found[place] = _edited(document[place], rng)
        return found
    strange = (None, -1, 0, 1, 1 << 31, 1 << 62, 1.5, "", "|O", "<f8", "bytes", [], [1 << 40], {}, [[]], "a" * 99)
    return strange[int(rng.integers(len(strange)))]


def _edit_hdf5(path: Path, rng: np.random.Generator) -> None:
    """Change an attribute, or replace an array or group by another."""
    import h5py

    with h5py.File(path, "a") as file:
        places: list[str] = []
        file.visit(places.append)
        place = places[int(rng.integers(len(places)))]
        attributes = list(file[place].attrs)
        strange = ["", "csr_matrix", "dataframe", "categorical", -1, [1 << 40, 1 << 40], [3], np.nan, [30, 6, 1]]
        if attributes and rng.random() < 0.6:
            file[place].attrs[attributes[int(rng.integers(len(attributes)))]] = strange[int(rng.integers(len(strange)))]
            return
        del file[place]
        shape = ((), (0,), (30,), (29, 6), (1 << 20, 1 << 20), (30, 6, 2))[int(rng.integers(6))]
        kind = ("f8", "i4", "S3", "c16", "V5")[int(rng.integers(5))]
        if rng.random() < 0.8:
            chunks = tuple(int(min(n, rng.integers(1, 99))) for n in shape) if all(shape) and shape else None
            file.create_dataset(place, shape, kind, chunks=chunks)


def write_case(kind: str, good: Path, number: int, seed: int, folder: Path) -> Path:
    """Write the damaged file of a number; in a folder, one or two files are damaged."""
    rng = np.random.default_rng([seed, sum(kind.encode()), number])
    target = folder / f"{number}.{kind}"
    if good.is_dir():
        shutil.copytree(good, target)
        inside = sorted(path for path in target.rglob("*") if path.is_file())
        documents = [path for path in inside if path.name.startswith(("zarr", ".z")) or path.suffix == ".json"]
        if documents and rng.random() < 0.5:
            _edit_document(documents[int(rng.integers(len(documents)))], rng)
            return target
        for _ in range(int(rng.integers(1, 3))):
            chosen = documents if documents and rng.random() < 0.7 else inside
            one = chosen[int(rng.integers(len(chosen)))]
            one.write_bytes(mutated(one.read_bytes(), rng))
    elif kind in _STRUCTURED and rng.random() < 0.5:
        shutil.copy(good, target)
        _STRUCTURED[kind](target, rng)
    else:
        target.write_bytes(mutated(good.read_bytes(), rng))
    return target


_STRUCTURED = {"safetensors": _edit_header} | dict.fromkeys(
    ("h5ad", "h5", "10x.h5", "loom", "nc", "nwb", "h5mu"), _edit_hdf5
)


def read_whole(path: Path) -> str:
    """Read a file with every function, and return the outcome as a word, or a description of the fault."""
    import traceback
    import warnings

    from shesha.cli._model_inputs import read_texts
    from shesha.io import open_file, read_labels

    words = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = (lambda one, name=name: _require_visible(read_labels(one, name)) for name in ("kind", "label"))
        for read in (_all_of(open_file), *labels, lambda one: read_texts(one, None)):
            try:
                read(path)
                words.append("read")
            except (ValueError, TypeError, OSError) as error:
                if not _told_by_the_library(error):
                    return "TRACEBACK " + traceback.format_exc()
                words.append("refused")
            except BaseException:
                return "TRACEBACK " + traceback.format_exc()
    return words[0]


def _told_by_the_library(error: BaseException) -> bool:
    """Return whether an error was raised by this library, not by a library that it calls."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and "/shesha/" in trace.tb_frame.f_code.co_filename


def _require_visible(names: Any) -> None:
    """Check that no name or label contains a control character."""
    from shesha.support.wording import visible_name

    for name in np.asarray(names, dtype=object).ravel():
        assert not isinstance(name, str) or visible_name(name) == name, f"control characters in {name!r}"


def _all_of(open_file):
    """Read a file, and use every value, because some values are read only when they are used."""

    def read(path: Path) -> None:
        found = open_file(path)
        for array in found.representations.values():
            np.asarray(array).sum()
        _require_visible([*found.representations, *found.skipped, *found.labels_available])
        if found.row_names is not None:
            _ = found.row_names.outline
            _require_visible(found.row_names.values)

    return read


def serve() -> None:
    """Read the files whose paths arrive as lines, and answer each with a line."""
    import shesha.io.read  # noqa: F401

    for module in (
        "anndata.io",
        "pyarrow.parquet",
        "safetensors",
        "zarr",
        "pandas",
        "h5py",
        "scipy.io",
        "torch",
        "xarray",
    ):
        __import__(module)
    limit = _status("VmSize") + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        before = time.process_time()
        Path("/proc/self/clear_refs").write_text("5")
        used = int(before) + SECONDS + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used, resource.RLIM_INFINITY))
        word = read_whole(Path(line.strip()))
        print(json.dumps([word, time.process_time() - before, _status("VmHWM")]), flush=True)


def _status(field: str) -> int:
    """Return memory statistics of this process in bytes, from the system."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


_WALK = """
import resource, sys, h5py
def visit(name, node):
    try:
        list(node.attrs.values())
    except Exception:
        pass
try:
    h5py.File(sys.argv[1]).visititems(visit)
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def hdf5_needs(path: Path) -> int:
    """Return the peak memory of h5py alone; HDF5 allocates the declared length of a text before it reads the text."""
    done = subprocess.run([sys.executable, "-c", _WALK, str(path)], capture_output=True, text=True, check=False)
    return int(done.stdout or 0)


class Reader:
    """A process that reads files; if it ends, a new one is started."""

    def __init__(self) -> None:
        command = [sys.executable, __file__, "--serve"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def read(self, path: Path) -> tuple[str, float, int] | None:
        """Return the outcome for a file; None if the process ended."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        return tuple(json.loads(line)) if line else None

    def end(self) -> int:
        """End the process and return its status."""
        assert self._process.stdin
        self._process.stdin.close()
        return self._process.wait()


def run(minutes: float, seed: int, only: str | None) -> int:
    """Test damaged files for a given processor time; print the faults and the number of files."""
    left, number, tally, wrong = 60 * minutes, 0, Counter(), 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        good = {kind: path for kind, path in seeds(folder).items() if only in (None, kind)}
        reader = Reader()
        while left > 0:
            for kind, path in good.items():
                case = write_case(kind, path, number, seed, folder)
                found = reader.read(case)
                if found is None:
                    word, seconds, peak = f"DIED with status {reader.end()}", 0.0, 0
                else:
                    word, seconds, peak = found
                left -= seconds or 0.1
                slow, fat = seconds > SECONDS / 2, peak > FAT
                if fat and hdf5_needs(case) > FAT / 2:
                    tally["all", "needs as much in HDF5"] += 1
                    fat = False
                if found is None or peak > FAT:
                    # A process that keeps freed memory would make all later files appear to need it.
                    reader.end()
                    reader = Reader()
                tally[kind, word.split()[0]] += 1
                tally["all", word.split()[0]] += 1
                if word[0].isupper() or slow or fat:
                    wrong += 1
                    told = f"{'slow ' * slow}{'fat ' * fat}"
                    print(f"--only {kind} --case {number}: {told}{seconds:.1f} s, {peak >> 20} MiB: {word}", flush=True)
                shutil.rmtree(case) if case.is_dir() else case.unlink()
            number += 1
        reader.end()
    for (kind, word), count in sorted(tally.items()):
        print(f"{kind:15} {word:10} {count:7,}")
    print(f"{wrong} went wrong")
    return 1 if wrong else 0


def main() -> int:
    """Test damaged files, or write one case again and read it in this process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="processor time of the readers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one format")
    parser.add_argument("--case", type=int, help="write this case to a temporary folder and read it")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
        return 0
    if asked.case is None:
        return run(asked.minutes, asked.seed, asked.only)
    folder = Path(tempfile.mkdtemp(prefix="fuzzed-"))
    with tempfile.TemporaryDirectory() as place:
        path = write_case(asked.only, seeds(Path(place))[asked.only], asked.case, asked.seed, folder)
    print(path, read_whole(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
