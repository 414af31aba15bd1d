#!/usr/bin/env bash
# Compiles the kernels to PTX and records what was compiled in kernels.lock.
# Needs clang-19 of Debian or Ubuntu, no CUDA toolkit. The same compiler gives the
# same bytes in any directory.
set -euo pipefail
cd "$(dirname "$0")"
flags=(-x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -ffp-contract=off -O3 -S)
for source in *.cu; do
	clang-19 "${flags[@]}" -o "${source%.cu}.ptx" "$source"
done
{
	echo "compiler $(clang-19 --version | head -1)"
	echo "flags ${flags[*]}"
	sha256sum device.h *.cu *.ptx
} >kernels.lock
