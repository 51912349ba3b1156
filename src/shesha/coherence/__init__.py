"""Test whether the rows of a group move together, away from the controls, more than by chance.

The same scores apply to single cells (perturbed cells against controls) and to steering (activations of two classes, or
paired differences).
"""

from shesha.coherence.coherence_by_group import coherence, coherence_by_group, coherence_of_differences
from shesha.coherence.scores import expected_mean_cosine, magnitude, mean_cosine, pairwise_cosine, snr, spread

__all__ = [
    "coherence",
    "coherence_by_group",
    "coherence_of_differences",
    "expected_mean_cosine",
    "magnitude",
    "mean_cosine",
    "pairwise_cosine",
    "snr",
    "spread",
]
