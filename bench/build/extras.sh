#!/bin/sh
# What cmd/dyad/extras.go costs: the program with it and without it, by an overlay, as a release is built. Prints a part of the raw file: "build" has
# the processor time of a build from an empty cache, the size, and the packages of Gorgonia; "start" has the processor time of a start.
#
#	sh bench/build/extras.sh build > bench/results/extras-NAME.csv
#	sh bench/build/extras.sh start >> bench/results/extras-NAME.csv
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOFLAGS=-buildvcs=false
printf 'package main\n\nimport "dyad/cmd/command"\n\nvar extras command.With\n' >"$work/none.go"
printf '{"Replace": {"%s/cmd/dyad/extras.go": "%s/none.go"}}' "$PWD" "$work" >"$work/overlay.json"
go mod download
cpu() { # COMMAND...: the processor seconds that it takes
	/usr/bin/env bash -c 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>"$0"' "$work/log" "$@" 2>&1 | awk '{printf "%.3f", $1 + $2}'
}
build() { # OVERLAY OUT
	go build -trimpath -ldflags "-s -w -buildid=" $1 -o "$2" ./cmd/dyad
}
echo "# sh bench/build/extras.sh $1: commit $(git log -1 --format=%h)"
echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) processors, load average $(cut -d' ' -f1-3 /proc/loadavg); $(go version | cut -d' ' -f3,4)"
echo "measure,without,with"
case $1 in
build)
	for of in without with; do
		overlay=
		[ $of = with ] || overlay="-overlay=$work/overlay.json"
		mkdir "$work/cache"
		GOCACHE=$work/cache cpu go build -trimpath -ldflags "-s -w -buildid=" $overlay -o "$work/$of" ./cmd/dyad >"$work/$of.cpu"
		go list -deps $overlay ./cmd/dyad | grep -c '^gorgonia.org/' >"$work/$of.deps" || true
		rm -rf "$work/cache"
	done
	echo "build_cpu_seconds,$(cat "$work/without.cpu"),$(cat "$work/with.cpu")"
	echo "bytes,$(stat -c %s "$work/without"),$(stat -c %s "$work/with")"
	echo "packages_of_gorgonia,$(cat "$work/without.deps"),$(cat "$work/with.deps")"
	;;
start) # 10 blocks of 20 starts of each in turn
	build "-overlay=$work/overlay.json" "$work/without"
	build "" "$work/with"
	i=0
	while [ $i -lt 10 ]; do
		for of in without with; do
			cpu sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "$0" version; done' "$work/$of" | awk '{print $1 * 1000 / 20}' >>"$work/$of.starts"
		done
		i=$((i + 1))
	done
	median() { sort -n "$1" | awk '{v[NR] = $1} END {printf "%.2f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'; }
	echo "start_cpu_ms,$(median "$work/without.starts"),$(median "$work/with.starts")"
	;;
esac
