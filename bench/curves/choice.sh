#!/usr/bin/env bash
# What `choose_interactions: 1` gives: the AUC on 30 % of the records that are held out, next to the same run without the key (additive), and
# to an oracle, which is told for free what the choice would be without noise (at epsilon 1000) and names that pair in `interactions`.
#
#	bench/curves/choice.sh FOLDER FROM TO DATA... >>bench/results/choice.csv
#
# FOLDER has DATA.csv, such as bank.csv (bank-full.csv of UCI) and adult.csv (adult.data). FROM to TO are the seeds of splits. The data are
# public; dyad is on the path.
set -euo pipefail
schemas=$(cd "$(dirname "$0")/../schemas" && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
run() { # KEY DATA EPSILON SPLIT, and the kind of the row; nothing is written for the kind ""
	{ [ -z "$1" ] || echo "$1"; cat "$schemas/$2.yaml"; } >"$work/s.yaml"
	dyad train --data "$folder/$2.csv" --schema "$work/s.yaml" --epsilon "$3" --delta 1e-5 --holdout 0.3 --split-seed "$4" --public-data --out "$work/m.json" --force --yes --json >"$work/o.json" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
	python3 - "$work" "$2" "$3" "$4" "$5" <<-'END'
		import json, sys
		work, data, epsilon, split, kind = sys.argv[1:]
		o, m = json.load(open(work + "/o.json")), json.load(open(work + "/m.json"))
		pairs = m["encoder"].get("interactions") or []
		if kind:
		    print(data, o["training_records"], epsilon, split, kind, "+".join("*".join(p) for p in pairs), "%.6f" % o["held_out"]["auc"], sep=",", flush=True)
		json.dump(pairs, open(work + "/pairs.json", "w"))
	END
}
folder=$1 from=$2 to=$3
shift 3
for split in $(seq "$from" "$to"); do
	for data in "$@"; do
		run "choose_interactions: 1" "$data" 1000 "$split" ""
		pair=$(cat "$work/pairs.json")
		for epsilon in 1 2 4; do
			run "" "$data" $epsilon "$split" additive
			run "choose_interactions: 1" "$data" $epsilon "$split" chosen
			run "interactions: $pair" "$data" $epsilon "$split" oracle
		done
	done
done
