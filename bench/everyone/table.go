package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyad/internal/experiment"
)

// method is a method of the plan, as the page names it.
type method struct {
	algorithm, options string
	name, guarantee    string
	kind               kind
}

// kind is the group of methods with which an AUC may be compared.
type kind int

const (
	ranked kind = iota // private, for replacing one record
	own                // private by a package's own claim, for adding or removing one record
	open               // not private
)

// methods are the methods of the plan; the first is the reference.
var methods = []method{
	{"auto", "basis=auto", "`auto`, as `dyad train` has it", "replace one; exact", ranked},
	{"auto", "", "`auto`, `basis: none`", "replace one; exact", ranked},
	{"dp-ebm", "claim=replace settings=tuned", "DP-EBM, tuned", "replace one, of its noise", ranked},
	{"dp-ebm", "claim=replace settings=default", "DP-EBM, its defaults", "replace one, of its noise", ranked},
	{"adassp", "", "AdaSSP", "replace one", ranked},
	{"class-means-noisy", "", "class means", "replace one", ranked},
	{"opacus-dpsgd", "", "Opacus, DP-SGD", "replace one, as two hops of its add or remove one", ranked},
	{"jax-privacy", "", "JAX-Privacy", "replace one", ranked},
	{"mst-lightgbm", "", "MST, then LightGBM", "replace one, of its noise", ranked},
	{"dp-ebm", "claim=own settings=tuned", "DP-EBM, tuned, at its own claim",
		"its claim: add or remove one; it uses n", own},
	{"logistic-regression", "", "logistic regression", "not private", open},
	{"lightgbm", "", "LightGBM", "not private", open},
}

// limit is how far behind the first auto may be: the goal.
const limit = 0.002

// cell is a data set with a number of records and a budget.
type cell struct {
	data    string
	n       int
	epsilon float64
}

// entry is a method in a cell.
type entry struct {
	experiment.Summary
	rank int // by the paired difference to the reference among ranked methods; 0 for others
}

// everyone is the table.
type everyone struct {
	cells   []cell
	entries map[cell]map[int]entry // by the place in methods
}

// read makes the table of a raw file.
func read(p *experiment.Plan, raw string) (*everyone, error) {
	rows, err := p.Rows(raw)
	if err != nil {
		return nil, err
	}
	t := &everyone{entries: map[cell]map[int]entry{}}
	for _, s := range p.Summarise(rows) { // methods that are not private are there at each epsilon
		k := slices.IndexFunc(methods, func(m method) bool { return m.algorithm == s.Algorithm && m.options == s.Options })
		if k < 0 {
			return nil, fmt.Errorf("%s has %s %s, which the page does not name", raw, s.Algorithm, s.Options)
		}
		if s.Splits == 0 || k > 0 && s.Paired == 0 {
			continue
		}
		c := cell{s.Data, s.N, s.Epsilon}
		if t.entries[c] == nil {
			t.cells, t.entries[c] = append(t.cells, c), map[int]entry{}
		}
		t.entries[c][k] = entry{Summary: s}
	}
	slices.SortStableFunc(t.cells, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.data, b.data), a.n-b.n, cmp.Compare(a.epsilon, b.epsilon))
	})
	for _, c := range t.cells {
		for k, e := range t.entries[c] {
			if methods[k].kind != ranked {
				continue
			}
			e.rank = 1
			for j, other := range t.entries[c] {
				if methods[j].kind == ranked && other.Difference > e.Difference {
					e.rank++
				}
			}
			t.entries[c][k] = e
		}
	}
	return t, nil
}

// lead is the largest lead over the reference of the methods of a kind in a cell, and whose it is; k is 0 if none is ahead.
func (t *everyone) lead(c cell, of kind) (k int, lead entry) {
	for j := range methods {
		if e, ok := t.entries[c][j]; ok && methods[j].kind == of && e.Difference > lead.Difference {
			k, lead = j, e
		}
	}
	return k, lead
}

// summary is everyone-summary.csv.
func (t *everyone) summary() string {
	var b strings.Builder
	b.WriteString("data,n,epsilon,delta,method,guarantee,splits,failed,auc,standard_error,minus_auto,minus_auto_standard_error,rank\n")
	for _, c := range t.cells {
		for k, m := range methods {
			e, ok := t.entries[c][k]
			if !ok {
				continue
			}
			rank := ""
			if e.rank > 0 {
				rank = fmt.Sprint(e.rank)
			}
			fmt.Fprintf(&b, "%s,%d,%g,%g,%q,%q,%d,%d,%.4f,%.4f,%.4f,%.4f,%s\n", c.data, c.n, c.epsilon, e.Delta,
				strings.ReplaceAll(m.name, "`", ""), m.guarantee, e.Splits, e.Failed, e.Mean, e.SE, e.Difference,
				e.DifferenceSE, rank)
		}
	}
	return b.String()
}

// row is the beginning of the row of the README.
const row = "| `auto` next to "

// The marks of the part of a page that is written here.
const from, to = "<!-- everyone: written by go -C bench run ./everyone -pages -->\n", "<!-- everyone: end -->\n"

// write replaces the parts of the pages between the marks.
func (t *everyone) write(folder string) error {
	for name, part := range t.parts() {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page, err := within(string(text), part)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// within is a page with another part: one row that begins as the page's does, or what is between the marks.
func within(page, part string) (string, error) {
	if strings.HasPrefix(part, row) {
		before, rest, ok := strings.Cut(page, "\n"+row)
		_, after, ends := strings.Cut(rest, "\n")
		if !ok || !ends {
			return "", fmt.Errorf("no row begins with %q", row)
		}
		return before + "\n" + part + after, nil
	}
	before, rest, ok := strings.Cut(page, from)
	_, after, ends := strings.Cut(rest, to)
	if !ok || !ends {
		return "", fmt.Errorf("the marks %q and %q are not there", from, to)
	}
	return before + from + part + to + after, nil
}

// parts are what the pages quote.
func (t *everyone) parts() map[string]string {
	return map[string]string{"docs/comparison.md": t.comparison(), "README.md": t.row()}
}

// row is the row of the README.
func (t *everyone) row() string {
	within, first := 0, 0
	for _, c := range t.cells {
		if k, e := t.lead(c, ranked); k == 0 {
			first, within = first+1, within+1
		} else if e.Difference <= limit {
			within++
		}
	}
	least, most := math.MaxInt, 0
	for _, c := range t.cells {
		least, most = min(least, c.n), max(most, c.n)
	}
	return fmt.Sprintf("%s%d private methods of others, one guarantee for all, n from %d to %d, epsilon from 0.5 to 4 | "+
		"of %d cells, first in %d and within %g of AUC of the first in %d: [the table](docs/comparison.md#everyone) | "+
		"[everyone.csv](bench/results/everyone.csv) (`sh bench/everyone/run.sh`) |\n",
		row, t.others(), least, most, len(t.cells), first, limit, within)
}

// others counts the private methods of other people, each at all its settings.
func (t *everyone) others() int {
	all := map[string]bool{}
	for _, c := range t.cells {
		for k, e := range t.entries[c] {
			if methods[k].kind == ranked && e.Algorithm != methods[0].algorithm {
				all[e.Algorithm] = true
			}
		}
	}
	return len(all)
}

func (t *everyone) comparison() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| method | guarantee | cells | splits | first | mean rank | mean AUC minus `auto` | cells more than "+
		"%g ahead of `auto` | largest lead |\n|---|---|---|---|---|---|---|---|---|\n", limit)
	for k, m := range methods {
		cells, first, ahead, ranks, sum, splits, lead := 0, 0, 0, 0, 0.0, []int{math.MaxInt, 0}, math.Inf(-1)
		for _, c := range t.cells {
			e, ok := t.entries[c][k]
			if !ok {
				continue
			}
			cells++
			splits[0], splits[1] = min(splits[0], e.Splits), max(splits[1], e.Splits)
			sum, ranks, lead = sum+e.Difference, ranks+e.rank, max(lead, e.Difference)
			if e.rank == 1 {
				first++
			}
			if e.Difference > limit {
				ahead++
			}
		}
		if cells == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | ", m.name, m.guarantee, cells, span(splits))
		if m.kind == ranked {
			fmt.Fprintf(&b, "%d | %.1f | ", first, float64(ranks)/float64(cells))
		} else {
			b.WriteString("– | – | ")
		}
		if k == 0 {
			b.WriteString("– | – | – |\n")
		} else {
			fmt.Fprintf(&b, "%+.4f | %d | %+.4f |\n", sum/float64(cells), ahead, lead)
		}
	}
	b.WriteString("\nAUC, and in brackets the rank among private methods with the guarantee, at epsilon 1:\n\n| data, n |")
	var shown []int
	for k, m := range methods {
		if slices.ContainsFunc(t.cells, func(c cell) bool { _, ok := t.entries[c][k]; return ok }) {
			shown = append(shown, k)
			fmt.Fprintf(&b, " %s |", m.name)
		}
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(shown)) + "\n")
	for _, c := range t.cells {
		if c.epsilon != 1 {
			continue
		}
		fmt.Fprintf(&b, "| %s, %d |", c.data, c.n)
		for _, k := range shown {
			e, ok := t.entries[c][k]
			switch {
			case !ok:
				b.WriteString(" – |")
			case e.rank > 0:
				fmt.Fprintf(&b, " %s (%d) |", spread(3, e.Mean, e.SE, e.Splits), e.rank)
			default:
				fmt.Fprintf(&b, " %s |", spread(3, e.Mean, e.SE, e.Splits))
			}
		}
		b.WriteString("\n")
	}
	var ahead strings.Builder
	for _, c := range t.cells {
		if k, e := t.lead(c, ranked); k > 0 && e.Difference > limit {
			fmt.Fprintf(&ahead, "| %s | %d | %g | %.4f | %s | %s | %d |\n", c.data, c.n, c.epsilon, t.entries[c][0].Mean,
				methods[k].name, spread(4, e.Difference, e.DifferenceSE, e.Paired), e.Paired)
		}
	}
	if ahead.Len() == 0 {
		fmt.Fprintf(&b, "\nNo private method with the guarantee is more than %g ahead of `auto` in any cell.\n", limit)
		return b.String()
	}
	fmt.Fprintf(&b, "\nEvery cell in which a private method with the guarantee is more than %g ahead of `auto`; "+
		"differences are paired by split, with their standard errors:\n\n| data | n | epsilon | `auto` | first | ahead by | "+
		"splits |\n|---|---|---|---|---|---|---|\n%s", limit, &ahead)
	return b.String()
}

// spread is a mean with its standard error, if there is more than one split.
func spread(digits int, mean, se float64, splits int) string {
	if splits < 2 {
		return fmt.Sprintf("%.*f", digits, mean)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, mean, digits, se)
}

// span is a range of counts.
func span(v []int) string {
	if v[0] == v[1] {
		return fmt.Sprint(v[0])
	}
	return fmt.Sprintf("%d to %d", v[0], v[1])
}
