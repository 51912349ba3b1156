"""`shesha cite` prints what `shesha.cite` returns."""

import numpy as np
from typer.testing import CliRunner

import shesha
from shesha.cli._app import app


def run(*args):
    return CliRunner().invoke(app, ["cite", *map(str, args)])


def test_names_and_saved_results_are_cited(tmp_path):
    X, Y = np.random.default_rng(0).standard_normal((2, 30, 5))
    shesha.compare(X, Y, ["cka"]).save(tmp_path / "one.json")
    assert run("cka", "rsa").stdout.strip() == str(shesha.cite("cka", "rsa"))
    assert run(tmp_path / "one.json").stdout.strip() == str(shesha.cite("cka"))
    assert run().stdout.strip() == str(shesha.cite())
