package reproduce

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dyad/internal/experiment"
)

// results holds the results of a part.
type results struct {
	Part
	rows    []experiment.Row
	summary []experiment.Summary
	gives   []experiment.Given
}

// read reads the results of a part; they are empty if it was not run.
func (p Part) read(out string) (results, error) {
	r := results{Part: p}
	path := filepath.Join(out, p.Name+".csv")
	if _, err := os.Stat(path); err != nil || p.Paper.Outside() {
		return r, nil
	}
	var err error
	if r.rows, err = p.Rows(path); err != nil {
		return r, err
	}
	r.summary = p.Summarise(r.rows)
	gives := strings.TrimSuffix(path, ".csv") + "-gives.csv"
	if _, missing := os.Stat(gives); missing == nil {
		r.gives, err = experiment.ReadGives(gives)
	}
	return r, err
}

// point is a cell of a plan.
type point struct {
	data    string
	n       int
	epsilon float64
}

// kind is the relation of a method to the paper.
type kind int

const (
	ours      kind = iota // the program's choice
	literal               // the paper's formulas
	changed               // literal with a schedule that takes steps (--paper-unsound)
	certified             // the same algorithm with proved noise
	baseline              // not private
)

func (r results) kindOf(s experiment.Summary) kind {
	switch {
	case s.Algorithm == r.ours():
		return ours
	case strings.Contains(s.Options, "paper_unsound=true"):
		return changed
	case strings.Contains(s.Options, "mode=paper"):
		return literal
	case r.NonPrivate(s.Label()):
		return baseline
	}
	return certified
}

// ours returns the method that represents the program.
func (r results) ours() string {
	return cmp.Or(r.Paper.Ours, "auto")
}

// at returns the means at a point of the methods of a kind. If algorithm is not "", only this algorithm is used.
func (r results) at(p point, k kind, algorithm string) []experiment.Summary {
	var out []experiment.Summary
	for _, s := range r.summary {
		if s.Data == p.data && s.N == p.n && (s.Epsilon == p.epsilon || math.IsInf(s.Epsilon, 1)) && r.kindOf(s) == k &&
			(algorithm == "" || s.Algorithm == algorithm) {
			out = append(out, s)
		}
	}
	return out
}

// comparison is a line of a table. It compares the paper's number for an algorithm at a point with the results here.
type comparison struct {
	point
	algorithm string
	paper     float64 // NaN if it is only in a figure
	note      string
	literal   *experiment.Summary
	changed   *experiment.Summary
	certified *experiment.Summary
	ours      *experiment.Summary
	baselines []experiment.Summary
	// proved is the epsilon that the literal noise proves, or the reason why it proves none. changedProved is
	// the epsilon for the changed schedule.
	proved, changedProved string
}

// compare lists the comparisons of a part. There is one for every row of the paper and every number of its
// axis. If the paper has only a figure, there is one for every algorithm at every point.
func (r results) compare() []comparison {
	var out []comparison
	add := func(p point, algorithm string, paper float64, note string) {
		c := comparison{point: p, algorithm: algorithm, paper: paper, note: note}
		first := func(k kind, a string) *experiment.Summary {
			if all := r.at(p, k, a); len(all) > 0 {
				return &all[0]
			}
			return nil
		}
		c.literal, c.changed, c.certified, c.ours = first(literal, algorithm), first(changed, algorithm),
			first(certified, algorithm), first(ours, "")
		c.baselines = r.at(p, baseline, "")
		c.proved, c.changedProved = r.provedBy(p, c.literal), r.provedBy(p, c.changed)
		out = append(out, c)
	}
	if len(r.Paper.Rows) > 0 {
		for _, row := range r.Paper.Rows {
			for k, p := range r.axisOf(row.Data) {
				if k < len(row.Values) {
					add(p, row.Algorithm, row.Values[k], row.Note)
				}
			}
		}
		return out
	}
	for _, d := range r.Plan.Data {
		for _, n := range d.N {
			for _, e := range r.Plan.Epsilon {
				for _, a := range r.PrivateAlgorithms() {
					if a != r.ours() {
						add(point{d.Name, n, e}, a, math.NaN(), "")
					}
				}
			}
		}
	}
	return out
}

// axisOf returns the points of the axis of a data set.
func (r results) axisOf(data string) (out []point) {
	for _, d := range r.Plan.Data {
		if d.Name != data {
			continue
		}
		for i, n := range d.N {
			for k, e := range r.Plan.Epsilon {
				if r.Paper.Axis == "n" && k == 0 || r.Paper.Axis != "n" && i == 0 {
					out = append(out, point{data, n, e})
				}
			}
		}
	}
	return out
}

// provedBy describes the guarantee of the literal algorithm's noise.
func (r results) provedBy(p point, s *experiment.Summary) string {
	if s == nil {
		return ""
	}
	i := slices.IndexFunc(r.gives, func(g experiment.Given) bool {
		return point{g.Data, g.N, g.Epsilon} == p && g.Algorithm == s.Algorithm && g.Options == s.Options
	})
	switch {
	case i < 0:
		return ""
	case r.gives[i].Refused != "":
		return refusal(r.gives[i].Refused)
	}
	return strconv.FormatFloat(r.gives[i].Gives, 'g', 3, 64)
}

// refusal returns the reason of a refusal in a few words.
func refusal(why string) string {
	switch {
	case strings.Contains(why, "never takes a step"):
		return "never takes a step"
	case strings.Contains(why, "needs eta"):
		return "its step is too long"
	}
	return "refused"
}

// ceiling returns the best model without privacy. It applies to measures where higher is better.
func (c comparison) ceiling() (best experiment.Summary, ok bool) {
	for _, b := range c.baselines {
		if b.Splits > 0 && (!ok || b.Mean > best.Mean) {
			best, ok = b, true
		}
	}
	return best, ok
}

// outcome compares our result with the paper's number and explains a lost cell. won is false if the paper has
// no number.
func (c comparison) outcome(lower bool) (text string, won, compared bool) {
	if math.IsNaN(c.paper) || c.ours == nil || c.ours.Splits == 0 {
		return "", false, false
	}
	gap := c.ours.Mean - c.paper
	if lower {
		gap = -gap
	}
	if gap > 0 {
		return fmt.Sprintf("ahead by %s", number(gap)), true, true
	}
	text = fmt.Sprintf("behind by %s", number(-gap))
	if best, ok := c.ceiling(); ok && !lower {
		if c.paper > best.Mean {
			text += fmt.Sprintf("; without privacy the best model (%s) reaches only %s", short(best.Algorithm),
				number(best.Mean))
		} else {
			text += fmt.Sprintf("; without privacy %s reaches %s", short(best.Algorithm), number(best.Mean))
		}
	}
	switch {
	case c.literal != nil && c.literal.Splits > 0:
		text += fmt.Sprintf("; with the printed noise the algorithm gives %s", number(c.literal.Mean))
	case c.literal != nil && c.proved != "":
		text += "; as printed it " + map[string]string{"never takes a step": "never takes a step",
			"its step is too long": "has a step that is too long"}[c.proved]
	}
	return text, false, true
}

// number returns a number, or – for one that is not known.
func number(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	if v != 0 && math.Abs(v) < 1e-3 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// mean returns a mean with its standard error, or why if there is no mean.
func mean(s *experiment.Summary, why string) string {
	switch {
	case s == nil:
		return "–"
	case s.Splits == 0 && why != "":
		return why
	case s.Splits == 0:
		return "no value"
	case s.Splits == 1 || s.SE < 1e-12:
		return number(s.Mean)
	}
	return number(s.Mean) + " ± " + number(s.SE)
}

// short is a name for a heading.
func short(algorithm string) string {
	return cmp.Or(map[string]string{
		"projected-gradient": "non-private optimum", "offgiga": "GIGA without noise", "ongiga": "online GIGA without noise",
		"class-means": "class means", "zero": "no step (the model 0)",
	}[algorithm], algorithm)
}
