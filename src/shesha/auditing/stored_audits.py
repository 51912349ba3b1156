"""Audits of many stored representations: fingerprints, keys of settings and code, stored values, and workers."""

from __future__ import annotations

import hashlib
import importlib
import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from shesha import runs
from shesha.auditing.representation_audit import RECORDED, Settings, audit_representation
from shesha.comparison.input_manifest import IndexedInput
from shesha.descriptors import descriptors
from shesha.doubting import doubt_functions
from shesha.nulls.permutations import nonempty_arguments
from shesha.results import Faults, RepresentationAudit
from shesha.results.base import encode
from shesha.results.json_loading import decode
from shesha.results.number import INTERRUPTED
from shesha.runs import ResultStore
from shesha.stability import Variant, list_variants
from shesha.stability.split_scores import exact_bytes
from shesha.support.memory import memory_budget
from shesha.support.progress import mute_progress
from shesha.support.warnings import NotEstimableWarning


def audit_parts() -> list[Any]:
    """Return every score and descriptor that an audit computes."""
    scores: list[Variant] = [variant for variant in list_variants().values() if variant.audited]
    return [*scores, *(descriptor for descriptor in descriptors().values() if descriptor.audited)]


def settings_key(y: ArrayLike | None, settings: Settings) -> str:
    """Return a key that identifies all settings of an audit: options, seed, labels, design and code."""
    design = {name: _text(value) for name, value in nonempty_arguments(settings.design).items()}
    plain = {name: getattr(settings, name) for name in RECORDED}
    design |= {name: _text(quantity) for name, quantity in settings.known.items()}
    # Scores and checks of other packages are not part of this library's code.
    version = runs.version_of_code(*(part.function for part in audit_parts()), *doubt_functions())
    return json.dumps([plain, design, None if y is None else _text(y), version], sort_keys=True)


def _text(value: Any) -> str:
    """Return an option as text; arrays such as labels become a hash of their values and type."""
    if np.ndim(value) == 0:
        return repr(value)
    array = np.asarray(value)
    digest = hashlib.sha256(f"{array.dtype.kind} {array.shape}".encode())
    digest.update(repr(array.tolist()).encode())
    return digest.hexdigest()[:24]


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


AUDITS = "audit"
"""Key under which a store keeps the findings about each representation."""
_SHORT_OF_MEMORY = "must fit the memory budget"


class Audits(runs.Kept):
    """Audits that are kept in a store, except those that are incomplete: the next run may have more memory or time."""

    def keep_result(self, job: runs.Job, result: Any) -> float:
        """Store the findings of a complete audit; return the seconds it took. After an interrupt, end the run."""
        seconds, plain = result
        text = json.dumps(plain)
        is_interrupted = json.dumps({"reason": INTERRUPTED})[1:-1] in text
        if not is_interrupted and _SHORT_OF_MEMORY not in text:
            return super().keep_result(job, result)
        self.results[job.key] = plain
        if is_interrupted:
            raise KeyboardInterrupt
        return float(seconds)


def audit_with_store(
    subjects: Mapping[str, IndexedInput],
    y: ArrayLike | None,
    settings: Settings,
    store: runs.ResultStore,
    workers: int | None = None,
    scheduler: str | None = None,
) -> tuple[list[RepresentationAudit], bool]:
    """Audit each distinct representation once, unless the store has its findings, and return all findings.

    The second return value is True if Ctrl-C interrupted the audit, in which case only the completed findings are
    returned. Each process may use the whole memory budget, so results do not depend on the number of processes.
    """
    in_workers = scheduler is not None or (workers or 1) > 1
    modules = _modules(in_workers)
    request, labels = settings_key(y, settings), None if y is None else np.asarray(y)
    keys = {name: _key(subject, request) for name, subject in subjects.items()}
    jobs = {
        key: runs.Job(key, "audit", 1, audit_subject, (subjects[name], labels, settings, modules, len(keys) == 1))
        for name, key in keys.items()
    }
    executor = runs.executor(workers, scheduler) if in_workers else runs.Here()
    meter = runs.Meter(executor.n_workers, "audits")
    plan = Audits(store, AUDITS, jobs.values(), meter)
    interrupted = False
    try:
        runs.run(plan, executor, meter)
    except KeyboardInterrupt:
        keys, interrupted = {name: key for name, key in keys.items() if key in plan.results}, True
        if not keys:
            raise
    return [_rename_result(name, subjects[name], key, plan) for name, key in keys.items()], interrupted


def audit_subject(
    subject: IndexedInput, y: ArrayLike | None, settings: Settings, modules: tuple[str, ...], alone: bool = False
) -> dict[str, Any]:
    """Audit one representation in this process; the caller adds its name to the result."""
    for module in modules:
        # Importing a module registers the scores that are decorated in it.
        importlib.import_module(module)
    with nullcontext() if alone else mute_progress(), warnings.catch_warnings():
        # The result contains the reason, so the warning is not needed.
        warnings.simplefilter("ignore", NotEstimableWarning)
        plain: dict[str, Any] = encode(audit_representation("X", subject.place.rows(), y, settings), "audit")
        return plain


def _rename_result(name: str, subject: IndexedInput, key: str, plan: runs.Kept) -> RepresentationAudit:
    if key in plan.results:
        with plan.store.decoding():
            found: RepresentationAudit = replace(decode(plan.results[key]), name=name)
        return found
    n_features = subject.shape[1] if len(subject.shape) > 1 else 0
    return RepresentationAudit(name, subject.n_rows, n_features, Faults(), reason=plan.failures[key])


def _modules(in_workers: bool) -> tuple[str, ...]:
    """Return the modules that define the parts of an audit, which worker processes must be able to import."""
    modules = tuple(dict.fromkeys(part.function.__module__ for part in audit_parts()))
    if in_workers and "__main__" in modules:
        names = ", ".join(part.name for part in audit_parts() if part.function.__module__ == "__main__")
        raise ValueError(f"workers must be 1 for scores that other processes cannot import, got {names}")
    return tuple(module for module in modules if module != "__main__")


def _key(subject: IndexedInput, request: str) -> str:
    """Return the store key of an audit; for data larger than the memory budget, it includes the budget."""
    draws = [part.estimator_options.get("n_draws", 1) for part in audit_parts() if isinstance(part, Variant)]
    budget = memory_budget()
    exact = exact_bytes(subject.n_rows, max(draws, default=1)) <= budget
    return f"{subject.fingerprint} {'exact' if exact else budget} {request}"
