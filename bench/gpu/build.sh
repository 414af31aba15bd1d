#!/usr/bin/env bash
# Builds what run.sh needs into bench/gpu/bin, or the folder given: the test binary of
# engine/cuda for linux/amd64 with glibc, stripped and compressed, and its hash. With
# DYAD_CUDA_H, the folder of cuda.h, also the one with the binding over gorgonia.org/cu.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$(realpath -m "${1:-bench/gpu/bin}")
rm -rf "$bin"
mkdir -p "$bin"
CGO_ENABLED=0 go test -c -trimpath -ldflags='-s -w' -o "$bin/cuda.test" ./engine/cuda
if [ -n "${DYAD_CUDA_H:-}" ]; then
	engine/cuda/driver/gorgonia.sh "$DYAD_CUDA_H" go test -c -trimpath -ldflags='-s -w' -tags gorgoniacu -o "$bin/gorgonia.test" ../
fi
cd "$bin"
gzip -9n ./*.test
sha256sum ./*.gz >SHA256SUMS
