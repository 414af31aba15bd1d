package experiment

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
)

// Summary summarises a method over the splits of a cell.
type Summary struct {
	Data    string  `csv:"data"`
	N       int     `csv:"n"`
	D       int     `csv:"d"`
	Epsilon float64 `csv:"epsilon"`
	Delta   float64 `csv:"delta"`
	// Algorithm and Options have the values of the columns "algorithm" and "options" in the rows of the method.
	Algorithm string `csv:"algorithm"`
	Options   string `csv:"options"`
	// Splits is the number of splits with a value. Failed is the number of runs without a value.
	Splits int `csv:"splits"`
	Failed int `csv:"failed"`
	// Mean is the mean over splits. The value of a split is the mean over its draws of noise. SE is the
	// standard error of Mean, and 0 for one split.
	Mean float64 `csv:"mean %.4f"`
	SE   float64 `csv:"standard_error %.4f"`
	// Paired is the number of splits for which the reference has a value, too. Difference is the mean of the
	// value minus the value of the reference on the same split. DifferenceSE is the standard error of
	// Difference.
	Paired       int
	Difference   float64 `csv:"difference %.4f"`
	DifferenceSE float64 `csv:"difference_standard_error %.4f"`
	// Seconds and Passes are means over runs.
	Seconds float64 `csv:"seconds %.3g"`
	Passes  float64 `csv:"passes %.3g"`
}

// Label names the method.
func (s Summary) Label() string { return label(s.Algorithm, s.Options) }

// Behind reports whether the mean of the reference is lower than the mean of this method by more
// than two paired standard errors.
func (s Summary) Behind() bool { return s.Paired > 1 && s.Difference > 2*s.DifferenceSE }

// Summarise returns a line for each method and cell, in the order of rows. Methods that are not private are
// compared with the reference at every epsilon.
func (p *Plan) Summarise(rows []Row) []Summary {
	type cell struct {
		data           string
		n              int
		epsilon, delta float64
		label          string
	}
	type sums struct {
		Summary
		bySplit map[int][]float64
	}
	var order []cell
	cells := map[cell]*sums{}
	for _, r := range rows {
		c := cell{r.Data, r.N, r.Epsilon, r.Delta, r.Label()}
		s := cells[c]
		if s == nil {
			s = &sums{Summary: Summary{Data: r.Data, N: r.N, D: r.D, Epsilon: r.Epsilon, Delta: r.Delta, Algorithm: r.Algorithm,
				Options: r.Options}, bySplit: map[int][]float64{}}
			cells[c], order = s, append(order, c)
		}
		if !r.ok() {
			s.Failed++
			continue
		}
		s.bySplit[r.Split] = append(s.bySplit[r.Split], r.Value)
		s.Seconds += r.Seconds
		s.Passes += r.Passes
	}
	reference := p.reference()
	var out []Summary
	for _, c := range order {
		s := cells[c]
		var values []float64
		runs := 0
		for _, v := range s.bySplit {
			runs += len(v)
		}
		s.Seconds, s.Passes = s.Seconds/float64(max(1, runs)), s.Passes/float64(max(1, runs))
		splits := slices.Sorted(maps.Keys(s.bySplit))
		for _, k := range splits {
			values = append(values, mean(s.bySplit[k]))
		}
		s.Splits = len(values)
		s.Mean, s.SE = MeanAndError(values)
		at := []cell{c}
		if math.IsInf(c.epsilon, 1) && reference != nil && !reference.nonPrivate {
			at = nil
			for _, e := range p.Epsilon {
				at = append(at, cell{c.data, c.n, e, p.delta(c.n), ""})
			}
		}
		for _, to := range at {
			one := s.Summary
			one.Epsilon, one.Delta = to.epsilon, to.delta
			if reference != nil {
				to.label = reference.label()
				if other := cells[to]; other != nil && to != c {
					var differences []float64
					for _, k := range splits {
						if v := other.bySplit[k]; len(v) > 0 {
							differences = append(differences, mean(s.bySplit[k])-mean(v))
						}
					}
					one.Paired = len(differences)
					one.Difference, one.DifferenceSE = MeanAndError(differences)
				}
			}
			out = append(out, one)
		}
	}
	return out
}

// Best keeps, for each algorithm that is not private, the setting with the highest mean on each data set and n.
// Because the setting is chosen by its results, the non-private results are an upper limit, and private models
// do not look better in comparison than they are.
func (p *Plan) Best(summary []Summary) []Summary {
	type cell struct {
		data, algorithm string
		n               int
		epsilon         float64
	}
	best := map[cell]Summary{}
	at := func(s Summary) (cell, bool) {
		i := slices.IndexFunc(p.all, func(m method) bool { return m.label() == s.Label() })
		return cell{s.Data, s.Algorithm, s.N, s.Epsilon}, i >= 0 && p.all[i].nonPrivate && p.all[i].choose != nil
	}
	for _, s := range summary {
		if c, ok := at(s); ok {
			if b, there := best[c]; !there || s.Splits > 0 && (b.Splits == 0 || s.Mean > b.Mean) {
				best[c] = s
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(summary), func(s Summary) bool {
		c, ok := at(s)
		return ok && best[c].Label() != s.Label()
	})
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// MeanAndError returns the mean of values and its standard error, which is 0 for fewer than two values.
func MeanAndError(v []float64) (m, se float64) {
	if len(v) == 0 {
		return 0, 0
	}
	m = mean(v)
	for _, x := range v {
		se += (x - m) * (x - m)
	}
	if len(v) > 1 {
		se = math.Sqrt(se / float64(len(v)-1) / float64(len(v)))
	}
	return m, se
}

// WriteSummary writes the summary as CSV.
func (p *Plan) WriteSummary(path string, summary []Summary) error {
	names, _ := csvOf(Summary{})
	text := csvLine(names)
	for _, s := range summary {
		_, f := csvOf(s)
		if s.Splits == 0 {
			clear(f[9:])
		}
		if s.Paired == 0 {
			clear(f[11:13])
		}
		text += csvLine(f)
	}
	return replace(path, []byte(text))
}

// Compare writes a comparison of each private method with the reference. The comparison has the mean difference
// over all cells, and the cells in which one of the two means is higher by more than two paired standard
// errors.
func (p *Plan) Compare(w io.Writer, summary []Summary) {
	reference := p.reference()
	if reference == nil {
		return
	}
	type against struct {
		cells, ahead, behind int
		sum                  float64
		lost                 []Summary
	}
	all := map[string]*against{}
	var order []string
	for _, s := range summary {
		if s.Paired < 2 || p.NonPrivate(s.Label()) {
			continue
		}
		a := all[s.Label()]
		if a == nil {
			a = &against{}
			all[s.Label()], order = a, append(order, s.Label())
		}
		a.cells++
		a.sum += s.Difference
		if s.Behind() {
			a.ahead++
			a.lost = append(a.lost, s)
		} else if -s.Difference > 2*s.DifferenceSE {
			a.behind++
		}
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintf(w, "against %s, by cell; ahead and behind: by more than two paired standard errors\n\n", reference.label())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "method\tcells\tmean difference\tahead\tbehind")
	cells, ahead := 0, 0
	for _, name := range order {
		a := all[name]
		cells, ahead = cells+a.cells, ahead+a.ahead
		fmt.Fprintf(t, "%s\t%d\t%+.4f\t%d\t%d\n", name, a.cells, a.sum/float64(a.cells), a.ahead, a.behind)
	}
	t.Flush()
	fmt.Fprintf(w, "\nahead in %d of %d comparisons, %.1f %%\n", ahead, cells, 100*float64(ahead)/float64(cells))
	for _, name := range order {
		for _, s := range all[name].lost {
			fmt.Fprintf(w, "%s is ahead on %s n %d epsilon %g: %+.4f, standard error %.4f\n", name, s.Data, s.N, s.Epsilon,
				s.Difference, s.DifferenceSE)
		}
	}
}

// NonPrivate reports whether the method with the given label is not private.
func (p *Plan) NonPrivate(label string) bool {
	return slices.ContainsFunc(p.all, func(m method) bool { return m.nonPrivate && m.label() == label })
}
