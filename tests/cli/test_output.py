"""What the program writes: the report, JSON, a picture, and nothing else."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.cli._options import name_options
from shesha.cli.audit import _UNORDERED
from shesha.report import as_full_text, as_text
from shesha.results.audit_report import audit_page

QUICK = ("--bootstrap", "0", "--permutations", "19")
RESAMPLED = ("--bootstrap", "10", "--permutations", "19")


def full_report(audit):
    page = audit.add_statements(audit_page(audit, name_options))
    return "\n\n".join([as_full_text(page), as_text(audit.sentence_sections())])


@pytest.fixture
def path(tmp_path, X, kinds):
    np.savez(tmp_path / "layers.npz", first=X, second=X**3, kind=kinds)
    return tmp_path / "layers.npz"


def test_the_report_is_that_of_the_library(invoke, path, X, kinds):
    options = ("--metric", "euclidean", "--seed", "4", "--pairs", "500", "--labels", "kind")
    ended = invoke("audit", path, *options, *RESAMPLED, "--full")
    found = shesha.audit(
        {"first": X, "second": X**3},
        pd.Series(kinds, name="kind"),
        metric="euclidean",
        seed=4,
        pairs=500,
        n_bootstrap=10,
        n_permutations=19,
    )
    unordered = replace(found, drift=None, drift_reason=_UNORDERED)
    assert (ended.status, ended.out, ended.err) == (
        0,
        f"{full_report(unordered)}\n",
        "",
    )


@pytest.mark.parametrize(
    ("names", "keys", "ordered"),
    [
        (("first", "second"), (), False),
        (("first", "second"), ("second", "first"), True),
        (("layer1", "layer12"), (), True),
        (("pca50", "lognorm"), (), False),
        (("a1", "b2"), (), False),
    ],
)
def test_drift_is_told_where_somebody_gave_an_order(invoke, tmp_path, X, names, keys, ordered):
    np.savez(tmp_path / "two.npz", **dict(zip(names, (X, X**3), strict=True)))
    chosen = [part for key in keys for part in ("--key", key)]
    out = invoke("audit", tmp_path / "two.npz", *QUICK, *chosen, "--full").out
    assert ("Drift along the given order" in out) == ordered
    assert ("the order of the representations is unknown" in " ".join(out.split())) != ordered


def test_a_first_look_draws_less_and_says_so(invoke, strict_json, path):
    ended = invoke("audit", path, "--quick", "--bootstrap", "0", "--json", "-")
    options = strict_json(ended.out)["options"]
    assert (options["n_bootstrap"], options["n_permutations"]) == (0, 39)
    assert "--quick" in ended.err


def test_json_alone_on_standard_output(invoke, strict_json, path, tmp_path, X):
    gaps = X.copy()
    gaps[0, 0] = np.inf
    np.savez(path, gaps=gaps, equal=np.ones((60, 12)), good=X)
    ended = invoke("audit", path, *QUICK, "--json", "-")
    gaps, equal, good = strict_json(ended.out)["representations"]
    assert (ended.status, ended.err) == (2, "shesha: no score for gaps, equal\n")
    assert (gaps["feature_split"], gaps["effective_rank"], gaps["faults"]["not_finite"]) == (None, None, 1)
    assert gaps["reason"].startswith("NaN or infinity in 1 row of 60 (0)")
    assert (equal["feature_split"]["value"], equal["anisotropy"]) == (None, None)
    assert good["feature_split"]["value"] == shesha.estimate(X, seed=0, n_bootstrap=0).value
    invoke("audit", path, *QUICK, "--json", tmp_path / "file.json")
    assert (tmp_path / "file.json").read_text() == ended.out


def test_a_picture_is_written(invoke, path, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plain = invoke("audit", path, *QUICK)
    ended = invoke("audit", path, *QUICK, "--plot", tmp_path / "a.png")
    assert ended == plain
    assert ended.status == 0
    pixels = matplotlib.image.imread(tmp_path / "a.png")
    assert pixels.shape[0] > 300
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 3
    matplotlib.pyplot.close("all")


def test_a_picture_without_matplotlib(invoke_main, path, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    ended = invoke_main("audit", path, *QUICK, "--plot", tmp_path / "a.png")
    assert ended.status == 2
    assert ended.err.endswith('shesha: plots need matplotlib: pip install "shesha-representations[plot]"\n')
    assert "  verdict " in ended.out
