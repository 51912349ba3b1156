"""Embeddings: representations as points whose distances show one measure."""

import numpy as np
import pytest

from shesha import compare_all


def distances_between(table):
    points = table.to_numpy()
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


def test_scaled_copies_lie_on_a_line(layers):
    sizes = np.array([1.0, 1.5, 3.0, 7.0])
    line = {f"x {size}": size * layers["early"] for size in sizes}
    found = compare_all(line, "ProcDist")
    for n_dimensions in (1, 2, 3):
        table = found.embed("ProcDist", n_dimensions)
        assert list(table.columns) == ["x1", "x2", "x3"][:n_dimensions]
        assert list(table.index) == list(line)
        assert distances_between(table) == pytest.approx(found.matrix("ProcDist").to_numpy(), rel=1e-4, abs=1e-4)
        assert table.attrs["explained"] == pytest.approx(1, abs=1e-6)
    centred = np.linalg.norm(layers["early"] - layers["early"].mean(axis=0))
    expected = (sizes - sizes.mean()) * centred
    # The largest coordinate is positive.
    assert found.embed("ProcDist", 1)["x1"].to_numpy() == pytest.approx(expected, rel=1e-6)


def test_a_plane_is_recovered(mark):
    """Whole rows as points: their distance is what the measure says, so that scaling finds them again."""
    points = np.random.default_rng(2).standard_normal((9, 2)) * (3, 1)

    @mark("distance", closer="lower", bounds=(0, np.inf), self_value=0.0)
    def distance(a, b):
        """Distance between the first rows."""
        return float(np.linalg.norm(a.rows[0] - b.rows[0]))

    table = compare_all({str(i): np.tile(point, (4, 1)) for i, point in enumerate(points)}, distance).embed("distance")
    assert distances_between(table) == pytest.approx(
        np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)), rel=1e-9, abs=1e-9
    )
    assert table.attrs["explained"] == pytest.approx(1)
    # The first coordinate shows the most.
    assert table["x1"].std() > table["x2"].std()


@pytest.mark.parametrize("measure", ["CKA", "RSA", "ProcDist", "LinReg"])
def test_equal_geometries_are_placed_together(layers, measure):
    X = layers["early"]
    copies = {**layers, "reflected": -X[:, ::-1]}
    table = compare_all(copies, measure).embed(measure)
    apart = distances_between(table)
    assert apart[0, -1] == pytest.approx(0, abs=1e-4 * apart.max())
    assert apart[0, 1:-1].min() > 0.01 * apart.max()


@pytest.mark.parametrize("measure", ["CKA", "LinReg", "ProcDist", "MagDiff", "mutual kNN"])
@pytest.mark.parametrize("n_dimensions", [1, 2, 9])
def test_the_share_that_is_shown_is_a_share(layers, measure, n_dimensions):
    table = compare_all(layers, measure).embed(measure, n_dimensions)
    assert table.shape == (4, n_dimensions)
    assert np.isfinite(table.to_numpy()).all()
    assert 0 <= table.attrs["explained"] <= 1 + 1e-12


def test_equal_representations_are_all_at_one_place(layers):
    table = compare_all(dict.fromkeys("abc", layers["early"]), "MagDiff").embed("MagDiff")
    assert not table.to_numpy().any()
    assert table.attrs["explained"] == 1


def test_what_has_no_value_for_some_pair_is_not_embedded(layers):
    found = compare_all({**layers, "flat": np.ones((40, 11))}, "CKA")
    with pytest.raises(ValueError, match="CKA must have a value for every pair to be embedded, got NaN for some"):
        found.embed("CKA")
