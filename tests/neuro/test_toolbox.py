"""Values of rsatoolbox 0.3.2: kept here, computed anew where it is installed, and objects to and from it."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from shesha.kernels.condition_distances import centred_products, ledoit_wolf
from shesha.measures import cka
from shesha.neuro import crossnobis, from_rsatoolbox, noise_ceiling, to_rsatoolbox

CONDITIONS, RUNS = np.tile(np.arange(4), 6), np.repeat(np.arange(3), 8)
KEPT = np.setdiff1d(np.arange(24), [0, 9, 20, 21])


def residues(n: int, d: int) -> np.ndarray:
    """Numbers that look random and are the same everywhere."""
    i, j = np.arange(n)[:, None], np.arange(d)
    return ((i * 37 + j * j * 11 + i**2 * (j + 1)) % 23).astype(float)


X, REPEATS = residues(24, 5), residues(5, 10) - 8 + 0.01 * np.arange(10)
PLAIN = [-9.5333333333, -8.55, 1.7166666667, 3.3, -26.9333333333, 10.6]
SHRUNK = [-0.0620039771, -0.1810574004, 0.0290384621, 0.142075457, -0.4252629755, 0.2593613022]
IN_ORDER_OF_FIRST_TRIALS = np.ix_([1, 2, 3, 0], [1, 2, 3, 0])
UNBALANCED = [1.8633333333, -12.6566666667, 6.85, 14.0844444444, -1.37, 24.3766666667]
CEILINGS = {
    "spearman": (0.31906516921507067, 0.5848051330202221),
    "pearson": (0.2669286427101903, 0.5688219738846229),
    "cosine": (0.4164375023290188, 0.6485877114315515),
}
WHITENED = 0.50345235


def pairs(square: np.ndarray) -> np.ndarray:
    return square[np.triu_indices(len(square), k=1)]


def shrunk_over_runs() -> np.ndarray:
    """The inverse noise covariance of rsatoolbox, whose residuals are deviations from means over all runs."""
    left = np.concatenate([X[k == CONDITIONS] - X[k == CONDITIONS].mean(axis=0) for k in range(4)])
    products = left.T @ left
    noise = ledoit_wolf(left, products, 5)
    return np.linalg.inv((1 - noise) * products / 20 + noise * np.trace(products) / 5 / 20 * np.eye(5))


def test_cross_validated_distances() -> None:
    assert pairs(crossnobis(X, CONDITIONS, RUNS, noise=None)) == pytest.approx(PLAIN, abs=1e-9)
    assert pairs(crossnobis(X, CONDITIONS, RUNS, noise=shrunk_over_runs())) == pytest.approx(SHRUNK, abs=1e-9)
    unbalanced = crossnobis(X[KEPT], CONDITIONS[KEPT], noise=None)
    assert pairs(unbalanced[IN_ORDER_OF_FIRST_TRIALS]) == pytest.approx(UNBALANCED, abs=1e-9)


@pytest.mark.parametrize("method", sorted(CEILINGS))
def test_ceilings(method) -> None:
    found = noise_ceiling(REPEATS, method=method)
    assert (found.lower, found.upper) == pytest.approx(CEILINGS[method])


def test_the_whitened_cosine() -> None:
    """That of the distances after whitening is that of the centred products."""
    squares = np.zeros((2, 5, 5))
    squares[:, *np.triu_indices(5, k=1)] = REPEATS[:2]
    one, other = (centred_products(-(square + square.T) / 2) for square in squares)
    assert (one * other).sum() / np.linalg.norm(one) / np.linalg.norm(other) == pytest.approx(WHITENED)


def whitened_cosine(first: np.ndarray, second: np.ndarray) -> float:
    """The cosine of squared distances after whitening by their covariance under independent noise, as defined."""
    n = len(first)
    contrasts = np.array([np.eye(n)[i] - np.eye(n)[j] for i, j in zip(*np.triu_indices(n, k=1), strict=True)])
    whitening = np.linalg.inv((contrasts @ contrasts.T) ** 2)
    a, b = (pdist(side, "sqeuclidean") for side in (first, second))
    return float(a @ whitening @ b / np.sqrt((a @ whitening @ a) * (b @ whitening @ b)))


def test_the_whitened_cosine_of_squared_distances_is_cka() -> None:
    """As the page on migration says; rsatoolbox calls it cosine_cov."""
    means = np.random.default_rng(0).standard_normal((2, 7, 9))
    assert cka(*means) == pytest.approx(whitened_cosine(*means))
    assert whitened_cosine(means[0], 2 * means[0]) == pytest.approx(1)
    toolbox = pytest.importorskip("rsatoolbox.rdm", exc_type=ImportError)
    rdms = [toolbox.RDMs(pdist(side, "sqeuclidean")[None]) for side in means]
    assert toolbox.compare(*rdms, "cosine_cov").item() == pytest.approx(cka(*means), rel=1e-5)


@dataclass
class Dataset:
    """What the toolbox keeps of a data set."""

    measurements: np.ndarray
    obs_descriptors: dict
    time_descriptors: dict | None = None


def test_there_and_back(monkeypatch) -> None:
    """With stand-ins: importing the toolbox takes seconds."""
    stand_in = SimpleNamespace(Dataset=Dataset, TemporalDataset=Dataset)
    monkeypatch.setattr("shesha.neuro.spikes.import_module", lambda name: stand_in)
    data = to_rsatoolbox(X, CONDITIONS, RUNS)
    values, shown, runs = from_rsatoolbox(data, runs="run")
    assert values.tolist() == X.tolist()
    assert shown.astype(int).tolist() == CONDITIONS.tolist()
    assert runs.astype(int).tolist() == RUNS.tolist()
    film = to_rsatoolbox(np.stack([X, X], axis=2), CONDITIONS)
    assert film.measurements.shape == (24, 5, 2)
    assert film.time_descriptors["time"].tolist() == [0, 1]
    with pytest.raises(ValueError, match="given must have the observation descriptor 'colour', got condition, run"):
        from_rsatoolbox(data, "colour")
    with pytest.raises(TypeError, match="given must be a Dataset or RDMs of rsatoolbox, got a dict"):
        from_rsatoolbox({})


def test_distances_of_the_toolbox_have_ceilings() -> None:
    squares = np.array([squareform(one) for one in REPEATS])
    names = {"condition": list("abcde"), "index": [0, 1, 2, 3, 4]}
    rdms = SimpleNamespace(dissimilarities=REPEATS, get_matrices=lambda: squares, pattern_descriptors=names)
    matrices, found = from_rsatoolbox(rdms)
    assert found.tolist() == list("abcde")
    assert noise_ceiling(matrices).lower == pytest.approx(CEILINGS["spearman"][0])
    rdms.pattern_descriptors = {"index": [0, 1, 2, 3, 4]}
    assert from_rsatoolbox(rdms)[1].tolist() == [0, 1, 2, 3, 4]
