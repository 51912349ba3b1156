"""The studies that ship, and those of other modules, by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from shesha.studies._study import Study
from shesha.support import spelling as spelling


@cache
def studies() -> tuple[Study, ...]:
    """Return the studies that ship, in the order of their names.

    Examples
    --------
    >>> "ground-truth" in [one.name for one in studies()]
    True
    """
    package = import_module("shesha.studies")
    modules = [import_module(found.name) for found in walk_packages(package.__path__, "shesha.studies.")]
    found = {id(one): one for module in modules for one in vars(module).values() if isinstance(one, Study)}
    return tuple(sorted(found.values(), key=lambda one: one.name))


def find(name: str) -> Study:
    """Return a study by its name, or `module:attribute` of one's own.

    Parameters
    ----------
    name : str

    Raises
    ------
    ValueError
        If there is none; close names are listed.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        return spelling.find_by_name(name, studies(), "study", "`shesha study list`")
    try:
        found = getattr(import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"study must be module:name of a module that can be imported, got {name!r} ({error})"
        ) from None
    if not isinstance(found, Study):
        raise ValueError(f"study must name a function marked by shesha.studies.study, got {name!r}")
    return found
