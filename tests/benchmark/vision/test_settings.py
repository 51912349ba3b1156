"""The settings do what they say: labels, dots, noise."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest

from shesha_bench.vision.altered_data import add_noise, class_colours, draw_dots, randomise_labels


def test_labels_are_replaced_by_classes_drawn_from_all() -> None:
    labels = np.arange(10_000) % 10
    changed = randomise_labels(labels, 0.5, 10, np.random.default_rng(0))
    # A tenth of the replacements draws the true class.
    assert 0.44 < (changed != labels).mean() < 0.46
    assert np.bincount(changed[changed != labels], minlength=10).min() > 350
    assert (labels == np.arange(10_000) % 10).all()


def test_the_number_of_labels_to_replace_is_rounded_down() -> None:
    labels = np.zeros(7, np.int64)
    changed = [randomise_labels(labels, 0.75, 10**9, np.random.default_rng(seed)) for seed in range(3)]
    assert [(row != 0).sum() for row in changed] == [5, 5, 5]
    assert (changed[0] != changed[1]).any()
    np.testing.assert_array_equal(randomise_labels(labels, 0.0, 5, np.random.default_rng(0)), labels)


@pytest.mark.parametrize("n_classes", [4, 10, 100])
def test_class_colours_are_evenly_spaced_hues(n_classes: int) -> None:
    colours = class_colours(n_classes)
    assert len({tuple(colour) for colour in colours.tolist()}) == n_classes
    hsv = np.array([colorsys.rgb_to_hsv(*(colour / 255)) for colour in colours])
    np.testing.assert_allclose(hsv[:, 0], np.arange(n_classes) / n_classes, atol=0.002)
    np.testing.assert_allclose(hsv[:, 1:], 1)


@pytest.mark.parametrize("degree", [0.0, 0.75, 1.0])
def test_dots_agree_with_the_class_as_often_as_they_should(degree: float) -> None:
    labels = np.arange(8000) % 5
    dots = draw_dots(labels, degree, 5, 32, 5, np.random.default_rng(0))
    # The others draw the true class in one case of five.
    assert (dots.classes == labels).mean() == pytest.approx(degree + (1 - degree) / 5, abs=0.02)


def test_a_dot_is_a_disc_of_the_class_colour_somewhere_in_the_image() -> None:
    labels = np.arange(200) % 3
    dots = draw_dots(labels, 1.0, 3, 12, 5, np.random.default_rng(1))
    rows = np.arange(50, 150)
    pixels = np.full((100, 12, 12, 3), 60, np.uint8)
    dots.paint(pixels, rows)
    painted = (pixels != 60).any(axis=-1)
    for image, mask, row in zip(pixels, painted, rows, strict=True):
        assert (image[mask] == class_colours(3)[labels[row]]).all()
        down, across = np.nonzero(mask)
        assert np.ptp(down) == np.ptp(across) == 4
        # A disc of five pixels' diameter lacks the four corners of its square.
        assert mask.sum() == 21
    assert painted.any(axis=0).sum() > 130


def test_dots_of_the_smallest_and_the_largest_diameter() -> None:
    for diameter, area in ((1, 1), (8, 52)):
        pixels = np.zeros((1, 8, 8, 3), np.uint8)
        draw_dots(np.zeros(1, np.int64), 1.0, 2, 8, diameter, np.random.default_rng(0)).paint(pixels, np.array([0]))
        assert pixels.any(axis=-1).sum() == area
    with pytest.raises(ValueError, match=r"hyper\['dot'\] must be at most the side of the images, 8, got 9"):
        draw_dots(np.zeros(1, np.int64), 1.0, 2, 8, 9, np.random.default_rng(0))


@pytest.mark.parametrize("degree", [0.05, 0.1])
def test_noise_has_variances_from_zero_to_the_highest(degree: float) -> None:
    torch = pytest.importorskip("torch")
    grey = torch.full((400, 3, 16, 16), 127.5)
    noisy = add_noise(grey, degree, torch.Generator().manual_seed(0))
    variances = (noisy - grey).var(dim=(1, 2, 3)).numpy()
    assert variances.max() < 4000 * degree * 1.2
    np.testing.assert_allclose(
        np.quantile(variances, [0.25, 0.5, 0.75]) / (4000 * degree), [0.25, 0.5, 0.75], atol=0.07
    )
    assert abs(float((noisy - grey).mean())) < 0.2
    assert (noisy != add_noise(grey, degree, torch.Generator().manual_seed(1))).any()


def test_noise_stays_on_the_scale() -> None:
    torch = pytest.importorskip("torch")
    noisy = add_noise(torch.full((8, 3, 8, 8), 250.0), 1.0, torch.Generator().manual_seed(0))
    assert noisy.max() == 255
    assert noisy.min() >= 0
