"""The output test: does similarity decrease as predictions differ more?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.support.types import Seed
from shesha_bench.output_differences import disagreement, jensen_shannon
from shesha_bench.tests._base import Output
from shesha_bench.tests._kinds import ByPrediction

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.user_representations import Choices, Models


def _divergence(a: Output, b: Output) -> float:
    return jensen_shannon(a.probabilities, b.probabilities)


def _disagreement(a: Output, b: Output) -> float:
    return disagreement(a.probabilities, b.probabilities)


OUTPUT = ByPrediction(
    name="output",
    title="Output correlation",
    claim="Models are less similar the more their predictions differ.",
    rows=("jsd", "disagreement"),
    # Ranks exclude the divergence, which would count the test twice.
    counts={"disagreement": "spearman"},
    differences={"jsd": _divergence, "disagreement": _disagreement},
)


def output_correlation(
    representations: Models, probabilities: Models, measures: Choices = "ReSi", seed: Seed = 0
) -> pd.DataFrame:
    """Test whether models are less similar the more their outputs differ.

    Outputs are compared in two ways: by the Jensen-Shannon divergence averaged over rows (`jsd`), and by the share of
    rows for which the most probable classes differ (`disagreement`). The parameters (except `labels`) and the result
    are those of `accuracy_correlation`.
    """
    return OUTPUT.score_arrays(representations, probabilities, measures, seed)
