"""Numbers as texts: what is printed is the number up to its last digit, and counts agree with their verbs."""

import math
import re
from types import SimpleNamespace

import pytest

from shesha.results import MeasureChange, comparison, diff, model_ranking
from shesha.results.audit_verdict import _format_range
from shesha.results.comparison import format_range
from shesha.results.diff import cell
from shesha.results.number import numeral
from shesha.support.memory import readable
from shesha.support.wording import shorten

NAN = float("nan")
FORMATTERS = {
    "change": diff.format_number,
    "cell": numeral,
    "share": model_ranking.format_share,
    "known": comparison._format_known,
}
VALUES = [0.0, 1e-7, 0.00049, 0.0005, 0.00051, 0.001, 0.00149, 0.0099, 0.01, 0.04962, 0.5, 0.99949, 1.0]
LARGE = {"change": 123.45678, "cell": 1234.5678, "known": 1234.5678}


def parsed(text):
    """The number that a text says, and half of its last digit."""
    share = text.endswith("%")
    found = re.fullmatch(r"<?(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?%?", text)
    assert found, text
    exponent = int(found[3] or 0) - len(found[2] or "") - 2 * share
    return float(text.strip("<%")) / (100 if share else 1), 0.5 * 10.0**exponent


@pytest.mark.parametrize("name", FORMATTERS)
def test_what_is_printed_is_the_number_up_to_its_last_digit(name):
    for value in [*VALUES, LARGE.get(name, 0.123456)]:
        text = FORMATTERS[name](value)
        number, rounding = parsed(text)
        if text.startswith("<"):
            assert value < number and value < 0.0005
        else:
            assert abs(number - value) <= rounding * (1 + 1e-9), text
            # Two digits matter at least, or three decimals.
            assert abs(number - value) <= max(0.0005, 0.05 * abs(value))
            assert len(text) <= 10


@pytest.mark.parametrize("name", FORMATTERS)
def test_no_number_is_no_text_or_none(name):
    assert FORMATTERS[name](NAN) in ("", "none")


@pytest.mark.parametrize(
    ("value", "text"), [(1, "0 KiB"), (1023 * 1024, "1023 KiB"), (2**20, "1 MiB"), (2**30 - 2**20, "1023 MiB")]
)
def test_sizes_change_their_unit_where_the_next_one_begins(value, text):
    assert readable(value) == text
    assert readable(2**30) == "1.0 GiB" and readable(2**30 - 1).endswith("MiB")


def test_ranges_of_one_number_are_that_number():
    assert _format_range({1200}) == "1,200"
    assert _format_range({3, 1200, 40}) == "3 to 1,200"
    assert format_range(0.0, math.inf) == "from 0"
    assert format_range(-1.0, 1.0) == "-1 to 1"
    assert model_ranking.format_interval(NAN, NAN) == ""
    assert model_ranking.format_interval(0.1, 0.25) == "[0.100, 0.250]"


def test_neighbours_are_lost_in_per_cent():
    def change(label, value):
        return MeasureChange(name="a measure", value=value, low=NAN, high=NAN, noise=NAN, label=label)

    assert cell(change("neighbours lost", 0.125)) == "12.5%"
    assert cell(change("neighbours lost", NAN)) == "none"
    assert cell(change("RDM drift", 0.125)) == "0.125"


@pytest.mark.parametrize("most", [5, 8, 12])
def test_names_are_cut_only_where_they_do_not_fit(most):
    for length in range(1, 20):
        name = "abcdefghijklmnopqrst"[:length]
        found = shorten(name, most)
        assert found == name if length <= most else (len(found) == most and found == name[: most - 3] + "...")
    assert shorten(" a \n b ", 5) == "a b"


@pytest.mark.parametrize(
    ("n", "of", "text"),
    [
        (0, 1, "CKA is not"),
        (1, 1, "CKA is"),
        (0, 3, "None of 3 measures are"),
        (1, 3, "1 of 3 measures is"),
        (2, 3, "2 of 3 measures are"),
        (2, 2, "Both measures are"),
    ],
)
def test_counts_agree_with_their_verbs(n, of, text):
    assert comparison._count_phrase(n, [SimpleNamespace(name="CKA")] * of) == text
