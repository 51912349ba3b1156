"""Match the layers of two sides by their names, or by the pairs that the user gives."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from shesha.support import provenance
from shesha.support.natural_order import join_names, name_parts
from shesha.support.wording import count

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
                provenance.state(f"only {side}: {join_names(names)}")


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
        search.add(_given_pairs(match, before, after), "the given names")
    elif match not in (None, "name", "position"):
        raise ValueError(f"match must be a mapping of names of layers, 'name' or 'position', got {match!r}")
    if match == "position":
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
    shared = f" Both have {join_names(search.pairs)}, a name that unrelated models share." if search.pairs else ""
    raise ValueError(
        "before and after must share names of layers or have the same number of layers, got "
        f"{join_names(search.before)} and {join_names(search.after)}.{shared} Pass match= with pairs of names"
    )


def _require_same_number(before: Sequence[str], after: Sequence[str]) -> None:
    if len(before) != len(after):
        raise ValueError(
            "match must not be 'position' if before and after have different numbers of layers, got "
            f"{len(before)} and {len(after)}"
        )


def _given_pairs(match: Mapping[str, str], before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
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
                f"match must pair layers of before ({join_names(before)}) with layers of after ({join_names(after)}), "
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
    return _join_keys(_by_key(before, name_parts), _by_key(after, name_parts))


def _wrapped(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Match names of which one contains the other, as adapters and wrappers add a prefix or a suffix.

    The addition that explains most pairs is used first; two additions that explain equally many are ambiguous.
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
        ranked = sorted(pairs.values(), key=len, reverse=True)
        best = ranked[0]
        for rival in ranked[1:]:
            if len(rival) == len(best):
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
    pairs = _join_keys(*(_by_key(list(key), key.__getitem__) for key in keys))
    has_words = any(isinstance(part, str) for name in pairs for part in keys[0][name])
    return pairs if has_words else {}


def _same_numbers(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
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


def _common_start(names: Sequence[Parts]) -> Parts:
    shortest = min(names, key=len)
    n = next((i for i, part in enumerate(shortest) if any(name[i] != part for name in names)), len(shortest))
    return shortest[:n]


def _by_key(names: Sequence[str], key: Callable[[str], Parts]) -> dict[Parts, list[str]]:
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
    "addition": _wrapped,
    "common part": _differently_wrapped,
    "number": _same_numbers,
}
