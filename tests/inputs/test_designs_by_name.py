"""What is said of rows follows their names, wherever it is given: another order of a table is not another design."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha import neuro
from shesha.coherence import coherence_by_group, coherence_of_differences

N = 60
NAMES = [f"cell {number}" for number in range(N)]
GROUP = np.repeat(np.arange(12), 5)
LABEL = np.repeat(["control", "a", "b"], [30, 16, 14])


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    batch = 2.0 * (GROUP % 2)[:, None] * rng.standard_normal(16)
    rows = rng.standard_normal((12, 16))[GROUP] + rng.standard_normal((N, 16)) + batch
    return pd.DataFrame(rows, index=NAMES)


def shuffled(values, name="what"):
    """The same by name, in another order."""
    return pd.Series(values, index=NAMES, name=name).sample(frac=1, random_state=3)


def unstated(result):
    """The result without statements on its inputs, which say that labels were reordered."""
    return replace(result, inputs=()) if hasattr(result, "inputs") else result


SPLIT = {"variant": "feature_split", "n_splits": 4, "seed": 0}
CASES = {
    "estimate groups": lambda label: shesha.estimate(frame(), groups=label(GROUP), n_bootstrap=20, **SPLIT),
    "estimate blocks": lambda label: shesha.estimate(frame(), blocks=label(GROUP % 2), n_bootstrap=20, **SPLIT),
    "chance groups": lambda label: shesha.estimate(
        frame(), groups=label(GROUP), n_permutations=19, **SPLIT, n_bootstrap=0
    ),
    "chance blocks": lambda label: shesha.estimate(
        frame(), blocks=label(GROUP), n_permutations=19, **SPLIT, n_bootstrap=0
    ),
    "chance keep": lambda label: shesha.estimate(
        frame(), keep=label(np.arange(N)), n_permutations=19, **SPLIT, n_bootstrap=0
    ),
    "chance covariates": lambda label: shesha.estimate(
        frame(),
        covariates=label(GROUP.astype(float)),
        blocks=label(GROUP % 2),
        n_permutations=19,
        **SPLIT,
        n_bootstrap=0,
    ),
    "audit groups": lambda label: shesha.audit(frame(), groups=label(GROUP), n_bootstrap=20, n_permutations=19),
    "coherence labels": lambda label: coherence_by_group(frame(), label(LABEL), "control", n_draws=50, seed=0),
    "coherence blocks": lambda label: coherence_by_group(
        frame(), LABEL, "control", blocks=label(np.arange(N) % 2), n_draws=50, seed=0
    ),
    "coherence groups": lambda label: coherence_by_group(
        frame(), LABEL, "control", groups=label(np.arange(N) % 3), n_draws=50, seed=0
    ),
    "differences": lambda label: coherence_of_differences(frame(), groups=label(GROUP), n_draws=50),
    "coupling": lambda label: neuro.behaviour_coupling(frame(), label(np.arange(N) ** 0.5), n_permutations=19),
    "blocks of trials": lambda label: neuro.centroid_drift(
        frame(), n_permutations=19, blocks=label(np.arange(N) // 30)
    ),
    "conditions": lambda label: neuro.discriminability(
        frame(), pd.DataFrame({"left": label(np.arange(N) % 2), "right": label(np.arange(N) % 3)}), n_permutations=19
    ),
    "doubts labels": lambda label: shesha.doubts(frame(), label(GROUP % 2)),
    "doubts groups": lambda label: shesha.doubts(frame(), groups=label(GROUP)),
    "doubts covariates": lambda label: shesha.doubts(frame(), covariates=label((GROUP % 2) + 0.0)),
    "doubts named covariates": lambda label: shesha.doubts(frame(), covariates={"batch": label((GROUP % 2) + 0.0)}),
    "doubts table": lambda label: shesha.doubts(frame(), covariates=label((GROUP % 2) + 0.0).to_frame()),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_another_order_of_the_names_changes_nothing(case):
    in_order = CASES[case](lambda values: pd.Series(values, index=NAMES, name="what"))
    assert str(unstated(CASES[case](shuffled))) == str(unstated(in_order))
    if case != "doubts labels":
        # It is said at all: the same values of other rows give something else.
        wrong = CASES[case](lambda values: pd.Series(np.random.default_rng(5).permutation(values), NAMES, name="what"))
        assert str(unstated(wrong)) != str(unstated(in_order))


@pytest.mark.filterwarnings("ignore:p-values may be too small")
@pytest.mark.parametrize("case", ["estimate groups", "chance keep", "doubts covariates"])
def test_names_of_other_rows_are_refused(case):
    with pytest.raises(ValueError, match="must have the same names as those of X"):
        CASES[case](lambda values: pd.Series(values, index=[f"donor {number}" for number in range(N)]))
