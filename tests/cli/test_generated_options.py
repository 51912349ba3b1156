"""Options are those of the functions that the commands call."""

import inspect
from importlib import import_module

import pytest
import typer

from shesha.cli._app import COMMANDS, app
from shesha.cli._commands import Signature, parameter_text
from shesha.cli._declarations import Declaration, sections
from shesha.cli._options import option_name

PROGRAM = typer.main.get_command(app)
FUNCTIONS = {name: getattr(import_module(f"shesha.cli.{name}"), f"{name}_command") for name in COMMANDS}
CALLING = {name: function for name, function in FUNCTIONS.items() if function.declared_command[0]}


@pytest.mark.parametrize("name", [*CALLING, "monitor init"])
def test_sources_say_what_the_imported_function_says(name):
    place = "shesha.drift:DriftMonitor" if name == "monitor init" else CALLING[name].declared_command[0]
    module, _, function = place.partition(":")
    imported = inspect.signature(getattr(import_module(module), function)).parameters
    declared = Declaration.of(module, function).parameters
    assert list(declared) == [one for one in imported if one in declared]
    for one, parameter in declared.items():
        assert parameter.annotation == imported[one].annotation.replace('"', "'")
        assert parameter.default == imported[one].default
    assert all(one in declared for one, parameter in imported.items() if parameter.kind is parameter.KEYWORD_ONLY)


@pytest.mark.parametrize("name", CALLING)
def test_an_option_has_the_default_of_its_parameter(name):
    signature, command = Signature(CALLING[name]), PROGRAM.commands[name]
    options = {one.name: one for one in command.params}
    for argument, parameter in signature.called.parameters.items():
        option = option_name(argument)
        # The command line is reproducible without a seed, and reads names for the two choices of rows.
        if option in options and option not in (*signature.own, "seed", "shared_rows", "test", "way"):
            assert options[option].default == parameter.default, option


def test_helps_are_beginnings_of_docstrings():
    called = Declaration.of("shesha.auditing", "audit")
    assert parameter_text(called, "metric") == "Distance between rows (cosine, correlation or euclidean)."
    assert parameter_text(called, "pairs").startswith(
        "Number of random pairs of rows to use, or 'all'. Default: all pairs"
    )
    # A reference leads to the function that explains the parameter.
    assert parameter_text(Declaration.of("shesha.comparison", "compare_layers"), "alpha") == (
        "Significance level of the threshold, in (0, 1)."
    )
    scale = parameter_text(Declaration.of("shesha.comparison", "consensus"), "scale")
    assert scale == "Scale all representations to the same size before averaging."


def test_unknown_names_are_an_error():
    with pytest.raises(LookupError, match=r"shesha\.auditing does not define nothing"):
        Declaration.of("shesha.auditing", "nothing")
    assert sections("Only a line.") == ("Only a line.", {}, "")


def test_help_imports_no_numerics(tmp_path):
    import subprocess
    import sys

    code = "import sys; from shesha.cli import _app; print({'scipy', 'pandas', 'shesha.auditing'} & {*sys.modules})"
    shown = f"import typer; typer.main.get_command(_app.app).commands['audit'].params; {code.partition('; ')[2]}"
    done = subprocess.run([sys.executable, "-c", f"{code}; {shown}"], capture_output=True, text=True, check=True)
    assert set(done.stdout.split("\n")) == {"set()", ""}
