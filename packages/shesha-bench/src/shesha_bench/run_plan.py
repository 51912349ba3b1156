"""Plan a run: which models the chosen tests need, and which comparisons, each of them once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from shesha.comparison.engine import Group, Pair, group_by_view
from shesha.measures import Measure
from shesha_bench.calibrated_measure import CalibratedMeasure
from shesha_bench.measure_entries import entry_version
from shesha_bench.model_descriptions import Model
from shesha_bench.suite_tasks import Task
from shesha_bench.tests import BenchmarkTest, Cast, find
from shesha_bench.train_and_compare_jobs import Chunk
from shesha_bench.trained_models import LAST, reference

Keys = Mapping[Model, str]
_SECONDS = 10.0
"""Target duration of a chunk in seconds. If chunks are short, a killed run loses little work and all workers finish at
about the same time.
"""
_PER_PAIR = {"more": 1.0}
_CALIBRATED, _PLAIN = 0.25, 0.02


@dataclass(frozen=True)
class Trial:
    """One test of one task's models, for one way of pooling."""

    task: Task
    of: BenchmarkTest
    pooling: str

    @property
    def test(self) -> str:
        """Name of the test."""
        return self.of.name

    @property
    def groups(self) -> dict[str, tuple[Model, ...]]:
        """The models of each group."""
        return dict(self.of.models(self.task))

    @property
    def models(self) -> tuple[Model, ...]:
        """The models of all groups, in order."""
        return tuple(model for group in self.groups.values() for model in group)

    def cast(self, keys: Keys, n_layers: int) -> Cast:
        """Return, by group, the references to those representations of each model that the test compares."""
        layers = range(n_layers) if self.of.layered else (LAST,)
        return Cast(
            {
                group: tuple(tuple(reference(keys[model], self.pooling, layer) for layer in layers) for model in models)
                for group, models in self.groups.items()
            }
        )

    def pairs(self, symmetric: bool, keys: Keys, n_layers: int) -> list[Pair]:
        """Return the pairs of representations that the test needs from a measure."""
        return self.of.pairs(self.cast(keys, n_layers), symmetric)


def trials(tasks: Sequence[Task], tests: Collection[str] = ()) -> list[Trial]:
    """Return the trials for these tasks, restricted to the named tests if there are any."""
    return [
        Trial(task, find(test), pooling)
        for task in tasks
        for test in task.tests
        if not tests or test in tests
        for pooling in task.poolings
    ]


def required_models(chosen: Sequence[Trial]) -> list[Model]:
    """Return the models that the chosen trials need, each once."""
    return list(dict.fromkeys(model for trial in chosen for model in trial.models))


def plan_chunks(
    trial: Trial,
    measures: Sequence[Measure],
    keys: Keys,
    n_layers: int,
    planned: set[tuple[str, str, str, str]],
) -> Iterator[Chunk]:
    """Yield those comparisons of a trial that are neither done nor planned, and mark them as planned."""
    pairs: dict[str, list[Pair]] = {}
    for measure in measures:
        version = entry_version(measure)
        cells = {pair: (*pair, measure.name, version) for pair in trial.pairs(measure.symmetric, keys, n_layers)}
        reversed_ones = {(b, a, name, v) for a, b, name, v in cells.values()} if measure.symmetric else set()
        there = planned & reversed_ones
        pairs[measure.name] = [
            pair for pair, cell in cells.items() if cell not in planned and (cell[1], cell[0], *cell[2:]) not in there
        ]
        planned.update(cells[pair] for pair in pairs[measure.name])
    for group in group_by_view([measure for measure in measures if pairs[measure.name]], pairs):
        yield from _pieces(group)


def _pieces(group: Group) -> Iterator[Chunk]:
    """Divide a group into chunks of similar duration, which keep cheap and costly measures apart."""
    costs = [_cost(measure) for measure in group.measures]
    for cost in dict.fromkeys(costs):
        chosen = [index for index, value in enumerate(costs) if value == cost]
        measures = tuple(group.measures[index] for index in chosen)
        pairs = [group.pairs[index] for index in chosen]
        everything = list(dict.fromkeys(pair for batch in pairs for pair in batch))
        n_pieces = max(1, ceil(sum(map(len, pairs)) * cost / _SECONDS))
        step = ceil(len(everything) / n_pieces)
        for start in range(0, len(everything), step):
            some = set(everything[start : start + step])
            cut = tuple(tuple(pair for pair in batch if pair in some) for batch in pairs)
            yield Chunk(measures, cut)


def _cost(measure: Measure) -> float:
    """Estimate the seconds that a comparison takes for representations of 1,000 rows."""
    if isinstance(measure, CalibratedMeasure):
        return _CALIBRATED
    return _PER_PAIR.get(measure.cost, _PLAIN)
