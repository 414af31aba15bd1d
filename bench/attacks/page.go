package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// closestHead are the columns of the file of closest ratios: a line for each mechanism and run of this program, to which runs append.
const closestHead = "commit,seed,area,mechanism,configurations,neighbours,closest_ratio,refuted"

// closestOf are the lines of a run.
func closestOf(commit string, seed uint64, results []result) (lines [][]string) {
	type sum struct {
		configurations, neighbours, refuted int
		ratio                               float64
	}
	sums := map[[2]string]*sum{}
	var order [][2]string
	for _, r := range results {
		if !r.done || r.refused != "" {
			continue
		}
		key := [2]string{r.area, r.algorithm}
		s := sums[key]
		if s == nil {
			s = &sum{}
			sums[key], order = s, append(order, key)
		}
		s.configurations, s.neighbours, s.ratio = s.configurations+1, s.neighbours+r.neighbours, max(s.ratio, r.ratio)
		if r.refutes() {
			s.refuted++
		}
	}
	slices.SortFunc(order, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, key := range order {
		s := sums[key]
		lines = append(lines, []string{commit, strconv.FormatUint(seed, 10), key[0], key[1], strconv.Itoa(s.configurations),
			strconv.Itoa(s.neighbours), strconv.FormatFloat(s.ratio, 'f', 6, 64), strconv.Itoa(s.refuted)})
	}
	return lines
}

// page is the Markdown of the closest ratios: the last run with the one before it, by mechanism.
func page(closest io.Reader) (string, error) {
	rows, err := csv.NewReader(closest).ReadAll()
	if err != nil || len(rows) < 2 || strings.Join(rows[0], ",") != closestHead {
		return "", fmt.Errorf("that is not a file of closest ratios: %v", err)
	}
	rows = rows[1:]
	last := rows[len(rows)-1]
	same := func(row, of []string) bool { return row[0] == of[0] && row[1] == of[1] }
	before := map[string]string{}
	var now [][]string
	for _, row := range rows {
		if same(row, last) {
			now = append(now, row)
		} else {
			before[row[2]+","+row[3]] = fmt.Sprintf("%s (`%s`)", row[6], row[0])
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Attacks, by mechanism

Made by `+"`go -C bench run ./attacks -closest results/attacks-closest.csv -page ../docs/attacks.md`"+` from [attacks-closest.csv](../bench/results/attacks-closest.csv), which has a
line for each mechanism and night, with a new seed each night. A ratio is how far the rows of a plan moved between two neighbours over what
their certificates allow, the closest of all that were tried. Above 1 a guarantee is false. At most 1 proves nothing; near 1 the certificate is tight.
[Theory](theory.md#attacks) describes targets and methods; the audits of the same kinds of run, with their power, are in
[audits-kinds.csv](../bench/results/audits-kinds.csv).

Commit `+"`%s`"+`, seed %s.

| area | mechanism | configurations | neighbours | closest ratio | refuted | before |
|---|---|---|---|---|---|---|
`, last[0], last[1])
	for _, row := range now {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", row[2], row[3], row[4], row[5], row[6], row[7],
			before[row[2]+","+row[3]])
	}
	return b.String(), nil
}
