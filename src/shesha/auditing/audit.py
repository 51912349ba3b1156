"""Audit one or several representations."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha import runs
from shesha.auditing.drift_path import measure_drift
from shesha.auditing.equal_width_scores import equal_width_scores
from shesha.auditing.fingerprinted_representation import Subject
from shesha.auditing.representation_audit import Settings, align_with_rows, audit_representation
from shesha.auditing.stored_audits import StoredValues
from shesha.comparison.input_manifest import Files, IndexedInput, InFile, index_file, index_files
from shesha.comparison.input_manifest import InputIndex as Contents
from shesha.descriptors import Descriptor, descriptors
from shesha.doubting import text_lengths
from shesha.inputs import MissingRows, RowChoice
from shesha.inputs import validation as check
from shesha.inputs.matrix_shapes import one_row_per_input
from shesha.io.large_matrices import copy_large_files
from shesha.kernels.distances import METRICS, Metric
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Audit, DriftPath, LabelClasses, Meaning, RepresentationAudit
from shesha.runs import ResultStore
from shesha.stability import Variant, registered_variants
from shesha.stability.estimators.sampled_pairs import PairCount, check_pairs
from shesha.stability.evaluation import resolve_design
from shesha.support import argument_types as kinds
from shesha.support.device_arrays import array_shape
from shesha.support.draw_counts import N_BOOTSTRAP, N_PERMUTATIONS
from shesha.support.layer_axis import LayerAxis, split_layers
from shesha.support.progress import mute_progress, track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import generator
from shesha.support.types import Seed
from shesha.support.warnings import MeasureWarning, NotEstimableWarning, warn
from shesha.views import Rdm, Representation, Rows, hint_of_distances, restrict, rows_or_distances


def meanings() -> dict[str, Meaning]:
    """Return the title, meaning and limits of each number of an audit, in the order of the report."""
    rows = [variant for variant in registered_variants().values() if variant.audited and variant.needs == "rows"]
    labels = [variant for variant in registered_variants().values() if variant.audited and variant.needs_labels]
    parts: list[Variant | Descriptor] = [*rows, *descriptors().values(), *labels]
    return {
        part.name: Meaning(part.title, f"{part.means} {part.means_not}", part.means, part.means_not)
        for part in parts
        if part.audited
    }


def stored_subjects(
    representations: Any, layer_axis: LayerAxis, store: ResultStore, ids: str | None = None
) -> dict[str, Subject]:
    """Describe each array or file under its name; skip unreadable files with a warning."""
    files = _find_files(representations, layer_axis)
    if files is None:
        return _mapping_subjects(representations, layer_axis, store, ids)
    return _file_subjects(files if ids is None else replace(files, ids=ids), store)


def map_large_files(representations: Any, stack: ExitStack) -> Any:
    """Replace files that neither fit in memory nor can be memory-mapped with temporary copies, and warn."""
    is_path_list = (
        isinstance(representations, list | tuple) and bool(representations) and all(map(kinds.is_path, representations))
    )
    if not is_path_list and not kinds.is_path(representations):
        return representations
    paths = representations if is_path_list else [representations]
    copies = copy_large_files(
        stack.enter_context, [Path(path) for path in paths], lambda text: warn(text, MeasureWarning)
    )
    used = [new if new != Path(old) else old for new, old in zip(copies, paths, strict=True)]
    return used if is_path_list else used[0]


def _find_files(representations: Any, layer_axis: LayerAxis) -> Files | None:
    """Return the input as `Files` if it consists of paths, or None if it consists of arrays."""
    if isinstance(representations, Files):
        return representations
    if kinds.is_path(representations):
        return Files([representations], layer_axis=layer_axis, as_it_is=True, flatten=True)
    is_list = isinstance(representations, Sequence) and not isinstance(representations, str) and len(representations)
    if is_list and all(map(kinds.is_path, representations)):
        return Files(list(representations), layer_axis=layer_axis, as_it_is=True, flatten=True)
    return None


def _file_subjects(files: Files, store: ResultStore) -> dict[str, Subject]:
    """Describe each file; skip unreadable ones with a warning."""
    index = index_files(files, store)
    index.warn_of_left_out()
    if not index.known:
        reasons = "; ".join(f"{path}: {reason}" for path, reason in index.left_out.items())
        raise ValueError(f"representations must contain at least one readable array, got none; {reasons}".rstrip("; "))
    return {name: _subject_from_index(known) for name, known in index.known.items()}


def _mapping_subjects(
    representations: Any, layer_axis: LayerAxis, store: ResultStore, ids: str | None
) -> dict[str, Subject]:
    """Describe each named array and each array in a named file."""
    named = representations if isinstance(representations, Mapping) else {"X": representations}
    if not named:
        raise ValueError("representations must contain at least one matrix, got none")
    index, subjects, repeated = Contents(), dict[str, Subject](), list[str]()
    for label, value in split_layers(named, layer_axis).items():
        new = _array_subjects(str(label), value, layer_axis, store, index, ids)
        repeated += [repr(name) for name in new if name in subjects]
        subjects |= new
    if repeated:
        raise ValueError(f"representations must have distinct names, got {', '.join(repeated)} more than once")
    index.warn_of_left_out()
    if not subjects:
        raise ValueError(f"representations must contain at least one readable array, got {index.left_out}")
    return subjects


def _array_subjects(
    name: str, value: Any, layer_axis: LayerAxis, store: ResultStore, index: Contents, ids: str | None
) -> dict[str, Subject]:
    if kinds.is_path(value):
        files = Files([Path(value)], layer_axis=layer_axis, as_it_is=True, flatten=True, ids=ids)
        return {key: _subject_from_index(known) for key, known in index_file(name, files, store, index).items()}
    value = one_row_per_input(value, name)
    return {name: Subject.in_memory(rows_or_distances(value, name, min_rows=0, min_columns=0))}


def _subject_from_index(entry: IndexedInput) -> Subject:
    assert isinstance(entry.place, InFile)
    return Subject(entry.place, entry.shape, entry.fingerprint, entry.names)


_RECORDED = ("metric", "confidence", "n_bootstrap", "n_permutations", "pairs", "seed")
Data = ArrayLike | Rdm | Representation | Rows
_FEWEST_DRAWS = 19
_MANY_CLASSES = 0.5
"""Share of distinct labels per row above which labels are assumed to be row names."""


@keep_statements
def audit(
    representations: Data
    | Mapping[str, Data | os.PathLike[str]]
    | Sequence[str | os.PathLike[str]]
    | str
    | os.PathLike[str],
    y: ArrayLike | None = None,
    *,
    metric: Metric = "cosine",
    confidence: float = 0.95,
    n_bootstrap: int = N_BOOTSTRAP,
    n_permutations: int = N_PERMUTATIONS,
    pairs: PairCount = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    layer_axis: LayerAxis = "guess",
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    ids: str | None = None,
    seed: Seed = 0,
    workers: int | None = None,
    scheduler: str | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Audit:
    """Audit representations: faults, stability with interval and chance level, spectrum, labels and drift.

    Rows that have no direction under the metric are left out and reported. If a representation cannot be scored (NaN,
    too few rows or columns), the result states the reason, and the others are still audited.

    Parameters
    ----------
    representations : mapping of names to arrays, or one array of shape (n_samples, n_features)
        Several representations of the same rows (layers, checkpoints) are ranked on equal numbers of features, and
        their drift is measured in the given order. Memory-mapped files stay on disk, and sparse matrices stay sparse.
        An `Rdm` is audited with the scores that need only distances. Named rows and labels are put in the order of the
        first representation. To read files when they are needed, pass one path, a list of paths or a directory. A file
        that cannot be read is left out with a warning.
    y : array of shape (n_samples,), optional
        Class labels. They add the supervised scores, each with its null distribution under shuffled labels.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows. Scores with a fixed convention do not depend on it (alignment with the labels:
        correlation; class separation: Euclidean).
    confidence : float
        Confidence level of the intervals, in (0, 1).
    n_bootstrap : int
        Number of bootstrap resamples of the rows for each interval; 0 for none.
    n_permutations : int
        Number of permutations for each chance level; 0 for none.
    pairs : int or 'all', optional
        Number of random pairs of rows to use, or 'all'. Default: all pairs for up to 1,414 rows, and 1,000,000 random
        pairs for more rows (see `estimate`).
    blocks, groups, within, shift, block_length
        Which rows are exchangeable or resampled together, as for `shesha.nulls.exchange`. If you pass none of these
        options and the rows seem dependent, the report names the option to pass.
    layer_axis : int, None or 'guess'
        Axis of a 3-D array along which its layers are stacked, as for `compare_all`. Each layer is audited as a
        representation.
    rows : {'same', 'shared'}
        Whether all representations and labels must have the same row names, or only the rows that all have are used.
    missing : {'refuse', 'drop'}
        What to do with rows that contain NaN or infinity: by default, their representation is not scored, and the
        result states the reason. 'drop' leaves such rows, and rows of zeros, out of all representations and counts
        them.
    ids : str, optional
        Column or array that identifies the rows of each file. Default: the index, or one that is named like an
        identifier.
    seed : int, Generator or None
        Seed of all random numbers; the default 0 makes an audit reproducible. The result records the seed; if `seed` is
        None or a Generator, it records the number that was drawn from it.
    workers : int, optional
        Number of processes. Each audits one representation at a time and may use the whole memory budget. Default: one
        process with several threads.
    scheduler : str, optional
        Address of a running Dask scheduler to use instead of local processes. Its workers must be able to read the
        files.
    store : path, optional
        File that stores the findings about each representation; it can be shared with `compare_all`. After an
        interruption, rerun the same call to resume. If you add representations, only the new ones are audited.
        Findings are identified by the content, the options, the labels and a hash of the code.

    Returns
    -------
    Audit
        The result prints as a report; `to_frame()` returns one row per representation, and `plot()` draws a figure.
        After Ctrl-C, it contains the representations completed so far and is marked as interrupted.

    Examples
    --------
    >>> import shesha.data
    >>> layers, labels = shesha.data.digits_network()
    >>> last = {"init": layers["init_layer3"], "trained": layers["trained_layer3"]}
    >>> found = audit(last, labels, n_bootstrap=20, n_permutations=19)
    >>> found.ranking
    ('trained', 'init')
    >>> found.to_frame()[["representation", "n_rows", "n_features"]]
      representation  n_rows  n_features
    0           init     900          32
    1        trained     900          32
    """
    check.choice(metric, METRICS, "metric")
    runs.require_workers(workers, scheduler)
    settings = Settings(
        metric=metric,
        confidence=check.fraction(confidence, "confidence", closed=False),
        n_bootstrap=check.count(n_bootstrap, "n_bootstrap", minimum=0),
        n_permutations=_draws(n_permutations),
        pairs=check_pairs(pairs),
        seed=_fix_seed(seed),
        design=Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length),
        known=text_lengths(representations),
    )
    if not (_holds_paths(representations) or store is not None or scheduler or (workers or 1) > 1):
        subjects = _subjects_in_memory(representations, layer_axis)
        subjects, y, settings = _restrict_rows(subjects, y, settings, rows, missing)
        return _audit_subjects(subjects, y, settings, _audit_in_turn, StoredValues())
    # These modules import all measures, which an audit of arrays in memory does not need.
    pass
    from shesha.auditing.stored_audits import audit_with_store

    with ExitStack() as copies, runs.open_for_writing(store) as opened_store:
        # Workers on other machines cannot read local copies.
        local = map_large_files(representations, copies) if scheduler is None else representations
        subjects = stored_subjects(local, layer_axis, opened_store, ids)
        subjects, y, settings = _restrict_rows(subjects, y, settings, rows, missing)
        compute = partial(audit_with_store, store=opened_store, workers=workers, scheduler=scheduler)
        return _audit_subjects(subjects, y, settings, compute, StoredValues(opened_store))


def _restrict_rows(
    subjects: Mapping[str, Subject], y: ArrayLike | None, settings: Settings, rows: RowChoice, missing: MissingRows
) -> tuple[dict[str, Subject], ArrayLike | None, Settings]:
    """Put all rows in one order, without those that are not shared, incomplete or without a label."""
    along: dict[str, Any] = {"y": y, **settings.design, "known": dict(settings.known) or None}
    used, along = restrict(subjects, along, rows=rows, missing=missing, metric=settings.metric, align=True)
    y, known = along.pop("y"), along.pop("known")
    return used, y, replace(settings, design=cast(Design, along), known=known or {})


def _audit_subjects(
    subjects: Mapping[str, Subject],
    y: ArrayLike | None,
    settings: Settings,
    compute: Callable[[Mapping[str, Subject], Any, Settings], tuple[list[RepresentationAudit], bool]],
    stored: StoredValues,
) -> Audit:
    """Audit each subject with `compute`, then add what needs several: equal-width scores and drift."""
    y, settings = align_with_rows([subject.names for subject in subjects.values()], y, settings)
    _require_usable(y, settings, [subject.n_rows for subject in subjects.values()])
    findings, interrupted = compute(subjects, y, settings)
    findings = equal_width_scores(subjects, findings, settings, stored)
    finished = {finding.name: subjects[finding.name] for finding in findings}
    drift, reason = measure_drift(finished, findings, settings.metric, stored)
    return _as_result(findings, y, drift, reason, settings, interrupted)


def _subjects_in_memory(representations: Any, layer_axis: LayerAxis) -> dict[str, Subject]:
    named = _check_names(representations, layer_axis)
    hint_of_distances({name: X.sample for name, X in named.items() if isinstance(X, Rows) and not X.is_sparse})
    return {name: Subject.in_memory(X) for name, X in named.items()}


def _audit_in_turn(
    subjects: Mapping[str, Subject], y: ArrayLike | None, settings: Settings
) -> tuple[list[RepresentationAudit], bool]:
    """Audit one representation after another; on Ctrl-C, return those completed so far."""
    audits: list[RepresentationAudit] = []
    alone = len(subjects) == 1
    try:
        for name, subject in subjects.items() if alone else track(subjects.items(), len(subjects), "representations"):
            # A single representation shows progress within its audit; several show only the overall progress.
            with nullcontext() if alone else mute_progress(), warnings.catch_warnings():
                # The result contains the reason, so the warning is not needed.
                warnings.simplefilter("ignore", NotEstimableWarning)
                audits.append(audit_representation(name, subject.load(), y, settings))
    except KeyboardInterrupt:
        if not audits:
            raise
        return audits, True
    return audits, False


def _as_result(
    findings: Sequence[RepresentationAudit],
    y: ArrayLike | None,
    drift: DriftPath | None,
    reason: str,
    settings: Settings,
    interrupted: bool,
) -> Audit:
    plain = {name: getattr(settings, name) for name in _RECORDED}
    if nonempty_arguments(settings.design):
        plain["design"] = tuple(nonempty_arguments(settings.design))
    labels = None if y is None else _classes(y)
    return Audit(tuple(findings), drift, reason, plain, meanings(), labels, interrupted)


def _classes(y: ArrayLike) -> LabelClasses:
    codes, classes = check.labels(y, len(np.asarray(y)))
    sizes = np.bincount(codes, minlength=len(classes))
    return LabelClasses(tuple(map(str, classes)), tuple(map(int, sizes)), str(getattr(y, "name", None) or ""))


def _check_names(representations: Data | Mapping[str, Data], layer_axis: LayerAxis) -> dict[str, Rows | Rdm]:
    if isinstance(representations, list | tuple) and all(len(array_shape(array)) == 2 for array in representations):
        raise TypeError(f"representations must be a mapping of names to matrices, got a list of {len(representations)}")
    if not isinstance(representations, Mapping):
        representations = {"X": representations}
    if not representations:
        raise ValueError("representations must contain at least one matrix, got none")
    representations = split_layers(representations, layer_axis)
    names = [str(name) for name in representations]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"representations must have distinct names, got {check.join_items(map(repr, repeated))} more than once"
        )
    arrays = zip(names, representations.values(), strict=True)
    return {name: rows_or_distances(one_row_per_input(X, name), name, min_rows=0, min_columns=0) for name, X in arrays}


def _draws(n_permutations: int) -> int:
    """Check that the number of draws is 0 or large enough for a p-value of 0.05."""
    n = check.count(n_permutations, "n_permutations", minimum=0)
    if 0 < n < _FEWEST_DRAWS:
        raise ValueError(f"n_permutations must be at least {_FEWEST_DRAWS}, or 0 for none, got {n}")
    return n


def _fix_seed(seed: Seed) -> int:
    """Return one integer seed that all representations and processes share, drawing it if none is given."""
    rng = generator(seed)
    return int(seed) if isinstance(seed, int | np.integer) else int(rng.integers(2**63))


def _require_usable(y: ArrayLike | None, settings: Settings, sizes: Sequence[int]) -> None:
    """Refuse labels and designs that do not fit the rows, before anything is computed."""
    if y is not None:
        _require_usable_labels(y, sizes)
    for n in dict.fromkeys(sizes):
        resolve_design(settings.design, n)


def _require_usable_labels(y: ArrayLike, sizes: Sequence[int]) -> None:
    """Refuse labels that match no representation in length or that look like row names."""
    n_rows = dict.fromkeys(sizes)
    shape = array_shape(y)
    length = shape[0] if len(shape) == 1 else -1
    codes, classes = check.labels(y, length if length in n_rows else next(iter(n_rows)))
    if len(classes) > max(2, _MANY_CLASSES * len(codes)):
        raise ValueError(f"y must contain classes, got {len(classes)} different labels for {len(codes)} rows")


def _holds_paths(representations: Any) -> bool:
    """Return whether the input is a path, several paths, `Files`, or a mapping that contains paths."""
    if kinds.is_path(representations) or hasattr(representations, "as_it_is"):
        return True
    if isinstance(representations, Mapping):
        return any(map(kinds.is_path, representations.values()))
    is_list = isinstance(representations, list | tuple) and bool(representations)
    return is_list and all(map(kinds.is_path, representations))
