"""All pairs of several representations, in blocks, on any kind of worker, with results stored as they finish."""

from __future__ import annotations

import base64
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast, get_type_hints

import numpy as np

from shesha import runs
from shesha.calibration.single_pair import warn_of_dependence
from shesha.comparison import engine
from shesha.comparison.engine import Evidence, Group, Pair, correct_p_values, worst_and_best
from shesha.comparison.input_manifest import (
    Files,
    IndexedInput,
    InMemoryRepresentation,
    InputIndex as Index,
    RecentRepresentations,
    RepresentationLocation,
    SpooledRepresentation,
    array_bytes,
    index_files,
    index_mapping,
)
from shesha.doubting.pair_doubts import saturated_measures
from shesha.inputs import MissingRows, RowChoice, labels_in_order
from shesha.inputs.matrix_shapes import state_shapes
from shesha.measures import Measure, code_version
from shesha.nulls import exchange
from shesha.nulls.permutations import Design, RepresentationPermutations, nonempty_arguments
from shesha.results import Score
from shesha.results.json_loading import fits
from shesha.runs import Job, Meter, ResultStore, version_of_code
from shesha.support import memory
from shesha.support.types import Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.views import Representation, restrict


@dataclass(frozen=True)
class Calibration:
    """What is added to each score: draws shared by all pairs, and row subsets for intervals."""

    evidence: Evidence
    joint: RepresentationPermutations

    @property
    def key(self) -> str:
        """Key that identifies everything stored draws depend on, besides the data and the measure."""
        return f"{self.joint.key} {self.evidence.confidence:g} {version_of_code()}"

    def add_chances(
        self,
        scores: Sequence[Score],
        measures: Sequence[Measure],
        draws: Mapping[tuple[str, tuple[str, str]], Vector],
    ) -> list[Score]:
        """Add chance levels to the scores, with p-values corrected for the number of pairs per measure."""
        corrected = []
        for measure in measures:
            family = []
            for pair_score in scores:
                values = draws.get((measure.name, (pair_score.first, pair_score.second)))
                # Comparing a representation with itself tests nothing.
                if pair_score.name == measure.name and values is not None and pair_score.first != pair_score.second:
                    pair_score = self.evidence.add_chance(measure, pair_score, values)
                if pair_score.name == measure.name:
                    family.append(pair_score)
            corrected += correct_p_values(family, draws)
        _warn_of_saturation(corrected)
        return corrected


@dataclass(frozen=True)
class NullRequest:
    """The chance levels and intervals that `compare_all` should add to each score."""

    n_permutations: int
    alpha: float
    confidence: float | None
    design: Design
    seed: int

    def draw(self, known: Mapping[str, IndexedInput]) -> Calibration:
        """Check the design, warn if rows depend on one another, and draw row subsets and permutations."""
        sides = list(known.values())
        design = cast(Design, labels_in_order((side.names for side in sides), self.design))
        row_exchange = exchange(sides[0].outline.n_rows, **nonempty_arguments(design))
        row_exchange.require_enough(self.n_permutations, self.alpha)
        # Two representations suffice for this check, because all have the same rows in the same order.
        warn_of_dependence([sides[0].place.load(), sides[-1].place.load()], design, None)
        evidence = Evidence.draw_subsets(row_exchange, self.alpha, self.confidence, self.seed)
        return Calibration(evidence, RepresentationPermutations(row_exchange, self.n_permutations, self.seed))


def _warn_of_saturation(scores: Sequence[Score]) -> None:
    """Warn of each measure for which unrelated data reach the best value, and name one such pair."""
    warned: set[str] = set()
    for pair_score in scores:
        name = pair_score.name
        if name not in warned and saturated_measures({name: (pair_score.chance, *worst_and_best(pair_score))}):
            warned.add(name)
            warn(
                f"{name} is saturated for {pair_score.first} and {pair_score.second}: unrelated data reach "
                "the value of perfect agreement. Use more rows, fewer features, or another measure",
                CalibrationWarning,
            )


CELLS, CALIBRATED = "comparison", "calibrated comparison"
"""Names under which a store keeps comparisons, without and with the scores of draws.

Comparisons that were lost, because a worker died or a file was unreadable, are not stored; the next run retries them.
"""
BLOCK = 16
"""Maximum number of representations along one side of a block."""
_SMALLEST = 4
"""Minimum number of representations along one side of a block, unless comparisons are slow."""
_SECONDS = 20.0
"""Target computing time of a block in seconds; short blocks limit the loss if a run is killed."""
_PER_PAIR = 0.02
"""Approximate seconds to compare two representations of 1,000 rows; grows with the square of the number of rows."""

_DRAWS_PER_VALUE = 20
"""Approximate number of draws that take as long as one comparison including its views."""


class StoredScore(NamedTuple):
    """The result of one comparison, as plain values that a store can hold."""

    value: float | None
    seconds: float
    reason: str
    """Reason why the value is missing, or a note on the value."""
    low: float | None = None
    high: float | None = None
    draws: str = ""
    """Observed score followed by the score of each draw, as base64-encoded double-precision bytes."""

    @classmethod
    def parse(cls, text: str) -> StoredScore:
        """Return the score in a stored text; raise TypeError if a value has another type."""
        stored = cls(*json.loads(text))
        if not all(fits(value, kind) for value, kind in zip(stored, get_type_hints(cls).values(), strict=True)):
            raise TypeError(f"a score must be {', '.join(cls._fields)}, got {text:.60}")
        return stored

    @classmethod
    def build(cls, score: Score, draws: Vector | None = None) -> StoredScore:
        """Return the stored form of a score and its draws."""
        text = "" if draws is None else base64.b64encode(np.asarray(draws, dtype="<f8").tobytes()).decode()
        low, high = (score.low, score.high) if score.has_interval else (None, None)
        value = score.value if score.has_value else None
        return cls(value, score.seconds, score.reason or "\n".join(score.notes), low, high=high, draws=text)

    @property
    def values(self) -> Vector | None:
        """Observed score followed by the score of each draw."""
        return np.frombuffer(base64.b64decode(self.draws), dtype="<f8").astype(np.float64) if self.draws else None


_recent = RecentRepresentations()


@dataclass(frozen=True)
class Cell:
    """The result of comparing two contents, identified by fingerprints, with one measure."""

    measure: str
    first: str
    second: str
    score: StoredScore
    lost: bool = False
    """Whether the value is missing for a reason unrelated to the data, such as a killed worker."""


@dataclass(frozen=True)
class Block:
    """One task for a worker: several measures of the same view, with the pairs that each compares."""

    group: Group
    places: Mapping[str, RepresentationLocation]
    """Where each representation is stored, by its fingerprint."""
    room: int
    """Bytes of memory for the views; the representations themselves may use half as much again."""
    calibration: Calibration | None = None

    @property
    def n_cells(self) -> int:
        """Number of comparisons in the chunk."""
        return sum(map(len, self.group.pairs))

    def lost(self, reason: str) -> list[Cell]:
        """Return every comparison of the block, marked as lost."""
        measures = zip(self.group.measures, self.group.pairs, strict=True)
        return [
            Cell(measure.name, *pair, StoredScore(None, 0.0, reason), lost=True)
            for measure, pairs in measures
            for pair in pairs
        ]


def compare_block(block: Block) -> tuple[list[Cell], float]:
    """Compare the pairs of a block and measure the time; an unreadable input affects only its own pairs."""
    start = time.perf_counter()
    sources, unreadable = _recent.load(block.places, block.room // 2)
    cells = []
    pairs = []
    for measure, own_pairs in zip(block.group.measures, block.group.pairs, strict=True):
        pairs.append(tuple(pair for pair in own_pairs if not {*pair} & {*unreadable}))
        for pair in own_pairs:
            bad = [name for name in pair if name in unreadable]
            if bad:
                reason = f"{bad[0]}: {unreadable[bad[0]]}"
                cells.append(Cell(measure.name, *pair, StoredScore(None, 0.0, reason), lost=True))
    group = Group(block.group.measures, tuple(pairs))
    cells += _score_cells(group, sources, block)
    return cells, time.perf_counter() - start


def _score_cells(group: Group, sources: engine.Sources, block: Block) -> Iterator[Cell]:
    """Yield the comparisons, with draws and intervals if requested."""
    if block.calibration is None:
        for pair_score in engine.run([group], sources, {}, block.room):
            yield Cell(pair_score.name, pair_score.first, pair_score.second, StoredScore.build(pair_score))
        return
    nulls: engine.Nulls = {}
    added = block.calibration
    for pair_score in engine.run_pairs(
        group, sources, added.evidence, lambda pair: added.joint.pair_orders(*pair), nulls, block.room
    ):
        draws = nulls.get((pair_score.name, (pair_score.first, pair_score.second)))
        yield Cell(pair_score.name, pair_score.first, pair_score.second, StoredScore.build(pair_score, draws))


@dataclass
class StoredComparisons:
    """The plan of a run: blocks of those pairs that are not yet in the store."""

    store: ResultStore
    groups: Sequence[Group]
    """Measures grouped by view, with the pairs of fingerprints that each compares."""
    places: Mapping[str, RepresentationLocation]
    shapes: Mapping[str, tuple[int, ...]]
    n_workers: int
    room: int
    """Bytes of memory for each worker."""
    meter: Meter
    calibration: Calibration | None = None
    stored_scores: dict[str, dict[Pair, StoredScore]] = field(init=False)
    """Stored and new scores, by measure and by pair of fingerprints."""

    def __post_init__(self) -> None:
        """Read the comparisons that earlier runs stored, and count those that remain."""
        self.stored_scores = {
            measure.name: self._stored_pairs(measure) for group in self.groups for measure in group.measures
        }
        for group in self.groups:
            done = (self.stored_scores[measure.name] for measure in group.measures)
            n_left = sum(pair not in known for pairs, known in zip(group.pairs, done, strict=True) for pair in pairs)
            if n_left:
                self.meter.expect(group.measures[0].view_key, n_left)
        self._blocks = self._plan_blocks()

    @cached_property
    def _prefixes(self) -> dict[str, str]:
        """Prefix of each measure's keys: its name, its non-default options, and its code version."""
        prefixes = {}
        null = f"{self.calibration.key} " if self.calibration is not None and self.store.is_kept else ""
        for measure in (measure for group in self.groups for measure in group.measures):
            options = json.dumps(dict(measure.options), sort_keys=True, default=repr)
            # A temporary store needs no version, because no later run reads it.
            prefixes[measure.name] = (
                f"{null}{measure.name} {options}/{code_version(measure) if self.store.is_kept else ''}/"
            )
        return prefixes

    def _stored_pairs(self, measure: Measure) -> dict[Pair, StoredScore]:
        prefix, stored = self._prefixes[measure.name], dict[Pair, StoredScore]()
        for key, text in self.store.items(self._kind, prefix):
            first, _, second = key[len(prefix) :].partition("/")
            if first in self.places and second in self.places:
                with self.store.decoding():
                    result = StoredScore.parse(text)
                stored[first, second] = result
                if measure.symmetric:
                    stored.setdefault((second, first), result)
        return stored

    @property
    def _kind(self) -> str:
        return CELLS if self.calibration is None else CALIBRATED

    def _plan_blocks(self) -> Iterator[Job]:
        number = count(1)
        for group in self.groups:
            for pairs in self._cut(group):
                rest = Group(group.measures, pairs)
                names = dict.fromkeys(name for pair in rest.all_pairs for name in pair)
                block = Block(rest, {name: self.places[name] for name in names}, self.room, self.calibration)
                kind = group.measures[0].view_key
                yield Job(f"block {next(number)}", kind, block.n_cells, compare_block, (block,))

    def _cut(self, group: Group) -> Iterator[tuple[tuple[Pair, ...], ...]]:
        """Divide the remaining pairs into blocks, and yield the pairs of each block for each measure."""
        side = self._side(group)
        block_of = {name: number // side for number, name in enumerate(self.places)}
        blocks: dict[tuple[int, ...], list[list[Pair]]] = {}
        for position, (measure, pairs) in enumerate(zip(group.measures, group.pairs, strict=True)):
            known = self.stored_scores[measure.name]
            for pair in pairs:
                if pair not in known:
                    corner = tuple(sorted(block_of[name] for name in pair))
                    blocks.setdefault(corner, [[] for _ in group.measures])[position].append(pair)
        # In this order, consecutive blocks share a side, which is then already in memory.
        for corner in sorted(blocks):
            yield tuple(map(tuple, blocks[corner]))

    def _side(self, group: Group) -> int:
        """Number of representations along a block's side, limited by memory, time and the number of workers."""
        if any(measure.cost == "more" for measure in group.measures):
            return 1
        by_memory = self.room // (4 * max(map(array_bytes, self.shapes.values())))
        n_rows = max(shape[0] for shape in self.shapes.values())
        seconds = _PER_PAIR * max(1.0, n_rows / 1000) ** 2 * len(group.measures)
        if self.calibration is not None:
            seconds *= 1 + self.calibration.joint.n_permutations / _DRAWS_PER_VALUE
            seconds += _PER_PAIR * len(self.calibration.evidence.subsets)
        by_time = max(_SMALLEST, math.isqrt(int(_SECONDS / seconds)))
        n_sides = math.ceil(math.sqrt(4 * self.n_workers / len(self.groups))) if self.n_workers > 1 else 1
        by_share = math.ceil(len(self.places) / n_sides)
        return max(1, min(BLOCK, by_memory, by_time, by_share))

    def ready(self) -> Job | None:
        """Return the next block, or None."""
        return next(self._blocks, None)

    def keep_result(self, job: Job, result: Any) -> float:
        """Write the comparisons of a block in one transaction; return the seconds they took."""
        cells, seconds = result
        self._keep(cells)
        return float(seconds)

    def record_failure(self, job: Job, reason: str) -> None:
        """Record that the comparisons of a block are lost."""
        self._keep(job.arguments[0].lost(reason))

    def _keep(self, cells: Sequence[Cell]) -> None:
        texts = {
            f"{self._prefixes[cell.measure]}{cell.first}/{cell.second}": self._text(cell.score)
            for cell in cells
            if not cell.lost
        }
        if texts:
            self.store.put(self._kind, texts)
        for cell in cells:
            self.stored_scores[cell.measure][cell.first, cell.second] = cell.score

    def _text(self, result: StoredScore) -> str:
        return json.dumps(result if self.calibration is not None else result[:3])


_ARRAYS = ".arrays"
"""Suffix of the folder next to a store in which arrays for the workers are written."""


class PairRun:
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
        request: NullRequest | None = None,
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

    def __call__(self, pairs_of: Callable[[Measure, list[str]], list[Pair]]) -> list[Score]:
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
            engine.name_pair(self._score(measure, pair, values_by_measure[measure.name], skipped), pair)
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
        with self._places(known) as places:
            executor = runs.executor(self._workers, self._scheduler) if self._uses_workers else runs.Here()
            meter = runs.Meter(executor.n_workers, "comparisons")
            room = memory.memory_budget() // executor.n_workers
            shapes = {name: source.shape for name, source in known.items()}
            plan = StoredComparisons(
                store,
                groups,
                places,
                shapes=shapes,
                n_workers=executor.n_workers,
                room=room,
                meter=meter,
                calibration=self.calibration,
            )
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
        score = replace(engine.make_score(measure, cell.value, cell.seconds, ""), notes=tuple(reason.splitlines()))
        if cell.low is None or cell.high is None:
            return score
        return replace(score, low=cell.low, high=cell.high)

    def _cell(self, measure: Measure, pair: Pair, results: Mapping[Pair, StoredScore]) -> StoredScore | None:
        """Return the stored comparison of the contents behind two names, if there is one."""
        first, second = (self.index.known[name].fingerprint for name in pair)
        return results.get((first, second)) or (results.get((second, first)) if measure.symmetric else None)

    @contextmanager
    def _places(self, known: Mapping[str, IndexedInput]) -> Iterator[dict[str, Any]]:
        """Yield the location of each content; arrays in memory are written to files for other processes."""
        in_memory = {
            name: source.place.load()
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
    _require_same_counts({name: (source.outline.n_rows, source.shape[-1]) for name, source in index.known.items()})


def _require_same_counts(shapes: Mapping[str, tuple[int, int]]) -> None:
    """Require equal numbers of rows."""
    if len({n for n, _ in shapes.values()}) > 1:
        counts_text = ", ".join(f"{name} ({n:,})" for name, (n, _) in shapes.items())
        turned = [
            name
            for name, (_, width) in shapes.items()
            if {n for other, (n, _) in shapes.items() if other != name} == {width}
        ]
        few, many = (extreme(n for n, _ in shapes.values()) for extreme in (min, max))
        advice = 'If row names or numbers identify rows, rows="shared" uses those that all have'
        if turned:
            advice = (
                f"{' or '.join(turned)} may be transposed, because its columns are as many as the rows of the other: "
                "save its transpose"
            )
        elif 1 < few < many and many % few == 0:
            times = many // few
            advice = (
                f"As {many:,} is {times} x {few:,}, rows may be repeated: average them first, by X.reshape({few}, "
                f"{times}, -1).mean(axis=1) if repeats follow one another, or X.reshape({times}, {few}, "
                f"-1).mean(axis=0) if all rows come again. {advice}"
            )
        raise ValueError(f"representations must have equal numbers of rows, got {counts_text}. {advice}")


def require_same_rows(sources: Mapping[str, Representation]) -> None:
    """Require that all representations have the same number of rows."""
    _require_same_counts({name: (source.n_rows, source.shape[-1]) for name, source in sources.items()})


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
