#!/usr/bin/env bash
# Everything that needs a GPU: run.sh [--budget SECONDS] core|full|record. Needs bin/ from
# build.sh and an NVIDIA driver; no network, no Go. See README.md for what the three do.
#
# Stages run in the order of their value, each in a process of its own and with a limit of its
# own; one that does not fit into what is left of the budget (default 540) is skipped and said
# to be. The folder OUT (default: results, next to this script) gets results.tar.gz, renewed
# after every stage, and summary.txt, which is printed last.
#
# Exit status: 0, 1 if a stage failed or was stopped, 2 for wrong arguments or a broken bin/, 3 without a GPU.
set -uo pipefail
cd "$(dirname "$0")"
budget=540
if [ "${1:-}" = --budget ]; then
	budget=${2:-}
	shift 2
fi
case "$budget:${1:-}:$#" in
*[!0-9]*:*:* | :*) echo "run.sh: --budget takes seconds"; exit 2 ;;
*:core:1 | *:full:1 | *:record:1) what=$1 ;;
*) echo "usage: run.sh [--budget SECONDS] core|full|record"; exit 2 ;;
esac
out=$(realpath -m "${OUT:-results}")
work=$(mktemp -d)
results=$work/results
mkdir -p "$out" "$results"
alive=
families="near-linear factored spliced groups pairs moments networks fp32 bf16x3"
failed=0
failures=
clocks=
ulimit -s 8192 # the driver's compiler runs on such stacks
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/nvidia/lib64:/usr/lib/wsl/lib"
export DYAD_GPU_OUT=$results

(cd bin && sha256sum --quiet -c SHA256SUMS) || { echo "run.sh: bin/ is not as build.sh left it"; exit 2; }
for packed in bin/*.gz; do
	program=$work/$(basename "$packed" .gz)
	gzip -dc "$packed" >"$program" && chmod +x "$program" || exit 2
done
tests=$work/cuda.test

pack() { # the archive is whole at every moment: the machine may be taken away
	[ ! -f "$work/clocks.csv" ] || cp "$work/clocks.csv" "$results" # tar refuses a file that grows
	tar -C "$work" -czf "$work/archive" results && mv "$work/archive" "$out/results.tar.gz"
}

finish() {
	[ -z "$clocks" ] || kill "$clocks" 2>/dev/null
	{
		echo "$what, $SECONDS of $budget s; every stage:"
		[ ! -f "$results/touch.txt" ] || tail -1 "$results/touch.txt"
		grep ' family-' "$results/stages.txt"
		grep -v ' family-' "$results/stages.txt" | awk '{ row = row (row == "" ? "" : " | ") $0; if (length(row) > 60 || $1 == "FAIL" || $1 == "SLOW") { print row; row = "" } } END { if (row) print row }'
		if [ -s "$work/clocks.csv" ]; then
			awk -F', *' '$2 + 0 > 0 { n++; s += $2; if ($2 + 0 > sm) sm = $2 + 0; if ($3 + 0 > mem) mem = $3 + 0 } END { if (n) printf "clocks: SM %d MHz at most, %d on average, memory %d\n", sm, s / n, mem }' "$work/clocks.csv"
		fi
		if [ -s "$results/summary.txt" ]; then
			grep '^FAIL' "$results/summary.txt" | head -8
			grep -v '^FAIL' "$results/summary.txt" | grep -v '^compiled' | head -24
			echo "$(wc -l <"$results/summary.txt") lines in all: summary.txt in the archive"
		fi
	} | cut -c1-150 >"$work/summary"
	cp "$work/summary" "$out/summary.txt"
	cp "$work/summary" "$results/screen.txt"
	pack
	cat "$out/summary.txt"
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' TERM INT

# stage runs a command unless fewer than NEED seconds are left, for at most LIMIT: NAME, NEED,
# LIMIT, command. Exit status 77 is a stage that says in its last line why it does nothing. One that
# is stopped is SLOW, and not wrong, if a case of it passed or its family answered in stage 0.
stage() {
	local name=$1 need=$2 limit=$3 left=$((budget - SECONDS - 3)) begin=$SECONDS rc word why=
	shift 3
	if [ "$left" -lt "$need" ]; then
		echo "SKIP $name: $left s are left, it needs $need" >>"$results/stages.txt"
		return 0
	fi
	[ "$limit" -le "$left" ] || limit=$left
	echo "== $name"
	timeout -k 3 "$limit" bash -c '"$@"' bash "$@" >"$results/$name.txt" 2>&1 </dev/null
	rc=$?
	case $rc in
	0) word=PASS ;;
	77) word=SKIP why=": $(tail -1 "$results/$name.txt")" ;;
	124 | 137)
		word=FAIL why=": stopped after $limit s$(sed -nE 's/^ *=== (RUN|NAME) +([^ ]+).*/ in \2/p' "$results/$name.txt" | tail -1)"
		case " $alive " in *" ${name#family-} "*) word=SLOW ;; esac
		! grep -q -- '--- PASS' "$results/$name.txt" || word=SLOW
		;;
	*) word=FAIL why=": $({ grep -m1 -iE 'cuda error|CUDA_ERROR|panic:|no tests to run|more than|out of' "$results/$name.txt" || grep -m1 -E '_test.go:[0-9]+: ' "$results/$name.txt"; } | sed 's/^.*_test.go:[0-9]*: //' | grep -oE '.{1,140}$')" ;;
	esac
	echo "$word $name $((SECONDS - begin)) s$why" | tee -a "$results/stages.txt"
	pack
	case $word in
	SLOW) failed=1 ;; # not everything was checked, but what was is right
	FAIL) failed=1 && return 1 ;;
	esac
}

# gotest runs tests by a pattern; tests that are all skipped, or not there, are no result.
gotest() {
	local log=$work/gotest.log
	"$tests" -test.v "$@" 2>&1 | tee "$log"
	local rc=${PIPESTATUS[0]}
	[ "$rc" -eq 0 ] || return "$rc"
	grep -qE '^ +--- PASS|^--- PASS' "$log" && ! grep -qE '^ +--- SKIP|^--- SKIP' "$log" && return 0
	grep -hE '_test.go:[0-9]+: ' "$log" | tail -1
	[ -n "$(grep -E -- '--- SKIP' "$log")" ] && return 77
	echo "no tests to run"
	return 1
}

family() { # name, need, limit, flags of the tests
	local name=$1
	stage "family-$name" "$2" "$3" gotest "${@:4}" -test.run "TestGPUFamily/^$name\$" || failures="$failures $name"
}

touch_families() { # 64 records by each family, in a process of its own: which answer
	local name rc alive= dead= mute=
	for name in $families; do
		DYAD_GPU_OUT=$work/touched timeout -k 1 4 "$tests" -test.v -test.run "TestGPUTouch/^$name\$" 2>&1
		rc=$?
		case $rc in
		0) alive="$alive $name" ;;
		124 | 137) mute="$mute $name" ;;
		*) dead="$dead $name" ;;
		esac
		echo "64 records: answer$alive; wrong or fail:${dead:- none}; no answer in 4 s:${mute:- none}"
	done
}

touched() { # stage 0: families that answer come first, others do not take their time
	local last
	mkdir -p "$work/touched"
	stage touch 5 15 touch_families || true
	last=$(tail -1 "$results/touch.txt")
	alive=$(sed -E 's/^64 records: answer//; s/;.*//' <<<"$last")
	families="$alive $(for name in $families; do case " $alive " in *" $name "*) ;; *) echo "$name" ;; esac; done)"
}

cases() { # stage of gpuCases, need, limit, families
	local of=$1 need=$2 limit=$3 name
	for name in "${@:4}"; do
		case " $failures " in
		*" $name "*) echo "SKIP $of-$name: its conformance failed" >>"$results/stages.txt" ;;
		*) stage "$of-$name" "$need" "$limit" gotest -test.run "TestGPUMeasure/^$of\$/^$name\$" || true ;;
		esac
	done
}

sanitize() { # tool, family
	command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not installed"; return 77; }
	DYAD_GPU_OUT=$work compute-sanitizer --tool "$1" --error-exitcode 9 "$tests" -test.short -test.run "TestGPUFamily/^$2\$" 2>&1 | tee "$work/sanitizer.log"
	local rc=${PIPESTATUS[0]}
	if [ "$rc" -ne 0 ] && [ "$rc" -ne 9 ] && grep -qiE 'not supported|permission|unable to find' "$work/sanitizer.log"; then
		echo "the device refuses it"
		return 77
	fi
	return "$rc"
}

sanitized() { # families: memory first
	local tool name
	for tool in memcheck racecheck; do
		for name in "$@"; do
			stage "$tool-$name" 20 60 sanitize "$tool" "$name" || true
		done
	done
}

counters() { # kernel, family
	command -v ncu >/dev/null || { echo "ncu is not installed"; return 77; }
	DYAD_GPU_OUT=$work ncu --clock-control none --launch-skip 1 --launch-count 1 --section SpeedOfLight --section WarpStateStats \
		--section MemoryWorkloadAnalysis -k "regex:^$1" "$tests" -test.run "TestGPUMeasure/^profile\$/^$2\$"
}

peers() { # argument of peer.py
	command -v python3 >/dev/null || { echo "Python is not installed"; return 77; }
	[ -z "${DYAD_GPU_REHEARSAL:-}" ] || { python3 peer.py --check; return; }
	python3 -c 'import torch' 2>/dev/null || { echo "PyTorch is not installed"; return 77; }
	python3 peer.py "$@"
}

bindings() { # both bindings, bit for bit
	LD_LIBRARY_PATH="$LD_LIBRARY_PATH" "$work/gorgonia.test" -test.v -test.run 'TestGPUBindings'
}

environment() {
	uname -sr
	nproc
	for tool in nvidia-smi ncu compute-sanitizer nvcc ptxas python3; do
		command -v "$tool" || echo "$tool: not installed"
	done
	! command -v nvidia-smi >/dev/null || nvidia-smi -q -d CLOCK,POWER
}
export -f gotest sanitize counters peers bindings environment touch_families
export tests work families

stage environment 5 20 environment
stage open 5 90 gotest -test.run 'TestGPUOpen$'
if grep -q '^SKIP open' "$results/stages.txt"; then
	echo "no GPU: $(tail -1 "$results/open.txt")"
	exit 3
fi
if command -v nvidia-smi >/dev/null; then
	nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader,nounits -lms 250 >"$work/clocks.csv" 2>/dev/null &
	clocks=$!
fi
case $what in
core) # do the kernels run at all, and how fast roughly: about 4 minutes
	touched
	stage driver-ceilings 5 20 gotest -test.run 'TestGPUCeilings$'
	for name in $families; do family "$name" 5 40 -test.short; done
	cases peek 8 40 factored near-linear bf16x3 spliced pairs groups
	stage ceilings 15 40 peers --ceilings
	# shellcheck disable=SC2086
	sanitized $failures
	;;
full) # every conformance case, and why the kernels take as long as they do: about 8 minutes
	touched
	for name in $families; do family "$name" 10 90; done
	# shellcheck disable=SC2086
	sanitized $failures
	while read -r kernel name; do
		case " $failures " in
		*" $name "*) ;;
		*) stage "ncu-$kernel" 15 40 counters "$kernel" "$name" || true ;;
		esac
	done <<-END
		logistic_tiles factored
		metric_tiles_bf16x3 bf16x3
		score_moments near-linear
		weighted_series near-linear
		expand near-linear
		scores factored
		weighted_sums factored
		pair_tiles spliced
		metric_tiles_fp32 fp32
		pair_products pairs
	END
	[ ! -x "$work/gorgonia.test" ] || stage gorgonia 10 60 bindings || true
	# shellcheck disable=SC2086
	[ -n "$failures" ] || sanitized $families
	;;
record) # the times that documents quote and auto.json is fitted to: about 9 minutes
	cases record 15 60 factored near-linear bf16x3 spliced
	stage peers 30 100 peers --main "$results/peers.json" || true
	cases grid 15 60 near-linear factored spliced bf16x3
	cases groups 20 60 groups spliced
	cases rest 15 40 fp32
	cases pairs 15 40 pairs
	stage peers-rest 30 120 peers --rest "$results/peers-rest.json" || true
	;;
esac
exit $failed
