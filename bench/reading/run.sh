#!/bin/sh
# Reads the files of make.py with Dyad, polars, pyarrow and pandas, in turn, each in a process of its own, and prints the
# raw file. PYTHON has the three libraries:
#
#	PYTHON=python3 sh bench/reading/run.sh [ROWS [RUNS]] > bench/results/reading-NAME.csv
set -eu
python=${PYTHON:-python3} rows=${1:-1000000} runs=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$here/../.." && go -C bench build -o "$work/reading" ./reading)
cd "$work"
"$python" "$here/make.py" "$rows"
echo "# sh bench/reading/run.sh $rows $runs: $rows rows, 21 columns; medians of $runs loads in one process; peak_mb is that of the process, records_mb what Dyad's records take of it"
echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) processors, load average $(cut -d' ' -f1-3 /proc/loadavg); $(go version | cut -d' ' -f3), $("$python" -c 'import polars, pyarrow, pandas; print("polars", polars.__version__, "pyarrow", pyarrow.__version__, "pandas", pandas.__version__)')"
echo "reader,file,processors,cpu_seconds,wall_seconds,million_rows_per_wall_second,peak_mb,records_mb"
for file in r.parquet one.parquet parts r.csv csv zipped; do
	schema=s.yaml
	case $file in *parquet | parts) schema=p.yaml ;; esac
	./reading -schema $schema -runs "$runs" $file
	for library in polars pyarrow pandas; do
		"$python" "$here/peers.py" $library $file "$runs"
	done
done
