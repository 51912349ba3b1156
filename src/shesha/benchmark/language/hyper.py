"""The hyperparameters of a suite, and those of one model, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from shesha.benchmark.models import Model, Plain

Suite = Literal["paper", "small"]
ARCHITECTURES: dict[str, tuple[str, ...]] = {
    "paper": ("BERT", "ALBERT", "SmolLM2"),
    "small": ("MiniLM", "SmallBERT"),
}
DATASETS = ("SST2", "MNLI")


@dataclass(frozen=True)
class Hyper:
    """What decides training and extraction, besides architecture and setting."""

    epochs: int = 3
    """Passes over the training rows."""
    steps: int | None = None
    """Updates of the weights, instead of epochs."""
    batch_size: int = 64
    learning_rate: float = 5e-5
    """The highest one, reached after the warm-up."""
    warmup: float = 0.1
    """Share of the updates during which the learning rate rises."""
    schedule: str = "linear"
    """How the learning rate falls to zero afterwards: linear or cosine."""
    weight_decay: float = 0.0
    max_length: int = 64
    """Tokens per row, special ones included; what is longer is cut."""
    evaluate_every: int | None = None
    """Updates between evaluations on the test rows, the best of which is kept; None keeps the last weights."""
    train_rows: int | None = None
    """How many training rows are used; None: all."""
    test_rows: int | None = None
    """How many test rows are used; None: all."""
    train_file: str | None = None
    """File to train on where the local folder holds samples; the full sets have but one."""
    test_shortcut_rate: float | None = None
    """How often the shortcut of a test row tells its class; None: the share of the most frequent training class."""
    reduced: bool = False
    """Build the architecture tiny, with random weights and words as tokens: needs no pretrained files."""

    @classmethod
    def of(cls, model: Model) -> Hyper:
        """Return a model's hyperparameters; what it does not name is as in the suite of its architecture."""
        check_names(model.dataset, model.architecture)
        suite = next(suite for suite, names in ARCHITECTURES.items() if model.architecture in names)
        usual = hyperparameters(model.dataset, model.architecture, suite)
        return cls.checked({**usual, **model.hyper})

    @classmethod
    def checked(cls, values: Mapping[str, Plain]) -> Hyper:
        """Return the hyperparameters of these values; raises ValueError for an unknown name or a bad value."""
        known = [field.name for field in fields(cls)]
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"hyper must have keys among {', '.join(known)}, got {name!r}")
            allowed = name in _OPTIONAL and value is None
            expected, holds = _CHECKS[name]
            if not allowed and not holds(value):
                raise ValueError(f"hyper[{name!r}] must be {expected}, got {value!r}")
        return cls(**values)  # type: ignore[arg-type]


def hyperparameters(dataset: str, architecture: str, suite: str) -> dict[str, Plain]:
    """Return the hyperparameters that a suite uses.

    Parameters
    ----------
    dataset : str
        "SST2" or "MNLI".
    architecture : str
        In the suite "paper" one of "BERT", "ALBERT", "SmolLM2"; in "small" one of "MiniLM", "SmallBERT".
    suite : str
        "paper": as published; "small": minutes instead of days, on a processor.

    Returns
    -------
    dict
        Values for `Model.hyper`.

    Examples
    --------
    >>> hyperparameters("SST2", "ALBERT", "paper")["epochs"]
    10
    """
    check_names(dataset, architecture)
    if suite not in ARCHITECTURES:
        raise ValueError(f"suite must be one of {', '.join(ARCHITECTURES)}, got {suite!r}")
    if architecture not in ARCHITECTURES[suite]:
        names = ", ".join(ARCHITECTURES[suite])
        raise ValueError(f"architecture must be one of {names} in the suite {suite!r}, got {architecture!r}")
    return {
        "max_length": 64 if dataset == "SST2" else 128,
        **_SUITES[architecture],
        **_SPECIAL.get((dataset, architecture), {}),
    }


def check_names(dataset: str, architecture: str) -> None:
    """Raise ValueError unless data set and architecture are known."""
    if dataset not in DATASETS:
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}")
    known = [name for names in ARCHITECTURES.values() for name in names]
    if architecture not in known:
        raise ValueError(f"architecture must be one of {', '.join(known)}, got {architecture!r}")


# SmolLM2: learning rate, its schedule and weight decay are the defaults of the finetuning script released with it.
_SUITES: dict[str, dict[str, Plain]] = {
    "BERT": {"epochs": 3, "batch_size": 64, "learning_rate": 5e-5, "evaluate_every": 1000},
    "ALBERT": {"epochs": 10, "batch_size": 64, "learning_rate": 5e-5, "evaluate_every": 1000},
    "SmolLM2": {
        "steps": 500,
        "batch_size": 16,
        "learning_rate": 2e-4,
        "warmup": 0.2,
        "schedule": "cosine",
        "weight_decay": 0.01,
        "max_length": 256,
    },
    "MiniLM": {"steps": 40, "batch_size": 24, "learning_rate": 2e-4, "max_length": 32, "test_rows": 500},
    "SmallBERT": {"steps": 150, "batch_size": 32, "learning_rate": 1e-3, "test_rows": 500},
}
_SPECIAL: dict[tuple[str, str], dict[str, Plain]] = {
    ("SST2", "MiniLM"): {
        "train_file": "train_phrases_8000.csv",
        "steps": 80,
        "batch_size": 16,
        "learning_rate": 3e-4,
        "max_length": 64,
    },
    ("SST2", "SmallBERT"): {"train_file": "train_phrases_8000.csv"},
    ("MNLI", "SmallBERT"): {"steps": 110, "max_length": 32},
}


def _is_count(value: Plain) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_share(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_positive(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_weight(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_length(value: Plain) -> bool:
    return _is_count(value) and isinstance(value, int) and value >= 8


def _is_file(value: Plain) -> bool:
    return isinstance(value, str) and value.endswith(".csv") and "/" not in value and "\\" not in value


_OPTIONAL = {"steps", "evaluate_every", "train_rows", "test_rows", "train_file", "test_shortcut_rate"}
_COUNT = ("a positive integer", _is_count)
_SHARE = ("a number from 0 to 1", _is_share)
_CHECKS = {
    "epochs": _COUNT,
    "steps": _COUNT,
    "batch_size": _COUNT,
    "learning_rate": ("a positive number", _is_positive),
    "warmup": _SHARE,
    "schedule": ("'linear' or 'cosine'", lambda value: value in ("linear", "cosine")),
    "weight_decay": ("a number not below zero", _is_weight),
    "max_length": ("an integer from 8", _is_length),
    "evaluate_every": _COUNT,
    "train_rows": _COUNT,
    "test_rows": _COUNT,
    "train_file": ("the name of a csv file", _is_file),
    "test_shortcut_rate": _SHARE,
    "reduced": ("True or False", lambda value: isinstance(value, bool)),
}
