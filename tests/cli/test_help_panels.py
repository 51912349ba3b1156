"""Help in panels: every option is in exactly one, those that most people need come first, rare ones on request."""

import pytest
import typer
from typer.testing import CliRunner

from shesha.cli import _options
from shesha.cli._app import app
from shesha.cli._commands import ALL, FEW

COMMANDS = {name: one for name, one in typer.main.get_command(app).commands.items() if len(one.params) >= FEW}
NAMES = {
    name: {opt for param in one.params for opt in param.opts if opt.startswith("--")} for name, one in COMMANDS.items()
}


def shown(*args):
    done = CliRunner().invoke(app, list(args), terminal_width=80)
    assert done.exit_code == 0
    return done.output


def options_in(text):
    words = [line.split()[0:3] for line in text.splitlines() if line.startswith("  -")]
    return [
        word.strip(",") for line in words for word in line if word.startswith("--") and not word.startswith("--no-")
    ]


@pytest.mark.parametrize("command", ["bench", "study", "monitor"])
def test_a_list_of_commands_is_not_cut(command):
    assert "..." not in shown(command, "--help").partition("Commands:")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_shows_every_option_once(command):
    options = [name for name in options_in(shown(command, ALL)) if name not in ("--help", ALL)]
    assert sorted(options) == sorted(NAMES[command])


def test_every_option_of_the_table_is_one_of_a_command():
    every = dict(every_command(typer.main.get_command(app)))
    known = {name for one in every.values() for param in one.params for name in param.opts}
    assert set(map(_options.flag, _options.OPTIONS)) <= known


def test_every_option_of_a_command_says_what_it_does():
    every = dict(every_command(typer.main.get_command(app)))
    texts = {(name, param.name): param.help or "" for name, one in every.items() for param in one.params}
    assert [place for place, text in texts.items() if not 12 < len(text) < 340 or "`shesha." in text] == []


def test_every_command_with_a_picture_takes_its_title():
    every = dict(every_command(typer.main.get_command(app)))
    options = {name: {opt for param in one.params for opt in param.opts} for name, one in every.items()}
    assert [name for name, known in options.items() if "--plot" in known and "--title" not in known] == []


def test_the_word_after_a_double_dash_is_a_file():
    assert CliRunner().invoke(app, ["audit", "--", ALL]).exit_code != 0


def every_command(group, path=()):
    for name, one in group.commands.items():
        yield from every_command(one, (*path, name)) if hasattr(one, "commands") else [(" ".join((*path, name)), one)]


def test_no_flag_negates_what_is_off_or_negative():
    every = dict(every_command(typer.main.get_command(app)))
    assert "bench run" in every and "--no-wait" in [opt for one in every["bench run"].params for opt in one.opts]
    for name, command in every.items():
        for one in command.params:
            for negation in one.secondary_opts:
                assert not negation.startswith("--no-no-"), (name, negation)
                assert one.default is not False or not negation.startswith("--no-"), (name, negation)
