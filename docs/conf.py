"""How the site is made: `make docs`. Everything that the pages need lies in this folder or in docstrings."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from shesha._version import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_site"))
from generated import COPIED, NAMESPACES, below_the_first_page  # noqa: E402

project = "shesha"
author = "The shesha developers"
copyright = "The shesha developers, MIT licence"
version = release = __version__
root_doc = "index"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "generated",
    "links",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_site", "_templates"]
templates_path = ["_templates"]
language = "en"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Pages are read in the repository as well, where a title may stand at any level.
suppress_warnings = ["myst.header"]

# Named, because these pages are not there yet when the pages of a fresh clone are counted.
autosummary_generate = [f"generated/{name}.rst" for name in NAMESPACES]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials", "../examples/gallery"],
    "gallery_dirs": ["generated/tutorials", "generated/gallery"],
    # The order of the names: tutorials are numbered.
    "within_subsection_order": "FileNameSortKey",
    # Axes have drawn what they have to say.
    "capture_repr": ("_repr_html_",),
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
}

html_theme = "pydata_sphinx_theme"
html_title = f"shesha {release}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
_PAPERS = tuple(f"studies/{paper}" for paper in ("geometric_stability", "null_calibration", "resi"))
html_sidebars: dict[str, list[str]] = {paper: [] for paper in _PAPERS}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright", "glossary"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
REPOSITORY = os.environ.get("SHESHA_HOME", "").rstrip("/")
"""Where the sources are, if a release says so: links to files outside of this folder lead there."""
_OUTSIDE = re.compile(r"(!?)\[([^\]]*)\]\(((?:\.\./)+)([^)#]*)\)")
_SHOWN = re.compile(r"examples/((?:tutorials|gallery)/\w+)\.py")
"""Scripts that the site executes, and shows with what came out."""
_FILE = re.compile(r"\[[\w./-]+\.md\]\(([\w./-]+\.md(?:#[\w-]+)?)\)")
"""A link called by the file that it leads to."""
_WIDE = ("studies/", "benchmark/", "pitfalls")
"""Pages whose tables need the place of the column beside them."""
_STUDY = re.compile(r"\A# ([\w-]+) \((.*)\)$", re.MULTILINE)
"""The title of a study's page: its name, and what of which paper it repeats."""


def _leads_somewhere(app: object, docname: str, source: list[str]) -> None:
    """Links out of this folder lead to the repository, or become their text where nobody said where that is."""
    depth = docname.count("/")

    def replaced(found: re.Match[str]) -> str:
        picture, words, up, target = found.groups()
        if up.count("../") <= depth:
            return found[0]
        if target in COPIED:
            return f"[{words}]({'../' * depth}generated/{COPIED[target]})"
        if (shown := _SHOWN.fullmatch(target)) and not picture:
            return f"[{words}]({'../' * depth}generated/{shown[1]}.rst)"
        if target.rstrip("/") == "examples/gallery":
            return f"[{words}]({'../' * depth}generated/gallery/index.rst)"
        if REPOSITORY:
            return f"{picture}[{words}]({REPOSITORY}/blob/v{release}/{target})"
        return f"`{target}`" if words == target else f"{words} (`{target}`)"

    source[0] = _OUTSIDE.sub(replaced, source[0])


def _fits_the_site(app: object, docname: str, source: list[str]) -> None:
    """The first page leads to all others, links are called what they lead to, pages of studies have their own look."""
    source[0] = _FILE.sub(r"[](\1)", source[0])
    if docname == root_doc:
        source[0] += below_the_first_page()
    if docname.startswith("studies/"):
        source[0] = _STUDY.sub(_named, source[0], count=1)
    if docname.startswith(_WIDE):
        source[0] = f"---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n{source[0]}"


def _named(title: re.Match[str]) -> str:
    """The name is the title, since lists of pages show it; what of which paper it repeats stands below."""
    name, repeats = title.groups()
    origin = "A question of this project: no paper asks it." if repeats == "new" else f"Repeats: {repeats}."
    return f"# {name}\n\n*{origin}*"


def _fit_to_screen(app: Any, pagename: str, *_: object) -> None:
    """Use the whole width and small print for scorecards and their index, so that each fits on one screen."""
    if pagename.startswith((*_PAPERS, "studies/index")):
        app.add_css_file("one_screen.css")


def setup(app: Any) -> None:
    """Correct links and titles when pages are read, and adapt the style of those that fit on a screen."""
    app.connect("html-page-context", _fit_to_screen)
    app.connect("source-read", _leads_somewhere)
    app.connect("source-read", _fits_the_site)
