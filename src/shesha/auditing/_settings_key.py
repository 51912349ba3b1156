"""Store keys that identify the settings and the code of an audit."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha import runs
from shesha.auditing.representation_audit import Settings, audit_representation
from shesha.descriptors import descriptors
from shesha.doubting import marked_functions
from shesha.nulls.permutations import nonempty_arguments
from shesha.stability import Variant, registered_variants

FOLLOWED = (*runs.FOLLOWED, "auditing", "descriptors", "doubting", "stability")


def audit_parts() -> list[Any]:
    """Return every score and descriptor that an audit computes."""
    scores: list[Variant] = [variant for variant in registered_variants().values() if variant.audited]
    return [*scores, *(descriptor for descriptor in descriptors().values() if descriptor.audited)]


def _version() -> str:
    """Return a hash of the code of an audit, including scores, which are found by lookup, not by import."""
    return runs.version_of_code(*list_audit_code(), follow=FOLLOWED)


def list_audit_code() -> list[Any]:
    """Return the functions and classes that an audit calls, including registered ones."""
    parts = audit_parts()
    estimators = [part.estimator for part in parts if isinstance(part, Variant) and part.estimator is not None]
    scores = [*(part.function for part in parts), *(part.view for part in parts), *estimators]
    return [audit_representation, *scores, *marked_functions()]


def settings_key(y: ArrayLike | None, settings: Settings) -> str:
    """Return a key that identifies all settings of an audit: options, seed, labels, design and code."""
    design = {name: _text(value) for name, value in nonempty_arguments(settings.design).items()}
    plain = {
        name: getattr(settings, name)
        for name in ("metric", "confidence", "n_bootstrap", "n_permutations", "pairs", "seed")
    }
    design |= {name: _text(quantity) for name, quantity in settings.known.items()}
    return json.dumps([plain, design, None if y is None else _text(y), _version()], sort_keys=True)


def _text(value: Any) -> str:
    """Return an option as text; arrays such as labels become a hash of their values and type."""
    if np.ndim(value) == 0:
        return repr(value)
    array = np.asarray(value)
    digest = hashlib.sha256(f"{array.dtype.kind} {array.shape}".encode())
    digest.update(repr(array.tolist()).encode())
    return digest.hexdigest()[:24]
