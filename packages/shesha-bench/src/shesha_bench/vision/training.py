"""Train image classifiers from their seeds, and extract their representations."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, cross_entropy

from shesha.extract.batch_loop import record_outputs
from shesha.extract.torch_modules import INPUT
from shesha_bench.catalogue import Model, Outcome, Plain, Weights, count_of_share
from shesha_bench.domains import device
from shesha_bench.vision.catalogue import CATALOGUE, Dataset, load
from shesha_bench.vision.images import Hyper, Images, Pixels, Rows
from shesha_bench.vision.networks import SMALL_IMAGE, Classifier, build

if TYPE_CHECKING:
    from torch import Generator


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


STATISTICS_BATCH = 500


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    """Hash the images and labels that models with these hyperparameters use."""
    return load(dataset, Hyper.check(hyper)).fingerprint()


def fit(model: Model) -> Weights:
    """Train a model from its seed, and return its state dict on the CPU."""
    hyper = CATALOGUE.build(model)
    data = load(model.dataset, hyper)
    network = build(model.architecture, data.n_classes, hyper, seed=model.seed, pretrained=True)
    mean, sd = channel_statistics(data.train)
    network.mean.copy_(torch.from_numpy(mean))
    network.sd.copy_(torch.from_numpy(sd))
    network.to(device()).train()
    with torch.backends.cudnn.flags(deterministic=True, benchmark=False):
        _Training(model, hyper, data, network).run()
    return {name: weight.detach().cpu().contiguous() for name, weight in network.state_dict().items()}


def channel_statistics(images: Images) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and standard deviation of each channel, for values scaled to 0 to 1."""
    totals, squares, n_pixels = np.zeros(3), np.zeros(3), 0
    n_images = len(images.labels)
    for rows in np.array_split(np.arange(n_images), -(-n_images // STATISTICS_BATCH)):
        pixels = images.take(rows).reshape(-1, 3) / 255
        totals += pixels.sum(axis=0)
        squares += (pixels**2).sum(axis=0)
        n_pixels += len(pixels)
    mean = totals / n_pixels
    variance = squares / n_pixels - mean**2
    # Constant channels are not scaled; their variance may differ from zero by rounding.
    return mean, np.sqrt(np.where(variance > 1e-9, variance, 1.0))


def learning_rate(step: int, n_steps: int, hyper: Hyper) -> float:
    """Return the learning rate at a step: a linear warm-up, followed by a cosine decay to zero."""
    n_warm = int(hyper.warmup * n_steps)
    if step < n_warm:
        return hyper.learning_rate * (step + 1) / n_warm
    return hyper.learning_rate * (1 + math.cos(math.pi * (step - n_warm) / (n_steps - n_warm))) / 2


class _Training:
    """The state of one training: model, data, network, optimiser and random generators."""

    def __init__(self, model: Model, hyper: Hyper, data: Dataset, network: Classifier) -> None:
        self.model, self.hyper, self.data, self.network = model, hyper, data, network
        # With one random stream per use, all settings have the same order of images.
        streams = [np.random.default_rng([model.seed, use]) for use in range(4)]
        self.order_rng, self.crop_rng, self.dot_rng, label_rng = streams
        self.noise = torch.Generator(device()).manual_seed(model.seed)
        degree = model.setting.degree if model.setting.kind == "labels" else 0.0
        self.labels = torch.from_numpy(randomise_labels(data.train.labels, degree, data.n_classes, label_rng))
        self.optimiser = _optimiser(network, hyper)
        self.n_steps = hyper.epochs * -(-len(self.labels) // hyper.batch_size)

    def run(self) -> None:
        """Train for all epochs; raise ArithmeticError if the loss is not finite."""
        step = 0
        for epoch in range(self.hyper.epochs):
            loss = torch.zeros(())
            order = self.order_rng.permutation(len(self.labels))
            shown = batches(
                self.data.train, order, self.hyper.batch_size, device(), rng=self.crop_rng, dots=self._dots()
            )
            for rows, images in shown:
                for group in self.optimiser.param_groups:
                    group["lr"] = learning_rate(step, self.n_steps, self.hyper)
                loss = self._step(images, self.labels[rows].to(device()))
                step += 1
            if not loss.isfinite():
                raise ArithmeticError(f"the training of {self.model} diverged in epoch {epoch + 1}")

    def _step(self, images: Tensor, labels: Tensor) -> Tensor:
        if self.model.setting.kind == "augmentation":
            images = add_noise(images, self.model.setting.degree, self.noise)
        loss = cross_entropy(self.network(images), labels)
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return loss.detach()

    def _dots(self) -> Dots | None:
        if self.model.setting.kind != "shortcut":
            return None
        images, degree = self.data.train, self.model.setting.degree
        return draw_dots(images.labels, degree, self.data.n_classes, images.side, self.hyper.dot, self.dot_rng)


def _optimiser(network: Classifier, hyper: Hyper) -> torch.optim.Optimizer:
    if hyper.optimiser == "sgd":
        return torch.optim.SGD(
            network.parameters(), lr=hyper.learning_rate, momentum=0.9, weight_decay=hyper.weight_decay
        )
    return torch.optim.AdamW(network.parameters(), lr=hyper.learning_rate, weight_decay=hyper.weight_decay, fused=True)


EXTRACTION_BATCH = 250
DOT_SEED = 2024
MOST_MAPS = 5
MOST_TOKEN_LAYERS = 12
LEAST_STRIDE = 8


def extract(model: Model, weights: Weights) -> Outcome:
    """Run a trained model on the test images, and return its representations and outputs.

    If the model keeps its layers, the last hidden representation is preceded by feature maps of shape (n_rows, height,
    width, channels), or by CLS tokens.
    """
    hyper = CATALOGUE.build(model)
    data = load(model.dataset, hyper)
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
