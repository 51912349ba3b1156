"""Values that an audit looks up in a store before it computes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from shesha.runs import ResultStore

Value = TypeVar("Value")


@dataclass(frozen=True)
class StoredValues:
    """JSON values that are computed once and then read from a store; without one, always computed."""

    store: ResultStore | None = None

    def get(
        self,
        kind: str,
        key: Callable[[], str],
        compute: Callable[[], Any],
        decode: Callable[[Any], Value],
    ) -> Value:
        """Return the stored value for a key, or compute and store it if it is missing.

        Parameters
        ----------
        kind : str
            Name under which the store groups values of this kind.
        key : callable
            Function that returns the key, which must identify everything that the value depends on. It is called only
            if there is a store.
        compute : callable
            Function that computes the value, as it is stored in JSON.
        decode : callable
            Function that converts a value from JSON; an error that it raises means that the store is damaged.
        """
        if self.store is None:
            return decode(compute())
        text = self.store.get(kind, name := key())
        if text is None:
            text = json.dumps(compute())
            self.store.put(kind, {name: text})
        with self.store.decoding():
            return decode(json.loads(text))
