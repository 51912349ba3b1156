"""Sums of all pairs of layers equal those of each pair alone."""

import numpy as np
import pytest

import shesha
from shesha.moments import LayerMoments, Moments, merge_all
from shesha.moments.layer_pair_sums import grid_bytes


@pytest.fixture
def models():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((4_000, 5))
    first = {f"a{i}": shared @ rng.standard_normal((5, 6 + i)) * 10.0**i + 1e4 * i for i in range(3)}
    second = {f"b{i}": (shared + rng.standard_normal((4_000, 5))) @ rng.standard_normal((5, 4 + i)) for i in range(2)}
    return first, second


def count(models, lengths):
    moments, start = LayerMoments(), 0
    for length in lengths:
        moments.update(*({name: rows[start : start + length] for name, rows in model.items()} for model in models))
        start += length
    return moments


@pytest.mark.parametrize("lengths", [[4_000], [1] * 50 + [1_000, 950, 2_000], [700, 24, 3_276]])
def test_every_pair_equals_that_of_moments_alone(models, lengths):
    moments = count(models, lengths)
    sums = moments.sums()
    assert len(moments) == sums.n_rows == 4_000
    for i, first in enumerate(models[0].values()):
        for j, second in enumerate(models[1].values()):
            alone = merge_all(Moments.of(first, second).parts())
            for found, expected in (
                (sums.cross[i, 3 + j], alone.cross[0, 1]),
                (sums.sides[i].products, alone.sides[0].products),
            ):
                assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize("measure", ["CKA", "unbiased CKA", "CCA", "OrthProc"])
def test_the_grid_equals_that_of_the_layers(models, measure):
    streamed, direct = shesha.compare_layers(count(models, [4_000]), measure), shesha.compare_layers(*models, measure)
    assert streamed.matrix().to_numpy() == pytest.approx(direct.matrix().to_numpy(), rel=1e-9)


def test_kernel_alignments_have_corrected_p_values(models):
    rng = np.random.default_rng(5)
    models[1]["noise"] = rng.standard_normal((4_000, 3))
    found = shesha.compare_layers(count(models, [4_000]), "CKA")
    by_pair = {(one.first, one.second): one for one in found.scores}
    assert by_pair["a0", "b0"].corrected_p_value < 1e-6
    assert by_pair["a0", "noise"].corrected_p_value > 0.01
    assert by_pair["a0", "b0"].corrected_p_value >= by_pair["a0", "b0"].p_value
    assert "3 x 3 layers over 4,000 inputs." in str(found)
    assert "(p < 1e-6, corrected for 9 pairs)." in str(found)
    other = shesha.compare_layers(count(models, [4_000]), "OrthProc")
    assert "for kernel alignments only" in other.scores[0].notes[0]


def test_bad_batches_count_nothing(models):
    moments = count(models, [500])
    first, second = ({name: rows[500:700] for name, rows in model.items()} for model in models)
    with pytest.raises(ValueError, match=r"layers must be .*, as in earlier batches"):
        moments.update({"a0": first["a0"]}, second)
    with pytest.raises(ValueError, match=r"second\[b1\] must be finite"):
        moments.update(first, second | {"b1": np.full((200, 5), np.nan)})
    with pytest.raises(ValueError, match=r"first\[a2\] must have as many rows as first\[a0\] \(200\), got 9"):
        moments.update(first | {"a2": first["a2"][:9]}, second)
    assert len(moments) == 500
    with pytest.raises(ValueError, match=r"batches must contain at least one layer of each model"):
        moments.update({}, second)
    with pytest.raises(ValueError, match=r"moments must have at least one row, got none"):
        shesha.compare_layers(LayerMoments())
    with pytest.raises(TypeError, match=r"layers_b must be the layers of a second model, got None"):
        shesha.compare_layers(models[0])


def test_grids_beyond_the_memory_are_refused_before_any_product(monkeypatch):
    assert grid_bytes([768] * 24, [768] * 24) > 8 * (24 * 768) ** 2
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    with pytest.raises(ValueError, match=r"sums of 1 x 1 pairs of layers must fit the memory budget"):
        LayerMoments().update({"a": np.zeros((9, 400))}, {"b": np.zeros((9, 400))})


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((1_500, 60)) * np.linspace(1, 0.2, 60)
    first = shared @ rng.standard_normal((60, 400)) + rng.standard_normal((1_500, 400))
    second = shared[:, :30] @ rng.standard_normal((30, 300)) + rng.standard_normal((1_500, 300)) + 50
    return first, second, shared[:, :7]


@pytest.mark.parametrize("measure", ["CKA", "unbiased CKA"])
@pytest.mark.parametrize("second", [1, 2])
def test_alignments_of_projected_layers_have_no_bias_and_the_error_they_state(wide, measure, second):
    expected = shesha.compare(Moments.of(wide[0], wide[second]), measure)[measure].value
    found = []
    for seed in range(25):
        moments = LayerMoments(project=64, seed=seed)
        for rows in np.array_split(np.arange(1_500), 3):
            moments.update({"a": wide[0][rows]}, {"b": wide[second][rows]})
        assert moments.projected == [True, second == 1]
        found.append(shesha.compare_layers(moments, measure).scores[0])
    values, errors = (np.array([getattr(one, name) for one in found]) for name in ("value", "sampling_error"))
    # Without the correction the values would be too low by a factor that is far from 1.
    assert values.mean() == pytest.approx(expected, abs=3 * values.std() / 5 + 0.005)
    assert 0.5 * values.std() < errors.mean() < 3 * values.std()
    assert sum(one.sampling_low <= expected <= one.sampling_high for one in found) >= 22
    plain = LayerMoments()
    plain.update({"a": wide[0] @ np.random.default_rng(0).standard_normal((400, 64))}, {"b": wide[second]})
    assert shesha.compare_layers(plain, measure).scores[0].value < values.mean() - 3 * values.std() / 5
    assert found[0].p_value < 1e-6


def test_projected_unrelated_layers_are_not_significant():
    rng = np.random.default_rng(3)
    rows = [rng.standard_normal((300, 100)) for _ in range(2)]
    p_values = []
    for seed in range(40):
        moments = LayerMoments(project=32, seed=seed)
        moments.update({"a": rows[0]}, {"b": rows[1][rng.permutation(300)]})
        p_values.append(shesha.compare_layers(moments, "unbiased CKA").scores[0].p_value)
    assert sum(p <= 0.05 for p in p_values) <= 6
    assert 0.3 < np.mean(p_values) < 0.7


def test_a_projection_is_seeded_and_said(wide, tmp_path):
    def grid(seed, project=64):
        moments = LayerMoments(project=project, seed=seed)
        moments.update({"a": wide[0]}, {"b": wide[1], "narrow": wide[2]})
        return shesha.compare_layers(moments, "CKA")

    one, same, other = grid(1), grid(1), grid(2)
    assert one.closest.value == same.closest.value != other.closest.value
    assert "2 of 2 values are estimates from random projections of wide layers" in str(one)
    assert "estimated from random projections on 64 directions, with a standard error" in one.scores[0].notes[0]
    assert "random projections of wide layers" in one.save_html(tmp_path / "grid.html").read_text()
    whole = grid(1, project=400)
    assert "projection" not in str(whole)
    assert whole.scores[1].sampling_error is None


def test_projections_are_for_kernel_alignments_and_enough_directions(wide):
    moments = LayerMoments(project=64)
    moments.update({"a": wide[0]}, {"b": wide[1]})
    with pytest.raises(ValueError, match=r"measure must be a kernel alignment with project, .* got CCA"):
        shesha.compare_layers(moments, "CCA")
    with pytest.raises(ValueError, match=r"project must be at least 32, got 8"):
        LayerMoments(project=8)
    with pytest.raises(ValueError, match=r"first\[a\] must have 400 features, as in earlier batches, got 300"):
        moments.update({"a": wide[1]}, {"b": wide[1]})


def test_an_update_that_is_interrupted_while_sums_change_makes_the_moments_unusable(models, monkeypatch):
    from shesha.moments import layer_pair_sums

    moments = count(models, [2_000])
    join, n_joined = layer_pair_sums.join_blocks, []

    def stop_at_the_third_pair(*args, **options):
        n_joined.append(1)
        if len(n_joined) == 3:
            raise KeyboardInterrupt
        return join(*args, **options)

    rest = [{name: rows[2_000:] for name, rows in model.items()} for model in models]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setenv("SHESHA_THREADS", "1")
        patch.setattr(layer_pair_sums, "join_blocks", stop_at_the_third_pair)
        moments.update(*rest)
    for use in (moments.sums, lambda: moments.update(*rest), lambda: shesha.compare_layers(moments)):
        with pytest.raises(RuntimeError, match=r"must contain complete updates only, got an interrupted"):
            use()
