"""Pages that are made from the library itself: the cards of measures and scores, the reference, the list of studies."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

COPIED = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
COPIED |= {"SECURITY.md": "security.md", "CODE_OF_CONDUCT.md": "code_of_conduct.md"}
"""Pages at the root of the repository, under the names that they have here."""
_LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")
SECTIONS = {
    "start": (
        "Start",
        "Five minutes for your kind of data, then how to read the results.",
        "readme ../start/fine_tuned ../start/language_models ../start/vision ../start/single_cells ../start/recordings "
        "../start/monitoring ../tour ../reading_an_audit ../decide ../what_does_0.7_mean ../pitfalls tutorials/index "
        "../migration",
    ),
    "use": (
        "Guide",
        "One page per capability: what it answers, how to use it, and what can mislead.",
        "../which_measure ../which_model ../consensus ../calibration ../files ../any_size ../activations "
        "../single_cells ../neural_recordings ../steering ../monitoring ../benchmark ../benchmark/leaderboard "
        "../benchmark/cora ../benchmark/language ../benchmark/vision ../extending ../how_to/* ../command_line "
        "../report gallery/index",
    ),
    "look_up": (
        "Reference",
        "Every function, measure, score and word.",
        "reference ../measures scores ../glossary changelog",
    ),
    "trust": (
        "Trust",
        "Measured error rates, differences from published code, design, decisions and performance.",
        "../validation ../false_positives ../intervals ../coherence_rates ../headlines ../monitoring_rates "
        "../published_code ../performance ../design ../decisions ../first_contribution contributing security "
        "code_of_conduct",
    ),
    "experiments": (
        "Studies",
        "The papers' experiments, one command each, compared with the published numbers.",
        "../studies ../studies/index ../studies/geometric_stability ../studies/null_calibration ../studies/resi "
        "../studies/*/page",
    ),
}
"""Pages of the bar at the top: title, what they hold, the pages below."""
CALLED = {
    "readme": "Overview",
    "../benchmark/leaderboard": "Leaderboard",
    "../benchmark/cora": "Results of the benchmark: Cora",
    "../benchmark/language": "Results of the benchmark: language",
    "../benchmark/vision": "Results of the benchmark: vision",
}
"""Pages that a list calls otherwise than they call themselves."""
NAMESPACES = {
    "shesha": "What most people need: one import, one function per question.",
    "shesha.measures": "Similarity of two representations.",
    "shesha.stability": "Stability of one representation, marked variants, cards.",
    "shesha.descriptors": "Numbers that describe one representation.",
    "shesha.calibration": "Scores beside their nulls.",
    "shesha.nulls": "Which rows may take each other's place; corrections.",
    "shesha.comparison": "Many pairs, many measures.",
    "shesha.coherence": "Shifts of groups of rows away from their controls.",
    "shesha.bio": "Single cells and perturbations.",
    "shesha.neuro": "Trials of neurons.",
    "shesha.steering": "Directions, probes, layers of two classes.",
    "shesha.extract": "Activations of models.",
    "shesha.drift": "Monitoring a model and its inputs.",
    "shesha_bench": "The benchmark.",
    "shesha_studies": "Experiments as code.",
    "shesha.io": "Files.",
    "shesha.results": "What functions return.",
    "shesha.core": "The documented namespace of stability.",
    "shesha.sim": "The documented namespace of similarity.",
}


def setup(app: Any) -> dict[str, bool]:
    """Make the pages before any is read."""
    # Before the stubs of the reference are written from these pages.
    app.connect("builder-inited", _make, priority=100)
    app.connect("build-finished", _for_language_models)
    return {"parallel_read_safe": True}


def _for_language_models(app: Any, error: Exception | None) -> None:
    """Write llms.txt: every page with its title, as assistants look for it."""
    if error is not None or app.builder.format != "html":
        return
    titles = {name: title.astext() for name, title in app.env.titles.items()}
    own = [f"- [{title}]({name}.html)" for name, title in sorted(titles.items()) if "generated/api/" not in name]
    head = (
        "# shesha\n\n> The geometry of representations: how stable, how similar, above chance, and by which measure.\n"
    )
    (Path(app.outdir) / "llms.txt").write_text("\n".join([head, "## Pages", "", *own]) + "\n", encoding="utf-8")


def _make(app: Any) -> None:
    folder = Path(app.srcdir) / "generated"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in _pages():
        (folder / name).write_text(text, encoding="utf-8")
    for source, name in COPIED.items():
        text = (Path(app.srcdir).parent / source).read_text(encoding="utf-8")
        (folder / name).write_text(_LINK.sub(_from_here, text), encoding="utf-8")


def _from_here(found: re.Match[str]) -> str:
    """Lead a link of a page at the root from the folder of the generated pages."""
    target = found[1]
    return (
        f"]({COPIED[target]})"
        if target in COPIED
        else f"](../{target.removeprefix('docs/')})"
        if target.startswith("docs/")
        else f"](../../{target})"
    )


def below_the_first_page() -> str:
    """Return the list of the bar at the top: where the repository is read, lists of pages would only be noise."""
    return _tree([f"generated/{name}" for name in SECTIONS], "hidden")


def _pages() -> Iterator[tuple[str, str]]:
    for name, (title, about, below) in SECTIONS.items():
        yield f"{name}.md", f"# {title}\n\n{about}\n" + _tree(below.split(), "maxdepth: 1")
    yield "scores.md", _scores()
    yield "reference.rst", _reference()
    seen: set[int] = set()
    for name, about in NAMESPACES.items():
        yield f"{name}.rst", _namespace(name, about, seen)


def _tree(pages: list[str], option: str) -> str:
    names = [f"{CALLED[page]} <{page}>" if page in CALLED else page for page in pages]
    return "\n".join(
        ["", "```{toctree}", f":{option}" if ":" in option else f":{option}:", ":glob:", "", *names, "```", ""]
    )


def _scores() -> str:
    from shesha import descriptors, stability

    parts = [
        "# All scores of one representation",
        "Made from the marks of the functions; `shesha scores NAME` prints one.",
    ]
    parts += ["## Stability", *_cards(stability.list_variants().values(), stability.card)]
    parts += ["## Descriptors", *_cards(descriptors.descriptors().values(), descriptors.card)]
    return "\n\n".join(parts) + "\n"


def _cards(every: Any, card: Any) -> Iterator[str]:
    for one in every:
        yield f"### {one.name}"
        yield f"```text\n{card(one)}\n```"


def _reference() -> str:
    lines = [
        "Functions and classes",
        "=====================",
        "",
        "Signatures are those of the functions people call.",
        "",
        ".. toctree::",
        "   :maxdepth: 1",
        "",
    ]
    return "\n".join([*lines, *(f"   {name}" for name in NAMESPACES)]) + "\n"


def _namespace(name: str, about: str, seen: set[int]) -> str:
    """List what a namespace offers; what an earlier one has is described there, and named here."""
    module = import_module(name)
    public = [one for one in module.__all__ if not _is_module(getattr(module, one))]
    lines = [name, "=" * len(name), "", about, "", f".. currentmodule:: {name}"]
    new = [one for one in public if id(getattr(module, one)) not in seen]
    seen |= {id(getattr(module, one)) for one in public}
    if new:
        lines += ["", ".. autosummary::", "   :toctree: api", "   :nosignatures:", "", *(f"   {one}" for one in new)]
    known = [one for one in public if one not in new]
    if known:
        lines += ["", "Described elsewhere: " + ", ".join(f"``{one}``" for one in known) + "."]
    return "\n".join(lines) + "\n"


def _is_module(found: Any) -> bool:
    return type(found).__name__ == "module"
