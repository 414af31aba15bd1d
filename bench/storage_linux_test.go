package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/internal/machine"
	"dyad/internal/machine/cases"
	"dyad/internal/must"
	"dyad/internal/pages"
	"dyad/kernels"
	"dyad/privacy/durable"
)

// storageLine is a line of the raw file: medians of processor seconds, and of their ratios to the
// float64 records on pages of 4 KB that were measured in the same round.
type storageLine struct {
	What     string    `json:"what"`
	N        int       `json:"n"`
	D        int       `json:"d"`
	Storage  string    `json:"storage"`
	Seconds  []float64 `json:"cpu_seconds"`
	NanosRow float64   `json:"median_ns_a_record"`
	Ratio    float64   `json:"median_ratio"`
}

// smallPages runs f while the system gives this process pages of 4 KB only, as it gives memory that
// asks for nothing: what f uses first stays on them.
func smallPages(b *testing.B, f func()) {
	b.Helper()
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		b.Skipf("large pages cannot be switched off: %v", err)
	}
	f()
	must.Do(b, unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0))
}

// BenchmarkStorage times a near-linear gradient of one worker, and the AUC, in turns of all storages, so
// that other work of the machine falls on all alike: float64 on pages of 4 KB, which is what there was,
// float64 on large pages, float32, float32 mapped from a pack, and four fifths of its records. With
// DYAD_STORAGE_OUT=FILE it writes the raw file.
//
//	DYAD_STORAGE_OUT=$PWD/bench/results/storage.json go -C bench test . -run '^$' -bench Storage -benchtime 15x -timeout 60m
func BenchmarkStorage(b *testing.B) {
	var lines []storageLine
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		if n > 1_000_000 && testing.Short() {
			continue
		}
		var last []storageLine // the first round of all is for warming up
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { last = benchStorage(b, n, 20) })
		lines = append(lines, last...)
	}
	out := os.Getenv("DYAD_STORAGE_OUT")
	if out == "" || b.Failed() {
		return
	}
	text := must.Get(json.MarshalIndent(map[string]any{"cpu": cases.CPUModel(), "go": runtime.Version(), "variant": kernels.Variants()[len(kernels.Variants())-1].String(), "lines": lines}, "", "\t"))(b)
	must.Do(b, durable.Write(out, false, true, nil, durable.Text(append(text, '\n'))))
}

// benchStorage measures b.N rounds after one that is not counted.
func benchStorage(b *testing.B, n, d int) []storageLine {
	type store struct {
		name    string
		records *engine.Records
		run     engine.Evaluator
	}
	var stores []store
	w, dst := make([]float64, d), make([]float64, d)
	w[0], w[d-1] = 0.6, 0.7
	gradient := func(e engine.Evaluator) {
		must.Do(b, e.Sum(context.Background(), dst, engine.Gradient(w, engine.AllPairs{N: e.Kernel().Problem().N})))
	}
	add := func(name string, r *engine.Records) {
		k := must.Get(cpu.Backend{Workers: 1}.Plan(engine.Problem{N: r.Len(), D: d, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2}))(b)
		e := must.Get(k.Bind(r))(b)
		gradient(e) // uses its memory first
		stores = append(stores, store{name, r, e})
	}
	smallPages(b, func() {
		r := must.Get(dataset.SyntheticScores(n, d, 1))(b)
		add("float64, 4 KB pages", r)
	})
	small := stores[0].records
	large := must.Get(engine.AdoptRecords(append(pages.Make[float64](n * d)[:0], small.Dense()...), slices.Clone(small.Labels()), d, small.Bounds()))(b)
	add("float64", large)
	x := pages.Make[float32](n * d)
	for i, v := range small.Dense() {
		x[i] = engine.TowardZero(v)
	}
	narrow := must.Get(engine.AdoptNarrowRecords(x, slices.Clone(small.Labels()), d, small.Bounds()))(b)
	add("float32", narrow)
	mapped := packed(b, n, d)
	add("float32, mapped", mapped)
	keep, _ := must.Get2(dataset.Split(n, 0.8, 1))(b)
	add("float32, mapped, 80 % of the records", mapped.Subset(keep))

	seconds := make([][]float64, len(stores))
	var total time.Duration
	b.ResetTimer()
	for range b.N {
		for i, s := range stores {
			begin, start := time.Now(), machine.ProcessorTime()
			gradient(s.run)
			seconds[i] = append(seconds[i], machine.ProcessorTime()-start)
			total += time.Since(begin)
		}
	}
	b.StopTimer()
	var lines []storageLine
	for i, s := range stores {
		lines = append(lines, newStorageLine("near-linear gradient", s.records.Len(), d, s.name, seconds[i], seconds[0], n))
	}
	lines = append(lines, benchAUC(b, n)...)
	for _, l := range lines {
		b.Logf("%-22s %-38s %6.2f ns a record, ratio %.2f", l.What, l.Storage, l.NanosRow, l.Ratio)
		if l.Storage == "float32" && l.What == "near-linear gradient" {
			b.ReportMetric(l.Ratio, "float32/before")
		}
	}
	return lines
}

// benchAUC is the AUC of n scores, whose scratch asks for large pages; before, nothing gave them.
func benchAUC(b *testing.B, n int) []storageLine {
	r := must.Get(dataset.SyntheticScores(n, 1, 2))(b)
	auc := func() float64 {
		debug.FreeOSMemory() // so that the memory is new to the system
		start := machine.ProcessorTime()
		must.Get(metrics.AUC(r.Dense(), r.Labels()))(b)
		return machine.ProcessorTime() - start
	}
	var before, now []float64
	for range b.N {
		smallPages(b, func() { before = append(before, auc()) })
		now = append(now, auc())
	}
	return []storageLine{newStorageLine("AUC", n, 1, "4 KB pages", before, before, n), newStorageLine("AUC", n, 1, "large pages", now, before, n)}
}

// newStorageLine has the medians; before are those of the first storage, of n records.
func newStorageLine(what string, records, d int, name string, seconds, before []float64, n int) storageLine {
	ratios, nanos := make([]float64, len(seconds)), make([]float64, len(seconds))
	for i, s := range seconds {
		ratios[i] = s / float64(records) / (before[i] / float64(n))
		nanos[i] = s / float64(records) * 1e9
	}
	slices.Sort(ratios)
	slices.Sort(nanos)
	return storageLine{what, records, d, name, seconds, nanos[len(nanos)/2], ratios[len(ratios)/2]}
}

// packed are records of a pack.
func packed(b *testing.B, n, d int) *engine.Records {
	b.Helper()
	s := must.Get(dataset.UniformSchema(d))(b)
	s.Store = dataset.StoreFloat32
	dir := b.TempDir()
	name := filepath.Join(dir, "bench.dyadpack")
	f := must.Get(os.Create(name))(b)
	must.Get(dataset.PackUniform(f, n, s, 1, dataset.PackOptions{Folder: dir}))(b)
	must.Do(b, f.Close())
	data := must.Get(dataset.Load(name, s, dataset.Options{}))(b)
	return data.Records
}
