"""Workers of a Dask cluster do what local processes do, even if one of them dies."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from shesha_bench import run_suite
from shesha_bench.run_suite import run

from .reading import cells
from .toy_run import Inline

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
MEASURES = ("toy_measures:logged", "CKA", "LinReg")
TESTS = ("shortcut", "augmentation", "layer_monotonicity")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("dask")


@pytest.fixture(scope="module")
def cluster(folder):
    """A cluster that was started elsewhere: it does not know where the toy modules are."""
    with pytest.MonkeyPatch.context() as patching:
        patching.chdir(folder)
        for name in ("TOY_LOG", "TOY_FAULTS", "TOY_PAUSE"):
            patching.delenv(name, raising=False)
        patching.setenv("TOY_CALLS", str(folder / "calls"))
        patching.setenv("TOY_SLEEP", "0.03")
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        with distributed.LocalCluster(**options) as started:
            yield started


@pytest.fixture(scope="module")
def local(cluster, patch, toy, folder):
    """A store that holds the models, and the table and the cells of a run in this process."""
    with pytest.MonkeyPatch.context() as patching:
        patching.delenv("TOY_CALLS", raising=False)
        patching.delenv("TOY_SLEEP", raising=False)
        patching.setattr(run_suite, "_executor", lambda *_: Inline())
        found = run(toy, store=folder / "local.sqlite", measures=MEASURES, tests=TESTS)
    (folder / "dask.sqlite.models").symlink_to(folder / "local.sqlite.models")
    return found, cells(folder / "local.sqlite")


def test_a_cluster_gives_the_local_result_though_a_worker_dies(local, cluster, toy, folder):
    found = []
    options = {"store": folder / "dask.sqlite", "measures": MEASURES, "tests": TESTS}
    running = threading.Thread(
        target=lambda: found.append(run(toy, **options, scheduler=cluster.scheduler_address)), daemon=True
    )
    running.start()
    calls = folder / "calls"
    end = time.monotonic() + 120
    while not (calls.exists() and calls.stat().st_size) and running.is_alive() and time.monotonic() < end:
        time.sleep(0.02)
    assert calls.exists(), "no comparison in two minutes"
    victim = next(iter(cluster.workers.values())).pid
    os.kill(victim, signal.SIGKILL)
    running.join(timeout=240)
    assert not running.is_alive(), "the run hangs"
    assert found[0].equals(local[0])
    assert cells(folder / "dask.sqlite") == local[1]


def test_models_are_trained_on_the_cluster(local, cluster, toy, folder):
    found = run(
        toy, store=folder / "new.sqlite", measures=["CKA"], tests=["shortcut"], scheduler=cluster.scheduler_address
    )
    expected = local[0].query("test == 'shortcut' and measure == 'CKA'").reset_index(drop=True)
    assert found.equals(expected)
    assert len(list(Path(f"{folder / 'new.sqlite'}.models").glob("*.npz"))) == 9
