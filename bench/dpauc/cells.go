package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"dyad/bench"
	"dyad/internal/experiment"
)

// cell is one method of a plan on one of its data sets.
type cell struct{ data, method int }

// cells lists the cells of a plan, data set by data set.
func cells(p *experiment.Plan) []cell {
	var out []cell
	for i := range p.Data {
		for j := range len(p.Algorithms) + len(p.Peers) {
			out = append(out, cell{i, j})
		}
	}
	return out
}

// plan is the part of p that c is. Paths of p are relative to dir.
func (c cell) plan(p *experiment.Plan, dir string) (*experiment.Plan, error) {
	d := p.Data[c.data]
	if d.Schema != "" {
		d.Schema = filepath.Join(dir, d.Schema)
	}
	part := experiment.Plan{Title: p.Title, Data: []experiment.Data{d}, Epsilon: p.Epsilon, Delta: p.Delta,
		Splits: p.Splits, Seed: p.Seed}
	if k := c.method - len(p.Algorithms); k < 0 {
		part.Algorithms = p.Algorithms[c.method : c.method+1]
	} else {
		peer := p.Peers[k]
		peer.Command = append([]string{peer.Command[0], filepath.Join(dir, peer.Command[1])}, peer.Command[2:]...)
		part.Peers = []experiment.Peer{peer}
	}
	return experiment.New(fmt.Sprintf("cell-%d-%d", c.data, c.method), part)
}

// path is the file of the runs of a cell, in a folder.
func (c cell) path(folder string) string {
	return filepath.Join(folder, fmt.Sprintf("cell-%d-%d.csv", c.data, c.method))
}

// columns has the names of the columns of the raw file.
var columns = []string{"data", "n", "d", "epsilon", "delta", "method", "split", "auc", "seconds", "status", "peak_mb"}

// runCells runs every cell in a process of its own, this program with -cell, and adds its runs to the raw file, with the
// peak memory of the larger of that process and its peer.
func runCells(ctx context.Context, w io.Writer, p *experiment.Plan, dir, work string, args []string,
	path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bench.Header(w, "go -C bench run ./dpauc", []string{path})
	fmt.Fprint(w, "# data of the plan:")
	for _, d := range p.Data {
		fmt.Fprint(w, " ", d.Name)
	}
	fmt.Fprintf(w, "\n# load %s before\n", load())
	out := csv.NewWriter(w)
	said := map[string]bool{}
	if err := out.Write(columns); err != nil {
		return err
	}
	for _, c := range cells(p) {
		process := exec.CommandContext(ctx, self, append(args[:len(args):len(args)], "-cell",
			fmt.Sprintf("%d,%d", c.data, c.method), "-work", work, path)...)
		process.Stdout, process.Stderr = os.Stderr, os.Stderr
		if err := process.Run(); err != nil {
			return fmt.Errorf("data %s, method %d: %w", p.Data[c.data].Name, c.method, err)
		}
		part, err := c.plan(p, dir)
		if err != nil {
			return err
		}
		rows, err := part.Rows(c.path(work))
		if err != nil {
			return err
		}
		text, err := os.ReadFile(c.path(work))
		if err != nil {
			return err
		}
		out.Flush()
		for line := range strings.Lines(string(text)) {
			if (strings.HasPrefix(line, "# data") || strings.HasPrefix(line, "# peer")) && !said[line] {
				said[line] = true
				fmt.Fprint(w, line)
			}
		}
		peak := strconv.FormatFloat(peakMB(process.ProcessState), 'f', 0, 64)
		for _, r := range rows {
			auc, seconds := "", ""
			if r.Status == "ok" {
				auc, seconds = strconv.FormatFloat(r.Value, 'f', 6, 64), strconv.FormatFloat(r.Seconds, 'g', 4, 64)
			}
			g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
			if err := out.Write([]string{r.Data, strconv.Itoa(r.N), strconv.Itoa(r.D), g(r.Epsilon), g(r.Delta), r.Algorithm,
				strconv.Itoa(r.Split), auc, seconds, r.Status, peak}); err != nil {
				return err
			}
		}
	}
	out.Flush()
	fmt.Fprintf(w, "# load %s after\n", load())
	return out.Error()
}

// load is the load of the last minute on Linux.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if first, _, ok := strings.Cut(string(text), " "); err == nil && ok {
		return first
	}
	return "not known"
}
