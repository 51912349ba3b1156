"""Whether rows of one class lie apart in each block, such as a library or donor, as with components of their own."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import squareform

from shesha.doubting.doubt_input import Subject, doubt
from shesha.kernels.distances import condensed_distances
from shesha.results import Doubt
from shesha.support.types import Labels, Mask, Matrix

_MOST_ROWS, _NEIGHBOURS, _FEWEST = 384, 5, 20
"""Most rows that are looked at, number of nearest rows of each, and fewest rows of a typical block among them."""
_OWN, _OF_CLASS, _ACROSS = 0.5, 0.25, 0.5
"""Smallest share of neighbours beyond chance that are of the own block, and in it of the own class, and largest ratio
of the share of the own class among the nearest rows of other blocks to that in the own block."""
_SHARED = 0.8
"""Smallest share of rows whose class occurs in other blocks as well."""
_SHIFT = 0.1
"""Largest share of the variance between the means of blocks, because shifts of blocks are another problem."""
_OF_DESIGN = {"blocks": "block", "groups": "group"}


@doubt("separate blocks")
def separate_blocks(subject: Subject) -> Doubt | None:
    """Check whether rows of one class in different blocks lie apart, although the means of the blocks are equal.

    The axes of components that were computed for each block by itself mean something else in each of them.
    """
    known = {**subject.known, **{_OF_DESIGN.get(name, name): values for name, values in subject.design.items()}}
    labels = {name: np.unique(values, return_inverse=True)[1] for name, values in known.items() if _are_codes(values)}
    if subject.classes is None or not labels:
        return None
    rows = np.sort(subject.generator.choice(subject.n_rows, min(subject.n_rows, _MOST_ROWS), replace=False))
    values, classes = subject.read(0, rows), subject.classes[rows]
    if not np.ptp(values, axis=0).any():
        return None
    found = [
        one for name, codes in labels.items() if (one := _describe(name, values, codes[rows], classes)) is not None
    ]
    return max(found, key=lambda one: one.effect, default=None)


def _are_codes(values: Matrix | Labels) -> bool:
    n_values = len(np.unique(values))
    return values.dtype.kind != "f" and 2 <= n_values <= min(len(values), _MOST_ROWS) // _FEWEST


def _describe(name: str, values: Matrix, blocks: Labels, classes: Labels) -> Doubt | None:
    """Return the doubt about one column, unless neighbours or means of its blocks speak against it."""
    if _variance_between(values, blocks) > _SHIFT:
        return None
    distances = squareform(condensed_distances(values - values.mean(axis=0), "euclidean", squared=True))
    same_block, same_class = blocks[:, None] == blocks, classes[:, None] == classes
    # A class of one block only has no partners elsewhere.
    if np.mean((same_class & ~same_block).sum(axis=1) >= _NEIGHBOURS) < _SHARED:
        return None
    others = ~np.eye(len(values), dtype=bool)
    (own, own_chance), (inside, _), (across, across_chance) = pairs = (
        _neighbour_shares(distances, same_block, others),
        _neighbour_shares(distances, same_class, others & same_block),
        _neighbour_shares(distances, same_class, ~same_block),
    )
    of_block, of_class, of_others = ((share - chance) / max(1 - chance, 1e-9) for share, chance in pairs)
    if of_block < _OWN or of_class < _OF_CLASS or of_others > _ACROSS * of_class:
        return None
    text = (
        f"{100 * own:.0f} % of the nearest neighbours of a row have the same {name} ({100 * own_chance:.0f} % by "
        f"chance), although the means of each {name} are nearly equal. Of the nearest rows with another {name}, "
        f"{100 * across:.0f} % have the class of the row ({100 * across_chance:.0f} % by chance), and "
        f"{100 * inside:.0f} % of those with the same {name}, as if each {name} had coordinates of its own"
    )
    advice = (
        f"If components were computed for each {name} by itself, compute them from all rows together, or analyse each "
        f"{name} by itself. Otherwise correct for {name} first"
    )
    return Doubt("separate blocks", min(1.0, of_block * (1 - max(of_others, 0.0) / of_class)), None, text, advice)


def _variance_between(values: Matrix, blocks: Labels) -> float:
    """Return the share of the variance between the means of blocks, beyond what their rows make by chance."""
    member = np.eye(int(blocks.max()) + 1)[blocks]
    sizes = member.sum(axis=0)
    means = (member.T @ values)[sizes > 0] / sizes[sizes > 0, None]
    centred = values - values.mean(axis=0)
    share = float(sizes[sizes > 0] @ ((means - values.mean(axis=0)) ** 2).sum(axis=1)) / float(
        np.vdot(centred, centred)
    )
    return share - (len(means) - 1) / (len(values) - 1)


def _neighbour_shares(distances: Matrix, same: Mask, among: Mask) -> tuple[float, float]:
    """Return the share of the nearest rows, and of all rows, among some pairs that are of the same kind."""
    masked = np.where(among, distances, np.inf)
    near = np.argpartition(masked, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
    used = np.take_along_axis(among, near, axis=1)
    shares = np.take_along_axis(same, near, axis=1)
    return float(shares[used].mean()), float((same & among).sum() / max(among.sum(), 1))
