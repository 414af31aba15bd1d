package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyad/bench"
)

// write writes the results as CSV, in the order of the jobs.
func write(w io.Writer, args []string, results []result) error {
	bench.Header(w, "attacks", args)
	fmt.Fprintln(w, "# closest ratio moved/certified of each configuration; above 1 a guarantee is refuted")
	t := csv.NewWriter(w)
	rows := [][]string{{"area", "algorithm", "loss", "options", "n", "d", "neighbours", "closest_ratio",
		"verdict", "seed"}}
	for _, r := range results {
		if r.refused != "" {
			continue
		}
		ratio := strconv.FormatFloat(r.ratio, 'g', 12, 64)
		rows = append(rows, []string{r.area, r.algorithm, r.loss, strings.Join(strings.Fields(r.options), " "),
			strconv.Itoa(r.n), strconv.Itoa(r.d), strconv.Itoa(r.neighbours), ratio, r.verdict(),
			strconv.FormatUint(r.seed, 10)})
	}
	lines, _ := tallies(results)
	slices.SortFunc(lines, func(a, b tally) int { return cmp.Compare(a.name(), b.name()) })
	for _, l := range lines {
		if l.refused > 0 {
			fmt.Fprintf(w, "# %s: %d configurations that the library does not plan are left out\n", l.name(), l.refused)
		}
	}
	return t.WriteAll(rows)
}

// verdict is a word, and for what is not right what it is.
func (r result) verdict() string {
	switch {
	case r.violation != "":
		return "REFUTED: " + r.violation
	case r.refutes():
		return "REFUTED"
	}
	return "holds"
}

// tally is what was tried of a mechanism.
type tally struct {
	area, algorithm                              string
	configurations, refused, refuted, neighbours int
	closest                                      float64
}

func (l tally) name() string { return l.area + ", " + l.algorithm }

func (l *tally) add(r result) {
	switch {
	case r.refused != "":
		l.refused++
		return
	case r.refutes():
		l.refuted++
	}
	l.configurations++
	l.neighbours += r.neighbours
	l.closest = max(l.closest, r.ratio)
}

// tallies counts the results of each mechanism, in the order of the results, and of all mechanisms together.
func tallies(results []result) (lines []tally, all tally) {
	for _, r := range results {
		at := slices.IndexFunc(lines, func(l tally) bool { return l.area == r.area && l.algorithm == r.algorithm })
		if at < 0 {
			at = len(lines)
			lines = append(lines, tally{area: r.area, algorithm: r.algorithm})
		}
		lines[at].add(r)
		all.add(r)
	}
	return lines, all
}

// summarise prints the closest ratio by algorithm and returns the number of results that
// refute a guarantee.
func summarise(w io.Writer, results []result, jobs int) int {
	lines, all := tallies(results)
	fmt.Fprintf(w, "%-34s %14s %8s %11s %16s %8s\n", "area, algorithm", "configurations", "refused", "neighbours",
		"closest ratio", "refuted")
	for _, l := range lines {
		fmt.Fprintf(w, "%-34s %14d %8d %11d %16.12f %8d\n", l.name(), l.configurations, l.refused,
			l.neighbours, l.closest, l.refuted)
	}
	fmt.Fprintf(w, "%d of %d configurations, %d neighbours, %d refused, closest ratio %.12f, %d refuted\n",
		all.configurations+all.refused, jobs, all.neighbours, all.refused, all.closest, all.refuted)
	worst := slices.Clone(results)
	worst = slices.DeleteFunc(worst, func(r result) bool { return !r.refutes() })
	slices.SortStableFunc(worst, func(a, b result) int { return cmp.Compare(b.ratio, a.ratio) })
	for _, r := range worst[:min(len(worst), 12)] {
		fmt.Fprintf(w, "%s: %s, %s, loss %s, %s, n = %d, d = %d: ratio %.6g\n", r.verdict(), r.area, r.algorithm, r.loss,
			r.options, r.n, r.d, r.ratio)
	}
	return all.refuted
}

// progress tells how far a run is.
type progress struct {
	w           io.Writer
	total, done int
	neighbours  int
	closest     float64
	start, last time.Time
}

// report counts a result and prints a line every two seconds.
func (p *progress) report(r result) {
	p.done++
	p.neighbours += r.neighbours
	p.closest = max(p.closest, r.ratio)
	if time.Since(p.last) < 2*time.Second {
		return
	}
	p.last = time.Now()
	spent := time.Since(p.start)
	left := time.Duration(float64(spent) / float64(p.done) * float64(p.total-p.done))
	fmt.Fprintf(p.w, "\r%d of %d configurations, %d neighbours, closest ratio %.9f, %s left  ", p.done, p.total,
		p.neighbours, p.closest, left.Round(time.Second))
}

func (p *progress) end() {
	fmt.Fprintf(p.w, "\r%d of %d configurations in %s%60s\n", p.done, p.total, time.Since(p.start).Round(time.Second), "")
}
