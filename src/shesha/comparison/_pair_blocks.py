"""Compare pairs in blocks, so that few views are in memory at a time and each block is stored at once."""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from shesha.comparison import _calibration_steps as calibrated
from shesha.comparison import engine
from shesha.comparison._all_pairs_calibration import Calibration
from shesha.comparison.engine import Group, Pair
from shesha.comparison.representation_locations import RecentRepresentations, RepresentationLocation, array_bytes
from shesha.measures import Measure, code_version
from shesha.results import Score
from shesha.results.field_type_checks import fits
from shesha.runs import Job, Meter, ResultStore
from shesha.support.types import Vector

CELLS, LOST, CALIBRATED = "comparison", "lost comparison", "calibrated comparison"
"""Names under which a store keeps three kinds of records: comparisons, comparisons that were lost because a worker died
or a file was unreadable, and comparisons with the scores of draws. The next run retries lost comparisons.
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
        low, high = (score.interval_low, score.interval_high) if score.has_interval else (None, None)
        value = score.value if score.has_value else None
        return cls(value, score.seconds, score.reason or score.note, low, high, text)

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
            yield Cell(
                pair_score.score.measure, pair_score.first, pair_score.second, StoredScore.build(pair_score.score)
            )
        return
    nulls: calibrated.Nulls = {}
    added = block.calibration
    for pair_score in calibrated.run_pairs(
        group, sources, added.evidence, lambda pair: added.joint.pair_orders(*pair), nulls, block.room
    ):
        draws = nulls.get((pair_score.score.measure, (pair_score.first, pair_score.second)))
        yield Cell(
            pair_score.score.measure, pair_score.first, pair_score.second, StoredScore.build(pair_score.score, draws)
        )


@dataclass
class Comparisons:
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
            first, second = key[len(prefix) :].split("/")
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
        keys = {f"{self._prefixes[cell.measure]}{cell.first}/{cell.second}": cell for cell in cells}
        for kind, is_lost in ((self._kind, False), (LOST, True)):
            values = {key: self._text(cell.score) for key, cell in keys.items() if cell.lost is is_lost}
            if values:
                self.store.put(kind, values)
        for cell in cells:
            self.stored_scores[cell.measure][cell.first, cell.second] = cell.score

    def _text(self, result: StoredScore) -> str:
        return json.dumps(result if self.calibration is not None else result[:3])
