#!/bin/sh
# What cmd/dyad/extras.go costs: the program with it and without it, by an overlay, from an empty build cache, as a release is built. Prints the
# raw file.
#
#	sh bench/build/extras.sh [starts] > bench/results/extras-NAME.csv
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOFLAGS=-buildvcs=false
starts=${1:-200}
printf 'package main\n\nimport "dyad/cmd/command"\n\nvar extras command.With\n' >"$work/none.go"
printf '{"Replace": {"%s/cmd/dyad/extras.go": "%s/none.go"}}' "$PWD" "$work" >"$work/overlay.json"
go mod download
echo "# sh bench/build/extras.sh $starts: commit $(git log -1 --format=%h), empty build cache for each program, then $starts starts of \"dyad version\" of each in turn"
echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) processors, load average $(cut -d' ' -f1-3 /proc/loadavg); $(go version | cut -d' ' -f3,4)"
echo "program,build_cpu_seconds,bytes,median_start_ms,packages_of_gorgonia"
cpu() { # COMMAND...: processor seconds that it took
	/usr/bin/env bash -c 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>"$0"' "$work/log" "$@" 2>&1 | awk '{printf "%.1f", $1 + $2}'
}
for of in none.go extras.go; do
	overlay=
	[ $of = extras.go ] || overlay="-overlay=$work/overlay.json"
	mkdir "$work/cache.$of"
	GOCACHE=$work/cache.$of cpu go build -trimpath -ldflags "-s -w -buildid=" $overlay -o "$work/$of.program" ./cmd/dyad >"$work/$of.cpu"
	go list -deps $overlay ./cmd/dyad | grep -c '^gorgonia.org/' >"$work/$of.deps" || true
	rm -rf "$work/cache.$of"
done
i=0
while [ $i -lt "$starts" ]; do
	for of in none.go extras.go; do
		from=$(date +%s%N)
		"$work/$of.program" version >/dev/null
		echo $((($(date +%s%N) - from) / 1000)) >>"$work/$of.starts"
	done
	i=$((i + 1))
done
for of in none.go extras.go; do
	name=$(echo $of | sed 's/none.go/without/; s/extras.go/with extras.go/')
	echo "$name,$(cat "$work/$of.cpu"),$(stat -c %s "$work/$of.program"),$(sort -n "$work/$of.starts" | awk '{v[NR] = $1} END {printf "%.1f", v[int((NR + 1) / 2)] / 1000}'),$(cat "$work/$of.deps")"
done
