"""What every result can do."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

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

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row."""
        import pandas as pd

        return pd.DataFrame([{name: _cell(value) for name, value in self.to_dict().items()}])


def at_level(p_value: float, alpha: float) -> bool:
    """Whether a p-value reaches the level; 1 - 0.9 is the level 0.1 although it is a rounding error less."""
    return bool(p_value <= alpha * (1 + 1e-9))


def _cell(value: Any) -> Any:
    return "; ".join(map(str, value)) if isinstance(value, tuple) else value


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
