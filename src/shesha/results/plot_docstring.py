"""Parts of the docstring that all `plot` methods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_SHARED = """

Parameters
----------
ax : matplotlib Axes, optional
    Where to draw; default: a new figure.

Returns
-------
matplotlib Axes
"""
Method = TypeVar("Method", bound=Callable[..., object])


def draws_axes(method: Method) -> Method:
    """Decorate a method that draws on given or new axes, and add this option to its docstring."""
    method.__doc__ = f"{(method.__doc__ or '').rstrip()}{_SHARED}"
    return method
