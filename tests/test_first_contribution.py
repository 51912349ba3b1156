"""docs/first_contribution.md is followed literally, in a copy of the repository."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"^```(\w+)\n(.*?)^```$",
    (ROOT / "docs" / "first_contribution.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
FILES = dict(re.match(r"# (\S+)\n(.*)", text, re.DOTALL).groups() for kind, text in BLOCKS if kind == "python")
COMMANDS = [line.removeprefix("$ ") for kind, text in BLOCKS if kind == "console" for line in text.splitlines() if line]


def add_lines(text, diff):
    """Insert each added line below the line that the diff shows above it."""
    lines, at = text.split("\n"), -1
    for line in diff.rstrip("\n").split("\n"):
        if line.startswith(" "):
            at = lines.index(line[1:], at + 1)
        else:
            assert line.startswith("+")
            at += 1
            lines.insert(at, line[1:])
    return "\n".join(lines)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of what the page touches, with its files and its diff."""
    folder = tmp_path_factory.mktemp("clone")
    unneeded = shutil.ignore_patterns("__pycache__", "studies")
    for name in ("src/shesha", "tests/measures", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=unneeded)
    (folder / "docs").mkdir()
    for name in ("pyproject.toml", "docs/measures.md", "tests/conftest.py"):
        shutil.copy(ROOT / name, folder / name)
    for name, text in FILES.items():
        assert not (folder / name).exists()
        (folder / name).write_text(text, encoding="utf-8")
    (diff,) = (text for kind, text in BLOCKS if kind == "diff")
    head, lines = diff.split("\n", 1)
    changed = folder / head.removeprefix("+++ ")
    changed.write_text(add_lines(changed.read_text(encoding="utf-8"), lines), encoding="utf-8")
    return folder


def run(folder, command):
    """Run a line of the page with this Python, where the copy's package comes first."""
    tool, *arguments = shlex.split(command)
    code = "from shesha.cli import main; main()"
    program = {"python": [], "pytest": ["-m", "pytest", "-p", "no:cacheprovider"], "shesha": ["-c", code]}
    return subprocess.run(
        [sys.executable, *program.get(tool, ["-m", tool]), *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_command_of_the_page_succeeds(copy):
    assert len(COMMANDS) >= 6
    for command in COMMANDS:
        ended = run(copy, command)
        assert ended.returncode == 0, f"{command}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
    assert "Mean cosine between corresponding rows" in ended.stdout
    assert "row cosine" in (copy / "docs" / "measures.md").read_text(encoding="utf-8")


def test_formatting_leaves_the_listings_as_they_are(copy):
    for name, text in FILES.items():
        assert (copy / name).read_text(encoding="utf-8") == text


def test_the_page_is_right_that_a_false_declaration_fails(copy):
    path = copy / "src/shesha/measures/row_cosine.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('invariant=("scaling",)', 'invariant=("scaling", "orthogonal")'), encoding="utf-8")
    (command,) = (line for line in COMMANDS if "-k" in line)
    ended = run(copy, command)
    path.write_text(text, encoding="utf-8")
    assert ended.returncode == 1 and "orthogonal" in ended.stdout
