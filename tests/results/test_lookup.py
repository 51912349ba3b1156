"""What a result holds under a name is found by that name, and unknown names are told the known ones."""

from dataclasses import fields

import pytest

NAMES = ("name", "measure", "predictor", "way", "second")


def named_entries(made):
    """Yield names that fields of the result hold, with the entry of that name where there is one."""
    for field in fields(made):
        value = getattr(made, field.name)
        for one in value if isinstance(value, tuple | dict) else ():
            if isinstance(one, str):
                yield one, value[one] if isinstance(value, dict) else None
            for name in NAMES:
                if hasattr(one, name):
                    yield getattr(one, name), one
            if hasattr(one, "first") and hasattr(one, "second"):
                yield (one.first, one.second), one


def test_entries_are_found_by_their_names(kind, sample):
    made = sample(kind)
    if not hasattr(kind, "__getitem__"):
        return
    n_found = 0
    for name, entry in named_entries(made):
        try:
            found = made[name]
        except (KeyError, TypeError):
            continue
        n_found += 1
        assert not isinstance(found, type(entry)) or found == entry, name
    assert n_found, "no entry is found by any of the names"
    with pytest.raises(KeyError, match="must be"):
        made["no such name"]
