# Everything a fresh machine needs: `make demo` shows the library at work, `make test` proves it.
PYTHON ?= python3
NEWEST ?= python3.13
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test bench docs release versions clean

demo: $(VENV)/.demo
	$(BIN)/shesha demo

test: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist worksteal

# shesha-geometry imports under our own name, so the benchmarks keep public packages in a folder of their own.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --upgrade --no-deps --target $(VENV)/public \
		shesha-geometry==0.3.0 calibrated-similarity==0.1.1
	$(BIN)/python benchmarks/stability.py --public $(VENV)/public
	$(BIN)/python benchmarks/similarity.py
	$(BIN)/python benchmarks/calibration.py --public $(VENV)/public
	$(BIN)/python benchmarks/audits.py --large
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/scale.py --rows 2000000 --stream 10000000
	$(BIN)/python benchmarks/extraction.py

# The site, in build/site: a warning is an error, links between pages are checked, the reference is read from the code.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site

# What a release uploads, in dist/: sources, a wheel for all platforms and one for this one, each tried on its own.
release: $(BIN)/python
	scripts/release.sh $(BIN)/python

# The tests on the lowest versions that pyproject.toml allows, and on the newest of a newer Python.
versions:
	scripts/test_versions.sh lowest $(PYTHON)
	scripts/test_versions.sh newest $(NEWEST)

$(VENV)/.docs: pyproject.toml | $(STAMP)
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[report]"
	touch $@

# A torchvision that was built for another torch breaks transformers, so the tests have theirs in a folder of its own.
$(STAMP): pyproject.toml packages/shesha-bench/pyproject.toml packages/shesha-studies/pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[files,plot]" --editable packages/shesha-bench --editable packages/shesha-studies --group dev
	$(BIN)/python -m pip install --quiet --upgrade --no-deps --target $(VENV)/torchvision torchvision==0.28.0
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
