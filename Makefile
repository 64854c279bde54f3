# Everything on a fresh machine: `make demo` and `make test` make their own .venv first.

# Tried in this order; the first that is recent enough makes .venv. Another one: make PYTHONS=/path/to/python test
PYTHONS ?= python3.13 python3.12 python3 python
RECENT_ENOUGH := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))
BIN := .venv/bin

.PHONY: test demo bench lint format types layers wheel notebooks .venv

test: .venv
	$(BIN)/pytest -n 2 --dist loadgroup

demo: .venv
	$(BIN)/bayes-irsl demo

# Takes hours; let nothing else run meanwhile. A part of it: make bench ONLY="kernel samplers"
ONLY ?= kernel samplers points sizes calibration agreement
bench: .venv
	$(BIN)/pip install -q -c constraints.txt --group bench
	$(BIN)/python -m bayes_irsl.studies.bench bench --figure docs/figures/seconds_by_cells.png --only $(ONLY)

lint: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv
	$(BIN)/mypy

layers: .venv
	$(BIN)/lint-imports

wheel: .venv
	$(BIN)/pytest -m wheel tests/test_packaging.py

notebooks: .venv
	$(BIN)/pytest --override-ini addopts= --nbmake notebooks

.venv: .venv/ready

# A stamp rather than the folder: an installation that was cut short is not taken for a complete one.
.venv/ready: pyproject.toml constraints.txt
	@for python in $(PYTHONS); do \
	    if $$python -c '$(RECENT_ENOUGH)' >/dev/null 2>&1; then \
	        echo "$$python makes .venv"; \
	        exec $$python -m venv --clear .venv; \
	    fi; \
	done; \
	echo "bayes-irsl needs Python 3.12 or later with its venv module; 3.13 is the tested version." >&2; \
	echo "None of these is one: $(PYTHONS). Install Python 3.13, or name it: make PYTHONS=/path/to/python3.13 ..." >&2; \
	exit 1
	$(BIN)/pip install -q --upgrade pip
	$(BIN)/pip install -q -c constraints.txt -e . --group dev
	touch $@
