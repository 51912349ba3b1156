"""The pages that say how to do a thing, done as they say."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

PAGES = Path(__file__).parents[2] / "docs" / "how_to"
CANARY = (PAGES / "canary_in_ci.md").read_text(encoding="utf-8")


@pytest.fixture
def pipeline(tmp_path, monkeypatch, invoke):
    """A folder as the first steps leave it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 8))
    np.save("reference.npy", reference)
    np.save("again.npy", reference + 1e-3 * rng.standard_normal((99, *reference.shape)))
    (line,) = re.findall(r"^\$ shesha (monitor init .*)$", CANARY, re.MULTILINE)
    assert invoke(*shlex.split(line)).status == 0
    return reference, rng


def test_the_lines_of_the_workflow_end_as_the_page_says(pipeline, invoke_main, monkeypatch, tmp_path):
    reference, rng = pipeline
    yaml = pytest.importorskip("yaml")
    (text,) = re.findall(r"```yaml\n(.*?)```", CANARY, re.DOTALL)
    steps = yaml.safe_load(text)["jobs"]["canary"]["steps"]
    (line,) = [step["run"] for step in steps if "shesha monitor" in step.get("run", "")]
    words = shlex.split(line.replace("${{ github.sha }}", "9f3c2e"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    outcomes = {
        0: reference + 1e-3 * rng.standard_normal(reference.shape),
        1: reference + 0.5 * rng.standard_normal(reference.shape),
        2: reference[:20],
    }
    said = dict(re.findall(r"^\| (\d) \| (\w+)", CANARY, re.MULTILINE))
    assert set(map(int, said)) == set(outcomes)
    for status, rows in outcomes.items():
        np.save("now.npy", rows)
        assert invoke_main(*words[1:]).status == status
    assert "alert" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_every_line_of_the_page_is_taken(pipeline, invoke):
    np.save("now.npy", pipeline[0])
    lines = re.findall(r"^\$ shesha (monitor check .*)$", CANARY, re.MULTILINE)
    assert lines
    for line in lines:
        assert invoke(*shlex.split(line)).status == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_gives_what_this_process_gives():
    pytest.importorskip("distributed")
    (code,) = re.findall(r"```python\n(.*?)```", (PAGES / "dask_cluster.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, "dask_cluster.md", "exec"), {})
