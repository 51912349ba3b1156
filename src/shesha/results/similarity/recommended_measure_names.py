"""The three recommended measures."""

RECOMMENDED = {
    "unbiased CKA": "the whole geometry",
    "RSA": "the order of distances",
    "mutual kNN": "the nearest neighbours",
}
"""The recommended measures, each with what it compares; their chance levels do not rise with the number of features."""
