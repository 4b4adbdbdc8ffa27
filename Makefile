# Everything a person or CI runs here. `make help` lists it.
# Nothing is needed but make and Python 3.11 or newer (name another one with PYTHON=python3.13).
PYTHON ?= python3
VENV := .venv
ifneq ($(origin PYTHON),file)
# One was named. If `.venv` was made by another version, this one gets an environment of its own.
NAMED := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
MADE_BY := $(shell sed -n 's/^version *= *\([0-9]*\.[0-9]*\).*/\1/p' .venv/pyvenv.cfg 2>/dev/null)
VENV := $(if $(filter-out $(NAMED),$(MADE_BY)),.venv-$(NAMED),.venv)
endif
BIN := $(VENV)/bin
# The peers of the benchmarks pin other versions than the tests: an environment of their own.
BENCH := .venv-bench
# semantic-router pins older clients than the other peers do.
ROUTER := .venv-router
# LiteLLM's proxy, which the recorder is held against.
LITELLM := .venv-litellm
# Frameworks of other people whose programs are recorded.
FRAMEWORKS := .venv-frameworks
# It calls the HTTP API from outside, and pins other versions than the tests.
SCHEMATHESIS := .venv-schemathesis
# Tasks and attacks that the gate of acts is held against.
AGENTDOJO := .venv-agentdojo
# The locks are complete, so pip resolves nothing (`--no-deps`): a newer release of a package that is
# wanted with an extra would otherwise stop an install by hash.
PIP := -m pip --disable-pip-version-check --quiet
# One thread per engine: two spinning threads on a busy machine are slower than one.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test quick slow rooms check format bench bench-full soak clean lock docs models house goldens shots wheels weigh

help: ## list these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.run ## set everything up and show one real turn, end to end, offline
	@$(BIN)/mentis models install
	@$(BIN)/mentis demo

test: $(VENV)/.dev models ## set everything up and run the tests
	@$(BIN)/python tools/run_tests.py

quick: $(VENV)/.dev ## the tests nearest to what changed, in under a minute
	@$(BIN)/python tools/run_quick.py

slow: $(VENV)/.dev $(FRAMEWORKS)/.frameworks $(SCHEMATHESIS)/.installed $(AGENTDOJO)/.agentdojo models ## what takes longer, and the lower rooms on every other Python (under 30 minutes)
	@$(BIN)/python tools/run_slow.py

rooms: $(VENV)/.dev
	@$(BIN)/python tools/run_slow.py --rooms

check: $(VENV)/.dev ## format, lint, types, import contracts, documentation
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports
	@$(BIN)/python tools/check_project.py

format: $(VENV)/.dev ## format the code and sort its imports
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

house: $(VENV)/.dev ## measure the code: rooms, imports, names, the walk of a turn; enforces nothing
	@$(BIN)/python tools/house.py

goldens: $(VENV)/.dev ## write the goldens of turns and ticks anew; then read what is different
	@rm -rf tests/goldens/golden
	@UPDATE_GOLDENS=1 $(BIN)/python -m pytest -q -m "slow or not slow" tests/goldens

docs: $(VENV)/.dev ## write the generated reference anew
	@$(BIN)/python tools/reference.py --write

shots: $(VENV)/.dev ## take pictures of every screen of the studio (needs chromium)
	@$(BIN)/python tools/shots.py

bench: $(BENCH)/.bench models ## measure, as ratios against a baseline of the same run (under 5 minutes)
	@$(BENCH)/bin/python -m bench

bench-full: $(BENCH)/.bench $(ROUTER)/.router $(LITELLM)/.litellm models ## the same with more repeats
	@$(BENCH)/bin/python -m bench --full

soak: $(VENV)/.dev models ## many real turns and ticks in a row on the embedded model, then verify
	@$(BIN)/python -m bench.soak
	@$(BIN)/python -m bench.soak_loop
	@$(BIN)/python tests/tick/embedded_tasks.py

models: $(VENV)/.dev
	@$(BIN)/mentis models install
	@$(BIN)/mentis models install minilm-l6

wheels: $(VENV)/.run ## gather what a container is built from without a network, into dist/wheels
	@rm -rf dist/wheels
	@$(BIN)/python $(PIP) download --no-deps --require-hashes --only-binary :all: -r locks/run.txt -d dist/wheels
	@$(BIN)/python $(PIP) wheel --no-deps --no-build-isolation -w dist/wheels .

weigh: $(VENV)/.run ## say what an install of the core brings, in megabytes
	@$(BIN)/python tools/install_size.py --fresh

lock: $(VENV)/.dev ## resolve dependencies anew and write locks/
	@$(BIN)/python tools/lock.py

clean: ## remove the virtual environments and everything generated
	rm -rf .venv .venv-* .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage* dist build bench/results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Mentis needs Python 3.11 or newer; name one with: make PYTHON=python3.12" >&2; exit 1; }
	@echo "creating $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: locks/run.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing what the demo needs" >&2
	@$(BIN)/python $(PIP) install --no-deps --require-hashes -r locks/run.txt
	@$(BIN)/python $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: locks/dev.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing what development needs" >&2
	@$(BIN)/python $(PIP) install --no-deps --require-hashes -r locks/dev.txt
	@$(BIN)/python $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.run

$(BENCH)/.bench: locks/bench.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing the peers to measure against" >&2
	@$(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/python $(PIP) install --no-deps --require-hashes -r locks/bench.txt
	@$(BENCH)/bin/python $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(FRAMEWORKS)/.frameworks: locks/frameworks.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing the frameworks whose programs are recorded" >&2
	@$(PYTHON) -m venv $(FRAMEWORKS)
	@$(FRAMEWORKS)/bin/python $(PIP) install --no-deps --require-hashes -r locks/frameworks.txt
	@$(FRAMEWORKS)/bin/python $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(ROUTER)/.router: locks/router.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing semantic-router" >&2
	@$(PYTHON) -m venv $(ROUTER)
	@$(ROUTER)/bin/python $(PIP) install --no-deps --require-hashes -r locks/router.txt
	@$(ROUTER)/bin/python $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(LITELLM)/.litellm: locks/litellm.txt | $(VENV)/bin/python
	@echo "installing LiteLLM's proxy" >&2
	@$(PYTHON) -m venv $(LITELLM)
	@$(LITELLM)/bin/python $(PIP) install --no-deps --require-hashes -r locks/litellm.txt
	@touch $@

$(SCHEMATHESIS)/.installed: locks/schemathesis.txt | $(VENV)/bin/python
	@echo "installing schemathesis" >&2
	@$(PYTHON) -m venv $(SCHEMATHESIS)
	@$(SCHEMATHESIS)/bin/python $(PIP) install --no-deps --require-hashes -r locks/schemathesis.txt
	@touch $@

$(AGENTDOJO)/.agentdojo: locks/agentdojo.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing AgentDojo" >&2
	@$(PYTHON) -m venv $(AGENTDOJO)
	@$(AGENTDOJO)/bin/python $(PIP) install --no-deps --require-hashes -r locks/agentdojo.txt
	@$(AGENTDOJO)/bin/python $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@
