"""The three recommended measures."""

from __future__ import annotations

RECOMMENDED = {
    "unbiased CKA": "the whole geometry",
    "RSA": "the order of distances",
    "mutual kNN": "who is near whom",
}
"""Each asks something else, and chance does not raise any of them with the number of features."""
