// Command attacks searches for neighbouring data sets on which anything that Dyad
// releases moves by more than its certificate says, through the exported API: every
// algorithm, loss and option, the accountants, the certificates and the local protocols.
// It writes the closest ratio moved/certified of every configuration as CSV and fails if
// one is above 1.
//
//	go -C bench run ./attacks -o results/attacks.csv
//
// A ratio above 1 is a false guarantee. A ratio of at most 1 proves nothing: it says how
// far this search came, and near 1 that the certificate is tight.
// The areas and the tolerance are explained in docs/theory.md#attacks.
//
// The result is a function of the flags and of the kernels that the processor runs (the
// options name them). Interrupted, it writes what it has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("attacks: ")
	o := options{log: os.Stderr}
	flag.Uint64Var(&o.seed, "seed", 1, "seed of all randomness")
	flag.IntVar(&o.neighbours, "neighbours", 60, "neighbours of a configuration; fewer of expensive ones")
	flag.IntVar(&o.budget, "budget", 250_000, "configurations times neighbours, all together; the first round runs whole")
	flag.BoolVar(&o.quick, "quick", false,
		"a fifth of the neighbours, one round, few losses of each kind and half of their pairs with algorithms: under a "+
			"minute on two idle cores")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "attacks at a time; it changes the time, never the result")
	areas := flag.String("area", "", "only these areas, with commas between: "+strings.Join(names(), ", "))
	only := flag.String("only", "", "only algorithms whose name contains this")
	flag.StringVar(&o.closest, "closest", "", "file to which the closest ratio of each mechanism is added")
	flag.StringVar(&o.commit, "commit", "", "commit that is attacked, for -closest")
	flag.StringVar(&o.page, "page", "", "file of the page of -closest to write")
	flag.StringVar(&o.audits, "audits", "", "audit the kinds of run by what they print instead, and write this CSV")
	flag.IntVar(&o.runs, "runs", 40_000, "most runs of an audit on each of two data sets")
	file := flag.String("o", "", "file to write the CSV to instead of the standard output")
	flag.Parse()
	if *areas != "" {
		o.areas = strings.Split(*areas, ",")
	}
	o.only = *only
	out := os.Stdout
	if *file != "" {
		f, err := os.Create(*file)
		if err != nil {
			log.Fatal(err)
		}
		out = f
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.audits != "" {
		err = o.audit(ctx, os.Args[1:])
	} else {
		err = o.attack(ctx, out, os.Args[1:])
	}
	if out != os.Stdout {
		err = errors.Join(err, out.Close())
	}
	switch {
	case errors.Is(err, errUsage):
		log.Print(err)
		os.Exit(2)
	case ctx.Err() != nil:
		os.Exit(130)
	case err != nil:
		log.Fatal(err)
	}
}

// errUsage is wrapped by errors about flags.
var errUsage = errors.New("bad flags")

// options are the flags.
type options struct {
	seed                        uint64
	neighbours, budget, workers int
	quick                       bool
	areas                       []string
	only                        string
	closest, commit, page       string
	audits                      string
	runs                        int
	log                         io.Writer
}

// attack runs the jobs and writes the table.
func (o options) attack(ctx context.Context, out io.Writer, args []string) error {
	jobs, neighbours, err := o.jobs()
	if err != nil {
		return err
	}
	if o.workers < 1 || neighbours < 1 {
		return fmt.Errorf("%w: -workers and -neighbours must be at least 1", errUsage)
	}
	p := &progress{w: o.log, total: len(jobs), start: time.Now()}
	results, err := run(ctx, jobs, neighbours, o.workers, o.seed, p.report)
	p.end()
	// What was found before an error or an interrupt is written all the same.
	results = slices.DeleteFunc(results, func(r result) bool { return !r.done })
	err = errors.Join(err, write(out, args, results))
	if o.closest != "" && err == nil {
		err = appendClosest(o.closest, closestOf(o.commit, o.seed, results))
	}
	if o.page != "" && err == nil {
		err = o.writePage()
	}
	summary := os.Stdout
	if out == os.Stdout {
		summary = os.Stderr // the table is on the standard output
	}
	if broken := summarise(summary, results, len(jobs)); broken > 0 {
		err = errors.Join(err, fmt.Errorf("%d configurations refute a guarantee", broken))
	}
	return err
}

// writePage writes the page of the file of closest ratios.
func (o options) writePage() error {
	f, err := os.Open(o.closest)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := page(f)
	if err != nil {
		return err
	}
	return os.WriteFile(o.page, []byte(text), 0o666)
}

// audit audits the kinds of run and writes their table. A guarantee that is refuted is an error.
func (o options) audit(ctx context.Context, args []string) error {
	all, err := auditKinds(ctx, o.seed, o.runs, o.log)
	if err != nil {
		return err
	}
	f, err := os.Create(o.audits)
	if err != nil {
		return err
	}
	err = errors.Join(writeAudits(f, args, all), f.Close())
	for _, a := range all {
		if a.verdict() == "REFUTED" {
			err = errors.Join(err, fmt.Errorf("the guarantee of %s is refuted: %s", a.mechanism, a.options))
		}
	}
	return err
}
