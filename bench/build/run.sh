#!/bin/sh
# Builds and tests Dyad as on a fresh machine: empty module and build caches. Prints the raw file. With "build" it stops
# before the tests.
#
#	sh bench/build/run.sh [build] > bench/results/build-NAME.csv
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
export GOMODCACHE="$work/modules" GOCACHE="$work/cache" GOFLAGS=-buildvcs=false
megabytes() { du -sm "$1" | cut -f1; }
seconds() { # NAME COMMAND...: a line with what the command took
	name=$1
	shift
	start=$(date +%s.%N)
	"$@" >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }
	echo "$name,$(echo "$start $(date +%s.%N)" | awk '{printf "%.1f", $2 - $1}'),$(megabytes "$GOMODCACHE"),$(megabytes "$GOCACHE"),$*"
}
mkdir "$GOMODCACHE" "$GOCACHE"
echo "# sh bench/build/run.sh $*: empty module and build caches at the start"
echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) processors, load average $(cut -d' ' -f1-3 /proc/loadavg); $(go version | cut -d' ' -f3,4)"
echo "step,wall_seconds,module_cache_mb,build_cache_mb,command"
seconds "download and build" go build -o "$work/dyad" ./cmd/dyad
echo "size of the program,,,,$(awk "BEGIN {printf \"%.1f\", $(stat -c %s "$work/dyad") / 1e6}") MB"
seconds "first command" "$work/dyad" train
seconds "build again" go build -o "$work/dyad" ./cmd/dyad
[ "${1:-}" = build ] || seconds "tests" go test -timeout 30m ./...
