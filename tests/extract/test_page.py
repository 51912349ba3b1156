"""docs/activations.md keeps its word: its listing runs."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
PAGE = Path(__file__).parents[2] / "docs" / "activations.md"


def test_the_listing_runs(capsys):
    listings = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert listings
    for listing in listings:
        exec(compile(listing, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.startswith("{'0': (8,), '1': (8,), '2': (3,)}\n(100, 8) model Sequential; pool mean")
