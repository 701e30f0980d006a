# `make demo` and `make test` do everything on a machine that has Python and make.

PYTHON ?= python3
JOBS ?= 2
SECONDS ?= 3600
PIP_ARGS ?=

BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help demo test fuzz lint tools bench docs release-check clean

help:
	@echo "make demo    build .venv, install, run the showcase"
	@echo "make test    build .venv, lint, type-check, run all tests"
	@echo "make fuzz    an hour of attacks on what docs/reliability.md promises (SECONDS=3600)"
	@echo "make lint    ruff and mypy only"
	@echo "make bench   the benchmark, as ratios measured in one run"
	@echo "make docs    the site, into build/docs (make test builds and checks it too)"
	@echo "make release-check   build wheel and sdist, install each in a new environment, try it"
	@echo "make clean   remove .venv and everything built"
	@echo
	@echo "PYTHON=python3.12   the interpreter that .venv is built from (3.11 to 3.13)"
	@echo "JOBS=4              test processes"
	@echo "PIP_ARGS='--extra-index-url https://download.pytorch.org/whl/cpu'"
	@echo "                    on Linux without a GPU: a torch of 200 MB instead of gigabytes"

demo: $(STAMP)
	$(BIN)/python -m deepprooflog demo

test: tools lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

fuzz: tools $(STAMP)
	cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -m fuzz --seconds $(SECONDS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src tests

tools:
	@sh scripts/install_test_tools.sh

bench: $(STAMP)
	$(BIN)/python benchmarks/core.py

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/docs/index.html (to search it: python -m http.server -d build/docs)"

release-check:
	$(PYTHON) scripts/release_check.py --pip-args '$(PIP_ARGS)'

# The constraints are not optional: with an open range pip fetches the newest torch and its gigabytes.
$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || \
	  { echo "make: $(PYTHON) not found; name one with  make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "make: deepprooflog needs Python 3.11 to 3.13, $(PYTHON) is $$($(PYTHON) -V 2>&1);"; \
	    echo "      name another with  make PYTHON=python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) \
	  -c constraints.txt -e '.[test]'
	@touch $(STAMP)

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
