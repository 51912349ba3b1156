"""Audits of many representations on any workers, with a store that allows a run to resume."""

from __future__ import annotations

import hashlib
import importlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha import runs
from shesha.auditing._subjects import Subject
from shesha.auditing.findings import Settings, audit_representation
from shesha.descriptors import descriptors
from shesha.doubting import marked_functions
from shesha.nulls.permutations import nonempty_arguments
from shesha.results import Faults, RepresentationAudit
from shesha.stability import Variant, registered_variants
from shesha.stability.estimators.split_scores import exact_bytes
from shesha.support.memory import memory_budget
from shesha.support.progress import mute_progress
from shesha.support.seeds import generator
from shesha.support.types import Seed
from shesha.support.warnings import NotEstimableWarning

AUDITS = "audit"
"""The name in the store for the findings about one content."""
FOLLOWED = (*runs.FOLLOWED, "auditing", "descriptors", "doubting", "stability")
_SHORT_OF_MEMORY = "must fit the memory budget"


class Audits(runs.Kept):
    """Audits that are stored, except those that lacked memory, because the next run may have more."""

    def keep_result(self, job: runs.Job, result: Any) -> float:
        """Store the findings."""
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
    """Audit each content once, unless the store has it, and return the findings by name.

    Ctrl-C ends it early: what is finished is returned, and that it was interrupted.
    Each process may take the whole memory budget, so that the numbers are the same on any number of them.
    """
    apart = scheduler is not None or (workers or 1) > 1
    modules = _modules(apart)
    asked, labels = settings_key(y, settings), None if y is None else np.asarray(y)
    keys = {name: _key(one, asked) for name, one in subjects.items()}
    jobs = {
        key: runs.Job(key, "audit", 1, audit_subject, (subjects[name], labels, settings, modules))
        for name, key in keys.items()
    }
    executor = runs.executor(workers, scheduler) if apart else runs.Here()
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
    """Audit one representation in this process; names are added to the results later."""
    for module in modules:
        # Scores of one's own are known once the module that marks them is imported.
        importlib.import_module(module)
    with mute_progress(), warnings.catch_warnings():
        # The reason stands in the result.
        warnings.simplefilter("ignore", NotEstimableWarning)
        return audit_representation("X", subject.load(), y, settings).to_dict()


def _rename_result(name: str, subject: Subject, key: str, plan: runs.Kept) -> RepresentationAudit:
    if key in plan.results:
        return replace(RepresentationAudit.from_dict(plan.results[key]), name=name)
    n_features = subject.shape[1] if len(subject.shape) > 1 else 0
    return RepresentationAudit(name, subject.n_rows, n_features, Faults(), reason=plan.failures[key])


def _parts() -> list[Any]:
    """Return the parts of an audit: scores and descriptors."""
    scores: list[Variant] = [one for one in registered_variants().values() if one.audited]
    return [*scores, *(one for one in descriptors().values() if one.audited)]


def _modules(apart: bool) -> tuple[str, ...]:
    """Return the modules of an audit, which other processes must be able to import."""
    found = tuple(dict.fromkeys(one.function.__module__ for one in _parts()))
    if apart and "__main__" in found:
        own = ", ".join(one.name for one in _parts() if one.function.__module__ == "__main__")
        raise ValueError(f"workers must be 1 for scores that other processes cannot import, got {own}")
    return tuple(one for one in found if one != "__main__")


def _version() -> str:
    """Return a hash of the code of an audit, including scores, which no module imports directly."""
    return runs.version_of_code(*list_audit_code(), follow=FOLLOWED)


def list_audit_code() -> list[Any]:
    """Return the functions and classes that an audit calls, including marked ones."""
    parts = _parts()
    estimators = [one.estimator for one in parts if isinstance(one, Variant) and one.estimator is not None]
    scores = [*(one.function for one in parts), *(one.view for one in parts), *estimators]
    return [audit_representation, *scores, *marked_functions()]


def settings_key(y: ArrayLike | None, settings: Settings) -> str:
    """Return a key of all settings of an audit: options, seed, labels, design, code."""
    design = {name: _text(value) for name, value in nonempty_arguments(settings.design).items()}
    plain = {
        name: getattr(settings, name)
        for name in ("metric", "confidence", "n_bootstrap", "n_permutations", "pairs", "seed")
    }
    design |= {name: _text(quantity) for name, quantity in settings.known.items()}
    return json.dumps([plain, design, None if y is None else _text(y), _version()], sort_keys=True)


def _text(value: Any) -> str:
    """Return an option as text; for labels, a hash of their values and kind."""
    if np.ndim(value) == 0:
        return repr(value)
    array = np.asarray(value)
    digest = hashlib.sha256(f"{array.dtype.kind} {array.shape}".encode())
    digest.update(repr(array.tolist()).encode())
    return digest.hexdigest()[:24]


def _key(subject: Subject, request: str) -> str:
    """Return the key of an audit; beyond the memory budget, it includes the budget, which decides sampling."""
    draws = [one.estimator_options.get("n_draws", 1) for one in _parts() if isinstance(one, Variant)]
    budget = memory_budget()
    exact = exact_bytes(subject.n_rows, max(draws, default=1)) <= budget
    return f"{subject.fingerprint} {'exact' if exact else budget} {request}"


def fix_seed(seed: Seed) -> int:
    """Return the seed as a number that all processes share; draw one if none is given."""
    return int(generator(seed).integers(2**63)) if seed is None or isinstance(seed, np.random.Generator) else int(seed)
