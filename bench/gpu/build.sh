#!/usr/bin/env bash
# Builds what run.sh needs into bench/gpu/bin, for linux/amd64 with glibc. The folder
# bench/gpu can then be copied to a machine with a GPU; nothing else is needed there.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0
mkdir -p bench/gpu/bin
go test -c -o bench/gpu/bin/driver.test ./engine/cuda/driver
go test -c -o bench/gpu/bin/cuda.test ./engine/cuda
go build -o bench/gpu/bin/dyad ./cmd/dyad
