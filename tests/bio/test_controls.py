"""Labels that read like controls, and those that do not."""

import pytest

from shesha.bio import Controls, GuessedControlsWarning, find_controls
from shesha.bio.cell_design import combination_names

GENES = ["STAT1", "NEGR1", "NT5E", "CTRL9A", "ANTXR1", "NTRK1", "KLF1+CEBPA"]


@pytest.mark.parametrize(
    "label",
    [
        "control",
        "CTRL",
        "non-targeting",
        "NTC",
        "DMSO",
    ],
)
def test_whole_labels_are_found_whatever_their_case(label):
    found = find_controls([*GENES, label])
    assert (found.labels, found.how, found.others) == ((label,), "exact", ())


@pytest.mark.parametrize("label", ["sgNT", "NT_1", "NTg3", "guide-NT-2", "ctrl_A", "neg 4", "sgNTC-12", "NegCtrl0"])
def test_short_tokens_are_found_between_delimiters(label):
    with pytest.warns(GuessedControlsWarning, match=r"controls: .* \(token\)\)\. .* Pass control="):
        found = find_controls([*GENES, label])
    assert found.labels == (label,)


@pytest.mark.parametrize("label", ["NaN_Control_2", "AAVS1 safe-targeting guides", "mockinfected", "INTERGENIC393453"])
def test_keywords_are_found_within_labels(label):
    with pytest.warns(GuessedControlsWarning, match="keyword"):
        assert find_controls([*GENES, label]).labels == (label,)


def test_guides_of_one_set_count_together():
    guides = [f"NTg{i}" for i in range(1, 11)]
    with pytest.warns(GuessedControlsWarning, match="'NTg1', 'NTg2', 'NTg3', 'NTg4', 'NTg5' and 5 more"):
        found = find_controls([*GENES, *guides])
    assert found.labels == tuple(guides)


@pytest.mark.parametrize(
    "labels",
    [
        ["DMSO", "control"],
        ["NEG_1", "NTg1"],
        ["mock_A", "vehicle_B"],
        ["sgNTC-1", "non-targeting_00012"],
        ["control", "NT_1"],
        ["control", "INTERGENIC216151"],
        ["DMSO", "no-guide"],
        ["control", "INTERGENIC393453"],
        ["no-guide", "non-targeting"],
    ],
)
def test_several_sets_are_ambiguous(labels):
    with pytest.raises(ValueError, match=f"control must be given if several .*{labels[0]}, {labels[1]}"):
        find_controls([*GENES, *labels])


def test_genes_are_no_controls():
    with pytest.raises(ValueError, match="control must be a label of the control cells, one of ANTXR1, CTRL9A"):
        find_controls(GENES)


def test_a_combined_perturbation_is_no_control():
    with pytest.warns(GuessedControlsWarning, match="ctrl_1") as told:
        found = find_controls(["KLF1+ctrl", "ctrl_1", "ctrl+KLF1"])
    assert found.labels == ("ctrl_1",)
    assert len(told) == 1
    assert find_controls(["KLF1+ctrl", "ctrl"]).labels == ("ctrl",)


def test_what_reads_like_controls_beside_an_exact_label_is_told():
    with pytest.warns(
        GuessedControlsWarning, match=r"'control 2' \(exact\); similar labels counted as perturbations: Safe_harbor_1"
    ):
        found = find_controls(["control", "control 2", "STAT1", "Safe_harbor_1"])
    assert (found.labels, found.others) == (("control", "control 2"), ("Safe_harbor_1",))


def test_labels_that_are_named_are_taken():
    assert find_controls(GENES, "STAT1").labels == ("STAT1",)
    assert find_controls(GENES, ["STAT1", "NT5E", "STAT1"]).labels == ("STAT1", "NT5E")
    assert find_controls(GENES, ("STAT1",)).how == "named"
    with pytest.raises(ValueError, match=r"control must be among ANTXR1, .*, got 'STAT'; did you mean STAT1\?"):
        find_controls(GENES, "STAT")
    with pytest.raises(ValueError, match=r"among GENE, non-targeting, got 'NT'; did you mean non-targeting\?"):
        find_controls(["GENE", "non-targeting"], "NT")
    with pytest.raises(ValueError, match="control must name at least one label"):
        find_controls(GENES, [])


@pytest.mark.parametrize(
    ("labels", "controls"),
    [
        (["ctrl", "KLF1_ctrl", "ctrl_KLF1", "ctrl_ctrl"], ("ctrl", "ctrl_ctrl")),
        (["ctrl", "KLF1+ctrl", "ctrl+ctrl"], ("ctrl", "ctrl+ctrl")),
        (["NegCtrl0_NegCtrl0", "NegCtrl1__NegCtrl0", "KLF1_NegCtrl0", "NegCtrl0_KLF1"], None),
    ],
)
@pytest.mark.filterwarnings("ignore::shesha.bio.GuessedControlsWarning")
def test_controls_joined_with_one_another_are_controls(labels, controls):
    assert find_controls([*GENES, *labels]).labels == (controls or tuple(labels[:2]))


@pytest.mark.parametrize("joint", ["+", "|", ";", "&", ",", ":", "/", "_"])
def test_order_of_combined_targets_does_not_matter(joint):
    labels = ["ctrl", *(joint.join(pair) for pair in (("A", "B"), ("B", "A"), ("A", "ctrl"), ("ctrl", "A")))]
    merged = combination_names(labels, Controls(("ctrl",), "exact"))
    assert list(merged.values()) == ["A+B", "A+B", "A", "A"]
