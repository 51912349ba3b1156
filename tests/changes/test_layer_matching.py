"""Which layers correspond: kinds of names that people have, with the expected pairs or the expected refusal."""

import numpy as np
import pytest

import shesha
from shesha.changes.layer_sources import match_layers


def numbered(pattern, numbers):
    return [pattern.replace("#", str(number)) for number in numbers]


def pairs(before, after, numbers):
    return dict(zip(numbered(before, numbers), numbered(after, numbers), strict=True))


@pytest.mark.parametrize("n", [2, 12])
@pytest.mark.parametrize(
    ("before", "after", "by"),
    [
        ("layer.#", "layer.#", "name"),
        ("layer.#", "model.layer.#", "suffix"),
        ("base_model.model.layer.#", "layer.#", "suffix"),
        ("encoder.layer.#", "0.auto_model.encoder.layer.#", "suffix"),
        ("layer.#", "layer.#.output", "prefix"),
        ("layer.#", "model.layer.#.output", "part of the name"),
        ("#", "layer.#", "suffix"),
        ("base.layer.#", "model.layer.#", "common part"),
        ("Layer_0#", "layer.#", "words"),
        ("encoder.layer.#.output", "transformer.h.#", "number"),
    ],
)
def test_layers_of_the_same_number_are_matched(n, before, after, by):
    found = match_layers(numbered(before, range(n)), numbered(after, reversed(range(n))))
    assert found.pairs == pairs(before, after, range(n))
    assert found.by == (by,)
    assert (found.n_layers, found.only_before, found.only_after) == (n, (), ())


@pytest.mark.parametrize(
    ("before", "after", "n_pairs", "n_layers", "by"),
    [
        # A name that all models have must not keep the others from being matched.
        (["embeddings", "layer.0", "layer.1"], ["embeddings", "model.layer.0", "model.layer.1"], 3, 3, "name suffix"),
        (["embeddings", "a", "b"], ["embeddings", "c", "d"], 3, 3, "name position"),
        (["X", "obsm/X_pca"], ["X", "obsm/X_scvi"], 2, 2, "name position"),
        (["embeddings"], ["embeddings", "layer.0"], 1, 2, "name"),
        # Models of different depth, pruned models, other heads.
        (numbered("layer.#", range(12)), numbered("layer.#", range(24)), 12, 24, "name"),
        (numbered("layer.#", range(0, 12, 2)), numbered("layer.#", range(12)), 6, 12, "name"),
        (["conv1", "layer1", "fc"], ["conv1", "layer1", "head"], 2, 3, "name"),
        (["emb", *numbered("blk.#.out", range(3))], ["wte", *numbered("h.#", range(3))], 3, 4, "number"),
        (numbered("base.layer.#", range(3)), numbered("model.layer.#", range(5)), 3, 5, "common part"),
        # Two layers per block.
        (
            ["b.0.attn", "b.0.mlp", "b.1.attn", "b.1.mlp"],
            ["h.0.attn", "h.0.mlp", "h.1.attn", "h.1.mlp"],
            4,
            4,
            "common part",
        ),
        # Parts inside the modules of an adapter are no rivals of the modules.
        (
            ["layer.0", "layer.1"],
            ["base.layer.0", "base.layer.0.lora_A", "base.layer.1", "base.layer.1.lora_A"],
            2,
            4,
            "suffix",
        ),
        (["a", "b"], ["p", "q"], 2, 2, "position"),
        (["representation"], ["embedding"], 1, 1, "position"),
    ],
)
def test_partial_overlaps_are_counted(before, after, n_pairs, n_layers, by):
    found = match_layers(before, after)
    assert (len(found.pairs), found.n_layers, " ".join(found.by)) == (n_pairs, n_layers, by)
    assert len(found.only_before) == len(before) - n_pairs
    assert len(found.only_after) == len(after) - n_pairs


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (["embeddings", "a", "b"], ["embeddings", "c", "d", "e"], "Both have embeddings, a name that unrelated models"),
        (["representation"], numbered("layer.#", range(12)), "share names of layers or have the same number of layers"),
        (numbered("layer.#", range(12)), numbered("h.#", range(24)), "Pass match= with pairs of names"),
        (
            [*numbered("encoder.layer.#", range(6)), *numbered("decoder.layer.#", range(6))],
            numbered("layer.#", range(6)),
            r"got layer.0, which may be encoder.layer.0 or decoder.layer.0: pass match=",
        ),
        (
            numbered("layer.#", range(6)),
            [*numbered("encoder.layer.#", range(6)), *numbered("decoder.layer.#", range(6))],
            r"got layer.0, which may be encoder.layer.0 or decoder.layer.0: pass match=",
        ),
        (
            numbered("layer.#", range(12)),
            numbered("layer.#", range(1, 13)),
            "0 to 11 and 1 to 12: pass match='position'",
        ),
        (numbered("layer.#", range(3)), numbered("m.layer.#", range(1, 4)), "0 to 2 and 1 to 3: pass match='position'"),
    ],
)
def test_ambiguous_names_are_refused_with_the_option_that_decides(before, after, message):
    with pytest.raises(ValueError, match=message):
        match_layers(before, after)


def test_the_user_decides():
    before, after = numbered("layer.#", range(3)), numbered("layer.#", range(1, 4))
    assert match_layers(before, after, "position").pairs == dict(zip(before, after, strict=True))
    assert match_layers(before, after, "name").pairs == {"layer.1": "layer.1", "layer.2": "layer.2"}
    stacks = [*numbered("encoder.layer.#", range(3)), *numbered("decoder.layer.#", range(3))]
    found = match_layers(before, stacks, {"layer.*": "decoder.layer.*"})
    assert found.pairs == pairs("layer.#", "decoder.layer.#", range(3))
    assert match_layers(["a", "fc"], ["a", "head"], {"fc": "head"}).pairs == {"a": "a", "fc": "head"}


def test_what_was_compared_is_stated(rng):
    X = {f"layer.{i}": rng.standard_normal((40, 6)) for i in range(3)}
    after = {f"model.{name}": Y for name, Y in X.items()}
    found = shesha.diff({"embeddings": X["layer.0"], **X}, {"embeddings": X["layer.0"], **after, "head": X["layer.0"]})
    assert found.headline.startswith("4 of 5 layers compared; head has no counterpart. ")
    assert found.inputs == ("4 of 5 layers compared, matched by name and suffix", "only after: head")
    assert found.layers["layer.2"].other == "model.layer.2"
    assert shesha.diff(X, X).inputs == ()
    shallow = shesha.diff(X, {name: X[name] for name in ("layer.0", "layer.1")})
    assert "before has 3 layers and after 2: in models of other depth" in " ".join(shallow.inputs)


def test_layers_in_alphabetical_order_are_put_in_the_order_of_their_numbers(rng):
    X = {f"layer.{i}": rng.standard_normal((40, 6)) for i in range(12)}
    found = shesha.diff(dict(sorted(X.items())), dict(sorted(X.items())))
    assert list(found.layers) == list(X)
    assert "layers put in the order of their numbers (layer.2 before layer.10)" in found.inputs
    # Any other order is that of the model.
    assert list(shesha.diff(dict(reversed(X.items())), X).layers) == list(reversed(X))


def test_an_index_holds_the_output_of_the_model_or_else_the_last_layer(rng):
    X = {name: rng.standard_normal((60, 4)) for name in ("embedding", *(f"layer.{i}" for i in range(11)))}
    found = shesha.diff(X, X, index=True)
    assert found.index.layer == "embedding" and "index tested on embedding" in found.inputs
    del X["embedding"]
    found = shesha.diff(dict(sorted(X.items())), X, index=True)
    assert found.index.layer == "layer.10" and "index tested on layer.10" in found.inputs


def test_a_first_measure_that_saturates_decides_nothing():
    rng = np.random.default_rng(0)
    found = shesha.diff(*rng.standard_normal((2, 30, 60)), measures=["CCA"])
    assert found["representation"].verdict in ("cannot decide", "not estimable")


@pytest.mark.parametrize("n", [1, 2, 12])
@pytest.mark.parametrize("blocks", ["encoder.layer.#", "h.#"])
@pytest.mark.parametrize("states", ["hidden_states.#", "encoder.hidden_states[#]"])
def test_hidden_states_count_the_input(n, blocks, states):
    first, second = numbered(states, range(n + 1)), numbered(blocks, range(n))
    expected = dict(zip(first[1:], second, strict=True))
    found = match_layers(first, second)
    assert (found.pairs, found.only_before) == (expected, (first[0],))
    assert match_layers(second, first).pairs == {name: state for state, name in expected.items()}
    # Other names of n + 1 layers are no evidence.
    with pytest.raises(ValueError, match="must share names of layers"):
        match_layers(numbered("state.#", range(n + 1)), second)


@pytest.mark.parametrize(
    ("shift", "noise", "is_warned"), [(0, 0, False), (1, 0, True), (1, 1e-4, True), (1, 0.1, False)]
)
def test_layers_that_begin_with_another_one_are_named(rng, shift, noise, is_warned):
    values = [rng.standard_normal((40, 8)) for _ in range(6)]
    before = {f"layer.{k}": values[k] for k in range(5)}
    after = {f"layer.{k}": values[k + shift] + noise * rng.standard_normal((40, 8)) for k in range(5)}
    text = "4 of 5 layers after the change hold the vectors of other layers before it, such as layer.0 those of layer.1"
    assert any(text in one for one in shesha.diff(before, after).inputs) == is_warned
