#!/usr/bin/env bash
# What `dyad train` gives without a word about a basis, next to `basis: none`: the AUC on 30 % of the records that are held out.
#
#	bench/curves/default.sh FOLDER >bench/results/basis-default.csv
#
# FOLDER has adult.csv (adult.data of UCI) and bank.csv (bank-full.csv). The data are public; dyad is on the path.
set -euo pipefail
schemas=$(cd "$(dirname "$0")/../schemas" && pwd)
cd "$1"
echo data,epsilon,split,basis,auc
for data in adult bank; do
	for epsilon in 0.5 1 2; do
		for split in $(seq 20); do
			for basis in default none; do
				{ [ $basis = default ] || echo "basis: none"; cat "$schemas/$data.yaml"; } >"$data-$basis.yaml"
				dyad train --data $data.csv --schema "$data-$basis.yaml" --epsilon $epsilon --delta 1e-5 --holdout 0.3 --split-seed "$split" --public-data --out model.json --force --yes --json |
					python3 -c 'import json, sys; print(*sys.argv[1:], json.load(sys.stdin)["held_out"]["auc"], sep=",")' $data $epsilon "$split" $basis
			done
		done
	done
done
