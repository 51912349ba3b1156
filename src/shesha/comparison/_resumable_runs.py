"""Compare all pairs on any kind of worker, store results as they finish, and resume."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from shesha import runs
from shesha.comparison import engine
from shesha.comparison._all_pairs_calibration import Calibration, Request
from shesha.comparison._pair_blocks import Comparisons, StoredScore
from shesha.comparison.engine import Pair
from shesha.comparison.input_manifest import Files, Index, IndexedInput, index_files, index_mapping
from shesha.comparison.representation_locations import InMemoryRepresentation, SpooledRepresentation
from shesha.inputs import MissingRows, RowChoice
from shesha.inputs.matrix_shapes import state_shapes
from shesha.measures import Measure
from shesha.nulls.permutations import Design
from shesha.results import PairScore, Score
from shesha.support import memory
from shesha.views import Representation, restrict

_ARRAYS = ".arrays"
"""Suffix of the folder next to a store in which arrays for the workers are written."""


class Run:
    """A comparison of many representations.

    Parameters
    ----------
    given : Files or mapping
        The representations to compare.
    measures : sequence of Measure
        Measures with fixed seeds.
    workers, scheduler, store
        As for `compare_all`.
    request : Request, optional
        Chance levels and intervals to add to each score. Default: none.
    rows, missing, ids
        As for `compare_all`.
    """

    def __init__(
        self,
        given: Files | Mapping[Any, Any],
        measures: Sequence[Measure],
        workers: int | None,
        scheduler: str | None,
        store: str | os.PathLike[str] | None,
        request: Request | None = None,
        *,
        rows: RowChoice = "same",
        missing: MissingRows = "refuse",
        ids: str | None = None,
    ) -> None:
        self._rows, self._missing = rows, missing
        self._reading: dict[str, Any] = {"ids": ids, "as_it_is": missing == "drop"}
        self._given, self._measures = given, measures
        self._workers, self._scheduler, self._store = workers, scheduler, store
        self._request = request
        self.calibration: Calibration | None = None
        self.index = Index()
        self.interrupted = False

    @property
    def _uses_workers(self) -> bool:
        """Whether other processes do the comparisons."""
        return self._scheduler is not None or (self._workers or 1) > 1

    def __call__(self, pairs_of: Callable[[Measure, list[str]], list[Pair]]) -> list[PairScore]:
        """Compare the pairs; `pairs_of` returns the pairs of names that a measure compares."""
        if self._uses_workers:
            require_importable(self._measures, self._workers, self._scheduler)
        with runs.open_for_writing(self._store) as store:
            self.index = self._index_inputs(store)
            self._restrict_rows()
            self.index.align_rows()
            _require_comparable(self.index)
            self.index.warn_of_left_out()
            known = self.index.known
            pairs = {measure.name: pairs_of(measure, list(known)) for measure in self._measures}
            skipped = _too_large(self._measures, known)
            if self._request is not None:
                self.calibration = self._request.draw(known)
            values_by_measure = self._compare_pairs(store, pairs, skipped)
        scores = [
            PairScore(*pair, self._score(measure, pair, values_by_measure[measure.name], skipped))
            for measure in self._measures
            for pair in pairs[measure.name]
        ]
        if self.calibration is None:
            return scores
        cells = {
            (measure.name, pair): self._cell(measure, pair, values_by_measure[measure.name])
            for measure in self._measures
            for pair in pairs[measure.name]
        }
        draws = {key: cell.values for key, cell in cells.items() if cell is not None and cell.values is not None}
        return self.calibration.add_chances(scores, self._measures, draws)

    def _restrict_rows(self) -> None:
        """Leave out rows that are not shared, incomplete or without a label."""
        design = {} if self._request is None else dict(self._request.design)
        self.index.known, along = restrict(
            self.index.known, design, rows=self._rows, missing=self._missing, metric="cosine"
        )
        if self._request is not None:
            self._request = replace(self._request, design=cast(Design, along))
        state_shapes({name: source.shape for name, source in self.index.known.items()})

    def _index_inputs(self, store: runs.ResultStore) -> Index:
        if isinstance(self._given, Files):
            changes = {name: value for name, value in self._reading.items() if value}
            return index_files(replace(self._given, **changes), store)
        hashed = self._store is not None or self._request is not None
        return index_mapping(self._given, store, hashed=hashed, options=self._reading)

    def _compare_pairs(
        self, store: runs.ResultStore, pairs: Mapping[str, Sequence[Pair]], skipped: Mapping[Any, str]
    ) -> dict[str, dict[Pair, StoredScore]]:
        known = {source.fingerprint: source for source in self.index.known.values()}
        contents = {measure.name: self._contents(measure, pairs[measure.name], skipped) for measure in self._measures}
        groups = engine.group_by_view(self._measures, contents, [source.outline for source in known.values()])
        with self._places(known) as places, self._executor() as executor:
            meter = runs.Meter(executor.n_workers, "comparisons")
            room = memory.memory_budget() // executor.n_workers
            shapes = {name: source.shape for name, source in known.items()}
            plan = Comparisons(store, groups, places, shapes, executor.n_workers, room, meter, self.calibration)
            try:
                runs.run(plan, executor, meter)
            except KeyboardInterrupt:
                self.interrupted = True
        return plan.stored_scores

    def _contents(self, measure: Measure, pairs: Sequence[Pair], skipped: Mapping[Any, str]) -> tuple[Pair, ...]:
        """Return the distinct pairs of contents that a measure compares; several names may share one content."""
        content_pairs: dict[Pair, None] = {}
        for first, second in pairs:
            a, b = self.index.known[first], self.index.known[second]
            if (measure.name, (a.shape, b.shape)) in skipped:
                continue
            pair = a.fingerprint, b.fingerprint
            if not measure.symmetric or (pair[1], pair[0]) not in content_pairs:
                content_pairs[pair] = None
        return tuple(content_pairs)

    def _score(
        self, measure: Measure, pair: Pair, results: Mapping[Pair, StoredScore], skipped: Mapping[Any, str]
    ) -> Score:
        sides = [self.index.known[name] for name in pair]
        reason = skipped.get((measure.name, (sides[0].shape, sides[1].shape)))
        if reason is not None:
            return engine.missing_score(measure, reason)
        cell = self._cell(measure, pair, results)
        if cell is None:
            return engine.score_not_reached(measure)
        reason = cell.reason
        for name, side in zip(pair, sides, strict=True):
            # Stored reasons contain fingerprints, because the names of contents are known only here.
            if reason.startswith(f"{side.fingerprint}: "):
                reason = name + reason[len(side.fingerprint) :]
                break
        if cell.value is None:
            return engine.make_score(measure, float("nan"), cell.seconds, reason)
        score = replace(engine.make_score(measure, cell.value, cell.seconds, ""), note=reason)
        if cell.low is None or cell.high is None:
            return score
        return replace(score, interval_low=cell.low, interval_high=cell.high)

    def _cell(self, measure: Measure, pair: Pair, results: Mapping[Pair, StoredScore]) -> StoredScore | None:
        """Return the stored comparison of the contents behind two names, if there is one."""
        first, second = (self.index.known[name].fingerprint for name in pair)
        return results.get((first, second)) or (results.get((second, first)) if measure.symmetric else None)

    @contextmanager
    def _executor(self) -> Iterator[runs.Executor]:
        yield runs.executor(self._workers, self._scheduler) if self._uses_workers else runs.Here()

    @contextmanager
    def _places(self, known: Mapping[str, IndexedInput]) -> Iterator[dict[str, Any]]:
        """Yield the location of each content; arrays in memory are written to files for other processes."""
        in_memory = {
            name: source.place.source
            for name, source in known.items()
            if isinstance(source.place, InMemoryRepresentation)
        }
        places: dict[str, Any] = {name: source.place for name, source in known.items()}
        if not self._uses_workers or not in_memory:
            yield places
            return
        with _folder(self._store) as folder:
            written = {
                name: SpooledRepresentation.write(source, folder / f"{number}.npy")
                for number, (name, source) in enumerate(in_memory.items())
            }
            yield places | written


@contextmanager
def _folder(store: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Create a folder for arrays: next to the store, which other machines can read, or a temporary folder."""
    if store is None:
        with tempfile.TemporaryDirectory(prefix="shesha-") as place:
            yield Path(place)
        return
    folder = Path(store).absolute().with_name(Path(store).name + _ARRAYS)
    # A killed run may have left this folder behind. It can be removed, because no other run is using the store.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _too_large(measures: Sequence[Measure], known: Mapping[str, IndexedInput]) -> dict[Any, str]:
    """Return the comparisons that would exceed the memory budget, by measure and shapes, with the reason."""
    shapes = {source.shape: source.outline for source in known.values()}
    labels = {str(shape): shape for shape in shapes}
    outlines = {label: shapes[shape] for label, shape in labels.items()}
    pairs = [(a, b) for a in labels for b in labels]
    groups = engine.group_by_view(measures, {measure.name: pairs for measure in measures}, shapes.values())
    reasons = engine.too_large(groups, outlines)
    return {(name, (labels[a], labels[b])): reason for (name, (a, b)), reason in reasons.items()}


def _require_comparable(index: Index) -> None:
    """Require at least two representations, all with the same number of rows."""
    if len(index.known) < 2:
        reasons = "".join(f"; left out: {path}: {reason}" for path, reason in index.left_out.items())
        raise ValueError(f"representations must be at least two, got {', '.join(index.known) or 'none'}{reasons}")
    counts = {name: source.outline.n_rows for name, source in index.known.items()}
    require_same_counts(counts)


def require_same_counts(counts: Mapping[str, int]) -> None:
    """Require equal numbers of rows."""
    if len(set(counts.values())) > 1:
        counts_text = ", ".join(f"{name} ({n:,})" for name, n in counts.items())
        raise ValueError(f"representations must have equal numbers of rows, got {counts_text}")


def require_same_rows(sources: Mapping[str, Representation]) -> None:
    """Require that all representations have the same number of rows."""
    require_same_counts({name: source.n_rows for name, source in sources.items()})


def require_importable(measures: Sequence[Measure], workers: int | None, scheduler: str | None) -> None:
    """Refuse measures that other processes cannot import."""
    for measure in measures:
        function = measure.function
        place = sys.modules.get(function.__module__)
        marked = getattr(getattr(place, function.__name__, None), "measure", None)
        if marked is None or function.__module__ == "__main__":
            got = workers if scheduler is None else scheduler
            raise ValueError(
                f"workers must be 1 for measures that other processes cannot import, got {got} and {measure.name}: "
                "put the measure into a module"
            )
