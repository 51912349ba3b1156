"""Published results beside one's own."""

import numpy as np
import pytest

from shesha_bench import add_published, compare_ranks, published, rank, rank_with_published

COLUMNS = ["domain", "dataset", "architecture", "pooling", "test", "quality", "measure", "value"]


@pytest.fixture
def own():
    """One measure of one's own, and CKA with options, on Cora with two networks."""
    frame = published()
    chosen = frame[(frame.dataset == "Cora") & frame.architecture.isin(["GCN", "SAGE"]) & (frame.measure == "CKA")]
    mine = chosen[COLUMNS].assign(measure="mine", value=chosen["value"] + 0.1)
    return (mine, chosen[COLUMNS].assign(measure="CKA(unbiased=True)"))


def test_published_scores_stand_for_measures_that_were_not_run(own):
    mine, _ = own
    found = add_published(mine)
    assert set(found["measure"]) == {"mine", *published()["measure"]}
    assert (found.groupby("measure").size() == len(mine)).all()
    assert set(found.loc[found["measure"] == "mine", "source"]) == {"own"}
    assert set(found.loc[found["measure"] != "mine", "source"]) == {"published"}
    ranks = rank(found).set_index("measure")["position"]
    assert ranks["mine"] < ranks["CKA"]
    marked = rank_with_published(mine).set_index("measure")
    assert marked["position"].to_dict() == ranks.to_dict()
    assert marked["source"].value_counts().to_dict() == {"published": published()["measure"].nunique(), "own": 1}


def test_a_measure_that_was_run_keeps_its_own_scores(own):
    _, cka = own
    found = add_published(cka)
    assert "CKA" not in set(found["measure"])
    assert (found["measure"] == "CKA(unbiased=True)").sum() == len(cka)


def test_nothing_stands_for_networks_that_were_not_published(own):
    mine, _ = own
    assert len(add_published(mine.assign(architecture="another"))) == len(mine)


def test_the_published_results_rank_as_themselves():
    found = compare_ranks(published())
    assert (found["position"] == found["published_position"]).all()
    np.testing.assert_allclose(found["mean"], found["published_mean"])
    assert len(found) == 72


def test_ranks_follow_the_scores():
    frame = published()
    better = frame.assign(value=frame["value"].where(frame["measure"] != "SVCCA", 2.0))
    found = compare_ranks(better).set_index(["domain", "measure"])
    assert (found.xs("SVCCA", level="measure")["position"] == 1).all()
    assert (found.xs("SVCCA", level="measure")["published_position"] > 1).all()


def test_nothing_in_common_is_an_empty_table(own):
    mine, _ = own
    assert compare_ranks(mine).empty
