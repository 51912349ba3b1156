"""Alter images for the benchmark's settings: wrong labels, dots that leak the class, or noise."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shesha_bench.model_descriptions import count_of_share
from shesha_bench.vision.images import Pixels, Rows

if TYPE_CHECKING:
    from torch import Generator, Tensor

MOST_VARIANCE = 4000.0


def randomise_labels(
    labels: NDArray[np.int64], degree: float, n_classes: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Replace a share `degree` of the labels with random classes, which may happen to be the true ones."""
    changed = labels.copy()
    n_changed = count_of_share(degree, len(labels))
    rows = rng.choice(len(labels), n_changed, replace=False)
    changed[rows] = rng.integers(n_classes, size=n_changed)
    return changed


def class_colours(n_classes: int) -> Pixels:
    """Return a colour for each class, of shape (n_classes, 3): evenly spaced, fully saturated hues."""
    colours = [colorsys.hsv_to_rgb(number / n_classes, 1.0, 1.0) for number in range(n_classes)]
    return np.round(255 * np.array(colours)).astype(np.uint8)


@dataclass(frozen=True)
class Dots:
    """One dot for each image, with a position and a colour that stands for a class."""

    classes: NDArray[np.int64]
    corners: NDArray[np.int64]
    """Row and column of the upper left corner of the square around each dot, of shape (n_images, 2)."""
    colours: Pixels
    diameter: int

    def paint(self, pixels: Pixels, rows: Rows) -> None:
        """Paint the dots that belong to these rows onto `pixels`, in place."""
        inside = _disc(self.diameter)
        down, across = (self.corners[rows, axis, None] + inside[axis] for axis in (0, 1))
        pixels[np.arange(len(rows))[:, None], down, across] = self.colours[self.classes[rows], None]


def draw_dots(
    labels: NDArray[np.int64], degree: float, n_classes: int, side: int, diameter: int, rng: np.random.Generator
) -> Dots:
    """Draw the position and the colour of one dot for each image.

    Parameters
    ----------
    labels : array of int
        The class of each image.
    degree : float
        Probability, from 0 to 1, that a dot has the colour of its image's class. Otherwise, the colour is that of a
        class drawn from all classes.
    n_classes : int
        Number of classes, and therefore of colours.
    side, diameter : int
        Side length of the images and diameter of the dots, in pixels. Dots always lie within the images.
    rng : numpy.random.Generator
        Generator for drawing colours and positions.

    Raises
    ------
    ValueError
        If a dot does not fit into an image.
    """
    if diameter > side:
        raise ValueError(f"hyper['dot'] must be at most the side of the images, {side}, got {diameter}")
    leaks = rng.random(len(labels)) < degree
    classes = np.where(leaks, labels, rng.integers(n_classes, size=len(labels)))
    corners = rng.integers(side - diameter + 1, size=(len(labels), 2))
    return Dots(classes, corners, class_colours(n_classes), diameter)


def _disc(diameter: int) -> tuple[Rows, Rows]:
    """Return the rows and columns of a disc's pixels within its enclosing square."""
    offset = np.arange(diameter) - (diameter - 1) / 2
    down, across = np.nonzero(offset[:, None] ** 2 + offset**2 <= (diameter / 2) ** 2)
    return down, across


def add_noise(images: Tensor, degree: float, generator: Generator) -> Tensor:
    """Add Gaussian noise to images with values from 0 to 255, and clip the result to this range.

    For each image, the variance of the noise is drawn uniformly between 0 and 4000 times `degree`. The generator must
    be on the same device as the images.
    """
    import torch

    share = torch.rand((len(images), 1, 1, 1), generator=generator, device=images.device)
    noise = torch.empty_like(images).normal_(generator=generator)
    return (images + noise * (share * degree * MOST_VARIANCE).sqrt()).clamp(0, 255)
