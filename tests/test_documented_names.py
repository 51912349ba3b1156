"""Every dotted name in the documentation is an attribute after `import shesha` alone."""

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1]
_NAME = re.compile(r"`(shesha\.(?:drift|bio|neuro|steering|coherence|descriptors|extract)(?:\.[a-z_]\w*)+)`?")
# The names of each room are looked up in a process of its own, as one room may import another.
_RESOLVE = """
import functools, itertools, os, sys, traceback
import contextlib, numpy, pandas, scipy.spatial, scipy.stats, shesha
with contextlib.suppress(ImportError):
    import anndata
for _, names in itertools.groupby(sorted(sys.argv[1:]), lambda name: name.split(".")[1]):
    child = os.fork()
    if not child:
        for name in names:
            try:
                functools.reduce(getattr, name.split(".")[1:], shesha)
            except BaseException:
                print(name, traceback.format_exc(limit=-1), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
PAGES = [DOCS / "README.md", *(DOCS / "docs").glob("*.md")]
NAMES = sorted({name for page in PAGES for name in _NAME.findall(page.read_text(encoding="utf-8"))})


def test_documented_names_are_attributes():
    assert len(NAMES) > 10
    command = [sys.executable, "-W", "ignore", "-c", _RESOLVE, *NAMES, "shesha.drift.perturb", "shesha.drift.callbacks"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr[-500:]
