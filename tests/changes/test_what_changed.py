"""What kind of change it was: answers that are known."""

import numpy as np
import pytest
import scipy.stats

import shesha
from shesha.changes.class_distance_changes import (
    ClassTest,
    _note_of_few_labellings,
    _p_values_of_samples,
    class_changes,
    class_means,
)
from shesha.changes.layer_details import FOLDS, _half_width, separation_change
from shesha.views import Representation


@pytest.fixture
def rows(rng):
    return rng.standard_normal((300, 10)) @ rng.standard_normal((10, 16)) + 0.3 * rng.standard_normal((300, 16))


def kind(before, after):
    return shesha.diff(before, after, max_rows=None).structure.kind


@pytest.mark.filterwarnings("ignore:few coordinates", "ignore:34 of 300 checked rows")
def test_kinds_of_change_are_told_apart(rows, rng):
    turn = np.linalg.qr(rng.standard_normal((16, 16)))[0]
    assert kind(rows, rows) == "none"
    assert kind(rows, 3 * rows) == "rescaling"
    assert kind(rows, 3 * rows @ turn) == "rotation"
    assert kind(rows, rows + 0.2 * rows.std() * rng.standard_normal(rows.shape)) == "small moves"
    assert kind(rows, rows @ rng.standard_normal((16, 16))) in ("mixing of features", "collapse")
    assert kind(rows, rows @ np.diag([1, 1] + [0.01] * 14)) == "collapse"
    assert kind(rows, rng.standard_normal((300, 16))) == "new structure"
    assert kind(rows, np.where(np.arange(300)[:, None] % 9 == 0, rows[::-1], rows)) == "some rows"


def test_rows_that_differ_are_counted_where_others_stayed(rows, rng):
    """One common target of a few rows is no offset of all."""
    few = rng.permutation(300) < 28
    found = shesha.diff(rows, np.where(few[:, None], 0.4 * rows + 3.0, rows), max_rows=None)
    assert found.structure.n_moved == 28
    assert (
        "only 28 of 300 vectors differ by more than noise, and all others stayed the same"
        in str(found).replace("\n  ", " ").lower()
    )


def test_few_rows_make_no_structure_new(rng):
    """With more features than rows no map gives even the old vectors, which is no news."""
    X = rng.standard_normal((80, 6)) @ rng.standard_normal((6, 200)) + 2.0 * rng.standard_normal((80, 200))
    found = shesha.diff(X, X @ rng.standard_normal((200, 200)) / 14, max_rows=None).structure
    assert found.linear < 0.9
    assert found.new < 0.1


def test_classes_that_moved_apart_are_named(rows, rng):
    labels = np.repeat(["a", "b", "c"], 100)
    # With a common offset, the directions of the classes are close to each other before the change.
    rows = rows + 6.0
    after = rows + 4.0 * (labels == "b")[:, None] * rng.standard_normal(16)
    found = shesha.diff(rows, after, labels, max_rows=None)
    apart = {
        frozenset((one.first, one.second)) for one in found.classes if one.corrected_p_value <= 0.05 and one.change > 0
    }
    assert {frozenset("ab"), frozenset("bc")} <= apart
    assert "b moved apart" in found.full_text()
    assert found.separation.after > found.separation.before + 0.2
    assert found.separation.low > 0
    assert "better" in found.separation.in_words


def test_labels_that_changed_nothing_move_no_class(rng):
    """Noise knows no labels: at 5 % at most 5 % of corrected families hold a class that moved."""
    wrong = 0
    for run in range(40):
        own = np.random.default_rng(run)
        X = own.standard_normal((60, 8))
        labels = own.permutation(np.repeat(["a", "b", "c"], 20))
        found = shesha.diff(X, X + 0.3 * own.standard_normal(X.shape), labels, measures="unbiased CKA", seed=run)
        wrong += found.classes[0].corrected_p_value <= 0.05
    # The 99 % limit of a binomial of 40 at 5 % is 6.
    assert wrong <= 6


def test_separation_that_stays_is_kept(rows, rng):
    labels = np.repeat([0, 1], 150)
    X = rows + 2.0 * labels[:, None] * rng.standard_normal(16)
    found = shesha.diff(X, X @ np.linalg.qr(rng.standard_normal((16, 16)))[0], labels, max_rows=None)
    assert found.separation.before == pytest.approx(found.separation.after, abs=0.02)
    assert "no significant change" in found.separation.in_words
    assert found.separation.chance == 0.5


def test_unrelated_labels_are_told_apart_by_chance_alone(rows, rng):
    labels = rng.permutation(np.repeat([0, 1, 1], 100))
    found = shesha.diff(rows, 2 * rows, labels, max_rows=None).separation
    assert abs(found.before - 0.5) < 0.12


@pytest.mark.parametrize("size", [1, 5])
def test_noise_moves_no_class(size):
    """Rows (or groups of 5) of three clear classes, measured twice: 7 of 15 movements by permuted labels alone."""
    found, test = 0, ClassTest(0.05, groups=None if size == 1 else np.repeat(np.arange(12), 5))
    for seed in range(15):
        rng = np.random.default_rng(seed)
        codes = np.repeat(np.arange(60 // size) % 3, size)
        centres = rng.standard_normal((3, 10))[codes] + 0.5 * rng.standard_normal((60, 10))
        before, after = (
            Representation.build(centres + 0.6 * np.repeat(rng.standard_normal((60 // size, 10)), size, axis=0))
            for _ in range(2)
        )
        changes, _ = class_changes(before, after, [], codes, [*"abc"], test)
        found += any(change.corrected_p_value <= 0.05 for change in changes)
    assert found <= 2


@pytest.mark.parametrize("nested", [False, True])
def test_the_variance_over_samples_is_the_jackknifes(rng, nested):
    codes = np.repeat([0, 0, 0, 1, 1, 1, 2, 2], 3) if nested else rng.permutation(np.repeat([0, 1, 2], 8))
    groups = np.repeat(np.arange(8), 3) if nested else np.arange(24)
    matrix = np.abs(rng.standard_normal((24, 24)))
    matrix = (matrix + matrix.T) * (1 - np.eye(24))
    alone, _ = _p_values_of_samples(matrix, codes, groups if nested else None)
    for k, (a, b) in enumerate(zip(*np.triu_indices(3), strict=True)):
        parts = []
        for code in {int(a), int(b)}:
            units = np.unique(groups[codes == code])
            left = [class_means(matrix[np.ix_(groups != u, groups != u)], codes[groups != u])[a, b] for u in units]
            parts.append((len(units) - 1, (len(units) - 1) / len(units) * np.sum((left - np.mean(left)) ** 2)))
        variance = sum(part for _, part in parts)
        freedom = variance**2 / sum(part**2 / df for df, part in parts)
        expected = 2 * scipy.stats.t.sf(class_means(matrix, codes)[a, b] / np.sqrt(variance), freedom)
        assert alone[k] == pytest.approx(expected, rel=1e-9)


def test_class_means_against_a_loop(rng):
    codes = np.array([0, 0, 1, 1, 1, 2])
    distances = rng.random((6, 6))
    distances = distances + distances.T
    np.fill_diagonal(distances, 0)
    found = class_means(distances, codes)
    for a in range(3):
        for b in range(3):
            values = [distances[i, j] for i in range(6) for j in range(6) if i != j and (codes[i], codes[j]) == (a, b)]
            assert found[a, b] == pytest.approx(np.mean(values) if values else 0)


def test_many_labels_and_small_classes_take_no_part(rows):
    labels = ["rare"] * 3 + ["a"] * 150 + ["b"] * 147
    found = shesha.diff(rows, 2 * rows, labels, max_rows=None)
    assert {one.first for one in found.classes} == {"a", "b"}
    assert shesha.diff(rows, 2 * rows, ["one"] * 300, max_rows=None).classes == ()


@pytest.mark.filterwarnings("ignore:100 of 300 checked rows")
def test_the_class_that_lost_its_surroundings_is_named(rows, rng):
    labels = np.repeat(["kept", "lost", "other"], 100)
    after = rows.copy()
    after[100:200] = rng.permutation(after[100:200])
    found = shesha.diff(rows, after, labels)
    assert next(iter(found.lost_by_class)) == "lost"
    assert found.lost_by_class["lost"] > 0.8
    assert ["lost", "96%"] in [line.split() for line in found.full_text().split("\n")]
    assert shesha.diff(rows, after).lost_by_class == {}


@pytest.mark.parametrize("width", [120, 110])
def test_kinds_of_change_of_wide_rows_do_not_depend_on_their_coordinates(monkeypatch, width):
    """Rows in fewer coordinates give every number up to rounding, also to measures that depend on the axes."""
    rng = np.random.default_rng(0)
    before = rng.standard_normal((30, 8)) @ rng.standard_normal((8, 120)) + 0.2 * rng.standard_normal((30, 120)) + 1
    changes = {
        "none": 0 * before,
        "scaled": before * (np.arange(120) % 5),
        "lost": -before * (np.arange(120) > 40),
        "small": 0.3 * rng.standard_normal(before.shape),
        "new": rng.standard_normal(before.shape) - before,
    }
    labels = np.arange(30) % 2
    for name, change in changes.items():
        found = []
        for fewest in (4096, 1):
            monkeypatch.setattr("shesha.changes.layer_details._MANY_FEATURES", fewest)
            found.append(
                shesha.diff(before, (before + change)[:, :width], labels, measures=["unbiased CKA", "SoftCorr"])
            )
        first, second = found
        assert first.structure.kind == second.structure.kind, name
        for one, other in ((first.structure, second.structure), (first.separation, second.separation)):
            for field, value in vars(one).items():
                if isinstance(value, float):
                    assert getattr(other, field) == pytest.approx(value, rel=1e-6, abs=1e-8, nan_ok=True), (name, field)
        for layer, same in zip(first, second, strict=True):
            assert (same.value, same.noise) == pytest.approx((layer.value, layer.noise), rel=1e-6, abs=1e-9)
            for score, other in zip(layer.scores, same.scores, strict=True):
                assert other.noise == pytest.approx(score.noise, rel=1e-6, abs=1e-9, nan_ok=True)


def test_the_accuracy_of_separate_classes_is_one():
    rng = np.random.default_rng(0)
    codes, fold = np.arange(40) % 2, np.arange(40) // 8
    rows = rng.standard_normal((40, 3)) + 20 * codes[:, None]
    sides = Representation.build(rows), Representation.build(rng.standard_normal((40, 3)))
    found = separation_change("a", *sides, codes, fold, confidence=0.9)
    assert found.before == pytest.approx(1.0) and found.after < 0.9


def test_the_interval_of_accuracies_is_that_of_the_formula(rng):
    changes, weights = rng.integers(-1, 2, 12).astype(float), np.full(12, 1 / 12)
    variance = 12 / 11 * ((changes - changes.mean()) ** 2).sum() / 144 + 2 / 14**2
    expected = scipy.stats.t.ppf(0.975, 11) * np.sqrt((1 + FOLDS / (FOLDS - 1)) * variance)
    assert _half_width(weights, changes, None, 0.95) == pytest.approx(expected)


@pytest.mark.parametrize(("sizes", "p"), [((2, 3), 0.1), ((3, 3), 0.1), ((1, 1, 2), 1 / 12)])
def test_few_groups_cannot_decide_whether_classes_moved(sizes, p):
    """Two classes of equal size can be exchanged, which leaves their distance unchanged."""
    assert f"p is at least {p:.2g}." in _note_of_few_labellings(np.array(sizes), 0.05)[0]


def test_flipped_signs_are_not_called_a_rescaling(rows):
    signs = np.where(np.arange(16) % 3, 1, -1)
    for factors, said in ((signs, "some features changed their signs"), (signs > 0, "features were rescaled")):
        assert shesha.diff(rows, rows * factors).structure.in_words.startswith(said)


@pytest.mark.filterwarnings("ignore:re-encodings of")
def test_noise_of_a_random_encoder_is_stated_and_is_no_kind_of_change(rng):
    vectors = rng.standard_normal((300, 40)) @ rng.standard_normal((40, 384))

    def encode():
        return vectors * (rng.random(vectors.shape) > 0.25)

    found = shesha.diff(encode(), encode(), again=[encode()])
    assert found.structure.kind == "none"
    assert any("as with dropout or sampled inputs" in text for text in found.inputs)
    quiet = shesha.diff(vectors, 1.001 * vectors, again=[vectors + 0.01 * rng.standard_normal(vectors.shape)])
    assert not any("dropout" in text for text in quiet.inputs)
    vectors = rng.standard_normal((100, 384))
    turned = vectors @ np.linalg.qr(rng.standard_normal((384, 384)))[0]
    assert shesha.diff(vectors, turned).structure.kind == "untested"


def test_a_re_encoding_by_the_new_model_is_told():
    rng = np.random.default_rng(0)
    before = rng.standard_normal((120, 16))
    after = before + rng.standard_normal(before.shape)
    again = {name: side + 0.01 * rng.standard_normal(before.shape) for name, side in (("old", before), ("new", after))}
    said = "re-encoding 0 (again=, --again) of vectors resembles after, not before"
    for name, run in again.items():
        found = shesha.diff({"vectors": before}, {"vectors": after}, again=[{"vectors": run}])
        assert (said in str(found.inputs)) == (name == "new")


@pytest.mark.parametrize("layer", ["RMSNorm", "LayerNorm"])
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_normalisation_layer_on_one_side_is_named(rng, layer, side):
    rows = rng.standard_normal((300, 12)) @ rng.standard_normal((12, 32)) + 0.5 * rng.standard_normal((300, 32))
    rows *= np.exp(0.35 * rng.standard_normal((300, 1)))
    centred = rows - rows.mean(axis=1, keepdims=True) if layer == "LayerNorm" else rows
    gain, offset = np.exp(0.5 * rng.standard_normal(32)), rng.standard_normal(32) if layer == "LayerNorm" else 0
    normed = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True)) * gain + offset
    sides = (normed, rows) if side == "before" else (rows, normed)
    found = shesha.diff(*(each * (1 + 1e-3 * rng.standard_normal(each.shape)) for each in sides))
    assert found.structure.kind == "normalisation"
    assert found.structure.explained > 0.999
    assert "as by a normalisation layer" in " ".join(str(found).split())
