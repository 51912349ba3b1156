"""Data sets and networks of one's own, as a user would write them, and the suite that they make up."""

import numpy as np
from torch import nn

from shesha_bench import Suite, task
from shesha_bench.graphs import GraphData, GraphNetwork
from shesha_bench.graphs.catalogue import RawGraph
from shesha_bench.language import TextData, TextNetwork, Texts
from shesha_bench.vision import ImageData, ImageNetwork, Parts
from shesha_bench.vision.images import ArrayImages

N_NODES, N_CLASSES = 90, 3


def _read_ring():
    rng = np.random.default_rng(3)
    y = np.arange(N_NODES) % N_CLASSES
    x = rng.standard_normal((N_NODES, 8)) + 2 * np.eye(N_CLASSES, 8)[y]
    nodes = np.arange(N_NODES)
    edges = np.concatenate([[nodes, (nodes + 3) % N_NODES], [(nodes + 3) % N_NODES, nodes]], axis=1)
    part = rng.permutation(N_NODES) % 3
    return RawGraph(x, edges, y, part == 0, part == 1, part == 2)


RING = GraphData(read=_read_ring, hyper={"hidden": 6, "epochs": 5}, degrees={"label_randomization": (0, 1)})


class Perceptron(nn.Module):
    """Looks at the nodes alone."""

    def __init__(self, n_features, n_classes, hyper, model):
        super().__init__()
        self.first = nn.Linear(n_features, hyper.hidden)
        self.last = nn.Linear(hyper.hidden, n_classes)

    def forward(self, x, edges, rows):
        assert edges is None
        hidden = self.first(x)
        return self.last(hidden.relu())[rows], [hidden[rows]]


PERCEPTRON = GraphNetwork(
    build=Perceptron,
    passage=lambda edges, n_nodes: None,
    hyper={"layers": 2, "activation": "relu", "dropout": 0.0, "learning_rate": 0.05, "weight_decay": 0.0},
    degrees={"augmentation": ()},
)


def _images(n_rows, seed):
    labels = np.arange(n_rows) % N_CLASSES
    pixels = np.random.default_rng(seed).integers(0, 100, size=(n_rows, 8, 8, 3)).astype(np.uint8)
    pixels[np.arange(n_rows), :, :, labels] += 100
    return ArrayImages(pixels, labels)


COLOURS = ImageData(
    read=lambda hyper: (_images(30, 0), _images(12, 1)), hyper={"image_size": 8, "extent": 2, "padding": 1, "dot": 3}
)


class Convolution(nn.Module):
    """One convolution, and the mean of its maps classified."""

    def __init__(self, n_classes):
        super().__init__()
        self.maps = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(4, n_classes)

    def forward(self, images):
        return self.head(self.maps(images).relu().mean(dim=(2, 3)))


CONVOLUTION = ImageNetwork(
    build=lambda n_classes, hyper, pretrained: Parts(Convolution(n_classes), ("maps",), "head"),
    hyper={"epochs": 1, "batch_size": 10, "learning_rate": 0.01, "weight_decay": 0.0, "optimiser": "sgd"},
)


def _read_words(hyper):
    words = ("red", "green", "blue")
    return tuple(
        Texts(tuple(f"the {words[row % 3]} thing {row % 5}" for row in range(n)), None, np.arange(n) % 3)
        for n in (18, 9)
    )


WORDS = TextData(classes=("red", "green", "blue"), read=_read_words, degrees={"shortcut": ()})
READER = TextNetwork(hyper={"steps": 2, "batch_size": 6, "learning_rate": 1e-3, "max_length": 8, "reduced": True})

SIZES = {"n_models": 3, "n_per_group": 2, "n_layered": 2}
graphs = Suite("graphs", (task("graph", "toy_parts:RING", "toy_parts:PERCEPTRON", **SIZES),))
images = Suite("images", (task("vision", "toy_parts:COLOURS", "toy_parts:CONVOLUTION", **SIZES),))
texts = Suite("texts", (task("language", "toy_parts:WORDS", "toy_parts:READER", **SIZES),))
mixed = Suite("mixed", (task("graph", "toy_parts:RING", "GCN", **SIZES),))
