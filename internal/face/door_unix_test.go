//go:build unix

package face

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"dyad"
	"dyad/algorithms"
	"dyad/internal/must"
)

// wide writes 120 records of d features, with a schema of private data.
func wide(b *testing.B, d int) {
	b.Helper()
	b.Chdir(b.TempDir())
	rng := rand.New(rand.NewPCG(1, 2))
	var data, schema strings.Builder
	schema.WriteString("data_id: wide\ncsv: {header: true}\ncolumns:\n")
	for k := range d {
		fmt.Fprintf(&data, "c%d,", k)
		fmt.Fprintf(&schema, "  - {name: c%d, range: [-1, 1]}\n", k)
	}
	data.WriteString("y\n")
	schema.WriteString("  - {name: y, role: label, positive: 1, negative: 0}\n")
	for i := range 120 {
		for range d {
			fmt.Fprintf(&data, "%.4f,", 2*rng.Float64()-1)
		}
		fmt.Fprintf(&data, "%d\n", i%2)
	}
	for name, text := range map[string]string{"patients.csv": data.String(), "patients.yaml": schema.String()} {
		must.Do(b, os.WriteFile(name, []byte(text), 0o600))
	}
}

// processor is the processor time of this process in nanoseconds.
func processor(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

// What a verdict adds to reading a model, which every command that scores does: for each kind of model, Load alone and Load with
// Verdict, by the clock and by processor time, which a busy machine changes less. The numbers of steps are the most that are checked in passing, and one more.
func BenchmarkDoor(b *testing.B) {
	zero := 0.0
	for _, c := range []struct {
		name    string
		d       int // 0: the clinic's
		options dyad.Options
	}{
		{name: "moments", options: dyad.Options{Algorithm: algorithms.Moments{}}},
		{name: "moments-pure", options: dyad.Options{Algorithm: algorithms.Moments{}, Delta: &zero}},
		{name: "moments-100", d: 100, options: dyad.Options{Algorithm: algorithms.Moments{}}},
		{name: "descent", options: dyad.Options{Algorithm: algorithms.DPGDSC{}}},
		{name: "descent-3000-steps", options: dyad.Options{Algorithm: algorithms.DPGDSC{Steps: 3000}}},
		{name: "descent-3001-steps", options: dyad.Options{Algorithm: algorithms.DPGDSC{Steps: 3001}}},
		{name: "gradients-3000-steps", options: dyad.Options{Algorithm: algorithms.GradientPerturbation{Steps: 3000}}},
		{name: "descent-1000-features", d: 1000, options: dyad.Options{Algorithm: algorithms.DPGDSC{}}},
		{name: "metric", options: dyad.Options{Task: dyad.Metric, Algorithm: algorithms.MomentMetric{}}},
		{name: "metric-descent", options: dyad.Options{Task: dyad.Metric, Algorithm: algorithms.DPGDSC{}}},
		{name: "network", options: dyad.Options{Network: &dyad.Network{Hidden: []int{32}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			if inClinic(b); c.d > 0 {
				wide(b, c.d)
			}
			data, plan, book := opened(b, c.options)
			must.Get(plan.Run(context.Background(), data, dyad.Run{Ledger: book, Out: "m.json"}))(b)
			for _, judged := range []bool{false, true} {
				b.Run(map[bool]string{false: "load", true: "load+verdict"}[judged], func(b *testing.B) {
					start := processor(b)
					for b.Loop() {
						m := must.Get(dyad.Load("m.json"))(b)
						if judged && m.Verdict().Verdict == "" {
							b.Fatal("no verdict")
						}
					}
					b.ReportMetric(float64(processor(b)-start)/float64(b.N)/1e6, "cpu-ms/op")
				})
			}
		})
	}
}
