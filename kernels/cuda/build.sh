#!/usr/bin/env bash
# Compiles every .cu file here, and those of bench/gpu/variants, to PTX and records what was compiled in kernels.lock. A file
# whose name ends in _sm90a is for compute capability 9.0 alone. Needs clang-19 of Debian
# or Ubuntu, no CUDA toolkit. The same compiler gives the same bytes in any directory.
set -euo pipefail
cd "$(dirname "$0")"
flags=(-x cuda --cuda-device-only -nocudainc -nocudalib -ffp-contract=off -O3 -S)
portable=(--cuda-gpu-arch=sm_80)
hopper=(--cuda-gpu-arch=sm_90a -Xclang -target-feature -Xclang +ptx80)
for source in *.cu ../../bench/gpu/variants/*.cu; do
	case $source in
	*_sm90a.cu) target=("${hopper[@]}") ;;
	*) target=("${portable[@]}") ;;
	esac
	clang-19 "${flags[@]}" -I. "${target[@]}" -o "${source%.cu}.ptx" "$source"
done
{
	echo "compiler $(clang-19 --version | head -1)"
	echo "flags ${flags[*]}; ${portable[*]}; _sm90a: ${hopper[*]}"
	sha256sum *.h *.cu *.ptx
} >kernels.lock
(cd ../../bench/gpu/variants && sha256sum *.h *.cu *.ptx >variants.lock)
