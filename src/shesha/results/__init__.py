"""Frozen results: a number with its uncertainty, printable, serialisable, tabular."""

from shesha.results._audit import Audit, Faults, RepresentationAudit
from shesha.results._chance import Chance
from shesha.results._drift import DriftPath
from shesha.results._estimate import Estimate

__all__ = [
    "Audit",
    "Chance",
    "DriftPath",
    "Estimate",
    "Faults",
    "RepresentationAudit",
]
