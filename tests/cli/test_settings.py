"""Defaults from a project's file: what counts, what is refused, what is said."""

from pathlib import Path

import numpy as np
import pytest
import typer

from shesha.cli._app import app
from shesha.cli._config_file import default_map, find_settings

PROGRAM = typer.main.get_command(app)


def defaults(text, folder):
    (folder / "shesha.toml").write_text(text)
    path, settings = find_settings(folder)
    return default_map(PROGRAM, settings, path)


def test_the_nearest_file_counts(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_settings(inner) is None or tmp_path not in find_settings(inner)[0].parents
    (tmp_path / "pyproject.toml").write_text("[tool.shesha]\nseed = 3\n")
    assert find_settings(inner) == (tmp_path / "pyproject.toml", {"seed": 3})
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert find_settings(inner)[1] == {"seed": 3}
    (tmp_path / "a" / "pyproject.toml").write_text("no TOML [")
    assert find_settings(inner)[1] == {"seed": 3}
    (tmp_path / "a" / "pyproject.toml").write_text("x = " + "[" * 5_000 + "]" * 5_000)
    assert find_settings(inner)[1] == {"seed": 3}
    (tmp_path / "a" / "shesha.toml").write_text("seed = 4\n")
    assert find_settings(inner)[1] == {"seed": 4}


def test_values_reach_every_command_that_has_the_option_and_tables_win(tmp_path):
    found = defaults('seed = 1\n[audit]\nseed = 2\nlabels = "kind"\n[bench.run]\nworkers = 4\n', tmp_path)
    assert found["compare"]["seed"] == "1"
    assert found["audit"] == {"seed": "2", "labels": "kind"}
    assert found["bench"]["run"]["workers"] == "4"
    assert "seed" not in found.get("doctor", {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sed = 1", r"shesha\.toml: sed must be the name of an option; did you mean seed\?"),
        ("[audt]\nseed = 1", r"the table for audt\.seed must be named after a command; did you mean audit\?"),
        ("[audit]\npermutation = 9", r"audit\.permutation must be the name of an option; did you mean permutations\?"),
        ("[audit]\nquick = 1", r"audit\.quick must be true or false, got 1"),
        ("seed = true", "seed must be a value, got True"),
        ("[audit]\nkey = 'x'", r"audit\.key must be a list, got 'x'"),
        ("[audit]\nseed = [1]", r"audit\.seed must be one value, got \[1\]"),
        ("version = true", r"version must be the name of an option"),
        ("seed = ", r"settings must be valid TOML, got an error in .*shesha\.toml"),
        ("seed = " + "[" * 5_000 + "]" * 5_000, "got too many nested levels in"),
    ],
)
def test_what_the_command_line_could_not_say_is_refused(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        defaults(text, tmp_path)


def test_the_command_line_wins_and_the_file_is_named(tmp_path, monkeypatch, invoke_main):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHESHA_QUIET", raising=False)
    np.save("x.npy", np.random.default_rng(0).normal(size=(30, 8)))
    Path("shesha.toml").write_text("[audit]\nconfidence = 2\nbootstrap = 0\npermutations = 0\n")
    refused = invoke_main("audit", "x.npy")
    assert refused.status == 2
    assert "defaults from" in refused.err
    assert "confidence must be in (0, 1)" in refused.err
    assert invoke_main("audit", "x.npy", "--confidence", "0.9").status == 0
    Path("shesha.toml").write_text("[audit]\nseed = 'x'\n")
    assert "Invalid value for '--seed'" in invoke_main("audit", "x.npy").err


def test_quiet_says_nothing_but_results(tmp_path, monkeypatch, invoke_main):
    from shesha.support import progress

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHESHA_QUIET", "")
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    Path("shesha.toml").write_text("[measures]\n")
    assert invoke_main("measures", "CKA", "-q") == invoke_main("-q", "measures", "CKA")
    ended = invoke_main("--quiet", "measures", "CKA")
    assert (ended.status, ended.err) == (0, "")
    assert list(progress.track("abc", 3, "letters")) == list("abc")
    lines = progress.Lines()
    lines.say("x")
