#!/usr/bin/env bash
# Builds the binding over gorgonia.org/cu with real headers, runs the suite of the fake driver
# on it and compares the errors of cuda.h with those of results.go: gorgonia.sh DIR [COMMAND...], with DIR the folder of cuda.h of CUDA 11, 12 or
# 13, for example that of the PyPI package nvidia-cuda-runtime-cu12. Needs gcc; no GPU, no
# driver. A command, such as go test -c, is run with the same settings instead.
set -euo pipefail
cd "$(dirname "$0")"
headers=$(realpath "${1:?usage: gorgonia.sh DIR [COMMAND...], DIR the folder of cuda.h}")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -shared -fPIC -pthread -w -DINIT=0 -DCOUNT=2 -DBROKEN=-1 -Wl,-soname,libcuda.so.1 -o "$work/libcuda.so.1" testdata/fakecuda.c
ln -s libcuda.so.1 "$work/libcuda.so"
flags="-I$headers"
if [ "$(awk '$2 == "CUDA_VERSION" {print $3; exit}' "$headers/cuda.h")" -ge 13000 ]; then
	mkdir "$work/shim"
	cp testdata/cuda13.h "$work/shim/cuda.h"
	flags="-I$work/shim -I$headers"
fi
# The fake has the functions that are called, not all that gorgonia.org/cu names.
export CGO_ENABLED=1 CGO_CFLAGS="$flags" CGO_LDFLAGS="-L$work -Wl,--unresolved-symbols=ignore-all"
export LD_LIBRARY_PATH="$work"
if [ $# -gt 0 ]; then
	"$@"
	exit
fi
go vet -tags gorgoniacu . ..
DYAD_CUDA_H=$headers go test -tags gorgoniacu -count=1 -run 'Bindings|Gorgonia|Results' -v .
