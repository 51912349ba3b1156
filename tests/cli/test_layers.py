"""`shesha layers`, and `shesha compare --calibrate`."""

import json

import numpy as np
import pytest


@pytest.fixture
def models(tmp_path):
    rng = np.random.default_rng(0)
    a = {f"a{i}": rng.standard_normal((40, 6)) for i in range(3)}
    b = {"b0": rng.standard_normal((40, 5)), "b1": a["a2"] @ rng.standard_normal((6, 6))}
    np.savez(tmp_path / "a.npz", **a)
    np.savez(tmp_path / "b.npz", **b)
    return tmp_path / "a.npz", tmp_path / "b.npz"


def test_prints_the_calibrated_maximum_and_the_pair(invoke, models):
    ended = invoke("layers", *models, "--permutations", "39")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("The closest layers are a2 of a.npz and b1 of b.npz: unbiased CKA ")
    assert "above chance (p = 0.025 for the closest of 6 pairs)" in " ".join(ended.out.split())


def test_writes_numbers_and_a_picture(invoke, models, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    files = ("--json", tmp_path / "out.json", "--plot", tmp_path / "out.png")
    ended = invoke("layers", *models, "--permutations", "39", "--measure", "mutual kNN(k=3)", *files)
    assert ended.status == 0
    content = json.loads((tmp_path / "out.json").read_text())
    assert [content["scores"][5][side] for side in ("first", "second")] == ["a2", "b1"]
    assert (tmp_path / "out.png").stat().st_size > 1000


def test_ctrl_c_writes_what_has_come_and_ends_with_its_status(invoke, models, monkeypatch, tmp_path):
    from shesha.support import progress

    def until_fifth(items, total, label):
        for done, item in enumerate(items):
            if done == 5:
                raise KeyboardInterrupt
            yield item

    monkeypatch.setattr(progress, "track", until_fifth)
    ended = invoke("layers", *models, "--json", tmp_path / "out.json")
    assert ended.status == 130
    assert json.loads((tmp_path / "out.json").read_text())["n_draws"] == 4
