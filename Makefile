# The commands of this repository; `make help` lists them. Each creates `.venv` and installs what it needs, once.
# PYTHON=… chooses the interpreter, ARGS=… goes to the program that the command runs.

VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
VERSIONS := .venv-versions
RESOLVE := .venv-resolve
CODE := .venv-code
FUZZ := .venv-fuzz
# The server and the conformance checker: two packages of one version, which every environment has, editable.
PROJECTS := pyproject.toml verify/pyproject.toml src/antiphon/version.py
CODE_PACKAGES := numpy pandas matplotlib pillow openpyxl
ARGS ?=

# The summary has the slowest tests, every skip with its reason, and every failure.
PYTEST = $(BIN)/python -m pytest -rsfE --durations 8 --durations-min 4 --dist worksteal

# `$(call level,FLAGS)` runs a level of tests. Code 9 says that all passed, and cost too much CPU time: that counts
# when it happens twice.
level = $(PYTEST) $(1) $(ARGS) || { test $$? -eq 9 && $(PYTEST) $(1) $(ARGS); }

# Every version comes from constraints.txt, also those that build the package (pip before 25.3 reads the first).
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Without files of bytecode each process compiles the package again, and the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

ifneq ($(PYTHON),)
ifneq ($(wildcard $(BIN)/python),)
$(info antiphon: $(VENV) exists and keeps its Python. PYTHON=$(PYTHON) is for new environments: run `make clean` first.)
endif
endif

.PHONY: help environment serve console screenshots test test-wide test-versions test-resolve code-environment dist release test-system test-nightly test-faults test-clients test-backends test-image check format bench bench-peers mutate fuzz simulate soak trace code-figures docs diagrams constraints clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-28s %s\n", $$1, $$2 }'

# Without Node.js or npm's registry the server starts without the console, and one line says so.
serve: $(VENV)/.installed-all ## build the console, and start the server on http://127.0.0.1:8321
	@$(BIN)/python console/build.py --install-node || echo "The server starts without a newer console."
	@exec $(BIN)/antiphon serve $(ARGS)

environment: $(VENV)/.installed-test $(VENV)/.installed-check $(VENV)/.installed-docs ## install what the tests, the checks and the documentation need

console: $(VENV)/.installed-all ## build the console, unless the bundle is newer than its sources
	@$(BIN)/python console/build.py --install-node --strict

screenshots: $(VENV)/.installed-test ## render every page of the console in both colour schemes to docs/_build/screenshots
	@$(BIN)/python console/build.py --install-node --strict
	$(BIN)/python -m tests.system.console.screenshots $(ARGS)

# ANTIPHON_SEED=… chooses other examples, and the header of every run names its seed. A path in ARGS runs all tests of it.
test: $(VENV)/.installed-test ## run the unit and integration tests that are cheap, for less than 265 CPU seconds
	$(call level,-n 4)

# Tests that need more than 0.2 CPU seconds, and what repeats on PostgreSQL although no replicas race for it.
test-wide: export HYPOTHESIS_PROFILE := wide
test-wide: $(VENV)/.installed-test ## run the unit and integration tests that `make test` omits
	$(call level,-n 4 --level wide)

# Each environment has a folder in .venv-versions; uv makes them, because pip cannot install against a package's own ranges.
test-versions: $(VENV)/.installed-test $(RESOLVE)/.installed ## run chosen tests with the lowest and the newest versions, and on every installed Python
	$(BIN)/python -m versions $(ARGS)

# Asks the package registry, so the answer changes with its releases; .ci/run leaves it out.
test-resolve: $(RESOLVE)/.installed ## check that other packages keep their newest versions when installed with Antiphon
	$(RESOLVE)/bin/python scripts/resolve.py $(ARGS)

# Code runs with these packages in the tests, and where `code_python` names this environment.
code-environment: $(CODE)/.installed ## install NumPy, pandas, Matplotlib, Pillow and openpyxl for code in containers

test-system: $(VENV)/.installed-test $(VENV)/.installed-docs ## run the tests that start and kill processes, and those of clients, examples and documentation
	@$(MAKE) --no-print-directory code-environment || echo "Without .venv-code the tests of pandas and Matplotlib are skipped."
	$(call level,-n 4 --timeout 400 tests/system)

test-nightly: $(VENV)/.installed-test ## run all unit and integration tests with ten times as many examples, those marked nightly, and 20 simulated hours
	HYPOTHESIS_PROFILE=nightly $(PYTEST) -n 2 --level all --timeout 1200 $(ARGS)
	$(PYTEST) -n 4 --level nightly --timeout 400 tests/system
	$(BIN)/python -m simulation --hours 20

# The nemesis runs three times, for 110 s each; ANTIPHON_NEMESIS_SECONDS and ANTIPHON_SEED choose otherwise.
test-faults: $(VENV)/.installed-test ## kill, stop and break servers, databases and disks for eight minutes; no acknowledged data may be lost
	ANTIPHON_NEMESIS_SECONDS=$${ANTIPHON_NEMESIS_SECONDS:-110} $(BIN)/python -m pytest -rsfE tests/system/faults $(ARGS)

# npm installs Codex and the AI SDK; without npm or its registry their tests are skipped, and the summary says so.
test-clients: $(VENV)/.installed-test ## run Codex and the SDKs, unmodified, against the server
	@$(MAKE) --no-print-directory code-environment || echo "Without .venv-code the tests of pandas and Matplotlib are skipped."
	$(BIN)/python -m pytest tests/system/clients -rsfE --timeout 400 $(ARGS)

# Each server is installed once: llama.cpp is built for minutes, PyTorch is large. What is missing is said.
# ANTIPHON_MODEL=/path/to.gguf takes another model than SmolLM2.
test-backends: $(VENV)/.installed-test .backends/llama-cpp/.installed .backends/transformers/.installed .backends/xllamacpp/.installed ## run llama.cpp and transformers behind the server, and a real model
	$(BIN)/python -m pytest tests/system/model_servers -rsfE --timeout 600 $(ARGS)

# debootstrap makes the base, once, in ~/.cache/antiphon/images; ARGS=--if-cached skips the tests where it is missing.
test-image: $(VENV)/.installed-test ## build the images of deploy/ with buildah, and run servers in them
	$(BIN)/python -m pytest tests/system/image -rsfE --timeout 1200 $(ARGS)

check: $(VENV)/.installed-test $(VENV)/.installed-check $(VENV)/.installed-docs ## check lint, formatting and types of Python and of the console, its components, plain English and plain names
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/plain_english.py
	$(BIN)/python scripts/plain_names.py
	$(BIN)/python console/build.py check

format: $(VENV)/.installed-check ## format the code, and fix the findings of the linter that it can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python console/build.py format

# Both measure in a virtual environment of their own, on an optimised Python where there is one; they say which, and why.
bench: $(BENCH)/.installed ## measure speed and memory, next to nginx and under attack; ARGS=--strict fails if a target is missed
	$(BENCH)/bin/python -m bench $(ARGS)

# The gateways are installed into .peers, once; ARGS="--ref COMMIT" adds another commit of ours.
bench-peers: $(BENCH)/.installed ## measure Antiphon next to nginx and other gateways
	$(BENCH)/bin/python -m bench.peers $(ARGS)

# 200 of them, in half an hour on two idle cores; ANTIPHON_SEED=… repeats a run, ARGS="--count 20 --area limits" limits it.
mutate: $(VENV)/.installed-test ## change the code in small ways; the tests must notice 95 % of the changes
	$(BIN)/python -m mutation $(ARGS)

fuzz: $(FUZZ)/.installed ## change what strangers send until it reaches new code, a minute for each reader; ARGS="chat --seconds 600"
	$(FUZZ)/bin/python -m tests.fuzz $(ARGS)

# HOURS=… simulates so many hours, from SEED on, or from a seed of its own; SEED=… alone repeats one simulation.
simulate: $(VENV)/.installed-test ## simulate servers, their store, backends and clients, with faults, on a simulated clock
	$(BIN)/python -m simulation $(if $(SEED),--seed $(SEED)) $(if $(HOURS),--hours $(HOURS)) $(ARGS)

soak: $(VENV)/.installed-test ## use one server in all ways for HOURS=2: its memory, descriptors and p99 have to stay
	$(BIN)/python -m tests.soak --hours $(or $(HOURS),2) $(ARGS)

trace: $(VENV)/.installed-test ## count the Python calls of each path of a request, and compare them with their budgets
	$(BIN)/python -m bench.trace $(ARGS)

code-figures: $(VENV)/.installed-test ## print the sizes and repetitions of the code, imports between packages, and cycles
	$(BIN)/python -m bench.code $(ARGS)

dist: $(VENV)/.installed-test ## build dist/: the wheel and the sdist of the server, and the wheel of antiphon-verify
	$(BIN)/python -m hatchling build --directory dist $(ARGS)
	cd verify && $(abspath $(BIN))/python -m hatchling build --target wheel --directory ../dist

# It uploads nothing. CONTRIBUTING.md has the steps before and after it.
release: $(VENV)/.installed-release ## build dist/ for VERSION=…: wheels, sdist, hashes, pins, SBOM, licences and release notes
	@$(BIN)/python -m release "$(VERSION)"

docs: $(VENV)/.installed-docs ## build docs/_build/html, and check links, anchors, spelling and alt texts; warnings are errors
	@rm -rf docs/_build/html
	$(BIN)/sphinx-build --fail-on-warning --nitpicky --quiet -j auto -b html docs docs/_build/html
	$(BIN)/python scripts/check_docs.py docs/_build/html
	@echo "docs/_build/html/index.html"

diagrams: $(VENV)/.installed-test ## draw docs/images/*.svg from docs/diagrams/*.toml; ARGS=routing draws one
	@$(BIN)/python scripts/diagrams.py $(ARGS)

# With the oldest Python that pyproject.toml allows: what that one can install, the newer ones can too.
constraints: ## renew constraints*.txt with the versions that pyproject.toml allows
	@rm -rf $(VENV)-constraints
	PYTHON="$${PYTHON:-python3.11}" scripts/make-venv $(VENV)-constraints
	PIP_CONSTRAINT= PIP_BUILD_CONSTRAINT= $(VENV)-constraints/bin/python scripts/pip-install \
	    hatchling editables '.[test,check,docs]' ./verify
	{ sed '/^[^#]/d' constraints.txt; $(VENV)-constraints/bin/pip freeze --exclude antiphon --exclude antiphon-verify; } > constraints.new
	mv constraints.new constraints.txt
	PIP_CONSTRAINT= $(VENV)-constraints/bin/pip install --quiet '.[resolve]'
	{ sed '/^[^#]/d' constraints-lowest.txt; $(VENV)-constraints/bin/uv pip compile --quiet --no-header --no-annotate \
	    --resolution lowest-direct --extra test --python-version 3.11 pyproject.toml; } > constraints.new
	mv constraints.new constraints-lowest.txt
	{ sed '/^[^#]/d' constraints-code.txt; printf '%s\n' $(CODE_PACKAGES) | $(VENV)-constraints/bin/uv pip compile \
	    --quiet --no-header --no-annotate --python-version 3.11 -; } > constraints.new
	mv constraints.new constraints-code.txt
	rm -rf $(VENV)-constraints

clean: ## remove what the other commands created in this folder
	rm -rf $(VENV) $(VENV)-constraints $(BENCH) $(VERSIONS) $(RESOLVE) $(CODE) $(FUZZ) .fuzz .clients .backends .peers docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis dist console/node_modules src/antiphon/server/console/static

$(BIN)/python:
	@scripts/make-venv $(VENV)

$(VENV)/.installed-%: $(PROJECTS) constraints.txt | $(BIN)/python
	@echo "Installing Antiphon and what '$*' needs into $(VENV) ..."
	@$(BIN)/python scripts/pip-install --editable '.[$*]' --editable ./verify
	@touch $@

$(RESOLVE)/.installed: pyproject.toml constraints.txt
	@scripts/make-venv $(RESOLVE)
	@$(RESOLVE)/bin/python scripts/pip-install "$$(sed -n 's/^resolve = \["\(.*\)"\]/\1/p' pyproject.toml)"
	@touch $@

# With the Python of the system where there is one: its folders are in every sandbox.
$(CODE)/.installed: constraints-code.txt
	@PYTHON="$${PYTHON:-/usr/bin/python3 /usr/local/bin/python3 python3.13 python3.12 python3.11 python3}" scripts/make-venv $(CODE)
	@echo "Installing $(CODE_PACKAGES) into $(CODE) ..."
	@PIP_CONSTRAINT=constraints-code.txt $(CODE)/bin/python scripts/pip-install $(CODE_PACKAGES)
	@touch $@

$(FUZZ)/.installed: $(PROJECTS) constraints.txt
	@PYTHON="$${PYTHON:-}" scripts/make-venv $(FUZZ)
	@echo "Installing Antiphon, what its tests need, and atheris into $(FUZZ) ..."
	@$(FUZZ)/bin/python scripts/pip-install --editable '.[test]' --editable ./verify atheris
	@touch $@

$(BENCH)/bin/python: | $(BIN)/python
	@$(BIN)/python -m bench.interpreter $(BENCH)

$(BENCH)/.installed: $(PROJECTS) constraints.txt | $(BENCH)/bin/python
	@echo "Installing Antiphon and what the bench needs into $(BENCH) ..."
	@$(BENCH)/bin/python scripts/pip-install --editable '.[test]' --editable ./verify
	@touch $@

.backends/%/.installed: tests/system/model_servers/%.txt
	@scripts/install-backend $*
