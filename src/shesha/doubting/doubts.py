"""Check a conclusion about representations for possible problems."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.doubting.doubt_input import SOME, Subject, list_doubts
from shesha.doubting.feature_doubts import foreign_features
from shesha.doubting.recorded_columns import text_lengths
from shesha.inputs import MissingRows, RowChoice, align_all_labels, align_labels, validation as check
from shesha.kernels.distances import METRICS, Metric, find_undirected_rows
from shesha.kernels.ranks import midranks
from shesha.nulls.dependence import DiagnosticRows
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Dependence, Doubt, Doubts
from shesha.results.doubts import OF_ROWS, OF_VALUES
from shesha.support.memory import MemoryBudgetError
from shesha.support.provenance import keep_statements, state_warning
from shesha.support.types import Index, Labels, Vector
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.views import Adjusted, Rdm, Representation, Rows, rows_or_distances, select_rows

_FEWEST = 12
"""Minimum number of rows for the checks."""
_FEWEST_FEATURES = 4


@keep_statements
def doubts(
    X: ArrayLike | Rdm | Representation | Rows | Mapping[str, ArrayLike] | str | os.PathLike[str],
    y: ArrayLike | None = None,
    *,
    order: bool = True,
    covariates: ArrayLike | Mapping[str, ArrayLike] | None = None,
    groups: ArrayLike | None = None,
    metric: Metric = "cosine",
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    ids: str | None = None,
    seed: int = 0,
) -> Doubts:
    """Check for problems that make the geometry of a representation look better or worse than it is.

    The effect of a doubt is how much the feature split changes when the cause of the doubt is removed. To remove it,
    rows are exchanged with their neighbours, copied features are left out, columns are standardised, or a covariate is
    regressed out, for example. The feature split is computed from at most 256 rows in four stretches; row lengths,
    repeated rows and column correlations are computed from all rows. At least 95 % of data sets without a fault raise
    no doubt (docs/pitfalls.md has measurements and examples). The absence of doubts proves nothing: an unrecorded batch
    effect that is unrelated to the row order cannot be detected.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with finite values and at least 12 rows. It may be sparse or memory-mapped. You can also
        pass the path of a file with one array, or a mapping of one array, such as one layer from
        `shesha.extract.encode`. If the numbers of tokens were recorded, they are used as a covariate.
    y : array of shape (n_samples,), optional
        Class labels, which are checked for confounding with the row order, covariates and groups.
    order : bool
        Whether the row order may be meaningful, as it is if rows were sorted or are in the order of collection.
    covariates : array of shape (n_samples,) or (n_samples, n_covariates), or mapping of names to arrays, optional
        Known properties of each row, as numbers or labels, such as depth, length, batch or position.
    groups : array of shape (n_samples,), optional
        Labels of a source that several rows share, such as a donor, subject or session.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    rows, missing
        As for `estimate`. Rows without a direction are always left out.
    ids : str, optional
        Column or array of a file that identifies its rows.
    seed : int
        Seed of the partitions of the features and of random permutations.

    Returns
    -------
    Doubts
        The doubts: those of the values themselves first, then the largest effects; each has `name`, `effect`,
        `p_value`, `text` and `advice`. If checks were impossible because there are too few rows or too few distinct
        ones, `reason` says so.

    Raises
    ------
    ValueError
        If X contains NaN, or labels or covariates do not fit its rows.
    TypeError
        If X contains distances between rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((100, 24))
    >>> len(doubts(noise))
    0
    >>> doubts(np.tile(noise, 4)).names
    ('copied features',)
    """
    check.choice(metric, METRICS, "metric")
    check.boolean(order, "order")
    seed = check.count(seed, "seed", minimum=0)
    X, lengths = _single_array(X, ids)
    along: dict[str, Any] = {"y": y, "groups": groups, "covariates": covariates, "lengths": lengths}
    sides, along = select_rows({"X": X}, along, rows=rows, missing=missing, metric=metric)
    y, groups, covariates, lengths = along.values()
    source = rows_or_distances(sides["X"], "X", min_rows=1)
    if not isinstance(source, Rows):
        raise TypeError("X must be features, which can be divided into halves, got distances between rows")
    n = len(source)
    y, groups = align_all_labels(source, {"y": y, "groups": groups}).values()
    if isinstance(covariates, Mapping):
        covariates = align_all_labels(source, covariates)
    else:
        covariates = align_labels(source, covariates, "covariates")
    classes = None if y is None else check.labels(y, n)[0]
    about = {name: values for name, values in lengths.items() if len(values) == n} | check_known_quantities(
        covariates, groups, n
    )
    for start, block in source.blocks(1 << 20):
        check.finite(block, "X", first_row=start)
    kept = np.setdiff1d(np.arange(n), rows_without_direction(source, metric))
    if len(kept) < n:
        source = source.take_rows(kept)
        classes = None if classes is None else classes[kept]
        about = {name: quantity[kept] for name, quantity in about.items()}
    found = find_doubts(source, metric, classes=classes, known=about, order=order, seed=seed, numbers=kept)
    return replace(found, seed=seed)


def _single_array(X: Any, ids: str | None) -> tuple[Any, dict[str, Vector]]:
    """Return the single array of a mapping or file, and the text lengths stored with it."""
    if isinstance(X, str | os.PathLike):
        from shesha.io.read import read_named

        X = read_named(X, ids=ids)
    if not isinstance(X, Mapping):
        return X, {}
    if len(X) != 1:
        names = check.join_items(X)
        raise ValueError(
            f"X must contain one representation, got {len(X)} ({names}): pass one of them, or use shesha.audit"
        )
    return next(iter(X.values())), text_lengths(X)


def find_doubts(
    source: Rows,
    metric: Metric,
    *,
    classes: Labels | None = None,
    known: Mapping[str, Vector | Labels] | None = None,
    design: Mapping[str, Vector | Labels] | None = None,
    order: bool = True,
    seed: int = 0,
    dependence: Dependence | None = None,
    checked: Sequence[DiagnosticRows] | None = None,
    numbers: Index | None = None,
    name: str = "X",
    only_cheap: bool = False,
) -> Doubts:
    """Check rows that all have a direction; `numbers` are their row numbers in the caller's data."""
    if len(source) < _FEWEST or source.shape[1] < _FEWEST_FEATURES:
        return Doubts((), n_looked_at=len(source), reason=_too_small(source.shape))
    computed = _known_results(dependence, checked)
    subject = Subject(
        (source,),
        metric,
        classes,
        known=known or {},
        design=design or {},
        ordered=order,
        seed=seed,
        computed=computed,
        numbers=numbers,
        names=(name,),
    )
    return _raise_doubts(subject, "feature_split", only_cheap=only_cheap)


def find_pair_doubts(
    sides: Sequence[Representation],
    design: Design | None,
    dependence: Dependence | None = None,
    *,
    only_cheap: bool = False,
    names: tuple[str, str] = ("X", "Y"),
    but: Collection[str] = (),
    classes: Labels | None = None,
) -> Doubts:
    """Check two representations of the same rows; checks whose names are in `but` do not matter to the score.

    Whether rows depend on their order is checked only if `design` declares nothing; not if it is None.
    """
    sides = [side.given if isinstance(side, Adjusted) and side.by_distances else side for side in sides]
    order = design is not None and not nonempty_arguments(design)
    if any(side.has_distances_only for side in sides):
        doubts = () if "order of pairs" in but else _order_of_pairs(sides, names)
        return Doubts(doubts, reason="distance matrices have no features to check")
    sources = [Rows(side.to_numpy.rows.reshape(side.n_rows, -1)) for side in sides]
    extremes = [_extremes(source) for source in sources]
    bad = np.unique(np.concatenate([undirected for undirected, _ in extremes]))
    rows = np.setdiff1d(np.arange(len(sources[0])), bad)
    if len(rows) < _FEWEST:
        return Doubts((), n_looked_at=len(rows), reason=_too_small((len(rows), None)))
    used = sources if not len(bad) else [source.take_rows(rows) for source in sources]
    looked = dependence if order else Dependence(len(rows), 1.0, 0.5, 0.0)
    computed = _known_results(looked, [diagnostic_rows(side) for side in sides] if not len(bad) else None)
    computed["largest"] = [largest for _, largest in extremes]
    for checked in computed.get("checked", ()):
        # Computing the inner products takes a copy of the rows, so it comes before other checks hold theirs.
        _ = checked.gram
    classes = None if classes is None else classes[rows]
    subject = Subject(tuple(used), "cosine", classes, ordered=order, computed=computed, numbers=rows, names=names)
    found = _raise_doubts(subject, "RSA", only_cheap=only_cheap, but=but)
    if len(bad) < SOME * len(sources[0]):
        return found
    return replace(found, found=(_zero_rows(bad, len(sources[0]), " or ".join(names)), *found.found))


def _order_of_pairs(sides: Sequence[Representation], names: tuple[str, str]) -> tuple[Doubt, ...]:
    """Return a doubt if two lists of distances agree only if one is the other triangle of its matrix, row by row.

    SciPy lists the upper triangle row by row, as MATLAB does; `numpy.tril_indices` lists the lower one.
    """
    n = sides[0].n_rows
    if not all(side.has_distances_only for side in sides) or n < _FEWEST or n > _MOST_PAIRED:
        return ()
    first, second = (midranks(np.nan_to_num(side.distances.condensed))[0] for side in sides)
    lower = np.zeros((n, n), dtype=np.intp)
    lower[np.tril_indices(n, -1)] = np.arange(len(first))
    order = lower.T[np.triu_indices(n, 1)]
    given, *others = (
        float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0
        for a, b in ((first, second), (first[order], second), (first, second[order]))
    )
    place = int(np.argmax(others))
    if not others[place] >= max(_AGREE, given + _AGREE):
        return ()
    text = (
        f"the distances of {names[0]} and {names[1]} have a rank correlation of {given:.2f}, but of "
        f"{others[place]:.2f} if those of {names[place]} list the lower triangle row by row, and not the upper one"
    )
    advice = "Pass square matrices, or lists as SciPy's pdist makes them"
    return (Doubt("order of pairs", others[place] - given, None, text, advice),)


_AGREE, _MOST_PAIRED = 0.3, 1024
"""Rank correlation from which on distances agree, and most rows whose distances are looked at."""


def _zero_rows(rows: Index, n: int, where: str) -> Doubt:
    text = (
        f"{len(rows):,} of {n:,} rows are zero in {where} ({check.join_items(rows)}), as failed encodings and arrays "
        "that were not filled are"
    )
    return Doubt(
        "zero rows",
        len(rows) / n,
        None,
        text,
        advice="Leave them out, unless zeros are data",
        rows=tuple(rows.tolist()),
    )


_ONLY_STATED = ("copies", "equal rows", "near copies", "offset", "repeated rows", "rounded values", "zero rows")
"""Doubts about data that may be as intended, such as features of nonnegative values; answers state them."""
_NO_WARNING = ("order", "alternating order", "duplicates")
"""Doubts that raise no warning, because another warning already shows the problem."""


def warn_of_doubts(doubts: Doubts, but: Collection[str] = _NO_WARNING, *, only_state: bool = False) -> bool:
    """Warn of problems that change how a p-value or a score should be interpreted; return whether there are any.

    With `only_state`, the answer states them, but no warning is raised. Callers that test nothing do so, and have not
    warned of repeated rows either.
    """
    problems = [doubt for doubt in doubts if doubt.name not in but or (only_state and doubt.name == "duplicates")]
    for doubt in problems:
        text = f"{doubt.name}: {doubt.text}. {doubt.advice}"
        is_question = doubt.name in OF_VALUES | OF_ROWS
        if only_state or doubt.name in _ONLY_STATED:
            state_warning(text, questions_input=is_question)
        else:
            warn(text, CalibrationWarning, questions_input=is_question)
    return bool(problems)


_CHOSEN = 0.3
"""Smallest effect of a few rows that is reported for a pair that was chosen among many, such as the closest one."""


def warn_of_pair_doubts(sides: Mapping[str, Any], *, but: Collection[str] = (), classes: Labels | None = None) -> bool:
    """Make the cheap checks of two representations, by name, but for some; return whether any of them warned.

    Callers that report dependence between rows themselves need not leave it out.
    """
    first, second = (Representation.build(side) for side in sides.values())
    names = tuple(map(str, sides))
    pair = (names[0], names[1])
    found = find_pair_doubts([first, second], None, only_cheap=True, names=pair, but=but, classes=classes)
    found = replace(found, found=tuple(one for one in found if one.name != "few rows" or one.effect >= _CHOSEN))
    return warn_of_doubts(found, but=("duplicates", *but))


def state_geometry_doubts(sides: Mapping[str, Any]) -> None:
    """State whether rows fit those a few places away, or were rounded, which needs no features of one side.

    Other rows may have changed.
    """
    first, second = (Representation.build(side) for side in sides.values())
    names = tuple(map(str, sides))
    others = [mark.name for mark in list_doubts() if mark.name not in ("row offset", "rounded values")]
    found = find_pair_doubts([first, second], None, only_cheap=True, names=(names[0], names[1]), but=others)
    stated = tuple(one for one in found if one.name in ("row offset", "rounded values"))
    warn_of_doubts(replace(found, found=stated), only_state=True)


def warn_of_row_doubts(
    X: Any, name: str = "X", metric: Metric = "cosine", *, but: Collection[str] = (), numbers: Index | None = None
) -> bool:
    """Make the cheap checks of one matrix, but for some, and return whether any of them warned.

    Callers report dependence. `numbers` are the numbers of the rows in the caller's data.
    """
    if isinstance(X, Representation):
        if X.has_distances_only:
            return False
        X = X.to_numpy.rows.reshape(X.n_rows, -1)
    source = X if isinstance(X, Rows) else Rows(X, name, min_rows=1)
    numbers = np.arange(len(source)) if numbers is None else numbers
    zero = _extremes(source)[0]
    if len(zero):
        state_warning(f"zero rows: {_zero_rows(numbers[zero], len(source), name).text}")
    kept = np.setdiff1d(np.arange(len(source)), np.union1d(zero, rows_without_direction(source, metric)))
    source, numbers = source if len(kept) == len(source) else source.take_rows(kept), numbers[kept]
    looked = Dependence(len(source), 1.0, 0.5, 0.0)
    found = find_doubts(source, metric, order=False, dependence=looked, numbers=numbers, name=name, only_cheap=True)
    # Variances of principal components and of many other features differ as much as to determine most distances.
    gradual = "few coordinates" in found.names and not len(foreign_features(source.sample, np.inf))
    return warn_of_doubts(found, but=(*_NO_WARNING, *but, *["few coordinates"] * gradual))


def irrelevant_doubts(invariances: Iterable[Collection[str]]) -> tuple[str, ...]:
    """Return the checks that do not matter to any of the measures with these invariances."""
    return ("few coordinates", "mixed units") if all("affine" in each for each in invariances) else ()


def diagnostic_rows(side: Representation) -> DiagnosticRows:
    """Return the sample of rows that all checks of a representation share."""
    side = side.to_numpy
    rows: DiagnosticRows = side.cached((DiagnosticRows,), lambda: DiagnosticRows(side.rows.reshape(side.n_rows, -1)))
    return rows


def _known_results(dependence: Dependence | None, checked: Sequence[DiagnosticRows] | None) -> dict[str, Any]:
    """Return the results that the caller has already computed, without missing ones."""
    computed = {"dependence": dependence, "checked": checked}
    return {name: value for name, value in computed.items() if value is not None}


def _raise_doubts(subject: Subject, headline: str, *, only_cheap: bool, but: Collection[str] = ()) -> Doubts:
    """Return all doubts about a subject, in order, and why checks were skipped, if any were."""
    kind = "pair" if subject.is_pair else "rows"
    doubts: list[Doubt] = []
    reason = ""
    for mark in list_doubts():
        if mark.of not in (kind, "both") or (only_cheap and not mark.cheap) or mark.name in but:
            continue
        try:
            answer = mark.function(subject)
        except (NotEstimable, MemoryBudgetError) as cause:
            if isinstance(cause, MemoryBudgetError) and not only_cheap:
                raise
            # If the score is not estimable, its change is not estimable either.
            reason = str(cause)
            continue
        if answer is not None:
            doubts.append(answer)
    doubts.sort(key=lambda answer: answer.order)
    if min(subject.n_distinct) < _FEWEST:
        reason = f"only {min(subject.n_distinct)} of the {len(subject.places):,} checked rows are distinct"
    return Doubts(tuple(doubts), headline, subject.value, len(subject.places), reason)


def _too_small(shape: tuple[int, int | None]) -> str:
    """Return the message that there are too few rows or features to check."""
    n, d = shape
    needed, received = ("", "") if d is None else (f" and {_FEWEST_FEATURES} features", f" of {d:,} features")
    return f"the checks need at least {_FEWEST} rows with defined distances{needed}, got {n:,} rows{received}"


def check_known_quantities(
    covariates: ArrayLike | Mapping[str, ArrayLike] | None, groups: ArrayLike | None, n: int
) -> dict[str, Vector | Labels]:
    """Check the covariates and return them by name: numbers as floats, labels as codes."""
    quantities: dict[str, Vector | Labels] = {}
    if isinstance(covariates, Mapping):
        for name, values in covariates.items():
            quantities[str(name)] = _quantity(check.dense(values, f"covariates[{name!r}]"), n, f"covariates[{name!r}]")
    elif covariates is not None:
        names = [str(name) for name in getattr(covariates, "columns", ())]
        table = check.dense(covariates, "covariates") if not names else np.asarray(covariates)
        if table.ndim == 1:
            quantities["the covariate"] = _quantity(table, n, "covariates")
        elif table.ndim == 2:
            for index, column in enumerate(table.T):
                name = names[index] if names else f"covariate {index}" if table.shape[1] > 1 else "the covariate"
                quantities[name] = _quantity(column, n, f"covariates[:, {index}]")
        else:
            raise ValueError(f"covariates must have one or two dimensions, got {table.ndim}")
    if groups is not None:
        quantities["groups"] = check.labels(groups, n, "groups", min_classes=1)[0]
    return quantities


def _quantity(values: Any, n: int, name: str) -> Vector | Labels:
    if values.shape != (n,):
        raise ValueError(f"{name} must have one value for each of the {n} rows, got shape {values.shape}")
    if values.dtype.kind in "fiu" or (values.dtype.kind == "O" and all(isinstance(v, int | float) for v in values)):
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} must be finite, got {int((~np.isfinite(numbers)).sum())} NaN or infinite values")
        return np.asarray(numbers)
    return check.labels(values, n, name, min_classes=1)[0]


def _extremes(source: Rows) -> tuple[Index, float]:
    """Return the rows that are zero, and the largest absolute value in all rows."""
    ends = [(block.min(axis=1), block.max(axis=1)) for _, block in source.blocks(1 << 20)]
    low, high = (np.concatenate(extremes) for extremes in zip(*ends, strict=True))
    return np.flatnonzero((low == 0) & (high == 0)), max(float(high.max(initial=0.0)), -float(low.min(initial=0.0)))


def rows_without_direction(source: Rows, metric: Metric) -> Index:
    """Return the rows that have no direction under the metric, such as zero rows for the cosine."""
    if metric == "euclidean":
        return np.empty(0, dtype=np.intp)
    rows = [start + find_undirected_rows(block, metric) for start, block in source.blocks(1 << 20)]
    return np.concatenate(rows) if rows else np.empty(0, dtype=np.intp)
