"""Sentences on ranked models name the ties, the others and the weights that count."""

from types import SimpleNamespace as Ranking

import pytest

from shesha.results import model_ranking as text

NAN = float("nan")


def ranking(n_models, n_best, p=0.01, chance=NAN):
    models = [
        Ranking(name=f"m{i}", value=0.5 - 0.01 * i, p_ceiling=0.1 - 0.05 * i, corrected_p_value=chance)
        for i in range(n_models)
    ]
    pair = {"first": "m0", "second": "m1", "value": 0.1, "low": 0.05, "high": 0.15}
    pairs = [Ranking(corrected_p_value=p, **pair)] if p is not None else []
    return Ranking(
        **{"models": models, "best": [one.name for one in models[:n_best]], "measure": "RSA", "pairs": pairs},
        **{"has_ceiling": True, "alpha": 0.05, "ceiling_lower": 0.6, "ceiling_upper": 0.75},
        reaches_ceiling=lambda model: model.value >= 0.6,
    )


@pytest.mark.parametrize(
    ("n_models", "n_best", "chance", "said"),
    [
        (2, 1, 0.3, "m0 is closest (RSA 0.500), significantly closer than m1 at 0.05. No model is above chance."),
        (2, 2, 0.3, "but not significantly closer than m1 at 0.05. No model is above chance."),
        (1, 1, 0.3, "A single model is not ranked. It is not above chance."),
        (2, 1, 0.01, "m0 explains the data best (RSA 0.500), significantly better than m1 at 0.05."),
    ],
)
def test_models_at_chance_explain_nothing(n_models, n_best, chance, said):
    assert text.headline(ranking(n_models, n_best, chance=chance)).endswith(said)


@pytest.mark.parametrize(
    ("n_models", "n_best", "p", "end"),
    [
        (1, 1, None, "m0: RSA 0.500. A single model is not ranked."),
        (3, 1, None, "It was not tested whether other rows would change the order."),
        (3, 1, NAN, "It was not tested whether other rows would change the order."),
        (2, 1, 0.01, "m0 explains the data best (RSA 0.500), significantly better than m1 at 0.05."),
        (3, 1, 0.01, "m0 explains the data best (RSA 0.500), significantly better than both others at 0.05."),
        (3, 2, 0.01, "m0 is closest (RSA 0.500), but not significantly closer than m1 at 0.05."),
        (9, 5, 0.01, "but not significantly closer than m1, m2, m3, m4 at 0.05."),
        (9, 6, 0.01, "but not significantly closer than m1, m2, m3, m4 and 1 more at 0.05."),
        (9, 9, 0.01, "but not significantly closer than m1, m2, m3, m4 and 4 more at 0.05."),
    ],
)
def test_the_headline_names_ties_or_others(n_models, n_best, p, end):
    assert text.headline(ranking(n_models, n_best, p)).endswith(end)


def test_models_reach_the_ceiling_or_fall_short_of_it():
    of_three = ranking(3, 1)
    of_three.models = [
        Ranking(name="within", value=0.61, p_ceiling=0.7),
        Ranking(name="near", value=0.58, p_ceiling=0.06),
        Ranking(name="far", value=0.3, p_ceiling=0.05),
        Ranking(name="untested", value=0.2, p_ceiling=NAN),
    ]
    assert text.ceiling_sentence(of_three) == (
        "The noise ceiling is 0.600 to 0.750; within reaches it; far falls short of it significantly; near falls short "
        "of it, but not significantly; untested falls short of it (not tested)."
    )
    of_three.alpha = 0.07
    assert "near, far fall short of it significantly" in text.ceiling_sentence(of_three)
    assert text.ceiling_sentence(Ranking(has_ceiling=False)) == ""
