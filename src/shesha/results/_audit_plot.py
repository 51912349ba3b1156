"""An audit as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.results._labels import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shesha.results._audit import Audit

_SCORES = (
    ("feature_split", "feature split", "o", "#1f4e79"),
    ("basis_averaged_split", "basis averaged", "s", "#c55a11"),
)


def draw(audit: Audit, ax: Axes | None) -> Axes:
    """Draw the split scores of each representation with their intervals, and the chance threshold."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "shesha[plot]"') from error
    if ax is None:
        _, ax = plt.subplots(figsize=(max(4.5, 0.9 * len(audit.representations) + 2), 3.4), layout="constrained")
    at = np.arange(len(audit.representations))
    for attribute, label, marker, colour in _SCORES:
        found = [getattr(one, attribute) for one in audit.representations]
        value, low, high = (
            np.array([np.nan if e is None else getattr(e, part) for e in found]) for part in ("value", "low", "high")
        )
        spread = np.abs(np.vstack([value - low, high - value]))
        ax.errorbar(
            at, value, yerr=spread, label=label, marker=marker, color=colour, capsize=3, linewidth=1.2, markersize=5
        )
    threshold = [np.nan if one.chance is None else one.chance.threshold for one in audit.representations]
    ax.plot(at, threshold, color="#7f7f7f", linestyle="--", linewidth=1, label="chance threshold")
    names = [literal(one.name) for one in audit.representations]
    ax.set_xticks(
        at, names, rotation=30 if max(map(len, names)) > 6 else 0, ha="right" if max(map(len, names)) > 6 else "center"
    )
    ax.set_ylabel("stability")
    ax.set_ylim(min(-0.05, ax.get_ylim()[0]), 1.02)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
