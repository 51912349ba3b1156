"""Every permutation respects its design, all are equally likely, and resamples move what belongs together."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import chisquare

import shesha
from shesha.nulls import draw_permutations, equal_groups, exchange

SESSIONS = np.array([1, 1, 0, 0, 0, 1, 2])
DESIGNS = {
    "free": exchange(4),
    "blocks": exchange(5, blocks=["b", "a", "b", "a", "b"]),
    "groups": exchange(7, groups=[0, 0, 1, 1, 2, 2, 3]),
    "groups in blocks": exchange(8, groups=[0, 0, 1, 1, 2, 2, 3, 3], blocks=[0] * 4 + [1] * 4),
    "strata": exchange(6, within=["low", "high"] * 3),
    "strata in blocks": exchange(7, within=list("aabbaab"), blocks=SESSIONS),
    "shifts": exchange(6, shift=True),
    "shifts in blocks": exchange(7, shift=True, blocks=SESSIONS),
    "stretches": exchange(8, block_length=2),
    "stretches and a rest": exchange(8, block_length=3),
    "stretches in blocks": exchange(9, block_length=2, blocks=[0] * 5 + [1] * 4),
}
every_design = pytest.mark.parametrize("name", DESIGNS)


def allowed(name: str, order: tuple[int, ...]) -> bool:
    """Whether a design allows a permutation, by what its name says rather than by how it is drawn."""
    source = np.array(order)
    if name == "free":
        return True
    if name in ("blocks", "strata", "strata in blocks"):
        label = {
            "blocks": np.array(list("babab")),
            "strata": np.array(list("lhlhlh")),
            "strata in blocks": np.char.add(SESSIONS.astype(str), list("aabbaab")),
        }[name]
        return bool((label[source] == label).all())
    if name.startswith("shifts"):
        label = SESSIONS if "blocks" in name else np.zeros(len(order), dtype=int)
        return all(is_shift(source, np.flatnonzero(label == one)) for one in np.unique(label))
    unit, block = {
        "groups": ([0, 0, 1, 1, 2, 2, 3], [0] * 7),
        "groups in blocks": ([0, 0, 1, 1, 2, 2, 3, 3], [0] * 4 + [1] * 4),
        "stretches": ([0, 0, 1, 1, 2, 2, 3, 3], [0] * 8),
        "stretches and a rest": ([0, 0, 0, 1, 1, 1, 2, 2], [0] * 8),
        "stretches in blocks": ([0, 0, 1, 1, 2, 3, 3, 4, 4], [0] * 5 + [1] * 4),
    }[name]
    unit, block = np.array(unit), np.array(block)
    if (block[source] != block).any():
        return False
    # A place of so many rows takes a whole unit of as many, in order.
    for one in np.unique(unit):
        taken = source[unit == one]
        if not np.array_equal(taken, np.flatnonzero(unit == unit[taken[0]])):
            return False
    return True


def is_shift(source: np.ndarray, rows: np.ndarray) -> bool:
    return any(np.array_equal(source[rows], np.roll(rows, lag)) for lag in range(len(rows)))


@every_design
def test_exactly_what_a_design_allows_is_drawn_equally_often(name, rng):
    design = DESIGNS[name]
    expected = {order for order in permutations(range(design.n_rows)) if allowed(name, order)}
    assert round(np.exp(design.log_count)) == len(expected)
    n_draws = 60 * len(expected)
    found = Counter(tuple(design.draw(rng).tolist()) for _ in range(n_draws))
    assert set(found) == expected
    assert chisquare(list(found.values())).pvalue > 1e-3


@every_design
def test_permutations_of_a_design_form_a_group(name, rng):
    """Only then are p-values exact: the observed order is one of equally many, seen from any other."""
    design = DESIGNS[name]
    for _ in range(20):
        a, b = design.draw(rng), design.draw(rng)
        assert allowed(name, tuple(a[b].tolist()))
        assert allowed(name, tuple(np.argsort(a).tolist()))


def test_all_shifts_are_taken_once_where_they_are_few():
    orders, text = draw_permutations(30, 200, 0.05, design={"shift": True}, seed=0)
    assert (len(orders), text) == (29, "circular shifts")
    assert {tuple(order) for order in orders} == {tuple(np.roll(np.arange(30), lag)) for lag in range(1, 30)}
    blocks = np.repeat([0, 1], [5, 6])
    orders, text = draw_permutations(11, 29, 0.05, design={"shift": True, "blocks": blocks}, seed=0)
    assert text == "circular shifts, within blocks"
    together = {(*np.roll(range(5), i), *np.roll(range(5, 11), j)) for i, j in product(range(5), range(6))}
    assert {tuple(order) for order in orders} == together - {tuple(range(11))}
    assert len(draw_permutations(300, 200, 0.05, design={"shift": True}, seed=0)[0]) == 200


def test_all_permutations_of_few_groups_are_taken_once():
    """Random draws would repeat the identity, so that four groups could hardly be significant."""
    groups = np.repeat(np.arange(4), 3)
    orders, _ = draw_permutations(12, 39, 0.05, design={"groups": groups}, seed=0)
    moved = {tuple(groups[order][::3]) for order in orders}
    assert len(orders) == 23 and moved == set(permutations(range(4))) - {(0, 1, 2, 3)}
    assert all((order.reshape(4, 3) % 3 == range(3)).all() for order in orders)
    assert len(draw_permutations(12, 22, 0.05, design={"groups": groups}, seed=0)[0]) == 22


def test_too_few_shifts_or_stretches_say_what_to_do():
    with pytest.raises(ValueError, match=r"got 12 \(circular shifts\); use longer series"):
        draw_permutations(12, 200, 0.05, design={"shift": True})
    with pytest.raises(ValueError, match=r"got 6 \(stretches of 10 rows\); use shorter stretches"):
        draw_permutations(39, 200, 0.05, design={"block_length": 10})


def test_groups_without_an_equal_are_told():
    sizes = np.repeat(np.arange(7), [2, 2, 2, 2, 2, 3, 4])
    assert (
        exchange(len(sizes), groups=sizes).text
        == "whole groups (2 of 7 have no partner of equal size and are not permuted)"
    )
    with pytest.raises(ValueError, match=r"got 1 \(whole groups\); .*equal_groups\(groups\) chooses rows"):
        draw_permutations(15, 200, 0.05, design={"groups": np.repeat(np.arange(5), [1, 2, 3, 4, 5])})


def test_equal_groups_are_equal_and_keep_the_order_of_rows(rng):
    groups = rng.permutation(np.repeat(list("abcde"), [4, 5, 6, 7, 9]))
    rows = equal_groups(groups, seed=0)
    assert (np.diff(rows) > 0).all()
    assert Counter(groups[rows]) == dict.fromkeys("abcde", 4)
    assert Counter(groups[equal_groups(groups, 6, seed=0)]) == dict.fromkeys("cde", 6)
    with pytest.raises(ValueError, match=r"size must be at most that of the largest group \(9\), got 10"):
        equal_groups(groups, 10)
    drawn = Counter(row for seed in range(300) for row in equal_groups(groups, seed=seed))
    assert all(abs(drawn[row] / 300 - 4 / 9) < 0.15 for row in np.flatnonzero(groups == "e"))


def test_a_covariate_is_cut_into_small_strata_and_equal_values_stay_together(rng):
    depth = rng.integers(0, 100, 500)
    design = exchange(500, within=depth)
    assert 80 <= len(design.strata) <= 100
    for rows in design.strata:
        others = np.setdiff1d(np.arange(500), rows)
        inside = (depth[others] >= depth[rows].min()) & (depth[others] <= depth[rows].max())
        assert not inside.any()
    assert sorted(len(rows) for rows in exchange(60, within=np.repeat([1.5, 2, 7], [10, 20, 30])).strata) == [
        10,
        20,
        30,
    ]


@every_design
def test_resamples_count_as_many_rows_and_all_alike(name, rng):
    design = DESIGNS[name]
    counts = np.array([design.resample(rng) for _ in range(4000)])
    assert counts.min() >= 0
    if name != "groups":
        assert (counts.sum(axis=1) == design.n_rows).all()
    assert counts.mean(axis=0) == pytest.approx(1, abs=0.08)
    assert counts.std(axis=0).max() > 0


def test_resamples_of_groups_move_whole_groups_within_blocks(rng):
    groups, blocks = np.array([0, 0, 1, 1, 1, 2, 3, 3]), np.array([0, 0, 0, 0, 0, 1, 1, 1])
    design = exchange(8, groups=groups, blocks=blocks)
    for _ in range(50):
        counts = design.resample(rng)
        per_group = [set(counts[groups == group]) for group in range(4)]
        assert all(len(found) == 1 for found in per_group)
        first, second, third, fourth = (found.pop() for found in per_group)
        assert (first + second, third + fourth) == (2, 2)


@pytest.mark.parametrize(("options", "length"), [({"block_length": 5}, 5), ({"shift": True}, 10)])
def test_resamples_of_series_are_stretches(rng, options, length):
    """Counts along the series, its end joined to its beginning, change only at the two ends of each stretch drawn."""
    for _ in range(50):
        counts = exchange(100, **options).resample(rng)
        assert np.count_nonzero(counts != np.roll(counts, 1)) <= 2 * 100 // length
        assert counts.sum() == 100


def test_a_design_of_some_rows_is_what_the_same_arguments_give():
    rows = np.array([0, 1, 2, 3, 5, 6])
    whole = exchange(7, groups=[0, 0, 1, 1, 2, 2, 2], blocks=[0] * 4 + [1] * 3)
    part = exchange(6, groups=[0, 0, 1, 1, 2, 2], blocks=[0] * 4 + [1] * 2)
    for seed in range(10):
        drawn = [design.draw(np.random.default_rng(seed)).tolist() for design in (whole.take(rows), part)]
        assert drawn[0] == drawn[1]
    assert whole.take(rows).text == part.text


@pytest.mark.parametrize("form", ["{:,}", "{:.1f}%", "{:.2f}"])
def test_texts_of_measurements_are_no_strata(form):
    values = [form.format(1_000.25 + 7 * row) for row in range(40)]
    with pytest.raises(ValueError, match=r"within must contain numbers or classes, got texts of numbers"):
        exchange(40, within=values)
    with pytest.raises(ValueError, match=r"covariates must contain numbers or classes, got texts of numbers"):
        shesha.calibrate(np.eye(40), np.eye(40), covariates=np.array(values))
    assert exchange(40, within=[str(100 + row // 4) for row in range(40)]).named == ("within strata",)
