"""The memory budget: how it is written, how sizes read, and what is refused."""

import pytest

from shesha.support import memory


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (512, "0 KiB"),
        (10 * 1024, "10 KiB"),
        (1024**2 - 1, "1024 KiB"),
        (1024**2, "1 MiB"),
        (1024**3 - 1, "1024 MiB"),
        (1024**3, "1.0 GiB"),
        (1.5 * 1024**3, "1.5 GiB"),
    ],
)
def test_sizes_read_in_the_largest_unit_that_they_fill(n_bytes, text):
    assert memory.format_bytes(n_bytes) == text
