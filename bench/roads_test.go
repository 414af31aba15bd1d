package bench_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/local"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/machine"
	"dyad/internal/must"
	"dyad/privacy"
)

var (
	program = flag.String("dyad", "", "program of BenchmarkWholeRun")
	data    = flag.String("data", "", "data file of BenchmarkWholeRun")
	schema  = flag.String("schema", "", "schema of BenchmarkWholeRun")
)

// BenchmarkWholeRun times private trainings of the program from its start to the written model: reading the data, planning,
// charging a ledger of its own, 100 steps. cpu-s counts all threads.
//
//	go build ./cmd/dyad && go -C bench test . -run - -bench WholeRun -args -dyad $PWD/dyad -data FILE -schema FILE
func BenchmarkWholeRun(b *testing.B) {
	if *program == "" || *data == "" {
		b.Skip("needs -dyad, -data and -schema")
	}
	folder, run := b.TempDir(), 0
	var used time.Duration
	for b.Loop() {
		run++
		c := exec.Command(*program, "train", "--data", *data, "--schema", *schema, "--epsilon", "1", "--delta", "1e-5", "--algorithm", "dpgdsc", "--steps", "100",
			"--ledger", filepath.Join(folder, fmt.Sprint(run, ".jsonl")), "--out", filepath.Join(folder, fmt.Sprint(run, ".json")))
		c.Stderr = os.Stderr
		must.Do(b, c.Run())
		used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	b.ReportMetric(used.Seconds()/float64(run), "cpu-s")
}

// liveHeap reports the memory that a stream holds, which does not grow with its records.
func liveHeap(b *testing.B) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc), "live-bytes")
}

// BenchmarkStream times a record of a stream, paired with those in a buffer of 1,000, with a release every 1,000 records.
func BenchmarkStream(b *testing.B) {
	const horizon, d, cycle = 1_000_000, 20, 10_000 // records repeat: they are not part of the memory that is measured
	records := scores(b, cycle, d)
	for _, o := range []algorithms.StreamOptions{{}, {Reservoir: true}, {PerClass: true}} {
		o.Horizon, o.Batch, o.Buffer = horizon, 1000, 1000
		b.Run(fmt.Sprintf("reservoir=%v/per-class=%v", o.Reservoir, o.PerClass), func(b *testing.B) {
			stream := newStream(b, records, o)
			x, t := make([]float64, d), 0
			for b.Loop() {
				if t == horizon {
					stream, t = newStream(b, records, o), 0
				}
				records.Row(t%cycle, x)
				must.Get(stream.Step(context.Background(), x, records.Label(t%cycle)))(b)
				t++
			}
			liveHeap(b)
		})
	}
}

// newStream starts onpairc.
func newStream(b *testing.B, r *engine.Records, o algorithms.StreamOptions) *algorithms.Online {
	spec := must.Get(algorithms.NewStreamSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 2, D: r.Dim(), Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 1},
		o, 0, privacy.Budget{Epsilon: 1, Delta: privacy.DefaultDelta(o.Horizon)}, algorithms.Certified))(b)
	a := must.Get(algorithms.StreamByName("onpairc"))(b)
	plan := must.Get(a.Plan(spec))(b)
	session := must.Get(privacy.NewPublicSession(privacy.NewSeededSource(1), plan.Events()))(b)
	return must.Get(algorithms.NewStream(plan, session))(b)
}

// BenchmarkLocalStream times a visit of a local protocol with users whose records are made when they are visited, and of it the message.
func BenchmarkLocalStream(b *testing.B) {
	logistic, _ := library(b, "logistic")
	for _, shape := range []struct{ d, nonZeros int }{{18, 18}, {20_958, 52}} {
		b.Run(fmt.Sprintf("d=%d/nonzeros=%d", shape.d, shape.nonZeros), func(b *testing.B) {
			p := must.Get(local.Protocol{
				Method: local.Prestige, Loss: logistic, Dim: shape.d, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: 1_000_000, Epochs: 1, Epsilon: 1, Threshold: -4,
			}.Plan())(b)
			st, client := p.Start(), local.NewClient(p, privacy.NewSeededSource(1))
			rng := rand.New(rand.NewPCG(1, 1))
			z := engine.Record{X: make([]float64, shape.d)}
			var atUser time.Duration
			visits := 0
			for b.Loop() {
				clear(z.X)
				for range shape.nonZeros {
					z.X[rng.IntN(shape.d)] = (2*rng.Float64() - 1) / math.Sqrt(float64(shape.nonZeros))
				}
				z.Y = float64(2*rng.IntN(2) - 1)
				start := time.Now()
				m, err := client.Message(st, z)
				atUser += time.Since(start)
				if err == nil {
					err = p.Apply(st, []local.Message{m})
				}
				if err != nil {
					b.Fatal(err)
				}
				visits++
			}
			b.ReportMetric(float64(atUser.Nanoseconds())/float64(visits), "message-ns")
			liveHeap(b)
		})
	}
}

// BenchmarkPairsEpoch times one epoch over 1,000,000 pairs of 500,000 individuals, noise included: d = 58, d' = 16, batches of 1,000.
func BenchmarkPairsEpoch(b *testing.B) {
	const n, d, density, kappa = 500_000, 58, 2, 8
	drawn := must.Get(pairgraph.Draw(n, density, kappa, 1))(b)
	g := must.Get(pairgraph.New(n, drawn))(b)
	r := rand.New(rand.NewPCG(1, 1))
	x, labels := make([]float64, n*d), make([]bool, len(drawn))
	for i := range x {
		x[i] = r.Float64() - 0.5
	}
	for i := range labels {
		labels[i] = r.IntN(2) == 0
	}
	of := must.Get(embedding.NewData(x, d, embedding.L2, 1, g, labels))(b)
	p := must.Get(pairs.Spec{
		Individuals: n, Pairs: len(drawn), Dim: d, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 16, Kappa: kappa,
		Batch: 1000, Epochs: 1, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6},
	}.Plan())(b)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			start, runs := machine.ProcessorTime(), 0
			for b.Loop() {
				must.Get(pairs.Run(context.Background(), of, nil, p, pairs.Options{Options: algorithms.Options{Public: true}, Workers: workers}))(b)
				runs++
			}
			b.ReportMetric((machine.ProcessorTime()-start)/float64(runs), "cpu-s")
		})
	}
}
