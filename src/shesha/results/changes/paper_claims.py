"""What a paper or a pull request would say of a change of a model."""

from __future__ import annotations

from shesha.results import sentence_parts as say
from shesha.results.changes.diff import Diff
from shesha.results.changes.index_verdict import IndexChange
from shesha.results.changes.sentences import diff_claim
from shesha.results.paper_sentences import claim

claim.register(Diff, diff_claim)


@claim.register
def _index(result: IndexChange) -> str:
    base = result["re-encodings"].recall
    floor = f"; re-encodings of the old model found {base:.1%}" if base == base else ""
    ways = [one for one in result.recalls if one.way != "re-encodings" and one.recall == one.recall]
    told = ", ".join(
        f"{one.recall:.1%}{say.interval(one.low, one.high, 0.95)} {_WAYS.get(one.way, f'after an {one.way}')}"
        for one in ways
    )
    return (
        f"New queries of layer {result.layer} found {told} of their {result.k} true neighbours among the old vectors "
        f"of {result.n_rows:,} rows{floor}"
    )


_WAYS = {"as it is": "as they are", "linear map": "after a linear map"}
