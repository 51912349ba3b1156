"""Audit one or several representations: their scores, scores on equally many features, and the drift between them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha import runs
from shesha.auditing.representation_audit import RECORDED, Settings, align_with_rows, audit_representation
from shesha.auditing.stored_audits import StoredValues, audit_with_store, settings_key
from shesha.comparison.input_manifest import Files, IndexedInput, InputIndex, index_file, index_files
from shesha.descriptors import Descriptor, descriptors
from shesha.doubting import (
    find_recorded_columns,
    other_columns,
    row_properties,
    state_columns_of_classes,
    state_main_column,
    state_separate_blocks,
    state_units_of_classes,
    warn_of_shuffled_rows,
)
from shesha.inputs import MissingRows, RowChoice, validation as check
from shesha.inputs.matrix_shapes import one_row_per_input, refuse_other_axis
from shesha.io.large_matrices import copy_large_files
from shesha.kernels.distances import METRICS, Metric
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Audit, DriftPath, Estimate, LabelClasses, Meaning, RepresentationAudit
from shesha.results.base import encode
from shesha.results.json_loading import decode
from shesha.runs import ResultStore
from shesha.stability import Variant, list_variants
from shesha.stability.estimate import as_estimate
from shesha.stability.evaluation import build_request, evaluate, resolve_design
from shesha.stability.row_matching import PairCount, check_pairs
from shesha.stability.scores.rdm_drift import EQUAL, drift_of_ranks, warn_of_order
from shesha.stability.split_scores import exact_bytes
from shesha.support import types as kinds
from shesha.support.device_arrays import array_shape
from shesha.support.layer_axis import LayerAxis, split_layers
from shesha.support.memory import memory_budget
from shesha.support.progress import collect, mute_progress, track
from shesha.support.provenance import keep_statements, state, state_warning
from shesha.support.seeds import CONFIDENCE, N_BOOTSTRAP, N_PERMUTATIONS, draw_seed, generator
from shesha.support.sqlite import StoreError
from shesha.support.types import Index, Labels, Seed, Vector
from shesha.support.warnings import MeasureWarning, NotEstimable, NotEstimableWarning, warn
from shesha.views import (
    RankedRdm,
    Rdm,
    Representation,
    Rows,
    hint_of_distances,
    representation_from,
    restrict,
    rows_or_distances,
    warn_of_misnamed_labels,
    warn_of_other_order,
    warn_of_resemblance_by_name,
)

WIDTHS = "width"
"""Key under which a store keeps scores at equal width."""
_SCORE = "feature_split"
_CHOICES, _SPLITS = 10, 3
"""Number of random subsets of features, and number of feature partitions for each subset.

Their product, 30, is the default number of partitions for this score.
"""


def equal_width_scores(
    subjects: Mapping[str, IndexedInput],
    findings: Sequence[RepresentationAudit],
    settings: Settings,
    stored: StoredValues,
) -> list[RepresentationAudit]:
    """If widths differ, add to each finding its score at equal width; one file is in memory at a time."""
    widths = {finding.n_features for finding in findings if _has_score(finding)}
    if len(widths) < 2:
        return list(findings)
    width = min(widths)

    def score(finding: RepresentationAudit) -> Estimate | None:
        subject = subjects[finding.name]
        try:
            return stored.get(
                WIDTHS,
                lambda: f"{subject.fingerprint} {width} {settings_key(None, settings)}",
                lambda: encode(_equal_width_score(subject, finding, width, settings), WIDTHS),
                lambda plain: None if plain is None else decode(plain),
            )
        except StoreError:
            raise
        except (OSError, ValueError, MemoryError) as error:
            # The file may have changed since it was audited.
            return _missing_score(finding, width, str(error) or type(error).__name__)

    with mute_progress():
        return [
            replace(finding, same_width=score(finding)) if _has_score(finding) else finding
            for finding in track(findings, len(findings), "scores at equal width")
        ]


def score_at_width(source: Rows, width: int, settings: Settings, n_features: int) -> Estimate:
    """Score random subsets of the features, all of the same size, and average the scores.

    Parameters
    ----------
    source : Rows
        Rows to score.
    width : int
        Number of features in each subset.
    settings : Settings
        Metric, confidence level, numbers of resamples and pairs, seed, and the exchange design of these rows.
    n_features : int
        Total number of features of the rows.

    Returns
    -------
    Estimate
        Mean score. Its interval combines the errors due to the sampling of rows and to the choice of features.
    """
    rng = generator(settings.seed)
    chosen = [np.sort(rng.choice(n_features, width, replace=False)) for _ in range(_CHOICES)]
    scores = [_score_columns(source, columns, settings, rng) for columns in chosen]
    values = np.array([score.value for score in scores])
    if not np.isfinite(values).any():
        return scores[0]
    known = values[np.isfinite(values)]
    between_draws = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else 0.0
    rows = float(np.sqrt(np.mean([score.standard_error**2 for score in scores])))
    half = NormalDist().inv_cdf(0.5 + settings.confidence / 2) * float(np.hypot(rows, between_draws))
    value = float(known.mean())
    return replace(
        scores[0],
        value=value,
        low=max(-1.0, value - half),
        high=min(1.0, value + half),
        standard_error=rows,
        monte_carlo_error=between_draws,
        n_partitions=sum(score.n_partitions for score in scores),
        pairs_dropped=sum(score.pairs_dropped for score in scores),
        reason="",
    )


def _score_columns(rows: Rows, columns: Index, settings: Settings, rng: np.random.Generator) -> Estimate:
    request = build_request(
        rows.take_columns(columns),
        None,
        list_variants()[_SCORE],
        {"metric": settings.metric, "n_draws": _SPLITS},
        n_bootstrap=settings.n_bootstrap,
        pairs=settings.pairs,
        seed=int(rng.integers(2**63)),
        design=settings.exchange,
    )
    return as_estimate(request, evaluate(request), settings.confidence)


def _equal_width_score(
    subject: IndexedInput, finding: RepresentationAudit, width: int, settings: Settings
) -> Estimate | None:
    """Score a representation at the common width; the narrowest keeps the score that it already has."""
    if finding.n_features == width:
        return finding.feature_split
    rows = subject.place.rows()
    assert isinstance(rows, Rows)
    design = resolve_design(settings.design, finding.n_rows)
    row_settings = replace(settings, design={}, exchange=design)
    with warnings.catch_warnings():
        # The result contains the reason, so the warning is not needed.
        warnings.simplefilter("ignore", NotEstimableWarning)
        try:
            return score_at_width(rows, width, row_settings, finding.n_features)
        except (NotEstimable, ValueError) as error:
            # A row may be zero, and so have no direction, in the chosen features.
            return _missing_score(finding, width, str(error))


def _has_score(finding: RepresentationAudit) -> bool:
    score = finding.feature_split
    return not finding.reason and score is not None and score.value == score.value


def _missing_score(finding: RepresentationAudit, width: int, reason: str) -> Estimate | None:
    nan = float("nan")
    if finding.feature_split is None:
        return None
    return replace(finding.feature_split, value=nan, low=nan, high=nan, n_features=width, reason=reason, notes=())


_MIN_ROWS = 4
DRIFTS = "drift"
"""Key under which a store keeps the drift between two representations."""


def measure_drift(
    subjects: Mapping[str, IndexedInput], findings: Sequence[RepresentationAudit], metric: Metric, stored: StoredValues
) -> tuple[DriftPath | None, str]:
    """Return the drift from the first and from the previous representation, or the reason for none.

    At most three representations are in memory at a time.
    """
    if len(findings) < 2 or (reason := _obstacle(findings)):
        return None, "" if len(findings) < 2 else reason
    unnamed = {name: subject.place.rows() for name, subject in subjects.items() if subject.names is None}
    warn_of_other_order({name: rows.sample for name, rows in unnamed.items() if isinstance(rows, Rows)})
    steps = _Steps(metric, stored)
    ordered = list(subjects.values())
    start = ordered[0]
    first, previous = [0.0], [0.0]
    try:
        for before, after in pairwise(ordered):
            steps.forget_all_but(start, before)
            previous.append(steps.drift(before, after))
            first.append(previous[-1] if before is start else steps.drift(start, after))
    except (OSError, ValueError, MemoryError) as error:
        return None, str(error) or type(error).__name__
    reasons = tuple(EQUAL if np.isnan([a, b]).any() else "" for a, b in zip(first, previous, strict=True))
    return DriftPath(tuple(subjects), tuple(first), tuple(previous), "spearman", metric=metric, reasons=reasons), ""


class _Steps:
    """Computes drifts between representations; the distances of each are ranked only once."""

    def __init__(self, metric: Metric, stored: StoredValues) -> None:
        self._metric, self._stored = metric, stored
        self._ranked: dict[int, RankedRdm | None] = {}

    @cached_property
    def _request(self) -> str:
        return json.dumps([self._metric, runs.version_of_code()])

    def forget_all_but(self, *subjects: IndexedInput) -> None:
        """Free the memory of all other subjects."""
        needed = set(map(id, subjects))
        self._ranked = {key: view for key, view in self._ranked.items() if key in needed}

    def drift(self, a: IndexedInput, b: IndexedInput) -> float:
        """Return one minus the rank correlation of the distances; NaN if those of either side are all equal."""
        return self._stored.get(
            DRIFTS,
            lambda: f"{a.fingerprint} {b.fingerprint} {self._request}",
            lambda: drift_of_ranks(self._view(a), self._view(b)),
            float,
        )

    def _view(self, subject: IndexedInput) -> RankedRdm | None:
        if id(subject) not in self._ranked:
            try:
                view = representation_from(subject.place.rows()).view(RankedRdm, metric=self._metric)
            except NotEstimable:
                view = None
            self._ranked[id(subject)] = view
        return self._ranked[id(subject)]


def _obstacle(findings: Sequence[RepresentationAudit]) -> str:
    """Return why there is no drift, or an empty string."""
    if any(finding.reason for finding in findings):
        return "a representation could not be scored"
    n_rows = sorted({finding.n_rows for finding in findings})
    if len(n_rows) > 1:
        return f"the representations have different numbers of rows ({', '.join(map(str, n_rows))})"
    if exact_bytes(n_rows[0], 1) > memory_budget():
        return (
            f"the distances of {n_rows[0]:,} rows do not fit the memory budget; audit a subset of the rows to get the "
            "drift"
        )
    return ""


def meanings() -> dict[str, Meaning]:
    """Return the title, meaning and limits of each number of an audit, in the order of the report."""
    rows = [variant for variant in list_variants().values() if variant.audited and variant.needs == "rows"]
    labels = [variant for variant in list_variants().values() if variant.audited and variant.needs_labels]
    parts: list[Variant | Descriptor] = [*rows, *descriptors().values(), *labels]
    return {
        part.name: Meaning(part.title, f"{part.means} {part.means_not}", part.means, part.means_not)
        for part in parts
        if part.audited
    }


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


_MOST_REASONS = 3
"""Number of files whose reasons are listed if none can be read."""


def _subjects(
    representations: Any, layer_axis: LayerAxis, store: ResultStore | None, ids: str | None
) -> dict[str, IndexedInput]:
    """Describe each array under its name, and each array of a file; skip unreadable files with a warning."""
    if store is not None and (files := _find_files(representations, layer_axis, ids)) is not None:
        index = index_files(files, store)
        index.warn_of_left_out()
        if not index.known:
            shown = [f"{path}: {reason}" for path, reason in list(index.left_out.items())[:_MOST_REASONS]]
            n_more = len(index.left_out) - len(shown)
            reasons = "; ".join([*shown, *([f"and {n_more:,} more"] if n_more else [])])
            raise ValueError(
                f"representations must contain at least one readable array, got none; {reasons}".rstrip("; ")
            )
        return index.known
    if isinstance(representations, list | tuple) and all(len(array_shape(array)) == 2 for array in representations):
        raise TypeError(f"representations must be a mapping of names to matrices, got a list of {len(representations)}")
    named = representations if isinstance(representations, Mapping) else {"X": representations}
    if not named:
        raise ValueError("representations must contain at least one matrix, got none")
    index, subjects, repeated = InputIndex(), dict[str, IndexedInput](), dict[str, None]()
    for label, value in split_layers(named, layer_axis).items():
        name = str(label)
        if store is not None and kinds.is_path(value):
            files = Files([Path(value)], layer_axis=layer_axis, as_it_is=True, flatten=True, ids=ids)
            new = index_file(name, files, store, index)
        else:
            place = rows_or_distances(one_row_per_input(value, name), name, min_rows=0, min_columns=0)
            new = {name: IndexedInput.in_memory(place)}
        repeated |= dict.fromkeys(repr(name) for name in new if name in subjects)
        subjects |= new
    if repeated:
        raise ValueError(f"representations must have distinct names, got {', '.join(repeated)} more than once")
    index.warn_of_left_out()
    if not subjects:
        raise ValueError(f"representations must contain at least one readable array, got {index.left_out}")
    if store is None:
        places = {name: subject.place.rows() for name, subject in subjects.items()}
        hint_of_distances({name: X.sample for name, X in places.items() if isinstance(X, Rows) and not X.is_sparse})
    return subjects


def _find_files(representations: Any, layer_axis: LayerAxis, ids: str | None) -> Files | None:
    """Return the input as `Files` if it consists of paths, or None if it consists of arrays."""
    if isinstance(representations, Files):
        return representations if ids is None else replace(representations, ids=ids)
    paths = [representations] if kinds.is_path(representations) else representations
    if not (isinstance(paths, list | tuple) and paths and all(map(kinds.is_path, paths))):
        return None
    return Files(list(paths), layer_axis=layer_axis, as_it_is=True, flatten=True, ids=ids)


Data = ArrayLike | Rdm | Representation | Rows
_FEWEST_DRAWS = 19
_SAME = 1e-9
"""Drift up to which rounding may make the distances of two copies differ."""


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
    confidence: float = CONFIDENCE,
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
        The result prints as a report; `to_frame()` returns one row per score, and `plot()` draws a figure.
        After Ctrl-C, it contains the representations completed so far and is marked as interrupted.

    Examples
    --------
    >>> import shesha.data
    >>> layers, labels = shesha.data.digits_network()
    >>> last = {"init": layers["init_layer3"], "trained": layers["trained_layer3"]}
    >>> found = audit(last, labels, n_bootstrap=20, n_permutations=19)
    >>> found.ranking
    ('trained', 'init')
    >>> found.to_frame().query("name == 'feature_split'")[["representation", "value", "verdict"]].round(1)
      representation  value       verdict
    0           init    0.6  above chance
    7        trained    0.6  above chance
    """
    check.choice(metric, METRICS, "metric")
    workers = runs.require_workers(workers, scheduler)
    columns = find_recorded_columns(representations)
    settings = Settings(
        metric=metric,
        confidence=check.fraction(confidence, "confidence", closed=False),
        n_bootstrap=check.count(n_bootstrap, "n_bootstrap", minimum=0),
        n_permutations=check.count(n_permutations, "n_permutations", minimum=0),
        pairs=check_pairs(pairs),
        seed=draw_seed(seed),
        design=Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length),
        known=row_properties(representations, columns),
    )
    if 0 < settings.n_permutations < _FEWEST_DRAWS:
        raise ValueError(f"n_permutations must be at least {_FEWEST_DRAWS}, or 0 for none, got {n_permutations}")
    has_files = _find_files(representations, layer_axis, ids) is not None or (
        isinstance(representations, Mapping) and any(map(kinds.is_path, representations.values()))
    )
    with ExitStack() as stack:
        opened_store = None
        if has_files or store is not None or scheduler or (workers or 1) > 1:
            opened_store = stack.enter_context(runs.open_for_writing(store))
        if has_files and scheduler is None:
            # Workers on other machines cannot read local copies.
            representations = map_large_files(representations, stack)
        subjects = _subjects(representations, layer_axis, opened_store, ids)
        n_labels = None if y is None or has_files else (*array_shape(y), -1)[0]
        if n_labels is not None and n_labels not in {subject.n_rows for subject in subjects.values()}:
            named = representations if isinstance(representations, Mapping) else {"X": representations}
            refuse_other_axis({str(name): array_shape(array) for name, array in named.items()}, n_labels)
        # All rows are put in one order, without those that are not shared, incomplete or without a label.
        others = other_columns(representations, [y, *settings.design.values()], columns)
        recorded = {**settings.known, **others}
        along: dict[str, Any] = {"y": y, **settings.design, "known": recorded or None}
        if y is not None and not has_files and (first := next(iter(subjects.values()), None)) is not None:
            warn_of_misnamed_labels(first.place.rows(), "y", y)
        subjects, along = restrict(subjects, along, rows=rows, missing=missing, metric=metric, align=True)
        for name, subject in list(subjects.items())[:1]:
            warn_of_resemblance_by_name({name: subject.place.rows()}, along)
        y, recorded = along.pop("y"), along.pop("known") or {}
        known = {name: values for name, values in recorded.items() if name not in others}
        settings = replace(settings, design=cast(Design, along), known=known)
        y, settings = align_with_rows([subject.names for subject in subjects.values()], y, settings)
        _require_usable(y, settings, [subject.n_rows for subject in subjects.values()])
        if not has_files:
            has_groups = settings.design.get("groups") is not None
            _state_recorded({name: recorded[name] for name in others if name in recorded}, subjects, y, has_groups)
        if opened_store is None:
            findings, interrupted = _audit_in_turn(subjects, y, settings)
        else:
            findings, interrupted = audit_with_store(subjects, y, settings, opened_store, workers, scheduler)
        stored = StoredValues(opened_store)
        findings = equal_width_scores(subjects, findings, settings, stored)
        finished = {finding.name: subjects[finding.name] for finding in findings}
        drift, reason = measure_drift(finished, findings, metric, stored)
        if drift is not None:
            warn_of_order(drift.names)
            for name, before, change in zip(drift.names[1:], drift.names, drift.from_previous[1:], strict=False):
                if abs(change) <= _SAME:
                    state(f"{name} has the same distances as {before}, like a copy")
            for name, change in zip(drift.names[2:], drift.from_first[2:], strict=True):
                if abs(change) <= _SAME:
                    state(f"{name} has the same distances as {drift.names[0]}, like a copy")
    plain = {name: getattr(settings, name) for name in RECORDED}
    if nonempty_arguments(settings.design):
        plain["design"] = tuple(nonempty_arguments(settings.design))
    labels = None if y is None else _classes(y)
    return Audit(
        tuple(findings), drift, reason, options=plain, meanings=meanings(), labels=labels, interrupted=interrupted
    )


def _state_recorded(
    columns: Mapping[str, Vector | Labels], subjects: Mapping[str, IndexedInput], y: ArrayLike | None, has_groups: bool
) -> None:
    """State which recorded columns could explain the classes or most of the rows."""
    if not columns and y is None:
        return
    arrays = {name: subject.place.rows() for name, subject in subjects.items()}
    labels = {name: cast(Labels, values) for name, values in columns.items() if values.dtype.kind != "f"}
    if y is not None:
        codes = check.labels(y, len(np.asarray(y)))[0]
        labels = {"a label": codes, **labels}
        state_columns_of_classes({name: each for name, each in columns.items() if len(each) == len(codes)}, codes)
        state_separate_blocks(columns, arrays, codes)
        if not has_groups:
            state_units_of_classes(columns, codes)
    state_main_column(columns, arrays)
    warn_of_shuffled_rows(labels, arrays)


def _audit_in_turn(
    subjects: Mapping[str, IndexedInput], y: ArrayLike | None, settings: Settings
) -> tuple[list[RepresentationAudit], bool]:
    """Audit one representation after another; on Ctrl-C, return those completed so far."""
    alone = len(subjects) == 1

    def audits() -> Iterator[RepresentationAudit]:
        for name, subject in subjects.items():
            # A single representation shows progress within its audit; several show only the overall progress.
            with nullcontext() if alone else mute_progress(), warnings.catch_warnings():
                # The result contains the reason, so the warning is not needed.
                warnings.simplefilter("ignore", NotEstimableWarning)
                yield audit_representation(name, subject.place.rows(), y, settings)

    found, interrupted = collect(audits(), len(subjects), "" if alone else "representations", fewest=1)
    return found, interrupted or found[-1].is_interrupted


def _classes(y: ArrayLike) -> LabelClasses:
    codes, classes = check.labels(y, len(np.asarray(y)))
    sizes = np.bincount(codes, minlength=len(classes))
    return LabelClasses(tuple(map(str, classes)), tuple(map(int, sizes)), str(getattr(y, "name", None) or ""))


_MANY_VALUES = 10
"""Number of different values from which on numbers with fractions are measurements rather than codes of classes."""


def _require_usable(y: ArrayLike | None, settings: Settings, sizes: Sequence[int]) -> None:
    """Refuse labels and designs that do not fit the rows, or labels that look like row names."""
    n_rows = dict.fromkeys(sizes)
    if y is not None:
        shape = array_shape(y)
        length = shape[0] if len(shape) == 1 else -1
        codes, classes = check.labels(y, length if length in n_rows else next(iter(n_rows)))
        check.require_few_classes(len(classes), len(codes), "bin a quantity, or pass it as covariates=")
        if len(classes) >= _MANY_VALUES and classes.dtype.kind == "f" and (classes != np.floor(classes)).any():
            state_warning(
                f"y has {len(classes)} values with fractions, each of which counts as a class; bin a quantity, or pass "
                "it as covariates="
            )
    for n in n_rows:
        resolve_design(settings.design, n)
