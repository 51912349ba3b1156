"""What repeats the commands and versions of the project agrees with them: hooks, workflows, README."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
yaml = pytest.importorskip("yaml")
if not (ROOT / ".github").is_dir():
    pytest.skip("no repository: the sources of a release", allow_module_level=True)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def make_test_commands():
    """Return what `make test` runs, without the folder of the environment."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^test:.*\n((?:\t.*\n)+)", text, re.MULTILINE)[1]
    return [line.strip().removeprefix("$(BIN)/") for line in recipe.splitlines()]


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(job):
    return [step.get("run", "") for step in job.get("steps", [])]


def test_hooks_run_what_make_test_runs():
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert [hook["entry"] for hook in local["hooks"]] == make_test_commands()


def test_the_workflow_runs_what_make_test_runs_on_every_supported_python():
    job = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]
    assert [line for line in steps(job) if "pip" not in line and line] == make_test_commands()
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert ">=" + job["strategy"]["matrix"]["python"][0] == oldest
    assert {name.split("-")[0] for name in job["strategy"]["matrix"]["os"]} == {"ubuntu", "macos", "windows"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_few_rights_and_calls_targets_that_exist(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for job in workflow["jobs"].values():
        called = re.findall(r"^make (\w+)", "\n".join(steps(job)), re.MULTILINE)
        assert set(called) <= set(targets)
        if "uses" in job:
            assert (ROOT / job["uses"]).is_file()


def test_only_publishing_jobs_may_ask_for_an_identity():
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            assert ("id-token" in job.get("permissions", {})) == (name == "publish")


def test_the_readme_fits_its_length():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
