package reproduce

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dyad/internal/experiment"
	"dyad/internal/page"
)

//go:embed page.html
var pageText string

// section is an item on a page.
type section struct {
	ID, Title, State string
	Why              []string
	Parts            []partSection
}

type partSection struct {
	Title, Setting, Verdict, Source string
	Counts                          []string
	Scales                          []string // of the encoder
	Tables                          []table
	Figures                         []template.HTML
}

type table = page.Table

type paperPage struct {
	Paper    Paper
	Style    template.CSS
	Others   []Paper
	Glossary []page.Word
	Sections []section
	First    string // the item that the page begins with, "" for the order of the paper
}

// glossary returns explanations of the papers' names for data sets.
func glossary() []page.Word {
	return []page.Word{
		{Name: "Diabetes", Means: "Pima Indians (768 records, 8 features) in Huai 2020 and Xue 2021; a licensed " +
			"MarketScan data set in Han 2019"},
		{Name: "Diabetic Retinopathy", Means: "the Debrecen set of Messidor images (1,151 records, 19 features)"},
		{Name: "Cancer", Means: "Breast Cancer Wisconsin (Diagnostic), WDBC (569 records, 30 features)"},
		{Name: "Hepatitis", Means: "UCI hepatitis (155 records, 19 features)"},
		{Name: "literal", Means: "the paper's formulas and noise (--mode paper). In place of a missing value, the " +
			`table gives the reason, such as "never takes a step"`},
		{Name: "changed schedule", Means: "the literal algorithm with a change (--paper-unsound): OffPair* and " +
			"OnPair* have no burn-in, DPGDC2 has a corrected step. The paper's theorems do not cover the change"},
		{Name: "certified", Means: "the same algorithm with noise that provably gives the requested epsilon"},
		{Name: "proved epsilon", Means: "the epsilon that is proved for the printed noise at the same delta. It is " +
			"0 if delta alone is enough. If it is above the requested epsilon, the claim is not met"},
		{Name: "auto", Means: "the algorithm that the program chooses from public numbers (dyad train without " +
			"--algorithm)"},
	}
}

// writePage writes the page of a paper from results alone. The page has the paper's items, with the paper's numbers and
// the results here. It begins with the item first, unless first is "".
func writePage(w io.Writer, paper Paper, items []Item, first, out, committed string) error {
	p := paperPage{Paper: paper, Style: page.Style(), Glossary: glossary(), First: first}
	for _, other := range Papers() {
		if other.Name != paper.Name {
			p.Others = append(p.Others, other)
		}
	}
	for _, i := range items {
		if i.Paper != paper.Name {
			continue
		}
		s, err := i.section(out, committed)
		if err != nil {
			return err
		}
		p.Sections = append(p.Sections, s)
	}
	slices.SortStableFunc(p.Sections, func(a, b section) int {
		return cmp.Compare(map[bool]int{true: 1}[a.ID != first], map[bool]int{true: 1}[b.ID != first])
	})
	return page.Execute(w, pageText, nil, p)
}

func (i Item) section(out, committed string) (section, error) {
	state, err := i.State(out, committed, nil)
	if err != nil {
		return section{}, err
	}
	s := section{ID: i.Name, Title: state.Title, State: state.State}
	for _, p := range i.Parts {
		s.Why = append(append(s.Why, p.Paper.Missing...), p.Paper.Differs...)
		if p.Paper.Impossible != "" {
			s.Why = append(s.Why, p.Paper.Impossible)
		}
		one, err := p.section(out, committed)
		if err != nil {
			return s, err
		}
		s.Parts = append(s.Parts, one)
	}
	if state.State == MissingData { // the page is the same wherever it is made
		s.State = NotRun
	}
	if state.Done < state.Runs {
		s.Why = append(s.Why, fmt.Sprintf("%d of %d runs are done; all runs take about %s of one core: dyad lab "+
			"reproduce %s %s", state.Done, state.Runs, Duration(state.Seconds), i.Paper, i.Name))
	}
	return s, nil
}

func (p Part) section(out, committed string) (partSection, error) {
	s := partSection{Title: p.Title, Setting: p.Paper.Setting, Verdict: p.Paper.Verdict}
	if p.Paper.Command != "" {
		all, path, err := p.groups(out, committed)
		if err != nil || all == nil {
			return s, err
		}
		s.Source = filepath.Base(path) + ", made by " + p.Paper.Command
		s.Counts = p.sameBudgets(all)
		s.Tables = append(s.Tables, p.tableOf(all))
		var figures []*experiment.Figure
		if p.Paper.Table.Panels {
			figures, err = p.panels(out, committed)
		} else if f := p.figureOf(all); f != nil {
			figures = append(figures, f)
		}
		for _, f := range figures {
			err = errors.Join(err, s.draw(f))
		}
		return s, err
	}
	r, err := p.read(out)
	if err != nil || r.rows == nil {
		return s, err
	}
	most, least := 0, math.MaxInt
	for _, cell := range r.summary {
		if cell.Splits > 0 {
			most, least = max(most, cell.Splits), min(least, cell.Splits)
		}
	}
	splits := strconv.Itoa(most)
	if least < most {
		splits = fmt.Sprintf("%d to %d", least, most)
	}
	if s.Scales, err = p.Scales(); err != nil {
		return s, err
	}
	s.Source = fmt.Sprintf("%s.csv: %d runs, with %s splits per cell; ± is one standard error over splits", p.Name,
		len(r.rows), splits)
	if len(p.Paper.Rates) > 0 {
		slopes := r.slopes()
		s.Tables = append(s.Tables, tableOfSlopes(slopes))
		f := &experiment.Figure{Title: "mean and one standard error", X: p.Paper.Rates[0].Against, Y: p.Plan.Measure,
			LogX: true, LogY: true}
		for _, c := range slopes {
			if f.Ticks == nil {
				f.Ticks = c.X
			}
			if len(c.X) > 1 && slices.Min(c.Mean) > 0 {
				f.Curves = append(f.Curves, experiment.Curve{Name: c.name(), X: c.X, Y: c.Mean, SE: c.SE})
			}
		}
		if len(f.Curves) > 0 {
			if err := s.draw(f); err != nil {
				return s, err
			}
		}
		return s, nil
	}
	all := r.compare()
	s.Counts = append(r.counts(all), r.learned(all)...)
	s.Tables = append(s.Tables, r.table(all))
	for _, f := range r.figures() {
		if err := s.draw(f); err != nil {
			return s, err
		}
	}
	return s, nil
}

// draw adds a figure as SVG without its declaration, for a page.
func (s *partSection) draw(f *experiment.Figure) error {
	svg, err := page.SVG(f, strings.ReplaceAll(f.Title, "\n", "; ")+": "+f.Y+" against "+f.X+
		"; the numbers are in the table", "")
	s.Figures = append(s.Figures, svg)
	return err
}

// lower reports whether a smaller value is better.
func (r results) lower() bool { return r.Plan.Measure != "" }

// table has a line for each comparison.
func (r results) table(all []comparison) table {
	t := table{Caption: r.Title + ": " + r.Plan.Unit(), Head: []string{"data", "n", "epsilon", "algorithm", "paper",
		"literal", "proved epsilon", "changed schedule", "its proved epsilon", "certified"}}
	if r.hasOurs() {
		t.Head = append(t.Head, r.ours())
	}
	var names []string
	for _, c := range all {
		for _, b := range c.baselines {
			if name := short(b.Algorithm); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	t.Head = append(t.Head, names...)
	numbered := slices.ContainsFunc(all, func(c comparison) bool { return !math.IsNaN(c.paper) })
	if numbered {
		t.Head = append(t.Head, r.ours()+" against the paper")
	}
	for _, c := range all {
		paper := printed(c.paper)
		if r.Paper.NotPrinted {
			paper = "not in the paper"
		}
		if c.note != "" {
			paper += " *"
		}
		literalProved := c.proved
		why := ""
		if c.literal != nil && c.literal.Splits == 0 {
			why, literalProved = c.proved, "–"
		}
		row := []string{c.data, strconv.Itoa(c.n), fmt.Sprint(c.epsilon), c.algorithm, paper, mean(c.literal, why),
			cmp.Or(literalProved, "–"), mean(c.changed, ""), cmp.Or(c.changedProved, "–"), mean(c.certified, "")}
		if r.hasOurs() {
			row = append(row, mean(c.ours, ""))
		}
		for _, name := range names {
			text := "–"
			for _, b := range c.baselines {
				if short(b.Algorithm) == name {
					text = mean(&b, "")
				}
			}
			row = append(row, text)
		}
		if t.Add(row...); numbered {
			text, won, compared := c.outcome(r.lower())
			class := ""
			if compared {
				class = map[bool]string{true: "won", false: "lost"}[won]
			}
			last := &t.Rows[len(t.Rows)-1]
			*last = append(*last, page.Cell{Text: text, Class: class})
		}
	}
	var notes []string
	for _, row := range r.Paper.Rows {
		if row.Note != "" && !slices.Contains(notes, row.Note) {
			notes = append(notes, row.Note)
		}
	}
	if notes != nil {
		t.Caption += ". * " + strings.Join(notes, "; ")
	}
	return t
}

// printed returns a number of a paper.
func printed(v float64) string {
	if math.IsNaN(v) {
		return "figure, not readable"
	}
	return number(v)
}

func (r results) hasOurs() bool {
	return slices.ContainsFunc(r.summary, func(s experiment.Summary) bool { return r.kindOf(s) == ours })
}

// figures returns a figure for each data set and value of the other axis.
func (r results) figures() (out []*experiment.Figure) {
	byN := r.Paper.Axis == "n"
	for _, d := range r.Plan.Data {
		others := float64s(d.N)
		if byN {
			others = r.Plan.Epsilon
		}
		for _, other := range others {
			f := &experiment.Figure{X: "epsilon", Y: r.Plan.Unit(), Ticks: r.Plan.Epsilon}
			f.Title = fmt.Sprintf("%s, n = %g", d.Name, other)
			if byN {
				f.X, f.Ticks, f.Title = "n", float64s(d.N), fmt.Sprintf("%s, epsilon %g", d.Name, other)
			}
			if len(f.Ticks) < 2 {
				continue
			}
			f.Title += fmt.Sprintf("\nmean of %d splits; band: one standard error", d.Splits)
			for _, s := range r.summary {
				x := s.Epsilon
				if byN {
					x = float64(s.N)
				}
				if s.Data != d.Name || s.Splits == 0 || byN && s.Epsilon != other || !byN && float64(s.N) != other {
					continue
				}
				name := s.Label()
				if r.kindOf(s) == baseline {
					name = short(s.Algorithm)
				}
				c := f.Curve(name)
				c.X, c.Y, c.SE = append(c.X, x), append(c.Y, s.Mean), append(c.SE, s.SE)
			}
			for _, row := range r.Paper.Rows {
				if row.Data == d.Name && len(row.Values) == len(f.Ticks) {
					f.Curves = append(f.Curves, experiment.Curve{Name: "paper: " + row.Algorithm, X: f.Ticks, Y: row.Values,
						SE: make([]float64, len(row.Values))})
				}
			}
			if len(f.Curves) > 0 {
				out = append(out, f)
			}
		}
	}
	return out
}

func float64s(v []int) (out []float64) {
	for _, x := range v {
		out = append(out, float64(x))
	}
	return out
}

func (s slope) name() string {
	if s.Less != "" {
		return s.Method + " minus " + s.Less
	}
	return s.Method
}

func tableOfSlopes(all []slope) table {
	t := table{Caption: "Slopes of log(mean) against log(axis value), with bootstrap intervals over splits (95 %)",
		Head: []string{"method", "against", "measured exponent", "interval",
			"theorem's exponent",
			"theorem", "points"}}
	for _, s := range all {
		measured, between := "a mean is not positive", "–"
		if !math.IsNaN(s.Slope) {
			measured = number(s.Slope)
		}
		if !math.IsNaN(s.Low) {
			between = number(s.Low) + " to " + number(s.High)
		}
		t.Add(s.name(), s.Against, measured, between, number(s.Exponent), s.Of, strconv.Itoa(s.Points))
	}
	return t
}

// tableOf returns a table with a line for each group of a command's result.
func (p Part) tableOf(all []group) table {
	t := table{Caption: p.Title + ": " + p.Paper.Table.Value,
		Head: append(slices.Clone(p.Paper.Table.By), "paper", "mean here", "runs")}
	for _, g := range all {
		paper := printed(g.paper)
		if len(p.Paper.Table.Cells) > 0 {
			paper = number(g.paper)
		}
		t.Add(append(slices.Clone(g.at), paper, number(g.mean)+" ± "+number(g.se), strconv.Itoa(g.runs))...)
	}
	return t
}

// Duration returns a time in words.
func Duration(seconds float64) string {
	switch {
	case seconds < 90:
		return fmt.Sprintf("%.0f s", math.Ceil(seconds))
	case seconds < 5400:
		return fmt.Sprintf("%.0f min", math.Ceil(seconds/60))
	}
	return fmt.Sprintf("%.0f h", math.Ceil(seconds/3600))
}
