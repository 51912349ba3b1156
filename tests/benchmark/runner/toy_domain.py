"""A domain that trains in no time: random networks whose weights depend on how they are trained.

Settings of the environment change what happens without changing the models' names: TOY_LOG names a file that gets a
line for each training, TOY_PAUSE is the seconds that one takes, TOY_FAULTS is what goes wrong, by model, as JSON.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from shesha_bench.catalogue import Model, Outcome, Plain, Weights
from shesha_bench.domains import hash_arrays

N_ROWS, N_INPUTS, N_FEATURES, N_CLASSES = 60, 12, 8, 3
KINDS = ("standard", "labels", "shortcut", "augmentation", "deep")


def fingerprint(dataset: str, hyper: Mapping[str, Plain]) -> str:
    return hash_arrays(dataset, inputs())


def inputs() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N_ROWS, N_INPUTS))


def name_of(model: Model) -> str:
    return f"{model.setting} {model.seed}"


def fault(model: Model) -> str:
    found: str = json.loads(os.environ.get("TOY_FAULTS", "{}")).get(name_of(model), "")
    return found


def log(line: str) -> None:
    if "TOY_LOG" in os.environ:
        # One write per line: several processes share the file.
        with Path(os.environ["TOY_LOG"]).open("a") as file:
            file.write(line + "\n")


def fit(model: Model) -> Weights:
    import torch

    log(name_of(model))
    time.sleep(float(os.environ.get("TOY_PAUSE", "0")))
    if fault(model) == "raises":
        raise RuntimeError("the loss is not finite")
    if fault(model) == "kills":
        os._exit(1)
    kind = KINDS.index(model.setting.kind)
    shared = np.random.default_rng([kind, int(model.setting.degree * 100)]).standard_normal((N_INPUTS, N_FEATURES))
    own = np.random.default_rng([model.seed, kind, int(model.setting.degree * 100)])
    return {"w": torch.from_numpy(shared + 0.7 * own.standard_normal((N_INPUTS, N_FEATURES)))}


def extract(model: Model, weights: Weights) -> Outcome:
    if set(weights) != {"w"} or tuple(weights["w"].shape) != (N_INPUTS, N_FEATURES):
        raise ValueError(f"weights must contain w of shape ({N_INPUTS}, {N_FEATURES}), got {sorted(weights)}")
    hidden = inputs() @ weights["w"].numpy()
    first = np.tanh(hidden)
    second = np.tanh(first @ np.random.default_rng(1).standard_normal((N_FEATURES, N_FEATURES)))
    last = np.tanh(second @ np.random.default_rng(2).standard_normal((N_FEATURES, N_FEATURES - 2)))
    odds = np.exp(hidden[:, :N_CLASSES])
    probabilities = odds / odds.sum(axis=1, keepdims=True)
    if fault(model) == "outputs nothing":
        probabilities = np.full_like(probabilities, np.nan)
    if fault(model) == "represents nothing":
        last = np.full_like(last, np.nan)
    if fault(model) == "is off for some rows":
        last[:3] = 0
    layers = (hidden, first, second, last) if model.keeps_layers else (last,)
    labels = (inputs()[:, 0] > 0).astype(np.int64) + (inputs()[:, 1] > 0)
    return Outcome({"": tuple(layer.astype(np.float32) for layer in layers)}, probabilities, labels)
