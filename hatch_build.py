"""Compile the optional inner loops (src/shesha/kernels/native.c) where there is a C compiler."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src/shesha/kernels")
LIBRARY = FOLDER / "libshesha.so"
OPTIONS = ("-std=gnu99", "-O3", "-fPIC", "-ffp-contract=fast")
SETS = {
    "plain": (),
    "avx2": ("-mavx2", "-mfma"),
    "avx512": ("-mavx2", "-mfma", "-mavx512f", "-mavx512vl"),
}
"""Options for each instruction set; the library chooses among them where it runs."""
SECONDS = 300


class CustomBuildHook(BuildHookInterface[Any]):
    """Put the library beside the code that loads it; a wheel without it is as good for every platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, also for editable installs; where that fails there is no library and no complaint."""
        library = Path(self.root) / LIBRARY
        if not compiled(Path(self.root) / FOLDER / "native.c", library):
            # One of an earlier version would not fit the code beside it.
            library.unlink(missing_ok=True)
            return
        build_data["artifacts"].append(f"/{LIBRARY.as_posix()}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def compiled(source: Path, library: Path) -> bool:
    """Compile the source into the library, and return whether that could be done."""
    compiler = found_compiler()
    if compiler is None or sys.platform == "win32" or not source.exists():
        return False
    sets = list(SETS) if platform.machine() in ("x86_64", "AMD64") else ["plain"]
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        objects = [f"{folder}/{name}.o" for name in sets]
        commands = [
            [*compiler, *OPTIONS, *SETS[name], "-c", str(source), "-o", out]
            for name, out in zip(sets, objects, strict=True)
        ]
        made = f"{folder}/{library.name}"
        commands.append([*compiler, "-shared", *objects, "-o", made])
        if not all(succeeds(command) for command in commands):
            return False
        # A process that has the old library open keeps it.
        Path(made).replace(library)
    return True


def found_compiler() -> list[str] | None:
    """Return the command of the C compiler: CC, or the first of the usual names."""
    named = shlex.split(os.environ.get("CC", ""))
    for command in [named] if named else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]):
            return command
    return None


def succeeds(command: list[str]) -> bool:
    """Run a command without a word, and return whether it succeeded."""
    try:
        return subprocess.run(command, capture_output=True, timeout=SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
