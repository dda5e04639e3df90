# The commands of this project; `make help` lists them. Each installs the packages it needs.
.DEFAULT_GOAL := help
.PHONY: help run build test check sanitize format bench bench-smoke model liveness simulate chaos install deb clean

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Build, then run the broker with its own PostgreSQL on port 6632
	@scripts/setup build run
	@JOBS=$(JOBS) scripts/build queen
	@echo "Starting Queen (Ctrl-C stops it)"
	@exec build/queen serve

build: ## Build build/queen (release, asserts on)
	@scripts/setup build
	@JOBS=$(JOBS) scripts/build queen

test: ## Build everything and run every test
	@scripts/setup build run test ha package
	@test -f build/build.ninja || cmake --preset release
	@cmake --build build -j $(JOBS)
	@ctest --test-dir build --output-on-failure -j $(JOBS)

check: ## Format, lint, and the unit tests under ASan and UBSan
	@scripts/setup build run test check bench
	@scripts/check

sanitize: ## Every test under ASan and UBSan, then under TSan (half an hour)
	@scripts/setup build run test ha package
	@scripts/sanitize

format: ## Rewrite the sources in the project's format
	@scripts/setup check
	@git ls-files '*.cc' '*.h' | xargs clang-format-14 -i

bench: ## Measure; results as ratios within one run
	@scripts/setup build run test bench
	@cmake --preset release
	@cmake --build build -j $(JOBS)
	@scripts/bench

bench-smoke: ## Measure for less than two minutes; only ratios decide
	@scripts/setup build run test bench
	@cmake --preset release
	@cmake --build build -j $(JOBS) --target queen raw_reference
	@bench/run.py --smoke

model: build ## Compare a broker with a model of the contract at random (SECONDS=60, SEED=n, BROKERS=1)
	@scripts/setup run test
	@/usr/bin/python3 tests/model/run.py --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED)) \
		--brokers $(or $(BROKERS),1)

liveness: build ## Look for waiters that are left behind, at random (SECONDS=60, SEED=n)
	@scripts/setup run test
	@/usr/bin/python3 tests/liveness/run.py --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))

simulate: ## Run the engine in a simulated world: virtual time, faults, every rule checked (SECONDS=60, SEED=n)
	@scripts/setup build
	@test -f build/build.ninja || cmake --preset release
	@cmake --build build -j $(JOBS) --target simulate
	@build/tests/simulate --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))

chaos: build ## Kill broker, PostgreSQL and connections at random under load (SECONDS=60, SEED=n, BROKERS=1, FAULTS="--broker-kills 500")
	@scripts/setup run test
	@/usr/bin/python3 tests/chaos/run.py --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED)) \
		--brokers $(or $(BROKERS),1) $(FAULTS)

install: build ## Install it with man page, completion, systemd unit and docs (PREFIX=/usr/local, DESTDIR=)
	@DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX)

deb: build ## Make a Debian package of build/queen in build/deb
	@scripts/setup package
	@scripts/deb build/deb

clean: ## Remove what was built (never the data)
	@rm -rf build build-dev build-tsan build-fuzz build-deb
