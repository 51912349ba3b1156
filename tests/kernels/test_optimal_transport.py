"""Transport between units: assignments of copies beside the linear program, on gains of all kinds."""

import numpy as np
import pytest

from shesha.kernels import unit_matching


def random_gain(seed):
    """Gains of any size: noise, ties, constant lines, one side alone, negative throughout."""
    rng = np.random.default_rng([4, seed])
    p, q = (int(size) for size in rng.integers(1, 13, 2))
    gain = rng.uniform(-1, 1, (p, q if seed % 3 else p))
    changes = (
        lambda: gain,
        lambda: np.round(gain),
        lambda: np.where(rng.random(gain.shape) < 0.3, 0.0, gain),
        lambda: -np.abs(gain),
        lambda: np.zeros_like(gain),
    )
    return changes[seed % len(changes)](), float(rng.choice([1.0, 0.8, 0.5, rng.uniform(0.05, 1)]))


@pytest.mark.parametrize("seed", range(60))
def test_assignments_of_copies_solve_the_linear_program(seed):
    gain, mass = random_gain(seed)
    plan = unit_matching.best_transport(gain, mass)
    p, q = gain.shape
    assert plan.min() >= 0 and plan.sum() == pytest.approx(mass)
    assert plan.sum(axis=1).max() <= 1 / p + 1e-12 and plan.sum(axis=0).max() <= 1 / q + 1e-12
    assert (plan * gain).sum() == pytest.approx((unit_matching._linear_program(gain, mass) * gain).sum(), abs=1e-9)


def test_widths_without_a_common_multiple_take_the_linear_program(monkeypatch):
    gain = np.random.default_rng(0).uniform(-1, 1, (7, 9))
    expected = unit_matching.best_transport(gain, 0.6)
    monkeypatch.setattr(unit_matching, "_MOST_COPIES", 10)
    assert (unit_matching.best_transport(gain, 0.6) * gain).sum() == pytest.approx((expected * gain).sum())


def test_what_takes_too_long_is_known_before():
    assert (
        unit_matching.is_feasible(5000, 5000)
        and unit_matching.is_feasible(384, 768)
        and unit_matching.is_feasible(317, 482)
    )
    assert not unit_matching.is_feasible(1000, 1001)
