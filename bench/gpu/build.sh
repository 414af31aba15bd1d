#!/usr/bin/env bash
# Builds what run.sh needs into bench/gpu/bin, or the folder given, for linux/amd64 with
# glibc. The folder bench/gpu can then be copied to a machine with a GPU; nothing else is
# needed there.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${1:-bench/gpu/bin}
export CGO_ENABLED=0
mkdir -p "$bin"
go test -c -o "$bin/driver.test" ./engine/cuda/driver
go test -c -o "$bin/cuda.test" ./engine/cuda
go build -o "$bin/dyad" ./cmd/dyad
