# make demo [HEADLESS=1]   JupyterLab on the live demo (HEADLESS=1: without a screen; leaves build/demo/)
# make test                everything that continuous integration runs
# make lint | unit | spark | browser | oldest | wheel    its parts
# make faults              real queries with one injected fault each, and healthy ones: is the right hint first, and does
#                          its code mend the query? (CONNECT=1: over Spark Connect; FIXES=1: only what is mended)
# make failures            real queries that really fail, each of its own kind: is the answer right, and does the cure let
#                          the query go on? (CASES="name ...": only these; ALL=1: also Kafka, Delta, the oldest Spark)
# make kafka               real queries on a real Kafka broker and real Delta tables (fetches both; not in make test)
# make hostile             attacks on what is kept, shown and written, as a table (SEEDS=5000: more damaged files)
# make bench               what the monitor costs, as ratios

SHELL := /bin/bash
PYTHON ?= python3
SPARK ?= 4.3.0
OLDEST_SPARK ?= 3.5.9
DELTA_SPARK ?= 4.1.1

BIN := .venv/bin
OLDEST := .venv-oldest/bin
DELTA := .venv-delta/bin
PYTEST := $(BIN)/python -m pytest -q
STATIC := jupyter_streamwatch/static/widget.js
SOURCES := $(shell find labextension/src labextension/style -type f 2>/dev/null) labextension/package.json labextension/build.mjs

export PYTHONDONTWRITEBYTECODE := 1
export SPARK_LOCAL_IP := 127.0.0.1

.PHONY: demo test lint unit spark connect ipython browser oldest wheel faults failures kafka hostile bench clean

test: lint unit spark connect ipython browser oldest wheel
	@echo "All parts passed."

# --- environments ---------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed (PYTHON=/path/to/python3 make ...)."; exit 1; }
	$(PYTHON) -m venv .venv || { echo "Python's venv module is missing; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install -q uv

.venv/.ready: pyproject.toml | $(BIN)/python
	scripts/system.sh java
	SKIP_JUPYTER_BUILDER=1 $(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python -e ".[connect,demo,lint,test]" "pyspark[connect]==$(SPARK)"
	@touch $@

# The oldest Spark, and the lowest version of every dependency that pyproject.toml promises to work with.
.venv-oldest/.ready: pyproject.toml .venv/.ready
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-oldest
	SKIP_JUPYTER_BUILDER=1 $(BIN)/uv pip install -q --compile-bytecode --python $(OLDEST)/python --resolution lowest-direct \
	  -e ".[oldest]" "pyspark==$(OLDEST_SPARK)"
	@touch $@

# A Spark for which there is a Delta that runs with it.
.venv-delta/.ready: pyproject.toml tests/kafka/versions.py .venv/.ready
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-delta
	SKIP_JUPYTER_BUILDER=1 $(BIN)/uv pip install -q --compile-bytecode --python $(DELTA)/python -e . hypothesis pytest \
	  $$($(BIN)/python tests/kafka/versions.py $(DELTA_SPARK))
	@touch $@

labextension/node_modules/.ready: labextension/package.json
	scripts/system.sh node npm
	cd labextension && npm install --no-save --silent
	@touch $@

$(STATIC): $(SOURCES) labextension/node_modules/.ready
	cd labextension && npm run --silent build
	@touch $@

# A page, a Python worker or a real query on a busy machine may miss its time; what fails twice is broken.
twice = $(1) || $(1) --last-failed --last-failed-no-failures none

# --- checks ---------------------------------------------------------------------------------------------------

lint: .venv/.ready labextension/node_modules/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd labextension && npm run --silent check

unit: .venv/.ready $(STATIC)
	$(PYTEST) tests/unit
	cd labextension && npm test --silent

spark: .venv/.ready $(STATIC)
	$(call twice,$(PYTEST) tests/spark)

connect: .venv/.ready $(STATIC)
	$(call twice,$(PYTEST) tests/connect)

ipython: .venv/.ready $(STATIC)
	$(call twice,$(PYTEST) tests/ipython)

browser: .venv/.ready $(STATIC)
	scripts/system.sh chromium
	$(call twice,$(PYTEST) tests/browser)

# Old libraries warn of what they have changed since: only what our threads and files leave behind is an error here.
OLD_WARNINGS := -W default -W error::pytest.PytestUnraisableExceptionWarning -W error::pytest.PytestUnhandledThreadExceptionWarning

oldest: .venv-oldest/.ready $(STATIC)
	$(call twice,$(OLDEST)/python -m pytest -q -m oldest $(OLD_WARNINGS) tests/unit tests/spark)
	$(call twice,$(OLDEST)/python -m pytest -q -m oldest $(OLD_WARNINGS) tests/connect)

wheel: .venv/.ready $(STATIC)
	$(PYTEST) tests/wheel

faults: .venv/.ready
	$(BIN)/python -m tests.faults $(if $(CONNECT),--connect) $(if $(FIXES),--fixes) $(CASES)

failures: .venv/.ready $(if $(ALL),.venv-delta/.ready .venv-oldest/.ready)
	$(BIN)/python -m tests.zoo $(CASES)
	$(if $(ALL),$(BIN)/uv pip install -q --python $(BIN)/python $$($(BIN)/python tests/kafka/versions.py $(SPARK)))
	$(if $(ALL),$(BIN)/python -m tests.zoo --needs kafka $(CASES))
	$(if $(ALL),$(DELTA)/python -m tests.zoo --needs delta $(CASES))
	$(if $(ALL),$(OLDEST)/python -m tests.zoo $(CASES))

kafka: .venv/.ready .venv-delta/.ready $(STATIC)
	$(BIN)/uv pip install -q --python $(BIN)/python $$($(BIN)/python tests/kafka/versions.py $(SPARK))
	$(PYTEST) tests/kafka
	$(DELTA)/python -m pytest -q tests/kafka/test_delta.py

hostile: .venv/.ready $(STATIC)
	$(if $(SEEDS),SEEDS=$(SEEDS)) $(BIN)/python -m tests.hostile

bench: .venv/.ready $(STATIC)
	@for bench in tests/benchmarks/bench_*.py; do echo "== $$bench"; $(BIN)/python $$bench || exit 1; done

# --- the demo -------------------------------------------------------------------------------------------------

demo: .venv/.ready $(STATIC)
	$(if $(HEADLESS),scripts/system.sh chromium)
	$(BIN)/python scripts/demo.py $(if $(HEADLESS),--headless)

clean:
	rm -rf .venv .venv-oldest .venv-delta build dist labextension/node_modules jupyter_streamwatch/static
