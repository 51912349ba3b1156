"""What one representation is like, apart from how stable it is: its spectrum and its shape, a number each."""

from shesha.descriptors._cards import card
from shesha.descriptors._registry import Descriptor, descriptor, descriptors
from shesha.descriptors.spectrum import (
    anisotropy,
    corrected_participation_ratio,
    effective_rank,
    participation_ratio,
)

__all__ = [
    "Descriptor",
    "anisotropy",
    "card",
    "corrected_participation_ratio",
    "descriptor",
    "descriptors",
    "effective_rank",
    "participation_ratio",
]
