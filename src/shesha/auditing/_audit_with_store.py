"""Audit many representations on any kind of worker, with a store that lets interrupted runs resume."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha import runs
from shesha.auditing._settings_key import audit_parts, settings_key
from shesha.auditing.fingerprinted_representation import Subject
from shesha.auditing.representation_audit import Settings, audit_representation
from shesha.results import Faults, RepresentationAudit
from shesha.results.field_type_checks import require_types
from shesha.stability import Variant
from shesha.stability.estimators.split_scores import exact_bytes
from shesha.support.memory import memory_budget
from shesha.support.progress import mute_progress
from shesha.support.warnings import NotEstimableWarning

AUDITS = "audit"
"""Key under which a store keeps the findings about each representation."""
_SHORT_OF_MEMORY = "must fit the memory budget"


class Audits(runs.Kept):
    """Audits that are kept in a store, except those that ran out of memory: the next run may have more."""

    def keep_result(self, job: runs.Job, result: Any) -> float:
        """Store the findings unless the audit ran out of memory; return the seconds it took."""
        seconds, plain = result
        if _SHORT_OF_MEMORY not in json.dumps(plain):
            return super().keep_result(job, result)
        self.results[job.key] = plain
        return float(seconds)


def audit_with_store(
    subjects: Mapping[str, Subject],
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
        key: runs.Job(key, "audit", 1, audit_subject, (subjects[name], labels, settings, modules))
        for name, key in keys.items()
    }
    executor = runs.executor(workers, scheduler) if in_workers else runs.Here()
    meter = runs.Meter(executor.n_workers, "audits")
    plan = Audits(store, AUDITS, jobs.values(), meter)
    try:
        runs.run(plan, executor, meter)
    except KeyboardInterrupt:
        finished = {name: key for name, key in keys.items() if key in plan.results}
        if not finished:
            raise
        return [_rename_result(name, subjects[name], key, plan) for name, key in finished.items()], True
    return [_rename_result(name, subjects[name], key, plan) for name, key in keys.items()], False


def audit_subject(
    subject: Subject, y: ArrayLike | None, settings: Settings, modules: tuple[str, ...]
) -> dict[str, Any]:
    """Audit one representation in this process; the caller adds its name to the result."""
    for module in modules:
        # Importing a module registers the scores that are decorated in it.
        importlib.import_module(module)
    with mute_progress(), warnings.catch_warnings():
        # The result contains the reason, so the warning is not needed.
        warnings.simplefilter("ignore", NotEstimableWarning)
        return audit_representation("X", subject.load(), y, settings).to_dict()


def _rename_result(name: str, subject: Subject, key: str, plan: runs.Kept) -> RepresentationAudit:
    if key in plan.results:
        with plan.store.decoding():
            found = require_types(RepresentationAudit.from_dict(plan.results[key]))
        return replace(found, name=name)
    n_features = subject.shape[1] if len(subject.shape) > 1 else 0
    return RepresentationAudit(name, subject.n_rows, n_features, Faults(), reason=plan.failures[key])


def _modules(in_workers: bool) -> tuple[str, ...]:
    """Return the modules that define the parts of an audit, which worker processes must be able to import."""
    modules = tuple(dict.fromkeys(part.function.__module__ for part in audit_parts()))
    if in_workers and "__main__" in modules:
        names = ", ".join(part.name for part in audit_parts() if part.function.__module__ == "__main__")
        raise ValueError(f"workers must be 1 for scores that other processes cannot import, got {names}")
    return tuple(module for module in modules if module != "__main__")


def _key(subject: Subject, request: str) -> str:
    """Return the store key of an audit; for data larger than the memory budget, it includes the budget."""
    draws = [part.estimator_options.get("n_draws", 1) for part in audit_parts() if isinstance(part, Variant)]
    budget = memory_budget()
    exact = exact_bytes(subject.n_rows, max(draws, default=1)) <= budget
    return f"{subject.fingerprint} {'exact' if exact else budget} {request}"
