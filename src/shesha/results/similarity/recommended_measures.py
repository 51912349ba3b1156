"""The three recommended measures."""

RECOMMENDED = {
    "unbiased CKA": "the whole geometry",
    "RSA": "the order of distances",
    "mutual kNN": "the nearest neighbours",
}
"""They answer different questions, and their chance levels do not rise with the number of features."""
