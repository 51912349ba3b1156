"""Help in panels: every option is in exactly one, those that most people need come first, rare ones on request."""

import pytest
import typer
from typer.testing import CliRunner

from shesha.cli._app import ALL, FEW, FIRST, PANELS, RARE, app

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


@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_shows_every_option_once(command):
    options = [name for name in options_in(shown(command, ALL)) if name not in ("--help", ALL)]
    assert sorted(options) == sorted(NAMES[command])


@pytest.mark.parametrize("command", COMMANDS)
def test_help_starts_with_what_most_people_need_and_leaves_out_what_is_rare(command):
    text = shown(command, "--help")
    options = options_in(text)
    assert options[: len(FIRST[command])] == list(FIRST[command])
    assert set(options) - {"--help", ALL} == NAMES[command] - RARE
    # The line of --help-all names what is left out.
    joined = " ".join(text.split())
    for name in NAMES[command] & RARE:
        assert name.strip("-").replace("-", " ") in joined


def test_every_name_of_a_panel_is_an_option():
    known = set().union(*NAMES.values())
    named = {*RARE, *(name for own in (*PANELS.values(), *FIRST.values()) for name in own)}
    assert named <= known


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
