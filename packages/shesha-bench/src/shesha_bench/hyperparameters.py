"""Hyperparameters as plain values by name, checked in one place for all domains.

A domain declares its hyperparameters as a frozen dataclass that is derived from `Hyperparameters`. Each field is
declared by `option`, with a check of its value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from shesha_bench.model_descriptions import Plain, Setting


@dataclass(frozen=True)
class Check:
    """A condition on a value, in words and as a function."""

    expected: str
    holds: Callable[[Any], bool]


def option(check: Check, default: Any = MISSING) -> Any:
    """Declare a hyperparameter with its check; with a default, it is optional. Only a default may be None."""
    metadata = {"check": check}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


def count(least: int = 1) -> Check:
    """Accept integers of at least `least`."""
    return Check(f"a whole number of at least {least}", lambda value: type(value) is int and value >= least)


def choice_of_words(*names: str) -> Check:
    """Accept one of the given words."""
    return Check(f"one of {', '.join(names)}", lambda value: value in names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


POSITIVE = Check("a positive number", lambda value: _is_number(value) and value > 0)
NOT_NEGATIVE = Check("a number of at least 0", lambda value: _is_number(value) and value >= 0)
SHARE = Check("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)
PART = Check("a number of at least 0 and below 1", lambda value: _is_number(value) and 0 <= value < 1)
SWITCH = Check("True or False", lambda value: isinstance(value, bool))


@dataclass(frozen=True)
class Hyperparameters:
    """Settings for training and extraction, except data, architecture, setting and seed."""

    def __post_init__(self) -> None:
        """Check every value."""
        for option in fields(self):
            value, check = getattr(self, option.name), option.metadata["check"]
            if not (value is None and option.default is None) and not check.holds(value):
                raise ValueError(f"hyper[{option.name!r}] must be {check.expected}, got {value!r}")

    @classmethod
    def check(cls, values: Mapping[str, Plain]) -> Self:
        """Return the hyperparameters with these values.

        Raises
        ------
        ValueError
            If a name is unknown, a value that has no default is missing, or a value fails its check.
        """
        known = {option.name: option for option in fields(cls)}
        require_known(values, known)
        lacking = [name for name, option in known.items() if option.default is MISSING and name not in values]
        if lacking:
            raise ValueError(
                f"hyper must also contain {', '.join(lacking)}, got {', '.join(sorted(values)) or 'nothing'}"
            )
        return cls(**values)

    def for_setting(self, setting: Setting) -> Self:
        """Return the hyperparameters for a setting; they do not change unless a domain overrides this method."""
        return self


def require_known(values: Mapping[str, Plain], known: Mapping[str, object] | list[str]) -> None:
    """Refuse unknown names."""
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"hyper must have names among {', '.join(known)}, got {', '.join(unknown)}")
