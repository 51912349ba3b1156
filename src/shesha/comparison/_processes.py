"""The same comparisons on several processes, for measures that one interpreter cannot run side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from shesha.comparison._engine import Group, Pair, Sources, run
from shesha.results import PairScore
from shesha.views import Representation

_sources: dict[str, Representation] = {}


def _start(sources: Mapping[str, Representation], threads: str) -> None:
    os.environ["SHESHA_THREADS"] = threads
    _sources.update(sources)


def _work(group: Group, skipped: Mapping[tuple[str, Pair], str]) -> list[PairScore]:
    return list(run([group], _sources, skipped))


def run_on_processes(
    groups: Sequence[Group], sources: Sources, skipped: Mapping[tuple[str, Pair], str], n_workers: int
) -> Iterator[PairScore]:
    """Yield the scores as they come: each task is one group's share of the pairs."""
    for measure in {measure.name: measure for group in groups for measure in group.measures}.values():
        function = measure.function
        place = sys.modules.get(function.__module__)
        marked = getattr(getattr(place, function.__name__, None), "measure", None)
        if marked is None or function.__module__ == "__main__":
            raise ValueError(
                f"workers must be 1 for measures that other processes cannot import, got {n_workers} and "
                f"{measure.name}: put the measure into a module"
            )
    tasks = [part for group in groups for part in _parts(group, n_workers)]
    # The processes share the cores among them.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    threads = str(max(1, cores // n_workers))
    context = get_context("spawn")
    with ProcessPoolExecutor(n_workers, context, _start, (dict(sources), threads)) as pool:
        try:
            for done in as_completed([pool.submit(_work, task, skipped) for task in tasks]):
                yield from done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _parts(group: Group, n_parts: int) -> Iterator[Group]:
    """Cut the pairs of costly measures; views are made anew in each part, so cheap ones stay whole."""
    costly = any(measure.cost == "more" for measure in group.measures)
    step = 1 if costly else max(1, -(-len(group.all_pairs) // n_parts))
    everything = group.all_pairs
    for start in range(0, len(everything), step):
        chosen = set(everything[start : start + step])
        yield Group(group.measures, tuple(tuple(p for p in pairs if p in chosen) for pairs in group.pairs))
