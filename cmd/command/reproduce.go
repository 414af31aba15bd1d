package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyad/engine/dataset/catalog"
	"dyad/internal/experiment"
	"dyad/internal/experiment/reproduce"
	"dyad/internal/input"
	"dyad/internal/page"
)

type reproduceCmd struct {
	Paper     string `arg:"" optional:"" help:"Paper: huai, kang, xue, han or li. Default: all."`
	Item      string `arg:"" optional:"" help:"Table or figure, such as table4, or a part of one, such as table4-pure. Default: all."`
	List      bool   `help:"Print for each item whether it is reproduced, which data are missing, and how long it takes."`
	PagesOnly bool   `help:"Write the pages of existing results; run nothing."`
	Quick     bool   `help:"Quick test: run each plan once, with its first data set, size and epsilon. Use a separate --out."`
	Out       string `short:"o" placeholder:"DIR" help:"Folder of the results. Default: bench/results/reproduce in a clone, else reproduce; reproduce-quick with --quick."`
	Pages     string `placeholder:"DIR" help:"Folder for the pages. Default: docs in a clone if no item and no --quick is given, else --out."`
	Splits    int    `positive:"" help:"Run the first splits only; the others can be run later."`
	Parallel  int    `positive:"" default:"1" help:"Number of training sets processed at a time."`
	cacheFlag
}

// reproduceResult is the JSON output of reproduce.
type reproduceResult struct {
	Items []reproduce.State   `json:"items"`
	Parts []reproduce.Outcome `json:"parts,omitempty"`
	Pages []string            `json:"pages,omitempty"`
}

// committedResults is the folder of the repository's results, relative to its root.
const committedResults = "bench/results"

// Run runs items and writes pages.
func (c *reproduceCmd) Run(a *app) error {
	all, err := reproduce.Items(reproduce.Plans, catalog.Schemas)
	if err != nil {
		return err
	}
	items, err := reproduce.Select(all, c.Paper, c.Item)
	if err != nil {
		return badInput("%v", err)
	}
	_, missing := os.Stat(committedResults)
	clone := missing == nil
	if c.Out == "" {
		switch c.Out = "reproduce"; {
		case c.Quick:
			c.Out = "reproduce-quick"
		case clone:
			c.Out = filepath.Join(committedResults, "reproduce")
		}
	}
	if c.Pages == "" {
		if c.Pages = c.Out; clone && !c.Quick && c.Item == "" {
			c.Pages = "docs"
		}
	}
	folder := c.Dir
	if folder == "" {
		if folder, err = catalog.Cache(); err != nil {
			return err
		}
	}
	var result reproduceResult
	if !c.List {
		if result, err = c.work(a, all, items, folder); err != nil {
			return err
		}
	}
	if !c.Quick {
		for _, i := range items {
			s, err := i.State(c.Out, committedResults, []string{folder})
			if err != nil {
				return err
			}
			result.Items = append(result.Items, s)
		}
	}
	if err := a.emit(result, result.text(c.List)); err != nil {
		return err
	}
	return result.idle()
}

// idle returns an error if parts were requested and none of them has figures.
func (r reproduceResult) idle() error {
	if len(r.Parts) == 0 || slices.ContainsFunc(r.Parts, func(p reproduce.Outcome) bool { return p.CSV != "" }) {
		return nil
	}
	first := max(0, slices.IndexFunc(r.Parts, func(p reproduce.Outcome) bool { return p.Laboratory != "" }))
	rest := ""
	if n := len(r.Parts) - 1; n > 0 {
		rest = fmt.Sprintf(" (and %d other parts, which the report lists)", n)
	}
	return fmt.Errorf("dyad: no item was run: %s: %s%s", r.Parts[first].Part,
		missing(r.Parts[first], " "), rest)
}

// missing returns the reason why a part has no figures. space stands before a command.
func missing(p reproduce.Outcome, space string) string {
	if p.Laboratory != "" {
		return "another program makes this part; in the root of a clone of the repository, run:" + space + p.Laboratory
	}
	return p.Skipped
}

// work runs the items that have no result and writes the pages.
func (c *reproduceCmd) work(a *app, all, items []reproduce.Item, folder string) (r reproduceResult, err error) {
	bar := a.describedTracker("")
	defer bar.Step(1, 1)
	o := reproduce.Options{Out: c.Out, Committed: committedResults, Quick: c.Quick, Options: experiment.Options{
		Folders: []string{folder}, Machine: "dyad " + version, Parallel: c.Parallel, Splits: c.Splits}}
	o.Progress = func(part string, p experiment.Progress) {
		bar.describe(part)
		bar.Step(p.Done, p.Total)
	}
	if c.PagesOnly { // pages of a folder that does not exist would replace pages of results
		if _, err := os.Stat(c.Out); err != nil {
			return r, input.As(fmt.Errorf("dyad: there are no results: %w", err))
		}
	} else {
		for _, i := range items {
			parts, err := i.Run(a.ctx, o)
			r.Parts = append(r.Parts, parts...)
			if errors.Is(err, context.Canceled) {
				a.note("dyad: the finished runs are in %s; the same command continues with the other runs", c.Out)
			}
			if err != nil {
				return r, err
			}
		}
	}
	if c.Quick {
		all = reproduce.Quick(all)
	}
	r.Pages, err = reproduce.WritePages(c.Pages, all, items, c.Out, committedResults, catalogue())
	return r, err
}

func (r reproduceResult) text(list bool) string {
	var b strings.Builder
	if list {
		t := page.Table{Head: []string{"paper", "item", "state", "runs", "time of all", "title"}}
		for _, s := range r.Items {
			runs, time := fmt.Sprintf("%d of %d", s.Done, s.Runs), reproduce.Duration(s.Seconds)
			if s.Repeatable != "" {
				runs = "-"
			}
			if s.State == reproduce.Impossible {
				runs, time = "-", "-"
			}
			t.Add(s.Paper, s.Item, s.State, runs, time, s.Title)
		}
		b.WriteString(t.Text())
		for _, s := range r.Items {
			for _, why := range s.Why {
				fmt.Fprintf(&b, "%s %s: %s\n", s.Paper, s.Item, why)
			}
		}
		return b.String()
	}
	for _, p := range r.Parts {
		if p.CSV != "" {
			fmt.Fprintf(&b, "%s: %s\n", p.Part, p.CSV)
		} else {
			fmt.Fprintf(&b, "%s: not run: %s\n", p.Part, missing(p, "\n    "))
		}
	}
	for _, p := range r.Pages {
		fmt.Fprintf(&b, "page %s\n", p)
	}
	return b.String()
}
