"""One made-up instance of every class of results, from the types of its fields: tests ask for `kind` and `sample`."""

from __future__ import annotations

import math
from dataclasses import fields
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from numpy.typing import NDArray

from shesha import results
from shesha.results.base import Result
from shesha.results.json_loading import _ROOMS, kinds

HOSTILE = ("<script>alert(1)</script>", "a\"b'c & d", "name " * 40, "אבג", "", "a\nb\tc", "$x$", "|", "naïve 表")
NUMBERS = (0.5, math.nan, -0.0, 1 / 3, math.inf, 1e-300, -math.inf, 0.1 + 0.2)
NAMES = HOSTILE[:2]


def _pairs() -> tuple[Any, ...]:
    return (sample(results.Score, first=NAMES[0], second=NAMES[1]),)


def _measure() -> str:
    return sample(results.Score).name


def _comparison() -> Any:
    return sample(results.Comparison, scores=(sample(results.Score),), shapes=((9, 2), (9, 3)))


FIXED: dict[str, Any] = {
    "Audit": lambda: {"drift": sample(results.DriftPath, names=("x", "y", "z"), from_first=NUMBERS[:3])},
    "Comparison": lambda: {"shapes": ((9, 2), (36,))},
    "Correlation": lambda: {"raw": None},
    "DriftPath": lambda: {"from_previous": NUMBERS[:3], "reasons": ("", "no <b>", "")},
    "IndexChange": lambda: {
        "best_map": "linear map",
        "recalls": tuple(
            sample(results.Number, name=way)
            for way in ("as it is", "as it is, in halves", "linear map", "re-encodings")
        ),
    },
    "LabelClasses": lambda: {"names": HOSTILE[:3], "sizes": (4, 5, 6)},
    "LayerComparison": lambda: {
        **{"rows": NAMES[:1], "columns": NAMES[1:], "scores": _pairs(), "closer": "higher", "name": _measure()}
    },
    "LayerRanking": lambda: {"by": "accuracy", "null": (0.1, 0.2)},
    "OverTime": lambda: {
        **{"times": (0.0, 1.0), "values": ((0.5, math.nan), (0.1, 0.2))},
        **dict.fromkeys(("chances", "p_values"), ((0.5, 0.1), (0.1, 0.2))),
    },
    "RowMap": lambda: {
        **{"coordinates": {"a": ((0.5, 1.0), (0.1, -0.0)), "b": ((0.5, 1.0), (0.3, 0.0))}, "rows": (0, 1)},
        **{"row_names": HOSTILE[:2], "labels": HOSTILE[:2], "neighbours_lost": (0.5, 1.0)},
        **{"held": {"a": 0.5, "b": 0.25}, "trustworthiness": {"a": 0.5, "b": 0.25}},
    },
    "PairwiseComparison": lambda: {
        **{"names": NAMES, "shapes": ((9, 2), (9, 3)), "scores": _pairs()},
        **{"symmetric": {_measure(): True}, "self_values": {_measure(): 1.0}},
    },
    "Score": lambda: {"closer": "higher", "value": 0.5, "possible_low": 0.0, "possible_high": math.inf},
    "SeveralWithinClasses": lambda: {"comparisons": (sample(results.WithinClasses),)},
    "Steerability": lambda: {
        **{"units": "norm", "alphas": (-1.0, 0.0, 1.0)},
        **dict.fromkeys(("accuracies", "random_accuracies", "shuffled_accuracies"), (0.1, 0.2, 0.3)),
    },
    "TrialScore": lambda: {"closer": "higher"},
    "WithinClasses": lambda: {
        **{"classes": {"B": _comparison()}, "sizes": {"B": 9}, "whole": _comparison()},
        "corrected": {_measure(): {"B": math.nan}},
    },
    "bio.Ablation": lambda: {
        "settings": ("50",),
        "correlations": {"50": {"rho": 0.1, "low": 0.0, "high": math.nan}},
        "consistency": {"coherence": {"mean": 0.9, "sd": 0.1, "min": 0.8}},
    },
    "bio.Combined": lambda: {"kinds": ({"n": 3.0}, {"n": 4.0})},
    "shesha_studies.session_table.SessionTable": lambda: {
        "scores": ("a name",),
        "excluded": (("s", "", "few trials"),),
    },
    "steering.SteeringVector": lambda: {
        **{"direction": np.array([0.6, 0.8]), "weights": np.array([[1.0, math.nan]])},
        "intercepts": np.array([-0.0]),
    },
}
"""Fields whose values must fit one another, or be among a few."""


def every_class() -> list[type[Result]]:
    """All classes of results of the library, in the order of their names."""
    for room in _ROOMS["shesha"]:
        module = import_module(f"shesha.{room}")
        for name in dir(module):
            getattr(module, name)
    import_module("shesha_studies.session_table")
    return [kind for _, kind in sorted(kinds().items())]


def sample(kind: type[Result], **given: Any) -> Any:
    """Make an instance: NaN, infinities, numbers of many digits and hostile texts are among its values."""
    types = get_type_hints(kind)
    known = {**FIXED.get(name_of(kind), dict)(), **given}
    made = {
        one.name: known[one.name] if one.name in known else _value(types[one.name], one.name)
        for one in fields(kind)  # type: ignore[arg-type]
    }
    return kind(**made)


def name_of(kind: type[Result]) -> str:
    return next(name for name, one in kinds().items() if one is kind)


def _value(kind: Any, name: str, at: int = 0) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return _value(inner[0], name, at)
    if origin is Literal:
        return inner[0]
    if origin is tuple:
        many = len(inner) == 2 and inner[1] is Ellipsis
        return tuple(
            _value(inner[0] if many else one, name, place) for place, one in enumerate(range(3) if many else inner)
        )
    if origin is dict:
        return {"a name": _value(inner[1], name)}
    # NumPy 2.5 names the alias where earlier versions named the class.
    if origin in (np.ndarray, NDArray):
        return np.array([[0.1, math.nan], [math.inf, -0.0]])
    if isinstance(kind, type) and issubclass(kind, Result):
        return sample(kind)
    return _PLAIN[kind](name, at)


_PLAIN: dict[Any, Any] = {
    float: lambda name, at: 0.05 if name in ("alpha", "level", "p_value", "confidence") else NUMBERS[at % len(NUMBERS)],
    int: lambda name, at: 7 + at,
    bool: lambda name, at: True,
    str: lambda name, at: HOSTILE[(at + len(name)) % len(HOSTILE)],
    Any: lambda name, at: ((1.5, "x"), [math.nan, {"deep": None}], {3: (1,)}, {"$odd": 1}, np.arange(3.0)),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that ask for a `kind` of results with each class, and for a `real_kind` with each result of a call."""
    if "real_kind" in metafunc.fixturenames:
        metafunc.parametrize("real_kind", REAL.KINDS)
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", every_class(), ids=name_of)


def _load_real_results() -> Any:
    spec = spec_from_file_location("real_results", Path(__file__).with_name("real_results.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REAL = _load_real_results()


@pytest.fixture(name="real_result")
def make_real_result() -> Any:
    return REAL.real_result


@pytest.fixture(name="sample")
def make_sample() -> Any:
    return sample


@pytest.fixture
def hostile() -> tuple[str, ...]:
    return HOSTILE
