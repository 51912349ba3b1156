"""Run the commands whose output the pages show, and put what they print into the pages.

    SHESHA_DATA=FOLDER SHESHA_TUNED=FOLDER python scripts/printed_output.py [--check] [PAGE...]

A comment above a block names its command: `<!-- printed by: COMMAND -->`. The command runs in a shell, with 80 columns
and in an empty folder. A last filter after a `|` may shorten its output. SHESHA_TUNED is the folder to which
examples/fine_tuned.py wrote its models. If the folder that a command needs is not set, its block is skipped. With
`--check`, differences are printed, nothing is written, and the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from shesha.support.files import write_text

ROOT = Path(__file__).resolve().parents[1]
PRINTED = re.compile(r"(<!-- printed by: ([^\n]*) -->\n+```text\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_FOLDER = re.compile(r"\$(SHESHA_[A-Z]+)")


@cache
def output(command: str) -> str:
    """Return what a command prints, in lines of 80 columns; filters after a `|` share one run of their command."""
    first, *filters = command.rsplit(" | ", 1)
    with TemporaryDirectory() as folder:
        printed = subprocess.run(
            ["bash", "-c", filters[0] if filters else first],
            cwd=folder,
            env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "ROOT": str(ROOT)},
            input=output(first) if filters else None,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
    if not printed.strip():
        raise RuntimeError(f"printed nothing: {command}")
    return "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").split("\n"))


def renewed(text: str) -> str:
    """Return a page in which every block contains what its command prints now."""

    def block(found: re.Match[str]) -> str:
        missing = [name for name in _FOLDER.findall(found[2]) if not os.environ.get(name)]
        if missing:
            print(f"skipped, because {' and '.join(missing)} is not set: {found[2]}", file=sys.stderr)
            return found[0]
        return found[1] + output(found[2])

    return PRINTED.sub(block, text)


def main() -> int:
    """Renew or check the pages, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    n_different = 0
    for page in options.pages or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        if not PRINTED.search(text):
            continue
        now = renewed(text)
        n_different += now != text
        sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), now.splitlines(True), str(page), "now"))
        if not options.check:
            write_text(page, now)
    return int(options.check and n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
