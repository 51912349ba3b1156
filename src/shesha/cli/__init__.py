"""The command line: one command per file."""

from __future__ import annotations

import sys

_NOT_OURS = 2


def main() -> None:
    """Run the program, unless another package's files lie over the library's: then nothing else here works."""
    from shesha import _place

    if _place.overwritten():
        sys.stderr.write(
            f"shesha: files of another package lie over those of {_place.DISTRIBUTION}: "
            f"{_place.remedy(_place.strangers())}\n"
        )
        sys.exit(_NOT_OURS)
    from shesha.cli._app import main as run

    run()


__all__ = ["main"]
