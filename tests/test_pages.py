"""What the documentation names is there: functions and commands; its examples run, and print what it shows."""

import contextlib
import doctest
import io
import re
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import pytest
import typer

from shesha.cli._app import app

ROOT = Path(__file__).parents[1]
MADE = {"generated", "_site"}
"""What `make docs` writes beside the pages."""
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if not MADE & set(page.parts))]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
NAME = re.compile(r"`(shesha(?:\.[A-Za-z_]\w*)+)")
LINE = re.compile(r"^(?:\$ |      - run: )shesha ([^#\n]*)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^\$ |`)shesha ((?:[a-z]+ ?)+)", re.MULTILINE)
SHOWN = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
LISTING = re.compile(r"(?<!-->\n\n)^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""Examples and what they print; scripts/printed_output.py renews texts below a comment that names a command."""
RUN = ("activations", "any_size", "consensus", "how_to/many_rows", "monitoring", "report", "which_model")
"""Pages whose listings run one after the other; a text below them is what they print."""
EXAMPLES = [page for page in PAGES if re.search(r"^>>> ", page.read_text(encoding="utf-8"), re.MULTILINE)]
PACKAGES = {"activations": "torch", "training": "torch", "many_rows": "zarr"}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_name_can_be_looked_up(page):
    unknown = [name for name in NAME.findall(page.read_text(encoding="utf-8")) if not there(name)]
    assert unknown == []


def there(name):
    """Whether a dotted name leads to a module or something inside one."""
    found, *parts = name.split(".")
    place = import_module(found)
    for part in parts:
        found = f"{found}.{part}"
        try:
            place = getattr(place, part)
        except AttributeError:
            try:
                place = import_module(found)
            except ModuleNotFoundError:
                return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_command_is_one(page):
    program = typer.main.get_command(app)
    unknown = [line for line in COMMAND.findall(page.read_text(encoding="utf-8")) if not command(program, line.split())]
    assert unknown == []


def command(program, words):
    """Whether the first words are a command, within its group if it is in one."""
    inner = program.commands.get(words[0])
    if inner is None:
        return False
    return not hasattr(inner, "commands") or len(words) == 1 or words[1] in inner.commands


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_option_of_a_line_is_one_of_its_command(page):
    program = typer.main.get_command(app)
    unknown = []
    for line in LINE.findall(page.read_text(encoding="utf-8").replace("\\\n", " ")):
        words = line.split()
        inner = program.commands.get(words[0])
        if hasattr(inner, "commands"):
            inner = inner.commands[words[1]] if len(words) > 1 else None
        if inner is not None:
            known = {name for one in inner.params for name in [*one.opts, *one.secondary_opts]} | {"--help", "-h"}
            unknown += [line for word in words if word.startswith("--") and word.partition("=")[0] not in known]
    assert unknown == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_link_leads_somewhere(page):
    """Files that are there, and headings that are in them; what the site makes is checked when it is built."""
    broken = []
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        name, _, anchor = target.partition("#")
        place = (page.parent / name) if name else page
        if "generated" in Path(name).parts:
            continue
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            broken.append(target)
    assert broken == []


def anchors(page):
    """The names under which headings of a page can be reached."""
    titles = HEADING.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_below_a_section_of_the_site():
    text = (ROOT / "docs" / "_site" / "generated.py").read_text(encoding="utf-8")
    listed = [name.removeprefix("../") for name in re.findall(r"\.\./[\w./*-]+", text)]
    docs = ROOT / "docs"
    written = [path.relative_to(docs) for path in docs.rglob("*.md") if not MADE & set(path.relative_to(docs).parts)]
    pages = [path.with_suffix("").as_posix() for path in written]
    lost = [page for page in pages if page != "index" and not any(fnmatch(page, pattern) for pattern in listed)]
    assert lost == []


@pytest.mark.parametrize("page", EXAMPLES, ids=[str(page.relative_to(ROOT)) for page in EXAMPLES])
def test_examples_print_what_the_page_shows(page, tmp_path, monkeypatch):
    pytest.importorskip(PACKAGES.get(page.stem, "numpy"))
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(page), module_relative=False, optionflags=SHOWN).failed == 0


@pytest.mark.parametrize("name", RUN)
def test_listings_run_and_print_what_is_below_them(name, tmp_path, monkeypatch):
    pytest.importorskip(PACKAGES.get(Path(name).stem, "numpy"))
    monkeypatch.chdir(tmp_path)
    printed, names = io.StringIO(), {}
    for kind, text in LISTING.findall((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")):
        if kind == "python":
            with contextlib.redirect_stdout(printed):
                exec(compile(text, name, "exec"), names)
        elif not doctest.OutputChecker().check_output(f"...{text.rstrip()}...", printed.getvalue(), SHOWN):
            assert printed.getvalue() == text
