# Every target sets up what it needs: a virtual environment in .venv with the pinned versions of constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/.core
READY := .venv/.ready
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help setup demo browser test coverage lint types imports fuzz kills mutants bench peers docs clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(READY) ## make .venv and install covey with everything it is tested with

$(CORE): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) torch
	$(PIP) --editable .
	@touch $@

$(READY): $(CORE)
	$(PIP) --editable '.[dev]'
	@touch $@

demo: $(CORE) ## the five systems beside FedAvg and HierFAVG on built-in data: progress, a table, a picture, a report
	$(BIN)/covey compare --out demo

browser: $(READY) ## a browser for the tests: one that is here, else Debian's package, else Playwright's
	-@$(BIN)/python -m tools.browser

test: $(READY) lint types imports browser ## lint, types, imports and the whole test suite
	$(BIN)/python -m pytest -n 2 --dist worksteal

coverage: $(READY) ## the test suite with branch coverage: uncovered lines, and a fault below 95 %
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term-missing:skip-covered

lint: $(READY) ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy, strict on src, and on tests
	$(BIN)/mypy

imports: $(READY) ## import-linter: dependencies point one way
	$(BIN)/lint-imports

fuzz: $(READY) ## 10,000 odd inputs, at most 30 minutes; faults and their inputs go to fuzz-found
	$(BIN)/python -m tools.fuzz

kills: $(READY) ## 200 runs killed and resumed, compared bit for bit
	$(BIN)/python -m tools.kills

mutants: $(READY) ## small faults put into the source: which does no test notice?
	$(BIN)/python -m tools.mutants

bench: $(READY) ## the figures of docs/performance.md
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.grouping
	$(BIN)/python -m benchmarks.flows
	$(BIN)/python -m benchmarks.clock
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.ui
	$(BIN)/python -m benchmarks.scaleout

peers: $(READY) ## covey beside pfl, Flower and a plain loop: a table and peers.png
	$(BIN)/python -m benchmarks.peers --plot peers.png

docs: $(READY) ## the documentation as a web site in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

clean: ## remove what the other targets made
	rm -rf .venv .cache peers.png site demo fuzz-found build
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
