// Dpauc is the pairwise benchmark: epsilon against AUC for pairwise and pointwise methods, and the attack on per-sample clipping of a pairwise
// loss. It writes raw files, and the pages docs/dpauc.md and docs/pairwise-dpsgd.md from them.
//
//	go -C bench run ./dpauc -data DIR -program python-opacus=$PWD/opacus/bin/python ... plans/dpauc.yaml
//	go -C bench run ./dpauc -pages
//
// The attacks are run by the Python programs of this folder, whose output is bench/results/dpauc-attack-*.csv. Environments: bench/plans/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"dyad/bench"
	"dyad/engine/dataset/catalog"
	"dyad/internal/experiment"
	"dyad/internal/machine/cases"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dpauc:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("see -help")

// attackers are the programs of the attacks, with the name of their interpreter.
var attackers = []struct{ library, program string }{{"opacus", "python-opacus"}, {"jax", "python-jax"},
	{"diffprivlib", "python-diffprivlib"}}

func run(ctx context.Context) error {
	programs := map[string]string{}
	data := flag.String("data", "",
		"folder that has a folder for each data set; default: where \"dyad data fetch\" puts them")
	results := flag.String("results", "results", "folder of the raw files")
	docs := flag.String("docs", "../docs", "folder of the pages")
	pages := flag.Bool("pages", false, "only write the pages, from the raw files")
	attack := flag.Bool("attack", false, "run the attacks, too")
	work := flag.String("work", "", "folder of the runs of a cell; for this program's own use")
	which := flag.String("cell", "", "DATA,METHOD: run one cell; for this program's own use")
	bench.ProgramFlag(programs)
	flag.Parse()
	if *pages {
		return writePages(*results, *docs)
	}
	if flag.NArg() != 1 {
		return fmt.Errorf("want one plan, such as plans/dpauc.yaml; %w", errUsage)
	}
	path := flag.Arg(0)
	p, err := experiment.Load(path)
	if err != nil {
		return err
	}
	if *data == "" {
		if *data, err = catalog.Cache(); err != nil {
			return err
		}
	}
	if *which != "" {
		var c cell
		if _, err := fmt.Sscanf(*which, "%d,%d", &c.data, &c.method); err != nil {
			return fmt.Errorf("-cell: %w", err)
		}
		part, err := c.plan(p, filepath.Dir(path))
		if err != nil {
			return err
		}
		return part.Run(ctx, c.path(*work), experiment.Options{Folders: []string{*data}, Programs: programs,
			Machine: cases.CPUModel()})
	}
	if gone := p.MissingFiles([]string{*data}); len(gone) > 0 {
		return errors.New(strings.Join(gone, "\n"))
	}
	if *attack {
		for _, a := range attackers {
			if err := runAttack(ctx, a.library, programs[a.program], *results); err != nil {
				return err
			}
		}
	}
	if *work, err = os.MkdirTemp("", "dpauc"); err != nil {
		return err
	}
	defer os.RemoveAll(*work)
	args := []string{"-data", *data}
	for name, at := range programs {
		args = append(args, "-program", name+"="+at)
	}
	raw := filepath.Join(*results, strings.TrimSuffix(filepath.Base(path), ".yaml")+".csv")
	out, err := os.Create(raw + ".part")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	if err := errors.Join(runCells(ctx, out, p, filepath.Dir(path), *work, args, path), out.Close()); err != nil {
		return err
	}
	if err := os.Rename(out.Name(), raw); err != nil {
		return err
	}
	return writePages(*results, *docs)
}

// runAttack runs the program of a library and keeps its samples.
func runAttack(ctx context.Context, library, interpreter, results string) error {
	if interpreter == "" {
		return fmt.Errorf("the attack on %s needs its interpreter: -program python-%s=PATH; %w", library, library, errUsage)
	}
	process := exec.CommandContext(ctx, interpreter, "dpauc/attack_"+library+".py")
	process.Stderr = os.Stderr
	text, err := process.Output()
	if err != nil {
		return fmt.Errorf("the attack on %s: %w", library, err)
	}
	return os.WriteFile(filepath.Join(results, "dpauc-attack-"+library+".csv"), text, 0o666)
}
