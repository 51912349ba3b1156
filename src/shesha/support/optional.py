"""Import of optional libraries, with an error that names the extra to install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from shesha._version import DISTRIBUTION


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
