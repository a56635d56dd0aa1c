# The first Python >= 3.11 that runs; a command on PATH may be a shim that does not.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo $$p; break; fi; done)
PYTEST_ARGS ?=
PORT ?= 8765

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo serve test proof check bench lock format clean

help: ## Print this list of targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

$(STAMP): requirements.lock pyproject.toml
	@python='$(PYTHON)'; \
	if [ -z "$$python" ]; then echo "no Python >= 3.11 found; set PYTHON=..." >&2; exit 1; fi; \
	test -x $(BIN)/pip || "$$python" -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## Run the quick experiments and write report/
	$(BIN)/clickrank reproduce --scale quick --out report

serve: $(STAMP) ## Serve rankers on this machine (PORT=..., DEMO=1 sends simulated visitors)
	$(BIN)/clickrank serve --store sqlite:///clickrank.db --port $(PORT) $(if $(filter-out 0,$(DEMO)),--demo)

test: $(STAMP) ## Run the tests (PYTEST_ARGS="..." adds arguments)
	$(BIN)/pytest -n 2 --dist loadscope --no-loadscope-reorder $(PYTEST_ARGS)

proof: $(STAMP) ## Test the promises of the service: kills under load, 10,000 unusual requests (half an hour)
	$(BIN)/pytest -m proof tests

check: $(STAMP) ## Run the linters, the type checker, the import contracts and the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

bench: $(STAMP) ## Measure the speed of each policy in simulations
	$(BIN)/python benchmarks/speed.py

lock: ## Update requirements.lock from pyproject.toml (LOCK_ARGS=--upgrade updates every pin)
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && \
	$(PYTHON) -m venv "$$tmp" && "$$tmp/bin/pip" install --quiet uv && \
	"$$tmp/bin/uv" pip compile pyproject.toml --no-config --quiet --universal \
		--python-version 3.11 --extra all --group dev --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-annotate \
		--custom-compile-command "make lock" $(LOCK_ARGS) --output-file requirements.lock

format: $(STAMP) ## Format the code and apply the safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the environment, the caches and the generated files
	rm -rf $(VENV) report build dist .hypothesis .import_linter_cache .mypy_cache \
		.pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
