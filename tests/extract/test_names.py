"""Names and patterns stand for the modules they should, and a silent nothing is refused."""

import pytest

torch = pytest.importorskip("torch")

from shesha.extract.torch_modules import choose_layers  # noqa: E402


def test_a_star_stays_within_its_part(bert):
    assert tuple(choose_layers(bert(), "encoder.layer.*")) == ("encoder.layer.0", "encoder.layer.1")
    assert tuple(choose_layers(bert(), "encoder.layer.[1-9]")) == ("encoder.layer.1",)


def test_two_stars_stand_for_any_number_of_parts(bert):
    found = tuple(choose_layers(bert(), "**.query"))
    assert found == tuple(f"encoder.layer.{number}.attention.self.query" for number in range(2))
    assert next(iter(choose_layers(bert(), "encoder.layer.0.**"))) == "encoder.layer.0"


def test_several_names_come_in_the_order_of_the_model(bert):
    found = choose_layers(bert(), ["encoder.layer.1", "embeddings", "encoder.layer.*"])
    assert tuple(found) == ("embeddings", "encoder.layer.0", "encoder.layer.1")


@pytest.mark.parametrize(
    ("asked", "close"),
    [
        ("layer.*", "encoder.layer.*"),
        ("encoder.layers.*", "encoder.layer.*"),
        ("encoder.layer.7", "encoder.layer.1"),
        ("embedding", "embeddings"),
    ],
)
def test_what_matches_nothing_is_refused_with_close_names(bert, asked, close):
    with pytest.raises(ValueError, match=r"layers must match modules of the model, got '.*', which matches none") as no:
        choose_layers(bert(), asked)
    assert close in str(no.value)
