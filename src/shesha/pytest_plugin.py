"""A pytest fixture that fails a test if an encoder's geometry drifts from a committed reference.

`pytest` finds this plugin by its entry point if the library is installed. The rest of the library is imported only when
a test uses the fixture.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from shesha.drift import DriftMonitor, DriftVerdict

OPTION = "--canary-update"
_PROPERTY = "shesha canary"
_LIBRARIES = ("numpy", "torch", "transformers", "sentence-transformers", "timm", "onnxruntime", "jax")
"""Packages whose versions are saved with a reference, because a new version can cause small drifts."""
_NAMED_ROWS = 3
TOLERANCE = 1e-3
"""Largest drift that does not fail a test. Examples for MiniLM: 1e-10 with another batch size, 4e-5 in bfloat16,
0.009 with an extra full stop after each text, and 0.06 in int8."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line option that makes tests write new references."""
    text = "write new references for the canary fixture instead of comparing with the existing ones"
    parser.getgroup("shesha").addoption(OPTION, action="store_true", help=text)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the references that were written and any signs of drift that did not fail a test."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ())]
    found = [text for report in reports for name, text in report.user_properties if name == _PROPERTY]
    if found:
        terminalreporter.section("canaries")
        for text in dict.fromkeys(found):
            terminalreporter.write_line(text)


@pytest.fixture
def canary(request: pytest.FixtureRequest) -> Canary:
    """Compare the output of an encoder with a stored reference: `canary("reference.npz", encode)`."""
    return Canary(request)


class Canary:
    """Compare encodings of the same inputs with a reference that is committed next to the tests.

    Parameters
    ----------
    request : pytest.FixtureRequest
        Request object of the test that uses the fixture.
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._update = bool(request.config.getoption(OPTION))

    def __call__(
        self,
        reference: str | Path,
        encode: Callable[[], Any],
        *,
        repeats: int = 19,
        tolerance: float = TOLERANCE,
        false_alarm: float | None = None,
    ) -> DriftVerdict:
        """Fail the test if the geometry of the encodings has changed; `--canary-update` writes the reference.

        Parameters
        ----------
        reference : path
            Path of the reference, which must end in `.npz`. A relative path starts at the folder of the test file. The
            file stores the rows only up to a rotation, so it does not contain the original encodings.
        encode : function without arguments
            Function that encodes the same inputs in the same order on every call. It returns an array of shape (n_rows,
            n_features), or a table whose row names are shown if the test fails.
        repeats : int
            How many times the inputs are encoded again when the reference is written, at least 1. These re-encodings
            show how much an unchanged encoder drifts. A deterministic encoder needs few; an encoder that samples or
            uses dropout needs 99.
        tolerance : float
            Largest drift (1 - rank correlation of all distances) that never fails the test. A larger drift fails it if
            it also exceeds the limit from the re-encodings.
        false_alarm : float, optional
            Share of runs in which an unchanged encoder exceeds the limit set by its re-encodings. Default: 0.01, or 1 /
            (repeats + 1) if that is larger.

        Returns
        -------
        DriftVerdict
            Verdict whose state is 'ok' or 'watch'; 'watch' means a sign of drift that does not fail the test.
        """
        __tracebackhide__ = True
        if Path(reference).suffix != ".npz":
            raise ValueError(f"reference must have a name that ends in .npz, got {reference}")
        if not callable(encode):
            raise TypeError(f"encode must be a function without arguments, got {type(encode).__name__}")
        if repeats < 1:
            raise ValueError(f"repeats must be at least 1, got {repeats}")
        path = self._request.path.parent / reference
        asked = _circumstances(repeats, tolerance, false_alarm)
        options = {"tolerance": tolerance, "false_alarm": false_alarm}
        if self._update:
            self._write(path, encode, repeats, asked, options)
        elif not path.exists():
            self._fail(f"the reference {self._name(path)} does not exist", "To write the reference", path)
        return self._check(path, encode, asked)

    def _write(
        self, path: Path, encode: Callable[[], Any], repeats: int, about: dict[str, str], options: dict[str, Any]
    ) -> None:
        from shesha.drift import DriftMonitor

        nulls = (encode() for _ in range(repeats))
        monitor = DriftMonitor(encode(), nulls=nulls, about=about, **options)
        monitor.save(path, overwrite=True)
        known = f"{monitor.n_rows:,} rows, {repeats} re-encodings"
        self._note(f"wrote {self._name(path)} ({known}); review what changed, then commit the file")

    def _check(self, path: Path, encode: Callable[[], Any], asked: dict[str, str]) -> DriftVerdict:
        __tracebackhide__ = True
        monitor = self._load(path)
        before = monitor.about.get("options")
        if before != asked["options"]:
            problem = f"{self._name(path)} was written with {before}, but the test uses {asked['options']}"
            self._fail(problem, "To write a new reference", path)
        current = encode()
        try:
            verdict = monitor.check(current, about=asked)
        except ValueError as error:
            problem = f"the encodings cannot be compared with {self._name(path)}: {error}"
            self._fail(problem, "If the new encodings are correct", path)
        if verdict.needs_attention:
            self._fail(failure(verdict, self._name(path)), "If the change was intended", path)
        if verdict.state == "watch":
            self._note(f"{self._request.node.nodeid} passed, but with a sign of drift: {_headline(verdict)}")
        return verdict

    def _load(self, path: Path) -> DriftMonitor:
        __tracebackhide__ = True
        from shesha.drift import DriftMonitor

        try:
            return DriftMonitor.load(path)
        except ValueError as error:
            self._fail(str(error), "To write a new reference, move the file away and", path)

    def _fail(self, text: str, when: str, path: Path) -> NoReturn:
        __tracebackhide__ = True
        command = f"pytest {OPTION} {shlex.quote(self._request.node.nodeid)}"
        pytest.fail(f"canary: {text}\n\n{when}, run\n  {command}\nand commit {self._name(path)}.", pytrace=False)

    def _note(self, text: str) -> None:
        self._request.node.user_properties.append((_PROPERTY, text))

    def _name(self, path: Path) -> str:
        """Return the path relative to the folder in which pytest was started, if it is inside that folder."""
        start = self._request.config.invocation_params.dir
        return os.path.relpath(path, start) if path.is_relative_to(start) else str(path)


def failure(verdict: DriftVerdict, reference: str) -> str:
    """Return the message for a failed test: what drifted, by how much, which rows, and what to do."""
    if verdict.state == "not estimable":
        return f"the encodings cannot be compared with {reference}: {verdict.reason}\n\n{verdict.advice}"
    rows = ", ".join(one.name for one in verdict.rows[:_NAMED_ROWS])
    head = f"the encodings drifted from {reference}: {_headline(verdict)}"
    # A reference keeps no history of checks, so evidence that accumulates over many checks is left out.
    return f"{head}\nrows that moved most: {rows}\n\n{replace(verdict, sequence=None)}"


def _headline(verdict: DriftVerdict) -> str:
    one = next((score for score in verdict.scores if score.beyond), verdict.scores[0])
    tolerance = f"tolerance {verdict.tolerance:g}" if one.tier == "primary" else "does not fail a test"
    return f"{one.name} {one.value:.3g} ({tolerance}; unchanged encodings reach {one.threshold:.3g})"


def _circumstances(repeats: int, tolerance: float, false_alarm: float | None) -> dict[str, str]:
    """Return the package versions (a verdict names those that differ) and the options of the call."""
    circumstances = {}
    for library in _LIBRARIES:
        try:
            circumstances[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    said = {"repeats": repeats, "tolerance": tolerance, "false_alarm": false_alarm}
    return circumstances | {"options": ", ".join(f"{name}={value}" for name, value in said.items())}
