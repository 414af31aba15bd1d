// Command everyone runs plans/everyone.yaml, the table of every method at the same guarantee, continues it where it stopped, and writes what
// docs/comparison.md and README.md quote of it. run.sh makes the Python environments first.
//
//	sh bench/everyone/run.sh DATA ENVIRONMENTS
//	go -C bench run ./everyone -pages
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"dyad/bench"
	"dyad/internal/experiment"
	"dyad/internal/machine/cases"
)

const planFile = "plans/everyone.yaml"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bench.Exit("everyone", run(ctx))
}

func run(ctx context.Context) error {
	data := flag.String("data", "", "folder that has a folder for each data set")
	environments := flag.String("environments", "", "folder of the Python environments of run.sh")
	results := flag.String("results", "results", "folder of everyone.csv")
	docs := flag.String("docs", "..", "folder of README.md and of docs/comparison.md")
	pages := flag.Bool("pages", false, "only write what follows from everyone.csv")
	splits := flag.Int("splits", 0, "only the first splits of each cell; rows of later ones stay")
	of := flag.String("plan", planFile, "another plan, of some of the methods")
	retry := flag.Bool("retry", false, "repeat runs that failed")
	flag.Parse()
	p, err := experiment.Load(*of)
	if err != nil {
		return err
	}
	raw := filepath.Join(*results, "everyone.csv")
	if *of != planFile {
		raw = filepath.Join(*results, strings.TrimSuffix(filepath.Base(*of), ".yaml")+".csv")
	}
	if !*pages {
		o := experiment.Options{Machine: cases.CPUModel(), Folders: []string{*data}, Programs: map[string]string{},
			Retry: *retry, Splits: *splits, Progress: bench.Progress()}
		for program, name := range map[string]string{"python3": "boosting", "python-opacus": "opacus", "python-jax": "jax",
			"python-mst": "mst"} {
			o.Programs[program] = filepath.Join(*environments, name, "bin", "python")
		}
		if err := p.Run(ctx, raw, o); err != nil {
			return err
		}
		if *of != planFile {
			return nil
		}
	}
	t, err := read(p, raw)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(*results, "everyone-summary.csv"), []byte(t.summary()), 0o666); err != nil {
		return err
	}
	return t.write(*docs)
}
