"""Values that an audit looks up in a store before it computes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shesha.runs import ResultStore


@dataclass(frozen=True)
class StoredValues:
    """JSON values that are computed once and then read from a store; without one, always computed."""

    store: ResultStore | None = None

    def get(self, kind: str, key: Callable[[], str], compute: Callable[[], Any]) -> Any:
        """Return the stored value for a key, or compute and store it if it is missing.

        Parameters
        ----------
        kind : str
            Name under which the store groups values of this kind.
        key : callable
            Function that returns the key, which must identify everything that the value depends on. It is called only
            if there is a store.
        compute : callable
            Function that computes the value.
        """
        if self.store is None:
            return compute()
        text = self.store.get(kind, name := key())
        if text is None:
            text = json.dumps(compute())
            self.store.put(kind, {name: text})
        return json.loads(text)
