"""Measures are found by any of their names, with options, by family and by group."""

import re
from importlib import import_module

import numpy as np
import pytest

import shesha.measures as measures
from shesha.measures import registry as registry
from shesha.views import Features

everyone = pytest.mark.parametrize("name", measures.names())


def ways_to_write(name):
    return [name, name.lower(), name.upper(), name.replace(" ", "_"), name.replace(" ", "-"), f"  {name} ", f"{name}()"]


@everyone
def test_a_measure_is_found_by_its_names_and_as_a_function(name):
    measure = measures.get(name)
    function = getattr(import_module(measure.function.__module__), measure.function.__name__)
    for text in (*ways_to_write(name), *ways_to_write(measure.function.__name__)):
        assert measures.get(text) is measure
    assert measures.get(measure) is measures.get(function) is measure


def test_names_are_those_of_the_table_and_the_families():
    table = measures.table()
    assert list(table.index) == measures.names()
    assert len(set(measures.names())) == len(measures.names())
    assert list(dict.fromkeys(table["family"])) == measures.families()


PARSED = [
    ("mutual kNN(k=20)", {"k": 20}),
    ("mutual_knn( k = 20 , metric = 'cosine' )", {"k": 20, "metric": "cosine"}),
    ('MUTUAL-KNN(metric="cosine")', {"metric": "cosine"}),
    ("mutual kNN(metric=cosine)", {"metric": "cosine"}),
    ("mutual kNN(k=20,)", {"k": 20}),
    ("CKA(bandwidth=1.5e-3)", {"bandwidth": 0.0015}),
    ("CKA(bandwidth=-2)", {"bandwidth": -2}),
    ("CKNNA(center=False)", {"center": False}),
    ("RTD(seed=None)", {"seed": None}),
    ("mutual kNN()", {}),
]


@pytest.mark.parametrize(("text", "options"), PARSED)
def test_options_are_literals_or_words(text, options):
    found = measures.get(text)
    assert dict(found.options) == options
    assert found.parameters == measures.get(text.split("(")[0]).parameters | options


def test_options_show_in_the_name_which_finds_the_same_again():
    found = measures.get("mutual_knn(k=20, metric=cosine)")
    assert found.name == "mutual kNN(k=20, metric=cosine)"
    assert measures.get(found.name) == found
    assert measures.get("mutual kNN").name == "mutual kNN"


def test_options_add_up():
    once = measures.get("mutual kNN(k=20)")
    assert once.with_options(metric="cosine").options == {"k": 20, "metric": "cosine"}
    assert once.with_options(k=5).name == "mutual kNN(k=5)"
    assert once.with_options() is once


@pytest.mark.parametrize("text", ["", "(k=3)", "CKA(k=3", "CKA k=3)", "CKA(k=3) again"])
def test_what_is_no_name_is_refused(text):
    with pytest.raises(ValueError, match=r"measure must be a name or name\(option=value, ...\), got "):
        measures.get(text)


@pytest.mark.parametrize("part", ["3", "k", "=3", "2k=3", "k 2=3", "k:3", "(k=3)"])
def test_what_is_no_option_is_refused(part):
    message = f"options of a measure must have the form option=value, got {part!r} in 'Jaccard"
    with pytest.raises(ValueError, match=re.escape(message)):
        measures.get(f"Jaccard(metric=cosine, {part})")


SWITCHES = [
    (name, option)
    for name in measures.names()
    for option, default in measures.get(name).parameters.items()
    if isinstance(default, bool)
]


@pytest.mark.parametrize("word", ["false", "no", "0.0.0"])
@pytest.mark.parametrize(("name", "option"), SWITCHES)
def test_a_word_is_not_taken_for_true(name, option, word, rng):
    """Every word is true to Python, so that a misspelt False would switch on what it should switch off."""
    X, Y = rng.standard_normal((2, 30, 5)) + 1
    with pytest.raises((TypeError, ValueError), match=f"{option} must be True or False, got '{word}'"):
        measures.get(f"{name}({option}={word})").score(X, Y)


@pytest.mark.parametrize("text", ["kNN(k=3,k=4)", "mutual kNN(k=3, metric=dot, k=3)"])
def test_an_option_can_be_given_once(text):
    message = f"options of a measure must be given once, got k again in {text!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        measures.get(text)


CLOSE = [
    ("jacard", "Jaccard"),
    ("CAK", "CKA"),
    ("procrustes similarty", "Procrustes similarity"),
    ("mutual knn5", "mutual kNN"),
    ("hard corr match", "HardCorr"),
]


@pytest.mark.parametrize(("text", "near"), CLOSE)
def test_unknown_names_are_answered_with_close_ones(text, near):
    with pytest.raises(
        ValueError, match=rf"measure must be one of the names that `shesha measures` lists, got '{text}'; did.*{near}"
    ):
        measures.get(text)


@pytest.mark.parametrize("wrong", [None, 3, np.mean, ["CKA"]])
def test_what_is_no_measure_is_refused(wrong):
    with pytest.raises(TypeError, match="a measure must be given by name or as a marked function, got "):
        measures.get(wrong)


def chosen(what):
    return [measure.name for measure in measures.choose(what)]


def test_a_single_one_in_every_form():
    measure = measures.get("Jaccard(k=3)")
    assert chosen("Jaccard(k=3)") == chosen(measure) == chosen(["Jaccard(k=3)"]) == ["Jaccard(k=3)"]
    assert chosen(measures.jaccard) == ["Jaccard"]


def test_families_and_groups_in_any_case():
    for family in measures.families():
        names = [name for name in measures.names() if measures.get(name).family == family]
        assert chosen(family) == chosen(family.upper()) == names
    assert (
        chosen("resi") == chosen("ReSi") == [name for name in measures.names() if "ReSi" in measures.get(name).groups]
    )
    assert len(chosen("ReSi")) == 24


def test_mixtures_keep_the_order_and_have_each_once():
    found = chosen(["ProcDist", measures.cka, "shape", measures.get("mutual kNN(k=3)"), "proc dist", "mutual kNN"])
    shape = [name for name in chosen("shape") if name != "ProcDist"]
    assert found == ["ProcDist", "CKA", *shape, "mutual kNN(k=3)", "mutual kNN"]
    assert chosen(iter(["CKA", "RV"])) == ["CKA", "RV"]


@pytest.fixture
def made_here():
    """A measure of a family whose name has capitals."""
    kept = dict(registry.MEASURES.known), dict(registry.MEASURES.aliases)

    @measures.measure(
        "first entry",
        view=Features,
        closer="lower",
        bounds=(0, 1),
        symmetric=True,
        invariant=(),
        family="Made Here",
        cost="n d",
        formula="none",
        reference="none",
        groups=("Mine",),
    )
    def first_entry(a, b):
        """Compare nothing."""
        return 0.0

    yield first_entry
    for table, before in zip((registry.MEASURES.known, registry.MEASURES.aliases), kept, strict=True):
        table.clear()
        table.update(before)


def test_a_new_measure_is_found_at_once(made_here):
    assert measures.get("first_entry") is measures.get(made_here)
    assert chosen("mine") == ["first entry"]
    assert "first entry" in chosen("standard")
    assert "Made Here" in measures.families()


def test_a_refused_measure_leaves_no_name_behind(made_here):
    def cka(a, b):
        """Share the name of a function that is taken."""
        return 0.0

    declared = {"invariant": (), "family": "none", "cost": "n d", "formula": "none", "reference": "none"}
    mark = measures.measure("refused", view=Features, closer="lower", bounds=(0, 1), symmetric=True, **declared)
    with pytest.raises(ValueError, match=r"name must differ from those of other measures, got 'cka', which CKA has"):
        mark(cka)
    with pytest.raises(ValueError, match="measure must be one of"):
        measures.get("refused")
    assert "refused" not in measures.names()
