"""The report, the table and the plain values of an audit all hold the same numbers, and say how to read them."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from shesha.auditing.findings import meanings

MEANINGS = meanings()

ESTIMATES = [
    "feature_split",
    "basis_averaged_split",
    "supervised_alignment",
    "variance_ratio",
    "class_separation_ratio",
    "zscore_separation",
    "label_conditioned_split",
]
SPECTRUM = ["effective_rank", "participation_ratio", "anisotropy"]
CHANCE = ["chance_level", "chance_threshold", "p_value"]


def blocks(report):
    """The parts of a report by their titles."""
    return {lines[0]: lines[1:] for lines in (part.split("\n") for part in report.split("\n\n"))}


def estimate_of(one, name):
    return getattr(one, name, None) or one.supervised[name]


def test_every_number_is_reported_with_its_meaning(audited):
    found = blocks(str(audited))
    assert set(MEANINGS) == {*ESTIMATES, *SPECTRUM}
    for name, meaning in MEANINGS.items():
        lines = found[meaning.title]
        assert " ".join(" ".join(lines[3:]).split()) == meaning.line
        for one, line in zip(audited.representations, lines, strict=False):
            assert line.split()[0] == one.name
            if name in SPECTRUM:
                assert line.split()[1:] == [f"{getattr(one, name):.4g}"]
            else:
                estimate = estimate_of(one, name)
                low, high = f"[{estimate.low:.3f},", f"{estimate.high:.3f}]"
                assert line.split()[1:4] == [f"{estimate.value:.3f}", low, high]


def test_the_report_fits_a_page(audited):
    assert max(map(len, str(audited).split("\n"))) <= 100
    assert str(audited).isascii()


def test_data_ranking_drift_and_notes_are_reported(audited):
    found = blocks(str(audited))
    assert found["Data"] == [f"  {name:<6}  60 rows x 12 features" for name in ("early", "middle", "late")]
    assert [line.split()[1] for line in found["Ranking by feature-split stability"]] == list(audited.ranking)
    for name, line, first, previous in zip(
        audited.drift.names,
        found["Drift along the order given"][1:],
        audited.drift.from_first,
        audited.drift.from_previous,
        strict=False,
    ):
        assert line.split() == [name, f"{first:.4f}", f"{previous:.4f}"]
    kinds = "rows (other inputs of the same kind) and partitions of features"
    assert found["Notes"] == [f"  brackets: 95% intervals over {kinds}"]


def test_the_report_says_what_is_above_chance(layers, quick_audit):
    noise = np.random.default_rng(1).standard_normal((60, 12))
    found = quick_audit({"signal": layers["middle"], "noise": noise})
    signal, chance = blocks(str(found))["Feature-split stability"][:2]
    null = found["signal"].chance
    assert f"  above chance ({null.level:.3f}, threshold {null.threshold:.3f}, p = 0.05)" in signal
    assert found["signal"].chance.observed > null.threshold
    assert "  not above chance (" in chance
    assert found["noise"].chance.observed <= found["noise"].chance.threshold


def test_every_label_score_stands_beside_its_chance(layers, classes, quick_audit):
    # The variance between random classes is never 0, so that its interval lies above it.
    random, related = (quick_audit(X, classes) for X in (layers["late"], layers["late"] + 3 * np.eye(12)[classes]))
    assert random["X"].supervised["variance_ratio"].low > 0
    for found, p_values in ((random, (0.1, 1.0)), (related, (0.05, 0.05))):
        for name, chance in found["X"].supervised_chances.items():
            beyond = "above" if chance.observed > chance.threshold else "not above"
            said = f"  {beyond} chance ({chance.level:.3f}, threshold {chance.threshold:.3f}, p = {chance.p_value:.2g})"
            assert said in blocks(str(found))[MEANINGS[name].title][0]
            assert chance.observed == pytest.approx(found["X"].supervised[name].value, abs=1e-12)
        low, high = p_values
        assert low <= found["X"].supervised_chances["variance_ratio"].p_value <= high


def test_chances_of_label_scores_come_back_from_plain_values(audited):
    plain = json.loads(json.dumps(audited.to_dict(), allow_nan=False))
    assert list(plain["representations"][2]["supervised_chances"]) == ESTIMATES[2:]
    late = type(audited["late"]).from_dict(plain["representations"][2])
    assert late.supervised_chances == audited["late"].supervised_chances


def test_neighbours_in_the_ranking_tie_if_their_intervals_overlap(layers, quick_audit):
    twin = layers["middle"] + 1e-3 * layers["early"]
    found = quick_audit({"middle": layers["middle"], "twin": twin, "early": layers["early"]})
    first, second, third = blocks(str(found))["Ranking by feature-split stability"]
    assert found["early"].feature_split.high < min(found[name].feature_split.low for name in ("middle", "twin"))
    assert "overlaps" not in first
    assert second.endswith("(interval overlaps the one above)")
    assert "overlaps" not in third


def test_pairs_without_a_direction_are_noted(layers, quick_audit):
    X = layers["late"].copy()
    X[9, 1:] = 0.0
    found = quick_audit(X)
    dropped = found["X"].feature_split.pairs_dropped
    assert dropped > 0
    assert f"  X, feature_split: {dropped:,} undefined pairs left out" in blocks(str(found))["Notes"]


def test_the_report_tells_reasons_in_place_of_numbers(layers, quick_audit):
    gaps = layers["late"].copy()
    gaps[8, 1] = np.nan
    found = blocks(str(quick_audit({"gaps": gaps, "equal": np.full((60, 12), 0.5)})))
    assert found["Data"][2].strip() == "! no scores: NaN or infinite entries (1) must be removed or filled first"
    reason = "all distances are equal within a half of the features, in every draw"
    assert found["Feature-split stability"][0] == f"  equal  none: {reason}"
    assert not any("gaps" in line for title, lines in found.items() if title != "Data" for line in lines)
    assert found["Drift"] == ["  none: a representation could not be scored"]
    assert "Ranking by feature-split stability" not in found


def test_a_drift_that_cannot_be_given_has_a_reason(layers, quick_audit):
    report = str(quick_audit({"late": layers["late"], "equal": np.full((60, 12), 0.5)}))
    assert any("distances" in line and "equal" in line for line in blocks(report)["Drift along the order given"])


def test_a_confidence_close_to_one_is_not_called_certainty(layers, quick_audit):
    assert "100%" not in str(quick_audit(layers["late"], confidence=0.999))


def test_the_table_has_a_row_for_each_representation(audited):
    table = audited.to_frame()
    parts = [f"{name}{part}" for name in ESTIMATES for part in ("", "_low", "_high")]
    counts = ["not_finite", "zero_rows", "duplicate_rows", "constant_columns"]
    shape = ["representation", "n_samples", "n_features", "n_used"]
    drift = ["drift_from_first", "drift_from_previous"]
    beside = [f"{name}{part}" for name in ESTIMATES[2:] for part in ("_chance", "_p_value")]
    assert list(table) == [*shape, *counts, *parts, *CHANCE, *beside, *SPECTRUM, "doubts", "reason", *drift]
    assert table["representation"].tolist() == ["early", "middle", "late"]
    for (_, row), one in zip(table.iterrows(), audited.representations, strict=True):
        for name in ESTIMATES:
            estimate = estimate_of(one, name)
            own = estimate.value, estimate.low, estimate.high
            assert tuple(row[[name, f"{name}_low", f"{name}_high"]]) == own
        assert tuple(row[CHANCE]) == (one.chance.level, one.chance.threshold, one.chance.p_value)
        chances = [(found.level, found.p_value) for found in one.supervised_chances.values()]
        assert row[beside].tolist() == [number for pair in chances for number in pair]
        assert tuple(row[SPECTRUM]) == (one.effective_rank, one.participation_ratio, one.anisotropy)
    assert tuple(table["drift_from_first"]) == audited.drift.from_first
    assert tuple(table["drift_from_previous"]) == audited.drift.from_previous
    alone = audited["late"].to_frame()
    assert alone.equals(table.loc[[2], list(alone)].reset_index(drop=True))


def test_the_table_counts_faults_and_keeps_what_was_not_scored(layers, quick_audit):
    X = layers["late"].copy()
    X[[1, 2, 3]] = 0.0
    X[:, 5] = 0.0
    X[9, 0] = X[9, 1] = np.nan
    table = quick_audit({"late": X, "early": layers["early"]}).to_frame()
    assert table["representation"].tolist() == ["late", "early"]
    counts = ["not_finite", "zero_rows", "duplicate_rows", "constant_columns", "n_used"]
    assert table.loc[0, counts].tolist() == [2, 3, 2, 1, 0]
    assert table.loc[0, [*ESTIMATES[:2], *CHANCE, *SPECTRUM]].isna().all()
    assert table.loc[0, "reason"].startswith("NaN or infinite entries (2)")
    assert table.loc[1, "reason"] == ""
    assert "drift_from_first" not in table


def test_an_audit_becomes_plain_values(audited):
    content = json.loads(json.dumps(audited.to_dict(), allow_nan=False))
    assert list(content) == ["representations", "drift", "drift_reason", "options"]
    late = content["representations"][2]
    assert late["feature_split"]["value"] == audited["late"].feature_split.value
    assert late["supervised"]["variance_ratio"]["low"] == audited["late"].supervised["variance_ratio"].low
    assert late["chance"]["null"] == list(audited["late"].chance.null)
    assert late["faults"]["zero_rows"] == []
    assert content["drift"]["from_first"] == list(audited.drift.from_first)
    assert content["options"] == audited.options


@pytest.mark.parametrize(
    "options", [{"seed": np.int64(3)}, {"n_bootstrap": np.int64(3)}, {"confidence": np.float32(0.5)}]
)
def test_options_given_as_numpy_numbers_become_plain_values(layers, quick_audit, options):
    found = quick_audit(layers["late"], **options)
    content = json.loads(json.dumps(found.to_dict()))
    assert content["options"] | options == content["options"]


def test_an_audit_cannot_be_changed_and_travels(audited):
    with pytest.raises(FrozenInstanceError):
        audited.representations = ()
    with pytest.raises(FrozenInstanceError):
        audited["late"].n_used = 3
    copy = pickle.loads(pickle.dumps(audited))
    assert copy == audited
    assert str(copy) == str(audited)
