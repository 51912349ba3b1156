"""The command line: one command per file."""

from shesha.cli._app import main

__all__ = ["main"]
