# The verbs of the project. Set-up is part of each and incremental; a fresh machine needs cargo, node, npm and python3.
.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# Go comes as a wheel in the venv; where there is none for the machine, whatever go there is serves.
GO = PATH="$(CURDIR)/$(VENV)/bin:$$PATH" GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-buildvcs=false go
NPM_CI := npm ci --no-audit --no-fund --loglevel=error

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

.PHONY: demo
demo: release ## Real photographs through Python, Node and Rust workers, one of which is killed half-way
	@$(PY) examples/00-demo/run.py

.PHONY: test
test: test-rust test-python test-node test-go test-memory test-examples test-chaos ## Every suite
	@echo "all suites passed"

.PHONY: bench
bench: release floor ## Ours against the peers in one run, with ratios; BENCH=--quick for a short one
	@$(PY) tests/bench/run.py $(BENCH)

.PHONY: lint
lint: node lint-go ## Formatting, lints and strict types of all languages; the laws
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	cargo clippy --quiet -p ganger -p ganger-shim --no-default-features --all-targets -- -D warnings
	$(PY) -m ruff check --quiet .
	$(PY) -m ruff format --check --quiet .
	cd worker-sdk/python && ../../$(PY) -m mypy && ../../$(PY) -m pyright -p .
	cd bindings-python && ../$(PY) -m mypy && ../$(PY) -m pyright -p .
	cd tests/bench && ../../$(PY) -m mypy --strict .
	npm run --silent check --prefix worker-sdk/node
	npm run --silent check --prefix bindings-node

.PHONY: docs
docs: ## The reference pages from core's tables, and Rust's own pages
	UPDATE=1 cargo test --quiet -p ganger --test codegen
	UPDATE=1 cargo test --quiet -p ganger-cli --test reference
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps -p ganger -p ganger-scheduler -p ganger-protocol -p ganger-worker
	@echo "docs/reference and target/doc"

.PHONY: dist
dist: venv worker-node-modules node-modules ## Wheels and npm packages for this platform, in dist/
	$(PY) tests/dist/build.py

.PHONY: test-dist
test-dist: dist ## Installs dist/ where nothing else is and runs the README's snippets
	$(PY) -m pytest tests/dist

.PHONY: audit
audit: ## Licences, bans and advisories of every dependency (needs cargo-deny)
	cargo deny check

.PHONY: chaos
chaos: ## Minutes of kills, floods, memory bombs and replacements under load, from both languages
	GANGER_CHAOS=long $(MAKE) test-chaos
	cd bindings-python && GANGER_CHAOS=long ../$(PY) -m pytest tests/test_recycling.py tests/test_supervision.py
	cd bindings-node && GANGER_CHAOS=long PATH="$(CURDIR)/$(VENV)/bin:$$PATH" node --test --test-concurrency=1 test/{health,replacement}.test.mjs

# Long runs begin with a seed of their own each, so that they add up.
HISTORIES_SEED = $(or $(GANGER_SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))

.PHONY: histories
histories: ## Random histories of the scheduler against its laws: 200 000, or GANGER_HISTORIES; GANGER_SEED begins with that one
	@seed=$(HISTORIES_SEED); count=$${GANGER_HISTORIES:-200000}; echo "$$count histories from seed $$seed"; \
	  GANGER_SEED=$$seed GANGER_HISTORIES=$$count \
	  cargo test --quiet -p ganger-scheduler --test simulation -- every_random_history --nocapture

.PHONY: decisions
decisions: ## What a call costs the scheduler, in instructions, for pools of every size; wants valgrind
	@cargo build --quiet --release -p ganger-scheduler --example decisions
	@core/scheduler/examples/count.sh target/release/examples/decisions

.PHONY: fuzz
fuzz: .cache/tools/bin/cargo-fuzz ## The decoder under libFuzzer for a minute, or FUZZ_SECONDS
	@$(PYTHON) worker-sdk/protocol/fuzz/seeds.py worker-sdk/protocol/fuzz/corpus/seeds
	@mkdir -p worker-sdk/protocol/fuzz/corpus/frames
	cd worker-sdk/protocol && PATH="$(CURDIR)/.cache/tools/bin:$$PATH" RUSTC_BOOTSTRAP=1 \
	  cargo fuzz run frames fuzz/corpus/frames fuzz/corpus/seeds -- $(FUZZ_LIMITS) -max_total_time=$(FUZZ_SECONDS)

# No length in a frame may make the decoder take what never came: a single piece of 64 MiB is a finding.
FUZZ_LIMITS := -max_len=65536 -malloc_limit_mb=64 -timeout=10 -verbosity=0 -print_final_stats=1
FUZZ_SECONDS ?= 60

# Instrumentation and sanitizers are for nightly compilers, or for a stable one that is told to behave like one.
.cache/tools/bin/cargo-fuzz:
	@cargo install --quiet --locked cargo-fuzz@0.13.2 --root .cache/tools --target-dir .cache/tools/target
	@rm -rf .cache/tools/target

.PHONY: test-wasmtime
test-wasmtime: ## The tests of the WebAssembly host with the compiler in it, which takes minutes to build
	cargo test --quiet -p ganger-wasm --no-default-features --features wasmtime --target-dir target/wasmtime

.PHONY: clean
clean: ## Removes everything that was built or fetched
	rm -rf target dist .venv .cache node_modules worker-sdk/protocol/fuzz/{target,corpus,artifacts} worker-sdk/node/{dist,node_modules} bindings-node/{dist,node_modules}

# ---- the suites, one language each --------------------------------------------------------------------------------------

.PHONY: test-rust
test-rust: venv programs node-worker
	cargo build --quiet --tests -p ganger-shim -p ganger-scheduler -p ganger-protocol -p ganger-worker -p ganger-worker-derive -p ganger -p ganger-cli -p ganger-wasm -p ganger-tests -p demo-fingerprint -p behavior-worker
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo test --quiet -p ganger-shim -p ganger-scheduler -p ganger-protocol -p ganger-worker -p ganger-worker-derive -p ganger -p ganger-cli -p ganger-wasm -p ganger-tests -p demo-fingerprint -p behavior-worker
	@$(MAKE) test-portable

.PHONY: test-python
test-python: python programs
	cd worker-sdk/python && ../../$(PY) -m pytest
	cd bindings-python && ../$(PY) -m pytest

.PHONY: test-node
test-node: node programs
	npm test --silent --prefix worker-sdk/node
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" npm test --silent --prefix bindings-node

# The race detector needs a C compiler.
RACE = $(if $(shell command -v gcc clang),-race)

.PHONY: test-go
test-go: venv
	@if $(HAVE_GO); then \
	  cd worker-sdk/go && $(GO) test $(RACE) ./... && for fuzz in messagepack:FuzzDecode wire:FuzzFrames; do \
	    $(GO) test -run '^$$' -fuzz "^$${fuzz#*:}$$" -fuzztime 20000x "./internal/$${fuzz%:*}" || exit 1; done; fi

# Whether there is a go, said once where there is none; CI must have one.
HAVE_GO = if $(GO) version >/dev/null 2>&1; then true; elif [ -n "$${CI:-}" ]; then echo "no go toolchain" >&2; exit 1; \
  else echo "no go toolchain: skipped" >&2; false; fi

.PHONY: lint-go
lint-go: venv
	@if $(HAVE_GO); then \
	  unformatted="$$("$$($(GO) env GOROOT)/bin/gofmt" -l worker-sdk/go tests/behavior/workers/go examples/08-one-shared-model/go)"; \
	  test -z "$$unformatted" || { echo "gofmt -w $$unformatted" >&2; exit 1; }; \
	  for folder in worker-sdk/go tests/behavior/workers/go examples/08-one-shared-model/go; do $(GO) vet -C $$folder ./... || exit 1; done; fi

.PHONY: test-examples
test-examples: python node programs
	$(PY) -m pytest -q examples

.PHONY: test-chaos
test-chaos: python node
	$(PY) -m pytest -q tests/chaos
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" node --test tests/chaos/*.test.mjs

# What large payloads do with none and with little of the memory that they could share, suites of behaviour, values and deaths.
.PHONY: test-memory
test-memory: python node programs
	for memory in 0 1mib; do export GANGER_TEST_SHARED_MEMORY=$$memory; \
	  (cd bindings-python && ../$(PY) -m pytest -q tests/test_{behavior,values,deaths,overlap,faults_values}.py) && \
	  (cd bindings-node && PATH="$(CURDIR)/$(VENV)/bin:$$PATH" node --test --test-concurrency=2 test/{behavior,values,large,deaths,chaos}.test.mjs) \
	  || exit 1; done

# Whatever only Linux has is switched off: the rest must do over inherited sockets and over the named endpoint. The shim has a
# folder of its own, so that the usual one stays as it is.
.PHONY: test-portable
test-portable: venv programs
	cargo test --quiet -p ganger-shim --no-default-features --target-dir target/portable
	GANGER_SHIM="$(CURDIR)/target/portable/debug/ganger-shim" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" \
	  cargo test --quiet -p ganger --no-default-features --lib --test ways --test deaths --test starts

# What suites start that no cargo test builds for them.
.PHONY: programs
programs: venv
	@cargo build --quiet -p ganger-shim -p ganger-wasm -p behavior-worker -p shared-model
	@if $(HAVE_GO); then \
	  for program in behavior conformance; do \
	    folder=$${program#behavior}; $(GO) build -C tests/behavior/workers/go -o "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/go/$$program-worker" "./$$folder" || exit 1; done; \
	  $(GO) build -C examples/08-one-shared-model/go -o "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/go/shared-model" .; fi

# ---- set-up ---------------------------------------------------------------------------------------------------------------

.PHONY: venv
venv: $(VENV)/ready

$(VENV)/ready: tests/requirements.txt
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@printf '%s\n' '$(CURDIR)/bindings-python/python' '$(CURDIR)/worker-sdk/python/src' \
	  > "$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ganger-dev.pth"
	@touch $@

.PHONY: worker-node-modules
worker-node-modules: worker-sdk/node/node_modules/.ready
.PHONY: node-modules
node-modules: bindings-node/node_modules/.ready

%/node_modules/.ready: %/package-lock.json
	@cd $* && $(NPM_CI)
	@touch $@

.PHONY: node-worker
node-worker: worker-node-modules
	@npm run --silent build --prefix worker-sdk/node

# Apps in this repository find the packages as installed ones are found.
.PHONY: links
links:
	@mkdir -p node_modules
	@ln -sfn ../bindings-node node_modules/ganger
	@ln -sfn ../worker-sdk/node node_modules/ganger-worker

.PHONY: python
python: venv node-worker ## The Python package, built in place for development
	@$(PY) -m compileall -q worker-sdk/python/src
	@$(PY) bindings-python/develop.py

.PHONY: node
node: venv node-worker node-modules links ## The Node package, built in place for development
	@npm run --silent build --prefix bindings-node

.PHONY: floor
floor:
	@cargo build --quiet --release -p ganger-tests --example floor

.PHONY: release
release: venv worker-node-modules node-modules links
	@npm run --silent build:release --prefix worker-sdk/node
	@$(PY) -m compileall -q worker-sdk/python/src
	@$(PY) bindings-python/develop.py --release
	@npm run --silent build:release --prefix bindings-node
