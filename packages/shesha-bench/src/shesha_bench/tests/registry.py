"""The registry of tests, which contains the benchmark's six tests and those that you register."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from shesha.support import argument_types as kinds
from shesha.support import spelling
from shesha_bench.import_by_name import import_by_name, is_place
from shesha_bench.model_descriptions import add_kind
from shesha_bench.tests._accuracy import ACCURACY
from shesha_bench.tests._augmentation import AUGMENTATION
from shesha_bench.tests._base import BenchmarkTest
from shesha_bench.tests._kinds import ByGroups
from shesha_bench.tests._label_randomization import LABEL_RANDOMIZATION
from shesha_bench.tests._layer_monotonicity import LAYER_MONOTONICITY
from shesha_bench.tests._output import OUTPUT
from shesha_bench.tests._shortcut import SHORTCUT

Test = TypeVar("Test", bound=BenchmarkTest)
ENTRY_POINTS = "shesha.benchmark.tests"
TESTS: tuple[BenchmarkTest, ...] = (
    ACCURACY,
    OUTPUT,
    LABEL_RANDOMIZATION,
    SHORTCUT,
    AUGMENTATION,
    LAYER_MONOTONICITY,
)
"""The benchmark's six tests, in the order in which tables and pages list them."""
_known: dict[str, BenchmarkTest] = {one.name: one for one in TESTS}


def register(test: Test) -> Test:
    """Register your own test for use in suites, tables, ranks and reports, and return it.

    It replaces a test that was registered earlier under the same name.

    Raises
    ------
    TypeError
        If `test` is not a `BenchmarkTest`.
    ValueError
        If one of the benchmark's six tests has the same name, if another test has a result of the same name or uses the
        same name for a different output difference, or if `counts` names a result or score that the test does not have.
    """
    if not isinstance(test, BenchmarkTest):
        raise TypeError(f"test must be a BenchmarkTest, got {type(test).__name__}")
    if test.name in [other.name for other in TESTS]:
        raise ValueError(f"name must not be that of a test of the benchmark, got {test.name!r}")
    others = [other for other in _known.values() if other.name != test.name]
    taken = [row for row in test.rows if any(row in other.rows for other in others)]
    if taken:
        raise ValueError(f"rows must not be names of another test, got {', '.join(taken)}")
    for kind, difference in test.differences.items():
        if any(other.differences.get(kind, difference) is not difference for other in others):
            raise ValueError(f"differences must not have names of differences of another test, got {kind!r}")
    for row, quality in test.counts.items():
        if row not in test.rows or quality not in test.qualities:
            raise ValueError(f"counts must name rows and qualities of {test.name}, got {quality} of {row}")
    if isinstance(test, ByGroups):
        add_kind(test.kind)
    _known[test.name] = test
    return test


def all_tests() -> tuple[BenchmarkTest, ...]:
    """Return the benchmark's six tests and all registered ones."""
    load_entry_points()
    return tuple(_known.values())


def find(test: str | BenchmarkTest) -> BenchmarkTest:
    """Return the test with a name, given in any case and with any separators, or as module:name.

    Raises
    ------
    ValueError
        If the name is unknown; the message suggests similar names.
    """
    if isinstance(test, BenchmarkTest):
        return test if _known.get(test.name) is test else register(test)
    if is_place(test):
        return find(_import_test(test))
    plain = {entry.name.replace("_", ""): entry for entry in all_tests()}
    result = plain.get(kinds.text(test, "test").casefold().replace("_", "").replace("-", "").replace(" ", ""))
    if result is None:
        names = [entry.name for entry in all_tests()]
        raise spelling.unknown(test, "test", names, spelling.close_names(test, names, cutoff=0.4))
    return result


def ranking_scores() -> dict[str, str]:
    """Return the results that count towards ranks, each with the name of the score that counts."""
    return {row: quality for test in all_tests() for row, quality in test.counts.items()}


def main_qualities() -> dict[str, str]:
    """Return the name of the main score for each result."""
    return {row: test.counts.get(row, test.qualities[0]) for test in all_tests() for row in test.rows}


def _import_test(place: str) -> BenchmarkTest:
    test = import_by_name(place, "test")
    if not isinstance(test, BenchmarkTest):
        raise TypeError(f"test must be a BenchmarkTest, got {place!r}, which is {type(test).__name__}")
    return test


@cache
def load_entry_points() -> None:
    """Import the tests of other packages, with a warning for each that cannot be imported."""
    from importlib.metadata import entry_points

    from shesha.support.warnings import MeasureWarning, warn

    for point in entry_points(group=ENTRY_POINTS):
        try:
            register(point.load())
        except Exception as error:  # An error of another package must not break this library.
            warn(f"test {point.name} of {point.value} could not be loaded: {error!r}", MeasureWarning)
