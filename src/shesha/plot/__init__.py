"""Plots of results, one function per question; each function takes and returns matplotlib Axes.

    ax = shesha.plot.stability(shesha.audit(layers))
    shesha.plot.representations(shesha.compare_all(models, "CKA"), "CKA", ax=ax2)

All plots have the same style, in which shapes and shades distinguish items as well as colours do. The extra `plot` must
be installed.
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
