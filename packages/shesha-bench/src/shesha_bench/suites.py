"""Suites: lists of networks on data sets, with the tests that they take part in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from shesha.support import argument_types as kinds
from shesha.support import spelling
from shesha_bench.catalogue import Catalogue
from shesha_bench.domains import PLACES
from shesha_bench.import_by_name import import_by_name, is_place
from shesha_bench.model_descriptions import Plain
from shesha_bench.suite_tasks import Groups, Task
from shesha_bench.tests import ByGroups, find


@dataclass(frozen=True)
class Suite:
    """A named list of tasks."""

    name: str
    tasks: tuple[Task, ...]
    options: Mapping[str, Mapping[str, Plain]] = field(default_factory=dict, hash=False)
    """Options that replace a measure's defaults, unless a run chooses other options."""

    def __post_init__(self) -> None:
        """Raise an error if two tasks would have equal keys in the store."""
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
                    raise spelling.unknown(name, what, known.values(), spelling.close_names(name, known.values()))
            plain = {name.casefold() for name in names}
            tasks = tuple(task for task in tasks if not plain or getattr(task, what).casefold() in plain)
        return tasks


def domain_name(text: str, known: Collection[str] = tuple(PLACES)) -> str:
    """Return the name of a domain that is given in the singular or the plural."""
    for name in known:
        if kinds.text(text, "domain").casefold() in (name.casefold(), f"{name}s".casefold()):
            return name
    raise spelling.unknown(text, "domain", known, spelling.close_names(text, known))


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
        result = import_by_name(name, "suite")
        if not isinstance(result, Suite):
            raise TypeError(f"suite must be a Suite, got {name!r}, which is {type(result).__name__}")
        # A store records this name, by which the suite can be imported again.
        return replace(result, name=name)
    return load_suite(name)


def load_suite(name: str) -> Suite:
    """Return a suite that is part of the library."""
    if kinds.text(name, "suite") not in _SUITES:
        raise spelling.unknown(name, "suite", _SUITES, spelling.close_names(name, _SUITES, n=1, cutoff=0.3))
    return Suite(name, _SUITES[name](), _OPTIONS[name])
