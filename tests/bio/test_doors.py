"""Labels as people have them: missing guides, numbers as controls, combined perturbations, undeclared donors."""

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest

from shesha import CalibrationWarning, bio
from shesha.comparison.within_classes import class_separation


@pytest.mark.parametrize(("n", "moved", "named"), [(3, 0, "A (3 cells: "), (40, 0, "A (40 cells: "), (40, 2, "")])
def test_magnitudes_that_sampling_explains_are_named(n, moved, named):
    data = screen(np.repeat(["control", "A"], [60, n]))
    data = anndata.AnnData(data.obsm["X_pca"] + moved * (data.obs["gene"] == "A").to_numpy()[:, None], obs=data.obs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bio.compute_magnitude(data, "gene")
    assert (named in " ".join(str(one.message) for one in caught)) and bool(caught) == bool(named)


def screen(labels, seed=0, **columns):
    rng = np.random.default_rng(seed)
    labels = np.asarray(labels, dtype=object)
    obs = pd.DataFrame({"gene": labels, **columns}, index=np.arange(len(labels)).astype(str))
    return anndata.AnnData(obs=obs, obsm={"X_pca": rng.standard_normal((len(labels), 6))})


@pytest.mark.parametrize(
    ("values", "control"),
    [
        ([0, 1], 0),
        ([0, 1], "0"),
        ([0.0, 1.0], 0),
        ([0.0, 1.0], "0"),
        ([0.0, 0.1], "0.0"),
        ([False, True], False),
        ([False, True], "False"),
        (["NT", "A"], ["NT"]),
    ],
)
def test_controls_may_be_numbers(values, control):
    adata = screen(np.repeat(np.array(values, dtype=object), [60, 20]))
    assert len(bio.coherence_table(adata, "gene", control=control, n_draws=19).groups) == 1


@pytest.mark.parametrize("missing", [None, np.nan, "nan"])
def test_controls_without_a_guide_stay_controls(missing):
    gene = np.repeat(["control", "A"], [60, 30])
    guide = np.where(gene == "control", missing, np.array(["g1", "g2", "g3"], dtype=object)[np.arange(90) % 3])
    table = bio.coherence_table(screen(gene, guide=guide), "gene", groups="guide", n_draws=19)
    assert table.n_controls == 60
    assert "no control cell has a value of groups, so all 60 count as one unit" in table.inputs


@pytest.mark.parametrize(
    ("columns", "twice", "expected"),
    [
        ({"plate": ["1"] * 60 + ["2"] * 60}, False, "no value of 'plate' in obs contains both controls and perturbed"),
        ({"plate": ["1", "2"] * 60}, False, "the column 'plate' of obs looks like batches, whose values contain both"),
        ({}, True, "120 of 240 cells repeat another cell exactly"),
        ({}, False, ""),
    ],
)
@pytest.mark.filterwarnings("ignore:control")
def test_what_makes_all_cells_of_a_screen_doubtful_is_named(columns, twice, expected):
    data = screen(np.repeat(["NT", "A", "B"], [60, 30, 30]), **columns)
    data = anndata.concat([data, data], index_unique="-") if twice else data
    for test in (bio.coherence_table, bio.e_distances):
        notes = test(data, "gene", n_draws=19).notes
        assert any(expected in note for note in notes) if expected else not any("cell" in note for note in notes)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        bio.compute_coherence(anndata.AnnData(data.obsm["X_pca"], data.obs), "gene", "NT")
    texts = [str(one.message) for one in said]
    assert any(expected in text for text in texts) if expected else not any("cell" in text for text in texts)


def test_cells_that_take_no_part_are_counted_once_by_the_reason():
    gene = np.repeat(["NT", "A", "B", "rare"], [60, 30, 30, 4])
    batch = np.where(gene == "B", "alone", "shared").astype(object)
    batch[[0, 70]] = None
    data = screen(gene, batch=batch)
    data.obs.iloc[1, 0] = None
    found = bio.coherence_table(data, "gene", blocks="batch", n_draws=19)
    assert {
        "obsm['X_pca'], 121 cells x 6 features; controls: 'NT' (exact)",
        "1 cell with a missing label left out",
        "2 cells without a value of blocks left out",
        "91 of 121 rows used: 30 in blocks with fewer than 5 controls left out",
        "2 perturbations not scored: B, rare",
    } == set(found.inputs)
    pairs = bio.e_distances(data, "gene", n_draws=19)
    assert "1 perturbation not compared: rare" in pairs.inputs


@pytest.mark.parametrize(
    ("rare", "told", "advice"),
    [
        (["X", "Y", "Z"], "3 of 5 {}s have too few cells and were not scored (12 of 72 cells).", False),
        (
            ["A+B", "B+A", "A|Z", "Y", "A;Y"],
            "4 of 6 {}s have too few cells and were not scored (20 of 80 cells).",
            True,
        ),
        (["X", "Y"], "", False),
    ],
)
def test_the_headline_counts_groups_and_cells_that_are_too_few(rare, told, advice):
    data = screen(np.repeat(["NT", "A", "B", *rare], [60, 30, 30, *[4] * len(rare)]))
    for found, noun in ((bio.coherence_table, "perturbation"), (bio.e_distances, "group")):
        headline = found(data, "gene", control="NT", n_draws=19).headline
        assert (told.format(noun) in headline) if told else ("too few" not in headline)
        assert ("combinations, such as A+B; to test one part at a time" in headline) == advice


def test_many_merged_labels_are_counted_together():
    pairs = [f"{a}+{b}" for a, b in zip("ABCDBCDE", "BCDEABCD", strict=True)]
    found = bio.coherence_table(screen(np.repeat(["NT", *pairs], [60, *[12] * 8])), "gene", n_draws=19)
    assert [text for text in found.inputs if "count as one" in text] == [
        "8 labels with the same parts in any order count as one each, 4 in all; 'A+B', 'B+A' count as one, 'A+B'"
    ]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["ctrl", "A+ctrl", "ctrl+A"], ["A"]),
        (["control", "A", "A_control"], ["A"]),
        (["control", "control+A", "A"], ["A"]),
        (["NT", "A+B", "B+A", "A"], ["A", "A+B"]),
        (["NT", "A_B", "B_A"], ["A+B"]),
        (["NT", "A_1", "A_2"], ["A_1", "A_2"]),
        (["NT", "A+B"], ["A+B"]),
    ],
)
@pytest.mark.filterwarnings("ignore::shesha.bio.GuessedControlsWarning")
def test_combined_perturbations_are_one_in_any_order(labels, names):
    table = bio.coherence_table(screen(np.repeat(labels, [60, *[12] * (len(labels) - 1)])), "gene", n_draws=19)
    assert sorted(group.name for group in table.groups) == names
    assert any("count as one" in text for text in table.inputs) == (len(names) < len(labels) - 1)


@pytest.mark.parametrize(
    ("labels", "controls"),
    [
        (
            ["NegCtrl0_NegCtrl0", "KLF1_NegCtrl0", "CEBPA_KLF1", "NegCtrl10_NegCtrl0"],
            {"NegCtrl0_NegCtrl0", "NegCtrl10_NegCtrl0"},
        ),
        (["KLF1_ctrl", "CEBPA_KLF1"], None),
        (["SPI1_NegCtrl0", "SPI1_NegCtrl1", "CEBPA_SPI1"], None),
    ],
)
@pytest.mark.filterwarnings("ignore::shesha.bio.GuessedControlsWarning")
def test_a_target_joined_with_a_control_word_is_no_control(labels, controls):
    if controls is None:
        with pytest.raises(ValueError, match="control must be a label of the control cells"):
            bio.find_controls(labels)
    else:
        assert set(bio.find_controls(labels).labels) == controls


@pytest.mark.parametrize(
    ("name", "nested", "option"),
    [("donor", True, "groups"), ("donor_id", False, "groups"), ("batch", False, "blocks"), ("guide", True, "groups")],
)
def test_a_column_that_looks_like_units_is_named(name, nested, option):
    gene = np.repeat(["control", "A"], [60, 30])
    unit = np.arange(90) % 3 + (3 * (gene == "A") if nested else 0)
    adata = screen(gene, **{name: unit.astype(str)})
    notes = " ".join(bio.coherence_table(adata, "gene", n_draws=19).notes)
    assert f"Pass {option}={name!r}" in notes
    assert ("are nested in perturbations" in notes) == nested
    declared = bio.coherence_table(adata, "gene", n_draws=19, **{option: name})
    assert f"={name!r}" not in " ".join(declared.notes)


@pytest.mark.parametrize(("donor", "named"), [(np.arange(120) // 20, True), (np.arange(120) % 7, False)])
def test_groups_that_are_nested_in_donors_are_named(donor, named):
    labels = np.repeat(["ctrl", "stim"], 60)
    data = screen(labels, donor=donor.astype(str), pseudorep=[f"{i // 5}" for i in range(120)])
    notes = " ".join(bio.e_distances(data, "gene", control="ctrl", groups="pseudorep", n_draws=19).notes)
    assert ("groups are nested in the column 'donor'" in notes) == named
    declared = bio.e_distances(data, "gene", control="ctrl", groups="donor", n_draws=19)
    assert "pseudorep" not in " ".join([*declared.notes, *declared.inputs])


@pytest.mark.parametrize("column", ["donor", "batch"])
def test_the_headline_names_undeclared_units_if_a_perturbation_is_significant(column):
    labels = np.repeat(["NT", "A"], 60)
    data = screen(labels, **{column: np.tile(["x", "y", "z"], 40)})
    option = f"{'groups' if column == 'donor' else 'blocks'}='{column}'"
    for shift, is_named in ((0, False), (2, True)):
        data.obsm["X_pca"][labels == "A"] += shift
        table = bio.coherence_table(data, "gene", n_draws=99)
        assert (f"Not declared: {option}; if its values differ" in table.headline) == is_named
        assert f"; warning: the column {column!r} of obs looks like" in table.sentence()
        with pytest.warns(CalibrationWarning, match=f"the column {column!r} of obs looks like .* Pass {option}"):
            bio.coherence_test(data, "gene", n_draws=99)
        assert table.undeclared == (option,)


@pytest.mark.parametrize("seed", range(4))
def test_three_against_three_donors_are_undecided_not_at_chance(seed):
    donors = np.repeat([f"d{i}" for i in range(6)], 20)
    labels = np.repeat(["vehicle", "drug"], 60)
    data = screen(labels, seed=seed, donor=donors)
    data.obsm["X_pca"][labels == "drug"] += 5
    found = bio.coherence_table(data, "gene", groups="donor")["drug"]
    assert found.verdict == ("moves together" if found.p_value < 0.06 else "undecided")


@pytest.mark.filterwarnings("ignore:.* left out$")
def test_missing_embeddings_are_refused_or_left_out():
    data = screen(np.repeat(["NT", "A"], 60))
    data.obsm["X_pca"][3, 1] = np.nan
    with pytest.raises(ValueError, match=r"\['X_pca'\] must be finite, .* in 1 cell \(3\)\. .* pass missing='drop'"):
        bio.coherence_table(data, "gene", n_draws=9)
    kept = data[np.isfinite(data.obsm["X_pca"]).all(axis=1)]
    expected = bio.coherence_table(kept, "gene", n_draws=9)
    found = bio.coherence_table(data, "gene", n_draws=9, missing="drop")
    assert found["A"].value == expected["A"].value
    assert "1 cell with NaN in obsm['X_pca'] left out" in found.inputs
    assert not any("missing label" in text for text in (*found.inputs, *found.notes))
    bio.coherence(data, "gene", n_draws=9, missing="drop")
    assert np.isnan(data.obs["coherence_cosine"].iloc[3])
    pairs = bio.e_distances(data, "gene", n_draws=19, missing="drop")
    assert pairs.pairs[0].value == bio.e_distances(kept, "gene", n_draws=19).pairs[0].value


@pytest.mark.parametrize(
    ("n_moved", "n_all", "verb"),
    [(0, 1, "shifts its cells"), (1, 1, "shifts its cells"), (1, 2, "shifts its cells"), (0, 2, "shift their cells")],
)
def test_the_verb_of_the_headline_follows_the_numbers(n_moved, n_all, verb):
    names = [f"G{k}" for k in range(n_all)]
    data = screen(np.repeat(["NT", *names], [300, *[40] * n_all]))
    moved = data.obs["gene"].isin(names[:n_moved]).to_numpy()
    data.obsm["X_pca"][moved] += 2
    headline = bio.coherence_table(data, "gene", n_draws=99).headline
    assert headline.startswith(f"{n_moved} of {n_all} perturbation") and verb in headline


@pytest.mark.parametrize(
    ("effect", "uneven", "name", "warned"),
    [
        (1.0, True, "lot", True),
        (1.0, False, "lot", False),
        (0.0, True, "lot", False),
        (1.0, True, "leiden", False),
    ],
)
def test_columns_that_act_like_batches_are_named(effect, uneven, name, warned):
    rng = np.random.default_rng(3)
    gene = np.repeat(["NT", "A"], [240, 80])
    lot = np.where(rng.random(320) < np.where(gene == "A", 0.9 if uneven else 0.5, 0.5), "x", "y")
    data = screen(gene, seed=3, **{name: lot})
    data.obsm["X_pca"] += effect * (lot == "x")[:, None]
    mixed = rng.permutation(320)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        bio.coherence_table(data[mixed], "gene", n_draws=19)
    assert any(f"pass blocks='{name}'" in str(one.message) for one in found) == warned


@pytest.mark.parametrize(("effect", "warned"), [(0.0, False), (1.0, True)])
def test_controls_that_depend_in_file_order_are_noticed(effect, warned):
    rng = np.random.default_rng(4)
    data = screen(np.repeat(["NT", "A"], [240, 80]), seed=4)
    data.obsm["X_pca"] += effect * np.repeat(rng.standard_normal((8, 6)), 40, axis=0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        bio.coherence_table(data, "gene", n_draws=19)
    assert any("control rows that follow one another" in str(one.message) for one in found) == warned


@pytest.mark.parametrize(("change", "same"), [(0.0, True), (0.1, False)])
def test_an_integration_that_changed_nothing_is_named(change, same):
    data = screen(np.repeat(["A", "B"], 30))
    data.obsm["X_new"] = data.obsm["X_pca"] + change * np.random.default_rng(1).standard_normal((60, 6))
    found = bio.integration_test(data, "X_pca", "X_new", "gene", "RSA", n_permutations=79)
    assert any("X_pca and X_new contain the same values" in text for text in found.inputs) == same


@pytest.mark.parametrize(
    ("guides", "n_units"),
    [(["sg1", "sg2", "sg3"], 9), ([1, 2, 3], 9), (["AAC", "AAG", "AAT"], 3)],
)
def test_guides_numbered_in_each_perturbation_are_units_of_it(guides, n_units):
    from shesha.bio.cell_design import cell_design

    data = screen(np.repeat(["NT", "A", "B"], 30), guide=np.array(guides, dtype=object)[np.arange(90) % 3])
    design = cell_design(data, "gene", control=None, obsm="X_pca", layer=None, groups="guide")
    assert len(set(design.groups)) == n_units


@pytest.mark.parametrize(("counts", "named"), [(True, True), (False, False)])
@pytest.mark.filterwarnings("ignore")
def test_raw_counts_are_named_in_the_result(counts, named):
    data = screen(np.repeat(["NT", "A"], [60, 30]))
    X = np.random.default_rng(0).poisson(2, size=(90, 12)).astype(float)
    data.obsm["X_pca"], data = X, anndata.AnnData(X if counts else np.log1p(X), data.obs)
    for test in (bio.coherence_table, bio.e_distances):
        inputs = test(data, "gene", obsm=None, n_draws=19).inputs
        assert any("X contains raw counts" in text for text in inputs) == named


@pytest.mark.parametrize(("column", "named"), [("donor", True), ("sample_id", True), ("batch", True), ("phase", False)])
def test_an_integration_without_blocks_names_samples_and_donors(column, named):
    data = screen(["B", "T"] * 40, **{column: ["1"] * 40 + ["2"] * 40})
    data.obsm["X_new"] = data.obsm["X_pca"] + 0.1 * np.random.default_rng(1).standard_normal((80, 6))
    found = bio.integration_test(data, "X_pca", "X_new", "gene", "RSA", n_permutations=199)
    assert any(f"the column {column!r} looks like batches" in text for text in found.inputs) == named


@pytest.mark.parametrize(("apart", "judged"), [(True, False), (False, True)])
def test_mixing_is_not_judged_if_each_type_is_in_one_batch(apart, judged):
    kind = np.repeat(["B", "T"], 40)
    data = screen(kind, batch=np.where(kind == "B", "1", "2") if apart else np.tile(["1", "2"], 40))
    data.obsm["X_new"] = data.obsm["X_pca"] + 0.1
    found = bio.integration_test(data, "X_pca", "X_new", "gene", "RSA", blocks="batch", n_permutations=199)
    assert ("Mixing of blocks (0 separate, 1 mixed)" in str(found)) == judged
    assert ("cannot be judged" in str(found)) == (not judged)


@pytest.mark.parametrize(
    ("moved", "batch_of_t", "said"),
    [
        (0.0, ["1", "2"], ""),
        (1.0, ["1", "2"], "no longer separates B and T (0."),
        (1.0, ["2"], "No block contains both B and T, so blocks may have separated them"),
        (0.0, ["2"], ""),
    ],
)
@pytest.mark.parametrize("unit", [1.0, 1e-200])
def test_types_that_an_integration_merges_are_named(moved, batch_of_t, said, unit):
    rng = np.random.default_rng(0)
    types, batch = np.repeat(["B", "T", "NK"], 60), np.tile(["1", "2"], 90)
    batch[60:120] = np.resize(batch_of_t, 60) if len(batch_of_t) > 1 else batch_of_t[0]
    batch[:60] = batch[:60] if len(batch_of_t) > 1 else "1"
    rows = rng.standard_normal((180, 6)) + 3 * (types == "T")[:, None] - 3 * (types == "NK")[:, None]
    data = screen(types, batch=batch)
    data.obsm["X_pca"] = unit * (rows + 2 * (batch == "2")[:, None])
    data.obsm["X_new"] = unit * (rows - 3 * moved * (types == "T")[:, None])
    for blocks in ("batch", None):
        found = bio.integration_test(data, "X_pca", "X_new", "gene", "RSA", blocks=blocks, n_permutations=19)
        if said and (blocks or not said.startswith("No block")):
            assert said in found.headline
        assert bool(found.merged) == bool(said)


def test_separation_is_the_share_of_the_means_in_the_squared_distance():
    rng = np.random.default_rng(0)
    rows, classes, blocks = rng.standard_normal((60, 4)), np.repeat(["a", "b"], 30), np.tile(["1", "2", "3"], 20)
    rows += 2 * (classes == "b")[:, None] + rng.standard_normal(3)[np.unique(blocks, return_inverse=True)[1]][:, None]
    between = total = 0.0
    for block in "123":
        a, b = (rows[(classes == name) & (blocks == block)] for name in "ab")
        # The mean over pairs of rows of both classes, minus the mean over pairs within each class.
        across = ((a[:, None] - b) ** 2).sum(axis=2).mean()
        within = sum(((x[:, None] - x) ** 2).sum() / (10 * 9) / 2 for x in (a, b))
        between, total = between + across - within, total + across
    assert class_separation(rows, classes, blocks)[0, 1] == pytest.approx(between / total)
    assert class_separation(rows, np.tile(["a", "b"], 30), np.full(60, ""))[0, 1] < 0.05


def _with_zeros(data):
    data.obsm["X_pca"][60:75] = 0


@pytest.mark.parametrize(
    ("labels", "change", "said"),
    [
        (["NT", "A"], None, ""),
        (["NT", "A"], _with_zeros, "15 of 90 cells contain only zeros"),
        (["NT", "Doublet"], None, "'Doublet' are outcomes of demultiplexing"),
        (["NT", "A KO", "A NP"], None, "'A KO' were chosen by their response"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_groups_that_differ_for_technical_reasons_are_named(labels, change, said):
    data = screen(np.repeat(labels, [60, *[30 // (len(labels) - 1)] * (len(labels) - 1)]))
    if change is not None:
        change(data)
    for test in (bio.coherence_table, bio.e_distances):
        inputs = test(data, "gene", control="NT", n_draws=19).inputs
        technical = [text for text in inputs if any(word in text for word in ("zeros", "outcomes", "response"))]
        assert bool(technical) == bool(said)
        assert not said or said in technical[0]


def test_cells_without_a_hashtag_are_no_controls():
    with pytest.raises(ValueError, match="'negative' means no tag, not control"):
        bio.find_controls(["HTO1", "Negative", "Doublet"])
    assert bio.find_controls(["A", "Negative"]).labels == ("Negative",)


@pytest.mark.parametrize(("total", "named"), [(1e4, True), (None, False)])
@pytest.mark.filterwarnings("ignore")
def test_normalised_counts_without_a_logarithm_are_named(total, named):
    X = np.random.default_rng(0).gamma(0.5, 1, size=(90, 12))
    X = X / X.sum(axis=1, keepdims=True) * total if total else np.log1p(X)
    data = anndata.AnnData(X, screen(np.repeat(["NT", "A"], [60, 30])).obs)
    inputs = bio.e_distances(data, "gene", obsm=None, n_draws=19).inputs
    assert any("counts per 10,000 without a logarithm" in text for text in inputs) == named


@pytest.mark.parametrize(
    ("column", "factor", "blocks", "expected"),
    [
        ("total_counts", 0.4, None, "total_counts of 'A' is 0.4 times that of the controls, so its shift may be seq"),
        ("nFeature_RNA", 3.0, None, "nFeature_RNA of 'A' is 3 times that of the controls, so its shift may be seq"),
        ("percent.mt", 3.0, None, "percent.mt of 'A' is 3 times that of the controls, so its shift may be damage"),
        ("total_counts", 1.0, None, ""),
        ("total_counts", 1.2, None, ""),
        ("height", 0.4, None, ""),
        ("total_counts", 0.4, "plate", ""),
    ],
)
def test_depth_that_sets_a_perturbation_apart_is_named(column, factor, blocks, expected):
    gene = np.repeat(["NT", "A", "B", "NT"], [61, 31, 31, 31])
    # Controls of the second plate, which contains all cells of A, have the depth of A if plates are declared.
    second = (gene == "A") | (np.arange(154) >= 123)
    scale = np.where(second if blocks else gene == "A", factor, 1.0)
    values = 1000 * scale * np.exp(0.2 * np.resize(np.linspace(-1, 1, 31), 154))
    data = screen(gene, **{column: values, "plate": np.where(second, "2", "1")})
    tests = (bio.coherence_table,) if blocks else (bio.coherence_table, bio.e_distances)
    for test in tests:
        found = test(data, "gene", n_draws=19, **({"blocks": blocks} if blocks else {}))
        texts = [text for text in found.inputs if "that of the controls" in text]
        assert len(texts) == bool(expected) and all(expected in text for text in texts)


@pytest.mark.parametrize(
    ("factor", "normalised", "named"),
    [
        (0.5, False, "total count of 'A' is 0."),
        (1, False, ""),
        (0.5, True, ""),
    ],
)
def test_corrected_counts_are_counts(factor, normalised, named):
    """Removing ambient RNA leaves counts that are no integers, with the depth of each cell."""
    rng = np.random.default_rng(0)
    adata = screen(np.repeat(["control", "A"], [60, 20]))
    depth = rng.lognormal(7, 0.3, 80) * np.where(adata.obs["gene"] == "A", factor, 1)
    profile = np.exp(rng.normal(0, 1.5, 40))
    counts = np.maximum(0, rng.poisson(depth[:, None] * profile / profile.sum()) - 0.05 * depth[:, None] / 40)
    totals = counts.sum(axis=1, keepdims=True)
    adata = anndata.AnnData(
        counts, obs=adata.obs, layers={"x": np.log1p(1e4 * counts / totals) if normalised else counts}
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = " ".join(str(bio.coherence_table(adata, "gene", obsm=None, layer="x", n_draws=19)).split())
    assert (named in told) and ("total count of" in told) == bool(named)
    assert any("were corrected but not normalised" in str(one.message) for one in caught) != normalised


@pytest.mark.parametrize(("kinds", "several"), [(list("ABCDEF"), True), ([f"A{k}" for k in range(6)], False)])
def test_controls_that_differ_from_all_perturbations_are_doubted(kinds, several):
    """Doses of one compound (A1, A2) may act alike."""
    labels = np.repeat(["control", *kinds], [100, *[20] * 6])
    for moved, doubted in (("control", several), (kinds[0], False)):
        adata = screen(labels)
        adata.obsm["X_pca"] = adata.obsm["X_pca"] + 2 * (labels == moved)[:, None]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bio.coherence_table(adata, "gene", n_draws=199)
        assert (
            any("all 6 groups shift in one direction (mean cosine 0." in str(one.message) for one in caught) == doubted
        )


@pytest.mark.parametrize(
    ("change", "named"), [(lambda X: X, True), (np.log1p, False), (lambda X: X / X.sum(1)[:, None] * 1e4, False)]
)
@pytest.mark.filterwarnings("ignore")
def test_depth_is_read_from_counts_that_are_no_integers(change, named):
    gene = np.repeat(["NT", "A", "B"], [60, 30, 30])
    X = np.random.default_rng(0).gamma(2, 20, size=(120, 40)) * np.where(gene == "A", 0.5, 1.0)[:, None]
    data = anndata.AnnData(change(X), screen(gene).obs)
    inputs = bio.coherence_table(data, "gene", obsm=None, n_draws=19).inputs
    assert any(text.startswith("warning: total count of 'A' is 0.") for text in inputs) == named
