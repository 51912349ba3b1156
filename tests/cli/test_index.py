"""`shesha index` measures what stored vectors find, in files whose rows are matched by their identifiers."""

import json

import numpy as np
import pandas as pd
import pytest

X = np.random.default_rng(0).standard_normal((60, 12)) * np.geomspace(3, 0.3, 12)


@pytest.fixture
def files(tmp_path):
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(12)])
    frame.insert(0, "id", [f"r{k}" for k in range(60)])
    frame.to_csv(tmp_path / "full.csv", index=False)
    stored = frame.copy()
    stored.iloc[:, 1:] = stored.iloc[:, 1:].round(1)
    stored.sample(frac=1, random_state=0).to_csv(tmp_path / "stored.csv", index=False)
    return tmp_path


def test_ways_of_storing(invoke_main, files):
    out = files / "found.json"
    ways = ("--way", "12", "--way", "4", "--way", "int8")
    ended = invoke_main("index", files / "full.csv", *ways, "--json", out, "--k", "5")
    assert "12 dimensions 100.0%" in " ".join(ended.out.split())
    found = {each["name"]: each for each in json.loads(out.read_text())["numbers"]}
    assert list(found) == ["12 dimensions", "4 dimensions", "int8"]
    assert found["4 dimensions"]["value"] < 1
    assert len(found["int8"]["of_queries"]) == 60


def test_own_vectors_are_matched_by_id(invoke_main, files):
    text = " ".join(invoke_main("index", files / "full.csv", files / "stored.csv").out.split())
    assert "stored 9" in text
    assert "rows matched by id, in another order in stored" in text


def test_without_ways_the_common_ones_are_compared(invoke_main, files):
    text = " ".join(invoke_main("index", files / "full.csv").out.split())
    assert text.index("float16") < text.index("int8") < text.index("binary")
