"""Claims as data, and the functions that judge them.

A claim is an entry in a file in the folder `published/claims` of a package of studies. It consists of the verbatim
quotation and its place, the data on which we tested it, and up to three rules. *Repeated?* asks whether our results
show the claim as the paper states it. *Survives?* asks whether it still holds after a control excludes another
explanation. A *premise* must be true before the claim can be tested. Each rule names a fact, an operator, a threshold
with its reason, and the words for each answer.

The places and labels of lesser claims are in a study's table of published lines. Their rules are in the folder
`published/rules`, in one file per table, under the keys of the lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan
from string import Formatter

from shesha_studies.framework.checks import (
    AGREES,
    BASES,
    HOLDS_NOT,
    INCONCLUSIVE,
    NOT_FOUND,
    NOT_RUN,
    STAND_IN,
    UNREACHABLE,
)
from shesha_studies.framework.facts import Fact, Facts

YES, NO, OPEN = "yes", "no", "inconclusive"
NOT_NEEDED, IMPOSSIBLE, ABSENT = "no control needed", "not possible here", "not run"
QUESTIONS = ("premise", "repeated", "survives")
_P_VALUE = "_p"
Line = tuple[str, str]
"""Place and label of a published line."""
_UNDECIDED = {OPEN: "The interval contains the threshold."}
_NO_FACT = "the fact {!r} is missing: the run lacks cells, or no function marked with `@study.facts` returns it"


def _judge_lower_limit(fact: Fact, threshold: float) -> str:
    low, high = fact.limits
    return YES if low > threshold else NO if high <= threshold else OPEN


def _judge_upper_limit(fact: Fact, threshold: float) -> str:
    low, high = fact.limits
    return YES if high < threshold else NO if low >= threshold else OPEN


def _judge_absence(fact: Fact, threshold: float) -> str:
    """Test of absence: an interval within the threshold supports it, otherwise, one that excludes zero refutes it."""
    low, high = fact.limits
    if -threshold <= low and high <= threshold:
        return YES
    return NO if low > 0 or high < 0 else OPEN


def _judge_p_value(fact: Fact, threshold: float) -> str:
    """Test by p-value; a value above the threshold decides nothing."""
    return YES if fact.value <= threshold else OPEN


def _judge_share(fact: Fact, threshold: float) -> str:
    """Test by the share of resampled tables that show the claim: nearly all, hardly any, or neither."""
    return YES if fact.value >= threshold else NO if fact.value <= 1 - threshold else OPEN


OPERATORS: Mapping[str, Callable[[Fact, float], str]] = {
    "above": _judge_lower_limit,
    "below": _judge_upper_limit,
    "within": _judge_absence,
    "significant": _judge_p_value,
    "often": _judge_share,
}


@dataclass(frozen=True)
class Rule:
    """The rule that answers one question: a fact, a threshold, and the words for each answer."""

    fact: str
    operator: str
    threshold: float
    reason: str
    words: Mapping[str, str]
    control: str = ""

    def __post_init__(self) -> None:
        """Raise an error for rules that would treat a large p-value as an answer."""
        if self.operator not in OPERATORS:
            raise ValueError(f"operator must be one of {', '.join(OPERATORS)}, got {self.operator!r}")
        if self.fact.endswith(_P_VALUE) != (self.operator == "significant"):
            raise ValueError(
                f"p-values must be judged by 'significant', and other facts must not be, got {self.fact!r}"
            )

    def answer(self, facts: Facts) -> str:
        """Return "yes", "no" or "inconclusive", or "not run" if the fact is missing."""
        fact = facts.get(self.fact)
        if fact is None or isnan(fact.value):
            return ABSENT
        return OPERATORS[self.operator](fact, self.threshold)


@dataclass(frozen=True)
class Claim:
    """A claim that a paper makes.

    Parameters
    ----------
    paper, where, quote : str
        Name of the paper, place in the paper, and verbatim quotation, in which "..." marks omitted words.
    name, study : str
        Name of the claim, and name of the study that decides it.
    on : str
        What our finding is based on: one of `BASES`, or "" if the study declares it.
    found : str
        Sentence about the finding, with names of facts in braces.
    repeated, survives : Rule or None
        Rules for the two answers. If `repeated` is None, the claim cannot be tested here. If `survives` is None, no
        control is needed.
    check : str
        Words in the name of the check that this claim decides; "" if there is none.
    card : bool
        Whether the claim is listed on the paper's scorecard.
    missing : str
        Why we cannot test the claim here: missing data, or an experiment that we did not run.
    premise : Rule or None
        Condition that must be met before the claim can be tested. For example, a correlation must exist before one can
        test whether it vanishes. If the condition is not met, both answers are inconclusive.
    conceded : str
        Place where the authors themselves report the result of the control; "" if they do not.
    otherwise : str
        Verdict if an answer is no; "" for the default verdict, which depends on `on`.
    """

    paper: str
    name: str
    study: str
    where: str
    quote: str
    on: str
    found: str
    repeated: Rule | None = None
    survives: Rule | None = None
    check: str = ""
    card: bool = True
    missing: str = ""
    premise: Rule | None = None
    otherwise: str = ""
    conceded: str = ""

    def __post_init__(self) -> None:
        """Raise an error for unknown bases, which would not be counted."""
        if self.on not in ("", *BASES):
            raise ValueError(f"on must be one of {', '.join(BASES)}, got {self.on!r}")


@dataclass(frozen=True)
class Judged:
    """A claim with its two answers, the finding, and its explanation."""

    claim: Claim
    repeated: str
    survives: str
    found: str
    why: str

    @property
    def sentence(self) -> str:
        """The finding and what it means."""
        return " ".join(filter(None, (self.found, self.why)))

    @property
    def verdict(self) -> str:
        """A single verdict for both answers; results on stand-ins cannot refute a claim."""
        answers = {self.repeated, self.survives}
        negative = self.claim.otherwise or (NOT_FOUND if self.claim.on == STAND_IN else HOLDS_NOT)
        ladder = ((IMPOSSIBLE, UNREACHABLE), (ABSENT, NOT_RUN), (NO, negative), (OPEN, INCONCLUSIVE))
        return next((verdict for answer, verdict in ladder if answer in answers), AGREES)


def judge(claim: Claim, facts: Facts) -> Judged:
    """Judge a claim by the facts that a study found.

    Parameters
    ----------
    claim : Claim
        The claim and its rules.
    facts : mapping of str to Fact
        Facts, under the names that the rules use.

    Returns
    -------
    Judged

    Examples
    --------
    >>> from shesha_studies.framework.checks import RECIPE
    >>> rule = Rule("rho", "above", 0.0, "a positive correlation", {"yes": "Found.", "no": "Not found."})
    >>> one = Claim("Paper", "a", "study", "3", "a and b go together", RECIPE, "It is {rho:.2f}.", rule)
    >>> judge(one, {"rho": Fact(0.4, 0.1, 0.6)}).sentence
    'It is 0.40 [0.10, 0.60]. Found.'
    >>> judge(one, {"rho": Fact(0.4, -0.1, 0.8)}).repeated
    'inconclusive'
    """
    repeated = IMPOSSIBLE if claim.repeated is None else claim.repeated.answer(facts)
    survives = NOT_NEEDED if claim.survives is None else claim.survives.answer(facts)
    if repeated == OPEN and survives == YES:
        # What is inconclusive cannot survive a control.
        survives = OPEN
    rules = [(claim.repeated, repeated), (claim.survives, survives)]
    if claim.premise is not None and (premise := claim.premise.answer(facts)) != YES:
        # If the premise is not met, neither question can be answered.
        repeated = survives = premise if premise == ABSENT else OPEN
        rules = [(claim.premise, premise)]
    words = [rule.words.get(answer, _UNDECIDED.get(answer, "")) for rule, answer in rules if rule is not None]
    why = " ".join(filter(None, (claim.missing, *words)))
    missing = [rule.fact for rule, answer in rules if rule is not None and answer == ABSENT]
    missing += sorted(fact_names(claim.found + why) - set(facts))
    if missing:
        return Judged(claim, ABSENT, ABSENT, "", _NO_FACT.format(missing[0]))
    return Judged(claim, repeated, survives, claim.found.format(**facts), why.format(**facts))


def fact_names(text: str) -> set[str]:
    """Return the names of facts that a text contains in braces."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}
