package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// closestHead are the columns of the file of closest ratios: a line for each mechanism and run of this program, to which runs append.
const closestHead = "commit,seed,area,mechanism,configurations,neighbours,closest_ratio,refuted"

// closestOf are the lines of a run.
func closestOf(commit string, seed uint64, results []result) (lines [][]string) {
	all, _ := tallies(results)
	slices.SortFunc(all, func(a, b tally) int {
		return cmp.Or(cmp.Compare(a.area, b.area), cmp.Compare(a.algorithm, b.algorithm))
	})
	for _, s := range all {
		if s.configurations > 0 {
			lines = append(lines, []string{commit, strconv.FormatUint(seed, 10), s.area, s.algorithm,
				strconv.Itoa(s.configurations), strconv.Itoa(s.neighbours), strconv.FormatFloat(s.closest, 'f', 6, 64),
				strconv.Itoa(s.refuted)})
		}
	}
	return lines
}

// appendClosest adds the lines of a run to a file, which it makes if it is not there.
func appendClosest(name string, lines [][]string) (err error) {
	_, missing := os.Stat(name)
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	if missing != nil {
		lines = append([][]string{strings.Split(closestHead, ",")}, lines...)
	}
	return csv.NewWriter(f).WriteAll(lines)
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
