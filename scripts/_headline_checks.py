"""Data with a known truth for every function with a headline, and rules that judge the headline by this truth."""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shesha
from shesha import bio, coherence, drift, neuro, steering
from shesha_studies import session_table, steering_predictors

Rows = NDArray[np.float64]
Rng = np.random.Generator
LEVEL = 0.05
"""Declared level of all tests that do not declare another."""
TRUE, UNDECIDED, WARNED, WRONG = "true", "undecided", "wrong, with a warning", "wrong"


def answer(result: Any) -> str:
    """Return the headline of a result, or the first paragraph of its text."""
    return getattr(result, "headline", "") or str(result).partition("\n\n")[0]


@dataclass(frozen=True)
class Check:
    """A function, data with a known truth, and rules that judge the headline by this truth."""

    question: str
    """The function, as users call it."""
    truth: str
    """The data and what is true of them."""
    call: Callable[[Rng], Any]
    """Function that draws the data and returns the result."""
    rules: tuple[tuple[str, str], ...]
    """Regular expressions with the outcome of a headline that matches, in order; the first match decides."""
    read: Callable[[Any], str] = answer
    """Function that returns the sentence to judge."""
    level: float = LEVEL
    """Rate of false headlines that the function declares."""

    @property
    def name(self) -> str:
        """Function and truth."""
        return f"{self.question}: {self.truth}"

    def run(self, seed: int) -> tuple[str, bool]:
        """Return the sentence for one data set, and whether the result or a warning says that rows are dependent."""
        rng = np.random.default_rng([seed, zlib.crc32(self.truth.encode())])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = self.call(rng)
            except ValueError as error:
                result = f"refused: {error}"
        sentence = " ".join((result if isinstance(result, str) else self.read(result)).split())
        text = " ".join([str(result), *(str(warning.message) for warning in caught)])
        return sentence[:1000], DEPENDENCE.search(text) is not None

    def judge(self, sentence: str, warned: bool) -> str:
        """Return the outcome of a sentence; a sentence without a rule is no outcome."""
        outcome = next((outcome for pattern, outcome in self.rules if re.search(pattern, sentence)), "")
        return WARNED if outcome == WRONG and warned else outcome


DEPENDENCE = re.compile(
    r"depend on (one another|each other)|consecutive rows|\bdependent\b|not independent|confounded|not exchangeable"
    r"|(may be|is) too small|too short for|too many false positives|drift smoothly|rows repeat"
)
"""Words that warn of dependent rows or units in a result or warning."""


# Data with a known truth -----------------------------------------------------------------------------------------

N, D = 60, 20


def gaussian(rng: Rng, n: int = N, d: int = D) -> Rows:
    """Draw independent rows."""
    return rng.standard_normal((n, d))


def structured(rng: Rng, n: int = N, d: int = D, rank: int = 5) -> Rows:
    """Draw rows in which a few directions contain most of the variance, as in layers of a network."""
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + 0.3 * rng.standard_normal((n, d))


def clustered(rng: Rng, n: int = N, d: int = D, size: int = 5) -> Rows:
    """Draw rows of which each `size` share an offset, such as the cells of a donor."""
    return np.repeat(rng.standard_normal((n // size, d)), size, axis=0) + 0.5 * rng.standard_normal((n, d))


def autoregressive(rng: Rng, n: int = 150, d: int = D, memory: float = 0.9) -> Rows:
    """Draw a time series."""
    X = rng.standard_normal((n, d))
    for i in range(1, n):
        X[i] += memory * X[i - 1]
    return X


def with_share(rng: Rng, X: Rows, share: float) -> Rows:
    """Return rotated rows of which a share of the variance comes from X."""
    noise = rng.standard_normal(X.shape) * X.std()
    return np.sqrt(share) * X @ rotation(rng, X.shape[1]) + np.sqrt(1 - share) * noise


def rotation(rng: Rng, d: int) -> Rows:
    """Draw a random orthogonal matrix."""
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def shared(rng: Rng, share: float) -> tuple[Rows, Rows]:
    """Draw rows, and rotated rows of which a share of the variance comes from the first."""
    X = structured(rng)
    return X, with_share(rng, X, share)


def batches(rng: Rng, share: float) -> tuple[Rows, Rows]:
    """Draw two representations that contain the same three batches, and a share of each other within batches."""
    X = gaussian(rng)
    return tuple(A + 3 * rng.standard_normal((3, D))[BATCH] for A in (X, with_share(rng, X, share)))  # type: ignore[return-value]


BATCH = np.arange(N) % 3
DONORS = np.repeat(np.arange(N // 5), 5)
PAIRS: dict[str, tuple[Callable[[Rng], tuple[Rows, Rows]], bool, dict[str, Any]]] = {
    "unrelated": (lambda rng: (gaussian(rng), gaussian(rng)), False, {}),
    "unrelated, 12 rows": (lambda rng: (gaussian(rng, 12), gaussian(rng, 12)), False, {}),
    "unrelated, few strong directions": (lambda rng: (structured(rng), structured(rng)), False, {}),
    "unrelated, heavy tails (t, 2 degrees)": (
        lambda rng: (rng.standard_t(2, (N, D)), rng.standard_t(2, (N, D))),
        False,
        {},
    ),
    "unrelated, offset of 30 sd": (lambda rng: (gaussian(rng) + 30, gaussian(rng) + 30), False, {}),
    "unrelated, clusters of 5 rows, undeclared": (lambda rng: (clustered(rng), clustered(rng)), False, {}),
    "unrelated, clusters of 5 rows, groups=": (
        lambda rng: (clustered(rng), clustered(rng)),
        False,
        {"groups": DONORS},
    ),
    "unrelated time series, undeclared": (lambda rng: (autoregressive(rng), autoregressive(rng)), False, {}),
    "unrelated time series, shift=True": (
        lambda rng: (autoregressive(rng), autoregressive(rng)),
        False,
        {"shift": True},
    ),
    "unrelated within three batches that both share, blocks=": (lambda rng: batches(rng, 0), False, {"blocks": BATCH}),
    "half of the variance shared within three batches, blocks=": (
        lambda rng: batches(rng, 0.5),
        True,
        {"blocks": BATCH},
    ),
    "a tenth of the variance shared": (lambda rng: shared(rng, 0.1), True, {}),
    "half of the variance shared": (lambda rng: shared(rng, 0.5), True, {}),
    "rotated": (lambda rng: shared(rng, 1.0), True, {}),
}
"""Pairs of representations, whether they are related, and the options that declare their design."""


# Rules -----------------------------------------------------------------------------------------------------------


def presence(present: bool, yes: str, no: str) -> tuple[tuple[str, str], ...]:
    """Return rules for a test: `no` matches a test that found nothing, `yes` one that found something.

    A test that finds nothing is true if there is nothing, and otherwise undecided: it does not claim absence.
    """
    return (
        (r"cannot (be )?decide", UNDECIDED),
        (no, UNDECIDED if present else TRUE),
        (yes, TRUE if present else WRONG),
    )


def pair_checks() -> Iterator[Check]:
    """Yield the checks of functions that compare two representations."""
    several = (r"(All|Both|\d+ of) .*(is|are) above chance", r"None of .* above chance")
    one = (r"(is |, |: )above chance", r"not above chance")
    matched = (
        r"\d+ of \d+ units? (has|have) a match",
        r"(\b0|None) of \d+ units? (has|have) a match|cannot be decided",
    )
    compared = {"measures": "recommended", "calibrate": True}
    functions: dict[str, tuple[Callable[..., Any], tuple[str, str], str]] = {
        "compare(X, Y, calibrate=True), three recommended measures": (partial(shesha.compare, **compared), several, ""),
        "calibrate(X, Y, 'RSA')": (partial(shesha.calibrate, measure="RSA"), one, ""),
        "compare(X, Y, 'LinReg', calibrate=True)": (
            lambda X, Y, **o: shesha.compare(X, Y, "LinReg", calibrate=True, **o),
            one,
            r"^(?!.*(offset|few strong|a tenth))",
        ),
        "compare(Moments, 'CKA', calibrate=True)": (
            lambda X, Y: shesha.compare(shesha.Moments.of(X, Y), "CKA", calibrate=True),
            one,
            r"^(?!.*=)",
        ),
        "match_units(X, Y)": (shesha.match_units, matched, ""),
    }
    for truth, (draw, related, options) in PAIRS.items():
        for question, (function, rules, chosen) in functions.items():
            if re.search(chosen, truth):
                yield Check(
                    question,
                    truth,
                    lambda rng, draw=draw, function=function, options=options: function(*draw(rng), **options),
                    presence(related, *rules),
                )


def grid_checks() -> Iterator[Check]:
    """Yield the checks of grids of layers and of many pairs."""

    def layers(rng: Rng, related: bool) -> Any:
        first = {f"a{i}": structured(rng) for i in range(8)}
        second = {f"b{i}": structured(rng) for i in range(8)}
        if related:
            second["b3"] = with_share(rng, first["a5"], 1.0)
        return shesha.compare_layers(first, second, "CKA", calibrate=True)

    def models(rng: Rng, related: bool) -> dict[str, Rows]:
        many = {f"model {i}": structured(rng) for i in range(7)}
        if related:
            many["model 6"] = with_share(rng, many["model 2"], 1.0)
        return many

    def listed(rng: Rng, related: bool) -> Any:
        pairs = {f"pair {i}": (structured(rng), structured(rng)) for i in range(20)}
        if related:
            pairs["pair 7"] = shared(rng, 1.0)
        return shesha.compare_all(pairs, "CKA", calibrate=True)

    none = r"\b(0|None) of \d+ pairs? (is|are) above chance"
    some = r"\d+ of \d+ pairs? (is|are) above chance"
    for truth, related in (("no pair related", False), ("one pair related", True)):
        absent = ((none, TRUE), (some, WRONG), (r"closest .* not above chance", TRUE), ("closest .* above", WRONG))
        yield Check(
            "compare_layers(calibrate=True), 8 x 8",
            truth,
            partial(layers, related=related),
            ((none, WRONG), (r"a5 and b3: CKA [\d.]+, above chance", TRUE), ("closest layers are", WRONG))
            if related
            else absent,
        )
        yield Check(
            "compare_all(calibrate=True), 21 pairs",
            truth,
            lambda rng, related=related: shesha.compare_all(models(rng, related), "CKA", calibrate=True),
            ((none, WRONG), (some, TRUE)) if related else absent,
        )
        yield Check(
            "compare_all(calibrate=True), 20 named pairs",
            truth,
            partial(listed, related=related),
            ((none, WRONG), (some, TRUE)) if related else absent,
        )


def consensus_checks() -> Iterator[Check]:
    """Yield the checks of the consensus of several representations."""
    shared = r"[Nn]othing is shared|share no|not above chance|[Nn]o shared"
    outlier = r"(is an outlier|are outliers)"

    def members(rng: Rng, noise: Callable[[tuple[int, int]], Rows], k: int = 6, odd: bool = False) -> Any:
        X = structured(rng, 40, 12)
        many = {f"m{i}": X @ rotation(rng, 12) + noise(X.shape) for i in range(k)}
        if odd:
            many["m2"] = structured(rng, 40, 12)
        return shesha.consensus(many)

    yield Check(
        "consensus",
        "six unrelated",
        lambda rng: shesha.consensus({f"m{i}": gaussian(rng, 40, 12) for i in range(6)}),
        ((shared, TRUE), (outlier, WRONG), ("No representation is an outlier", WRONG)),
    )
    yield Check(
        "consensus",
        "six of one shape, Gaussian noise",
        lambda rng: members(rng, lambda shape: 0.5 * rng.standard_normal(shape)),
        ((outlier.replace("(is", "(?<!No representation )(is"), WRONG), ("No representation is an outlier", TRUE)),
    )
    yield Check(
        "consensus",
        "ten of one shape, heavy tails (t, 2 degrees)",
        lambda rng: members(rng, lambda shape: 0.5 * rng.standard_t(2, shape), 10),
        ((shared, UNDECIDED), ("No representation is an outlier", TRUE), (outlier, WRONG)),
    )
    yield Check(
        "consensus",
        "six, one of another shape",
        lambda rng: members(rng, lambda shape: 0.3 * rng.standard_normal(shape), odd=True),
        ((r"^m2 is an outlier", TRUE), ("No representation is an outlier", UNDECIDED), (outlier, WRONG)),
    )


def within_checks() -> Iterator[Check]:
    """Yield the checks of comparisons within classes."""
    classes = np.repeat(["A", "B", "C"], 40)

    def draw(rng: Rng, share: float, only: str = "ABC") -> tuple[Rows, Rows]:
        X = structured(rng, 120)
        Y = np.where(np.isin(classes, list(only))[:, None], with_share(rng, X, share), structured(rng, 120))
        return tuple(A + 5 * rng.standard_normal((3, D)).repeat(40, axis=0) for A in (X, Y))  # type: ignore[return-value]

    def several(rng: Rng) -> Any:
        X, unrelated = draw(rng, 0.0)
        return shesha.compare_within(X, {"unrelated": unrelated, "noisy": X + rng.standard_normal(X.shape)}, classes)

    def rules(kept: str, partly: str, lost: str, absent: str = UNDECIDED) -> tuple[tuple[str, str], ...]:
        return (
            (r"(?<!partly )kept (the geometry|it) within", kept),
            (r"partly kept (the geometry|it) within", partly),
            (r"lost (the geometry|it) within", lost),
            (r"undecided|[Nn]ot above chance", absent),
        )

    of_a, of_rest = (
        r" (the geometry|it) within [^(;]*\b(A|all)\b",
        r" (the geometry|it) within [^(;]*\b(B|C|all|both)\b",
    )
    truths: dict[str, tuple[Callable[[Rng], Any], tuple[tuple[str, str], ...]]] = {
        "nothing shared within three classes": (
            lambda rng: shesha.compare_within(*draw(rng, 0.0), classes),
            rules(WRONG, WRONG, TRUE),
        ),
        "a tenth of the variance shared within classes": (
            lambda rng: shesha.compare_within(*draw(rng, 0.1), classes),
            rules(WRONG, TRUE, WRONG),
        ),
        "rotated within classes": (
            lambda rng: shesha.compare_within(*draw(rng, 1.0), classes),
            rules(TRUE, UNDECIDED, WRONG),
        ),
        "rotated within class A, nothing shared within B and C": (
            lambda rng: shesha.compare_within(*draw(rng, 1.0, "A"), classes),
            (("kept" + of_rest, WRONG), ("lost" + of_a, WRONG), ("(?<!partly )kept" + of_a, TRUE), (".", UNDECIDED)),
        ),
    }
    for truth, (call, judged) in truths.items():
        yield Check("compare_within", truth, call, judged)
    yield Check(
        "compare_within",
        "one unrelated, one with equal noise",
        several,
        (
            (r"unrelated, compared with reference: [^.]*kept", WRONG),
            (r"noisy, compared with reference: .*lost", WRONG),
            (r"unrelated, .*lost .*noisy, .*partly kept", TRUE),
            (".", UNDECIDED),
        ),
    )


def diff_checks() -> Iterator[Check]:
    """Yield the checks of model changes."""
    unchanged = r"Nothing changed|No change exceeds noise"
    undecided = r"[Cc]annot (be )?decide|cannot be told|undecided"
    changed = r"changed beyond noise|replaced"

    def noisy(rng: Rng, X: Rows, share: float) -> Rows:
        return X + share * X.std(axis=0) * rng.standard_normal(X.shape)

    def two(rng: Rng, change: Callable[[Rng, Rows], Rows], offset: float = 0.0, n: int = 120, **options: Any) -> Any:
        X = structured(rng, n) + offset
        return shesha.diff(X, change(rng, X), seed=0, **options)

    def re_encoded(rng: Rng, share: float, change: float) -> Any:
        X = structured(rng, 120)
        again = [noisy(rng, X, share) for _ in range(3)]
        return shesha.diff(X, noisy(rng, noisy(rng, X, change), share), again=again, seed=0)

    null = ((undecided, UNDECIDED), (unchanged, TRUE), (changed, WRONG))
    effect = ((undecided, UNDECIDED), (changed, TRUE), (unchanged, WRONG))
    rotated = ((r"Nothing changed|same geometry|No change exceeds", TRUE), (changed, WRONG))
    yield Check(
        "diff", "re-encoded with equal noise, three re-encodings", partial(re_encoded, share=0.1, change=0), null
    )
    yield Check("diff", "change of five times the noise", partial(re_encoded, share=0.05, change=0.25), effect)
    yield Check("diff", "rotated", partial(two, change=lambda rng, X: X @ rotation(rng, D)), rotated)
    yield Check("diff", "scaled by 3", partial(two, change=lambda rng, X: 3 * X), rotated)
    yield Check("diff", "replaced", partial(two, change=lambda rng, X: structured(rng, len(X))), effect)
    yield Check(
        "diff",
        "30 % of the signal changed",
        partial(two, change=lambda rng, X: noisy(rng, X, 0.3)),
        effect,
    )
    yield Check(
        "diff",
        "30 % of the signal changed, offset of 30 sd",
        partial(two, change=lambda rng, X: noisy(rng, X, 0.3), offset=30.0),
        effect,
    )

    def layers(rng: Rng, before: Sequence[str] = "abc", changed: str = "") -> Any:
        first = {name: structured(rng) for name in before}
        return shesha.diff(
            first, {name: noisy(rng, X, 0.3 if name == changed else 0.001) for name, X in first.items()}, seed=0
        )

    yield Check("diff, three layers", "no layer changed", layers, null)
    yield Check(
        "diff, three layers",
        "layer b changed by 30 %",
        partial(layers, changed="b"),
        ((r"^1 of 3 layers changed.*change is in b:", TRUE), (unchanged, WRONG), (changed, WRONG)),
    )

    def index(rng: Rng, n: int, rotate: bool) -> Any:
        X = structured(rng, n, 16)
        Y = X @ rotation(rng, 16) if rotate else structured(rng, n, 16)
        return shesha.diff(X, Y, index=True, seed=0)

    def of_index(result: Any) -> str:
        return str(result.index.headline if result.index is not None else result)

    keep = r"Index: keep"
    few = r"^refused|too few|cannot|not tested|not judged"
    for n in (20, 40, 400):
        yield Check(
            "diff(index=True)",
            f"unrelated, {n} rows",
            partial(index, n=n, rotate=False),
            ((few, UNDECIDED), (keep, WRONG), (r"map new queries", WRONG), (r"re-embed", TRUE)),
            read=of_index,
        )
        yield Check(
            "diff(index=True)",
            f"rotated, {n} rows",
            partial(index, n=n, rotate=True),
            (
                (keep, WRONG),
                (r"map new queries", TRUE),
                (few, UNDECIDED),
                (r"re-embed", UNDECIDED if n < 60 else WRONG),
            ),
            read=of_index,
        )

    labels = np.repeat(np.arange(4), 30)

    def classes(rng: Rng, moved: bool, donors: bool, crossed: bool = False) -> Any:
        centres = 2 * rng.standard_normal((4, D))
        X = centres[labels] + rng.standard_normal((120, D))
        Y = X + 0.02 * rng.standard_normal(X.shape)
        options: dict[str, Any] = {}
        if moved:
            Y[labels == 3] += 3 * rng.standard_normal(D)
        if donors:
            donor = np.arange(120) % 12 if crossed else np.arange(120) // 10
            Y = Y + rng.standard_normal((12, D))[donor]
            options["groups"] = donor
        return shesha.diff(X, Y, labels, seed=0, **options)

    def movements(result: Any) -> str:
        return "; ".join(pair.in_words for pair in result.classes if pair.significant) or "no class moved"

    yield Check(
        "diff(labels=), classes that moved",
        "no class moved",
        partial(classes, moved=False, donors=False),
        (("no class moved", TRUE), (".", WRONG)),
        movements,
    )
    yield Check(
        "diff(labels=, groups=donor), classes that moved",
        "rows of donors spread out, no class moved",
        partial(classes, moved=False, donors=True),
        (("moved (apart|closer)", WRONG), ("contracted", WRONG), (".", TRUE)),
        movements,
    )
    yield Check(
        "diff(labels=, groups=donor), classes that moved",
        "offsets of donors that have all classes, no class moved",
        partial(classes, moved=False, donors=True, crossed=True),
        (("moved (apart|closer)", WRONG), ("contracted", WRONG), (".", TRUE)),
        movements,
    )
    yield Check(
        "diff(labels=), classes that moved",
        "class 3 of 4 moved",
        partial(classes, moved=True, donors=False),
        (
            ("no class moved", UNDECIDED),
            (r"(^|; )(?![^;]*\b3\b)[^;]+", WRONG),
            (".", TRUE),
        ),
        movements,
    )


def stability_checks() -> Iterator[Check]:
    """Yield the checks of audits."""
    options = {"n_bootstrap": 50}
    not_above, above = r"Not above chance", r"Stable above chance|[Aa]bove chance|Stable across random directions"
    cases: dict[str, tuple[Callable[[Rng], Rows], bool]] = {
        "independent features": (gaussian, False),
        "independent features, heavy tails": (lambda rng: rng.standard_t(2, (N, D)), False),
        "independent features, 12 rows": (lambda rng: gaussian(rng, 12), False),
        "independent features, offset of 30 sd": (lambda rng: gaussian(rng) + 30, False),
        "few strong directions": (structured, True),
        "a third of the variance shared": (lambda rng: 0.3 * structured(rng) + gaussian(rng), True),
    }
    for truth, (draw, stable) in cases.items():
        yield Check(
            "audit(X)",
            truth,
            lambda rng, draw=draw: shesha.audit(draw(rng), **options),
            presence(stable, above, not_above),
        )

    def labelled(rng: Rng, shift: float, donors: bool) -> Any:
        y = np.repeat([0, 1], N // 2)
        X = gaussian(rng) + shift * y[:, None] * rng.standard_normal(D)
        if donors:
            X += 1.5 * np.repeat(rng.standard_normal((6, D)), N // 6, axis=0)
        return shesha.audit(X, y, **options)

    def of_labels(result: Any) -> str:
        found = re.search(r"Labels: .*?(?=\n\s*\n|Most stable|\Z)", str(result), re.S)
        return found.group() if found else str(result)

    rules = (r"(closest|closer than other rows)", r"not (significantly )?closer than other rows")
    truths: dict[str, tuple[float, bool]] = {
        "labels unrelated": (0.0, False),
        "labels unrelated, three donors per class, undeclared": (0.0, True),
        "classes differ slightly": (0.4, False),
        "classes differ": (1.0, False),
    }
    for truth, (shift, donors) in truths.items():
        yield Check(
            "audit(X, labels)",
            truth,
            partial(labelled, shift=shift, donors=donors),
            (("hardly closer", UNDECIDED), *presence(shift > 0, *rules)),
            of_labels,
        )
    yield Check("doubts(X)", "independent features", lambda rng: shesha.doubts(gaussian(rng)), CLEAN, str)
    yield Check("doubts(X)", "few strong directions", lambda rng: shesha.doubts(structured(rng)), CLEAN, str)


CLEAN = (("no problem found", TRUE), (".", WRONG))


def ranking_checks() -> Iterator[Check]:
    """Yield the checks of rankings of models."""

    def ranked(rng: Rng, kind: str) -> Any:
        truth = structured(rng, 40, 12)
        subjects = [truth + rng.standard_normal(truth.shape) for _ in range(6)]
        models = {
            "equal": {"a": structured(rng, 40, 12), "b": structured(rng, 40, 12)},
            "one true": {"true": truth, "b": structured(rng, 40, 12)},
            "alone": {"true": truth, "b": truth + 2 * rng.standard_normal(truth.shape)},
        }[kind]
        return shesha.rank_models(subjects, models, seed=0)

    better, equal = r"significantly better than", r"not significantly closer"
    yield Check(
        "rank_models",
        "both models unrelated to the data",
        partial(ranked, kind="equal"),
        presence(False, better, equal),
    )
    yield Check(
        "rank_models",
        "one model true",
        partial(ranked, kind="one true"),
        ((r"^true explains the data best.*" + better, TRUE), (equal, UNDECIDED), (better, WRONG)),
    )
    yield Check(
        "rank_models, noise ceiling",
        "one model true",
        partial(ranked, kind="one true"),
        (
            (r"true[^;.]* (do|does) not differ", TRUE),
            (r"true[^;.]* reach", TRUE),
            (r"every model|no model", WRONG),
            (".", WRONG),
        ),
        lambda result: str(result).partition("The noise ceiling")[2].partition("\n\n")[0],
    )


def recording_checks() -> Iterator[Check]:
    """Yield the checks of recordings."""

    def session(rng: Rng, tuning: float, drifting: float = 0.0, base: Rows | None = None) -> tuple[Rows, Any]:
        shown = rng.permutation(np.tile(np.arange(6), 12))
        means = rng.standard_normal((6, 30)) if base is None else base
        slow = np.cumsum(rng.standard_normal((72, 30)), axis=0) / 8
        return tuning * means[shown] + rng.standard_normal((72, 30)) + drifting * slow, shown

    def half_tuned(rng: Rng) -> tuple[Rows, Any]:
        return session(rng, 1.0, base=np.where(np.arange(30) < 10, rng.standard_normal((6, 30)), 0))

    recordings: dict[str, tuple[Callable[[Rng], tuple[Rows, Any]], bool]] = {
        "no condition differs": (lambda rng: session(rng, 0.0), False),
        "no condition differs, slow drift": (lambda rng: session(rng, 0.0, 1.0), False),
        "conditions differ slightly": (lambda rng: session(rng, 0.3), True),
        "conditions differ in a third of the neurons": (half_tuned, True),
        "conditions differ": (lambda rng: session(rng, 1.0), True),
    }
    for truth, (draw, differ) in recordings.items():
        rules = presence(differ, "above chance", "not above chance")
        for function in (neuro.trial_split, neuro.discriminability):
            yield Check(
                f"neuro.{function.__name__}",
                truth,
                lambda rng, draw=draw, function=function: function(*draw(rng)),
                rules,
            )
        yield Check("neuro.over_time", truth, lambda rng, draw=draw: _over_time(*draw(rng)), rules)
        yield Check(
            "session_table, 4 combinations, uncorrected",
            truth,
            lambda rng, draw=draw: session_table.session_table(
                [session_table.Session(*draw(rng), ["VISp"] * 15 + ["CA1"] * 15) for _ in range(2)],
                scores=("trial_split",),
            ),
            ((r"\b0 of \d+ combinations", UNDECIDED if differ else TRUE), (".", TRUE if differ else WRONG)),
            level=1 - (1 - LEVEL) ** 4,
        )

    def trials(rng: Rng, drifting: float) -> Rows:
        return session(rng, 0.0, drifting)[0] + 3

    for truth, drifting in (("independent trials", 0.0), ("slow drift", 2.0)):
        below = presence(drifting > 0, r"(?<!not )(below|beyond) chance", r"^[^\n]*?not below chance")
        yield Check(
            "neuro.centroid_drift",
            truth,
            lambda rng, drifting=drifting: neuro.centroid_drift(trials(rng, drifting)),
            below,
        )

    def coupled(rng: Rng, share: float, slow: float, trend: float) -> Any:
        X = trials(rng, slow)
        slow_outcome = np.cumsum(rng.standard_normal(72)) / 4
        outcome = share * (np.linalg.norm(X, axis=1) - np.linalg.norm(X, axis=1).mean()) + rng.standard_normal(72)
        ramp = trend * np.linspace(-1.0, 1.0, 72)
        return neuro.behaviour_coupling(X + ramp[:, None], outcome + slow * slow_outcome + 2 * ramp)

    for truth, share, slow, trend in (
        ("outcome unrelated", 0.0, 0.0, 0.0),
        ("outcome and responses drift independently", 0.0, 1.0, 0.0),
        ("outcome and responses rise over the session", 0.0, 0.0, 1.0),
        ("outcome follows the size of responses", 2.0, 0.0, 0.0),
    ):
        yield Check(
            "neuro.behaviour_coupling",
            truth,
            partial(coupled, share=share, slow=slow, trend=trend),
            presence(share > 0, "beyond chance", "not beyond chance"),
        )

    def pairs(rng: Rng, tuned: bool) -> Any:
        base = np.zeros((6, 30))
        if tuned:
            base[3] = 2.0
        return neuro.crossnobis_test(*session(rng, 1.0, base=base))

    none = r"^(0|None) of \d+ pairs of conditions differ"
    yield Check(
        "neuro.crossnobis_test",
        "no condition differs",
        partial(pairs, tuned=False),
        ((none, TRUE), (r"of \d+ pairs of conditions differ", WRONG)),
    )
    yield Check(
        "neuro.crossnobis_test",
        "one of six conditions differs",
        partial(pairs, tuned=True),
        ((none, WRONG), (r"of \d+ pairs of conditions differ", TRUE), ("cannot be decided", UNDECIDED)),
    )

    def sessions(rng: Rng, change: bool) -> Any:
        first = rng.standard_normal((6, 30))
        second = rng.standard_normal((6, 30)) if change else first
        return neuro.session_drift({"one": session(rng, 1.0, base=first), "two": session(rng, 1.0, base=second)})

    yield Check(
        "neuro.session_drift",
        "no drift between sessions",
        partial(sessions, change=False),
        ((r"[Nn]o (significant )?change|not beyond|[Nn]o drift|[Nn]o pair", TRUE), (r"Largest change|changed", WRONG)),
    )
    yield Check(
        "neuro.session_drift",
        "other tuning in the second session",
        partial(sessions, change=True),
        (
            (r"[Nn]o (significant )?change|not beyond|[Nn]o drift|[Nn]o pair", UNDECIDED),
            (r"Largest change|changed", TRUE),
        ),
    )


def _over_time(X: Rows, shown: Any) -> Any:
    """Return the agreement between two time windows with the same noise in part."""
    rng = np.random.default_rng(0)
    return neuro.over_time(np.stack([X + 0.5 * rng.standard_normal(X.shape) for _ in range(2)], axis=2), shown)


def steering_checks() -> Iterator[Check]:
    """Yield the checks of steering."""

    def steered(rng: Rng, shift: float) -> Any:
        y = np.arange(N) % 2
        return steering.steerability(gaussian(rng, N, 8) + shift * y[:, None], y, n_draws=39, seed=0)

    def layers(rng: Rng, shift: float) -> Any:
        y = np.arange(N) % 2
        many = {f"layer {i}": gaussian(rng, N, 8) for i in range(4)}
        many["layer 2"] = many["layer 2"] + shift * y[:, None]
        return steering.rank_layers(many, y, n_draws=39, seed=0)

    rules = ("above", r"not above")
    yield Check("steering.steerability", "classes alike", partial(steered, shift=0.0), presence(False, *rules))
    yield Check("steering.steerability", "classes differ", partial(steered, shift=1.5), presence(True, *rules))
    yield Check(
        "steering.rank_layers", "classes alike in four layers", partial(layers, shift=0.0), presence(False, *rules)
    )
    yield Check(
        "steering.rank_layers",
        "classes differ in one layer",
        partial(layers, shift=1.5),
        ((r"^Best layer: layer 2 .*(?<!not )above", TRUE), ("not above", UNDECIDED), ("above", WRONG)),
    )

    def few(rng: Rng, shift: float) -> Any:
        y = np.arange(N) % 2
        return steering_predictors.predictors(gaussian(rng, N, 8) + shift * y[:, None], y, seed=0)

    for truth, shift in (("classes alike", 0.0), ("classes differ", 1.5)):
        yield Check(
            "steering_predictors.predictors, 6 predictors, uncorrected",
            truth,
            partial(few, shift=shift),
            ((r"^0 of", UNDECIDED if shift else TRUE), (r"^\d of", TRUE if shift else WRONG)),
            level=1 - (1 - LEVEL) ** 6,
        )

    def table(rng: Rng, share: float) -> Any:
        names = {name: rng.standard_normal(30) for name in "abc"}
        target = share * names["a"] + rng.standard_normal(30) + names["c"]
        return steering_predictors.partial_correlations({"drop": target, **names}, "drop", covariates=("c",), seed=0)

    for truth, share in (("drop depends on the covariate alone", 0.0), ("drop depends on predictor a", 1.0)):
        yield Check(
            "steering_predictors.partial_correlations, two predictors",
            truth,
            partial(table, share=share),
            (
                ("not significant", UNDECIDED if share else TRUE),
                (r": a \(", TRUE if share else WRONG),
                (r": b \(", WRONG),
            ),
        )


def cell_checks() -> Iterator[Check]:
    """Yield the checks of shifts of perturbed cells."""

    def groups(rng: Rng, shift: float, donors: int = 0, declared: bool = False) -> Any:
        labels = np.repeat(["control", "one", "two"], [90, 30, 30])
        X = rng.standard_normal((150, 10))
        X[labels == "one"] += shift * np.eye(10)[0]
        donor = np.concatenate([np.arange(size) % max(donors, 1) for size in (90, 30, 30)])
        options: dict[str, Any] = {}
        if donors:
            for name in ("one", "two"):
                for k in range(donors):
                    X[(labels == name) & (donor == k)] += 1.5 * rng.standard_normal(10)
            if declared:
                options = {"groups": donor}
        return coherence.coherence_by_group(X, labels, control="control", n_draws=199, seed=0, **options)

    none = r"^(0|None) of \d+ |[Nn]o chance level|cannot be decided|[Tt]oo few"
    yield Check(
        "coherence_by_group", "no group shifts", partial(groups, shift=0.0), ((none, TRUE), (r"^\d+ of \d+", WRONG))
    )
    yield Check(
        "coherence_by_group",
        "one group shifts",
        partial(groups, shift=1.0),
        ((none, UNDECIDED), (r"above chance.*: one\b(?!.*two)", TRUE), (r"^\d+ of", WRONG)),
    )
    for donors in (3, 4, 8):
        yield Check(
            "coherence_by_group(groups=donor)",
            f"each of {donors} donors shifts in its own direction",
            partial(groups, shift=0.0, donors=donors, declared=True),
            ((none, TRUE), (r"^\d+ of \d+", WRONG)),
        )

    def cells(rng: Rng, shift: float) -> Any:
        from anndata import AnnData

        labels = np.repeat(["control", "one", "two", "three"], [60, 20, 20, 20])
        X = rng.standard_normal((120, 10))
        X[labels == "one"] += shift
        found = AnnData(X, obs={"perturbation": labels})
        found.obsm["X_pca"] = X
        return bio.e_distances(found, "perturbation", control="control")

    none = r"^(0|None) of"
    yield Check("bio.e_distances", "no group shifts", partial(cells, shift=0.0), ((none, TRUE), (r"^\d+ of", WRONG)))
    yield Check(
        "bio.e_distances",
        "one of three groups shifts",
        partial(cells, shift=0.7),
        (("cannot be decided", UNDECIDED), (none, UNDECIDED), (r"^\d of", TRUE)),
    )


UNCHANGED = (("(?i)^ok", TRUE), ("(?i)^(watch|not estimable)", UNDECIDED), ("(?i)^alert", WRONG))
CHANGED = (("(?i)^(ok|watch|not estimable)", UNDECIDED), ("(?i)^alert", TRUE))


def drift_checks() -> Iterator[Check]:
    """Yield the checks of monitors and of two samples."""

    def monitor(rng: Rng, change: float) -> Any:
        X = structured(rng)
        again = [X + 0.01 * rng.standard_normal(X.shape) for _ in range(19)]
        return drift.DriftMonitor(X, nulls=again, false_alarm=LEVEL, seed=0).check(
            X + (0.01 + change) * rng.standard_normal(X.shape)
        )

    yield Check(
        "DriftMonitor.check",
        "re-encoded without a change",
        partial(monitor, change=0.0),
        UNCHANGED,
    )
    yield Check("DriftMonitor.check", "small change", partial(monitor, change=0.03), CHANGED)

    def stream(rng: Rng, draw: Callable[[Rng, int], Rows], shift: float) -> Any:
        watched = drift.DriftMonitor(draw(rng, 200), false_alarm=LEVEL, seed=0)
        verdict = None
        for _ in range(5):
            verdict = watched.update(draw(rng, 40) + shift)
        return verdict

    independent = lambda rng, n: gaussian(rng, n, 8)  # noqa: E731
    frames = lambda rng, n: autoregressive(rng, n, 8)  # noqa: E731
    yield Check(
        "DriftMonitor.update", "independent rows, no change", partial(stream, draw=independent, shift=0.0), UNCHANGED
    )
    yield Check(
        "DriftMonitor.update", "frames of a film, no change", partial(stream, draw=frames, shift=0.0), UNCHANGED
    )
    yield Check(
        "DriftMonitor.update",
        "inputs shifted by 1 sd",
        partial(stream, draw=independent, shift=1.0),
        CHANGED,
    )

    def stopped(rng: Rng, draw: Callable[[Rng, int], Rows], shift: float) -> Any:
        return drift.conformal_stream(draw(rng, 200), draw(rng, 200) + shift)

    for truth, draw, shift in (
        ("independent rows, no change", independent, 0.0),
        ("frames of a film, no change", frames, 0.0),
        ("inputs shifted by 1 sd", independent, 1.0),
    ):
        yield Check(
            "conformal_stream",
            truth,
            partial(stopped, draw=draw, shift=shift),
            CHANGED if shift else UNCHANGED,
            level=0.01,
        )

    def tolerant(rng: Rng, change: float) -> Any:
        X = structured(rng)
        return drift.DriftMonitor(X, false_alarm=LEVEL, seed=0).check(X + change * rng.standard_normal(X.shape))

    yield Check(
        "DriftMonitor.check, without re-encodings",
        "change far below the tolerance",
        partial(tolerant, change=0.02),
        UNCHANGED,
    )
    yield Check(
        "DriftMonitor.check, without re-encodings",
        "half of the signal changed",
        partial(tolerant, change=1.0),
        CHANGED,
    )
    differ = (r"the samples differ", r"do not differ|no difference|not differ")
    samples: dict[str, tuple[Callable[[Rng], tuple[Rows, Rows]], bool]] = {
        "one distribution": (lambda rng: (gaussian(rng), gaussian(rng)), False),
        "one distribution, 12 rows": (lambda rng: (gaussian(rng, 12), gaussian(rng, 12)), False),
        "one distribution, heavy tails": (lambda rng: (rng.standard_t(2, (N, D)), rng.standard_t(2, (N, D))), False),
        "one distribution, clusters of 5 rows": (lambda rng: (clustered(rng), clustered(rng)), False),
        "means differ by 0.3 sd": (lambda rng: (gaussian(rng), gaussian(rng) + 0.3), True),
        "means differ by 1 sd": (lambda rng: (gaussian(rng), gaussian(rng) + 1), True),
        "variances differ by half": (lambda rng: (gaussian(rng), 1.5 * gaussian(rng)), True),
    }
    for truth, (pair, other) in samples.items():
        yield Check("two_sample", truth, lambda rng, pair=pair: drift.two_sample(*pair(rng)), presence(other, *differ))


SUBJECTS: Mapping[str, Callable[[], Iterable[Check]]] = {
    "Two representations": pair_checks,
    "Layers and many pairs": grid_checks,
    "Consensus": consensus_checks,
    "Within classes": within_checks,
    "Model changes": diff_checks,
    "Stability": stability_checks,
    "Rankings of models": ranking_checks,
    "Recordings": recording_checks,
    "Steering": steering_checks,
    "Perturbed cells": cell_checks,
    "Monitoring": drift_checks,
}
