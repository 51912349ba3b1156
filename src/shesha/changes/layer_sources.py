"""Layers of both sides by name, from arrays, files or models, and the noise floor of a change."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from shesha.changes.layer_matching import ALONE, Match, Matching, match_layers
from shesha.inputs import MissingRows, Names, RowChoice, are_reordered
from shesha.inputs.matrix_shapes import one_row_per_input, state_narrow
from shesha.io.read import read_named
from shesha.kernels.orthogonal_maps import PANEL, column_panels
from shesha.support import argument_types as kinds
from shesha.support.layer_axis import LayerAxis, layer_sequence, split_layers
from shesha.support.natural_order import join_names, layers_by_depth
from shesha.support.provenance import state
from shesha.support.types import Array
from shesha.support.warnings import RowNamesWarning, warn
from shesha.support.wording import count
from shesha.views import Rdm, Representation, align_rows, check_named_arrays, select_layer_rows

_BATCH = 32


def reencodings(model: Any, data: Sequence[Any], options: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
    """Re-encode with another batch size and input order, then in half precision (bfloat16).

    These are the most common differences between encodings by one model. Dropout is always off.

    Parameters
    ----------
    model : str, path or torch.nn.Module
        The model, its name, or the folder that contains it.
    data : sequence
        Inputs of the model.
    options : mapping
        Options of `shesha.extract.encode` that were used for the first encoding.
    """
    from shesha.extract import encode

    size = int(options.get("batch_size", _BATCH))
    others = {**options, "batch_size": max(1, size // 4) if size > 1 else 4}
    backwards = encode(model, list(reversed(data)), **others)
    yield {name: array[::-1] for name, array in backwards.items()}
    half = _half_precision(model)
    if half is not None:
        yield dict(encode(half, data, **options))


def _half_precision(model: Any) -> Any:
    """Return a copy of the model in half precision, or None for a timm model given by name."""
    import torch

    from shesha.extract.pretrained import TIMM, find_source, load_model

    if isinstance(model, str | os.PathLike):
        name = os.fspath(model)
        if name.startswith(TIMM):
            return None
        return load_model(name, find_source(name)).to(torch.bfloat16)
    return copy.deepcopy(model).to(torch.bfloat16)


Side = Mapping[str, Representation]


@dataclass(frozen=True)
class Sides:
    """All encodings of the same rows, with layers named as before the change."""

    before: Side
    after: Side
    again: tuple[Side, ...]
    also: tuple[Side, ...]
    matching: Matching
    """The name that each layer has after the change, and the layers without a counterpart."""
    names: tuple[Names, ...]
    """Row names of the inputs that have them."""
    along: Mapping[str, Any]
    """Labels, designs and texts of the rows, restricted as the rows are."""

    @property
    def others(self) -> Mapping[str, str]:
        """The name that each layer has after the change."""
        return self.matching.pairs

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return next(iter(self.before.values())).n_rows

    def every(self) -> list[Representation]:
        """Return every layer of every encoding."""
        return [source for side in (self.before, self.after, *self.again, *self.also) for source in side.values()]


@dataclass(frozen=True)
class Reader:
    """Reads layers from any supported kind of input."""

    texts: Sequence[str] | None
    """Texts that models encode; None if there are no models."""
    encoding: Mapping[str, Any]
    """Options of `shesha.extract.encode`."""
    layer_axis: LayerAxis
    ids: str | None = None
    """Column or array that identifies the rows of files."""

    def is_model(self, given: Any) -> bool:
        """Return whether the input is a model that encodes the texts."""
        return self.texts is not None and (isinstance(given, str | os.PathLike) or hasattr(given, "forward"))

    def read(self, given: Any, name: str) -> Mapping[Any, Any]:
        """Return the layers of one encoding; `name` is the argument's name in error messages."""
        if self.is_model(given):
            from shesha.extract import encode

            assert self.texts is not None
            given = encode(given, self.texts, **self.encoding)
        elif isinstance(given, str | os.PathLike):
            given = read_named(given, layer_axis=self.layer_axis, ids=self.ids)
        layers = {
            layer: one_row_per_input(values, name if layer == ALONE else str(layer))
            for layer, values in _as_mapping(given, name, self.layer_axis).items()
        }
        if not layers:
            raise ValueError(f"{name} must contain at least one layer, got none")
        return layers

    def read_reencodings(self, before: Any, again: Iterable[Any] | None) -> list[Any]:
        """Return the given re-encodings; if there are none and `before` is a model, compute them."""
        if again is not None:
            return _list_of_encodings(again, "again")
        if not self.is_model(before):
            return []
        assert self.texts is not None
        return list(reencodings(before, self.texts, self.encoding))


def read_sides(
    before: Any,
    after: Any,
    again: Iterable[Any] | None,
    also: Iterable[Any],
    reader: Reader,
    match: Match,
    along: Mapping[str, Any],
    *,
    rows: RowChoice,
    missing: MissingRows,
) -> Sides:
    """Read all encodings, match their layers, and align their rows and what belongs to them."""
    inputs = {"before": before, "after": after}
    inputs |= {f"again[{i}]": encoding for i, encoding in enumerate(reader.read_reencodings(before, again))}
    inputs |= {f"also[{i}]": encoding for i, encoding in enumerate(_list_of_encodings(also, "also"))}
    unchecked = {name: reader.read(encoding, name) for name, encoding in inputs.items()}
    used, along = select_layer_rows(unchecked, along, rows=rows, missing=missing)
    read = {name: _check_layers(layers, name) for name, layers in zip(unchecked, used, strict=True)}
    matching = match_layers(list(read["before"]), list(read["after"]), match)
    matching.state()
    matched = matching.pairs
    representations: dict[tuple[str, str], Representation] = {}
    for name, layers in read.items():
        for layer, other in matched.items():
            key = layer if name == "before" or name.startswith("again") else other
            if key not in layers:
                key = _counterpart(layer, list(read["before"]), list(layers), name)
            representations[name, layer] = layers[key]
    known = tuple(source.names for source in representations.values() if source.names is not None)
    first, second = representations["before", next(iter(matched))], representations["after", next(iter(matched))]
    if not known and are_reordered(first.to_numpy.rows, second.to_numpy.rows):
        state("after seems to contain the rows of before in another order")
        warn(
            "after seems to contain the rows of before in another order, but rows are paired by position. Pass arrays "
            "with row names, such as tables with an index",
            RowNamesWarning,
        )
    aligned = align_rows({f"{name}[{layer}]": source for (name, layer), source in representations.items()})
    _require_same_counts(representations, matched)
    sides: dict[str, dict[str, Representation]] = {name: {} for name in read}
    for (name, layer), source in zip(representations, aligned.values(), strict=True):
        sides[name][layer] = source
    again_sides, also_sides = (
        tuple(side for name, side in sides.items() if name.startswith(start)) for start in ("again[", "also[")
    )
    return Sides(sides["before"], sides["after"], again_sides, also_sides, matching, known, along)


def _check_layers(layers: Mapping[Any, Any], name: str) -> dict[str, Representation]:
    checked = check_named_arrays(layers, name, name + "[{!r}]")
    for layer, source in checked.items():
        if source.has_distances_only or len(source.shape) != 2:
            raise ValueError(f"{name}[{layer!r}] must be a matrix (n_rows, n_features), got shape {source.shape}")
    state_narrow({name if layer == ALONE else layer: source.shape for layer, source in checked.items()})
    return dict(layers_by_depth(checked))


def _list_of_encodings(encodings: Any, name: str) -> list[Any]:
    """Return encodings as a list; refuse a single encoding, whose layers would be mistaken for encodings."""
    if (
        isinstance(encodings, Mapping | str | os.PathLike)
        or hasattr(encodings, "shape")
        or hasattr(encodings, "forward")
    ):
        raise TypeError(
            f"{name} must be a list of encodings, got a single {type(encodings).__name__}: put it in a list"
        )
    if not kinds.has_entries(encodings):
        raise TypeError(f"{name} must be a list of encodings, got {type(encodings).__name__}")
    return list(encodings)


def _counterpart(layer: str, before: Sequence[str], names: Sequence[str], argument: str) -> str:
    matches = match_layers(before, names).pairs
    if layer not in matches:
        raise ValueError(f"{argument} must contain the layer {layer}, got {join_names(names)}")
    return matches[layer]


def _require_same_counts(sources: Mapping[tuple[str, str], Representation], matched: Mapping[str, str]) -> None:
    (_, first), *rest = sources.items()
    for (name, layer), source in rest:
        if source.n_rows != first.n_rows:
            wide = source.shape == first.shape[::-1]
            own = layer if name == "before" or name.startswith("again") else matched[layer]
            raise ValueError(
                f"{name}[{own!r}] must have the {first.n_rows:,} rows of before, got {source.n_rows:,} rows"
                + ("; its shape is the transpose of that of before" if wide else "; rows match by ids= (--id) only")
            )


def _as_mapping(side: Any, name: str, layer_axis: LayerAxis) -> Mapping[Any, Any]:
    if isinstance(side, Mapping):
        return split_layers(side, layer_axis)
    if isinstance(side, Rdm):
        raise TypeError(f"{name} must be features, because neighbours are searched, got distances (Rdm)")
    layers = layer_sequence(side, name, layer_axis)
    if isinstance(layers, list | tuple) and len(layers) and _is_matrix(layers[0]):
        return dict(enumerate(layers))
    return {ALONE: layers}


def _is_matrix(value: Any) -> bool:
    """Return whether a value is a whole layer rather than a row of numbers."""
    return len(getattr(value, "shape", ())) == 2 or (
        isinstance(value, list | tuple) and len(value) > 0 and isinstance(value[0], list | tuple)
    )


SHARE = 0.01
"""Noise relative to each feature's standard deviation; half precision adds 0.9 % to MiniLM's last layer."""
DRAWS = 3
REENCODED, RERUN, SIMULATED = "re-encodings", "further runs", "simulated noise"
_NOISE = 21


@dataclass(frozen=True)
class NoiseFloor:
    """Encodings that differ only by noise.

    Attributes
    ----------
    again : sequence of mappings of layers
        Further encodings of the same inputs by the unchanged model.
    also : sequence of mappings of layers
        Encodings by further runs of the same change, such as trainings with other seeds.
    """

    again: Sequence[Side]
    also: Sequence[Side]

    @property
    def source(self) -> str:
        """Description of where the noise floor comes from."""
        parts = []
        if self.again:
            parts.append(f"{count(len(self.again), 're-encoding')}")
        if self.also:
            n = len(self.also) + 1
            parts.append(f"{n} runs of the same change, compared with each other")
        return " and ".join(parts) or f"simulated noise of {SHARE:.0%} in every feature"

    def count(self) -> int:
        """Return the number of pairs that differ only by noise."""
        runs = len(self.also) + 1
        return len(self.again) + runs * (runs - 1) // 2 if self.again or self.also else DRAWS

    def pairs(
        self, name: str, before: Representation, after: Representation
    ) -> Iterator[tuple[str, tuple[Representation, Representation]]]:
        """Yield the pairs of encodings of one layer that differ only by noise, each with its kind of noise."""
        if not (self.again or self.also):
            # A side in half precision has rounding errors of its own, which grow with a common offset.
            rounding = max(before.precision, after.precision) / 2
            for draw in range(DRAWS):
                rng = np.random.default_rng([_NOISE, draw])
                yield SIMULATED, (before, add_noise(before, rng, rounding=rounding))
            return
        yield from ((REENCODED, (before, side[name])) for side in self.again)
        yield from ((RERUN, pair) for pair in combinations([after, *(side[name] for side in self.also)], 2))


def add_noise(
    one: Representation, rng: np.random.Generator, share: float = SHARE, rounding: float = 0.0
) -> Representation:
    """Return the representation plus Gaussian noise, scaled by the standard deviation of each feature.

    A common offset of the rows enters only the rounding error, relative to each number. Noise that is proportional to
    the offset would hide a change of everything else.
    """
    rows = one.to_numpy.rows
    noisy, step = np.empty(rows.shape), max(1, PANEL // rows.shape[1])
    deviations = share * np.concatenate([rows[:, part].std(axis=0) for part in column_panels(rows)])
    for start in range(0, len(rows), step):
        panel = rows[start : start + step]
        spread = np.hypot(deviations, rounding * np.abs(panel))
        noisy[start : start + step] = panel + spread * rng.standard_normal(panel.shape)
    return Representation(noisy, one.precision)
