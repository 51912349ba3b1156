"""The benchmark of similarity measures, under its former name: the separate package `shesha_bench`."""

from typing import Any

from shesha.support.optional import require


def __getattr__(name: str) -> Any:
    """Return a name of `shesha_bench`; without the package, the error says what to install."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(require("shesha_bench", "bench", "the benchmark is a separate package"), name)


def __dir__() -> list[str]:
    """Return the public names of `shesha_bench`."""
    return sorted(require("shesha_bench", "bench", "the benchmark is a separate package").__all__)
