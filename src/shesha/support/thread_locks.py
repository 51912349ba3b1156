"""A lock for objects that several threads may change."""

from threading import RLock
from typing import Any


class Locked:
    """An object with a lock, under which threads change it one after another; a copy gets a lock of its own."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which cannot be copied."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the values, and make a new lock."""
        self.__dict__.update(state, _lock=RLock())
