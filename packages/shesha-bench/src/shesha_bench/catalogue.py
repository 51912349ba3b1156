"""The catalogue of a domain: its data sets and networks by name, with hyperparameters and degrees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

from shesha.support import argument_types as kinds
from shesha.support import spelling
from shesha_bench.data_and_network_types import SUITES, Degrees, NetworkPart, Override, Part
from shesha_bench.hyperparameters import Hyperparameters, require_known
from shesha_bench.import_by_name import import_by_name, is_place
from shesha_bench.model_descriptions import KINDS, STANDARD, Model, Plain, Setting

D = TypeVar("D", bound=Part)
N = TypeVar("N", bound=NetworkPart)
H = TypeVar("H", bound=Hyperparameters)


@dataclass(frozen=True, kw_only=True)
class Catalogue(Generic[D, N, H]):
    """The data sets and networks of a domain."""

    domain: str
    data: Mapping[str, D]
    networks: Mapping[str, N]
    hyper: type[H]
    degrees: Degrees
    """Degrees that define the groups of each test, unless a data set or network overrides them."""
    poolings: tuple[str, ...] = ("",)
    layers: Setting = STANDARD
    """The setting of those models whose layers are compared."""
    sizes: Mapping[str, tuple[int, int, int]]
    """Numbers of models by suite: for tests by prediction, for each group, and for the test of layers."""
    kinds: tuple[str, ...] = tuple(kind for kind in KINDS if kind != "deep")
    """The kinds of settings with which the domain can train models."""

    def dataset(self, name: str) -> D:
        """Return a data set by name, or by module:name."""
        return find_part(name, self.data, "dataset")

    def network(self, name: str) -> N:
        """Return a network by name, or by module:name."""
        return find_part(name, self.networks, "architecture")

    def hyperparameters(self, dataset: str, architecture: str, suite: str = "paper") -> dict[str, Plain]:
        """Return a network's hyperparameters for a data set in a suite, to pass as `Model.hyper`.

        Raises
        ------
        ValueError
            If a name is unknown, or the data set and the network are incompatible.
        """
        data, network = self.dataset(dataset), self.network(architecture)
        if kinds.text(suite, "suite") not in SUITES:
            raise ValueError(f"suite must be one of {', '.join(SUITES)}, got {suite!r}")
        for what, name, part, table in (
            ("dataset", dataset, data, self.data),
            ("architecture", architecture, network, self.networks),
        ):
            if suite not in part.suites:
                names = [other for other, entry in table.items() if suite in entry.suites]
                raise ValueError(f"{what} must be one of {', '.join(names)} in the suite {suite!r}, got {name!r}")
        return self._usual(dataset, architecture)

    def build(self, model: Model) -> H:
        """Return the checked hyperparameters of a model, in which its own values override the defaults.

        Raises
        ------
        ValueError
            If the domain has no such data set, architecture, setting or hyperparameter, or they are incompatible.
        """
        if model.setting.kind not in self.kinds:
            raise ValueError(
                f"setting must be one of {', '.join(self.kinds)} for {self.domain}, got {model.setting.kind!r}"
            )
        network = self.network(model.architecture)
        usual = self._usual(model.dataset, model.architecture)
        require_known(model.hyper, [option.name for option in fields(self.hyper) if option.name not in network.ignores])
        hyper = self.hyper.check({**usual, **model.hyper}).for_setting(model.setting)
        network.check(model, hyper)
        return hyper

    def setting_degrees(self, dataset: str, architecture: str) -> dict[str, tuple[float, ...]]:
        """Return, for each test, the degrees of the groups of a network on a data set."""
        return _merge([self.degrees, *(part.degrees for part in self._declarations(dataset, architecture))])

    def _usual(self, dataset: str, architecture: str) -> dict[str, Plain]:
        reason = self.network(architecture).refuses.get(dataset)
        if reason is not None:
            raise ValueError(f"dataset and architecture must be compatible, got {architecture} on {dataset}: {reason}")
        return _merge(part.hyper for part in self._declarations(dataset, architecture))

    def _declarations(self, dataset: str, architecture: str) -> list[Part | Override]:
        """Return the declarations for a data set and a network, from the most general to the most specific."""
        data, network = self.dataset(dataset), self.network(architecture)
        overrides = (network.overrides.get(dataset), data.overrides.get(architecture))
        return [data, network, *(override for override in overrides if override is not None)]


Value = TypeVar("Value")


def _merge(some: Iterable[Mapping[str, Value]]) -> dict[str, Value]:
    return {name: value for mapping in some for name, value in mapping.items()}


P = TypeVar("P", bound=Part)


def find_part(name: str, table: Mapping[str, P], what: str) -> P:
    """Return an entry of a table by its name, or import one by module:name."""
    if kinds.text(name, what) in table:
        return table[name]
    if not is_place(name):
        raise spelling.unknown(name, what, table, spelling.close_names(name, table))
    part, kind = import_by_name(name, what), type(next(iter(table.values())))
    if not isinstance(part, kind):
        raise TypeError(f"{what} must be of class {kind.__name__}, got {name!r}, which is {type(part).__name__}")
    return part
