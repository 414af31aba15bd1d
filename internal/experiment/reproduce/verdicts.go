package reproduce

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/internal/experiment"
	"dyad/privacy/durable"
)

// WritePages writes pages about the papers of the given items. It writes reproduce-PAPER.html for each paper,
// and papers.md and verdicts.md for all papers.
func WritePages(dir string, all, items []Item, out, committed string,
	catalogue []algorithms.Info) (paths []string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	write := func(name string, page func(io.Writer) error) error {
		var b bytes.Buffer
		if err := page(&b); err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		paths = append(paths, path)
		if err := durable.Write(path, false, true, nil, durable.Text(b.Bytes())); err != nil {
			return fmt.Errorf("reproduce: %w", err)
		}
		return nil
	}
	for _, paper := range Papers() {
		of := func(items []Item) []Item {
			return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return i.Paper != paper.Name })
		}
		mine, first := of(items), ""
		switch {
		case len(mine) == 0:
			continue
		case len(mine) == 1 && len(of(all)) > 1:
			first = mine[0].Name
		}
		if err := write("reproduce-"+paper.Name+".html",
			func(w io.Writer) error { return writePage(w, paper, all, first, out, committed) }); err != nil {
			return paths, err
		}
	}
	if err := write("papers.md", func(w io.Writer) error { return writeSettings(w, all, out) }); err != nil {
		return paths, err
	}
	return paths, write("verdicts.md", func(w io.Writer) error { return WriteVerdicts(w, all, out, committed, catalogue) })
}

// Quick returns the items with the plans that Options.Quick runs.
func Quick(all []Item) []Item {
	out := make([]Item, len(all))
	for k, i := range all {
		i.Parts = slices.Clone(i.Parts)
		for j, p := range i.Parts {
			if !p.Paper.Outside() {
				i.Parts[j].Plan = p.Plan.Quick()
			}
		}
		out[k] = i
	}
	return out
}

// measured holds the results of an algorithm from the first item that has its figures.
type measured struct {
	where              string // data, n, epsilon
	certified, literal string
	changed            string
	proved             string // epsilon of the literal noise
	changedProved      string // epsilon of the noise of the changed schedule
	least              string // smallest n at which paper mode takes a step
}

// verdictItems are the items whose results the verdicts use; the first item that has the algorithm is used. They are
// Xue Table 4 for scores, Huai Figure 2 for streams, and Xue Table 2 for metrics.
var verdictItems = []string{"xue-table4", "xue-table4-others", "huai-figure1", "huai-figure2",
	"xue-table2", "xue-table1"}

// leastN finds, in the text of a refusal, the n that works. Result files of earlier versions have the words "with the
// rest as it is".
var leastN = regexp.MustCompile(`(?:needs n >= |with (?:the rest as it is|all other options unchanged),? n = )(\d+)`)

// measure finds what results have of an algorithm.
func measure(all []results, name string) measured {
	m := measured{certified: "–", literal: "–", changed: "–", proved: "–", changedProved: "–", least: "–"}
	for _, r := range all {
		i := slices.IndexFunc(r.summary, func(s experiment.Summary) bool {
			return s.Algorithm == name && s.N >= 90 && (s.Epsilon == 1 || s.Epsilon == 1.5 || math.IsInf(s.Epsilon, 1))
		})
		if i < 0 {
			continue
		}
		s := r.summary[i]
		p := point{s.Data, s.N, s.Epsilon}
		m.where = fmt.Sprintf("%s on %s, n = %d, epsilon %g", r.Plan.Unit(), s.Data, s.N, s.Epsilon)
		for _, b := range r.at(p, baseline, "") {
			if b.Algorithm == "zero" || b.Algorithm == "projected-gradient" && r.Plan.Measure == "" {
				m.where += fmt.Sprintf(" (%s: %s)", short(b.Algorithm), number(b.Mean))
			}
		}
		get := func(k kind) string {
			if found := r.at(p, k, name); len(found) > 0 {
				return mean(&found[0], r.provedBy(p, &found[0]))
			}
			return "–"
		}
		m.certified, m.literal, m.changed = get(certified), get(literal), get(changed)
		for _, k := range []kind{ours, baseline} {
			if m.certified == "–" {
				m.certified = get(k)
			}
		}
		for _, g := range r.gives {
			if g.Algorithm != name || g.Data != p.data || g.N != p.n || g.Epsilon != p.epsilon ||
				!strings.Contains(g.Options, "mode=paper") {
				continue
			}
			switch found := leastN.FindStringSubmatch(g.Refused); {
			case strings.Contains(g.Options, "paper_unsound=true"):
				m.changedProved = fmt.Sprintf("%.3g", g.Gives)
			case g.Refused == "":
				m.proved, m.least = fmt.Sprintf("%.3g", g.Gives), fmt.Sprintf("at most %d", g.N)
			case found != nil:
				m.proved, m.least = refusal(g.Refused), found[1]
			default:
				m.proved, m.least = refusal(g.Refused), "no n"
			}
		}
		return m
	}
	return m
}

// WriteVerdicts writes the verdict on every algorithm of a catalogue as Markdown.
func WriteVerdicts(w io.Writer, items []Item, out, committed string, catalogue []algorithms.Info) error {
	var all []results
	for _, p := range parts(items, verdictItems...) {
		r, err := p.read(out)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	var b strings.Builder
	b.WriteString(`# Verdicts

What each algorithm claims, what is true of it, and what it gives. Written by ` + "`dyad lab reproduce`" + ` from the catalogue and from result
files (bench/results/reproduce); edit neither numbers nor sentences here. The proofs are in [theory.md](theory.md), the comparisons with
the papers in the pages [Huai](reproduce-huai.html), [Kang](reproduce-kang.html), [Xue](reproduce-xue.html), [Han](reproduce-han.html) and
[Li](reproduce-li.html). Epsilon against AUC next to pointwise libraries: [dpauc.md](dpauc.md); DP-SGD given a pairwise loss:
[pairwise-dpsgd.md](pairwise-dpsgd.md). Each verdict has evidence that anybody can run in a minute: the program, or a test in a copy of
the repository.

| algorithm | what is measured | certified | literal | epsilon that its noise proves | changed schedule | epsilon that its noise proves | n from which the literal algorithm takes steps |
|---|---|---|---|---|---|---|---|
`)
	for _, info := range catalogue {
		m := measure(all, info.Name)
		if m.where == "" {
			m.where = "not in these results"
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s | %s | %s | %s |\n", info.Name, info.Name, m.where, m.certified,
			m.literal, m.proved, m.changed, m.changedProved, m.least)
	}
	b.WriteString("\nThe values are means over splits with one standard error. \"Literal\" uses the paper's formulas. " +
		"\"Changed schedule\" changes\nthe schedule of the literal algorithm (`--paper-unsound`); no theorem of a " +
		"paper covers this. An epsilon of 0\nmeans that delta alone covers the leak. Models without privacy are in " +
		"the column \"certified\".\n")
	for _, info := range catalogue {
		fmt.Fprintf(&b, "\n## %s\n\n%s. Source: %s.\n\n- Claim: %s.\n- Verdict: %s.\n%s- Released: %s.\n", info.Name,
			strings.ToUpper(info.Title[:1])+info.Title[1:], info.Paper, info.Claim, info.Verdict,
			evidenceLines(info.Name), info.Released)
		if info.Unsound != "" {
			fmt.Fprintf(&b, "- `--paper-unsound` changes %s.\n", info.Unsound)
		}
		if len(info.Assumptions) > 0 {
			fmt.Fprintf(&b, "- Proved under: %s.\n", strings.Join(info.Assumptions, "; "))
		}
	}
	for _, p := range commandVerdicts {
		if err := p.write(&b, items, out, committed); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// commandVerdict is a table of the results of a command of the repository, for learners that the runner of
// plans does not run.
type commandVerdict struct {
	title, part string
	keep        func(at []string) bool // by the values of the table's By
}

var commandVerdicts = []commandVerdict{
	{"pairs: accuracy of 5 nearest neighbours at epsilon 4", "li-figure9-bank",
		func(at []string) bool { return at[1] == "4" }},
	{`Local learners: test error with the logistic loss. The budget is the epsilon of one visit; "paper" stands ` +
		"for the paper's total", "han-table3-a7a", func(at []string) bool {
		return at[0] == "logistic" && (at[2] == "none" || at[2] == "paper" || at[2] == "1" || at[2] == "4")
	}},
}

func (v commandVerdict) write(b *strings.Builder, items []Item, out, committed string) error {
	for _, p := range parts(items, v.part) {
		all, path, err := p.groups(out, committed)
		if err != nil || all == nil {
			return err
		}
		fmt.Fprintf(b, "\n## %s\n\nFrom %s.\n\n| %s | mean | standard error | runs | paper |\n%s\n", v.title,
			filepath.Base(path), strings.Join(p.Paper.Table.By, " | "), strings.Repeat("|---", len(p.Paper.Table.By)+4)+"|")
		for _, g := range all {
			if v.keep(g.at) {
				fmt.Fprintf(b, "| %s | %s | %s | %d | %s |\n", strings.Join(g.at, " | "), number(g.mean), number(g.se), g.runs,
					number(g.paper))
			}
		}
	}
	return nil
}
