"""Published results, ranks, tables and families."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from shesha_bench.ranks import (
    CELL,
    QUALITY_OF,
    TYPES,
    add_published,
    agreement,
    compare_ranks,
    published,
    published_runtimes,
    rank,
    rank_table,
    rank_with_published,
    table,
)
from shesha_bench.report_page import _answer
from shesha_bench.scores import spearman
from shesha_bench.submissions import _basis, _number


@pytest.fixture(scope="module")
def results():
    return published()


def made(values, **columns):
    """Results of one instance: values by measure."""
    fixed = {
        "domain": "d",
        "dataset": "s",
        "architecture": "a",
        "pooling": "",
        "test": "accuracy",
        "quality": "spearman",
    }
    return pd.DataFrame([fixed | columns | {"measure": m, "value": v} for m, v in values.items()])


def test_the_published_frame(results):
    assert results.shape == (8640, 9) and results["value"].isna().sum() == 140
    assert results["value"].dtype == float and set(results["pooling"]) == {"", "cls", "mean"}
    assert not results.duplicated([*CELL, "measure"]).any()
    assert results["value"].abs().max() <= 1
    assert results["measure"].nunique() == 24
    assert set(results["significance_stars"]) <= {0, 1, 2}


def test_the_published_measures_are_the_librarys(results):
    from shesha.measures import choose

    ours = {measure.name for measure in choose("ReSi")}
    assert set(results["measure"]) == ours == {measure for found in TYPES.values() for measure in found}


def test_the_published_runtimes(results):
    found = published_runtimes()
    assert found.shape == (24, 14) and set(found.index) == set(results["measure"])
    assert found.loc["IMD", "RNet101"] == 4231.7 and found.notna().all(axis=None)


def test_the_papers_own_ranking(results):
    found = rank(results).set_index(["domain", "measure"])["position"]
    assert (found["language", "CKA"], found["vision", "CKA"], found["graph", "CKA"]) == (1, 8, 11)


def test_ranks_by_loops(results):
    chosen = results[(results["domain"] == "language") & (results["pooling"] == "cls")]
    ranks = {measure: [] for measure in chosen["measure"].unique()}
    n_cells = 0
    for _, cell in chosen.groupby(["dataset", "architecture", "test"]):
        test = cell["test"].iloc[0]
        cell = cell[cell["quality"] == QUALITY_OF.get(test, "none")]
        n_cells += len(cell) > 0
        values = dict(zip(cell["measure"], cell["value"], strict=True))
        for measure, value in values.items():
            if not math.isnan(value):
                others = [other for other in values.values() if not math.isnan(other)]
                better, same = sum(o > value for o in others), sum(o == value for o in others)
                ranks[measure].append(better + (same + 1) / 2)
    found = rank(results).query("domain == 'language'").set_index("measure")
    for measure, own in ranks.items():
        assert found.loc[measure, "mean"] == pytest.approx(np.mean(own))
        assert found.loc[measure, "median"] == np.median(own)
        assert (found.loc[measure, "n"], found.loc[measure, "missing"]) == (len(own), n_cells - len(own))
    assert list(found["position"]) == list(range(1, 25))
    assert found[["median", "mean"]].apply(tuple, axis=1).is_monotonic_increasing


def test_pooling_decides_where_there_is_a_choice(results):
    for pooling, expected in (("cls", {"cls"}), ("mean", {"cls", "mean"}), ("all", {"cls", "mean"})):
        found = rank_table(results, pooling=pooling).query("domain == 'language'")
        assert set(found["pooling"]) == expected
        assert "SmolLM2" in set(found["architecture"])
    mean = rank_table(results, pooling="mean").query("domain == 'language'")
    assert set(mean.loc[mean["pooling"] == "cls", "architecture"]) == {"SmolLM2"}


def test_other_rules(results):
    assert set(rank_table(results, tests=["jsd"])["test"]) == {"jsd"}
    conformity = rank_table(results, qualities=["conformity"])
    assert set(conformity["quality"]) == {"conformity"} and conformity["test"].nunique() == 4
    assert "jsd" not in set(rank_table(results)["test"])
    for options, message in (
        ({"tests": ["acuracy"]}, "tests must be among those of the results, got acuracy"),
        ({"qualities": ["auc"]}, "qualities must be among those of the results, got auc"),
        ({"pooling": "max"}, "pooling must be one of 'cls', 'mean', 'all', got 'max'"),
        ({"tests": ["accuracy"], "qualities": ["auprc"]}, "results must contain scores"),
    ):
        with pytest.raises(ValueError, match=message):
            rank(results, **options)


def test_ties_missing_values_and_what_cannot_be_ranked():
    found = rank(made({"A": 0.5, "B": 0.5, "C": math.nan, "D": 0.1})).set_index("measure")
    assert found["mean"].to_dict() == pytest.approx({"A": 1.5, "B": 1.5, "D": 3.0, "C": math.nan}, nan_ok=True)
    assert found.loc["C", ["position", "n", "missing"]].to_list() == [4, 0, 1]
    with pytest.raises(ValueError, match="results must contain each score of a measure once"):
        rank(pd.concat([made({"A": 0.5}), made({"A": 0.6})]))
    with pytest.raises(ValueError, match=r"results must have the columns .*, each once, got no column 'architecture'"):
        rank(made({"A": 0.5}).drop(columns="architecture"))


def test_measures_that_the_paper_does_not_know_come_last():
    found = table(made({"CKNNA": 0.1, "RTD(subsets=2)": 0.2, "CKA": 0.3}))
    assert list(found.index) == [("RSM", "CKA"), ("Topology", "RTD(subsets=2)"), ("Other", "CKNNA")]


def test_published_agrees_with_itself(results):
    found = agreement(results, results)
    assert len(found) == len(results.groupby(list(CELL)))
    usable = found[found["spread"] > 0]
    assert np.allclose(usable["spearman"], 1) and len(usable) > 300
    assert (found["difference"] == 0).all() and (found["n"] <= 24).all()


def test_agreement_by_hand():
    own = made({"A": 0.1, "B(k=2)": 0.3, "C": 0.2, "B": 0.4, "D": math.nan, "mine": 0.9})
    other = made({"A": 0.0, "B": 0.5, "C": 0.6, "D": 0.1, "E": 0.7})
    row = agreement(own, other).iloc[0]
    assert row["n"] == 3 and row["spearman"] == pytest.approx(0.5)
    assert row["difference"] == pytest.approx((0.1 + 0.1 + 0.4) / 3)
    assert row["spread"] == pytest.approx(np.std([0.0, 0.5, 0.6]))
    alone = agreement(own.query("measure == 'B(k=2)'"), other).iloc[0]
    assert alone["difference"] == pytest.approx(0.2)
    assert agreement(own.assign(test="else"), other).empty


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


FAMILY = np.repeat(np.arange(5), 3)
RUNS = 80


def distances(rng):
    """Between models whose families have offsets of their own, in whatever the distances are about."""
    places = 2 * rng.standard_normal((5, 4))[FAMILY] + rng.standard_normal((15, 4))
    i, j = np.triu_indices(15, k=1)
    return np.linalg.norm(places[i] - places[j], axis=1)


def n_positive(**design):
    found = 0
    for run in range(RUNS):
        rng = np.random.default_rng([51, run])
        found += spearman(distances(rng), distances(rng), 15, n_permutations=99, seed=run, **design).p_value <= 0.05
    return found


@pytest.mark.parametrize("design", [{"blocks": FAMILY}, {"groups": FAMILY}], ids=["within families", "whole families"])
def test_unrelated_models_of_families_are_related_no_more_often_than_alpha(design):
    assert n_positive(**design) <= binom.ppf(0.999, RUNS, 0.05)


def test_relabelled_freely_they_are_related_for_their_families_alone():
    assert n_positive() > 0.3 * RUNS


def test_a_relation_beyond_families_is_found():
    rng = np.random.default_rng(0)
    x = distances(rng)
    found = spearman(x, x + 0.1 * rng.standard_normal(len(x)), 15, n_permutations=199, blocks=FAMILY)
    # One in 7,776 relabellings within families is the true one.
    assert found.p_value <= 0.02


def ranks(means, sources=None):
    frame = pd.DataFrame({"domain": "graph", "measure": list(means), "mean": list(means.values())})
    return frame if sources is None else frame.assign(source=sources)


def test_the_best_three_are_named_beside_chance():
    assert _answer(ranks({"A": 2.5, "B": 1.0, "C": 3.0, "D": 3.5})) == (
        "The best mean ranks over the domains are those of B (1.00), A (2.50), C (3.00), among 4 measures. By chance, "
        "each measure would have mean rank 2.5."
    )


def test_few_measures_beside_many_published_ones_have_places():
    means = {"A": 2.0, "B": 1.0, "C": 3.0, "D": 4.0}
    told = _answer(ranks(means, ["own", "published", "published", "published"]))
    assert told == "By mean rank over the domains, A ranks 2 of 4. The other 3 scores are the published ones."
    assert _answer(ranks(means, ["own", "own", "published", "published"])).startswith("The best mean ranks")


def test_means_are_over_domains():
    both = pd.concat([ranks({"A": 1.0, "B": 2.0}), ranks({"A": 4.0, "B": 2.0}).assign(domain="vision")])
    assert "B (2.00), A (2.50), among 2 measures. By chance, each measure would have mean rank 1.5" in _answer(both)


def test_the_basis_of_places_names_tasks_and_tests():
    def scores(*tasks):
        lines = [dict(zip(CELL, ("graph", "Toy", task, "", "accuracy", "spearman"), strict=True)) for task in tasks]
        return pd.concat([pd.DataFrame(lines).assign(measure=name) for name in ("A", "B")], ignore_index=True)

    two = scores("GAT", "GCN")
    assert _basis(two[:2], two) == "2 tasks (GAT on Toy, GCN on Toy); tests: accuracy."
    one = scores("GCN")
    assert _basis(one, one) == (
        "1 task (GCN on Toy); tests: accuracy. With one task, positions account for "
        "other trainings but not for other tasks."
    )
    assert _basis(two[:1], two).endswith(" A single measure has no position. Submit other measures of the same suite.")
    assert [_number(one) for one in (0.126, 1.0, np.nan)] == ["0.13", "1.00", ""]


def test_scores_that_differ_by_rounding_share_their_rank():
    place = dict(zip(CELL, ("graph", "Toy", "GCN", "cls", "accuracy", "spearman"), strict=True))
    values = {"A": 0.3, "B": 0.1 + 0.2, "C": 0.3 + 1e-8, "D": 0.2}
    frame = pd.DataFrame([place | {"measure": name, "value": value} for name, value in values.items()])
    found = rank_table(frame).set_index("measure")["rank"]
    assert found.to_dict() == {"A": 2.5, "B": 2.5, "C": 1.0, "D": 4.0}
