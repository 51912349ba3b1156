"""All that can be said of representations alone, composed of stability, descriptors, labels, faults and drift."""

from shesha.auditing.audit import audit

__all__ = ["audit"]
