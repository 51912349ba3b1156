"""Extract representations and outputs for the test images from a trained image classifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from shesha.extract.hooks import record_outputs
from shesha.extract.layer_names import INPUT
from shesha_bench.device import device
from shesha_bench.model_descriptions import Model, Weights
from shesha_bench.model_outcomes import Outcome
from shesha_bench.vision.altered_data import Dots, draw_dots
from shesha_bench.vision.batches import batches
from shesha_bench.vision.data import Dataset
from shesha_bench.vision.hyperparameters import Hyper
from shesha_bench.vision.networks import Classifier, build
from shesha_bench.vision.paper_architectures import SMALL_IMAGE

EXTRACTION_BATCH = 250
DOT_SEED = 2024
MOST_MAPS = 5
MOST_TOKEN_LAYERS = 12
LEAST_STRIDE = 8


def extract(model: Model, hyper: Hyper, data: Dataset, weights: Weights) -> Outcome:
    """Run a trained model on the test images, and return its representations and outputs."""
    network = build(model.architecture, data.n_classes, hyper, seed=model.seed, pretrained=False)
    network.load(weights, model)
    network.to(device()).eval()
    images = data.test
    rows = np.arange(len(images.labels))
    with torch.inference_mode():
        blocks = choose_blocks(network, images.side) if model.keeps_layers else ()
        parts: list[list[NDArray[np.float32]]] = [[] for _ in range(len(blocks) + 1)]
        probabilities = []
        for _, batch in batches(images, rows, EXTRACTION_BATCH, device(), dots=_dots(model, hyper, data)):
            logits, layers = read_layers(network, batch, blocks, hyper.extent)
            probabilities.append(logits.double().softmax(dim=1).cpu().numpy())
            for part, layer in zip(parts, layers, strict=True):
                part.append(layer.float().cpu().numpy())
    representations = {"": tuple(np.concatenate(part) for part in parts)}
    return Outcome(representations, np.concatenate(probabilities), images.labels)


def _dots(model: Model, hyper: Hyper, data: Dataset) -> Dots | None:
    """Draw dots that carry no information about the class and are the same for every model."""
    if model.setting.kind != "shortcut":
        return None
    rng = np.random.default_rng(DOT_SEED)
    return draw_dots(data.test.labels, 0.0, data.n_classes, data.test.side, hyper.dot, rng)


def read_layers(
    network: Classifier, images: Tensor, blocks: Sequence[str], extent: int
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the logits, the representation after each of the blocks, and the last hidden representation.

    If the blocks return tokens, the representation is the CLS token, of shape (n, n_features). If they return feature
    maps, these are averaged to the shape (n, extent, extent, n_channels).
    """

    def summary(name: str, output: Tensor) -> Tensor:
        if name == entering:
            return output
        return output[:, 0] if network.tokens else adaptive_avg_pool2d(output, extent).permute(0, 2, 3, 1).contiguous()

    entering = network.head + INPUT
    with record_outputs(network, (*blocks, entering), summary) as recording:
        logits = network(images)
    return logits, tuple(recording.found.values())


def choose_blocks(network: Classifier, side: int) -> tuple[str, ...]:
    """Choose the blocks after which representations are read, depending on the size of the images.

    For a ViT, these are the last 12 blocks without the very last one, whose normalised CLS token is the last hidden
    representation anyway. For other networks, they are the last five blocks. If images are large, only blocks count
    whose feature maps are at most an eighth as wide as the image.
    """
    if network.tokens:
        return network.blocks[-MOST_TOKEN_LAYERS:-1]
    if network.image_size <= SMALL_IMAGE:
        return network.blocks[-MOST_MAPS:]

    with record_outputs(network, network.blocks, lambda _, output: torch.tensor(output.shape[-1])) as sides:
        network(torch.zeros(1, 3, side, side, device=next(network.parameters()).device))
    reduced = [name for name in network.blocks if sides.found[name] * LEAST_STRIDE <= network.image_size]
    return tuple(reduced[-MOST_MAPS:])
