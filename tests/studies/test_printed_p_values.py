"""P-values that follow from a printed correlation agree with it up to rounding."""

import pandas as pd
import pytest

from shesha_studies.framework.checks import AGREES, DIFFERS
from shesha_studies.framework.published_checks import line_label, read_published
from shesha_studies.framework.study_lookup import studies
from shesha_studies.framework.tolerance import LOOSE
from shesha_studies.printed_p_values import printed_p_values


@pytest.mark.parametrize(
    ("key", "published", "verdict"),
    [
        ("p/153/0.746", "<1e-100", DIFFERS),
        ("p/153/0.746", "<1e-27", AGREES),
        ("p/30/0.03", "0.86", AGREES),
        ("p/30/0.030", "0.86", DIFFERS),
        ("p/26/-0.079", "0.701", AGREES),
        ("p/26/-0.079", "0.70", AGREES),
        ("p/26/-0.079", "0.69", DIFFERS),
        ("p/5/1.00", "<0.001", AGREES),
    ],
)
def test_a_p_value_agrees_if_the_rounded_correlation_allows_it(key, published, verdict):
    lines = pd.DataFrame({"where": ["Paper, Table 1"], "key": [key], "published": [published]})
    assert printed_p_values(lines)[f"Table 1 | {key}"].verdict == verdict


def test_a_wide_range_of_p_values_is_loose():
    lines = pd.DataFrame({"where": "Paper, Table 1", "key": ["p/2463/-0.01", "p/127/0.03"], "published": "0.77"})
    notes = [found.note for found in printed_p_values(lines).values()]
    assert [note.startswith(LOOSE) for note in notes] == [True, False]


@pytest.mark.parametrize("name", ["crispr", "neuroscience", "distinctness", "transfer"])
def test_the_correlation_of_a_key_is_printed_by_the_paper(name):
    published = read_published(next(one for one in studies() if one.name == name))
    keys = published.key.astype(str)
    lines = published[keys.str.match(r"p/[0-9]+/")]
    printed = {str(value).split()[0] for value in published.published[~keys.isin(lines.key)]}
    assert len(lines)
    for _, line in lines.iterrows():
        assert line.key.split("/")[2] in printed
        assert line_label(line)[1].endswith(", from its correlation")
