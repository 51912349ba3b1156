"""
Which measure to trust
======================

Ranks of 24 measures over the tests of the ReSi benchmark, as published.
"""

from shesha_bench import plot_ranks, published

plot_ranks(published())
