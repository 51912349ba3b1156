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
