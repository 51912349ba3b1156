"""No output takes the place of what a command reads, and no output is lost because another one is."""

import errno
import json
import os
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
    (tmp_path / "labels.csv").write_text("kind\n" + "x\ny\nz\n" * 20)
    return tmp_path


QUICK = ("--bootstrap", "0", "--permutations", "19")


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


AUDIT, STORED = ("audit", "layers.npz", *QUICK), ("compare", "data", "--store", "s.sqlite")
MODEL = ("--model", "model", "--texts", "texts.txt")
READ = [
    *((AUDIT, option, "layers.npz") for option in ("--json", "--html", "--card")),
    *((AUDIT, "--json", name) for name in ("./layers.npz", "link.npz", "hard.npz")),
    *(((*AUDIT, "--labels", labels), "--json", "labels.csv") for labels in ("labels.csv", "labels.csv:kind")),
    (("compare", "layers.npz"), "--json", "layers.npz"),
    (("layers", "layers.npz", "layers.npz"), "--json", "layers.npz"),
    (("audit", "data", "--quick"), "--json", "data/a.npy"),
    *((("audit", "rows.zarr", "--quick"), "--json", f"rows.zarr/{place}") for place in ("c/0/0", "new.json")),
    *((STORED, "--json", f"s.sqlite{ending}") for ending in ("", "-wal", "-shm", "-journal", ".lock")),
    *(((command, *MODEL), "--json", "model/config.json") for command in ("audit", "compare")),
    *(((command, "--model", "model", *MODEL), "--json", "model/config.json") for command in ("layers", "diff")),
    (("extract", "model", *MODEL[2:]), "--out", "texts.txt"),
    (("bench", "leaderboard", "subs"), "--out", "subs/CKA.json"),
]
"""Commands, and outputs that would take the place of what these read."""


@pytest.mark.parametrize(("command", "option", "place"), READ)
def test_what_a_command_reads_stays(invoke_main, folder, X, command, option, place):
    if "zarr" in place:
        pytest.importorskip("zarr").create_array(str(folder / "rows.zarr"), data=X, chunks=X.shape)
    (folder / "link.npz").symlink_to(folder / "layers.npz")
    os.link(folder / "layers.npz", folder / "hard.npz")
    for name, text in {"model/config.json": "{}", "subs/CKA.json": "{}", "texts.txt": "a\nb\n"}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    before = content(folder)
    ended = invoke_main(*command, option, place)
    assert ended.status == 2
    assert f"{option} must name a file that the command does not read, got {place.removeprefix('./')}" in ended.err
    assert content(folder) == before


def test_a_report_beside_the_data_is_written_again_and_again(invoke, folder):
    for _ in range(2):
        invoke("audit", "data", "--quick", "--json", "data/report.json")
    assert json.loads((folder / "data" / "report.json").read_text())


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


def test_two_outputs_need_two_files(invoke_main, folder):
    ended = invoke_main("audit", "layers.npz", *QUICK, "--json", "out", "--html", "./out")
    assert ended.status == 2 and "--html and --json must name different files, got out for both" in ended.err
    assert not (folder / "out").exists()


def test_a_read_only_output_is_refused_before_the_work(invoke_main, folder):
    (folder / "out.json").write_text("{}")
    (folder / "out.json").chmod(0o444)
    ended = invoke_main("audit", "layers.npz", *QUICK, "--json", "out.json")
    assert ended.status == 2 and "must be writable, got out.json, which is read-only" in ended.err
    assert ended.out == ""


@pytest.fixture
def full(monkeypatch):
    """A disk that has no room for pages."""

    def write(path, text):
        if path.suffix == ".html":
            raise OSError(28, "No space left on device")
        path.write_text(text)

    monkeypatch.setattr("shesha.cli._outputs.atomic_files.write_text", write)


def test_a_page_that_cannot_be_written_costs_nothing_else(invoke_main, folder, full):
    ended = invoke_main("audit", "layers.npz", *QUICK, "--html", "page.html", "--json", "out.json", "--card", "card.md")
    assert ended.status == 2
    assert "--html page.html was not written: No space left on device" in ended.err
    assert "feature" in ended.out
    assert json.loads((folder / "out.json").read_text())["representations"]
    assert (folder / "card.md").exists()
