"""Jobs on workers that may die."""

from __future__ import annotations

import errno

import pytest

from shesha._warnings import NotEstimable
from shesha.runs import disk_is_full, no_reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("rows differ\nin many lines"), "ValueError: rows differ"),
        (MemoryError(), "MemoryError"),
        (NotEstimable("all rows are equal"), "all rows are equal"),
    ],
)
def test_reasons_are_one_line(error, reason):
    assert no_reason(error) == reason


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "full"), True),
        (OSError(errno.EDQUOT, "quota"), True),
        (OSError(errno.EACCES, "denied"), False),
        (RuntimeError("the loss is not finite"), False),
    ],
)
def test_only_a_full_disk_counts_as_one(error, full):
    assert disk_is_full(error) is full
