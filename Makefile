# Every target installs what it needs into .venv; only Python 3.11 or newer, git and make must be there.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/installed
export DAGSTER_HOME := $(CURDIR)/.dagster_home

.DEFAULT_GOAL := help
.PHONY: help run test test-long test-live test-e2e test-browser pictures bench bench-lock ui lint types lock clean

help: ## Show this help
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

$(INSTALLED): requirements.lock pyproject.toml
	@echo "installing what the lock file names into .venv: a minute or two"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -qq --require-hashes -r requirements.lock
	$(BIN)/pip install -qq --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q xts_pipeline
	@touch $@

run: $(INSTALLED) $(DAGSTER_HOME)/dagster.yaml ## Load the two bundled examples through Dagster and show what happened
	$(BIN)/python -m xts_pipeline.orchestration.examples

test: $(INSTALLED) ## Run the tests (a few minutes on 2 cores)
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-long: $(INSTALLED) ## Run the long tests too: 100,000 histories, every interleaving, ten million rows
	$(BIN)/python -m pytest -m "not e2e and not browser and not live" -n 2 --dist worksteal

test-live: $(INSTALLED) ## Run the Snowflake tests against the account in the environment, in schemas that are dropped
	$(BIN)/python -m pytest xts_pipeline_tests/snowflake -m live -n 0

test-e2e: $(INSTALLED) ## Run Dagster's webserver and daemon on a free port, and drive them as a user does
	$(BIN)/python -m pytest -m e2e

test-browser: $(INSTALLED) ## Look at Dagster's pages in a headless browser (needs Debian's chromium and chromium-driver)
	$(BIN)/python -m pytest -m browser

pictures: $(INSTALLED) ## Take the pictures of docs/pictures anew, from the browser tests
	XTS_PICTURES=docs/pictures $(BIN)/python -m pytest -m browser

bench: $(INSTALLED) bench/.venv/installed ## Measure what a load cycle costs; FULL=1 for 20 and 200 million XTS rows
	$(BIN)/python -m bench $(if $(FULL),--full)

bench/.venv/installed: bench/requirements.txt
	$(PYTHON) -m venv bench/.venv
	bench/.venv/bin/pip install -qq -r bench/requirements.txt
	@touch $@

bench-lock: ## Solve what the bench compares with anew (needs uv)
	uv pip compile bench/requirements.in --python-version 3.11 --no-emit-index-url --no-header \
		--output-file bench/requirements.txt

ui: $(INSTALLED) $(DAGSTER_HOME)/dagster.yaml ## Open Dagster on http://localhost:3000
	$(BIN)/dagster dev -w workspace.yaml

$(DAGSTER_HOME)/dagster.yaml: dagster.yaml
	@mkdir -p $(DAGSTER_HOME)
	@cp $< $@

lint: $(INSTALLED) ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED) ## Check types
	$(BIN)/mypy

lock: ## Solve the dependencies anew into requirements.lock (needs uv)
	uv pip compile pyproject.toml --extra ui --extra dev --extra snowflake --universal \
		--python-version 3.11 --generate-hashes --no-strip-extras --no-emit-index-url --no-header --output-file requirements.lock

clean: ## Remove what make run made: the warehouse and Dagster's records
	rm -rf warehouse.duckdb warehouse.duckdb.wal .dagster_home
