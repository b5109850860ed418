# The way into everything here. The settings of the tools are in pyproject.toml.
#
# Nothing has to be installed first but Python 3.11, a C compiler and make: each target sets up what it needs in .venv,
# once, and again when a requirements file, pyproject.toml or a Cython source has changed.

PYTHON  ?= python3
SECONDS ?= 30
SEED    ?= 0
SEEDS   ?= 100
OTHER_PYTHONS := 3.12 3.13 3.14

VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check
STAMPS := $(VENV)/stamps
MODE   := $(if $(DEBUG),debug,release)
CYTHON := $(shell find kafka_aio spark_connector -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
TIMES  := $(VENV)/times

# A compiled module that is missing is an error here, not a reason to fall back to its plain-Python twin.
export KAFKA_AIO_REQUIRE_COMPILED := 1
# The tests start hundreds of Pythons: what one of them has compiled is there for the others, outside the tree.
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
export PYTHONDONTWRITEBYTECODE :=
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:
.DEFAULT_GOAL := help

.PHONY: help
help:           ## list the targets
	@sed -n 's/^\([a-z-]*\): .*##/\1 #/p' $(MAKEFILE_LIST) | while read -r name _ text; do printf '%-15s %s\n' "$$name" "$$text"; done

## -- setting up ------------------------------------------------------------------------------------------------------

.PHONY: setup build lock map clean
setup: build $(STAMPS)/test    ## .venv with everything that the tests and the tools need
	@$(PY) -m tests.kafka.jars

build: $(STAMPS)/$(MODE)       ## compile the extension modules in place (DEBUG=1: with assertions)

lock: $(STAMPS)/test           ## pin requirements/*.txt anew, with hashes
	$(PY) tools/lock.py

map: $(STAMPS)/demo            ## write the file map of docs/design.md anew, from the modules' docstrings
	$(PY) tools/file_map.py

clean:                         ## remove what was built; .venv stays (remove it by hand to start from nothing)
	rm -rf build dist *.egg-info .venvs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache $(STAMPS)/release $(STAMPS)/debug $(PYTHONPYCACHEPREFIX)
	find kafka_aio spark_connector \( -name '*.so' -o -name '*.c' -o -name '*.pyd' \) -delete
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kafka_aio needs Python 3.11 or newer, not " + sys.version.split()[0] + ": make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/demo: requirements/build.txt requirements/demo.txt | $(PY)
	$(PIP) install --no-compile --require-hashes $(^:%=-r %)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/spark: requirements/spark.txt $(STAMPS)/demo
	$(PIP) install --no-compile --require-hashes -r $<
	@touch $@

$(STAMPS)/test: requirements/test.txt $(STAMPS)/demo
	$(PIP) install --no-compile --require-hashes -r $<
	@touch $@

# CC=false: nothing is compiled here but below, once, and where a failure is an error.
$(STAMPS)/editable: pyproject.toml $(STAMPS)/demo
	CC=false $(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMPS)/release $(STAMPS)/debug: $(CYTHON) $(STAMPS)/editable
	@touch $(STAMPS)/begun
	$(PY) tools/compile.py $(MODE)
	@rm -f $(STAMPS)/release $(STAMPS)/debug && mv $(STAMPS)/begun $@

## -- checking --------------------------------------------------------------------------------------------------------

.PHONY: test check test-fast test-here test-spark-here test-spark test-spark-peer test-spark-old test-faults test-long simulate test-containers test-kerberos test-installed test-pure test-pythons lint type format fuzz fuzz-broker sanitize
test:                          ## style, types and every test: all that CI runs, with a time per part
	@rm -f $(TIMES)
	@for part in setup lint type test-installed fuzz test-here test-spark-here; do \
	    KAFKA_AIO_TIMES=$(CURDIR)/$(TIMES) $(PYTHON) tools/timed.py $$part $(MAKE) $$part SECONDS=15 || exit; done

check: test                    ## the same, by its other name

test-fast: build $(STAMPS)/test ## the tests that need neither Kafka nor another environment, in under two minutes
	$(PY) -m pytest -n auto -m "not kafka" --ignore tests/packaging --ignore tests/interop --ignore tests/spark

test-here: setup               ## every test but those on Spark, on the Python of .venv (KAFKA_AIO_LOOP=asyncio or uvloop: async ones on that loop alone)
	$(PY) -m pytest -n auto --ignore tests/spark

# By themselves: Spark takes both cores, and tests beside it that look at the clock would fail.
test-spark-here: setup         ## the tests on Spark that `make test` has: one session, minutes
	$(PY) -m pytest tests/spark -n 0

test-spark: setup              ## the Spark connector in full: clusters, executors killed, speculation, Spark Connect; minutes
	KAFKA_AIO_SPARK=long $(PY) -m pytest tests/spark -n 0

test-spark-peer: setup         ## the table of cases on Spark's own connector, and what one writes read by the other
	KAFKA_AIO_SPARK_PEER=jvm $(PY) -m pytest tests/spark -m spark_peer -n 0

test-spark-old: setup          ## the Spark connector on the oldest Spark that it knows, in an environment of its own
	$(PYTHON) -m venv .venvs/spark-old
	.venvs/spark-old/bin/python -m pip --disable-pip-version-check install -q --no-compile --require-hashes -r requirements/test.txt
	.venvs/spark-old/bin/python -m pip --disable-pip-version-check install -q --no-compile "pyspark==4.2.*"
	.venvs/spark-old/bin/python -m pytest -p kafka_aio.testing.plugin tests/spark -n 0  # as it is not installed there

test-faults: setup             ## three nodes killed, paused and stopped in turn under load, on both loops (`make test` has one)
	KAFKA_AIO_LOOP=both KAFKA_AIO_FAULT_SECONDS=90 $(PY) -m pytest tests/broker/test_faults.py -n 0 -s

test-long: setup               ## the long proofs in full: leaders killed for three minutes under 200,000 records, groups of every kind, and 1,000 seeds
	KAFKA_AIO_LOOP=both KAFKA_AIO_FAULT_SECONDS=180 $(PY) -m pytest tests/broker/test_producer_faults.py -n 0 -s
	KAFKA_AIO_LONG=1 KAFKA_AIO_FAULT_SECONDS=75 $(PY) -m pytest tests/broker/test_consumer_groups.py tests/broker/test_consumer_members.py -n 0 -s
	KAFKA_AIO_LONG=1 $(PY) -m pytest tests/embedded/test_exactly_once.py -n 0 -s
	$(PY) -m tests.simulation --seeds 1000

simulate: build $(STAMPS)/test ## a producer, three nodes and faults on virtual time, for SEEDS=100; a failing seed says how to see it again
	$(PY) -m tests.simulation --seeds $(SEEDS)

test-containers: setup         ## Kafka in a container, where a Docker engine answers; not part of `make test`
	$(PY) -m pytest tests/containers -n 0

test-kerberos: setup           ## GSSAPI, with a KDC and the gssapi extra where they are there; not part of `make test`
	$(PY) -m pytest tests/kerberos -n 0 -rs || test $$? = 5  # 5: all were skipped, with the reason

test-installed: $(STAMPS)/test ## the next two, side by side
	@$(PY) tools/test_installed.py twin $(OTHER_PYTHONS)

test-pure: $(STAMPS)/test      ## the unit tests on an install without a compiler: the plain-Python twins
	@$(PY) tools/test_installed.py twin

test-pythons: $(STAMPS)/test   ## the unit tests on the other Pythons that can be run here
	@$(PY) tools/test_installed.py $(OTHER_PYTHONS)

lint: build $(STAMPS)/test     ## ruff, import-linter
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/lint-imports

type: build $(STAMPS)/test     ## mypy, and stubs against the compiled modules and their twins
	$(VENV)/bin/mypy
	$(PY) tools/check_stubs.py

format: $(STAMPS)/test         ## ruff format, and what ruff can repair
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

fuzz: build $(STAMPS)/test     ## feed the decoders broken bytes for SECONDS=30, from SEED=0
	$(PY) -m tests.fuzz --seconds $(SECONDS) --seed $(SEED)

fuzz-broker: build $(STAMPS)/test ## feed a live broker broken and absurd requests for SECONDS, from SEED=0
	$(PY) -m tests.fuzz --target broker --seconds $(SECONDS) --seed $(SEED)

sanitize: $(STAMPS)/test       ## the compiled modules under gcc's sanitizers: minutes, not part of `make test`
	$(PY) tools/sanitize.py --seconds $(SECONDS)

## -- showing ---------------------------------------------------------------------------------------------------------

.PHONY: demo demo-spark bench bench-codec bench-protocol bench-net bench-broker bench-produce bench-consume bench-spark dist
demo: build                    ## see it work: sets itself up and ends by itself
	@$(PY) examples/demo.py

demo-spark: build $(STAMPS)/spark ## clicks from Kafka, counted by windows in Spark, and back to Kafka; killed and begun again; needs a JDK 17
	@$(PY) examples/clicks.py

bench: bench-codec bench-protocol bench-net bench-broker bench-produce bench-consume bench-spark ## all benchmarks, beside the peers

bench-codec: build $(STAMPS)/test ## record batches: ratios to aiokafka, in benchmarks/results/codec.json
	$(PY) -m benchmarks.codec

bench-protocol: build $(STAMPS)/test ## messages: ratios to kio, in benchmarks/results/protocol.json
	$(PY) -m benchmarks.protocol

bench-net: build $(STAMPS)/test ## frames over a connection: ratios to a bare asyncio protocol, in benchmarks/results/net.json
	$(PY) -m benchmarks.net

bench-broker: setup            ## the embedded broker: MB/s and its CPU, and confluent-kafka on it and on Kafka, in benchmarks/results/broker.json
	$(PY) -m benchmarks.broker

bench-produce: setup           ## producing to a real Kafka: ratios to confluent-kafka, aiokafka and kafka-python, in benchmarks/results/produce.json
	$(PY) -m benchmarks.produce

bench-consume: setup           ## consuming from a real Kafka: ratios to the same, stalls of the loop, end to end, in benchmarks/results/consume.json
	$(PY) -m benchmarks.consume

bench-spark: setup             ## Spark to Kafka and back: ratios to Spark's own connector and to other clients in executors, in benchmarks/results/spark.json
	$(PY) -m benchmarks.bridge
	$(PY) -m benchmarks.spark

dist: $(STAMPS)/test           ## sdist and wheel in dist/
	rm -rf dist
	$(PY) -m build --no-isolation
