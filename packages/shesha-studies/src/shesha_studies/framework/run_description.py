"""Text that describes a run: cells, computing time, machine and versions."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from shesha import __version__
from shesha.support.wording import count
from shesha_studies.framework.run_results import StudyRun
from shesha_studies.framework.study_lookup import command_name


def describe_run(run: StudyRun, rows: str) -> Iterator[str]:
    """Describe which cells were run and which were not."""
    study, grid = run.study, "quick" if run.quick else "full"
    if study.stand_ins:
        yield f"Stand-ins: {study.stand_ins}."
    command = f"shesha study run {command_name(study)}{' --quick' if run.quick else ''}"
    yield (
        f"`{command}`: {len(run.rows)} of the {run.n_cells} cells of the {grid} grid "
        f"(version {study.version} of the study), {_duration(sum(run.seconds))} of computing time on one worker, "
        f"{' to '.join(dict.fromkeys((run.days[0], run.days[-1]))) if run.days else 'not run'}. Rows: `{rows}`."
    )
    for what, cells in (("raised an error", run.failures), ("could not be reached", run.unreachable)):
        if cells:
            reasons = sorted(set(cells.values()))
            yield f"{count(len(cells), 'cell')} {what}: " + "; ".join(reasons[:5]) + "."
    here = machine_and_versions()
    yield f"This page: shesha {__version__}, {here}."
    for other, n in sorted(run.places.items()):
        if other != here:
            yield f"{n} of the rows: {other}."


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def machine_and_versions() -> str:
    """Describe this machine: versions, processor and number of cores."""
    python = ".".join(map(str, sys.version_info[:3]))
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "pandas"))
    return f"Python {python}, {libraries}; {_machine()}"


def _machine() -> str:
    name = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        models = [line.partition(":")[2].strip() for line in facts.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"
