#!/usr/bin/env bash
# Everything that needs a GPU, in stages of at most 8 minutes: run.sh [--dry-run] [STAGE...]
# with stages doctor, driver, conformance, sanitizer, measure, measure-large, measure-groups,
# measure-pairs, measure-metric, peers (default: all). Needs bin/ from build.sh and an NVIDIA
# driver; no network, no Go. Results go to the folder OUT (default: results, beside this
# script): copy gpu-*.json to bench/results/gpu. It fails without a GPU: a skipped test is no result.
#
# --dry-run goes through the same stages with any driver, such as the tests' fake one, and
# measures nothing: tests are listed and must be there, Python files are checked.
set -uo pipefail
cd "$(dirname "$0")"
out=$(realpath -m "${OUT:-results}")
mkdir -p "$out"
failed=0
dry=
if [ "${1:-}" = --dry-run ]; then
	dry=yes
	shift
fi

# listed turns the command of a test binary into one that lists its tests, and fails if
# there is none.
listed() {
	local args=() a
	for a in "$@"; do
		case $a in
		-test.run) args+=(-test.list) ;;
		-test.v | -test.short) ;;
		*) args+=("$a") ;;
		esac
	done
	"${args[@]}" | grep '^Test'
}

stage() { # name, command...
	local name=$1
	shift
	echo "== $name"
	if [ -n "$dry" ]; then
		case " $* " in
		*' -test.run '*) set -- bash -c 'listed "$@"' listed "$@" ;;
		esac
	fi
	timeout 480 "$@" >"$out/$name.txt" 2>&1
	local rc=$?
	tail -5 "$out/$name.txt"
	[ $rc -eq 0 ] || { echo "$name: exit $rc"; failed=1; }
}

doctor() {
	bin/dyad doctor --json
	local rc=$?
	[ -n "$dry" ] || return $rc # a driver without a compiler is fine for a dry run
}

require_gpu() {
	if ! bin/dyad devices | grep -q '^cuda:0'; then
		echo "no GPU: $(bin/dyad devices | tail -1)"
		exit 3
	fi
}

sanitizer() {
	if [ -n "$dry" ]; then
		listed bin/cuda.test -test.short -test.run 'GPUConformance'
		return
	fi
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
	if ! command -v python3 >/dev/null; then
		echo "peers: skipped, Python is not installed"
		return 0
	fi
	if [ -n "$dry" ]; then
		python3 peer.py --check
		return
	fi
	if ! python3 -c 'import torch' 2>/dev/null; then
		echo "peers: skipped, PyTorch is not installed"
		return 0
	fi
	python3 peer.py "$out/peers.json"
}
export -f listed doctor sanitizer peers
export out dry

require_gpu
for name in "${@:-doctor driver conformance sanitizer measure measure-large measure-groups measure-pairs measure-metric peers}"; do
	for s in $name; do
		case $s in
		doctor) stage doctor bash -c doctor ;;
		driver) stage driver bin/driver.test -test.v -test.run 'TestOpen$' ;;
		conformance) stage conformance bin/cuda.test -test.v -test.run 'GPUConformance' ;;
		sanitizer) stage sanitizer bash -c sanitizer ;;
		measure) stage measure env DYAD_GPU_OUT="$out/gpu-$(hostname).json" bin/cuda.test -test.v -test.run 'GPUMeasure$' ;;
		measure-large) stage measure-large env DYAD_GPU_LARGE=1 DYAD_GPU_OUT="$out/gpu-large-$(hostname).json" bin/cuda.test -test.v -test.run 'GPUMeasure$' ;;
		measure-groups) stage measure-groups env DYAD_GPU_GROUPS_OUT="$out/gpu-groups-$(hostname).json" bin/cuda.test -test.v -test.run 'GPUMeasureGroups$' ;;
		measure-pairs) stage measure-pairs env DYAD_GPU_PAIRS_OUT="$out/gpu-pairs-$(hostname).json" bin/cuda.test -test.v -test.run 'GPUMeasurePairs$' ;;
		measure-metric) stage measure-metric env DYAD_GPU_METRIC_OUT="$out/gpu-metric-$(hostname).json" bin/cuda.test -test.v -test.run 'GPUMeasureMetric$' ;;
		peers) stage peers bash -c peers ;;
		*) echo "unknown stage $s"; exit 2 ;;
		esac
	done
done
exit $failed
