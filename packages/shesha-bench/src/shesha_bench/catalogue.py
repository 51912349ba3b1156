"""Models, and the catalogue of a domain: its data sets and networks by name, with hyperparameters and degrees.

Each data set and each network is an object of one of the domain's classes (`TextData`, `GraphNetwork`, ...). Those that
the library provides have short names in the domain's table. Your own is named as module:name, from where every training
process imports it. A domain declares its hyperparameters as a frozen dataclass that is derived from `Hyperparameters`.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from shesha.support import types as kinds, wording
from shesha.support.optional import import_by_name

if TYPE_CHECKING:
    from torch import Tensor


def is_place(text: str) -> bool:
    """Return whether a name has the form module:name."""
    return isinstance(text, str) and ":" in text.split("(")[0]


def import_from_here(place: str, what: str) -> Any:
    """Import the object named as 'module:name'; modules in the current folder are found as well."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return import_by_name(place, what)


Kind = Literal["standard", "labels", "shortcut", "augmentation", "deep"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_known_kinds: list[str] = [*KINDS]
Weights = dict[str, "Tensor"]
Plain = str | int | float | bool | None


@dataclass(frozen=True, order=True)
class Setting:
    """How the training of a model differs from the standard training.

    ``labels`` replaces a share `degree` of the training labels at random. ``shortcut`` adds an artificial feature that
    reveals the label in a share `degree` of the training rows. ``augmentation`` perturbs the training data with a
    strength `degree` from 0 to 1. ``deep`` adds layers to the network, for the test of layers (graphs only). Your own
    test may add another kind.
    """

    kind: str = "standard"
    degree: float = 0.0

    def __post_init__(self) -> None:
        """Check the values."""
        if self.kind not in _known_kinds:
            raise ValueError(f"kind must be one of {', '.join(_known_kinds)}, got {self.kind!r}")
        if not 0 <= self.degree <= 1:
            raise ValueError(f"degree must lie between 0 and 1, got {self.degree}")

    def __str__(self) -> str:
        """Return the difference in words."""
        return self.kind if self.kind in ("standard", "deep") else f"{self.kind} {self.degree:.4g}"


STANDARD = Setting()


def add_kind(kind: str) -> None:
    """Register a new kind of setting, for your own test and domain."""
    if kind not in _known_kinds:
        _known_kinds.append(kind)


def count_of_share(share: float, n: int) -> int:
    """Return a share of n, rounded down to an integer."""
    # Rounding errors put products such as 0.29 * 100 just below the intended integer.
    return math.floor(share * n + 1e-9)


@dataclass(frozen=True)
class Model:
    """A network to train: everything that determines it, except the data."""

    domain: str
    dataset: str
    architecture: str
    setting: Setting
    seed: int
    hyper: Mapping[str, Plain] = field(default_factory=dict, hash=False)
    """Hyperparameters of the network, its training and the extraction, as plain values."""

    @property
    def keeps_layers(self) -> bool:
        """Whether all layers are stored, not only the last hidden one."""
        return self.setting.kind in ("standard", "deep")

    def key(self, fingerprint: str) -> str:
        """Return the key of the model, which is a hash of everything that determines it."""
        content = {
            "domain": self.domain,
            "dataset": self.dataset,
            "architecture": self.architecture,
            "setting": [self.setting.kind, self.setting.degree],
            "seed": self.seed,
            "hyper": dict(self.hyper),
            "data": fingerprint,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]

    def __str__(self) -> str:
        """Return a description of the model."""
        return f"{self.architecture} on {self.dataset}, {self.setting}, seed {self.seed}"


class DivergedError(ValueError):
    """Raised if a trained model has values that are not finite."""


@dataclass(frozen=True)
class Outcome:
    """Representations and outputs of a trained model for the test rows."""

    representations: Mapping[str, tuple[NDArray[np.float32], ...]]
    """Layers in order, up to the last hidden one, by pooling ('' if there is only one). A feature map has shape
    (n_rows, height, width, channels) here and in model files; comparisons put channels first
    (`shesha.kernels.map_flattening`).
    """
    probabilities: NDArray[np.float64]
    """Class probabilities from the classifier, of shape (n_rows, n_classes); each row sums to one."""
    labels: NDArray[np.int64]
    """The true class of each row."""

    def __post_init__(self) -> None:
        """Check that the numbers of rows agree."""
        n_rows = len(self.labels)
        if not self.representations or not all(self.representations.values()):
            raise ValueError("representations must contain at least one layer of one pooling, got none")
        for pooling, layers in self.representations.items():
            for number, layer in enumerate(layers):
                if len(layer) != n_rows:
                    raise ValueError(
                        f"layer {number} of pooling {pooling!r} must have a row per label ({n_rows}), got {len(layer)}"
                    )
                if not np.isfinite(layer).all():
                    raise DivergedError(
                        f"layer {number} of pooling {pooling!r} must be finite, got NaN or infinity because the "
                        "training diverged"
                    )
        if not np.isfinite(self.probabilities).all():
            raise DivergedError("probabilities must be finite, got NaN or infinity because the training diverged")
        if self.probabilities.ndim != 2 or len(self.probabilities) != n_rows:
            raise ValueError(f"probabilities must have shape ({n_rows}, n_classes), got {self.probabilities.shape}")

    @property
    def accuracy(self) -> float:
        """Share of the rows whose most probable class is correct."""
        return float(np.mean(self.probabilities.argmax(axis=1) == self.labels))


@dataclass(frozen=True)
class Check:
    """A condition on a value, in words and as a function."""

    expected: str
    holds: Callable[[Any], bool]


def option(check: Check, default: Any = MISSING) -> Any:
    """Declare a hyperparameter with its check; with a default, it is optional. Only a default may be None."""
    metadata = {"check": check}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


def count(least: int = 1) -> Check:
    """Accept integers of at least `least`."""
    return Check(f"a whole number of at least {least}", lambda value: type(value) is int and value >= least)


def choice_of_words(*names: str) -> Check:
    """Accept one of the given words."""
    return Check(f"one of {', '.join(names)}", lambda value: value in names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


POSITIVE = Check("a positive number", lambda value: _is_number(value) and value > 0)
NOT_NEGATIVE = Check("a number of at least 0", lambda value: _is_number(value) and value >= 0)
SHARE = Check("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)
PART = Check("a number of at least 0 and below 1", lambda value: _is_number(value) and 0 <= value < 1)
SWITCH = Check("True or False", lambda value: isinstance(value, bool))


@dataclass(frozen=True)
class Hyperparameters:
    """Settings for training and extraction, except data, architecture, setting and seed."""

    def __post_init__(self) -> None:
        """Check every value."""
        for option in fields(self):
            value, check = getattr(self, option.name), option.metadata["check"]
            if not (value is None and option.default is None) and not check.holds(value):
                raise ValueError(f"hyper[{option.name!r}] must be {check.expected}, got {value!r}")

    @classmethod
    def check(cls, values: Mapping[str, Plain]) -> Self:
        """Return the hyperparameters with these values."""
        known = {option.name: option for option in fields(cls)}
        require_known(values, known)
        lacking = [name for name, option in known.items() if option.default is MISSING and name not in values]
        if lacking:
            raise ValueError(
                f"hyper must also contain {', '.join(lacking)}, got {', '.join(sorted(values)) or 'nothing'}"
            )
        return cls(**values)

    def for_setting(self, setting: Setting) -> Self:
        """Return the hyperparameters for a setting; they do not change unless a domain overrides this method."""
        return self


def require_known(values: Mapping[str, Plain], known: Mapping[str, object] | list[str]) -> None:
    """Refuse unknown names."""
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"hyper must have names among {', '.join(known)}, got {', '.join(unknown)}")


SUITES = ("paper", "small")
"""Names of the suites, which differ in size."""
Degrees = Mapping[str, tuple[float, ...]]
"""The degrees that distinguish the groups of each test; a test without degrees is not run."""


@dataclass(frozen=True, kw_only=True)
class Override:
    """Values for one combination of a data set and a network."""

    hyper: Mapping[str, Plain] = field(default_factory=dict)
    degrees: Degrees = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Part:
    """Declarations for data sets and networks in any domain, all of which are optional.

    A network's values take priority over those of a data set, and `overrides` take priority over both.
    """

    hyper: Mapping[str, Plain] = field(default_factory=dict)
    """Hyperparameters, by name."""
    degrees: Degrees = field(default_factory=dict)
    """Degrees, where they differ from the defaults of the domain."""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    """Values for combinations with certain networks or data sets, keyed by the names of these."""
    suites: tuple[str, ...] = SUITES
    """Suites that include this data set or network."""


@dataclass(frozen=True, kw_only=True)
class NetworkPart(Part):
    """Declarations for networks only."""

    poolings: tuple[str, ...] = ()
    """Poolings of the network's representations, if they differ from the domain's defaults."""
    ignores: tuple[str, ...] = ()
    """Hyperparameters of the domain that the network ignores."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Data sets on which the network cannot be trained, each with the reason."""

    def check(self, model: Model, hyper: Any) -> None:
        """Refuse settings with which the network cannot be trained."""


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

        The suite "paper" follows the ReSi paper (Tables 4 to 6). In the suite "small", networks of texts and images are
        trained on a CPU in seconds or minutes. Graph networks are quick to train, so theirs are the same in all suites.

        Raises
        ------
        ValueError
            If a name is unknown, or the data set and the network are incompatible.

        Examples
        --------
        >>> from shesha_bench import graphs, language, vision
        >>> graphs.hyperparameters("Cora", "GAT")["heads"]
        8
        >>> language.hyperparameters("SST2", "ALBERT", "paper")["epochs"]
        10
        >>> vision.hyperparameters("CIFAR100", "RNet18", "paper")["learning_rate"]
        0.1
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
        """Return the checked hyperparameters of a model, in which its own values override the defaults."""
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
        raise wording.unknown(name, what, table, wording.close_names(name, table))
    part, kind = import_from_here(name, what), type(next(iter(table.values())))
    if not isinstance(part, kind):
        raise TypeError(f"{what} must be of class {kind.__name__}, got {name!r}, which is {type(part).__name__}")
    return part
