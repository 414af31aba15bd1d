// Package reproduce repeats the tables and figures of papers. A plan of package experiment with a paper block
// is an item or a part of an item. Items finds the items. Run makes the runs that have no result. writePage and
// Verdicts make pages from results alone.
//
// The results of an item are four files for every part, where NAME is the name of the plan. NAME.csv has a line for
// each run, NAME.parquet has the same lines, NAME-summary.csv has means, and NAME-gives.csv has the guarantee that
// the noise of every method proves.
package reproduce

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dyad/internal/experiment"
	"dyad/internal/experiment/reproduce/plans"
)

// Item is a table or a figure of a paper.
type Item struct {
	Paper, Name string
	Parts       []Part
}

// Part is a plan of an item.
type Part struct {
	Name string // the name of the plan
	*experiment.Plan
}

// Papers returns the papers in the order of their years.
func Papers() []Paper {
	return []Paper{
		{"huai", "Huai, Wang, Miao, Xu, Zhang. Pairwise learning with differential privacy guarantees. AAAI 2020"},
		{"kang", "Kang, Liu, Li, Wang. Towards sharper utility bounds for differentially private pairwise learning. 2021"},
		{"xue", "Xue, Yang, Huai, Wang. Differentially private pairwise learning revisited. IJCAI 2021"},
		{"han", "Han et al. Privacy-preserving stochastic gradual learning. 2019"},
		{"li", "Li, Pan, Sui, Tsang. Secure metric learning via differential pairwise privacy. 2020"},
	}
}

// Paper is the title of a paper with its key.
type Paper struct{ Name, Title string }

// Plans holds the plans of the papers.
var Plans fs.FS = plans.Files

// Items returns the items of the plans in `files`, sorted by paper and name. The plans find their
// schemas by name in `schemas`.
func Items(files, schemas fs.FS) ([]Item, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	var out []Item
	for _, file := range names {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("reproduce: %w", err)
		}
		name := strings.TrimSuffix(file, ".yaml")
		p, err := experiment.Parse(name, ".", text)
		if err != nil {
			return nil, fmt.Errorf("reproduce: %s: %w", file, err)
		}
		if p.Paper == nil {
			continue
		}
		if want := strings.TrimSuffix(p.Paper.Name+"-"+p.Paper.Item+"-"+p.Paper.Part, "-"); name != want &&
			name != p.Paper.Name+"-"+p.Paper.Item {
			return nil, fmt.Errorf("reproduce: %s is of paper %s, item %s: call it %s.yaml", file, p.Paper.Name,
				p.Paper.Item, want)
		}
		p.UseSchemas(schemas)
		i := slices.IndexFunc(out, func(x Item) bool { return x.Paper == p.Paper.Name && x.Name == p.Paper.Item })
		if i < 0 {
			i, out = len(out), append(out, Item{Paper: p.Paper.Name, Name: p.Paper.Item})
		}
		out[i].Parts = append(out[i].Parts, Part{name, p})
	}
	for _, i := range out { // the part without a name first
		slices.SortFunc(i.Parts, func(a, b Part) int { return cmp.Compare(a.Name, b.Name) })
	}
	order := func(paper string) int {
		return slices.IndexFunc(Papers(), func(p Paper) bool { return p.Name == paper })
	}
	slices.SortStableFunc(out, func(a, b Item) int {
		return cmp.Or(cmp.Compare(order(a.Paper), order(b.Paper)), cmp.Compare(ordered(a.Name), ordered(b.Name)))
	})
	return out, nil
}

var digits = regexp.MustCompile("[0-9]+")

// ordered returns a name to sort by, which puts figure2 before figure10.
func ordered(name string) string {
	return digits.ReplaceAllStringFunc(name, func(n string) string { return fmt.Sprintf("%4s", n) })
}

// parts returns the parts with names, in the order of the names.
func parts(items []Item, names ...string) (all []Part) {
	for _, name := range names {
		for _, i := range items {
			for _, p := range i.Parts {
				if p.Name == name {
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// Select returns the items with the given paper and name. The name can also be the name of a part of an item, such
// as figure4-susy. An empty paper selects all papers, and an empty name selects all names. Select returns an error
// if there are no such items.
func Select(all []Item, paper, name string) ([]Item, error) {
	var out []Item
	var names []string
	for _, i := range all {
		if i.Paper == paper {
			names = append(names, i.Name)
		}
		if (paper == "" || i.Paper == paper) && (name == "" || i.Name == name) {
			out = append(out, i)
			continue
		}
		for _, p := range i.Parts {
			if p.Name == paper+"-"+name {
				out = append(out, Item{i.Paper, i.Name, []Part{p}})
			}
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case names == nil:
		var papers []string
		for _, p := range Papers() {
			papers = append(papers, p.Name)
		}
		return nil, fmt.Errorf("there is no paper %q; want one of %s", paper, strings.Join(papers, ", "))
	}
	return nil, fmt.Errorf("%s has no item %q; want one of %s", paper, name, strings.Join(names, ", "))
}

// The states of an item.
const (
	Reproduced  = "reproduced"
	Partly      = "partly"
	NotRun      = "not run"
	MissingData = "missing data"
	Impossible  = "impossible"
)

// State describes the progress of an item.
type State struct {
	Paper string `json:"paper"`
	Item  string `json:"item"`
	Title string `json:"title"`
	State string `json:"state"`
	// Why lists the missing data and tells how to get them, or it states why the item cannot be run.
	Why        []string `json:"why,omitempty"`
	Done       int      `json:"runs_done"`
	Runs       int      `json:"runs"`
	Seconds    float64  `json:"estimated_seconds"` // for all runs, on one core
	Repeatable string   `json:"command,omitempty"` // the command of an item that the runner does not run
}

// State returns the state of the item. out is the folder of the results, and committed is a folder that
// can also have results of commands. folders are the folders in which the data may be.
func (i Item) State(out, committed string, folders []string) (State, error) {
	s := State{Paper: i.Paper, Item: i.Name, Title: i.title()}
	incomplete := false
	var missing []string
	for _, p := range i.Parts {
		s.Seconds += p.Paper.Seconds
		s.Why = append(append(s.Why, p.Paper.Missing...), p.Paper.Differs...)
		incomplete = incomplete || len(p.Paper.Missing)+len(p.Paper.Differs) > 0
		switch {
		case p.Paper.Impossible != "":
			s.Why = append(s.Why, p.Paper.Impossible)
			incomplete = true
		case p.Paper.Command != "":
			s.Repeatable = p.Paper.Command
			s.Runs++
			if _, err := os.Stat(p.resultOf(out, committed)); err == nil {
				s.Done++
			}
		default:
			done, err := p.Done(filepath.Join(out, p.Name+".csv"))
			if err != nil {
				return s, err
			}
			s.Done, s.Runs = s.Done+done, s.Runs+p.Runs()
			if done < p.Runs() {
				missing = append(missing, p.MissingFiles(folders)...)
			}
		}
	}
	s.Why = append(s.Why, missing...)
	switch {
	case s.Runs == 0:
		s.State = Impossible
	case s.Done == s.Runs && !incomplete:
		s.State = Reproduced
	case s.Done > 0:
		s.State = Partly
	case len(missing) > 0:
		s.State = MissingData
	default:
		s.State = NotRun
	}
	return s, nil
}

// title returns the common beginning of the titles of the parts.
func (i Item) title() string {
	title := i.Parts[0].Title
	whole := true
	for _, p := range i.Parts[1:] {
		k := 0
		for k < min(len(title), len(p.Title)) && title[k] == p.Title[k] {
			k++
		}
		title, whole = title[:k], whole && p.Title == title
	}
	if cut := strings.LastIndexAny(title, ",:"); !whole && strings.Contains(title[:max(cut, 0)], ":") {
		title = title[:cut]
	}
	return strings.TrimRight(title, " ,:(")
}

// resultOf returns the result of a command: the new result if the command was run again, or else the result in
// the repository.
func (p Part) resultOf(out, committed string) string {
	own := filepath.Join(out, p.Name+".csv")
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return filepath.Join(committed, p.Paper.Table.File)
}
