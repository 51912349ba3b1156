"""No output takes the place of what a command reads, and no output is lost because another one is."""

import errno
import json
import shutil
import sys

import numpy as np
import pytest

import shesha.cli
from shesha.drift import DriftMonitor


@pytest.fixture
def folder(tmp_path, monkeypatch, X):
    """A folder to work in, with data of every kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("a", "b"):
        np.save(tmp_path / "data" / f"{name}.npy", X + (name == "b"))
    np.savez(tmp_path / "layers.npz", a=X, b=X + 1, c=X + 2)
    return tmp_path


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_in_a_folder_that_is_read_stay(invoke_main, folder):
    before = content(folder)
    ended = invoke_main("audit", "data", "--quick", "--json", "data/a.npy")
    assert ended.status == 2
    assert "--json must name a file that the command does not read, got data/a.npy" in ended.err
    assert content(folder) == before


def test_a_report_beside_the_data_is_written_again_and_again(invoke, folder):
    for _ in range(2):
        invoke("audit", "data", "--quick", "--json", "data/report.json")
    assert json.loads((folder / "data" / "report.json").read_text())


def test_nothing_is_written_into_a_store_that_is_read(invoke_main, folder, X):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(folder / "rows.zarr"), data=X, chunks=X.shape)
    before = content(folder)
    for place in ("rows.zarr/c/0/0", "rows.zarr/new.json"):
        assert (
            "file that the command does not read" in invoke_main("audit", "rows.zarr", "--quick", "--json", place).err
        )
    assert content(folder) == before


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal", ".lock"])
def test_the_files_beside_a_store_are_no_outputs(invoke_main, folder, ending):
    ended = invoke_main("compare", "data", "--store", "s.sqlite", "--json", f"s.sqlite{ending}")
    assert f"--json must name a file that the command does not read, got s.sqlite{ending}" in ended.err
    assert not list(folder.glob("s.sqlite*"))


def test_the_files_of_a_model_stay(invoke_main, folder):
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text("{}")
    (folder / "texts.txt").write_text("a\nb\n")
    asked = ("--model", "model", "--texts", "texts.txt", "--json", "model/config.json")
    for command in (("audit",), ("compare",), ("layers", "--model", "model"), ("diff", "--model", "model")):
        assert (
            "must name a file that the command does not read, got model/config.json"
            in invoke_main(*command, *asked).err
        )
    assert (
        "file that the command does not read"
        in invoke_main("extract", "model", "--texts", "texts.txt", "--out", "texts.txt").err
    )


def test_submissions_stay(invoke_main, folder):
    (folder / "subs").mkdir()
    (folder / "subs" / "CKA.json").write_text("{}")
    ended = invoke_main("bench", "leaderboard", "subs", "--out", "subs/CKA.json")
    assert "--out must name a file that the command does not read, got subs/CKA.json" in ended.err
    assert (folder / "subs" / "CKA.json").read_text() == "{}"


def test_a_monitor_stays_and_pages_beside_it_are_written_again(invoke, invoke_main, folder, X):
    DriftMonitor(X, false_alarm=0.05).save("watch")
    np.save("now.npy", X)
    for name in ("monitor.json", "history.sqlite", next((folder / "watch").glob("arrays-*")).name):
        for command in (("check", "watch", "now.npy"), ("history", "watch")):
            assert (
                "file that the command does not read" in invoke_main("monitor", *command, "--json", f"watch/{name}").err
            )
    for _ in range(2):
        invoke("monitor", "check", "watch", "now.npy", "--json", "watch/verdict.json")
    DriftMonitor.load("watch")


def test_a_monitor_removes_no_arrays_but_its_own(folder, X):
    np.savez("arrays-train.npz", X=X)
    DriftMonitor(X, false_alarm=0.05).save(".")
    DriftMonitor(X + 1, false_alarm=0.05).save(".", overwrite=True)
    assert (folder / "arrays-train.npz").exists()
    assert len(list(folder.glob("arrays-*.npz"))) == 2


class Gone:
    """A standard output that takes nothing."""

    def __init__(self, number):
        self.number = number

    def write(self, text):
        raise OSError(self.number, "it takes nothing")

    def flush(self):
        pass

    def isatty(self):
        return False


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 2), (errno.EPIPE, None)])
def test_files_are_written_although_nothing_can_be_printed(folder, monkeypatch, capsys, number, status):
    monkeypatch.setattr(sys, "argv", ["shesha", "consensus", "layers.npz", "--json", "found.json"])
    monkeypatch.setattr(sys, "stdout", Gone(number))
    with pytest.raises(SystemExit) as ended:
        shesha.cli.main()
    getattr(sys.stdout, "close", lambda: None)()
    assert (ended.value.code or None) == status
    assert json.loads((folder / "found.json").read_text())["members"]
    assert ("the report was not printed" in capsys.readouterr().err) == (status == 2)


def test_an_interruption_while_the_library_is_imported_is_one_line(monkeypatch, capsys):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("shesha.cli._app.main", interrupt)
    with pytest.raises(SystemExit) as ended:
        shesha.cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "shesha: interrupted\n"


def test_what_a_command_wrote_can_be_cited(invoke, invoke_main, folder):
    shutil.copy("data/a.npy", "a.npy")
    invoke("compare", "layers.npz", "--measures", "CKA,RSA", "--json", "found.json")
    assert invoke("cite", "found.json").out == invoke("cite", "CKA", "RSA").out
    (folder / "other.json").write_text('{"a": 1}')
    assert "FILE must contain a result of shesha" in invoke_main("cite", "other.json").err
    (folder / "deep.json").write_text("[" * 200_000)
    assert "FILE must be valid JSON, got too many nested levels in deep.json" in invoke_main("cite", "deep.json").err
    assert "No such file" in invoke_main("cite", "missing.json").err
