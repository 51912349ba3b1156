"""What is streamed to a file is what stays in memory; a run that was cut off goes on, and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.numpy")

from shesha.extract import _resumable_files, activations  # noqa: E402
from shesha.io import read  # noqa: E402

X = np.random.default_rng(0).standard_normal((50, 4))


@pytest.mark.parametrize("pool", ["mean", None])
def test_a_file_holds_what_memory_would(bert, tokens, tmp_path, pool):
    model, out = bert(), tmp_path / "x.safetensors"
    expected = activations(model, tokens, pool=pool, batch_size=3)
    found = activations(model, tokens, pool=pool, batch_size=3, out=out)
    assert list(found) == list(expected)
    assert [one.name for one in tmp_path.iterdir()] == [out.name]
    independent = safetensors.load_file(out)
    for name, array in expected.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], array)
        np.testing.assert_array_equal(independent[name][...], array)
        assert isinstance(found[name], np.memmap)
    if pool is not None:
        assert {name: array.shape for name, array in read(out).items()} == {n: a.shape for n, a in expected.items()}


def test_the_file_says_how_it_was_made(bert, tokens, tmp_path):
    model, out = bert(), tmp_path / "x.safetensors"
    info = activations(model, tokens, out=out, batch_size=3).info
    assert info == activations(model, tokens, out=out, batch_size=3).info
    about = _resumable_files.read_finished(out)[0]
    assert about["batch_size"] == 3
    assert about["order"] == "longest first"
    assert about["dtype"] == "float32"
    assert about["pool"] == "mean"
    assert about["inputs"]["rows"] == 7
    assert "not hidden_states" in about["hooked"]
    assert {"revision", "weights", "versions"} <= set(about)


def test_a_whole_file_is_not_made_again_and_not_for_others(tower, tmp_path, monkeypatch):
    out = tmp_path / "x.safetensors"
    first = activations(tower, X, out=out)
    with monkeypatch.context() as patch:
        patch.setattr(tower.encoder.layer[0], "forward", None)
        again = activations(tower, X, out=out)
    assert all((again[name] == first[name]).all() for name in first)
    with pytest.raises(
        ValueError, match=r"out must be new or contain the same extraction, got .*, which differs in inputs"
    ):
        activations(tower, X + 1, out=out)
    with pytest.raises(ValueError, match="differs in batch_size"):
        activations(tower, X, out=out, batch_size=3)
    with torch.no_grad():
        tower.encoder.layer[1].map.weight[2, 1] += 1e-6
    with pytest.raises(ValueError, match="differs in weights"):
        activations(tower, X, out=out)


def test_other_files_are_never_replaced(tower, tmp_path):
    safetensors.save_file({"a": np.zeros(3)}, tmp_path / "x.safetensors")
    with pytest.raises(FileExistsError, match=r"out must be new, got .*, which has other contents"):
        activations(tower, X, out=tmp_path / "x.safetensors")


class Stop(Exception):
    """Ends a run on the way."""


def stopping_after(model, n_batches):
    """Let a model stop after so many batches."""
    seen = []

    def count(*_):
        seen.append(1)
        if len(seen) > n_batches:
            raise Stop

    return model.register_forward_pre_hook(count), seen


def test_a_run_that_was_stopped_goes_on_at_the_last_whole_batch(tower, tmp_path):
    out = tmp_path / "x.safetensors"
    activations(tower, X)  # The axis of the inputs is found in the first run.
    hook, _ = stopping_after(tower, 3)
    with pytest.raises(Stop):
        activations(tower, X, out=out, batch_size=8)
    hook.remove()
    assert not out.exists()
    with pytest.raises(ValueError, match=r"got .*unfinished, which differs in inputs"):
        activations(tower, X + 1, out=out, batch_size=8)
    with pytest.raises(ValueError, match=r"got .*unfinished, which differs in layers"):
        activations(tower, X, "encoder.layer.1", out=out, batch_size=8)
    hook, seen = stopping_after(tower, 99)
    found = activations(tower, X, out=out, batch_size=8)
    hook.remove()
    assert len(seen) == 4
    for name, array in activations(tower, X, batch_size=8).items():
        np.testing.assert_array_equal(found[name], array)
    assert [one.name for one in tmp_path.iterdir()] == [out.name]


@pytest.mark.parametrize("name", ["", "x.safetensors", "progress.json", "lock", "new"])
def test_a_draft_leads_to_no_other_file(tower, tmp_path, name):
    precious = tmp_path / "precious"
    precious.mkdir() if not name else precious.write_text("mine")
    draft = tmp_path / "x.safetensors.unfinished"
    if name:
        draft.mkdir()
    (draft / name).symlink_to(precious)
    with pytest.raises(ValueError, match="out must have a draft of plain files, got a link"):
        activations(tower, X, out=tmp_path / "x.safetensors")
    assert precious.is_dir() if not name else precious.read_text() == "mine"


def test_two_processes_do_not_write_one_file(tower, tmp_path):
    with (
        _resumable_files.open_draft(tmp_path / "x.safetensors", {}, 3),
        pytest.raises(ValueError, match="out must not be in use by another process"),
    ):
        activations(tower, X, out=tmp_path / "x.safetensors")


KILLED = """
import sys, time
import numpy as np, torch
from shesha.extract import _resumable_files, activations
_resumable_files._SYNC_SECONDS = 0
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 3))
model.register_forward_pre_hook(lambda *_: time.sleep(0.05))
activations(model, np.random.default_rng(0).standard_normal((60, 4)), "0", batch_size=2, out=sys.argv[1])
"""


def test_a_run_that_was_killed_goes_on(tmp_path):
    out = tmp_path / "x.safetensors"
    progress = tmp_path / "x.safetensors.unfinished" / "progress.json"
    killed = subprocess.Popen([sys.executable, "-c", KILLED, out], env=os.environ)
    while killed.poll() is None and not (progress.exists() and '"done": 1}' not in progress.read_text()):
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert not out.exists()
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 3)), np.random.default_rng(0).standard_normal((60, 4))
    expected = activations(model, x, "0", batch_size=2)
    hook, seen = stopping_after(model, 99)
    activations(model, x, "0", batch_size=2, out=out)
    hook.remove()
    assert 0 < len(seen) < 30 - 1
    np.testing.assert_array_equal(read(out)["0"], expected["0"])


def test_memory_stays_flat(tmp_path: Path):
    class Wide(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Identity()

        def forward(self, x):
            return self.layer(x.repeat(1, 2000))

    import tracemalloc

    tracemalloc.start()
    found = activations(Wide(), np.ones((1000, 8)), "layer", batch_size=10, out=tmp_path / "x.safetensors")["layer"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.nbytes == 64_000_000
    assert peak < 4_000_000
