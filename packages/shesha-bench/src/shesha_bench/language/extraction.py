"""Extract the representations and outputs of a trained model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shesha_bench.device import device
from shesha_bench.language import altered_data
from shesha_bench.language.altered_data import Lesson
from shesha_bench.language.catalogue import CATALOGUE
from shesha_bench.language.data import load
from shesha_bench.language.data_and_network_types import Texts
from shesha_bench.language.determinism import deterministic
from shesha_bench.language.model_building import Builder
from shesha_bench.language.tokens import Batch, Rows
from shesha_bench.model_descriptions import Model, Weights
from shesha_bench.model_outcomes import Outcome

if TYPE_CHECKING:
    from torch import Tensor

    from shesha_bench.language.encoder_and_decoder import Decoder, Encoder

_BATCH = 64


def extract(model: Model, weights: Weights) -> Outcome:
    """Run a trained model on the test rows.

    Parameters
    ----------
    model : Model
        The trained model.
    weights : dict
        Weights of the model, as returned by `fit`.

    Returns
    -------
    Outcome
        Representations by pooling: "cls" is the first token (for decoders, the last one), and "mean" (encoders only) is
        the mean over all tokens except padding. If the model keeps its layers, they include the embeddings and every
        block, otherwise only the last block. If labels were randomised, probabilities include the new classes.

    Raises
    ------
    ValueError
        If the weights belong to a different network.
    """
    hyper = CATALOGUE.build(model)
    train, test = load(model.dataset, hyper)
    with deterministic(model.seed):
        builder = Builder.build(model, hyper, train)
        network = builder.network(pretrained=False)
        _load(network, weights, model)
        lesson = test_lesson(builder, train, test)
        return _outcome(network.to(device()), builder.rows(lesson), test.labels, model.keeps_layers)


def test_lesson(builder: Builder, train: Texts, test: Texts) -> Lesson:
    """Return the test rows as models of this setting see them."""
    rate = builder.hyper.test_shortcut_rate
    rate = altered_data.majority_share(train.labels) if rate is None else rate
    return altered_data.test_lesson(test, builder.model.setting, rate, builder.n_classes)


def accuracy(network: Encoder | Decoder, rows: Rows, targets: NDArray[np.int64]) -> float:
    """Return the share of rows that a network classifies correctly."""
    import torch

    right = 0
    with torch.inference_mode():
        for chosen, batch in _batches(network, rows):
            right += int((network(batch)[0].argmax(dim=1).cpu().numpy() == targets[chosen]).sum())
    return right / len(targets)


def _load(network: Encoder | Decoder, weights: Weights, model: Model) -> None:
    try:
        network.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"weights must be the state dict of {model}, got that of another network: {reason}") from error


def _batches(network: Encoder | Decoder, rows: Rows) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    network.eval()
    place = next(network.parameters()).device
    order = np.argsort(rows.lengths(), kind="stable")
    for start in range(0, len(order), _BATCH):
        chosen = order[start : start + _BATCH]
        yield chosen, rows.batch(chosen, place)


def _outcome(network: Encoder | Decoder, rows: Rows, labels: NDArray[np.int64], all_layers: bool) -> Outcome:
    import torch

    layers: dict[str, list[NDArray[np.float32]]] = {pooling: [] for pooling in network.poolings}
    probabilities: NDArray[np.float64] = np.empty((len(labels), 0))
    hooked = _recorded_layers(network) if all_layers else ()
    with torch.inference_mode():
        for chosen, batch in _batches(network, rows):
            logits, states = _read(network, batch, hooked)
            if not probabilities.size:
                probabilities = np.empty((len(labels), logits.shape[1]))
            probabilities[chosen] = logits.double().softmax(dim=1).cpu().numpy()
            for number, state in enumerate(states):
                vectors = state.float().cpu().numpy()
                for place, arrays in enumerate(layers.values()):
                    if number == len(arrays):
                        arrays.append(np.empty((len(labels), vectors.shape[2]), dtype=np.float32))
                    arrays[number][chosen] = vectors[:, place]
    return Outcome({pooling: tuple(arrays) for pooling, arrays in layers.items()}, probabilities, labels)


def _recorded_layers(network: Encoder | Decoder) -> tuple[str, ...]:
    """Name the tensors to record: the input of the first block (embeddings), and each block's output."""
    from shesha.extract.block_stack import blocks
    from shesha.extract.layer_names import INPUT

    names = blocks(network.body)
    if not names:
        raise ValueError(f"the network must be a stack of blocks, got {type(network.body).__name__}")
    return (names[0] + INPUT, *names)


def _read(network: Encoder | Decoder, batch: Batch, hooked: Sequence[str]) -> tuple[Tensor, list[Tensor]]:
    """Return the logits and each layer, (n_rows, n_poolings, n_features), which is pooled at once."""
    import torch

    from shesha.extract.hooks import record_outputs
    from shesha.extract.layer_names import INPUT

    mask = batch.mask.bool()

    def pool_states(_: str, states: Tensor) -> Tensor:
        return torch.stack([pool(states, mask) for pool in network.poolings.values()], dim=1)

    with record_outputs(network.body, hooked, pool_states) as recording:
        logits, last = network(batch)
    entering = [state for name, state in recording.found.items() if INPUT in name]
    returned = [state for name, state in recording.found.items() if INPUT not in name]
    # Some networks end with a normalisation, so the last layer is the last hidden state, not the output of the last
    # block.
    return logits, [*entering[:1], *returned[:-1], pool_states("", last)]
