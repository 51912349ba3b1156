"""A mark makes a function a measure for everyone; names, options, groups and the table find it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import shesha
import shesha.measures as measures
from shesha.measures import registry
from shesha.measures.registry import measure
from shesha.views import Features, View


@pytest.fixture(autouse=True)
def restored_registry(monkeypatch):
    """Whatever a test registers is gone after it."""
    monkeypatch.setattr(registry.MEASURES, "known", dict(registry.MEASURES.known))
    monkeypatch.setattr(registry.MEASURES, "aliases", dict(registry.MEASURES.aliases))


DECLARED = {
    "view": Features,
    "closer": "lower",
    "bounds": (0, np.inf),
    "symmetric": True,
    "invariant": (),
    "family": "mine",
    "cost": "n d",
    "formula": "|x_11 - y_11|",
    "reference": "nobody 2026",
}


def corner_difference(a: Features, b: Features, *, power: float = 1.0) -> float:
    """Difference of the first entries."""
    return abs(a.rows[0, 0] * a.unit - b.rows[0, 0] * b.unit) ** power


def test_a_marked_function_is_a_measure_for_everyone(rng):
    marked = measure("corner difference", **DECLARED, groups=("Mine",))(corner_difference)
    X, Y = rng.standard_normal((2, 8, 3))
    expected = abs(X[0, 0] - Y[0, 0])
    assert marked(X, Y) == pytest.approx(expected)
    assert marked(X, Y, power=2) == pytest.approx(expected**2)
    assert "corner difference" in measures.names()
    assert "mine" in measures.families()
    assert measures.get("Corner-Difference") is measures.get("corner_difference") is measures.get(marked)
    assert measures.choose("mine") == measures.choose("MINE") == [marked.measure]
    assert measures.get("corner difference(power=2)").score(X, Y) == pytest.approx(expected**2)
    line = measures.table().loc["corner difference"]
    assert (line["function"], line["view"], line["reference"]) == ("corner_difference", "Features", "nobody 2026")


def test_options_that_the_view_knows_go_to_the_view(rng):
    class Column(View):
        def __init__(self, number, values):
            self.number, self.values = number, values

        @classmethod
        def build(cls, source, *, column=0, scale=1.0):
            return cls(column, scale * source.rows[:, column])

    def column_difference(a, b, *, column=0, power=1):
        assert a.number == b.number == column
        return float((np.abs(a.values - b.values) ** power).sum())

    declared = DECLARED | {"view": Column}
    marked = measure("column difference", **declared, view_options={"scale": 2.0})(column_difference)
    assert marked.measure.view_key == (Column, (("column", 0), ("scale", 2.0)))
    X, Y = rng.standard_normal((2, 8, 3))
    assert marked(X, Y, column=2, power=2) == pytest.approx(4 * ((X[:, 2] - Y[:, 2]) ** 2).sum())


@pytest.mark.parametrize(
    ("declared", "implied"),
    [
        ("affine", {"affine", "linear", "orthogonal", "permutation", "scaling", "translation"}),
        ("linear", {"linear", "orthogonal", "permutation", "scaling"}),
        ("orthogonal", {"orthogonal", "permutation"}),
        ("scaling", {"scaling"}),
    ],
)
def test_what_an_invariance_implies_is_declared_with_it(declared, implied):
    marked = measure("corner difference", **DECLARED | {"invariant": (declared,)})(corner_difference)
    assert marked.measure.invariant == implied


def test_what_is_no_declaration_is_refused():
    for changed, message in (
        ({"closer": "more"}, "closer must be one of 'higher', 'lower', got 'more'"),
        ({"cost": "n"}, r"cost must be one of .*, got 'n'"),
        ({"invariant": ("rotation",)}, r"invariant must be one of 'orthogonal', .*, got 'rotation'"),
    ):
        with pytest.raises(ValueError, match=message):
            measure("corner difference", **DECLARED | changed)


@pytest.mark.parametrize("name", ["CKA", "c.k.a", "unbiased_cka"])
def test_a_name_can_be_taken_once(name):
    with pytest.raises(ValueError, match=r"name must differ from those of other measures, got .*CKA has"):
        measure(name, **DECLARED)(corner_difference)
    assert measures.get(name).function.__module__ == "shesha.measures.kernels"


def test_a_module_that_is_loaded_again_may_register_again():
    for _ in range(2):
        marked = measure("corner difference", **DECLARED)(corner_difference)
    assert measures.get("corner difference") == marked.measure
    assert measures.names().count("corner difference") == 1


@pytest.fixture
def offered(monkeypatch):
    """Offer entry points; what has been loaded before is loaded again."""

    def offer(*points):
        monkeypatch.setattr(
            "importlib.metadata.entry_points", lambda group: points if group == "shesha.measures" else ()
        )
        registry.MEASURES.loaded = False

    yield offer
    registry.MEASURES.loaded = False


def test_other_packages_offer_measures(offered):
    offered(
        SimpleNamespace(
            name="corner",
            value="other.package",
            load=lambda: measure("corner difference", **DECLARED)(corner_difference),
        )
    )
    assert "corner difference" in measures.names()


def test_a_package_that_fails_is_told_and_stops_no_one(offered):
    def fail():
        raise ImportError("no such thing")

    offered(SimpleNamespace(name="broken", value="other.package", load=fail))
    with pytest.warns(
        shesha.MeasureWarning, match="measure broken of other.package could not be loaded and is left out .ImportError"
    ):
        assert "CKA" in measures.names()


def test_public_names_are_those_listed():
    assert measures.__all__ == sorted(measures.__all__)
    for name in measures.names():
        found = measures.get(name)
        if found.function.__module__.startswith("shesha."):
            assert getattr(measures, found.function.__name__).measure is found
