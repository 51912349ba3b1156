"""A report explains what its numbers call for, and nothing else."""

import numpy as np
import pytest


@pytest.fixture
def explained(quick_audit):
    def explain(X, y=None):
        report = quick_audit(X, y).full_text()
        _, found, rest = report.partition("How to read these numbers\n")
        return " ".join(rest.partition("\n\n")[0].split()) if found else ""

    return explain


FEW_AXES = "so a few axes carry much of the geometry"


@pytest.mark.parametrize("few", [True, False])
def test_few_axes_carry_the_geometry_only_where_the_scores_differ(rng, explained, few):
    signal = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 24))
    scale = np.where(np.arange(24) < 3, 8.0, 1.0) if few else np.ones(24)
    assert (FEW_AXES in explained(scale * (signal + 0.5 * rng.standard_normal((80, 24))))) == few


def test_components_are_told_from_noise(rng, explained):
    signal = rng.standard_normal((200, 40)) * np.r_[np.full(10, 4.0), np.ones(30)]
    left, values, _ = np.linalg.svd(signal - signal.mean(axis=0), full_matrices=False)
    assert "This is expected for principal components" in explained(left * values)
    noise = explained(rng.standard_normal((200, 40)))
    assert "agree no better than unrelated halves" in noise
    assert "principal components" not in noise


def test_one_direction_and_many_are_told(rng, explained):
    noise = rng.standard_normal((60, 12))
    one = explained(noise + 9 * np.outer(rng.standard_normal(60), np.ones(12)))
    assert "most of the variance is along one direction" in one
    assert "is spread over most of the available directions" not in one
    many = explained(noise)
    assert "is spread over most of the available directions" in many
    assert "one direction" not in many


def test_random_labels_are_compared_with_what_they_give(rng, explained):
    noise = rng.standard_normal((60, 12))
    y = np.arange(60) % 4
    text = explained(noise, y)
    assert f"random labels would give about {3 / 59:.2g}, not 0" in text
    assert "does not mean that they cannot be decoded" in text
    apart = explained(noise + 6 * np.eye(12)[y], y)
    assert "at random" not in apart
    assert "cannot be decoded" not in apart
    assert "its maximum is about" in apart
