"""Print the lowest versions that pyproject.toml allows, as constraints for pip; `make versions` tests them."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

_LOWEST = re.compile(r"^([\w-]+)>=(\d+(?:\.\d+)*)$")
# The tests pin torch and the packages that are built for it.
_PINNED = {"torch", "torchvision", "torch-geometric", "transformers", "huggingface-hub", "timm"}


def constraints(pyproject: str) -> list[str]:
    """Return one line for each dependency with a lowest version, which allows its latest patch release."""
    project = tomllib.loads(pyproject)["project"]
    stated = chain(project["dependencies"], *project["optional-dependencies"].values())
    lowest = {found[1]: found[2] for one in stated if (found := _LOWEST.match(one)) and found[1] not in _PINNED}
    return [f"{name}=={version if '.' in version else f'{version}.0'}.*" for name, version in sorted(lowest.items())]


if __name__ == "__main__":
    print("\n".join(constraints(Path("pyproject.toml").read_text(encoding="utf-8"))))
