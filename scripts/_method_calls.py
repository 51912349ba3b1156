"""Methods of public classes, as functions of named arguments that `fuzz_calls.py` can replace."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import shesha
from shesha import drift
from shesha.measures import Groups
from shesha_studies.session_table import Session


def moments(X: Any, Y: Any, names: Any = ("X", "Y")) -> Any:
    """Count rows, and compare."""
    found = shesha.Moments(names)
    found.update(X, Y)
    return shesha.compare(found, "CKA")


def moments_of(X: Any, Y: Any, n_permutations: int = 19) -> Any:
    """Count rows at once, and calibrate."""
    return shesha.compare(shesha.Moments.of(X, Y), "CKA", calibrate=True, n_permutations=n_permutations)


def moments_merged(X: Any, Y: Any, other: Any = None) -> Any:
    """Merge two counts."""
    first, second = shesha.Moments(), shesha.Moments()
    first.update(X, Y)
    second.update(Y, X) if other is None else None
    return first.merge(second if other is None else other)


def moments_load(path: Any) -> Any:
    """Load a count."""
    return shesha.Moments.load(path)


def layer_moments(layers: Any, others: Any) -> Any:
    """Count the rows of layers, and compare."""
    found = shesha.LayerMoments()
    found.update(layers, others)
    return shesha.compare_layers(found, "CKA")


def named_pairs(pairs: Any, n_permutations: int = 19, seed: Any = 0) -> Any:
    """Compare named pairs."""
    return shesha.compare_all(pairs, "CKA", calibrate=True, n_permutations=n_permutations, seed=seed)


def rdm(D: Any, name: Any = "D") -> Any:
    """Compare distances."""
    return shesha.compare(shesha.Rdm(D, name), shesha.Rdm(D), "RSA")


def groups(X: Any, Y: Any, labels: Any) -> Any:
    """Held-out values by groups."""
    return shesha.compare(X, Y, shesha.measures.get("linear predictivity").with_options(groups=Groups(labels)))


def session(X: Any, conditions: Any, areas: Any = "VISp", outcome: Any = None, animal: Any = "") -> Any:
    """Describe a session."""
    return Session(X, conditions, areas, outcome, animal)


def monitor(
    X: Any,
    current: Any,
    nulls: Any = None,
    labels: Any = None,
    false_alarm: Any = None,
    run_length: Any = None,
    measures: Any = None,
    tolerance: Any = None,
    about: Any = None,
    n_resamples: Any = 99,
    seed: Any = 0,
) -> Any:
    """Check, update and save a monitor."""
    options = {"false_alarm": false_alarm, "run_length": run_length, "measures": measures, "tolerance": tolerance}
    made = drift.DriftMonitor(X, nulls=nulls, labels=labels, about=about, n_resamples=n_resamples, seed=seed, **options)
    made.check(current)
    return made.update(current if hasattr(current, "toarray") else current[:9])


def monitor_history(X: Any, kind: Any = "check", last: Any = None) -> Any:
    """Return the history of a monitor."""
    made = drift.DriftMonitor(X)
    made.check(X)
    return made.history(kind, last)


def monitor_saved(X: Any, name: Any = "m", keep_rows: Any = True, overwrite: Any = True) -> Any:
    """Save and load a monitor."""
    made = drift.DriftMonitor(X)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / name if isinstance(name, str) else name
        made.save(place, keep_rows=keep_rows, overwrite=overwrite)
        return drift.DriftMonitor.load(place)


def result_saved(X: Any, path: Any = "found.json") -> Any:
    """Save and load a result."""
    return shesha.load(shesha.estimate(X, n_bootstrap=5, n_draws=2, seed=0).save(path))


def cite(used: Any = "CKA") -> Any:
    """Cite a result."""
    return shesha.cite(used)


def pairs_by(measure: Any = "CKA") -> Any:
    """Return one pair from a table of pairs."""
    X = np.random.default_rng(0).standard_normal((20, 4))
    found = shesha.compare_all({"a": X, "b": X**2}, ["CKA", "RSA"])
    return found.matrix(measure), found.to_frame()


METHODS = tuple(
    value for value in dict(globals()).values() if callable(value) and getattr(value, "__module__", "") == __name__
)
