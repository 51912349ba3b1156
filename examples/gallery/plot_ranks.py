"""
Which measure to trust
======================

Ranks of 24 measures over the tests of the ReSi benchmark, as published.
"""

import shesha
from shesha_bench import published

shesha.plot.ranks(published())
