"""The long description: links lead somewhere from any page."""

import importlib.util
import re
from pathlib import Path

import pytest

import shesha

pytest.importorskip("hatchling")
ROOT = Path(shesha.__file__).parents[2]


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hook(build, monkeypatch, home):
    monkeypatch.setenv(build.HOME, home)
    metadata = {"version": "1.2"}
    build.CustomMetadataHook(str(ROOT), {}).update(metadata)
    return metadata


def targets(text):
    return re.findall(r"\]\(([^)]+)\)", text)


def test_links_lead_to_the_repository_at_the_version(build, monkeypatch):
    metadata = hook(build, monkeypatch, "https://host/owner/name/")
    own = targets((ROOT / "README.md").read_text(encoding="utf-8"))
    found = targets(metadata["readme"]["text"])
    assert len(found) == len(own) > 10
    for link, file in zip(found, own, strict=True):
        kind = "raw" if file.endswith(".png") else "blob"
        assert link == f"https://host/owner/name/{kind}/v1.2/{file}"
    assert metadata["urls"]["Homepage"] == "https://host/owner/name"


def test_without_a_repository_no_link_leads_nowhere(build, monkeypatch):
    metadata = hook(build, monkeypatch, "")
    assert targets(metadata["readme"]["text"]) == []
    assert "](" not in metadata["readme"]["text"]
    assert "urls" not in metadata


def test_every_link_of_the_pages_leads_to_a_file():
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(page for page in (ROOT / "docs").rglob("*.md") if not {"generated", "_site"} & set(page.parts)),
        *(ROOT / "examples").glob("*.md"),
    ]
    for page in pages:
        for target in targets(page.read_text(encoding="utf-8")):
            if not target.startswith(("http", "#")):
                assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"


def test_the_readme_installs_what_the_distribution_is_called():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        installed = re.findall(r'pip install "?(shesha[\w-]*)', page.read_text(encoding="utf-8"))
        assert set(installed) <= {shesha.DISTRIBUTION}, page
