"""How far a run of the benchmark is."""

from shesha_bench.runner import Meter


def test_text_counts_models_and_comparisons():
    mixed = Meter(2)
    for kind, amount in (("train", 5), ("cheap", 100), ("costly", 8)):
        mixed.expect(kind, amount)
    mixed.finish("train", 1, 8.0)
    mixed.finish("train", 1, 12.0)
    mixed.finish("cheap", 20, 10.0)
    mixed.n_models, mixed.models_done, mixed.n_cells, mixed.cells_done = 5, 2, 108, 20
    assert mixed.text() == "2/5 models, 20/108 comparisons, at least 35 s left"
    mixed.finish("costly", 8, 16.0)
    assert mixed.text() == "2/5 models, 20/108 comparisons, about 35 s left"
    assert Meter(1).text() == "0/0 models, 0/0 comparisons"
