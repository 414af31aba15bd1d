# Everything here is also a plain command; make only names it.

.PHONY: check quick host test generate golden home nightly dist faults fuzz screenshots

check: # what must hold before a change lands
	.ci/run

quick: # after every change; without the audits and attacks of the whole catalogue, which .ci/run quick has
	GOGC=400 go test -short -vet=off $$(go list ./... | grep -vE '/algorithms/audit(/|$$)')

test:
	go test ./...

host: # the CUDA kernels compiled for this processor by g++ or clang++: sanitizers for addresses and races, seeded defects
	CGO_ENABLED=0 go test ./engine/cuda -run '^TestHost' -host -count=1 -timeout 60m

generate: # docs/commands.md, kernels/*_amd64.s
	go generate ./...

screenshots: # docs/img, by a Chromium
	docs/img/make

golden: # rewrite the golden output of the program; look at the difference before you commit it
	go test ./cmd/command -run 'TestGolden|TestBench' -update
	go test ./internal/frozen -update

home: # give the module the path that it will be fetched by: make home MODULE=example.org/team/dyad
	go run ./internal/home $(MODULE)

nightly: # everything at full power: audits of every algorithm in every mode, attacks, fault matrices, fuzzing; fails if a claim is refuted
	.ci/nightly

dist: # archives for Linux, macOS and Windows, Debian packages, NOTICE, list of parts, SHA256SUMS; the same bytes anywhere
	go run ./internal/release dist dist

faults: # every cell of the fault matrices, inside the program and at system calls
	.ci/faults
	.ci/syscalls

fuzz: # an hour over all targets; adds up what each did
	.ci/fuzz 3600 /dev/stdout bench/results/fuzz-total.csv
