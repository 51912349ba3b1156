"""Of many layers a screen shows the first that changed, the one before it, the largest change, and both ends."""

import itertools
from types import SimpleNamespace

import pytest

from shesha.results.changes.diff_report import choose_layers

NAN = float("nan")


def layers(changes, beyond):
    return [SimpleNamespace(name=i, value=change, is_beyond_noise=i in beyond) for i, change in enumerate(changes)]


def shown(changes, beyond, most):
    return [one.name for one in choose_layers(layers(changes, beyond), most)]


@pytest.mark.parametrize("n", [1, 7, 8])
def test_layers_that_fit_are_all_shown(n):
    assert shown([0.0] * n, {0}, 8) == list(range(n))


@pytest.mark.parametrize("n", [9, 12, 30, 100])
@pytest.mark.parametrize("first", [0, 1, 5, None])
@pytest.mark.parametrize("largest", [0, 3, -1])
def test_the_first_change_the_largest_and_the_ends_are_shown(n, first, largest):
    changes = [0.1] * n
    changes[largest] = 0.9
    changes[2] = NAN
    found = shown(changes, set() if first is None else set(range(first, n)), 8)
    needed = {0, n - 1, largest % n} | (set() if first is None else {first, max(0, first - 1)})
    assert needed <= set(found)
    # One line says how many are left out.
    assert len(found) == 7 and found == sorted(set(found))


def test_layers_without_any_number_are_shown_evenly():
    found = shown([NAN] * 50, set(), 9)
    assert len(found) == 8 and found[0] == 0 and found[-1] == 49
    gaps = [b - a for a, b in itertools.pairwise(found)]
    assert max(gaps) - min(gaps) <= 1
