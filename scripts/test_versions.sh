#!/usr/bin/env bash
# The tests on other versions, in an environment under build/: the lowest that pyproject.toml allows, or a newer Python.
#
#   scripts/test_versions.sh lowest python3.11 [arguments of pytest]
#   scripts/test_versions.sh newest python3.13 [arguments of pytest]
set -euo pipefail
cd "$(dirname "$0")/.."
which="$1" interpreter="$2"
shift 2
place="build/versions/$which"
mkdir -p "$place"
"$interpreter" -m venv "$place"
"$place/bin/python" -m pip install --quiet --upgrade "pip>=25.1"
if [ "$which" = lowest ]; then
    "$interpreter" scripts/lowest_versions.py > "$place/constraints.txt"
else
    : > "$place/constraints.txt"
fi
# On Linux torch comes with gigabytes for GPUs; where PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS offer its builds for
# processors, pip prefers them.
"$place/bin/python" -m pip install --quiet --editable ".[files,plot]" --editable packages/shesha-bench --editable packages/shesha-studies --group dev --constraint "$place/constraints.txt"
# As in the Makefile: a torchvision that was built for another torch breaks transformers.
"$place/bin/python" -m pip install --quiet --upgrade --no-deps --target "$place/torchvision" torchvision==0.28.0
"$place/bin/python" --version
"$place/bin/python" -m pip list | grep -iE "^(numpy|scipy|pandas|torch|typer|rich|matplotlib|anndata|zarr|pyarrow) "
# Libraries use what newer ones of their own dependencies have deprecated; what this one does is an error.
"$place/bin/pytest" -n auto --dist worksteal -o filterwarnings=$'error\nignore::DeprecationWarning\nerror::DeprecationWarning:shesha' "$@"
