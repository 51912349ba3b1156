"""Look-up of studies by name, both installed studies and studies in user modules."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

from shesha.support import wording
from shesha_studies.framework.study_decorator import Study

GROUP = "shesha.studies"
"""Entry-point group for packages of studies; each has a folder `published` with published numbers and claims."""


@cache
def packages() -> tuple[ModuleType, ...]:
    """Return the installed packages that contain studies."""
    return tuple(import_module(name) for name in sorted({point.value for point in entry_points(group=GROUP)}))


@cache
def studies() -> tuple[Study, ...]:
    """Return the installed studies in alphabetical order."""
    modules = [
        import_module(info.name)
        for package in packages()
        for info in walk_packages(package.__path__, f"{package.__name__}.")
    ]
    instances = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, Study)}
    return tuple(sorted(instances.values(), key=lambda study: study.name))


def data_folders() -> tuple[Path, ...]:
    """Return the folders that contain published numbers and claims, one per package."""
    return tuple(Path(package.__path__[0]) / "published" for package in packages())


def data_folder(study: Study) -> Path | None:
    """Return the folder with a study's published numbers; None for a user's own study."""
    top = study.cell.__module__.partition(".")[0]
    return next((Path(package.__path__[0]) / "published" for package in packages() if package.__name__ == top), None)


def command_name(study: Study) -> str:
    """Return the name under which `shesha study run` finds a study, such as `file.py:name` for a user's own."""
    if data_folder(study) is not None:
        return study.name
    return f"{Path(study.file).name if study.file else study.cell.__module__}:{study.cell.__name__}"


def find(name: str) -> Study:
    """Return an installed study by its name, or a user's study as `module:name` or `file.py:name`.

    Parameters
    ----------
    name : str
        Name of the study. A module may also be a file in the current folder.

    Raises
    ------
    ValueError
        If there is no such study; the message lists similar names.
    """
    module, colon, attribute = name.rpartition(":")
    if not colon:
        return wording.find_by_name(name, studies(), "study", "`shesha study list`")
    candidate = getattr(_own_module(module, name), attribute, None)
    if not isinstance(candidate, Study):
        raise ValueError(f"study must name a function marked by shesha_studies.study, got {name!r}")
    return candidate


def _own_module(module: str, name: str) -> ModuleType:
    """Return a user's module: a named file, an importable module, or a file in the current folder."""
    if module.endswith(".py"):
        if not Path(module).is_file():
            raise ValueError(f"study must be file.py:name of an existing file, got {name!r}")
        return _load_file(Path(module).resolve())
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        path = Path(*module.split(".")).with_suffix(".py")
        if error.name == module and path.is_file():
            return _load_file(path.resolve())
        raise ValueError(
            f"study must be module:name of a module that can be imported, or a file of this folder, got {name!r} "
            f"({error})"
        ) from None


@cache
def _load_file(file: Path) -> ModuleType:
    """Run a file as a module, with its folder on the import path, as Python does for a script."""
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    spec.loader.exec_module(module)
    for value in vars(module).values():
        if isinstance(value, Study) and value.cell.__module__ == file.stem:
            object.__setattr__(value, "file", str(file))
    return module
