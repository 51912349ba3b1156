"""The three domains of the benchmark, and the functions that a domain must provide."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    pass
from shesha_bench.model_descriptions import Model, Plain, Weights
from shesha_bench.model_outcomes import Outcome


class Domain(Protocol):
    """A domain: a module that provides these functions."""

    def fingerprint(self, dataset: str, hyper: Mapping[str, Plain]) -> str:
        """Hash the data that training and extraction use; raise MissingDataError if they are missing."""
        ...

    def fit(self, model: Model) -> Weights:
        """Train the model from its seed, and return its state dict on the CPU."""
        ...

    def extract(self, model: Model, weights: Weights) -> Outcome:
        """Run the trained model on the test rows; raise ValueError if the weights are of another network."""
        ...


PLACES = {"graph": "graphs", "language": "language", "vision": "vision"}
"""The module of each domain, by the domain's name in the published results."""


def domain(name: str) -> Domain:
    """Return the module of a domain."""
    from importlib import import_module

    # A domain of your own is named by its module.
    module: ModuleType = import_module(f"shesha_bench.{PLACES[name]}" if name in PLACES else name)
    return cast(Domain, module)
