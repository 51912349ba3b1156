"""The published results and what is made of them: ranks, tables, agreement, pictures."""

import math

import numpy as np
import pandas as pd
import pytest

from shesha_bench._published_results import published, published_runtimes
from shesha_bench.measure_ranks import CELL, QUALITY_OF, rank, rank_table
from shesha_bench.paper_tables import TYPES, stars, table, to_markdown
from shesha_bench.published_comparison import agreement


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
    with pytest.raises(ValueError, match=r"results must have the columns .*, got a table without architecture"):
        rank(made({"A": 0.5}).drop(columns="architecture"))


def test_the_layout_of_the_papers_tables(results):
    found = table(results, "shortcut", "graph")
    assert list(found.index) == [(kind, measure) for kind, measures in TYPES.items() for measure in measures]
    assert list(found.columns.names) == ["quality", "dataset", "architecture"]
    assert list(found.columns[:4]) == [("auprc", "Cora", name) for name in ("GCN", "SAGE", "GAT", "PGNN")]
    assert table(results, "shortcut", "language").columns.names[-1] == "pooling"
    assert table(results).columns.names == ["test", "domain", "quality", "dataset", "architecture", "pooling"]
    for column in found.columns[::5]:
        one = results[(results["test"] == "shortcut") & (results["measure"] == "RSA")]
        one = one[one[["quality", "dataset", "architecture"]].apply(tuple, axis=1) == column]
        assert found.loc[("RSM", "RSA"), column] == one["value"].item()


def test_measures_that_the_paper_does_not_know_come_last():
    found = table(made({"CKNNA": 0.1, "RTD(subsets=2)": 0.2, "CKA": 0.3}))
    assert list(found.index) == [("RSM", "CKA"), ("Topology", "RTD(subsets=2)"), ("Other", "CKNNA")]


def test_markdown():
    frame = made({"CKA": 0.304, "RSA": 0.301, "EOS": -0.2, "GULP": math.nan})
    frame["p_value"] = [0.01, 0.05, 0.2, math.nan]
    assert to_markdown(table(frame), stars(frame)).splitlines() == [
        "| type | measure | spearman<br>s<br>a |",
        "| --- | --- | ---: |",
        r"| RSM | CKA | **0.30**\*\* |",
        "| RSM | EOS | -0.20 |",
        "| RSM | GULP | nan |",
        r"| RSM | RSA | **0.30**\* |",
    ]
    assert "\\*" not in to_markdown(table(frame))
    with pytest.raises(ValueError, match="stars must have the rows and columns of frame"):
        to_markdown(table(frame), stars(frame).iloc[1:])


def test_published_stars(results):
    assert stars(results, "accuracy", "graph").loc[("RSM", "GULP"), ("spearman", "Cora", "GCN")] == "**"


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


def test_pictures(results):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    from shesha_bench.rank_plot import plot_ranks

    panels = plot_ranks(results)
    assert [ax.get_title() for ax in panels] == ["graph", "language", "vision"]
    order = rank(results).query("domain == 'graph'")["measure"].to_list()
    assert [label.get_text() for label in panels[0].get_yticklabels()] == order
    assert panels[0].get_ylim()[0] > panels[0].get_ylim()[1]
    with pytest.raises(ValueError, match=r"axes must be one per domain \(3\), got 1"):
        plot_ranks(results, [panels[0]])
    plt.close("all")
