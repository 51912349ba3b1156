"""Suites: which models are trained and compared, and the plan of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import ceil
from typing import Any

from shesha.comparison.engine import Group, Pair, group_by_view
from shesha.measures import Measure
from shesha.support import types as kinds, wording
from shesha_bench.catalogue import STANDARD, Catalogue, Model, Plain, Setting, import_from_here, is_place
from shesha_bench.domains import PLACES
from shesha_bench.jobs import LAST, Chunk, reference
from shesha_bench.measure_entries import CalibratedMeasure, entry_version
from shesha_bench.tests import BenchmarkTest, ByGroups, Cast, find

Groups = tuple[Setting, ...]


@dataclass(frozen=True)
class Task:
    """One architecture on one data set, with the groups of models that each test compares."""

    domain: str
    dataset: str
    architecture: str
    hyper: Mapping[str, Plain] = field(hash=False)
    groups: Mapping[str, Groups] = field(hash=False)
    """The settings whose models each test compares as groups. Tests that are not named here are not run."""
    poolings: tuple[str, ...] = ("",)
    layers: Setting = STANDARD
    """Setting of the models whose layers are compared."""
    n_models: int = 10
    """Number of models for the tests that use predictions."""
    n_per_group: int = 5
    n_layered: int = 5
    """Number of models for the layer test."""

    def __str__(self) -> str:
        """Return the names of the network and the data set."""
        return f"{self.architecture} on {self.dataset}"

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests in which this task takes part."""
        from shesha_bench.tests import all_tests

        return tuple(test.name for test in all_tests() if test.takes_part(self))

    def model(self, setting: Setting, seed: int) -> Model:
        """Return the task's model for a setting and a seed."""
        return Model(self.domain, self.dataset, self.architecture, setting, seed, self.hyper)

    def models(self, test: str) -> dict[str, tuple[Model, ...]]:
        """Return the models of a test, by group."""
        from shesha_bench.tests import find

        return dict(find(test).models(self))


@dataclass(frozen=True)
class Suite:
    """A named list of tasks."""

    name: str
    tasks: tuple[Task, ...]
    options: Mapping[str, Mapping[str, Plain]] = field(default_factory=dict, hash=False)
    """Options that replace a measure's defaults, unless a run chooses other options."""

    def __post_init__(self) -> None:
        """Raise an error if the tasks are of another type, or if two would have equal keys in the store."""
        kinds.several(self.tasks, Task, "tasks", "tasks")
        places = [(task.domain, task.dataset, task.architecture) for task in self.tasks]
        for task, place in zip(self.tasks, places, strict=True):
            if places.count(place) > 1:
                raise ValueError(f"tasks must differ in domain, data set or architecture, got {task} more than once")

    def choose_tasks(
        self, domains: Collection[str] = (), datasets: Collection[str] = (), architectures: Collection[str] = ()
    ) -> tuple[Task, ...]:
        """Return the tasks that match the given domains, data sets and architectures, by default all."""
        task_domains = list(dict.fromkeys(task.domain for task in self.tasks))
        wanted = {
            "domain": {domain_name(name, task_domains) for name in domains},
            "dataset": set(datasets),
            "architecture": set(architectures),
        }
        tasks = self.tasks
        for what, names in wanted.items():
            known = {getattr(task, what).casefold(): getattr(task, what) for task in self.tasks}
            for name in names:
                if name.casefold() not in known:
                    raise wording.unknown(name, what, known.values(), wording.close_names(name, known.values()))
            plain = {name.casefold() for name in names}
            tasks = tuple(task for task in tasks if not plain or getattr(task, what).casefold() in plain)
        return tasks


def domain_name(text: str, known: Collection[str] = tuple(PLACES)) -> str:
    """Return the name of a domain that is given in the singular or the plural."""
    for name in known:
        if kinds.text(text, "domain").casefold() in (name.casefold(), f"{name}s".casefold()):
            return name
    raise wording.unknown(text, "domain", known, wording.close_names(text, known))


def test_name(text: str) -> str:
    """Return the name of a test, given in any case and with any separators, or as module:name."""
    return find(text).name


def setting_groups(**degrees: Collection[float]) -> dict[str, Groups]:
    """Return a task's groups: for each named test, the settings of the given degrees.

    Examples
    --------
    >>> [str(setting) for setting in setting_groups(label_randomization=(0, 0.5))["label_randomization"]]
    ['standard', 'labels 0.5']
    """
    groups = {}
    for name, some in degrees.items():
        test = find(name)
        if not isinstance(test, ByGroups):
            raise ValueError(f"degrees must be given only for tests by groups, got some for {test.name}")
        if some:
            groups[test.name] = test.settings(*some)
    return groups


def task(domain: str, dataset: str, architecture: str, suite: str = "paper", **changes: Any) -> Task:
    """Return the task of training a network on a data set, as their declarations define it.

    Parameters
    ----------
    domain : str
        'graph', 'language' or 'vision'.
    dataset, architecture : str
        Names from the library, or module:name of your own data set and network.
    suite : str
        'paper' or 'small'. The suite determines how many models are trained, and which networks and data sets are
        allowed.
    **changes
        Fields of `Task` to replace, such as `n_models`, `n_per_group`, `n_layered`, `groups` or `hyper`. The values in
        `hyper` replace single hyperparameters; all others keep their declared values.

    Raises
    ------
    ValueError
        If a name is unknown, or the network cannot be used with the data set.
    """
    entry = catalogue(domain)
    usual = entry.hyperparameters(dataset, architecture, suite)
    n_models, n_per_group, n_layered = entry.sizes[suite]
    own_fields: dict[str, Any] = {
        "groups": setting_groups(**entry.setting_degrees(dataset, architecture)),
        "poolings": entry.network(architecture).poolings or entry.poolings,
        "layers": entry.layers,
        "n_models": n_models,
        "n_per_group": n_per_group,
        "n_layered": n_layered,
    }
    hyper = {**usual, **changes.pop("hyper", {})}
    return Task(entry.domain, dataset, architecture, hyper, **(own_fields | changes))


def catalogue(domain: str) -> Catalogue[Any, Any, Any]:
    """Return the library's data sets and networks for a domain."""
    place = PLACES[domain_name(domain)]
    result: Catalogue[Any, Any, Any] = import_module(f"shesha_bench.{place}").CATALOGUE
    return result


def _small() -> tuple[Task, ...]:
    return (
        *(task("graph", "Cora", name, "small") for name in ("GCN", "SAGE", "GAT", "PGNN")),
        *(task("language", data, name, "small") for data in ("SST2", "MNLI") for name in ("MiniLM", "SmallBERT")),
        *(
            task("vision", data, name, "small")
            for data in ("FashionMNIST", "CIFAR10")
            for name in ("ResNet", "VGG", "ViT")
        ),
    )


def _paper() -> tuple[Task, ...]:
    cnns = ("RNet18", "RNet34", "RNet101", "VGG11", "VGG19", "ViT B32", "ViT L32")
    return (
        *(task("graph", "Cora", name) for name in ("GCN", "SAGE", "GAT", "PGNN")),
        *(task("graph", data, name) for data in ("Flickr", "OGBN-Arxiv") for name in ("GCN", "SAGE", "GAT")),
        *(task("language", data, name) for data in ("SST2", "MNLI") for name in ("BERT", "ALBERT", "SmolLM2")),
        *(task("vision", data, name) for data in ("IN100", "CIFAR100") for name in cnns),
    )


_SUITES = {"small": _small, "paper": _paper}
_OPTIONS: dict[str, dict[str, dict[str, Plain]]] = {
    "small": {"RTD": {"n_subsets": 2}, "stability difference": {"n_splits": 10}},
    "paper": {},
}
"""Options of measures, by suite. With the ten subsets of the paper, RTD would take as long as all other measures
combined.
"""


def suite(name: str) -> Suite:
    """Return a suite: 'small' for a laptop, 'paper' as published, or your own as module:name.

    Raises
    ------
    ValueError
        If there is no suite with this name, or nothing can be imported under it.
    TypeError
        If the imported object is not a suite.
    """
    if is_place(name):
        result = import_from_here(name, "suite")
        if not isinstance(result, Suite):
            raise TypeError(f"suite must be a Suite, got {name!r}, which is {type(result).__name__}")
        # A store records this name, by which the suite can be imported again.
        return replace(result, name=name)
    return load_suite(name)


def load_suite(name: str) -> Suite:
    """Return a suite that is part of the library."""
    if kinds.text(name, "suite") not in _SUITES:
        raise wording.unknown(name, "suite", _SUITES, wording.close_names(name, _SUITES, n=1, cutoff=0.3))
    return Suite(name, _SUITES[name](), _OPTIONS[name])


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
