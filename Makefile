# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard cpp/*)

.PHONY: demo test lint sanitize bench clean

demo: .venv/installed
	$(BIN)/python examples/demo.py

test: .venv/installed lint
	$(BIN)/python -m pytest -n 2

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Kernel tests on builds with AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer.
sanitize: .venv/installed
	$(BIN)/python tools/sanitize.py

# The paper's comparison on the data at hand, each method in an environment of its own under .venv-bench;
# the report goes to docs/. NESTMAP_DATA names a directory of data; ARGS go to `python -m benchmarks`.
bench: .venv/installed
	$(BIN)/python -m benchmarks --out docs $(ARGS)

.venv/installed: $(SOURCES)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv .venv-bench .bench build demo
