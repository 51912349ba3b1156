"""Checks of the published tables of the benchmark, and whether our order of the measures agrees."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from shesha.studies.checks import AGREES, INCONCLUSIVE, UNREACHABLE, Check
from shesha_studies.benchmark import _resi_scores_and_places as tables
from shesha_studies.benchmark._resi_facts import CHANCE, DOMAINS

TESTS = ("accuracy", "jsd", "disagreement", "label_randomization", "shortcut", "augmentation", "layer_monotonicity")
TABLES = {"graph": (7, 1), "language": (13, 1), "vision": (19, 2)}
"""First table of a domain, and the number of tables for each test, in order."""
REASONS = {
    "graph": "Flickr and OGBN-Arxiv are not in our small suites, because training on them takes hours on a GPU.",
    "language": "These networks are fine-tuned MultiBERTs, ALBERT and SmolLM2, which need gigabytes of weights and "
    "weeks of GPU time. Our small suite has MiniLM and a small transformer.",
    "vision": "These networks are trained on ImageNet-100 and CIFAR-100, which need a licence agreement and weeks "
    "of GPU time. Our small suite has small networks trained on Fashion-MNIST and CIFAR-10.",
}


_FEW_MODELS = (
    " Two sets of ten networks of our own, trained in the same way, have rank correlations of only 0.04 to 0.58 in the "
    "tests of accuracy and outputs."
)
_CALLED = {
    "jsd": "Jensen-Shannon divergence of outputs",
    "disagreement": "disagreement of predictions",
    "auprc": "AUPRC",
    "spearman": "Spearman",
    "conformity": "conformity rate",
}
"""Tests and scores whose names in the code need explanation."""


def table_checks(table: pd.DataFrame) -> Iterator[Check]:
    """Yield a check for each table, and for each of its columns that our suites have."""
    published = tables.scores("published")
    for domain in DOMAINS:
        start, each = TABLES[domain]
        for index, tests in enumerate(((TESTS[0],), TESTS[1:3], *((test,) for test in TESTS[3:]))):
            first = start + each * index
            where = f"ReSi, Table {first}" if each == 1 else f"ReSi, Tables {first} and {first + 1}"
            scores = published[(published.domain == domain) & published.test.isin(tests)]
            other = scores[scores.dataset != "Cora"]
            title = " and ".join(_CALLED.get(test, test.replace("_", " ")) for test in tests)
            yield Check(where, f"{title}: {len(other)} numbers", "numbers", None, UNREACHABLE, REASONS[domain])
            for (test, quality), lines in table[(table.domain == domain) & table.test.isin(tests)].groupby(
                ["test", "quality"], sort=False
            ):
                yield _order_check(where, domain, str(test), str(quality), lines)
    yield Check(
        "ReSi, Table 3",
        "an example of each domain: 432 numbers, repeated from Tables 7 to 30",
        "numbers",
        None,
        UNREACHABLE,
        "These numbers are for GraphSAGE on Flickr, a BERT and a vision network; see those tables.",
    )
    yield Check(
        "ReSi, Table 31",
        "seconds per comparison: 336 numbers",
        "seconds",
        None,
        UNREACHABLE,
        "The seconds were measured on other machines; ours are in docs/benchmark.",
    )


def _order_check(where: str, domain: str, test: str, quality: str, lines: pd.DataFrame) -> Check:
    """Return a check on whether the order of the measures agrees with the published columns beyond chance."""
    n_numbers = 24 * len(lines) if domain == "graph" else 24
    mean = lines.agreement.mean()
    # Columns of one domain are not independent, so the limit is that of a single column.
    same = "the same networks on Cora" if domain == "graph" else "our networks and data"
    title = f"{_CALLED.get(test, test.replace('_', ' '))}, {_CALLED.get(quality, quality)}"
    what = f"{title}: order of the measures, {same}, {n_numbers} numbers"
    printed, (result, ceiling, unlike) = "the table's columns", _agreement(domain, test, quality, lines)
    n_agreeing = int((lines.agreement > 2 * CHANCE).sum())
    if mean > 2 * CHANCE and n_agreeing > len(lines) / 2:
        why = (
            "Only the order of the measures is compared, not the numbers. Unrelated orders of 24 measures exceed "
            f"{2 * CHANCE:.2f} by chance in one case of 40.{unlike}"
            + ("" if domain == "graph" else f" {n_agreeing} of our {len(lines)} columns do.")
        )
        return Check(where, what, printed, result, AGREES, why)
    if mean > 2 * CHANCE or domain == "graph":
        why = (
            f"An agreement needs a mean and most columns above {2 * CHANCE:.2f}, which unrelated orders of 24 measures "
            f"exceed in one case of 40. Here the mean is {mean:.2f}, and {n_agreeing} of {len(lines)} are above."
            + (_FEW_MODELS if test in TESTS[:3] else "")
        )
        return Check(where, what, printed, result, INCONCLUSIVE, why)
    chance = (
        f"Unrelated orders of 24 measures have rank correlations of up to {2 * CHANCE:.2f} by chance in 39 of 40 cases"
    )
    why = (
        f"{chance}, and published columns agree with each other by {ceiling:.2f} only, so the order cannot be compared."
        if ceiling <= 2 * CHANCE
        else f"{chance}, and our networks and data differ from the published ones."
    )
    return Check(where, what, printed, result, INCONCLUSIVE, why)


def _agreement(domain: str, test: str, quality: str, lines: pd.DataFrame) -> tuple[str, float, str]:
    """Return our agreement in words, that of the published columns with each other, and which of ours do not agree."""
    mean, ceiling = lines.agreement.mean(), lines.published_agreement.mean()
    if domain != "graph":
        with_each_other = f"published columns with each other {ceiling:.2f}"
        low, high = lines.agreement.min(), lines.agreement.max()
        words = f"mean rank correlation of our {len(lines)} columns with the published ones {mean:.2f}"
        return f"{words} ({low:.2f} to {high:.2f}; {with_each_other})", ceiling, ""
    cora = tables.columns("published", domain, test, quality)["Cora"]
    ceiling = float(np.mean([tables.correlation(cora[a], cora[b]) for a, b in combinations(cora.columns, 2)]))
    each = ", ".join(f"{line.agreement:.2f} ({line.architecture})" for line in lines.itertuples())
    below = " and ".join(lines.architecture[lines.agreement <= 2 * CHANCE])
    return (
        f"rank correlations with the published column of the same network {each}, mean {mean:.2f} "
        f"(published columns of Cora with each other {ceiling:.2f})",
        ceiling,
        f" For {below} the order does not agree beyond chance." if below else "",
    )
