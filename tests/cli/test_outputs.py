"""What a command writes: never over what it reads, numbers before pages, each file by itself."""

import json
import os

import numpy as np
import pytest

QUICK = ("--bootstrap", "0", "--permutations", "19")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Two representations and labels in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "two.npz", a=rng.standard_normal((30, 8)), b=rng.standard_normal((30, 8)))
    (tmp_path / "labels.csv").write_text("kind\n" + "x\ny\nz\n" * 10)
    return tmp_path


@pytest.mark.parametrize("option", ["--json", "--html", "--card"])
@pytest.mark.parametrize("name", ["two.npz", "./two.npz", "link.npz", "hard.npz"])
def test_an_input_is_never_overwritten(invoke_main, data, option, name):
    (data / "link.npz").symlink_to(data / "two.npz")
    os.link(data / "two.npz", data / "hard.npz")
    before = (data / "two.npz").read_bytes()
    ended = invoke_main("audit", "two.npz", *QUICK, option, name)
    assert ended.status == 2
    assert f"{option} must name a file that the command does not read, got" in ended.err
    assert (data / "two.npz").read_bytes() == before


@pytest.mark.parametrize("labels", ["labels.csv", "labels.csv:kind"])
def test_labels_are_inputs_as_well(invoke_main, data, labels):
    before = (data / "labels.csv").read_bytes()
    ended = invoke_main("audit", "two.npz", *QUICK, "--labels", labels, "--json", "labels.csv")
    assert ended.status == 2 and "--json must name a file that the command does not read, got labels.csv" in ended.err
    assert (data / "labels.csv").read_bytes() == before


@pytest.mark.parametrize("command", [("compare", "two.npz"), ("layers", "two.npz", "two.npz")])
def test_other_commands_refuse_it_too(invoke_main, data, command):
    ended = invoke_main(*command, "--json", "two.npz")
    assert ended.status == 2 and "--json must name a file that the command does not read" in ended.err


def test_two_outputs_need_two_files(invoke_main, data):
    ended = invoke_main("audit", "two.npz", *QUICK, "--json", "out", "--html", "./out")
    assert ended.status == 2 and "--html and --json must name different files, got out for both" in ended.err
    assert not (data / "out").exists()


def test_a_read_only_output_is_refused_before_the_work(invoke_main, data):
    (data / "out.json").write_text("{}")
    (data / "out.json").chmod(0o444)
    ended = invoke_main("audit", "two.npz", *QUICK, "--json", "out.json")
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


def test_a_page_that_cannot_be_written_costs_nothing_else(invoke_main, data, full):
    ended = invoke_main("audit", "two.npz", *QUICK, "--html", "page.html", "--json", "out.json", "--card", "card.md")
    assert ended.status == 2
    assert "--html page.html was not written: No space left on device" in ended.err
    assert "feature" in ended.out
    assert json.loads((data / "out.json").read_text())["representations"]
    assert (data / "card.md").exists()
