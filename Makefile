# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard cpp/*)

.PHONY: demo test lint bench clean

demo: .venv/installed
	$(BIN)/python examples/demo.py

test: .venv/installed lint
	$(BIN)/python -m pytest -n 2

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# nestmap beside the authors' hnne, each in an environment of its own: make bench DATA=fashion_mnist.npz
bench: .venv/installed .venv-bench/installed
	$(BIN)/python -m benchmarks.versus_hnne $(DATA)

.venv/installed: $(SOURCES)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

.venv-bench/installed: $(SOURCES) $(wildcard src/nestmap/*.py src/nestmap/*/*.py)
	$(PYTHON) -m venv .venv-bench/nestmap
	.venv-bench/nestmap/bin/python -m pip install --quiet --force-reinstall .
	$(PYTHON) -m venv .venv-bench/hnne
	.venv-bench/hnne/bin/python -m pip install --quiet "hnne==2.0.1"
	touch $@

clean:
	rm -rf .venv .venv-bench build demo
