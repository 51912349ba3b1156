"""Plots of results, one function per question; each function takes and returns matplotlib Axes.

    ax = shesha.plot.stability(shesha.audit(layers))
    shesha.plot.representations(shesha.compare_all(models, "CKA"), "CKA", ax=ax2)

All plots have the same style, which distinguishes items by shape and shade as well as by colour. The extra `plot` is
required.
"""

from shesha.plot.heat_maps import Style, layer_grid, similarity, times
from shesha.plot.result_plots import coherence, drift, null, ranks, representations, spectra, stability

__all__ = [
    "Style",
    "coherence",
    "drift",
    "layer_grid",
    "null",
    "ranks",
    "representations",
    "similarity",
    "spectra",
    "stability",
    "times",
]
