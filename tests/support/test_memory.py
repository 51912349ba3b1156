"""The memory budget: how it is written, how sizes read, and what is refused."""

import pytest

from shesha.support import memory


@pytest.mark.parametrize(
    ("setting", "n_bytes"),
    [
        *(("1000", 1000), ("3k", 3 * 1024), ("500M", 500 * 1024**2), ("2G", 2 * 1024**3), ("1T", 1024**4)),
        *(("2GiB", 2 * 1024**3), ("2 gb", 2 * 1024**3), (" 1.5g ", 3 * 1024**3 // 2), ("7b", 7)),
    ],
)
def test_a_budget_is_a_number_with_a_binary_unit(monkeypatch, setting, n_bytes):
    monkeypatch.setenv("SHESHA_MEMORY", setting)
    assert memory.memory_budget() == n_bytes


@pytest.mark.parametrize("setting", ["much", "-1", "2P", "2GG", "1..5G", "G"])
def test_other_budgets_are_refused(monkeypatch, setting):
    monkeypatch.setenv("SHESHA_MEMORY", setting)
    with pytest.raises(ValueError, match="SHESHA_MEMORY must be a number of bytes such as 2G or 500M, got "):
        memory.memory_budget()


def test_without_a_setting_it_is_a_quarter_of_the_machine(monkeypatch):
    monkeypatch.delenv("SHESHA_MEMORY", raising=False)
    monkeypatch.setattr(memory.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1001}.__getitem__, raising=False)
    assert memory.memory_budget() == 4096 * 1001 // 4
    monkeypatch.delattr(memory.os, "sysconf")
    assert memory.memory_budget() == 2 * 1024**3


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
    assert memory.readable(n_bytes) == text


def test_what_just_fits_is_not_refused(monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    memory.require(1024**2, "the table", "use fewer rows")
    message = "the table must fit the memory budget of 1 MiB, got 2 MiB: use fewer rows, or raise SHESHA_MEMORY"
    with pytest.raises(memory.MemoryBudgetError, match=message):
        memory.require(2 * 1024**2, "the table", "use fewer rows")
    with pytest.raises(memory.MemoryBudgetError):
        memory.require(1024**2 + 1, "the table", "use fewer rows")
