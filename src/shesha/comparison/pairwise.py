"""Compare all pairs of several representations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha import runs
from shesha.calibration import DrawError, calibrate as calibrate_pair
from shesha.comparison import engine
from shesha.comparison.compare import compare, seed_measures
from shesha.comparison.engine import require_calibrate
from shesha.comparison.input_manifest import Files
from shesha.comparison.resumable_pairs import NullRequest, PairRun, require_same_rows
from shesha.doubting import irrelevant_doubts, warn_of_pair_doubts, warn_of_row_doubts
from shesha.inputs import MissingRows, RowChoice, validation as check
from shesha.inputs.matrix_shapes import state_shapes
from shesha.measures import Measure, choose
from shesha.measures.registry import Choice, metric_of_rows
from shesha.nulls.null_summary import (
    CORRECTIONS,
    Correction,
    benjamini_hochberg,
    default_draws,
    draw_stages,
    draws_needed,
    holm,
    note_early_end,
    open_tests,
)
from shesha.nulls.permutations import Design
from shesha.results import PairwiseComparison, Score
from shesha.support.layer_axis import LayerAxis, split_layers
from shesha.support.progress import mute_progress, track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, N_PERMUTATIONS, draw_seed, generator, number
from shesha.support.types import Seed, Vector, is_path
from shesha.support.warnings import CalibrationWarning, warn
from shesha.views import Rdm, Representation, align_rows, check_named_arrays, hint_of_distances, select_rows

Pair = tuple[ArrayLike | Rdm, ArrayLike | Rdm]


@keep_statements
def compare_all(
    representations: Mapping[str, ArrayLike | Rdm | str | os.PathLike[str]]
    | Mapping[str, Pair]
    | Sequence[str | os.PathLike[str]]
    | str
    | os.PathLike[str],
    measures: Choice | Iterable[Choice] = "recommended",
    *,
    calibrate: bool = False,
    correction: Correction | None = None,
    confidence: float | None = None,
    n_permutations: int | None = None,
    alpha: float = ALPHA,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    workers: int | None = None,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    ids: str | None = None,
    seed: Seed = 0,
    layer_axis: LayerAxis = "guess",
    store: str | os.PathLike[str] | None = None,
    scheduler: str | None = None,
) -> PairwiseComparison:
    """Compare every pair of several representations of the same inputs.

    Each view is computed once per representation, not once per pair and measure. After Ctrl-C, the results so far are
    returned.

    Parameters
    ----------
    representations : mapping of names to arrays of shape (n_samples, n_features), or Rdm; or files
        At least two representations of the same rows. Arrays may be replaced by the paths of files. A list of paths, or
        a directory, stands for all arrays in these files, which are read when needed, a few at a time. A file that
        cannot be read is left out, with a warning. Each layer of a 3-D array is a representation. To compare only some
        pairs, whose rows may differ from those of other pairs, pass a mapping of names to tuples (X, Y).
    measures : str, measure or sequence of them
        As for `compare`.
    calibrate : bool
        Whether to add the chance level, p-value and calibrated score of each pair. The `corrected_p_value` accounts for
        the number of pairs, separately for each measure. If no pair is related, the probability that a measure has any
        corrected p-value of at most alpha is alpha. Each draw permutes the rows of every representation independently,
        so one null serves all pairs. The p-value of a pair is that of `shesha.calibrate` with the relative permutations
        between the two representations. Named pairs (X, Y) use the permutations of `shesha.calibrate` instead.
    correction : {'benjamini-hochberg', 'holm'}, optional
        Correction of the p-values of named pairs (X, Y) for their number, separately for each measure. Default:
        'benjamini-hochberg'. All pairs of representations use the step-down maximum over the permutations they share.
    confidence : float, optional
        Confidence level of the intervals, as for `compare`; only with `calibrate`. Default: no intervals, because they
        take longer than the null.
    n_permutations : int, optional
        Number of permutations K, only with `calibrate`. The smallest p-value is 1 / (K + 1). Default: 200; for m named
        pairs (X, Y), whose correction may multiply a p-value by m, the larger of 200 and m / alpha - 1, but at most
        9,999. If there are too few for any named pair to become significant, the answer says so.
    alpha, blocks, groups, within, shift, block_length
        As for `shesha.calibrate`; only with `calibrate`. Circular shifts are drawn at random, even if only a few exist.
    workers : int, optional
        Number of processes. Default: 1 process, which uses all cores through threads. More processes help for many
        files, and for measures that do not use threads (RTD).
    rows, missing
        As for `compare`.
    ids : str, optional
        Column or array that identifies the rows of each file. Default: the index, or one that is named like an
        identifier.
    seed : int, Generator or None
        Seed of random measures and of the null. The permutations of a representation depend only on this seed and on
        its content, so a resumed run uses the same null. All calibrated runs that share a store must use the same
        integer.
    layer_axis : int, None or 'guess'
        Axis of a 3-D array along which its layers are stacked; they are named ``name[0]``, ``name[1]`` and so on. None:
        the array is one representation of token sequences. 'guess': (rows, layers, features), or (layers, rows,
        features) if the first axis is at most a third as long as the second; a warning reports the guess.
    store : path, optional
        File in which every comparison is stored. After an interruption, rerun the same call to resume. If you add
        representations, only the new pairs are compared. Comparisons are identified by the contents of both sides, so
        files may be renamed, and by a hash of the measure's code. Default: no store.
    scheduler : str, optional
        Address of a running Dask scheduler to use instead of local processes. Its workers must have access to the
        files.

    Returns
    -------
    PairwiseComparison
        The scores, with `.to_frame()` (long), `.matrix("CKA")`, `.plot("CKA")` and `.embed("CKA")`. With `calibrate`,
        also `.matrix("CKA", "corrected_p_value")` and `.plot("CKA", what="calibrated")`.

    Raises
    ------
    StoreError
        If the store was written by another program or version.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.standard_normal((50, 8)), rng.standard_normal((50, 8))
    >>> found = compare_all({"X": X, "rotated": X[:, ::-1], "noise": noise}, ["CKA"])
    >>> found.matrix("CKA").round(2).loc["X"].to_list()
    [1.0, 1.0, 0.13]

    With chance levels:

    >>> found = compare_all({"X": X, "rotated": X[:, ::-1], "noise": noise}, "CKA", calibrate=True)
    >>> found.matrix("CKA", "corrected_p_value").round(2).loc["X"].to_list()
    [nan, 0.0, 0.76]

    Some pairs only:

    >>> pairs = {"same": (X, X[:, ::-1]), "none": (X[:40], noise[:40])}
    >>> compare_all(pairs, "CKA", calibrate=True).to_frame()[["pair", "verdict"]].values.tolist()
    [['same', 'above chance'], ['none', 'not above chance']]

    Files, kept in a store:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for step in range(3):
    ...     np.save(folder / f"step{step}.npy", X + step * noise)
    >>> compare_all(folder, "CKA", store=folder / "a.sqlite").matrix("CKA").round(2).loc["step0"].to_list()
    [1.0, 0.59, 0.34]
    """
    workers = runs.require_workers(workers, scheduler)
    check.fraction(alpha, "alpha", closed=False)
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    if _are_named_pairs(representations):
        unused = {"confidence": confidence, "store": store, "scheduler": scheduler, "workers": workers, "ids": ids}
        if extra := [name for name, value in unused.items() if value is not None]:
            raise ValueError(f"{' and '.join(extra)} must be left out with named pairs (X, Y)")
        options: dict[str, Any] = {"rows": rows, "missing": missing, "seed": seed}
        return _compare_named_pairs(
            cast(Mapping[str, Pair], representations), choose(measures), design, options, n_permutations, alpha,
            correction or "benjamini-hochberg", calibrate=check.boolean(calibrate, "calibrate"),
        )  # fmt: skip
    if correction is not None:
        raise ValueError(f"correction must be left out unless pairs (X, Y) are named, got {correction!r}")
    n_permutations = N_PERMUTATIONS if n_permutations is None else n_permutations
    representations_or_files = _files_or_arrays(representations, layer_axis)
    if isinstance(representations_or_files, Mapping) and not any(map(is_path, representations_or_files.values())):
        representations_or_files, along = select_rows(
            representations_or_files, design, rows=rows, missing=missing, **metric_of_rows(choose(measures))
        )
        design = cast(Design, along)
        rows, missing = "same", "refuse"
    seed, seed_number = draw_seed(seed), number(seed)
    chosen = seed_measures(choose(measures), seed)
    request = _request(design, n_permutations, alpha, confidence, seed, calibrate=calibrate)
    scores: Iterable[Score]
    exchanged = ""
    if (
        isinstance(representations_or_files, Files)
        or any(map(is_path, representations_or_files.values()))
        or any(one is not None for one in (request, store, scheduler))
        or (workers or 1) > 1
    ):
        run = PairRun(
            representations_or_files,
            chosen,
            workers,
            scheduler,
            store=store,
            request=request,
            rows=rows,
            missing=missing,
            ids=ids,
        )
        scores = tuple(run(_pairs))
        exchanged = "" if run.calibration is None else run.calibration.evidence.exchanged
        shapes, interrupted = {name: source.shape for name, source in run.index.known.items()}, run.interrupted
        # A stored comparison is repeated without reading its files.
        if store is None:
            _warn_of_doubts(scores, chosen, lambda name: run.index.known[name].place.load(), shapes)
    else:
        scores, shapes, interrupted = _compare_in_memory(representations_or_files, chosen)
    return PairwiseComparison(
        tuple(shapes),
        tuple(shapes.values()),
        tuple(scores),
        symmetric={measure.name: measure.symmetric for measure in chosen},
        self_values={measure.name: measure.self_value for measure in chosen},
        seed=seed_number,
        interrupted=interrupted,
        exchanged=exchanged,
        n_draws=n_permutations if request is not None else 0,
        alpha=float(alpha),
        confidence=confidence,
    )


def _are_named_pairs(representations: Any) -> bool:
    """Whether the values of a mapping are pairs of representations."""
    return (
        isinstance(representations, Mapping)
        and bool(representations)
        and all(isinstance(pair, tuple) for pair in representations.values())
    )


def _compare_named_pairs(
    pairs: Mapping[str, Pair],
    measures: list[Measure],
    design: Design,
    options: dict[str, Any],
    n_permutations: int | None,
    alpha: float,
    correction: Correction,
    *,
    calibrate: bool,
) -> PairwiseComparison:
    """Compare pairs that may have different rows, and correct their p-values for the number of pairs."""
    check.choice(correction, CORRECTIONS, "correction")
    if len({str(name) for name in pairs}) < len(pairs):
        raise ValueError(f"representations must have distinct names as text, got {', '.join(map(repr, pairs))}")
    n_draws = _count_draws(len(pairs), n_permutations, alpha, correction) if calibrate else 0
    if not calibrate:
        require_calibrate(design, None)
    generator(options["seed"])
    scores: list[Score] = []
    interrupted = False
    stages = draw_stages(N_PERMUTATIONS, n_draws) if calibrate and n_permutations is None else [n_draws]
    correct = holm if correction == "holm" else benjamini_hochberg
    tasks = list(product(measures, pairs.items()))
    active = list(range(len(tasks)))
    with mute_progress():
        try:
            for stage in stages:
                for place in track(active, len(active), "comparing"):
                    measure, (name, pair) = tasks[place]
                    score = _score_named_pair(str(name), pair, measure, stage, alpha, {**design, **options})
                    scores[place : place + 1] = [replace(score, first=str(name))]
                    if interrupted := score.interrupted:
                        break
                active = (
                    [] if interrupted or stage == stages[-1] else _open_pairs(scores, stages, stage, correct, alpha)
                )
        except KeyboardInterrupt:
            if not scores:
                raise
            interrupted = True
    for measure in measures if calibrate else []:
        places = [place for place, score in enumerate(scores) if score.name == measure.name]
        p_values = correct([scores[place].p_value for place in places]).tolist()
        for place, p_value in zip(places, p_values, strict=True):
            one = replace(scores[place], corrected_p_value=p_value)
            scores[place] = one if interrupted else note_early_end(one, stages)
    return PairwiseComparison(
        names=(),
        shapes=(),
        scores=tuple(scores),
        symmetric={measure.name: measure.symmetric for measure in measures},
        self_values={measure.name: measure.self_value for measure in measures},
        seed=number(options["seed"]),
        interrupted=interrupted,
        exchanged=scores[0].exchanged,
        n_draws=n_draws,
        alpha=float(alpha),
        correction=correction if calibrate else "",
    )


def _open_pairs(
    scores: Sequence[Score], stages: Sequence[int], stage: int, correct: Callable[[ArrayLike], Vector], alpha: float
) -> list[int]:
    """Return the places of the scores just computed whose corrected test may be decided differently by more draws."""
    names = np.array([score.name for score in scores])
    p_values, drawn = (np.array([getattr(score, name) for score in scores]) for name in ("p_value", "n_draws"))
    # Fewer draws than requested are all permutations.
    most = np.where(drawn < stages[0], drawn, stages[-1])
    places: list[int] = []
    for name in dict.fromkeys(names):
        own = np.flatnonzero(names == name)
        still = open_tests(p_values[own], drawn[own], most[own], correct, alpha, len(stages))
        places += own[still & (drawn[own] == stage)].tolist()
    return places


_PAIR_ERRORS = (TypeError, ValueError, DrawError)
"""Exceptions that concern a single pair, to which its name is added."""


def _score_named_pair(
    name: str, pair: Pair, measure: Measure, n_draws: int, alpha: float, options: dict[str, Any]
) -> Score:
    """Score a pair with or without its null; errors state the name of the pair."""
    if len(pair) != 2:
        raise TypeError(f"representations[{name!r}] must be (X, Y), got a tuple of {len(pair)}")
    try:
        if n_draws:
            return calibrate_pair(*pair, measure, n_permutations=n_draws, alpha=alpha, **options)
        (score,) = compare(*pair, measure, calibrate=False, **options)
        return replace(score, second="")
    except _PAIR_ERRORS as error:
        # The base class is raised, because the constructor of a subclass may need more than a message.
        kind = next(kind for kind in _PAIR_ERRORS if isinstance(error, kind))
        raise kind(f"representations[{name!r}]: {error}") from error


def _count_draws(n_pairs: int, n_permutations: int | None, alpha: float, correction: Correction) -> int:
    """Return the number of draws; warn if a single small p-value could not become significant."""
    needed = draws_needed(n_pairs, alpha)
    n_draws = default_draws(n_pairs, alpha, N_PERMUTATIONS) if n_permutations is None else n_permutations
    # If several p-values are small, Benjamini and Hochberg's correction needs fewer draws; Holm's does not.
    if check.count(n_draws, "n_permutations") < needed and (correction == "holm" or n_permutations is None):
        warn(
            f"with {n_draws} permutations, no single pair of {n_pairs} can be significant at {alpha:g} after "
            f"correction; use n_permutations={needed}",
            CalibrationWarning,
        )
    return n_draws


def _request(
    design: Design, n_permutations: int, alpha: float, confidence: float | None, seed: int, *, calibrate: bool
) -> NullRequest | None:
    """Return the request for chance levels and intervals; refuse their options if `calibrate` is False."""
    if check.boolean(calibrate, "calibrate"):
        n_permutations = check.count(n_permutations, "n_permutations")
        if confidence is not None:
            check.fraction(confidence, "confidence", closed=False)
        return NullRequest(n_permutations, float(alpha), confidence, design, seed)
    if confidence is not None:
        raise ValueError(f"calibrate must be True with confidence, got False and {confidence!r}")
    require_calibrate(design, None)
    return None


def _files_or_arrays(representations: Any, layer_axis: LayerAxis) -> Files | Mapping[Any, Any]:
    """Return the input as `Files` if it consists of paths, or as a mapping of names to arrays."""
    if isinstance(representations, Files):
        return representations
    if isinstance(representations, str | os.PathLike):
        return Files([representations], layer_axis=layer_axis)
    if isinstance(representations, Mapping):
        layers = split_layers(representations, layer_axis)
        if len(layers) >= 2:
            return layers
        representations = layers
    is_list = isinstance(representations, Sequence) and representations
    if is_list and all(isinstance(value, str | os.PathLike) for value in representations):
        return Files(list(representations), layer_axis=layer_axis)
    what = f"{len(representations)}" if isinstance(representations, Mapping) else type(representations).__name__
    raise ValueError(f"representations must be a mapping of at least two names to arrays, got {what}")


def _compare_in_memory(
    representations: Mapping[Any, Any], chosen: list[Measure]
) -> tuple[tuple[Score, ...], dict[str, tuple[int, ...]], bool]:
    hint_of_distances(representations)
    sources = align_rows(check_named_arrays(representations, "representations", "{}"))
    require_same_rows(sources)
    state_shapes({name: source.shape for name, source in sources.items()})
    pairs = {measure.name: _pairs(measure, list(sources)) for measure in chosen}
    groups = engine.group_by_view(chosen, pairs, sources.values())
    scores = engine.run(groups, sources, engine.too_large(groups, sources))
    pair_scores, interrupted = engine.collect(scores, sum(map(len, pairs.values())))
    _warn_of_doubts(pair_scores, chosen, sources.__getitem__, {name: source.shape for name, source in sources.items()})
    return (
        arrange_scores(pair_scores, chosen, pairs),
        {name: source.shape for name, source in sources.items()},
        interrupted,
    )


_OF_FEW = ("few rows", "few coordinates", "offset", "raw counts")
"""Doubts whose effect depends on the pair."""
_CHECKED = 1 << 26
"""Largest number of values of representations that are read again to check their comparison."""


def _warn_of_doubts(
    scores: Iterable[Score],
    measures: Sequence[Measure],
    load: Callable[[str], Representation],
    shapes: Mapping[str, tuple[int, ...]],
) -> None:
    """Warn of problems with the closest pair by the first measure, which the answer names."""
    first = measures[0]
    known = [pair for pair in scores if pair.name == first.name and pair.has_value and pair.first != pair.second]
    if not known:
        return
    closest = (max if first.higher_is_closer else min)(known, key=lambda pair: pair.value)
    if sum(prod(shapes[name]) for name in (closest.first, closest.second)) <= _CHECKED:
        sides = {name: load(name) for name in (closest.first, closest.second)}
        # The answer says that the closest pair is alike as copies are.
        warn_of_pair_doubts(sides, but=("copies", *irrelevant_doubts(measure.invariant for measure in measures)))
    others = [name for name in shapes if name not in (closest.first, closest.second)]
    for name in others if sum(map(prod, shapes.values())) <= _CHECKED else ():
        warn_of_row_doubts(load(name), name, but=_OF_FEW)


def _pairs(measure: Measure, names: list[str]) -> list[engine.Pair]:
    """Return all pairs of names, in one order if symmetric; add self-pairs whose value is not known."""
    pairs = list(combinations(names, 2) if measure.symmetric else permutations(names, 2))
    return pairs if measure.self_value is not None else [*pairs, *((name, name) for name in names)]


def arrange_scores(
    pair_scores: list[Score], measures: list[Measure], pairs: Mapping[str, list[engine.Pair]]
) -> tuple[Score, ...]:
    """Arrange the scores by measure and pair, and mark those that were not reached."""
    # A store keeps no chance levels from formulas. They are removed here, so that results do not depend on whether a
    # store is used.
    scores = {
        (pair.name, pair.first, pair.second): pair if pair.has_null else replace(pair, chance=float("nan"))
        for pair in pair_scores
    }
    return tuple(
        scores.get((measure.name, *pair)) or engine.name_pair(engine.score_not_reached(measure), pair)
        for measure in measures
        for pair in pairs[measure.name]
    )
