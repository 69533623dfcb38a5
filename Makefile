# Every target sets itself up: the first one creates .venv and installs the pinned dependencies.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export OPENBLAS_NUM_THREADS := 1  # small matrices: threads only get in each other's way
export PYTHONDONTWRITEBYTECODE :=  # hundreds of processes are started in tests: none compiles the library anew

# Studies wait for the disk several times a call. What tests write may as well be written to memory, where there is enough.
IN_MEMORY := $(shell df -k /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 {print "PYTEST_DEBUG_TEMPROOT=/dev/shm"}')

AXE := /usr/local/lib/node_modules/axe-core
AXE_VERSION := 4.14.0
AXE_SHA512 := f564d9c448ec67b6f5dd31fc24f99b576cfc0876e5f34ff6866dd73c41b826035d40b2bcd480515e64b11df3003a44aa41e4714ffd1dc0d0f3d863a6df3ce971

TEST := $(IN_MEMORY) $(BIN)/python -m pytest -q -n 3 --dist worksteal

.PHONY: demo test test-long test-all test-busy soak lint bench docs reproduce wheel system pins clean

demo: $(READY)  ## run a private bandit, print what happened, draw a figure (results/demo)
	$(BIN)/sottovoce run slate --horizon 500k --out results/demo

test: $(READY)  ## every fact once, docstring examples included
	$(TEST) -m "not long"

test-long: $(READY)  ## what test leaves out: every case of many that are alike, and searches through all of them
	$(TEST) -m long

test-all: test test-long  ## both

test-busy: $(READY)  ## all of them on busy cores, with four endless loops for each; ONLY=tests/client for a part
	$(IN_MEMORY) $(BIN)/python tests/busy.py $(BIN)/python -m pytest -q -n 3 --dist worksteal $(ONLY)

soak: $(READY)  ## kill studies and services thousands of times, on SQLite and PostgreSQL, and look what becomes of them
	SOTTOVOCE_SOAK=1 $(BIN)/python -m pytest -v -n 2 --dist worksteal --durations 15 \
	$(patsubst %,tests/studies/test_%.py,kill interrupts hard_life coming_and_going power_loss histories mutations) \
	tests/service/hostile/test_service_killed.py tests/service/test_store_interrupts.py tests/privacy/test_ledger_interrupts.py

lint: $(READY)  ## style, types, and the layering of the packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## measure speed side by side with named alternatives, in one run
	$(BIN)/python -m benchmarks

docs: $(READY)  ## build the documentation as a site (site/index.html)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

reproduce: $(READY)  ## measure the paper's claims, whose tables and figures docs/reference/reproduction.md shows (an hour of one core)
	$(BIN)/sottovoce reproduce --large
	cp results/reproduction-large/reproduction*.csv docs/reference
	cp results/reproduction-large/reproduction-*.png docs/reference/figures

wheel: $(READY)  ## build wheel and sdist (dist/), and try both in an empty environment
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist
	$(PYTHON) tests/built.py dist

system:  ## what the tests with a browser, PostgreSQL and nginx need: Debian's packages, and axe from npm's (as root)
	@command -v chromium chromedriver nginx openssl >/dev/null && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 \
	|| { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	chromium chromium-driver postgresql nginx openssl; }
	@test "$$(cat $(AXE)/version 2>/dev/null)" = $(AXE_VERSION) \
	|| { command -v npm >/dev/null || apt-get install -y -qq --no-install-recommends npm; \
	mkdir -p $(AXE) && npm pack --silent --pack-destination $(AXE) axe-core@$(AXE_VERSION) >/dev/null && \
	echo "$(AXE_SHA512)  $(AXE)/axe-core-$(AXE_VERSION).tgz" | sha512sum --check --quiet && \
	tar -xzf $(AXE)/axe-core-$(AXE_VERSION).tgz -C $(AXE) --strip-components 1 package/axe.min.js package/LICENSE && \
	rm $(AXE)/axe-core-$(AXE_VERSION).tgz && echo $(AXE_VERSION) > $(AXE)/version; }

$(READY): requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sottovoce needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -c "import numpy, sottovoce as sv; [one.round(one.center, numpy.random.default_rng(0), 2) for kind in sv.domains.all_domains() for one in kind.examples()]"  # machine code, once: no first call waits for it
	touch $(READY)

pins: $(READY)  ## write down what is installed, names and versions only
	$(BIN)/python -m pip freeze --exclude-editable > requirements.txt

clean:
	rm -rf $(VENV) dist results site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
