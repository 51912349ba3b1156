"""The page about monitoring runs."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "monitoring.md"


def test_the_example_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("Alert: the geometry changed (60 rows).")
    assert (tmp_path / "canary-directory" / "monitor.json").exists()
