"""Columns that name sampling units, such as batches, donors or guides, recognised by their names and values."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BATCHES = frozenset(
    (
        *("batch", "batches", "plate", "lane", "library", "lib", "run", "channel"),
        *("chip", "pool", "site", "lab", "centre", "center", "study", "dataset", "chemistry", "tech", "technology"),
        *("protocol", "platform", "assay", "experiment", "flowcell", "capture", "gem"),
        *("language", "lang", "source", "domain", "corpus", "slide", "slides", "wsi"),
    )
)
"""Words for batches, which the controls usually share with the other rows."""
_UNITS = frozenset(
    (
        *("donor", "donors", "patient", "patients", "subject", "subjects", "individual", "person", "participant"),
        *("mouse", "animal", "sample", "samples", "specimen", "biosample"),
        *("well", "wells", "clone", "line", "colony", "ind", "replicate", "replicates", "rep", "origident"),
        *("hto", "hashid", "hashtag", "embryo", "fish", "pup", "litter"),
    )
)
"""Words for sampling units."""
_GUIDES = frozenset(("guide", "guides", "grna", "grnas", "sgrna", "sgrnas", "guideid"))
"""Words for guides, which target one perturbation each."""
_MOST_SHARE = 0.5
"""Number of values, relative to the number of rows, from which on a column is not a sampling unit but a row name."""


def is_batch_name(name: str) -> bool:
    """Return whether a column is named like batches: batch, plate, lane, ...

    Examples
    --------
    >>> [name for name in ("batch", "Batch_ID", "gem_group", "cell_type", "n_batches_seen") if is_batch_name(name)]
    ['batch', 'Batch_ID', 'gem_group']
    """
    return _has_word(name, _BATCHES)


def is_unit_name(name: str) -> bool:
    """Return whether a column is named like sampling units: donor, guide, well, sample, orig.ident, ...

    Examples
    --------
    >>> [name for name in ("donor_id", "sgRNA", "patientID", "gene", "guide_umis") if is_unit_name(name)]
    ['donor_id', 'sgRNA', 'patientID', 'guide_umis']
    """
    return _has_word(name, _UNITS | _GUIDES)


def is_guide_name(name: str) -> bool:
    """Return whether a column is named like guides: guide, sgRNA, ..."""
    return _has_word(name, _GUIDES)


def _has_word(name: str, words: frozenset[str]) -> bool:
    parts = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z][a-z]|ID\b)", " ", str(name)).lower())
    if parts and parts[0] in ("n", "num", "number", "total", "frac", "pct"):
        return False
    return bool(words & {*parts, "".join(parts)})


def unit_labels(values: Any) -> NDArray[Any] | None:
    """Return the labels of a column that may name sampling units, as text with None for missing ones; None otherwise.

    Such a column has at least two values, and fewer than half as many as there are rows. Measurements with fractions
    are not labels.
    """
    from pandas import isna

    array = np.asarray(values, dtype=object)
    missing = np.asarray(isna(array), dtype=bool)
    known = array[~missing]
    if any(isinstance(value, float | np.floating) and value != np.floor(value) for value in known[:1000]):
        return None
    text = np.array([None if gone else str(value) for value, gone in zip(array, missing, strict=True)], dtype=object)
    n_values = len(set(text[~missing].tolist()))
    return text if 2 <= n_values <= max(2, _MOST_SHARE * len(known)) else None


def undeclared_batches(table: Any, used: Collection[str | None]) -> tuple[str, ...]:
    """Return a note on columns that are named like batches, if no blocks are declared.

    Parameters
    ----------
    table : DataFrame or mapping of column names to values
    used : collection of (str or None)
        The columns that an analysis already uses: classes, blocks and groups.
    """
    per, blocks, groups = used
    if blocks is not None:
        return ()
    names = [
        str(name)
        for name in table
        # Samples and donors are batches as well, unless donors are declared.
        if (is_batch_name(str(name)) or (groups is None and is_unit_name(str(name))))
        and str(name) not in (per, groups)
        and unit_labels(table[name]) is not None
    ]
    return (undeclared_batches_note(names),) if names else ()


def undeclared_batches_note(names: Collection[str]) -> str:
    """Return the note on columns that look like batches and are not used."""
    listed = " and ".join(map(repr, names))
    first = next(iter(names))
    return (
        f"Batches are not declared, but the {'column' if len(names) == 1 else 'columns'} {listed} "
        f"{'looks' if len(names) == 1 else 'look'} like batches. A batch effect in the reference then counts as "
        f"geometry to be kept, and removing it as a loss. Pass blocks={first!r} (--blocks {first})"
    )
