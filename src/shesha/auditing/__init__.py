"""Audits of representations: stability, descriptors, agreement with labels, data faults and drift."""

from shesha.auditing.audit import audit

__all__ = ["audit"]
