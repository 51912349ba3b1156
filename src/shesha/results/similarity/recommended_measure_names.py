"""The names of the three recommended measures."""

RECOMMENDED = {
    "unbiased CKA": "the whole geometry",
    "RSA": "the order of distances",
    "mutual kNN": "the nearest neighbours",
}
"""The recommended measures, each with what it compares. Their chance levels do not rise with the number of features."""
