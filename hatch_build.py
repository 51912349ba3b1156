"""Compile the inner loops (src/shesha/kernels/native/*.c) where there is a C compiler; write the long description.

Links of README.md lead to files of this folder, where an index page has none: see `described`. Unless a release is
built, extras with packages of this repository install them from their folders.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

FOLDER = Path("src/shesha/kernels/native")
NAME = "libshesha.so"
OPTIONS = ("-std=gnu99", "-O3", "-fPIC")
FUSED = {"native.c": "-ffp-contract=fast"}
"""Sources that may multiply and add at once. The others must round as NumPy does."""
SETS = {
    "plain": (),
    "avx2": ("-mavx2", "-mfma", "-mbmi2"),
    "avx512": ("-mavx2", "-mfma", "-mbmi2", "-mavx512f", "-mavx512vl"),
}
"""Options for each instruction set; the library chooses among them where it runs."""
SECONDS = 300
HOME = "SHESHA_HOME"
"""Set by whoever publishes a release: the address of the repository, such as https://host/owner/name, or empty."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")
"""An image or a link of Markdown to a file of this folder."""


class CustomBuildHook(BuildHookInterface[Any]):
    """Compile the library: into the wheel, or beside its sources for an editable install.

    A wheel with it serves every Python 3 of the platform, since nothing in it knows of Python; where compiling fails,
    or `SHESHA_NATIVE=0` forbids it, the wheel is pure and serves every platform.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; where that fails there is no library and no complaint."""
        folder = Path(self.root) / FOLDER
        if version == "editable":
            # One of an earlier version would not fit the code beside it.
            if not wanted() or not compiled(folder, folder / NAME):
                (folder / NAME).unlink(missing_ok=True)
            return
        # A plain install leaves the source tree as it is.
        self.made = tempfile.TemporaryDirectory()
        library = Path(self.made.name) / NAME
        if wanted() and compiled(folder, library):
            build_data["force_include"][str(library)] = f"shesha/kernels/native/{NAME}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{self.platform_tag()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the wheel now holds."""
        if version != "editable":
            self.made.cleanup()

    def platform_tag(self) -> str:
        """Return the platform's part of the tag that the builder would choose."""
        whole: str = self.build_config.builder.get_best_matching_tag()
        return whole.rsplit("-", 1)[1]


class CustomMetadataHook(MetadataHookInterface):
    """Write the long description and the project's addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Take them from README.md and from where the repository is."""
        home = os.environ.get(HOME, "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        readme = described(text, home, f"v{metadata['version']}")
        if HOME not in os.environ:
            for extra in metadata.get("optional-dependencies", {}).values():
                extra[:] = [self.from_checkout(requirement) for requirement in extra]
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
        if home:
            metadata["urls"] = {
                "Homepage": home,
                "Documentation": f"{home}/blob/v{metadata['version']}/docs/index.md",
                "Changelog": f"{home}/blob/v{metadata['version']}/CHANGELOG.md",
                "Issues": f"{home}/issues",
            }

    def from_checkout(self, requirement: str) -> str:
        """Return the requirement of a package in this repository as its folder; no index need have it yet."""
        folder = Path(self.root).resolve() / "packages" / requirement.partition("==")[0]
        return f"{folder.name} @ {folder.as_uri()}" if (folder / "pyproject.toml").exists() else requirement


def described(text: str, home: str, tag: str) -> str:
    """Return Markdown whose links lead somewhere from any page: to the repository at a tag.

    Without the repository's address links become their text, and pictures go.
    """

    def replaced(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if not home:
            return "" if picture else words
        return f"{picture}[{words}]({home}/{'raw' if picture else 'blob'}/{tag}/{target})"

    return LINK.sub(replaced, text)


def wanted() -> bool:
    """Whether the library may be compiled."""
    return os.environ.get("SHESHA_NATIVE") != "0"


def compiled(folder: Path, library: Path) -> bool:
    """Compile the folder's C sources into the library, and return whether that could be done."""
    compiler, sources = found_compiler(), sorted(folder.glob("*.c"))
    if compiler is None or sys.platform == "win32" or not sources:
        return False
    sets = list(SETS) if platform.machine() in ("x86_64", "AMD64") else ["plain"]
    with tempfile.TemporaryDirectory(dir=library.parent) as place:
        commands, objects = [], []
        for source in sources:
            rounding = FUSED.get(source.name, "-ffp-contract=off")
            for name in sets:
                objects.append(f"{place}/{source.stem}_{name}.o")
                commands.append([*compiler, *OPTIONS, rounding, *SETS[name], "-c", str(source), "-o", objects[-1]])
        made = Path(place) / library.name
        commands.append([*compiler, "-shared", *objects, "-o", str(made)])
        if not all(succeeds(command) for command in commands):
            return False
        # A process that has the old library open keeps it.
        made.replace(library)
    return True


def found_compiler() -> list[str] | None:
    """Return the command of the C compiler: CC, or the first of the usual names."""
    try:
        named = shlex.split(os.environ.get("CC", ""))
    except ValueError:  # For example, an unclosed quotation mark: as any other compiler that does not exist.
        return None
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
