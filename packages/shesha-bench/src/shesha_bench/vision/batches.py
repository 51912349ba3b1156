"""Provide images as batches of tensors; each batch is read while the previous one is in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from shesha_bench.vision.altered_data import Dots
from shesha_bench.vision.images import Images, Pixels, Rows


def batches(
    images: Images,
    order: Rows,
    batch_size: int,
    device: torch.device,
    *,
    rng: np.random.Generator | None = None,
    dots: Dots | None = None,
) -> Iterator[tuple[Rows, Tensor]]:
    """Yield row numbers and their images, with float values from 0 to 255 and shape (n, 3, side, side).

    All batches have nearly the same size, at most `batch_size`, because a final batch with a single image would disturb
    batch normalisation. If `rng` is given, images are randomly cropped and flipped. After that, `dots` are painted on
    them.
    """

    def read(rows: Rows) -> Pixels:
        pixels = images.take(rows, rng)
        if dots is not None:
            dots.paint(pixels, rows)
        return pixels

    # Pixels keep their channels last in memory, which is the fastest layout for convolutions.
    for rows, pixels in _prefetch(read, np.array_split(order, -(-len(order) // batch_size))):
        yield rows, torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).float()


def _prefetch(read: Callable[[Rows], Pixels], chunks: list[Rows]) -> Iterator[tuple[Rows, Pixels]]:
    """Read each chunk in a thread while the previous one is in use."""
    with ThreadPoolExecutor(1) as reader:
        reading = reader.submit(read, chunks[0])
        for rows, following in zip(chunks, [*chunks[1:], None], strict=True):
            pixels = reading.result()
            if following is not None:
                reading = reader.submit(read, following)
            yield rows, pixels
