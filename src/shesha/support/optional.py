"""Import of optional libraries, and of what other packages offer through entry points."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from shesha._version import DISTRIBUTION
from shesha.support.warnings import MeasureWarning, warn

MARKS = "shesha.marks"
"""Group of entry points for modules that register measures, stability scores, descriptors and readers when imported."""


@cache
def load_marks() -> None:
    """Import the modules that other packages offer in this group; this happens only once."""
    for _ in import_entry_points(MARKS, "module"):
        pass


def import_entry_points(group: str, what: str) -> Iterator[tuple[str, Any]]:
    """Yield each object of a group with its name; warn about objects that cannot be imported."""
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        try:
            value = point.load()
        except Exception as error:  # An error in another package must not break this library.
            warn(
                f"{what} {point.name} of {point.value} could not be loaded and is left out ({error!r}). Repair or "
                "uninstall the package that provides it",
                MeasureWarning,
            )
        else:
            yield point.name, value


def require(module: str, extra: str, need: str | None = None) -> ModuleType:
    """Import an optional library; if it is missing, the error names the extra that installs it.

    Parameters
    ----------
    module : str
        Name of the library, or of one of its modules.
    extra : str
        Extra of this package that installs the library.
    need : str, optional
        First words of the error. Default: the name of the library and "is needed".

    Raises
    ------
    ImportError
        If the library cannot be imported.

    Examples
    --------
    >>> require("math", "plot").sqrt(4.0)
    2.0
    >>> require("no_such_library.part", "plot")
    Traceback (most recent call last):
    ImportError: no_such_library is needed: pip install "shesha-representations[plot]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'{need or f"{package} is needed"}: pip install "{DISTRIBUTION}[{extra}]"') from error


def import_by_name(place: str, what: str) -> Any:
    """Import the object that a user names as 'module:name'; raise ValueError with the cause if it cannot be imported.

    Examples
    --------
    >>> import_by_name("math:sqrt", "measure")(4.0)
    2.0
    >>> import_by_name("math:root", "measure")
    Traceback (most recent call last):
    ValueError: measure must be importable as module:name, got 'math:root': module 'math' has no attribute 'root'
    """
    module, _, name = place.partition(":")
    rule = f"{what} must be importable as module:name, got {place!r}"
    if not name or not all(part.isidentifier() for part in module.split(".")):
        raise ValueError(rule)
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise ValueError(f"{rule}: {error}") from error
    except (Exception, SystemExit) as error:  # The module is the user's, and may fail in any way.
        *_, last = traceback.extract_tb(error.__traceback__)
        raise ValueError(f"{rule}: {type(error).__name__} in line {last.lineno} of {last.filename}: {error}") from error


def names_of_package(module: str, extra: str, need: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module that offers the names of a separate package."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"a module of {module!r} has no attribute {name!r}")
        return getattr(require(module, extra, need), name)

    return get, lambda: sorted(require(module, extra, need).__all__)


def load_tensors(file: Any, **options: Any) -> Any:
    """Load a file of PyTorch that contains tensors only; refuse versions that a file can make run code."""
    import torch

    # CVE-2025-32434
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
        raise ImportError(f"torch must be at least 2.6 to read {file} safely, got {torch.__version__}")
    return torch.load(file, map_location="cpu", weights_only=True, **options)
