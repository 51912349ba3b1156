"""Differences between the outputs of models, which are computed once per pair and stored.

The three differences that the benchmark's own tests need are columns of one table. Differences for other tests are rows
of a second table, with name and value, which is created when such a test first runs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from itertools import combinations

from shesha.runs import failure_reason, version_of_code
from shesha_bench import train_and_compare_jobs
from shesha_bench._store_schema import DIFFERENCE
from shesha_bench.store import Difference as Shipped
from shesha_bench.store import Store
from shesha_bench.tests import Output
from shesha_bench.tests._base import Difference
from shesha_bench.trained_models import Archive

LOG = logging.getLogger(__name__)
Known = dict[tuple[str, str], dict[str, float]]
"""Differences between outputs, by the keys of both models and by `versioned_name`."""
_SHIPPED = tuple(field.name for field in fields(Shipped))[2:]


def versioned_name(kind: str, difference: Difference) -> str:
    """Return a difference's name in the store, which for your own differences includes a code version."""
    return kind if kind in _SHIPPED else f"{kind}+{version_of_code(difference)}"


def read_differences(store: Store) -> Known:
    """Return all stored differences."""
    differences: Known = {
        pair: dict(zip(_SHIPPED, astuple(row)[2:], strict=True)) for pair, row in store.differences().items()
    }
    if store.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'difference'"):
        for first, second, kind, value in store.query("SELECT first, second, kind, value FROM difference"):
            differences.setdefault((first, second), {})[kind] = float("nan") if value is None else value
    return differences


def complete_differences(store: Store, archive: Archive, keys: Sequence[str], wanted: Mapping[str, Difference]) -> None:
    """Compute and store those requested differences between trained models that the store lacks."""
    if not wanted:
        return
    known = read_differences(store)
    lacking = {
        kind: [pair for pair in combinations(keys, 2) if versioned_name(kind, difference) not in known.get(pair, {})]
        for kind, difference in wanted.items()
    }
    shipped = dict.fromkeys(pair for kind in lacking if kind in _SHIPPED for pair in lacking[kind])
    store.add_differences(train_and_compare_jobs.compare_outputs(shipped, archive.folder))
    functions = {kind: difference for kind, difference in wanted.items() if kind not in _SHIPPED}
    outputs = {key: Output(*archive.outputs(key)[:2]) for key in keys} if functions else {}
    for kind, difference in functions.items():
        try:
            rows = [(*pair, difference(outputs[pair[0]], outputs[pair[1]])) for pair in lacking[kind]]
        except Exception as error:  # An error in a user's function must not end the run; the next run tries again.
            why = f"the difference {kind} has no value, so tests that need it have no scores: {failure_reason(error)}"
            LOG.warning(why)
            continue
        _write(store, versioned_name(kind, difference), rows)


def _write(store: Store, name: str, rows: Sequence[tuple[str, str, float]]) -> None:
    if not rows:
        return
    with store.transaction():
        store.query(DIFFERENCE)
        for first, second, value in rows:
            store.query("INSERT OR IGNORE INTO difference VALUES (?, ?, ?, ?)", (first, second, name, float(value)))
