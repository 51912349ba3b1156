"""The demo: an introduction whose Python works, then a report of the network that ships with the library."""

from __future__ import annotations

import re
import textwrap

import pytest

import shesha
from shesha.auditing import audit

_TRAINED = ["trained_layer1", "trained_layer2", "trained_layer3"]
_UNTRAINED = ["init_layer1", "init_layer2", "init_layer3"]


@pytest.fixture
def audits(monkeypatch):
    """Audit few rows with few resamples, and keep what was asked for."""
    asked = []

    def quick(representations, y):
        asked.append((representations, y))
        few = {name: X[:60] for name, X in representations.items()}
        return audit(few, y[:60], n_bootstrap=0, n_permutations=19)

    monkeypatch.setattr("shesha.auditing.audit", quick)
    monkeypatch.setattr(shesha, "audit", quick)
    return asked


@pytest.mark.parametrize(("args", "names"), [([], _TRAINED), (["--untrained"], _UNTRAINED + _TRAINED)])
def test_the_introduction_and_the_report(invoke, audits, args, names, capsys):
    ended = invoke("demo", *args)
    assert (ended.status, ended.err) == (0, "")
    ((layers, labels),) = audits
    assert list(layers) == names
    assert {len(X) for X in layers.values()} == {len(labels)} == {900}
    assert ended.out.startswith("Three hidden layers of a small network that reads handwritten digits")
    assert ("before and after training" in ended.out) == bool(args)
    report = ended.out[ended.out.index("Audit of ") :]
    sizes = re.findall(r"^  (\w+) +60 x \d+ ", report, re.MULTILINE)
    assert sizes == names

    (program,) = re.findall(r"from Python:\n\n((?: {4}.*\n)+)", ended.out)
    exec(textwrap.dedent(program), {})
    assert capsys.readouterr().out == report
    assert list(audits[1][0]) == names
