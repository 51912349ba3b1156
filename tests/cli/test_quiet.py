"""The option --quiet."""


def test_quiet_says_nothing_but_results(tmp_path, monkeypatch, invoke_main):
    from shesha.support import progress

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHESHA_QUIET", "")
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    assert invoke_main("measures", "CKA", "-q") == invoke_main("-q", "measures", "CKA")
    ended = invoke_main("--quiet", "measures", "CKA")
    assert (ended.status, ended.err) == (0, "")
    assert list(progress.track("abc", 3, "letters")) == list("abc")
    lines = progress.ProgressLines()
    lines.say("x")
