"""The listings of docs/steering.md run, one after the other."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "steering.md"


def test_the_listings_of_the_page_run(capsys):
    pytest.importorskip("torch")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        # As many shuffles as the level needs.
        exec(re.sub(r"(rank_layers|steerability)\((.*)seed=0\)", r"\1(\2n_draws=19, n_splits=2, seed=0)", block), names)
    assert names["ranking"].winner == "layer 3"
    assert names["moved"].shape == (120, 16)
    assert names["steered"].shape == (1, 2)
    assert "Steering vector from negative to positive" in capsys.readouterr().out


def test_every_function_of_the_page_is_public():
    from shesha import steering

    named = re.findall(r"^\| `(\w+)\(", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(named) == sorted(name for name in steering.__all__ if name.islower())
