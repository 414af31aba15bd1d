#!/usr/bin/env bash
# Everything that needs a GPU, in stages of at most 8 minutes: run.sh [STAGE...] with
# stages doctor, driver, conformance, sanitizer, measure, peers (default: all). Needs
# bin/ from build.sh and an NVIDIA driver; no network, no Go. Results go to the folder
# OUT (default: results, beside this script): copy gpu-*.json to bench/results/gpu.
# It fails without a GPU: a skipped test is no result.
set -uo pipefail
cd "$(dirname "$0")"
out=$(realpath -m "${OUT:-results}")
mkdir -p "$out"
failed=0

stage() { # name, command...
	local name=$1
	shift
	echo "== $name"
	timeout 480 "$@" >"$out/$name.txt" 2>&1
	local rc=$?
	tail -5 "$out/$name.txt"
	[ $rc -eq 0 ] || { echo "$name: exit $rc"; failed=1; }
}

require_gpu() {
	if ! bin/dyad devices | grep -q '^cuda:0'; then
		echo "no GPU: $(bin/dyad devices | tail -1)"
		exit 3
	fi
}

sanitizer() {
	if ! command -v compute-sanitizer >/dev/null; then
		echo "sanitizer: skipped, compute-sanitizer is not installed"
		return 0
	fi
	compute-sanitizer --error-exitcode 9 bin/cuda.test -test.short -test.run 'GPUConformance' 2>&1 | tee "$out/sanitizer.log"
	local rc=${PIPESTATUS[0]}
	if grep -qiE 'not supported|permission|unable to find|device not' "$out/sanitizer.log" && [ "$rc" -ne 9 ]; then
		echo "sanitizer: skipped, the device refuses it"
		rc=0
	fi
	rm -f "$out/sanitizer.log"
	return "$rc"
}

peers() {
	if ! python3 -c 'import torch' 2>/dev/null; then
		echo "peers: skipped, PyTorch is not installed"
		return 0
	fi
	python3 peer.py "$out/peers.json"
}
export -f sanitizer peers
export out

require_gpu
for name in "${@:-doctor driver conformance sanitizer measure peers}"; do
	for s in $name; do
		case $s in
		doctor) stage doctor bin/dyad doctor --json ;;
		driver) stage driver bin/driver.test -test.v -test.run 'TestOpen$' ;;
		conformance) stage conformance bin/cuda.test -test.v -test.run 'GPUConformance' ;;
		sanitizer) stage sanitizer bash -c sanitizer ;;
		measure) stage measure env DYAD_GPU_OUT="$out/gpu-$(hostname).json" bin/cuda.test -test.v -test.run 'GPUMeasure' ;;
		peers) stage peers bash -c peers ;;
		*) echo "unknown stage $s"; exit 2 ;;
		esac
	done
done
exit $failed
