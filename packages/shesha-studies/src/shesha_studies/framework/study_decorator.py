"""The definition of a study: a function for one cell, the cells to compute, and a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import getdoc, signature
from itertools import product
from typing import TYPE_CHECKING, Any

from shesha.inputs import validation as check
from shesha_studies.framework.checks import RECIPE
from shesha_studies.framework.facts import MakeFacts

if TYPE_CHECKING:
    import pandas as pd

    from shesha_studies.framework.page import Page

Cell = Callable[..., Mapping[str, Any]]
MakePage = Callable[["pd.DataFrame", Any], "Page"]
"""Function that takes the same arguments as `MakeFacts`."""
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]
"""Either the values of each parameter, whose combinations are the cells, or the cells themselves."""


class Unreachable(Exception):
    """Raised by a cell if data or weights are missing; the message names them and how to get them.

    The page lists the cell, and the next run tries it again.
    """


@dataclass(frozen=True)
class Study:
    """A function that computes one cell, with the declarations of its study.

    Call the study to compute one cell.
    """

    name: str
    paper: str
    """The experiment that the study repeats, or "new"."""
    version: int
    """Version of the study; rows from other versions are computed again."""
    full: tuple[dict[str, Any], ...]
    quick: tuple[dict[str, Any], ...]
    cell: Cell
    published: str | None
    """File with the published numbers, next to the studies; None if there is none."""
    pages: list[MakePage]
    """The function that makes the page; empty if there is none."""
    stand_ins: str = ""
    """Models or data that replace those of the paper; "" if the paper's own models or its recipe are used."""
    on: str = RECIPE
    """What our numbers are based on by default."""
    fact_makers: list[MakeFacts] = field(default_factory=list)
    """The functions that compute the facts by which claims are judged."""
    file: str = ""
    """The user's file from which the study was loaded; "" if its module can be imported."""

    def __call__(self, **parameters: Any) -> dict[str, Any]:
        """Compute one cell; return its parameters and its numbers."""
        return {**parameters, **self.cell(**parameters)}

    @property
    def names(self) -> tuple[str, ...]:
        """The study's name, as a tuple."""
        return (self.name,)

    @property
    def question(self) -> str:
        """The question of the study, which is the first paragraph of the function's docstring."""
        return " ".join((getdoc(self.cell) or "").partition("\n\n")[0].split())

    @property
    def reference(self) -> str:
        """Import path for other processes, as module:attribute or file:attribute."""
        return f"{self.file or self.cell.__module__}:{self.cell.__qualname__}"

    @property
    def kind(self) -> str:
        """Key under which a store keeps the study's rows."""
        return f"study {self.name} version {self.version}"

    def facts(self, function: MakeFacts) -> MakeFacts:
        """Register the function that computes facts from all rows and the published numbers."""
        self.fact_makers.append(function)
        return function

    def page(self, function: MakePage) -> Study:
        """Register the function that makes the page from all rows and the published numbers."""
        self.pages.append(function)
        return self


def study(
    name: str,
    *,
    paper: str,
    version: int,
    full: Grid,
    quick: Grid,
    published: str | None = None,
    stand_ins: str = "",
    on: str = RECIPE,
) -> Callable[[Cell], Study]:
    """Decorate a function so that it becomes a study.

    Parameters
    ----------
    name : str
        Name of the study, as words joined by hyphens.
    paper : str
        Section of the paper that the study repeats, or "new".
    version : int
        Version of the study. Increase it when the numbers that the function returns change.
    full, quick : Grid
        The cells in the paper, and a selection of cells that takes less than two minutes on two cores.
    published : str, optional
        CSV file with the published numbers, in the folder of the study or at any path. Default: none.
    stand_ins : str
        Description of the models or data that replace those of the paper. Pages and the index distinguish agreement on
        stand-ins from numbers that were repeated.
    on : str
        What our numbers are based on by default.

    Returns
    -------
    callable
        Decorator that turns the function into a `Study`.

    Raises
    ------
    ValueError
        If the name is not words joined by hyphens, the function has no docstring, or a grid has no cells or parameters
        that the function does not take.

    Examples
    --------
    >>> @study("double", paper="new", version=1, full={"x": range(3)}, quick={"x": [1]})
    ... def double(x):
    ...     '''Is twice a number twice as large?'''
    ...     return {"twice": 2 * x}
    >>> double(x=4), len(double.full), double.question
    ({'x': 4, 'twice': 8}, 3, 'Is twice a number twice as large?')
    """
    version = check.count(version, "version")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"name must be lower-case words and numbers joined by hyphens, got {name!r}")

    def mark(cell: Cell) -> Study:
        if not (cell.__doc__ or "").strip():
            raise ValueError(f"{cell.__name__} must have a docstring, whose first paragraph is the study's question")
        every, few = (tuple(_cells(grid, which, cell)) for which, grid in (("full", full), ("quick", quick)))
        return Study(name, paper, version, every, few, cell, published, [], stand_ins, on)

    return mark


def grid_of(*names: str) -> Callable[..., list[dict[str, Any]]]:
    """Return a function that takes the values of each parameter and returns all combinations as cells.

    Examples
    --------
    >>> grid_of("n", "seed")((64, 128), range(2))[1]
    {'n': 64, 'seed': 1}
    """
    return lambda *values: [dict(zip(names, cell, strict=True)) for cell in product(*values)]


def _cells(grid: Grid, which: str, cell: Cell) -> Iterator[dict[str, Any]]:
    """Check the grid, and yield the parameters of each cell."""
    known = signature(cell).parameters
    cells = [dict(combination) for combination in _combinations(grid)]
    if not cells:
        raise ValueError(f"{which} must contain at least one cell, got none")
    for parameters in cells:
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ValueError(
                f"{which} must name parameters of {cell.__name__} ({', '.join(known)}), got {unknown[0]!r}"
            )
        yield parameters


def _combinations(grid: Grid) -> Iterator[Mapping[str, Any]]:
    if isinstance(grid, Mapping):
        yield from (dict(zip(grid, values, strict=True)) for values in product(*grid.values()))
    else:
        yield from grid
