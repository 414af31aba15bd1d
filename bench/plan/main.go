// Command plan runs a plan of experiments on public data, continues it, joins its parts,
// and writes summary and plots. docs: package internal/experiment, bench/plans/README.md.
//
//	go -C bench run ./plan -data DIR plans/development.yaml
//	go -C bench run ./plan -data DIR -part 1/2 -out part1.csv plans/development.yaml
//	go -C bench run ./plan -merge part1.csv,part2.csv -out development.csv plans/development.yaml
//	go -C bench run ./plan -report -out development.csv plans/development.yaml
//	go -C bench run ./plan -check plans/*.yaml
//
// The exit status is 2 for a plan or data that are wrong, 130 after an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"dyad/bench"
	"dyad/engine/dataset/catalog"
	"dyad/internal/experiment"
	"dyad/internal/input"
	"dyad/internal/machine/cases"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second one kills
	err := run(ctx)
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "plan: interrupted; the same command continues")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "plan:", err)
		if errors.Is(err, input.Err) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := experiment.Options{Machine: cases.CPUModel(), Programs: map[string]string{}}
	data := flag.String("data", "",
		"folder that has a folder for each data set; default: where \"dyad data fetch\" puts them")
	out := flag.String("out", "", "CSV file; default: the plan's name in this folder. Summary and plots stand next to it")
	part := flag.String("part", "", "i/N: only this part of the plan")
	merge := flag.String("merge", "", "files of parts, comma separated, to join into -out")
	check := flag.Bool("check", false, "only check the plans")
	only := flag.Bool("report", false, "only write summary and plots of the runs that -out has")
	flag.BoolVar(&o.Retry, "retry", false, "repeat runs that failed")
	flag.IntVar(&o.Parallel, "parallel", 1,
		"training sets that are worked on at a time; times are then those of a shared machine")
	bench.ProgramFlag(o.Programs)
	flag.Parse()
	if flag.NArg() == 0 || flag.NArg() > 1 && !*check {
		return input.As(errors.New("want one plan file; see -help"))
	}
	var p *experiment.Plan
	for _, path := range flag.Args() {
		var err error
		if p, err = experiment.Load(path); err != nil {
			return err
		}
	}
	if *check {
		return nil
	}
	if *part != "" {
		if _, err := fmt.Sscanf(*part+" end", "%d/%d end", &o.Part, &o.Parts); err != nil || o.Part < 1 || o.Part > o.Parts {
			return input.As(fmt.Errorf("-part is %q, want i/N with i from 1 to N", *part))
		}
	}
	if *out == "" {
		*out = strings.TrimSuffix(filepath.Base(flag.Arg(0)), ".yaml") + ".csv"
		if *part != "" {
			*out = strings.TrimSuffix(*out, ".csv") + fmt.Sprintf("-%d-of-%d.csv", o.Part, o.Parts)
		}
	}
	switch {
	case *only:
	case *merge != "":
		if err := p.Merge(*out, strings.Split(*merge, ",")...); err != nil {
			return err
		}
	default:
		folder := *data
		if folder == "" {
			cache, err := catalog.Cache()
			if err != nil {
				return err
			}
			folder = cache
		}
		o.Folders, o.Progress = []string{folder}, bench.Progress()
		if err := p.Run(ctx, *out, o); err != nil {
			return err
		}
		if *part != "" {
			return nil
		}
	}
	return report(p, *out)
}

// report writes summary and plots.
func report(p *experiment.Plan, path string) error {
	rows, err := p.Rows(path)
	if err != nil {
		return err
	}
	summary, name := p.Summarise(rows), strings.TrimSuffix(path, ".csv")
	if err := p.WriteSummary(name+"-summary.csv", summary); err != nil {
		return err
	}
	if _, err := p.Draw(name, summary, "svg"); err != nil {
		return err
	}
	p.Compare(os.Stdout, summary)
	return nil
}
