"""The demo: four questions on one screen, commands that give the same numbers, and a page."""

import re
import shlex

import pytest

import shesha.data
from shesha.data import digits_network

_LINES = 40


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Few rows of the network, in a folder of its own."""
    layers, labels = digits_network()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        shesha.data, "digits_network", lambda: ({name: X[:70] for name, X in layers.items()}, labels[:70])
    )
    return tmp_path


def test_four_questions_their_commands_and_a_page(invoke, small):
    ended = invoke("demo")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.count("\n") <= _LINES
    assert re.findall(r"^(\d)\. ", ended.out, re.MULTILINE) == ["1", "2", "3", "4"]
    page = (small / "shesha-demo" / "demo.html").read_text()
    for question in ("Is the geometry stable?", "Does that exceed chance?", "Which measure should I use?"):
        assert question in ended.out and question in page

    commands = [shlex.split(line)[2:] for line in re.findall(r"^  (\$ shesha .*)$", ended.out, re.MULTILINE)]
    assert [command[0] for command in commands] == ["audit", "compare", "compare", "measures"]
    told = [invoke(*command) for command in commands]
    assert [one.status for one in told] == [0, 0, 0, 0]
    # The same table stands in what the first command prints.
    rows = [line for line in ended.out.split("\n") if re.match(r"  layer\d  ", line)]
    assert len(rows) == 3 and all(line in told[0].out.split("\n") for line in rows)
    values = re.findall(r"^  (unbiased CKA|RSA|mutual kNN) +(\S+)", ended.out, re.MULTILINE)
    for name, value in values:
        (exact,) = re.findall(rf"^  {name} +(\d\S*)", told[1].out, re.MULTILINE)
        assert f"{float(exact):.2f}" == value


def test_without_the_page_extra_the_answers_are_printed_and_the_extra_is_named(invoke, small, monkeypatch):
    monkeypatch.setattr("shesha.cli.demo.find_spec", lambda name: None)
    ended = invoke("demo")
    assert (ended.status, ended.err) == (0, "")
    assert "Stable above chance" in ended.out and "[report]" in ended.out
    assert not (small / "shesha-demo" / "demo.html").exists()
