"""What every result can do."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class Result:
    """What every result can do: become plain values, and a table of one row."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row."""
        import pandas as pd

        return pd.DataFrame([{name: _cell(value) for name, value in self.to_dict().items()}])


def at_level(p_value: float, alpha: float) -> bool:
    """Whether a p-value reaches the level; 1 - 0.9 is the level 0.1 although it is a rounding error less."""
    return bool(p_value <= alpha * (1 + 1e-9))


def _cell(value: Any) -> Any:
    return "; ".join(map(str, value)) if isinstance(value, tuple) else value
