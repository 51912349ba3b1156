"""Default options from `shesha.toml`, or from `[tool.shesha]` in `pyproject.toml`.

    seed = 1                 # every command that has the option
    [audit]
    metric = "correlation"   # one command
    [bench.run]
    workers = 4

The nearest such file in the working folder or its parents is used. Options on the command line override it. Nothing in
the file is executed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shesha.support import wording
from shesha.support.files import read_toml

OWN, SHARED = "shesha.toml", "pyproject.toml"
Settings = Mapping[str, Any]
Place = tuple[str, ...]


def find_settings(folder: Path) -> tuple[Path, Settings] | None:
    """Return the nearest settings file and its content, or None if no folder up to the root has one.

    Raises
    ------
    ValueError
        If `shesha.toml` is not valid TOML. An invalid `pyproject.toml` is ignored, because other tools report it.
    """
    for place in (folder, *folder.parents):
        if (place / OWN).is_file():
            return place / OWN, read_toml(place / OWN, "settings")
        if (place / SHARED).is_file():
            try:
                tools = read_toml(place / SHARED).get("tool", {})
            except (ValueError, OSError):
                continue
            if isinstance(tools, dict) and isinstance(tools.get("shesha"), dict):
                return place / SHARED, tools["shesha"]
    return None


def default_map(program: Any, settings: Settings, path: Path) -> dict[str, Any]:
    """Translate settings into default values for the program's commands.

    Parameters
    ----------
    program : click group
        The command line program.
    settings : mapping
        Values by the long names of options, without the leading hyphens. Values for a single command are in a table
        with its name.
    path : Path
        Path of the settings file, for messages.

    Returns
    -------
    dict
        Defaults by parameter name, nested by command.

    Raises
    ------
    ValueError
        If no command has an option with a given name (the message lists similar names), or if a value has the wrong
        type.
    """
    leaves = dict(_leaves(program))
    defaults: dict[str, Any] = {}
    for place, key, value in sorted(_entries(settings), key=lambda entry: len(entry[0])):
        below = {leaf: options for leaf, options in leaves.items() if leaf[: len(place)] == place}
        name = ".".join((*place, key))
        if not below:
            tables = {".".join(leaf[:depth]) for leaf in leaves for depth in range(1, len(leaf) + 1)}
            raise ValueError(
                _unknown(f"{path}: the table for {name} must be named after a command", ".".join(place), tables)
            )
        users = {leaf: options[key] for leaf, options in below.items() if key in options}
        if not users:
            known = {option for options in below.values() for option in options}
            raise ValueError(_unknown(f"{path}: {name} must be the name of an option", key, known))
        for leaf, option in users.items():
            _table(defaults, leaf)[option.name] = _check_value(option, value, path, name)
    return defaults


def _entries(settings: Settings, place: Place = ()) -> Iterator[tuple[Place, str, Any]]:
    """Yield every value with the command or group that it is for; () means all commands."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _entries(value, (*place, key))
        else:
            yield place, key, value


def _leaves(group: Any, place: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield every command with its options, keyed by their long names."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, (*place, name))
        else:
            long = {flag: option for option in command.params for flag in option.opts if flag.startswith("--")}
            yield (*place, name), {flag[2:]: option for flag, option in long.items() if not option.is_eager}


def _table(defaults: dict[str, Any], leaf: Place) -> dict[str, Any]:
    for name in leaf:
        defaults = defaults.setdefault(name, {})
    return defaults


def _check_value(option: Any, value: Any, path: Path, name: str) -> Any:
    """Refuse values that would be invalid on the command line as well."""
    if option.is_flag != isinstance(value, bool):
        raise ValueError(f"{path}: {name} must be {'true or false' if option.is_flag else 'a value'}, got {value!r}")
    if isinstance(value, list) != option.multiple:
        raise ValueError(f"{path}: {name} must be {'a list' if option.multiple else 'one value'}, got {value!r}")
    # Options receive strings, as they do on the command line, so that invalid values give the same messages.
    return value if isinstance(value, bool) else [str(entry) for entry in value] if option.multiple else str(value)


def _unknown(expected: str, name: str, known: Collection[str]) -> str:
    close = wording.close_names(name, sorted(known))
    return f"{expected}{wording.did_you_mean(close[:1])}"


def describe_defaults(path: Path, defaults: Mapping[str, Any], words: Sequence[str]) -> str | None:
    """Return a note on the defaults that a command takes from the file; None if it takes none."""
    for word in words:
        if not isinstance(defaults.get(word), Mapping):
            break
        defaults = defaults[word]
    values = [f"{key} = {value}" for key, value in defaults.items() if not isinstance(value, Mapping)]
    return f"defaults from {path}: {', '.join(values)}" if values else None
