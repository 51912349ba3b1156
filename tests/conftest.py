"""Data and switches that tests share."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from threadpoolctl import threadpool_limits

# The same examples every time, and no time limit on machines that do other work as well.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40, database=None)
settings.load_profile("repeatable")
# Rewritten tests are kept for the next run, and the library compiled for the many processes that tests start.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Tests run in several processes, whose BLAS threads would wait for one another: the tests took three times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
threadpool_limits(int(os.environ["OMP_NUM_THREADS"]))
# No test downloads anything, so a model that does not exist is refused without waiting for a network.
os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Figures pile up, and matplotlib warns of more than twenty."""
    yield
    drawn = sys.modules.get("matplotlib.pyplot")
    if drawn is not None:
        drawn.close("all")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(320)


@pytest.fixture
def low_rank() -> Callable[..., np.ndarray]:
    """Make rows whose geometry all features share: latent factors, mixed at random, plus noise."""

    def make(n: int, d: int, rank: int = 4, noise: float = 1.0, seed: int = 0) -> np.ndarray:
        draw = np.random.default_rng(seed)
        signal = draw.standard_normal((n, rank)) @ draw.standard_normal((rank, d))
        return signal + noise * draw.standard_normal((n, d))

    return make


@pytest.fixture
def said() -> Callable[..., str]:
    """Call, and return in one line the answer with its warnings and what it was read from, or the error."""

    def run(call: Callable[..., Any], *given: Any) -> str:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                found = call(*given)
                texts = [str(found), str(getattr(found, "read", ""))]
            except (TypeError, ValueError) as error:
                texts = [str(error)]
        return " ".join(" ".join([*texts, *(str(one.message) for one in warned)]).split())

    return run


@pytest.fixture
def with_threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], Any]], Any]:
    """Call with a fixed number of threads, those of the BLAS included."""

    def run(n_threads: int, call: Callable[[], Any]) -> Any:
        monkeypatch.setenv("SHESHA_THREADS", str(n_threads))
        with threadpool_limits(n_threads):
            return call()

    return run


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for doctests in the library only: there are none in tests, and each file would be searched for them."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_finish():
    """What was collected stays to the end, so that no search for garbage has to look at it."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Leave out what takes long, unless it is asked for: `SHESHA_SLOW=1 make test` runs everything."""
    if os.environ.get("SHESHA_SLOW"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes long: set SHESHA_SLOW=1"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each test of a module the draws that it has alone, so that results do not depend on the order of tests."""
    rng = getattr(getattr(item, "module", None), "RNG", None)
    if isinstance(rng, np.random.Generator):
        rng.bit_generator.state = item.module.__dict__.setdefault("STATE_OF_RNG", rng.bit_generator.state)
