"""Audits: stability, descriptors, labels, faults and drift of representations."""

from shesha.auditing.audit import audit

__all__ = ["audit"]
