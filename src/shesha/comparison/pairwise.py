"""Every pair of several representations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, permutations

from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha._layers import LayerAxis, split_layers
from shesha._random import number
from shesha._types import Seed
from shesha.comparison import _engine as engine
from shesha.comparison._processes import run_on_processes
from shesha.comparison.compare import collect, drawn, require_same_rows
from shesha.measures import Measure, choose
from shesha.measures._registry import Choice
from shesha.results import PairScore, PairwiseComparison
from shesha.views import Rdm, named


def compare_all(
    representations: Mapping[str, ArrayLike | Rdm],
    measures: Choice | Iterable[Choice] = "standard",
    *,
    workers: int = 1,
    seed: Seed = 0,
    layer_axis: LayerAxis = "guess",
) -> PairwiseComparison:
    """Compare every pair of several representations of the same inputs.

    Each view is made once per representation, not once per pair and measure. Ctrl-C returns what is done so far.
    Chance levels and intervals come from `compare(..., calibrate=True)`, for one pair.

    Parameters
    ----------
    representations : mapping of names to arrays of shape (n_samples, n_features), or Rdm
        At least two, of the same rows. A 3-D array is one representation per layer, as in files.
    measures : str, measure or sequence of them
        As for `compare`.
    workers : int
        Number of processes. One process already uses all cores through threads; more help measures that do not
        (RTD).
    seed : int, Generator or None
        For measures that draw at random.
    layer_axis : int, None or 'guess'
        Which axis of a 3-D array counts its layers, called ``name[0]``, ``name[1]`` and so on; None: such an array is
        one representation, of token sequences. 'guess': (rows, layers, features), or (layers, rows, features) if the
        first axis is at most a third as long as the second; a warning tells what was guessed.

    Returns
    -------
    PairwiseComparison
        `.to_frame()` (long), `.matrix("CKA")`, `.plot("CKA")`, `.embed("CKA")`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.standard_normal((50, 8)), rng.standard_normal((50, 8))
    >>> found = compare_all({"X": X, "rotated": X[:, ::-1], "noise": noise}, ["CKA"])
    >>> found.matrix("CKA").round(2).loc["X"].to_list()
    [1.0, 1.0, 0.13]
    """
    n_workers = check.count(workers, "workers")
    given = split_layers(representations, layer_axis) if isinstance(representations, Mapping) else None
    if given is None or len(given) < 2:
        what = type(representations).__name__ if given is None else f"{len(given)}"
        raise ValueError(f"representations must be a mapping of at least two names to arrays, got {what}")
    sources = named(given, "representations", "{}")
    require_same_rows(sources)
    chosen = drawn(choose(measures), seed)
    pairs = {measure.name: _pairs(measure, list(sources)) for measure in chosen}
    groups = engine.grouped(chosen, pairs)
    skipped = engine.too_large(groups, sources)
    scores = (
        run_on_processes(groups, sources, skipped, n_workers) if n_workers > 1 else engine.run(groups, sources, skipped)
    )
    found, interrupted = collect(scores, sum(map(len, pairs.values())))
    return PairwiseComparison(
        tuple(sources),
        tuple(source.shape for source in sources.values()),
        in_order(found, chosen, pairs),
        {measure.name: measure.symmetric for measure in chosen},
        {measure.name: measure.self_value for measure in chosen},
        number(seed),
        interrupted,
    )


def _pairs(measure: Measure, names: list[str]) -> list[engine.Pair]:
    """Each pair once if the order does not matter; a representation with itself if that is not known beforehand."""
    pairs = list(combinations(names, 2) if measure.symmetric else permutations(names, 2))
    return pairs if measure.self_value is not None else [*pairs, *((name, name) for name in names)]


def in_order(
    found: list[PairScore], measures: list[Measure], pairs: Mapping[str, list[engine.Pair]]
) -> tuple[PairScore, ...]:
    """Arrange the scores by measure and pair; what was not reached says so."""
    scores = {(pair.score.measure, pair.first, pair.second): pair for pair in found}
    return tuple(
        scores.get((measure.name, *pair)) or PairScore(*pair, engine.interrupted(measure))
        for measure in measures
        for pair in pairs[measure.name]
    )
