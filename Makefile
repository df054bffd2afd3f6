# Everything a person or CI runs. `make` lists the targets.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Each set of compiler flags compiles everything anew: there are two, this one and -race.
PLAIN := -trimpath
# Without what only a debugger reads, a quarter of the file; traces and profiles have their names.
GOFLAGS_BUILD := $(PLAIN) -ldflags "-s -w -X main.version=$(VERSION)"
WEB_SOURCES := $(shell find frontend/src frontend/public frontend/index.html frontend/vite.config.ts frontend/dev -type f 2>/dev/null)
TEST_TIMEOUT := 20m
# The packages that take longest run first, so that none is alone at the end.
LONGEST := ./session/store ./server ./session ./cmd/abide
GO_TEST := -count=1 -vet=off -ldflags=-w -timeout $(TEST_TIMEOUT)
FUZZ_TIME := 1m
SOAK_FAULTS := TestNothingIsLostUnderAllFaultsAtOnce
# Every one of some ten thousands of faults; with the race detector, which make test has, it takes hours.
SOAK_STORIES := TestAStoryLosesNothingWhateverCallFails|TestAKillBetweenAnyTwoStepsLosesNothing
SOAK_MEASURES := TestASiegeCostsATurnAndTheOwnerNothing|TestALongSessionOpensListsAndPagesToItsFirstEvent|TestTenStoppedClientsDoNotSlowTheOthersDown

# A program with the race detector would sleep a second at its end, and the tests run hundreds.
export GORACE := atexit_sleep_ms=0

.DEFAULT_GOAL := help
.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.PHONY: run
run: build ## build everything, start the hub and open it in the browser
	@./bin/abide serve

.PHONY: build
build: bin/abide ## build the app and the binary, bin/abide

# go build is its own judge of what is stale.
.PHONY: bin/abide
bin/abide: frontend/dist/index.html
	go build $(GOFLAGS_BUILD) -o bin/abide ./cmd/abide

frontend/dist/index.html: frontend/node_modules/.installed $(WEB_SOURCES)
	@echo building the app
	@cd frontend && npm run --silent build -- --logLevel warn

frontend/node_modules/.installed: frontend/package-lock.json
	cd frontend && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Lighthouse is large, and only bench-web wants it.
frontend/e2e/lighthouse/node_modules/.installed: frontend/e2e/lighthouse/package-lock.json
	cd frontend/e2e/lighthouse && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: test
# The app's unit tests run beside those of Go, which wait for programs and clocks.
test: ## run every test: Go with -race, the app's, end to end in Chromium
	@$(MAKE) --no-print-directory -j3 test-packages test-program test-web
	@$(MAKE) --no-print-directory test-e2e
	@echo "left to make soak: $$(git grep -hE '^\s*soak\.Only\(t' -- '*_test.go' | wc -l) Go tests"

.PHONY: test-go
# -count=1: some tests build and run the program, which the test cache cannot see.
# lint vets, and a program that is linked for one run is not debugged.
# The two run beside each other: each waits for clocks and programs more than it computes.
test-go: ## run the Go tests with the race detector
	@$(MAKE) --no-print-directory -j2 test-packages test-program

.PHONY: test-packages
test-packages:
	go test -race $(GO_TEST) -p 3 $$(go list $(LONGEST) ./... | grep -v '/internal/blackbox$$')

# The program under test has the race detector, what drives it has not.
.PHONY: test-program
test-program:
	go test $(GO_TEST) -parallel 3 ./internal/blackbox

.PHONY: test-web
test-web: frontend/node_modules/.installed ## run the app's unit tests
	cd frontend && npm run --silent test

.PHONY: test-e2e
test-e2e: build e2e-tools chromium ## run the end-to-end tests in a real Chromium
	cd frontend && npm run --silent e2e

.PHONY: e2e-tools
e2e-tools: frontend/dist/index.html
	go build -race -o bin/abide-race ./cmd/abide
	go build $(PLAIN) -o bin/faultproxy ./internal/tools/faultproxy
	go build $(PLAIN) -o bin/longsession ./internal/tools/longsession

.PHONY: record-traces
record-traces: ## build the tool that records what an installed agent says, for replay tests
	go build $(PLAIN) -o bin/tracetap ./internal/tools/tracetap

# Tests need a real browser; where none is found and we may, Debian's is installed.
.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing chromium from Debian's packages"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	  else echo "no Chromium found: install one (Debian: apt-get install chromium)" >&2; exit 1; fi; }

.PHONY: lint
lint: frontend/node_modules/.installed ## check formatting, vet, static analysis and types
	@$(MAKE) --no-print-directory -j2 -Otarget lint-go lint-web
	@$(MAKE) --no-print-directory supply

.PHONY: lint-go
lint-go:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "run gofmt on:"; echo "$$unformatted"; exit 1; }
	go vet $(PLAIN) ./...
	go build $(PLAIN) -modfile=internal/tools/lint/go.mod -o bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	GOFLAGS="$$(go env GOFLAGS) $(PLAIN)" bin/staticcheck ./...
	cd internal/tools/bench && go vet $(PLAIN) ./... && GOFLAGS="$$(go env GOFLAGS) $(PLAIN)" ../../../bin/staticcheck ./...

.PHONY: lint-web
lint-web:
	cd frontend && npm run --silent check && npm run --silent lint

.PHONY: supply
supply: ## check module checksums, known vulnerabilities and licences; write bin/sbom.json
	@go build $(PLAIN) -modfile=internal/tools/lint/go.mod -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@go run $(PLAIN) ./internal/tools/supply bin/govulncheck bin/sbom.json

.PHONY: generate
generate: ## rewrite the generated TypeScript types, the golden frames and the man pages
	go test ./session/event -update
	go test ./server/wire ./internal/tools/tsgen -update
	go test ./server/api -run TestTheProtocolDocument -update
	go test ./cmd/abide -run 'TestTheManPages' -update
	cd frontend && npm run --silent page

.PHONY: bench
bench: ## measure the way from an agent to the disk and to clients, as ratios
	cd internal/tools/bench && go run .

.PHONY: bench-web
bench-web: build e2e-tools chromium frontend/e2e/lighthouse/node_modules/.installed ## measure the app in Chromium against its budgets
	cd frontend && npm run --silent bench

.PHONY: soak
# The measurements come last and alone: they compare rounds of one quiet machine.
soak: build e2e-tools chromium ## run the slow proofs: ten minutes of all faults, hundreds of kills, five fuzzers, a thousand wakes
	ABIDE_SOAK=1 go test -race -v -timeout 40m -count=1 -run '^$(SOAK_FAULTS)$$' ./internal/blackbox
	ABIDE_SOAK=1 go test -race -timeout 60m -count=1 -skip '^($(SOAK_FAULTS)|$(SOAK_STORIES)|$(SOAK_MEASURES))$$' ./session/... ./queue ./server ./cmd/abide ./client ./internal/jobs ./internal/machines ./internal/schedule ./internal/blackbox ./internal/tools/supply
	ABIDE_SOAK=1 go test -timeout 120m -count=1 -run '^($(SOAK_STORIES))$$' ./session/store
	$(MAKE) fuzz
	ABIDE_SOAK=1 go test -v -timeout 30m -count=1 -run '^($(SOAK_MEASURES))$$' ./internal/blackbox
	cd frontend && ABIDE_SOAK=1 npm run --silent e2e

.PHONY: fuzz
fuzz: ## feed every fuzzer for a minute each: lines, recovery, client frames
	@for at in $$(git grep -lE '^func Fuzz' -- '*_test.go'); do \
	  for name in $$(sed -nE 's/^func (Fuzz[A-Za-z]+)\(.*/\1/p' $$at); do \
	    echo "$$name in $$(dirname $$at)"; \
	    go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZ_TIME) ./$$(dirname $$at) || exit 1; \
	  done; done

.PHONY: screenshots
screenshots: build chromium ## take the pictures of README and docs from the demo agent
	cd frontend && npm run --silent screenshots
