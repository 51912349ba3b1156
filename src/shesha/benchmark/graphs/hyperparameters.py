"""Hyperparameters of the graph networks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from shesha.benchmark.models import Model, Plain

_VALUES: dict[tuple[str, str], tuple[Plain, ...]] = {
    ("Cora", "GCN"): (64, 3, "relu", 0.5, 0.01, 0.0, 200),
    ("Cora", "SAGE"): (64, 3, "relu", 0.5, 0.005, 0.0005, 200),
    ("Cora", "GAT"): (64, 2, "elu", 0.6, 0.005, 0.0005, 200),
    ("Cora", "PGNN"): (32, 2, "relu", 0.5, 0.01, 0.0, 200),
    ("Flickr", "GCN"): (256, 3, "relu", 0.5, 0.01, 0.0, 200),
    ("Flickr", "SAGE"): (256, 3, "relu", 0.5, 0.01, 0.0, 200),
    ("Flickr", "GAT"): (256, 3, "relu", 0.5, 0.01, 0.0, 200),
    ("OGBN-Arxiv", "GCN"): (256, 3, "relu", 0.5, 0.01, 0.0, 500),
    ("OGBN-Arxiv", "SAGE"): (256, 3, "relu", 0.5, 0.005, 0.0005, 500),
    ("OGBN-Arxiv", "GAT"): (256, 3, "relu", 0.5, 0.01, 0.0, 500),
}
_DEEP_LAYERS = 6
_ACTIVATIONS = ("relu", "elu")
_SHORTCUT_ROWS = ("training", "fixed")


@dataclass(frozen=True)
class Hyperparameters:
    """Everything about network, training and extraction that is not in the setting; see `hyperparameters`."""

    hidden: int
    layers: int
    activation: str
    dropout: float
    learning_rate: float
    weight_decay: float
    epochs: int
    heads: int = 1
    shortcut_rows: str = "training"

    @classmethod
    def of(cls, model: Model) -> Hyperparameters:
        """Return those that a model is trained with, its own before the usual ones, or say what is wrong with them."""
        usual = hyperparameters(model.dataset, model.architecture)
        unknown = sorted(set(model.hyper) - set(usual))
        if unknown:
            raise ValueError(f"hyper of {model} must hold none but {', '.join(usual)}, got {', '.join(unknown)}")
        values: dict[str, Any] = {**usual, **model.hyper}
        if model.setting.kind == "deep":
            values["layers"] = _DEEP_LAYERS
        found = cls(**values)
        found._check(model)
        return found

    def _check(self, model: Model) -> None:
        position = model.architecture == "PGNN"
        activations = _ACTIVATIONS[:1] if position else _ACTIVATIONS
        if self.layers < 2:
            raise ValueError(f"layers must be at least 2, a hidden one and the classifier, got {self.layers}")
        if self.activation not in activations:
            raise ValueError(f"activation of {model} must be {' or '.join(activations)}, got {self.activation!r}")
        if self.shortcut_rows not in _SHORTCUT_ROWS:
            raise ValueError(f"shortcut_rows must be {' or '.join(_SHORTCUT_ROWS)}, got {self.shortcut_rows!r}")
        if position and model.setting.kind == "augmentation":
            raise ValueError(
                f"setting of a PGNN must be another one than augmentation, got {model.setting}: "
                "dropping edges would change the distances that it computes with"
            )


def hyperparameters(dataset: str, architecture: str, suite: str = "paper") -> dict[str, Plain]:
    """Return the hyperparameters of an architecture on a data set: those of the ReSi benchmark (its Table 4).

    Graph networks are quick to train, so they are the same in all suites.

    ``hidden`` is the number of channels of a hidden layer, ``layers`` counts the classifier, ``activation`` is "relu"
    or "elu", ``dropout`` a probability, ``learning_rate`` and ``weight_decay`` are Adam's, ``epochs`` is the number of
    steps on the whole graph. ``heads`` (GAT only) is the number of attention heads. ``shortcut_rows`` says which
    shortcuts the nodes carry when representations are extracted from models trained with shortcuts: "training" those
    that the model was trained with, as the published results were made; "fixed" the same random ones for all models, as
    the paper describes it.

    Raises
    ------
    ValueError
        If the benchmark has no such combination. P-GNN needs the distances between all nodes, so it has Cora only.

    Examples
    --------
    >>> hyperparameters("Cora", "GAT")["heads"]
    8
    """
    if (dataset, architecture) not in _VALUES:
        known = ", ".join(f"{name} on {place}" for place, name in _VALUES)
        raise ValueError(f"dataset and architecture must be one of {known}, got {architecture} on {dataset}")
    names = [field.name for field in fields(Hyperparameters)]
    values = dict(zip(names, _VALUES[dataset, architecture], strict=False))
    if architecture == "GAT":
        values["heads"] = 8
    return {**values, "shortcut_rows": _SHORTCUT_ROWS[0]}
