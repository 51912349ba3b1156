"""Numbers as texts: what is printed is the number up to its last digit, and counts agree with their verbs."""

import re

import pytest

from shesha.report import numeral
from shesha.results import diff, model_ranking
from shesha.support.wording import shorten

NAN = float("nan")
FORMATTERS = {
    "change": diff.format_change,
    "cell": numeral,
    "share": model_ranking.format_share,
}
VALUES = [0.0, 1e-7, 0.00049, 0.0005, 0.00051, 0.001, 0.00149, 0.0099, 0.01, 0.04962, 0.5, 0.99949, 1.0]
LARGE = {"change": 123.45678, "cell": 1234.5678}


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


@pytest.mark.parametrize("most", [5, 8, 12])
def test_names_are_cut_only_where_they_do_not_fit(most):
    for length in range(1, 20):
        name = "abcdefghijklmnopqrst"[:length]
        found = shorten(name, most)
        assert len(found) == min(length, most)
        assert found == name or (found[0], found[-1], "..." in found) == ("a", name[-1] if most > 5 else ".", True)
    assert shorten(" a \n b ", 5) == "a b"
