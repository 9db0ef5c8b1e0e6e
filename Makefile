# Carillon's developer commands. Every target is a plain go command that you could type yourself.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# One build mode everywhere: the embedded control plane takes minutes to compile, and mixing
# cgo with no cgo (or -trimpath with none) would compile it twice.
export CGO_ENABLED ?= 0
export GOFLAGS ?= -buildvcs=false

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X github.com/carillon-dev/carillon/internal/version.version=$(VERSION)
TOOL    := go tool -modfile=tools/go.mod
# The pure packages and the shells that do not link the control plane: quick, and fit for -race.
SLOW_RE := /(controlplane|node|standalone|cli|test|testkit/plane)(/|$$)|/cmd/carillon$$
QUICK    = $(shell go list ./... 2>/dev/null | grep -vE '$(SLOW_RE)')
SLOW     = $(shell go list ./... 2>/dev/null | grep -E '$(SLOW_RE)')
FUZZTIME ?= 60s
SEEDS    ?= 10000

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "; printf "Usage: make <target>\n\n"} /^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: up
up: build ## Start Carillon on the examples: Jobs run on this machine (Ctrl-C stops it)
	./bin/carillon up -f examples/

.PHONY: build
build: ## Build bin/carillon (everything) and bin/carillon-manager (controllers alone)
	go build -ldflags '$(LDFLAGS)' -o bin/carillon ./cmd/carillon
	go build -ldflags '$(LDFLAGS)' -o bin/carillon-manager ./cmd/carillon-manager

.PHONY: test
test: ## Run all tests: units, properties, simulation, integration, end to end
	go build ./...
	go test -timeout 30m $(QUICK)
	@# One at a time: each of these runs a whole control plane, or several. Never from the cache of results: the end to
	@# end tests build the binary themselves, and what was said of another one does not count.
	go test -count=1 -timeout 30m -p 1 $(SLOW)

.PHONY: unit
unit: ## Run the tests that need no control plane (seconds, once compiled)
	go test $(QUICK)

.PHONY: race
race: ## Run the quick tests with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race $(QUICK)

.PHONY: sim
sim: ## Run SEEDS (10000) fresh simulated worlds with faults; SEED=n replays one
	go test -count=1 -timeout 60m -run '^(TestAny(State|History|Edits|Templates)|Test.*Properties)$$' \
	  ./internal/cron ./internal/job ./internal/kind/timetable -rapid.checks=$(SEEDS) -rapid.seed=$(or $(SEED),0)
	go test -count=1 -timeout 60m -run '^TestSimulation(OfTimetables)?$$' \
	  ./internal/controller/scheduled ./internal/controller/job ./internal/controller/ttl -rapid.checks=$(SEEDS) -rapid.seed=$(or $(SEED),0)

.PHONY: planted
planted: ## Prove that the simulations find bugs: plant each of a list and run them
	CARILLON_PLANTED=1 go test -count=1 -timeout 60m -v ./test/planted/

.PHONY: integration
integration: ## Run the controllers against a real embedded API server
	go test -count=1 -timeout 20m ./test/integration/...

.PHONY: frozen
frozen: ## Freeze leaders ROUNDS (50) times while they start Jobs, until others have taken over (20 minutes)
	CARILLON_FROZEN_ROUNDS=$(or $(ROUNDS),50) go test -count=1 -timeout 120m -run '^TestFrozenWhileStarting$$' -v ./test/integration/

.PHONY: e2e
e2e: ## Drive the built binary: up, run, kill -9, restart
	go test -count=1 -timeout 20m ./test/e2e/...

.PHONY: browser
browser: ## Go through the page in a headless Chromium (skipped where there is none)
	go test -count=1 -timeout 20m ./test/browser/

.PHONY: screenshots
screenshots: ## Take the pictures of the page for the documentation
	CARILLON_DOCUMENTATION=1 CARILLON_SCREENSHOTS=$(CURDIR)/docs/ui go test -count=1 -timeout 20m -run '^TestScreenshots$$' ./test/browser/

.PHONY: e2e-crash
e2e-crash: ## Kill the built binary KILLS (200) times while Jobs start; SEED=n repeats a run (20 minutes)
	CARILLON_KILLS=$(or $(KILLS),200) CARILLON_SEED=$(SEED) go test -count=1 -timeout 180m -run '^TestRandomKills$$' -v ./test/e2e/

.PHONY: e2e-soak
e2e-soak: ## Run 5,000 short Jobs and compare memory, goroutines and descriptors; start with many containers (half an hour)
	CARILLON_SOAK=1 go test -count=1 -timeout 120m -run '^(TestSoak|TestStartWithManyContainers)$$' -v ./test/e2e/

.PHONY: cri-containerd
cri-containerd: ## Prove the specs of the CRI (test/cri) against Debian's containerd (root; installs packages)
	CARILLON_CRI_CONTAINERD=1 go test -count=1 -timeout 20m -run '^TestContainerd$$' -v ./test/cri/

.PHONY: critest
critest: ## Run the CRI's own validation suite against Carillon's runtime (root; installs packages; some minutes)
	CARILLON_CRITEST=1 go test -count=1 -timeout 30m -run '^TestCritest$$' -v ./test/cri/

.PHONY: bench
bench: ## Measure schedules, and the footprint and start-up of the built binary
	go test -run '^$$' -bench . -benchmem ./schedule/ ./schedule/timeset/ ./internal/interval/ \
	  ./internal/expand/ ./internal/outcome/
	CARILLON_MEASURE=1 go test -count=1 -run TestFootprint -v ./test/e2e/

.PHONY: bench-cron
bench-cron: ## CronJob controllers: Kubernetes' own beside ours beside a bare loop (about 30 minutes)
	go run ./test/bench cron

.PHONY: bench-timetable
bench-timetable: ## Timetables beside our CronJobs and the built-in's at the same times; 100,000 daily ones (about 12 minutes)
	go run ./test/bench timetable

.PHONY: bench-job
bench-job: ## Job controllers: Kubernetes' own beside ours (about 25 minutes)
	go run ./test/bench job

.PHONY: other-runtimes
other-runtimes: # installs what image-table and bench-image compare with, where it is missing (Debian, root)
	@for p in containerd ctr runc podman busybox; do command -v $$p >/dev/null || missing=1; done; [ -z "$$missing" ] || { \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends containerd runc podman busybox-static; }

.PHONY: image-table
image-table: other-runtimes ## Show what a container of an image sees here, under containerd and under podman (root, Debian)
	go run ./test/imagetable

.PHONY: bench-image
bench-image: other-runtimes ## Images beside containerd and podman: pull, start, run (root, Debian; about 10 minutes)
	go run ./test/bench/image

.PHONY: fuzz
fuzz: ## Fuzz every parser for FUZZTIME (60s) each
	@set -e; for f in $$(grep -rlE '^func Fuzz' --include='*_test.go' api internal cmd 2>/dev/null); do \
	  for t in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' $$f); do \
	    echo "== $$t ($$(dirname $$f))"; go test -run '^$$' -fuzz "^$$t$$" -fuzztime $(FUZZTIME) ./$$(dirname $$f); \
	  done; done

.PHONY: generate
generate: ## Write the generated files (deep copies of the API and the kinds, deploy/crds of the API, docs/cli, docs/reference)
	$(TOOL) controller-gen object:headerFile=tools/license.go.txt paths=./internal/kind/...
	$(TOOL) controller-gen object:headerFile=tools/license.go.txt paths=./api/... \
	  crd output:crd:dir=deploy/crds
	$(TOOL) crd-ref-docs --source-path=api/v1alpha1 --config=tools/reference/config.yaml --templates-dir=tools/reference \
	  --renderer=markdown --log-level=ERROR --output-path=docs/reference/batch.carillon.dev-v1alpha1.md
	go run ./cmd/carillon docs --dir docs/cli

.PHONY: verify
verify: generate ## Generate, then check: format, modules, lint, architecture, no leftovers
	@test -z "$$(gofmt -l api cmd internal schedule test *.go)" || { gofmt -l api cmd internal schedule test *.go; echo "run gofmt -w on these files"; exit 1; }
	go mod tidy -diff
	go vet ./...
	$(TOOL) golangci-lint run --timeout 30m ./...
	go test -count=1 .
	git diff --exit-code
