#!/bin/sh
# The table of everyone, from nothing: Python environments with the versions that the files of requirements pin, then all runs that
# bench/results/everyone.csv does not have, then the pages. DATA has a folder for each data set (dyad data fetch).
#
#	sh bench/everyone/run.sh DATA ENVIRONMENTS
set -eu
data=$(cd "$1" && pwd)
mkdir -p "$2"
environments=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
for name in boosting opacus jax mst; do
	[ -x "$environments/$name/bin/python" ] || python3.11 -m venv "$environments/$name"
	"$environments/$name/bin/pip" install --quiet -r "peers/requirements-$name.txt"
done
exec nice go run ./everyone -data "$data" -environments "$environments"
