"""Images in memory: moved, mirrored, reduced."""

from __future__ import annotations

import numpy as np
import pytest

from shesha_bench.vision.images import ArrayImages


def test_moved_images_are_cuts_from_the_bordered_image() -> None:
    pixels = np.random.default_rng(0).integers(1, 256, size=(1, 6, 6, 3)).astype(np.uint8)
    moved = ArrayImages(pixels, np.zeros(1, np.int64), padding=1).take(np.zeros(300, int), np.random.default_rng(1))
    bordered = np.pad(pixels[0], ((1, 1), (1, 1), (0, 0)))
    cuts = {}
    for top in range(3):
        for left in range(3):
            cut = bordered[top : top + 6, left : left + 6]
            cuts[cut.tobytes()] = (top, left, False)
            cuts[cut[:, ::-1].tobytes()] = (top, left, True)
    seen = [cuts[image.tobytes()] for image in moved]
    assert len(set(seen)) == len(cuts) == 18
    assert 110 < sum(mirrored for *_, mirrored in seen) < 190


def test_the_generator_decides_the_crops() -> None:
    pixels = np.random.default_rng(0).integers(256, size=(8, 10, 10)).astype(np.uint8)
    images, rows = ArrayImages(pixels, np.zeros(8, np.int64)), np.arange(8)
    first = images.take(rows, np.random.default_rng(2))
    np.testing.assert_array_equal(first, images.take(rows, np.random.default_rng(2)))
    assert (first != images.take(rows, np.random.default_rng(3))).any()
    np.testing.assert_array_equal(images.take(rows)[..., 2], pixels)


def test_taken_images_can_be_painted_on() -> None:
    pixels = np.zeros((2, 4, 4, 3), np.uint8)
    ArrayImages(pixels, np.zeros(2, np.int64)).take(np.arange(2))[:] = 9
    assert not pixels.any()


@pytest.mark.parametrize("shape", [(3, 8, 8), (3, 8, 8, 3)])
def test_reducing_averages_pixels(shape: tuple[int, ...]) -> None:
    pytest.importorskip("torch")
    pixels = np.random.default_rng(0).integers(256, size=shape).astype(np.uint8)
    images = ArrayImages(pixels, np.zeros(3, np.int64), padding=2)
    blocks = pixels.reshape(3, 4, 2, 4, 2, *shape[3:]).mean(axis=(2, 4))
    np.testing.assert_allclose(images.reduce(4).pixels, blocks, atol=0.5)
    assert images.reduce(4).padding == 2
    assert images.reduce(8) is images
    assert images.reduce(16) is images
