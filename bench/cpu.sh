#!/usr/bin/env bash
# Makes the raw files of the CPU engine again: what this machine takes for the work of the
# engine and what other programs take for the same.
#
#   bench/cpu.sh PIMA [NAME] [PYTHON]
#
# PIMA is the file pima-indians-diabetes.data. NAME stands in the names of files that
# belong to a processor, "xeon-2.5GHz" unless given. PYTHON is an interpreter with numpy, scikit-learn,
# torch and pykeops; without it the peers are left out. torch.compile and KeOps need a C++
# compiler. Nothing else should run meanwhile; about 20 minutes. Written to
# bench/results:
#
#   peers-mahalanobis-torch.csv, peers-logistic-torch.csv, peers-keops.csv, peers-sklearn.csv
#   machine-avx512-4096.json                   dyad lab bench at the size of the peers
#   machine-avx512.json, machine-avx2.json     dyad lab bench, with ratios to these peers
#   machine-generic-quick.json                 the same in plain Go, smaller sizes
#   cpu-score-NAME.txt, sparse-NAME.txt        kernels and gradients of score losses, three times each
#   cpu-workers-NAME.txt, gradients-NAME.txt   two workers, five times; 10^6 records, with cancelling and memory
#   moments-NAME.txt                           sums of moments, and the whole algorithm
#   samplers-NAME.txt, wholerun-NAME.txt       noise; a whole private run
set -euo pipefail
pima=$(realpath "${1:?usage: bench/cpu.sh PIMA [NAME] [PYTHON]}")
name=${2:-xeon-2.5GHz}
python=${3:-}
cd "$(dirname "$0")/.."
results=bench/results
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# These two steer the OpenBLAS of numpy away from what it chooses for the processor.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1

# keep FILE COMMAND...: the output of a command replaces a file only if the command succeeds.
keep() {
	local file=$1
	shift
	printf '%s %s\n' "$(date +%T)" "$file"
	if "$@" >"$work/out" 2>"$work/err"; then
		cp "$work/out" "$results/$file"
	else
		printf '%s is left as it was:\n' "$file"
		tail -n 3 "$work/err"
		return 1
	fi
}

# peer FILE SCRIPT ARGUMENT...: one that does not run here is left out of the ratios.
peers=()
peer() {
	local file=$1 script=$2
	shift 2
	if keep "$file" "$python" "bench/peers/$script" "$@"; then
		peers+=(--peers "$results/$file")
	fi
}

go build -o "$work/dyad" ./cmd/dyad
go -C bench test -c -o "$work/bench" .
if [ -n "$python" ]; then
	peer peers-mahalanobis-torch.csv mahalanobis_torch.py --compile
	peer peers-logistic-torch.csv logistic_torch.py --compile
	peer peers-keops.csv pairs_keops.py --runs 1
	peer peers-sklearn.csv knn_sklearn.py --runs 1
fi
keep machine-avx512-4096.json "$work/dyad" bench --variant avx512 --records 4096 --json ${peers[@]+"${peers[@]}"} || true
for variant in avx512 avx2; do
	keep "machine-$variant.json" "$work/dyad" bench --variant "$variant" --json ${peers[@]+"${peers[@]}"} || true
done
keep machine-generic-quick.json "$work/dyad" bench --variant generic --quick --runs 11 --json ${peers[@]+"${peers[@]}"}
# benchmark COUNT NAMES FLAG...: several runs show how much the host of a virtual machine changes its speed.
benchmark() {
	local count=$1 names=$2
	shift 2
	"$work/bench" -test.run '^$' -test.bench "^Benchmark($names)\$" -test.count "$count" "$@"
}
keep "cpu-score-$name.txt" benchmark 3 'Kernels|Rows|Gradients|Sorted' -large 10000000
keep "cpu-workers-$name.txt" benchmark 5 Workers
keep "gradients-$name.txt" benchmark 3 Million
keep "sparse-$name.txt" benchmark 3 Sparse
keep "moments-$name.txt" benchmark 3 'Moments|MomentsTrain' -large 10000000
keep "samplers-$name.txt" go test ./privacy/internal/sampler -run '^$' -bench '^BenchmarkAdd$' -benchtime 0.3s -count 5
keep "wholerun-$name.txt" benchmark 11 WholeRun -dyad "$work/dyad" -data "$pima" -schema bench/schemas/pima.yaml
date +%T
