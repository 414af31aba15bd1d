package main

import (
	"fmt"
	"runtime"
	"strings"

	"dyad/bench"
	"dyad/bench/machine"
	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

type benchCmd struct {
	Quick   bool     `help:"Smaller sizes and 3 runs: less than a minute."`
	Runs    int      `positive:"" placeholder:"N" help:"Timed runs of each line. Default: 11, or 3 with --quick."`
	Workers int      `positive:"" default:"1" placeholder:"N" help:"Goroutines; the default shows one core."`
	Variant string   `default:"all" enum:"all,best,generic,avx2,avx512" help:"Kernels to measure: ${enum}."`
	Devices []string `default:"cpu" placeholder:"NAME" help:"Where to measure, comma separated: cpu. GPUs (cuda:0) are refused by this version."`
	Records int      `positive:"" hidden:"" help:"Records of every line."`
}

// Help shows examples.
func (benchCmd) Help() string {
	return `Measures this machine on synthetic records: exact gradients over all pairs, nearest neighbours, AUC.

The share of peak compares operations (or bytes) per second of processor time with the most that one core can do, measured right
before and after each run: fused multiply-adds in registers, or copying memory. The first number is the median of the runs, the
second the best one; other programs on the machine lower both.

Examples:
  dyad bench --quick
  dyad bench --json > bench.json
  dyad bench --workers 8 --variant best`
}

type benchResult struct {
	CPU   string         `json:"cpu"`
	Go    string         `json:"go"`
	Cores int            `json:"cores"`
	Lines []machine.Line `json:"lines"`
}

// Run measures and prints.
func (c *benchCmd) Run(a *app) error {
	if c.Records == 1 {
		return badInput("--records must be at least 2")
	}
	if err := measurable(c.Devices); err != nil {
		return err
	}
	o := machine.Options{Quick: c.Quick, Records: c.Records, Runs: c.Runs, Workers: c.Workers}
	for _, v := range []kernels.Variant{kernels.Best, kernels.Generic, kernels.AVX2, kernels.AVX512} {
		if v.String() != c.Variant {
			continue
		}
		if _, err := kernels.Select(v); err != nil {
			return asInput(err)
		}
		o.Variants = []kernels.Variant{v}
	}
	r := benchResult{CPU: bench.CPUModel(), Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0)}
	live := !a.json && !a.quiet
	if live {
		fmt.Fprintf(a.stdout, "%s, %d cores, %s, %s/%s\n", r.CPU, r.Cores, r.Go, runtime.GOOS, runtime.GOARCH)
		fmt.Fprintf(a.stdout, "%-21s %-8s %9s %4s %10s %13s  %s\n", "method", "variant", "n", "d", "time", "rate", "share of peak")
	}
	err := machine.Run(a.ctx, o, func(l machine.Line) error {
		r.Lines = append(r.Lines, l)
		if live {
			_, err := fmt.Fprintln(a.stdout, benchLine(l))
			return err
		}
		return nil
	})
	if err != nil || live {
		return err
	}
	return a.emit(r, "")
}

// measurable returns an error unless all devices can be measured.
func measurable(devices []string) error {
	for _, name := range devices {
		switch {
		case name == "cpu":
		case name == "cuda" || strings.HasPrefix(name, "cuda:"):
			return fmt.Errorf("--devices %s: this version computes on the CPU, no GPU can be measured; take --devices cpu: %w", name, driver.ErrUnavailable)
		default:
			return badInput("--devices %s: no such device; take cpu", name)
		}
	}
	return nil
}

// benchLine is one line of the table.
func benchLine(l machine.Line) string {
	d, share := "", ""
	if l.D > 0 {
		d = fmt.Sprint(l.D)
	}
	if l.Of != "" {
		unit := "Gflop/s"
		if l.Of == "copy" {
			unit = "GB/s"
		}
		share = fmt.Sprintf("%.0f %% (best %.0f) of %s, %.1f %s", 100*l.Share, 100*l.BestShare, l.Of, l.Peak, unit)
	}
	return strings.TrimRight(fmt.Sprintf("%-21s %-8s %9d %4s %8.4g s %7.3g %s/s  %s", l.Method, l.Variant, l.N, d, l.Seconds, l.Rate, l.Unit, share), " ")
}
