package reproduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"

	"dyad/internal/experiment"
	"dyad/privacy/durable"
)

// Options configures the run of items.
type Options struct {
	// Out is the folder of results. Committed is the folder of results in the repository (bench/results).
	Out, Committed string
	// Options are the options of every plan, except for Progress.
	experiment.Options
	// Quick runs every plan only for its first data set, size and epsilon, and only once. If a command computes a
	// part, Outcome.Laboratory is a short form of this command.
	Quick bool
	// Progress is called to report the progress of a part.
	Progress func(part string, p experiment.Progress)
}

// Outcome describes a run of an item.
type Outcome struct {
	Part string `json:"part"`
	CSV  string `json:"csv,omitempty"`
	// Skipped is the reason why the item was not run, such as missing data.
	Skipped string `json:"skipped,omitempty"`
	// Laboratory is the command that computes the result. It must be run in the root of the repository.
	Laboratory string `json:"laboratory,omitempty"`
}

// Run runs the parts of an item that have no result yet, and the missing runs of a part with an incomplete
// file. A part with missing data is skipped, and its Outcome states the reason.
func (i Item) Run(ctx context.Context, o Options) ([]Outcome, error) {
	var all []Outcome
	for _, p := range i.Parts {
		one, err := p.run(ctx, o)
		if err != nil {
			return all, fmt.Errorf("reproduce: %s: %w", p.Name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

func (p Part) run(ctx context.Context, o Options) (Outcome, error) {
	out := Outcome{Part: p.Name}
	path := filepath.Join(o.Out, p.Name+".csv")
	plan := p.Plan
	switch {
	case p.Paper.Impossible != "":
		out.Skipped = p.Paper.Impossible
		return out, nil
	case p.Paper.Command != "":
		return p.command(o, path)
	case o.Quick:
		plan = plan.Quick()
	}
	if missing := plan.MissingFiles(o.Folders); missing != nil {
		out.Skipped = strings.Join(missing, "; ")
		return out, nil
	}
	if err := os.MkdirAll(o.Out, 0o777); err != nil {
		return out, err
	}
	run := o.Options
	if o.Progress != nil {
		run.Progress = func(at experiment.Progress) { o.Progress(p.Name, at) }
	}
	stopped := plan.Run(ctx, path, run)
	if stopped != nil && ctx.Err() == nil {
		return out, stopped
	}
	// An interrupted run has tables of its finished runs.
	rows, err := plan.Rows(path)
	if err != nil || len(rows) == 0 {
		return out, errors.Join(stopped, err)
	}
	out.CSV = path
	base := strings.TrimSuffix(path, ".csv")
	if err := plan.WriteSummary(base+"-summary.csv", plan.Summarise(rows)); err != nil {
		return out, err
	}
	if err := durable.Write(base+".parquet", false, true, nil, func(w io.Writer) error {
		return parquet.Write(w, rows, parquet.Compression(&parquet.Zstd))
	}); err != nil {
		return out, err
	}
	dims := map[string]int{}
	for _, r := range rows {
		dims[r.Data] = r.D
	}
	return out, errors.Join(stopped, experiment.WriteGives(base+"-gives.csv", plan.Gives(dims)))
}

// command returns how to make a part with a program of the laboratory, unless its result exists.
func (p Part) command(o Options, path string) (Outcome, error) {
	out := Outcome{Part: p.Name}
	line := p.Paper.Command
	if _, err := os.Stat(path); err == nil && !o.Quick {
		out.CSV = path
		return out, nil
	}
	if o.Quick {
		if line = p.Paper.Quick; line == "" {
			out.Skipped = "it has no short form"
			return out, nil
		}
	}
	fields := strings.Fields(line)
	for k, f := range fields {
		name, ok := strings.CutPrefix(f, "DATA/")
		if !ok {
			continue
		}
		found, err := experiment.FindData(name, o.Folders)
		if err != nil {
			out.Skipped = err.Error()
			return out, nil
		}
		if found, err = filepath.Abs(found); err != nil { // the command changes the folder
			return out, err
		}
		fields[k] = quoted(found)
	}
	if err := os.MkdirAll(o.Out, 0o777); err != nil {
		return out, err
	}
	out.Laboratory = strings.Join(fields, " ") + " > " + quoted(path)
	return out, nil
}

// quoted is a word of a shell's command line.
func quoted(s string) string {
	if !strings.ContainsAny(s, " \t\"'`$&|;<>()*?[]#~!{}\\") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
