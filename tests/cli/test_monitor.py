"""`shesha monitor`: from a file to a verdict with a status that a pipeline can read."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shesha.drift import DriftMonitor


@pytest.fixture
def files(tmp_path, X):
    draw = np.random.default_rng(5)

    def again(noise, *stack):
        return X + noise * draw.standard_normal((*stack, *X.shape))

    np.save(tmp_path / "ref.npy", X)
    np.save(tmp_path / "nulls.npy", again(1e-3, 99))
    np.save(tmp_path / "same.npy", again(1e-3))
    np.save(tmp_path / "other.npy", again(0.3))
    broken = again(1e-3)
    broken[4] = np.nan
    np.save(tmp_path / "broken.npy", broken)
    np.save(tmp_path / "short.npy", X[:40])
    return tmp_path


def init(files, invoke, *more):
    return invoke("monitor", "init", files / "ref.npy", "--nulls", files / "nulls.npy", "--out", files / "m", *more)


def test_the_statuses_are_unchanged_drift_and_could_not_tell(files, invoke, invoke_main):
    made = init(files, invoke)
    assert (made.status, made.out) == (
        0,
        f"{files / 'm'}: 60 canary rows, 99 re-encodings, false alarms in 1 % of checks\n"
        "Kept: rows up to a rotation, so a rotation of all vectors does not show. --keep-rows keeps them as given.\n"
        f"Next: shesha monitor check {files / 'm'} FILE\n",
    )
    for name, status, said in (("same", 0, "Ok: "), ("other", 1, "Alert: "), ("broken", 2, "Not estimable (")):
        ended = invoke("monitor", "check", files / "m", files / f"{name}.npy")
        assert (ended.status, ended.out.startswith(said)) == (status, True), ended
        assert max(map(len, ended.out.splitlines())) <= 80
    refused = invoke_main("monitor", "check", files / "m", files / "short.npy")
    assert refused.status == 2
    assert "CURRENT must be the 60 rows of the reference encoded again, got 40 rows" in refused.err


def test_the_summary_of_a_job_has_the_verdict(files, invoke, invoke_main, monkeypatch):
    init(files, invoke, "--about", "revision=a`1")
    check = ("monitor", "check", files / "m", files / "other.npy", "--github-summary", "--about", "revision=<b>")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert "--github-summary needs the variable GITHUB_STEP_SUMMARY" in invoke_main(*check).err
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(files / "summary.md"))
    assert invoke(*check).status == 1
    text = (files / "summary.md").read_text()
    assert text.startswith("# Drift monitor: alert\n")
    assert "| measure | role | drift |" in text
    assert "revision changed from a\\`1 (reference) to &lt;b&gt;" in text


def test_a_card_holds_the_answer_and_the_numbers(files, invoke, invoke_main):
    yaml = pytest.importorskip("yaml")
    init(files, invoke)
    check = ("monitor", "check", files / "m", files / "other.npy")
    refused = invoke_main(*check, "--card", files / "nowhere" / "README.md")
    assert (refused.status, refused.out) == (2, "")
    assert "output must be in an existing folder, got" in refused.err
    assert "must be a file, got the directory" in invoke_main(*check, "--card", files).err
    # Refused before the check: the monitor remembers none.
    assert invoke("monitor", "history", files / "m").out == "no checks and no updates yet\n"
    ended = invoke(*check, "--card", files / "README.md", "--json", files / "v.json")
    assert ended.status == 1
    _, head, text = (files / "README.md").read_text().split("---\n", 2)
    (model,) = yaml.safe_load(head)["model-index"]
    assert model["name"] == "other"
    (result,) = model["results"]
    drift = json.loads((files / "v.json").read_text())["scores"][0]["value"]
    assert result["metrics"][0]["value"] == pytest.approx(drift, rel=1e-3)
    assert "60 canary rows" in result["dataset"]["name"]
    assert "alert" in text.lower()


def test_history_and_acknowledging(files, invoke):
    init(files, invoke, "--run-length", "30")
    assert invoke("monitor", "history", files / "m").out == "no checks and no updates yet\n"
    for _ in range(4):
        ended = invoke("monitor", "check", files / "m", files / "other.npy")
    assert ended.status == 1
    assert invoke("monitor", "check", files / "m", files / "same.npy").status == 1
    assert invoke("monitor", "acknowledge", files / "m").out == f"{files / 'm'}: evidence restarts\n"
    assert invoke("monitor", "check", files / "m", files / "same.npy").status == 0
    told = invoke("monitor", "history", files / "m", "--last", 2, "--json", "-").out
    assert [one["state"] for one in json.loads(told)["checks"]] == ["alert", "ok"]
    lines = invoke("monitor", "history", files / "m").out.splitlines()
    assert len(lines) == 8
    assert lines[0] == "Checks" and lines[1].split() == ["state", "drift", "p", "evidence"]


def test_a_stream_of_new_inputs(files, invoke, invoke_main, X):
    init(files, invoke, "--keep-rows")
    np.save(files / "new.npy", 5 * X[::-1])
    first = invoke("monitor", "update", files / "m", files / "new.npy")
    assert (first.status, first.out.startswith("alert: the evidence of a change")) == (1, True)
    assert "Updates" in invoke("monitor", "history", files / "m").out
    assert invoke("monitor", "update", files / "m", files / "broken.npy").status == 2
    assert "BATCH must contain new inputs" in invoke_main("monitor", "update", files / "m", files / "ref.npy").err


def test_tables_with_names_and_labels(files, invoke, X, kinds):
    table = pd.DataFrame(X, index=[f"text {i}" for i in range(60)], columns=[f"f{j}" for j in range(12)])
    table.assign(kind=kinds).to_csv(files / "ref.csv")
    table.iloc[::-1].to_csv(files / "now.csv")
    made = invoke("monitor", "init", files / "ref.csv", "--labels", "kind", "--out", files / "m")
    assert "60 canary rows, no re-encodings, so a drift above the tolerance raises an alert\n" in made.out
    with pytest.warns(UserWarning, match="a different order"):
        ended = invoke("monitor", "check", files / "m", files / "now.csv", "--full")
    assert ended.status == 0
    assert "\nClasses\n" in ended.out and "yy" in ended.out


def test_the_recipe_for_pipelines_runs_commands_that_there_are(invoke):
    page = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text(encoding="utf-8")
    used = set(re.findall(r"(?:\$|run:) shesha monitor ([a-z]+)", page))
    assert {"init", "check"} <= used
    for command in sorted(used):
        assert invoke("monitor", command, "--help").status == 0


def test_a_monitor_in_one_file_is_checked_against(tmp_path, invoke, rng):
    X = rng.standard_normal((40, 8))
    np.save(tmp_path / "now.npy", X)
    DriftMonitor(X, nulls=[X] * 99).save(tmp_path / "canary.npz")
    found = invoke("monitor", "check", tmp_path / "canary.npz", tmp_path / "now.npy")
    assert found.status == 0, found


def test_the_column_that_init_named_identifies_the_rows_of_later_files(tmp_path, invoke, invoke_main, X):
    table = pd.DataFrame({"doc": [f"D{i // 4}" for i in range(len(X))], "chunk": [f"c{i}" for i in range(len(X))]})
    table["embedding"] = X.tolist()
    table.to_parquet(tmp_path / "ref.parquet", index=False)
    table.sample(frac=1, random_state=0).to_parquet(tmp_path / "new.parquet", index=False)
    np.save(tmp_path / "new.npy", X)
    invoke("monitor", "init", tmp_path / "ref.parquet", "--out", tmp_path / "m", "--id", "chunk")
    checked = invoke("monitor", "check", tmp_path / "m", tmp_path / "new.parquet")
    assert checked.status == 0
    assert "rows matched by chunk, in another order" in " ".join(checked.out.split())
    refused = invoke_main("monitor", "check", tmp_path / "m", tmp_path / "new.npy")
    assert refused.status == 2
    assert "--id must" in refused.err
    assert invoke("monitor", "check", tmp_path / "m", tmp_path / "new.npy", "--by-position").status == 0


def test_rows_that_are_dropped_are_counted(files, X, invoke_main):
    broken = X.copy()
    broken[3], broken[7] = np.nan, 0
    np.save(files / "some.npy", broken)
    made = invoke_main("monitor", "init", files / "some.npy", "--missing", "drop", "--keep-rows", "--out", files / "d")
    assert made.out.startswith(f"Only 58 of 60 rows used: 1 with NaN, 1 zero left out.\n{files / 'd'}: 58 canary rows")
    new = np.random.default_rng(7).standard_normal((5, X.shape[1]))
    new[1] = np.nan
    np.save(files / "batch.npy", new)
    assert invoke_main("monitor", "update", files / "d", files / "batch.npy").status == 2
    ended = invoke_main("monitor", "update", files / "d", files / "batch.npy", "--missing", "drop")
    assert ended.out.startswith("Only 4 of 5 rows used: 1 with NaN left out.")


def test_rows_in_another_order_are_no_alarm(files, X, invoke, invoke_main):
    init(files, invoke)
    np.save(files / "mixed.npy", X[::-1])
    refused = invoke_main("monitor", "check", files / "m", files / "mixed.npy")
    assert refused.status == 2
    assert "CURRENT must have the rows of the reference in the same order, got them in another order" in refused.err


def test_identifiers_of_a_service_are_kept(tmp_path, X, invoke, invoke_main):
    def write(path, rows):
        found = ((f"r{i}", {"body": {"data": [{"embedding": X[i].tolist()}]}}) for i in rows)
        records = [{"custom_id": name, "response": response, "error": None} for name, response in found]
        path.write_text("\n".join(map(json.dumps, records)))

    write(tmp_path / "old.jsonl", range(60))
    write(tmp_path / "new.jsonl", range(59, -1, -1))
    invoke("monitor", "init", tmp_path / "old.jsonl", "--out", tmp_path / "m")
    ended = invoke_main("monitor", "check", tmp_path / "m", tmp_path / "new.jsonl")
    assert ended.status == 0 and "rows matched by custom_id, in another order in current" in " ".join(ended.out.split())


def test_features_of_new_inputs_are_matched_by_name(invoke_main, tmp_path, rng):
    names = [f"{letter}x" for letter in "pqrstuvw"]
    old, new = (pd.DataFrame(np.arange(8) * 9 + rng.standard_normal((80, 8)), columns=names) for _ in range(2))
    old.to_csv(tmp_path / "old.csv", index=False)
    new[names[::-1]].to_csv(tmp_path / "new.csv", index=False)
    new.rename(columns={"px": "other"}).to_csv(tmp_path / "renamed.csv", index=False)
    invoke_main("monitor", "init", tmp_path / "old.csv", "--out", tmp_path / "m", "--keep-rows")
    ended = invoke_main("monitor", "update", tmp_path / "m", tmp_path / "new.csv")
    assert (ended.status, "features matched by name" in " ".join(ended.out.split())) == (0, True)
    ended = invoke_main("monitor", "update", tmp_path / "m", tmp_path / "renamed.csv")
    assert ended.status == 2
    assert "must have the features of the reference, got 7 shared names" in " ".join(ended.err.split())

    frame = pd.DataFrame(rng.standard_normal((80, 8)), columns=names)
    frame.to_csv(tmp_path / "same.csv", index=False)
    invoke_main("monitor", "init", tmp_path / "same.csv", "--out", tmp_path / "c")
    frame[names[::-1]].to_csv(tmp_path / "turned.csv", index=False)
    frame[names[1:]].to_csv(tmp_path / "fewer.csv", index=False)
    ended = invoke_main("monitor", "check", tmp_path / "c", tmp_path / "turned.csv")
    assert "features matched by name, in another order in turned.csv" in " ".join(ended.out.split())
    ended = invoke_main("monitor", "check", tmp_path / "c", tmp_path / "fewer.csv")
    assert "fewer.csv must have the features of the reference, got 7 shared names of 8 and 7" in ended.err


@pytest.mark.parametrize("factor", [5.0, "unit", "rows", 1.001])
def test_a_change_of_the_lengths_of_rows_is_a_sign_of_change(X, factor, rng):
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    factors = {"unit": 1 / lengths, "rows": np.exp(0.5 * rng.standard_normal((60, 1)))}.get(factor, factor)
    verdict = DriftMonitor(X, nulls=[X] * 99).check(factors * X)
    expected = {5.0: "all rows are 5 times as long", "unit": "row lengths are 1 in all rows", "rows": "row lengths are"}
    assert verdict.state == ("ok" if factor == 1.001 else "watch")
    assert expected.get(factor, "Nothing.") in verdict.advice


def test_the_rate_of_false_alarms_is_the_one_that_re_encodings_allow(invoke_main, tmp_path, rng):
    X = rng.standard_normal((60, 8))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "again.npy", X + 1e-3 * rng.standard_normal((24, 60, 8)))
    files = (tmp_path / "X.npy", "--nulls", tmp_path / "again.npy", "--out", tmp_path / "m")
    assert "24 re-encodings, false alarms in 4 % of checks" in invoke_main("monitor", "init", *files).out
    np.save(tmp_path / "again.npy", np.stack([X] * 24))
    said = invoke_main("monitor", "init", *files, "--overwrite").out
    assert "24 re-encodings, all equal to the reference" in said and "false alarms in" not in said


def test_a_key_selects_no_array_of_an_unnamed_stack(files, invoke, invoke_main, X):
    np.savez(files / "ref.npz", late=X, early=-X)
    init = ("monitor", "init", files / "ref.npz", "--key", "late", "--out", files / "m", "--nulls")
    assert "60 canary rows, 99 re-encodings" in invoke(*init, files / "nulls.npy").out
    np.savez(files / "other.npz", first=X, second=X)
    assert "must be among first, second" in invoke_main(*init, files / "other.npz").err
