"""Studies of somebody else's, importable as a user's own module is."""

import sys
from pathlib import Path

import pytest


@pytest.fixture
def importable(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    sys.modules.pop("mine", None)
