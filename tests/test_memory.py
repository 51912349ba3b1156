"""The memory budget is read from the environment, and what exceeds it is refused with a way out."""

from __future__ import annotations

import os

import pytest

from shesha.support.memory import MemoryBudgetError, memory_budget, readable, require

WRITTEN = [
    ("1024", 1024),
    ("3k", 3 << 10),
    ("500M", 500 << 20),
    ("2G", 2 << 30),
    (" 1.5 gib ", 3 << 29),
    ("2GB", 2 << 30),
    ("1T", 1 << 40),
]


@pytest.mark.parametrize(("text", "n_bytes"), WRITTEN)
def test_the_budget_is_what_the_environment_says(monkeypatch, text, n_bytes):
    monkeypatch.setenv("SHESHA_MEMORY", text)
    assert memory_budget() == n_bytes


@pytest.mark.parametrize("unset", [None, ""])
def test_the_default_is_a_quarter_of_the_machine(monkeypatch, unset):
    monkeypatch.delenv("SHESHA_MEMORY", raising=False)
    if unset is not None:
        monkeypatch.setenv("SHESHA_MEMORY", unset)
    assert memory_budget() == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4


@pytest.mark.parametrize("text", ["lots", "-1G", "2X", "1e9", "1 2"])
def test_a_budget_that_is_no_size_is_refused(monkeypatch, text):
    monkeypatch.setenv("SHESHA_MEMORY", text)
    with pytest.raises(ValueError, match=rf"SHESHA_MEMORY must be a number of bytes such as 2G or 500M, got '{text}'"):
        memory_budget()


def test_the_refusal_names_budget_need_and_way_out(monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "100M")
    expected = (
        "the table must fit the memory budget of 100 MiB, got a need of 3.0 GiB: use less, or raise SHESHA_MEMORY"
    )
    with pytest.raises(MemoryBudgetError, match=expected):
        require(3 << 30, "the table", "use less")


def test_what_just_fits_is_allowed(monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "100M")
    require(100 << 20, "the table", "use less")
    with pytest.raises(MemoryBudgetError):
        require((100 << 20) + 1, "the table", "use less")


def test_sizes_are_printed_as_people_read_them():
    assert readable(3 << 29) == "1.5 GiB"
    assert readable(5 << 20) == "5 MiB"
