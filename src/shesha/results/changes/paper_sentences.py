"""Sentences with which a paper can report changes of a model."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.changes.diff import Diff
from shesha.results.changes.diff_report import diff_claim
from shesha.results.changes.vector_index_verdict import METRICS, IndexChange
from shesha.results.paper_sentences import claim

claim.register(Diff, diff_claim)


@claim.register
def _index(result: IndexChange) -> str:
    base = result["re-encodings"].value
    floor = f"; re-encodings of the old model found {base:.1%}" if base == base else ""
    ways = [score for score in result.recalls if not score.name.startswith("re-enc") and score.value == score.value]
    shares = ", ".join(
        f"{score.value:.1%}{say.interval(score.low, score.high, result.confidence)} "
        f"{_WAYS.get(score.name, f'after an {score.name}')}"
        for score in ways
    )
    return (
        f"New queries of layer {result.layer} found {shares} of their {result.k} true neighbours among the old vectors "
        f"of {result.n_rows:,} rows by {METRICS[result.metric]}{floor}"
    )


_WAYS = {
    "as it is": "as they are",
    "as it is, in halves": "as they are in halves of the rows",
    "linear map": "after a linear map",
}
