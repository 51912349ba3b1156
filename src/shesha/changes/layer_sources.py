"""Layers of both sides, from arrays, files or models: matched by name, and the noise floor of a change."""

from __future__ import annotations

import copy
import os
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np

from shesha.inputs import MissingRows, Names, RowChoice
from shesha.inputs.matrix_shapes import hint_of_transpose, one_row_per_input, state_narrow
from shesha.io.read import read_named
from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.kernels.shapes import PANEL, column_panels
from shesha.support import provenance, types as kinds
from shesha.support.layer_axis import LayerAxis, layer_sequence, split_layers
from shesha.support.types import Array
from shesha.support.wording import count, join_items, layers_by_depth, name_parts
from shesha.views import Rdm, Representation, Rows, align_rows, rows_or_distances, select_layer_rows

Match = Mapping[str, str] | Literal["name", "position"] | None
Parts = tuple[str | int, ...]

ALONE = "representation"
"""Name given to a layer without a name, if it is the only one."""
_NO_EVIDENCE = {ALONE, "representations", "embedding", "embeddings", "x", "y", "data", "array", "features"} | {
    "arr_0",
    "activations",
    "vectors",
    "hidden_states",
    "hidden_state",
    "last_hidden_state",
}
"""Names that unrelated files and models have as well. Alone, they do not show that layers correspond."""


@dataclass(frozen=True)
class Matching:
    """Pairs of layers, how they were found, and the layers without a counterpart."""

    pairs: dict[str, str]
    """The name of each layer after the change, by its name before it."""
    by: tuple[str, ...] = ()
    """The rules that found the pairs, such as 'name' and 'suffix'."""
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    is_chosen: bool = False
    """Whether the user decided which layers correspond."""

    @property
    def n_layers(self) -> int:
        """Number of layers of the side that has more."""
        return len(self.pairs) + max(len(self.only_before), len(self.only_after))

    def state(self) -> None:
        """State how layers were matched and which were left out, unless all have the same names."""
        is_partial = bool(self.only_before or self.only_after)
        if is_partial or (self.n_layers > 1 and self.by != ("name",)):
            of = f"{len(self.pairs)} of {count(self.n_layers, 'layer')}"
            provenance.state(f"{of} compared, matched by {' and '.join(self.by)}")
        elif self.by != ("name",):
            ((before, after),) = self.pairs.items()
            if ALONE not in (before, after):
                provenance.state(f"{before} before, {after} after")
        for side, names in (("before", self.only_before), ("after", self.only_after)):
            if names:
                provenance.state(f"only {side}: {join_items(names)}")
        families = {re.sub(r"\d+", "#", name) for name in (*self.pairs, *self.only_before, *self.only_after)}
        # Sides of other depth have layers in common by their numbers only.
        if self.by == ("name",) and len(families) == 1 and bool(self.only_before) != bool(self.only_after):
            n_before, n_after = (len(self.pairs) + len(names) for names in (self.only_before, self.only_after))
            provenance.state_warning(
                f"before has {n_before} layers and after {n_after}: in models of other depth, layers of one number do "
                "not correspond; `shesha layers` (shesha.compare_layers) finds the closest ones",
                questions_input=True,
            )


@dataclass
class _Search:
    """Layers that are still without a counterpart, and the pairs found so far."""

    before: list[str]
    after: list[str]
    pairs: dict[str, str] = field(default_factory=dict)
    by: list[str] = field(default_factory=list)

    def add(self, pairs: Mapping[str, str], rule: str) -> None:
        if pairs:
            self.pairs |= pairs
            self.by.append(rule)
            taken = set(pairs.values())
            self.before = [name for name in self.before if name not in pairs]
            self.after = [name for name in self.after if name not in taken]


def match_layers(before: Sequence[str], after: Sequence[str], match: Match = None) -> Matching:
    """Match layers by exact name, wrapped name, number, or position, in the order of this evidence.

    Parameters
    ----------
    before, after : sequence of str
        Names of the layers.
    match : mapping, 'name', 'position' or None
        Names after the change by names before it, in which one * may stand for any text; other layers are matched as
        usual. 'name' compares layers of the same name only, 'position' compares layers in order.

    Examples
    --------
    >>> match_layers(["embeddings", "layer.0"], ["embeddings", "model.layer.0"]).pairs
    {'embeddings': 'embeddings', 'layer.0': 'model.layer.0'}
    >>> match_layers(["encoder.layer.0.output", "encoder.layer.1.output"], ["h.0", "h.1"]).by
    ('number',)
    """
    search = _Search(list(before), list(after))
    if isinstance(match, Mapping):
        search.add(_parse_pairs(match, before, after), "the given names")
    elif match is not None and not kinds.is_word(match, ("name", "position")):
        raise ValueError(f"match must be a mapping of names of layers, 'name' or 'position', got {kinds.brief(match)}")
    if isinstance(match, str) and match == "position":
        _require_same_number(before, after)
        search.add(dict(zip(before, after, strict=True)), "position")
    else:
        shared = set(search.after)
        search.add({name: name for name in search.before if name in shared}, "name")
    if match is None or isinstance(match, Mapping):
        for rule, find in _RULES.items():
            found = find(search.before, search.after)
            search.add(found, _side_of_addition(found) if rule == "addition" else rule)
    if match is None:
        _require_same_numbering(search.pairs, before, after)
    if not isinstance(match, Mapping) and all(_is_no_evidence(*pair) for pair in search.pairs.items()):
        _match_rest_by_position(search, match)
    # Layers are reported in their order before the change.
    pairs = {name: search.pairs[name] for name in before if name in search.pairs}
    return Matching(pairs, tuple(search.by), tuple(search.before), tuple(search.after), match is not None)


def _is_no_evidence(before: str, after: str) -> bool:
    return before == after and before.casefold() in _NO_EVIDENCE


def _match_rest_by_position(search: _Search, match: Match) -> None:
    """Match layers in order if no name is evidence; refuse if the sides have different numbers of layers."""
    if not search.before or not search.after:
        if search.pairs:
            return
    elif match is None and len(search.before) == len(search.after):
        search.add(dict(zip(search.before, search.after, strict=True)), "position")
        return
    shared = f" Both have {join_items(search.pairs)}, a name that unrelated models share." if search.pairs else ""
    raise ValueError(
        "before and after must share names of layers or have the same number of layers, got "
        f"{join_items(search.before)} and {join_items(search.after)}.{shared} Pass match= with pairs of names"
    )


def _require_same_number(before: Sequence[str], after: Sequence[str]) -> None:
    if len(before) != len(after):
        raise ValueError(
            "match must not be 'position' if before and after have different numbers of layers, got "
            f"{len(before)} and {len(after)}"
        )


def _parse_pairs(match: Mapping[str, str], before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Return the pairs that the user gives, in which * stands for the same text on both sides."""
    pairs: dict[str, str] = {}
    for first, second in match.items():
        if "*" not in first:
            found = {first: second} if first in before and second in after else {}
        else:
            start, _, end = first.partition("*")
            names = [
                name
                for name in before
                if len(name) >= len(start) + len(end) and name.startswith(start) and name.endswith(end)
            ]
            inside = {name: name[len(start) : len(name) - len(end)] for name in names}
            found = {name: other for name in names if (other := second.replace("*", inside[name], 1)) in after}
        if not found:
            raise ValueError(
                f"match must pair layers of before ({join_items(before)}) with layers of after ({join_items(after)}), "
                f"got {first!r} and {second!r}"
            )
        pairs |= found
    for name, n in Counter(pairs.values()).items():
        if n > 1:
            raise ValueError(f"match must pair each layer once, got {name!r} for {n} layers")
    return pairs


def _require_same_numbering(pairs: Mapping[str, str], before: Sequence[str], after: Sequence[str]) -> None:
    """Refuse layers numbered from 0 on one side and from 1 on the other, whose equal numbers are other layers."""
    sides = [_families(names) for names in (before, after)]
    for name, other in pairs.items():
        first, second = (sorted(side.get(_family(one)[0], ())) for side, one in zip(sides, (name, other), strict=True))
        if len(first) != len(second) or first == second or len(first) < 2 or len(first[0]) != 1:
            continue
        if len({b[0] - a[0] for a, b in zip(first, second, strict=True)}) == 1:
            ranges = [f"{numbers[0][0]} to {numbers[-1][0]}" for numbers in (first, second)]
            raise ValueError(
                f"layers must be numbered alike before and after, got {ranges[0]} and {ranges[1]}: pass "
                "match='position' if they correspond in order, or match='name' if equal names are the same layer"
            )


def _family(name: str) -> tuple[Parts, tuple[int, ...]]:
    """Return a name with # for its numbers, and the numbers."""
    parts = name_parts(name)
    numbers = tuple(part for part in parts if isinstance(part, int))
    return tuple("#" if isinstance(part, int) else part for part in parts), numbers


def _families(names: Sequence[str]) -> dict[Parts, dict[tuple[int, ...], str]]:
    """Return names that differ only in their numbers, as families of names by number."""
    families: dict[Parts, dict[tuple[int, ...], str]] = defaultdict(dict)
    for name in names:
        family, numbers = _family(name)
        if numbers:
            families[family][numbers] = name
    return families


def _same_words(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Match names that differ only in punctuation, letter case or leading zeros."""
    return _join_keys(_group_by_key(before, name_parts), _group_by_key(after, name_parts))


def _match_wrapped_names(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Match names of which one contains the other, as adapters and wrappers add a prefix or a suffix.

    The addition that explains most pairs is used first; two additions that explain equally many are ambiguous, unless
    one only names parts inside the modules of the other, as lora_A inside a layer does.
    """
    pairs: dict[tuple[bool, Parts, Parts], dict[str, str]] = defaultdict(dict)
    split = {name: name_parts(name) for name in (*before, *after)}
    for name in before:
        for other in after:
            is_longer = len(split[other]) > len(split[name])
            short, long = (split[name], split[other]) if is_longer else (split[other], split[name])
            for start in range(len(long) - len(short) + 1 if short else 0):
                if long[start : start + len(short)] == short:
                    pairs[is_longer, long[:start], long[start + len(short) :]][name] = other
    found: dict[str, str] = {}
    while pairs:
        ranked = sorted(pairs.items(), key=lambda one: (-len(one[1]), len(one[0][2])))
        (*place, inner), best = ranked[0][0], ranked[0][1]
        for (*other_place, other_inner), rival in ranked[1:]:
            is_inside = place == other_place and other_inner[: len(inner)] == inner
            if len(rival) == len(best) and not is_inside:
                _require_one_counterpart(best, rival)
                _require_one_counterpart(*({b: a for a, b in group.items()} for group in (best, rival)))
        found |= best
        taken = set(found.values())
        rest = {
            key: {a: b for a, b in group.items() if a not in found and b not in taken} for key, group in pairs.items()
        }
        pairs = defaultdict(dict, {key: group for key, group in rest.items() if group})
    return found


def _require_one_counterpart(best: Mapping[str, str], rival: Mapping[str, str]) -> None:
    for name, other in rival.items():
        if best.get(name, other) != other:
            raise ValueError(
                f"layers must have one counterpart, got {name}, which may be {best[name]} or {other}: pass match= with "
                "pairs of names"
            )


def _side_of_addition(pairs: Mapping[str, str]) -> str:
    """Return which part of the longer names the shorter ones are."""
    split = [sorted((name_parts(name), name_parts(other)), key=len) for name, other in pairs.items()]
    if all(long[len(long) - len(short) :] == short for short, long in split):
        return "suffix"
    return "prefix" if all(long[: len(short)] == short for short, long in split) else "part of the name"


def _differently_wrapped(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Match names after removing what all names of a side have in common, such as base. and model."""
    if min(len(before), len(after)) < 2:
        return {}
    split = [{name: name_parts(name) for name in names} for names in (before, after)]
    heads = [_common_start(list(parts.values())) for parts in split]
    tails = [_common_start([name[::-1] for name in parts.values()]) for parts in split]
    # Words that both sides share next to what differs are kept, because they are evidence.
    shared_head, shared_tail = (len(_common_start([one[::-1] for one in ends])) for ends in (heads, tails))
    keys = []
    for parts, head, tail in zip(split, heads, tails, strict=True):
        start, end = len(head) - shared_head, len(tail) - shared_tail
        keys.append({name: part[start : len(part) - end] for name, part in parts.items()})
    pairs = _join_keys(*(_group_by_key(list(key), key.__getitem__) for key in keys))
    has_words = any(isinstance(part, str) for name in pairs for part in keys[0][name])
    return pairs if has_words else {}


def _match_by_numbers(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Match families of names with the same numbers, such as encoder.layer.0.output and h.0."""
    sides = [
        {family: names for family, names in _families(names).items() if len(names) > 1} for names in (before, after)
    ]
    pairs: dict[str, str] = {}
    for family, names in sides[0].items():
        rivals = [other for other, numbers in sides[0].items() if numbers.keys() == names.keys() and other != family]
        others = [other for other, numbers in sides[1].items() if numbers.keys() == names.keys()]
        if len(others) == 1 and not rivals:
            pairs |= {name: sides[1][others[0]][numbers] for numbers, name in names.items()}
    return pairs


_STATES = ("hidden", "states")


def _match_hidden_states(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Match hidden_states.1, 2, ... of transformers, whose number 0 is the input, with blocks 0, 1, ..."""
    sides = [_families(names) for names in (before, after)]
    for first, second in (sides, sides[::-1]):
        states = [names for family, names in first.items() if family[-3:] == (*_STATES, "#")]
        n = len(states[0]) - 1 if len(states) == 1 else 0
        blocks = [names for names in second.values() if n > 0 and sorted(names) == [(i,) for i in range(n)]]
        if len(blocks) == 1 and sorted(states[0]) == [(i,) for i in range(n + 1)]:
            pairs = {states[0][i + 1,]: blocks[0][i,] for i in range(n)}
            return pairs if first is sides[0] else {name: other for other, name in pairs.items()}
    return {}


def _common_start(names: Sequence[Parts]) -> Parts:
    shortest = min(names, key=len)
    n = next((i for i, part in enumerate(shortest) if any(name[i] != part for name in names)), len(shortest))
    return shortest[:n]


def _group_by_key(names: Sequence[str], key: Callable[[str], Parts]) -> dict[Parts, list[str]]:
    keys: dict[Parts, list[str]] = defaultdict(list)
    for name in names:
        keys[key(name)].append(name)
    return keys


def _join_keys(before: Mapping[Parts, Sequence[str]], after: Mapping[Parts, Sequence[str]]) -> dict[str, str]:
    """Match names whose key is unique on both sides."""
    return {
        names[0]: after[key][0]
        for key, names in before.items()
        if key and len(names) == 1 and len(after.get(key, ())) == 1
    }


_RULES = {
    "words": _same_words,
    "addition": _match_wrapped_names,
    "common part": _differently_wrapped,
    "number": _match_by_numbers,
    "number, as hidden_states counts the input as 0": _match_hidden_states,
}


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


Side = Mapping[str, Rows]


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
        return len(next(iter(self.before.values())))


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
    records: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """How models encoded the texts, by the name of the argument."""

    def is_model(self, given: Any) -> bool:
        """Return whether the input is a model that encodes the texts."""
        return self.texts is not None and (isinstance(given, str | os.PathLike) or hasattr(given, "forward"))

    def read(self, given: Any, name: str) -> Mapping[Any, Any]:
        """Return the layers of one encoding; `name` is the argument's name in error messages."""
        if self.is_model(given):
            from shesha.extract import encode

            assert self.texts is not None
            given = encode(given, self.texts, **self.encoding)
            self.records[name] = given.info
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
    if {"before", "after"} <= reader.records.keys():
        provenance.state_other_settings({name: reader.records[name] for name in ("before", "after")})
    used, along = select_layer_rows(unchecked, along, rows=rows, missing=missing)
    read = {name: _check_layers(layers, name) for name, layers in zip(unchecked, used, strict=True)}
    matching = match_layers(list(read["before"]), list(read["after"]), match)
    matching.state()
    matched = matching.pairs
    representations: dict[tuple[str, str], Rows] = {}
    for name, layers in read.items():
        for layer, other in matched.items():
            key = layer if name == "before" or name.startswith("again") else other
            if key not in layers:
                key = _counterpart(layer, list(read["before"]), list(layers), name)
            representations[name, layer] = layers[key]
    known = tuple(source.names for source in representations.values() if source.names is not None)
    aligned = align_rows({f"{name}[{layer}]": source for (name, layer), source in representations.items()})
    _require_same_counts(representations, matched)
    sides: dict[str, dict[str, Rows]] = {name: {} for name in read}
    for (name, layer), source in zip(representations, aligned.values(), strict=True):
        sides[name][layer] = source
    if not matching.is_chosen:
        _warn_of_shifted_layers(sides["before"], sides["after"], matched)
    again_sides, also_sides = (
        tuple(side for name, side in sides.items() if name.startswith(start)) for start in ("again[", "also[")
    )
    return Sides(
        sides["before"], sides["after"], again_sides, also=also_sides, matching=matching, names=known, along=along
    )


_COMPARED, _SAME, _OTHER = 16, 0.01, 10
"""Number of rows that tell layers apart, their largest difference as a share of their length if only rounding changed
them, and how many times as large the difference from another layer is."""


def _warn_of_shifted_layers(before: Side, after: Side, matched: Mapping[str, str]) -> None:
    """Warn if most layers hold the vectors of other layers, as if names were counted from another layer on."""
    if len(matched) < 2:
        return
    rows = np.unique(np.linspace(0, len(next(iter(before.values()))) - 1, _COMPARED).astype(np.intp))
    old, new = ({layer: side[layer].read(rows) for layer in matched} for side in (before, after))
    if (unit := safe_unit(*old.values(), *new.values())) != 1:
        old, new = ({layer: values / unit for layer, values in side.items()} for side in (old, new))
    moved = {}
    for layer, values in new.items():
        differences = {
            other: float(np.linalg.norm(values - there)) for other, there in old.items() if there.shape == values.shape
        }
        closest = min(differences, key=differences.__getitem__, default=layer)
        limit = min(_SAME * float(np.linalg.norm(values)), differences.get(layer, np.inf) / _OTHER)
        if closest != layer and differences[closest] < limit:
            moved[layer] = closest
    if 2 * len(moved) > len(matched):
        layer, other = next(iter(moved.items()))
        provenance.state_warning(
            f"{len(moved)} of {count(len(matched), 'layer')} after the change hold the vectors of other layers before "
            f"it, such as {matched[layer]} those of {other}, as if one side began with another layer, such as "
            "hidden_states[0]; rename its layers, or pass match= (--match)"
        )


def _check_layers(layers: Mapping[Any, Any], name: str) -> dict[str, Rows]:
    """Check all values in blocks, without a copy of all rows."""
    checked = {str(layer): matrix_rows(values, f"{name}[{str(layer)!r}]") for layer, values in layers.items()}
    if len(checked) < len(layers):
        raise ValueError(f"{name} must have distinct names as text, got {', '.join(map(repr, layers))}")
    for source in checked.values():
        source.require_finite()
    state_narrow({name if layer == ALONE else layer: source.shape for layer, source in checked.items()})
    return dict(layers_by_depth(checked))


def matrix_rows(values: Any, name: str) -> Rows:
    """Return the rows of a matrix; refuse distances."""
    rows = rows_or_distances(values, name)
    if isinstance(rows, Rdm):
        raise ValueError(f"{name} must be a matrix (n_rows, n_features), got distances (Rdm)")
    return rows


def _list_of_encodings(encodings: Any, name: str) -> list[Any]:
    """Return encodings as a list; refuse a single encoding, whose layers would be mistaken for encodings."""
    if isinstance(encodings, Mapping | str | os.PathLike) or kinds.is_array(encodings) or hasattr(encodings, "forward"):
        raise TypeError(
            f"{name} must be a list of encodings, got a single {type(encodings).__name__}: put it in a list"
        )
    if not kinds.has_entries(encodings):
        raise TypeError(f"{name} must be a list of encodings, got {type(encodings).__name__}")
    return list(encodings)


def _counterpart(layer: str, before: Sequence[str], names: Sequence[str], argument: str) -> str:
    matches = match_layers(before, names).pairs
    if layer not in matches:
        raise ValueError(f"{argument} must contain the layer {layer}, got {join_items(names)}")
    return matches[layer]


def _require_same_counts(sources: Mapping[tuple[str, str], Rows], matched: Mapping[str, str]) -> None:
    sizes = {layer: len(source) for (name, layer), source in sources.items() if name == "before"}
    alike = all(len(source) == sizes.get(layer) for (_, layer), source in sources.items())
    if alike and len(set(sizes.values())) > 1:
        listed = join_items(f"{layer} {n:,}" for layer, n in sizes.items())
        raise ValueError(
            f"layers must have the same rows, got different numbers of rows ({listed}); compare one at a time, such as "
            f"before[{next(iter(sizes))!r}] with its counterpart (--key {shlex.quote(next(iter(sizes)))})"
        )
    (_, first), *rest = sources.items()
    for (name, layer), source in rest:
        if len(source) != len(first):
            own = layer if name == "before" or name.startswith("again") else matched[layer]
            raise ValueError(
                f"{name}[{own!r}] must have the {len(first):,} rows of before, got {len(source):,} rows"
                + (hint_of_transpose("it", source.shape, len(first)) or "; rows match by ids= (--id) only")
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
    return len(kinds.shape_of(value)) > 1 or (
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
        Chosen rows of further encodings of the same inputs by the unchanged model.
    also : sequence of mappings of layers
        Chosen rows of encodings by further runs of the same change, such as trainings with other seeds.
    """

    again: Sequence[Mapping[str, Representation]]
    also: Sequence[Mapping[str, Representation]]

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
