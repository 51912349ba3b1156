"""A claim about steering is asked of encoders and of a causal model."""

import pytest

from shesha.studies.checks import AGREES, DIFFERS, HOLDS_NOT
from shesha.studies.published import Found, claim, unreachable
from shesha_studies.language._steering_claims import _both

YES = claim(True, "0.9", "no reason")
DIFFERENT = claim(False, "0.1", "Too few.", DIFFERS)
TAKEN = claim(False, "0.8", "A control.")


@pytest.mark.parametrize(
    ("encoders", "causal", "verdict", "why"),
    [
        (YES, YES, AGREES, ""),
        (TAKEN, YES, HOLDS_NOT, "A control. In SmolLM2 it is found."),
        (YES, DIFFERENT, DIFFERS, "SmolLM2: Too few."),
        (TAKEN, DIFFERENT, HOLDS_NOT, "A control. SmolLM2: Too few."),
    ],
)
def test_it_agrees_where_it_does_on_both(encoders, causal, verdict, why):
    found = _both(encoders, causal)
    assert (found.verdict, found.why) == (verdict, why)
    assert found.ours == f"{encoders.ours}; SmolLM2: {causal.ours}"


@pytest.mark.parametrize("alone", [Found(0.1, 0.01), unreachable("no weights")])
def test_numbers_and_what_cannot_be_asked_are_those_of_encoders(alone):
    assert _both(alone, YES) is alone
    assert _both(YES, None) is YES
