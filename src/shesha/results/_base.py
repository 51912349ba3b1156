"""What every result can do."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    import pandas as pd


class Result:
    """What every result can do: become plain values, and a table of one row."""

    aliases: ClassVar[tuple[str, ...]] = ()
    """Second names of fields, which plain values have as well."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        # What results have in common is declared last, and read last.
        own = sorted(fields(self), key=lambda one: bool(one.kw_only))  # type: ignore[arg-type]
        return {name: _plain(getattr(self, name)) for name in (*(one.name for one in own), *self.aliases)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the result that `to_dict` gave plain values of, also after JSON has had them.

        Parameters
        ----------
        plain : mapping of str to any
            Second names and what else is no field is passed over. Where JSON has null for a number, it is NaN.
        """
        return cast(Self, _restored(cls, plain))

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row."""
        import pandas as pd

        return pd.DataFrame([{name: _cell(value) for name, value in self.to_dict().items()}])


def at_level(p_value: float, alpha: float) -> bool:
    """Whether a p-value reaches the level; 1 - 0.9 is the level 0.1 although it is a rounding error less."""
    return bool(p_value <= alpha * (1 + 1e-9))


def _cell(value: Any) -> Any:
    return "; ".join(map(str, value)) if isinstance(value, tuple) else value


def _restored(kind: Any, plain: Any) -> Any:
    """Make what a field of this type holds from plain values."""
    if isinstance(kind, UnionType):
        kinds = [one for one in get_args(kind) if one is not type(None)]
        return None if plain is None else _restored(kinds[0], plain)
    if is_dataclass(kind) and isinstance(kind, type):
        types = get_type_hints(kind)
        given = {one.name: plain[one.name] for one in fields(kind) if one.name in plain}
        return kind(**{name: _restored(types[name], value) for name, value in given.items()})
    if get_origin(kind) is dict:
        return {name: _restored(get_args(kind)[1], value) for name, value in plain.items()}
    if kind is float:
        return float("nan") if plain is None else float(plain)
    if isinstance(plain, list | tuple):
        inner = get_args(kind)[0] if get_origin(kind) is tuple else Any
        return tuple(_restored(inner, value) for value in plain)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return deepcopy(value)
