"""Values that an audit looks up in a store before it computes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shesha.runs import ResultStore


@dataclass(frozen=True)
class StoredValues:
    """Values of JSON by key; without a store, each is computed."""

    store: ResultStore | None = None

    def get(self, kind: str, key: Callable[[], str], compute: Callable[[], Any]) -> Any:
        """Return the value under a key; compute and store it if the store does not contain it.

        Parameters
        ----------
        kind : str
            Name of the values in the store.
        key : callable
            Function that returns the key, which identifies everything that determines the value. It is not called
            without a store.
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
