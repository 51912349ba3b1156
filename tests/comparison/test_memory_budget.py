"""What would not fit into memory is left out, and said so before the work starts; the rest is compared."""

import warnings

import numpy as np
import pytest

import shesha.measures as measures
from shesha import MeasureWarning, Rdm, compare, compare_all, compare_layers, consensus, rank_models
from shesha.comparison import engine
from shesha.drift import DriftMonitor
from shesha.views import Representation


def need(name, *sides):
    """Bytes that a pair takes: both views, and the making of one."""
    kind, options = measures.get(name).view_key
    told = [kind.memory(*side.shape, **dict(options)) for side in sides]
    return sum(kept for kept, _ in told) + max(working for _, working in told)


def between_both(monkeypatch, small, large, *sides):
    """Set the budget so that one measure fits and the other does not."""
    low, high = need(small, *sides), need(large, *sides)
    assert low < high - 2
    monkeypatch.setenv("SHESHA_MEMORY", str((low + high) // 2))


def test_what_would_not_fit_is_left_out_and_the_rest_is_compared(pair, monkeypatch):
    between_both(monkeypatch, "CKA", "RSA", *pair)
    with pytest.warns(MeasureWarning, match="left out: RSA, RDM drift.*: needs .* of a memory budget of .*: pass"):
        found = compare(*pair, ["RSA", "CKA", "RDM drift(metric=correlation)", "RDM drift"])
    lacking = [score for score in found.scores if not score.has_value]
    assert {score.name for score in lacking} == {"RSA", "RDM drift(metric=correlation)", "RDM drift"}
    for score in lacking:
        assert score.reason.startswith("needs ")
        assert score.reason.endswith(": pass fewer rows, or raise SHESHA_MEMORY")
    assert found["CKA"].value == measures.cka(*pair)


def test_the_warning_comes_before_the_work(pair, mark, monkeypatch):
    calls = []

    @mark("any work")
    def any_work(a, b):
        """Note the call."""
        calls.append(1)
        return 1.0

    between_both(monkeypatch, "any work", "CCA", *pair)
    # A warning that is an error stops everything where it is raised.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MeasureWarning, match="left out: CCA"):
            compare(*pair, [any_work, "CCA"])
    assert not calls


def test_a_pair_that_would_not_fit_leaves_the_smaller_pairs(layers, monkeypatch):
    rng = np.random.default_rng(0)
    wide = {**layers, "wide": rng.standard_normal((40, 400))}
    monkeypatch.setenv("SHESHA_MEMORY", str(need("RSA", layers["early"], layers["early"]) + 1))
    with (
        pytest.warns(MeasureWarning, match="left out: CKA: needs "),
        pytest.warns(MeasureWarning, match="left out: RSA: needs "),
    ):
        found = compare_all(wide, ["CKA", "RSA"])
    for one in found.scores:
        assert one.has_value == ("wide" not in (one.first, one.second))


def test_distances_need_memory_for_rows_only(pair, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", str(need("RSA", *(np.tile(side, 100) for side in pair)) - 1))
    X, Y = (Rdm(np.abs(side[:, None] - side[None]).sum(axis=2)) for side in pair)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare(X, Y, ["RSA"])["RSA"].has_value


def test_tokens_count_as_rows(rng, monkeypatch):
    X, Y = rng.standard_normal((2, 50, 20, 4))
    monkeypatch.setenv("SHESHA_MEMORY", "2M")
    with pytest.warns(MeasureWarning, match="left out: RSA"):
        found = compare(X, Y, ["RSA", "MagDiff"])
    assert found["MagDiff"].has_value


def test_tokens_beside_a_matrix_count_as_columns(rng, monkeypatch):
    X, Y = rng.standard_normal((50, 20, 4)), rng.standard_normal((50, 80))
    monkeypatch.setenv("SHESHA_MEMORY", "2M")
    # They are compared as a matrix of this shape, which fits.
    expected = compare(X.reshape(50, 80), Y, "RSA")["RSA"].value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare(X, Y, "RSA")["RSA"].value == expected


def test_views_are_made_in_turns_where_they_do_not_fit_together(layers, monkeypatch, counted):
    """The pairs are cut so that the views of each stretch fit; numbers stay the same."""
    more = {f"{name} {power}": X**power for name, X in layers.items() for power in (1, 2, 3)}
    made = counted(measures.get("RSA").view)
    chosen = ["RSA", "CKA", "Jaccard", "LinReg"]
    monkeypatch.setenv("SHESHA_MEMORY", "1G")
    whole = compare_all(more, chosen)
    assert len(made) == len(more)
    largest = max(need(name, layers["early"], layers["early"]) for name in chosen)
    monkeypatch.setenv("SHESHA_MEMORY", str(largest + 1))
    in_turns = compare_all(more, chosen)
    plain = [one.value for one in whole.scores]
    assert [one.value for one in in_turns.scores] == plain
    monkeypatch.setenv("SHESHA_MEMORY", str(need("RSA", layers["early"], layers["early"]) + 1))
    made.clear()
    tight = compare_all(more, ["RSA"])
    assert len(made) > len(more)
    assert tight.matrix("RSA").equals(whole.matrix("RSA"))


def test_a_grid_is_made_in_turns_where_it_does_not_fit(layers, monkeypatch, counted):
    whole = compare_layers(layers, layers, "RSA").matrix()
    made = counted(measures.get("RSA").view)
    monkeypatch.setenv("SHESHA_MEMORY", str(need("RSA", layers["early"], layers["early"]) + 1))
    assert compare_layers(layers, layers, "RSA").matrix().equals(whole)
    assert len(made) > 2 * len(layers)


def test_where_nothing_fits_no_row_is_read_and_what_fits_is_named(pair, monkeypatch, tmp_path):
    between_both(monkeypatch, "CKA", "RSA", *pair)

    class Unreadable:
        """Rows that tell their shape, and must not be looked at."""

        shape = pair[0].shape

        def __array__(self, *args, **kwargs):
            raise AssertionError("a row was read")

    with pytest.raises(ValueError, match=r"^RSA of .* must fit the memory budget of .*: these measures fit: .*MagDiff"):
        compare(Unreadable(), Unreadable(), "RSA")


SAMPLED = {
    "consensus": ("3M", consensus),
    "layers": ("20M", lambda sides: compare_layers(sides, [sides["a"]], "RSA", calibrate=True, n_permutations=19)),
    "rank": ("3M", lambda sides: rank_models(sides["a"], {"b": sides["b"], "c": sides["c"]})),
    "monitor": ("20M", lambda sides: DriftMonitor(sides["a"], n_resamples=19, false_alarm=0.05).check(sides["b"])),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_random_rows_are_used_if_all_rows_exceed_the_memory(name, rng, monkeypatch):
    shared = rng.standard_normal((4_000, 3))
    sides = {name: shared @ rng.standard_normal((3, 32)) + rng.standard_normal((4_000, 32)) for name in "abc"}
    budget, work = SAMPLED[name]
    monkeypatch.setenv("SHESHA_MEMORY", budget)
    found = work(sides)
    (stated,) = (text for text in found.inputs if " of 4,000 rows used" in text)
    assert found.n_rows == int(stated.split(" ")[0].replace(",", "")) < 4_000
    assert " ".join(str(found).split()).startswith(f"Only {stated}")


def test_views_of_pairs_are_freed_before_the_next_pair_is_looked_at(rng):
    """Whoever takes the scores of one stretch of pairs holds it while the next one is computed."""
    sources = {name: Representation.build(rng.standard_normal((30, 4)), name) for name in "abc"}
    cka = measures.get("unbiased CKA")
    groups = engine.group_by_view([cka], {cka.name: [("a", "b"), ("a", "c")]})
    seen = []
    for stretch in engine.stretches(groups, sources, {}, budget=1):
        assert not any(earlier.views for earlier in seen)
        assert len(stretch.views) == 2
        seen.append(stretch)
    assert len(seen) == 2
