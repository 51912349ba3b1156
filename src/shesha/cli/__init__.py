"""The command line, with one command per file."""

from __future__ import annotations

import sys

_NOT_OURS, _INTERRUPTED = 2, 130


def main() -> None:
    """Run the program, or explain that another package has overwritten the library's files."""
    from shesha.support import conflicting_distributions

    if conflicting_distributions.overwritten():
        sys.stderr.write(
            f"shesha: another package has overwritten files of {conflicting_distributions.DISTRIBUTION}: "
            f"{conflicting_distributions.remedy(conflicting_distributions.other_distributions())}\n"
        )
        sys.exit(_NOT_OURS)
    try:
        from shesha.cli._app import main as run

        run()
    except KeyboardInterrupt:
        # Ctrl-C may arrive during imports, before the command begins.
        sys.stderr.write("shesha: interrupted\n")
        sys.exit(_INTERRUPTED)


__all__ = ["main"]
