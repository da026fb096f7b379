# SPDX-License-Identifier: Apache-2.0
# `make help` lists what there is. One profile, release, for everything but what is packaged, so that nothing is built twice.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
NYALA := $(TARGET)/release/nyala
SHIPPED := $(TARGET)/shipped/nyala
FSX := $(TARGET)/tools/bin/fsx
FSX_VERSION := 0.3.2
PJDFSTEST := $(TARGET)/tools/bin/pjdfstest
PJDFSTEST_VERSION := 0.2.2
DENY := $(TARGET)/tools/bin/cargo-deny
DENY_VERSION := 0.20.2
MDBOOK := $(TARGET)/tools/bin/mdbook
MDBOOK_VERSION := 0.5.4
CARGO_FUZZ := $(TARGET)/tools/bin/cargo-fuzz
CARGO_FUZZ_VERSION := 0.13.2
export CARGO_TARGET_DIR := $(TARGET)

# Tools that run for seconds are not optimised for minutes.
INSTALL := CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 cargo install

# For up, down and status: a cluster elsewhere than where `nyala up` puts it, and more flags of `nyala up`.
DIR ?=
MOUNT ?=
UP_FLAGS ?=
WHERE = $(if $(DIR),--dir "$(DIR)")

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 10

.PHONY: deps
deps: ## install the Debian packages that are missing (as root, or through sudo)
	@scripts/deps

.PHONY: build
build: ## build target/release/nyala
	cargo build --release --locked -p nyala

# Stack traces of the stripped binary have names and lines as long as nyala.debug lies beside it.
.PHONY: dist
dist: ## the binary to install, optimised as a whole and stripped, and its symbols beside it, in target/dist
	cargo build --profile shipped --locked -p nyala
	mkdir -p $(TARGET)/dist
	objcopy --only-keep-debug --compress-debug-sections=zlib $(SHIPPED) $(TARGET)/dist/nyala.debug
	strip --strip-all -o $(TARGET)/dist/nyala $(SHIPPED)
	cd $(TARGET)/dist && objcopy --remove-section=.gnu_debuglink --add-gnu-debuglink=nyala.debug nyala
	ls -l $(TARGET)/dist

.PHONY: deb
deb: dist ## the Debian packages nyala and nyala-compat, in target/deb (VERSION=)
	scripts/deb $(TARGET)/dist/nyala $(TARGET)/deb

.PHONY: test-deb
test-deb: dist ## install, set up, upgrade, remove and purge the packages in a clean Debian root (as root; CACHE=)
	scripts/test-deb $(TARGET)/dist/nyala

.PHONY: container
container: deb ## a container image from the package, by podman, docker or buildah (IMAGE=, BASE=)
	scripts/container $(TARGET)/deb $(or $(IMAGE),nyala)

# A debug build is enough for both: DEBS= names a directory with packages of it.
.PHONY: test-container
test-container: $(if $(DEBS),,deb) ## build the image and run the commands of docs/containers.md (as root, with podman; DEBS=, CACHE=)
	scripts/test-container $(or $(DEBS),$(TARGET)/deb)

.PHONY: test-ansible
test-ansible: $(if $(DEBS),,deb) ## run the commands of docs/ansible.md against five bare Debian hosts in systemd-nspawn (as root; DEBS=, CACHE=, KEEP=1)
	scripts/test-ansible $(or $(DEBS),$(TARGET)/deb)

.PHONY: up
up: deps build ## build, start a whole cluster on this machine and mount it (DIR=, MOUNT=, UP_FLAGS=)
	$(NYALA) up $(WHERE) $(if $(MOUNT),--mount "$(MOUNT)") $(UP_FLAGS)

.PHONY: down
down: ## stop that cluster; its files stay (DIR=)
	$(NYALA) down $(WHERE)

.PHONY: status
status: ## show that cluster (DIR=)
	$(NYALA) status $(WHERE)

$(FSX):
	$(INSTALL) fsx --version $(FSX_VERSION) --locked --root $(TARGET)/tools

$(PJDFSTEST):
	$(INSTALL) pjdfstest --version $(PJDFSTEST_VERSION) --locked --root $(TARGET)/tools

$(DENY):
	$(INSTALL) cargo-deny --version $(DENY_VERSION) --locked --root $(TARGET)/tools

$(CARGO_FUZZ):
	cargo install cargo-fuzz --version $(CARGO_FUZZ_VERSION) --locked --root $(TARGET)/tools

$(MDBOOK):
	cargo install mdbook --version $(MDBOOK_VERSION) --locked --no-default-features --features search --root $(TARGET)/tools

.PHONY: book
book: $(MDBOOK) ## the pages of docs/ as a book, in target/book
	scripts/book $(MDBOOK) $(TARGET)/book

.PHONY: test
test: test-unit test-e2e ## all tests: units, properties, crashes, then end to end (needs /dev/fuse and root)
	@echo "make test: all passed"

# One seed for all property tests: who changes something else must not be told of a rare case of theirs. `make properties` looks for those.
# Examples are not built here: lint looks at them, and each would have its crate's code made once more.
.PHONY: test-unit
test-unit: deps ## all tests but those end to end (SEED=: of the property tests)
	PROPTEST_RNG_SEED=$(or $(SEED),1) cargo test --release --locked --workspace --exclude nyala-e2e --no-fail-fast --tests
	PROPTEST_RNG_SEED=$(or $(SEED),1) cargo test --release --locked --workspace --exclude nyala-e2e --no-fail-fast --doc

# Those that say how rare a failing case is, and without those that try every crash, so that it ends soon.
.PHONY: test-fresh
test-fresh: deps ## property tests once more, with a seed that nobody chose (SEED=: one that was seen to fail)
	seed=$(or $(SEED),$$RANDOM); \
	echo "make test-fresh: SEED=$$seed"; \
	PROPTEST_RNG_SEED=$$seed cargo test --release --locked --workspace --exclude nyala-e2e --exclude nyala-tidy \
	  --lib --test '*model' --test placement --test wire -- --skip crash \
	  || { echo "make test-fresh: failed; again with: make test-fresh SEED=$$seed"; exit 1; }

# Eight tests begin, and two run: which, and which alone, is decided in crates/nyala-e2e/src/lanes.rs.
# Selected by name rather than by package, so that dependencies have the same features as above and are not built again.
.PHONY: test-e2e
test-e2e: deps build $(FSX) $(PJDFSTEST) ## end-to-end tests: real processes, real mounts, faults
	NYALA_BIN=$(NYALA) cargo test --release --locked --workspace --test e2e -- --test-threads=8

.PHONY: test-e2e-uring
test-e2e-uring: deps build $(FSX) ## the same with mounts over io_uring (as root; sets the kernel's switch meanwhile)
	NYALA_BIN=$(NYALA) scripts/with-uring cargo test --release --locked --workspace --test e2e -- --test-threads=8

.PHONY: lint
lint: $(DENY) ## layout, clippy, documentation, house style, licences
	cargo fmt --all --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	cargo test --release --locked -p nyala-tidy
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --workspace --no-deps --document-private-items --quiet
	$(DENY) check bans licenses sources

# By itself: the database of advisories is a git repository that changes without us, and not every machine reaches it.
.PHONY: advisories
advisories: $(DENY) ## known faults of the libraries that Nyala is built from (needs github.com)
	$(DENY) check advisories

.PHONY: bench
bench: deps build ## measure every aim of the design (10 min), compare with the last result (SAVE=1: store it, SHORT=1: 1 min, OUT=, WORK=)
	NYALA=$(NYALA) scripts/bench

.PHONY: instructions
# As the tests build them, so that nothing is built twice; never incrementally, which makes other code of it.
instructions: deps ## count the instructions of hot functions, compare with those stored (UPDATE=1: store them)
	CARGO_INCREMENTAL=0 cargo build --release --locked --workspace --exclude nyala-e2e --example instructions --example names_instructions --example metrics_instructions
	PROGRAMS="$(addprefix $(TARGET)/release/examples/,instructions names_instructions metrics_instructions)" scripts/instructions

.PHONY: bench-layers
bench-layers: ## measure the layers one by one: store, transport, metadata logic, storage service, mirrored requests beside unmirrored ones, FUSE transports (as root), parity beside ISA-L
	cargo run --release --locked -p nyala-store --example store_bench
	cargo run --release --locked -p nyala-transport --example transport_bench
	cargo run --release --locked -p nyala-meta --example namespace_bench
	cargo run --release --locked -p nyala-storage --example storage_bench
	cargo run --release --locked -p nyala-storage --example mirror_bench
	cargo run --release --locked -p nyala-fuse --example fuse_bench
	dpkg -s libisal2 >/dev/null 2>&1 || apt-get install -y libisal2
	cargo run --release --locked -p nyala-parity --example parity_bench

# Most of them name their number of cases: more comes from rounds, each with its own seed.
.PHONY: properties
properties: deps ## property tests with many seeds (ROUNDS=, SEED=: the first, CASES=: of those that name no number)
	first=$(or $(SEED),$$RANDOM); \
	for seed in $$(seq $$first $$((first + $(or $(ROUNDS),20) - 1))); do \
	  echo "make properties: seed $$seed"; \
	  PROPTEST_RNG_SEED=$$seed PROPTEST_CASES=$(or $(CASES),2000) \
	    cargo test --release --locked --workspace --exclude nyala-e2e --exclude nyala-tidy; \
	done

.PHONY: fuzz
fuzz: deps $(CARGO_FUZZ) ## every decoder under libFuzzer; needs a nightly toolchain (TARGETS=: only these, SECONDS=: each, KEEP=1: the corpus grows)
	PATH="$(TARGET)/tools/bin:$$PATH" BUILD="$(TARGET)/fuzz" SECONDS_EACH=$(or $(SECONDS),60) KEEP=$(KEEP) scripts/fuzz $(TARGETS)

# The crates with unsafe code: rings, sockets, LMDB's pages, aligned buffers, FUSE over io_uring, vectors of parity. The switch is one of nightly Rust's, which the
# toolchain of rust-toolchain.toml takes with RUSTC_BOOTSTRAP; its runtime is part of rust-std for x86-64 and gcc links it. What is
# C (LMDB), and the standard library, run unchecked but for what they allocate and free.
.PHONY: asan
asan: deps ## unit tests of the crates with unsafe code under AddressSanitizer (x86-64 only, builds of its own; ASAN=: other packages)
	RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR="$(TARGET)/asan" \
	  cargo test --locked --target x86_64-unknown-linux-gnu --lib \
	  $(addprefix -p ,$(or $(ASAN),nyala-ring nyala-transport nyala-store nyala-storage nyala-fuse nyala-parity))

.PHONY: sim
sim: ## run clusters under seeded faults: pure machines (SEEDS=, FIRST=, OF=storage|meta, BREAK=all, or BREAK=rule with OF=), then the services as shipped (SERVICES=)
	for of in $(or $(OF),storage meta); do \
	  cargo run --release --locked -p nyala-sim -- --of $$of --seeds $(or $(SEEDS),10000) --first $(or $(FIRST),0) $(if $(BREAK),--break $(BREAK)) || exit 1; \
	done
	cargo run --release --locked -p nyala-sim-services -- --seeds $(or $(SERVICES),1000) --first $(or $(FIRST),0)

.PHONY: sim-mutations
sim-mutations: ## break one rule of the services at a time, and count the seeds until the simulator finds it (ONLY=, TRIES=, SEEDS=)
	@scripts/mutations

.PHONY: trips
trips: deps ## count the functions, files and crates that a create, a write and a failover pass through (LIST=1: names the files)
	@scripts/trips

.PHONY: power-cuts
power-cuts: deps ## every sequence of up to three operations, the power cut at every write and sync of it (SEED=)
	NYALA_POWER_CUTS=all $(if $(SEED),NYALA_POWER_SEED=$(SEED)) cargo test --release --locked --workspace --test faults -- --nocapture power::

.PHONY: fsck-memory
fsck-memory: deps ## memory of a check of ten million names, and how long it takes (NAMES=)
	NYALA_FSCK_NAMES=$(or $(NAMES),10000000) cargo test --release --locked -p nyala-fsck --test many -- --nocapture

.PHONY: flips
flips: deps ## bits flipped in every structure on disk of every service (FLIPS=: so many trials, SEED=)
	NYALA_FLIPS=$(or $(FLIPS),10000) $(if $(SEED),NYALA_FLIPS_SEED=$(SEED)) \
	  cargo test --release --locked --workspace --test faults -- --nocapture flips::

.PHONY: test-upgrade
test-upgrade: deps build ## upgrade a cluster of an earlier commit's build to this one, one service at a time, under load (as root; BASE=: the commit)
	scripts/test-upgrade "$(NYALA)" "$(TARGET)/upgrade" $(BASE)

.PHONY: soak
soak: deps build $(FSX) $(PJDFSTEST) ## the end-to-end tests in their long form, ROUNDS times
	for round in $$(seq $(or $(ROUNDS),3)); do \
	  NYALA_E2E_LONG=1 NYALA_BIN=$(NYALA) \
	    cargo test --release --locked --workspace --test e2e -- --test-threads=1; \
	  echo "make soak: round $$round passed"; \
	done

.PHONY: clean
clean: ## remove all that was built
	cargo clean
