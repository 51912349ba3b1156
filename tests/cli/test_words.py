"""Messages and reports name options, not the arguments of functions."""

import inspect

import pytest
import typer

from shesha.cli._app import app
from shesha.cli._options import _WORDS, name_options, name_values

CASES = {
    "y must have one label for each of the 60 rows": "--labels must have one label for each of the 60 rows",
    "n_permutations must be at least 19": "--permutations must be at least 19",
    "late: none for Stability: y must contain classes": "late: none for Stability: --labels must contain classes",
    "for a series pass shift=True (and its sessions as blocks), for batches blocks=, for trials groups=;": (
        "for a series pass --shift (and its sessions as blocks), for batches --blocks, for trials --groups;"
    ),
    "read as 3 layers (layer_axis=1: 60 layers)": "read as 3 layers (--layer-axis 1: 60 layers)",
    "pass layer_axis=1 (--layer-axis 1), or layer_axis=None: one": "pass --layer-axis 1, or --layer-axis none: one",
    "Pass the phase as covariates= instead": "Pass the phase as --covariates of `shesha compare` instead",
    "labels and y=None": "labels and --labels None",
    "the memory must fit": "the memory must fit",
    "a.y must contain numbers": "a.y must contain numbers",
    "any metric must do": "any metric must do",
    "kNN(k=3,k=4) has shift=2": "kNN(k=3,k=4) has --shift 2",
}


@pytest.mark.parametrize("text", CASES)
def test_arguments_become_options(text):
    assert name_options(text, "audit") == CASES[text]


@pytest.mark.parametrize(
    ("command", "name"), [("compare", "--measures"), ("layers", "--measure"), ("measures", "NAME")]
)
def test_a_measure_is_called_as_the_command_calls_it(command, name):
    assert name_options("measure must be one of CKA", command) == f"{name} must be one of CKA"


def test_every_option_that_messages_name_exists():
    commands = typer.main.get_group(app).commands
    groups = (commands[name].commands.values() for name in ("bench", "monitor", "study"))
    every = [*commands.values(), *(command for group in groups for command in group)]
    known = {option for command in every for one in command.params for option in one.opts}
    assert {option for option in _WORDS.values() if option.startswith("--")} <= known
    assert inspect.isfunction(name_options)


def test_an_option_is_named_as_on_the_command_line_although_a_line_breaks_within_it():
    assert name_values("read only if keys=\n  names it") == "read only if --key names it"
