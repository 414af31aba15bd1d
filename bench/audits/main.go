// Command audits attacks every algorithm of both catalogues in every mode that claims
// privacy, and writes the audited lower bounds beside the claims as CSV. It fails if a
// claim is refuted.
//
//	go run ./bench/audits > bench/results/audits.csv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"os"
	"os/signal"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

func main() {
	log.SetFlags(0)
	runs := flag.Int("runs", 100_000, "runs on each of the two data sets, white-box")
	whole := flag.Int("whole", 20_000, "runs on each of the two data sets, black-box")
	metric := flag.Int("metric", 2000, "runs on each of the two data sets for metric losses, white-box; half as many black-box")
	streams := flag.Int("streams", 4000, "runs on each of the two data sets for online algorithms, white-box; half as many black-box")
	n := flag.Int("n", 64, "records")
	few := flag.Int("few", 20, "records of a stream, and with a metric loss")
	only := flag.String("only", "", "attack this algorithm only")
	d := flag.Int("d", 4, "features")
	canaries := flag.Int("canaries", 512, "canaries of a one-run audit, of four times as many records")
	confidence := flag.Float64("confidence", 0.999, "confidence of each row")
	seed := flag.Uint64("seed", 1, "seed of all randomness")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t := table{ctx: ctx, runs: *runs, whole: *whole, metric: *metric, streams: *streams, n: *n, few: *few, only: *only, d: *d, canaries: *canaries, confidence: *confidence, seed: *seed}
	if err := t.write(); err != nil {
		log.Fatal("audits: ", err)
	}
}

type table struct {
	ctx                          context.Context
	runs, whole, metric, streams int
	n, few, d, canaries          int
	confidence                   float64
	seed                         uint64
	only                         string
	refuted                      int
}

func (t *table) write() error {
	bench.Header(os.Stdout, "audits", os.Args[1:])
	fmt.Printf("# lower bounds hold with confidence %g, all methods of a row group together; \"claim holds\" means not refuted\n", t.confidence)
	fmt.Println("# pure: delta = 0; move: exact vectors over certificate; plans refused by the algorithm are listed with the reason")
	fmt.Println("algorithm,mode,variant,loss,n,d,access,runs,claimed_epsilon,delta,audited_epsilon,method,move,gap_over_sd,claimed_mu,off_grid,repeated_noise,claim_holds")
	for _, a := range algorithms.Catalog() {
		if t.only != "" && t.only != a.Info().Name {
			continue
		}
		for _, m := range a.Info().Modes {
			if m == algorithms.NonPrivate {
				continue
			}
			for _, b := range []privacy.Budget{{Epsilon: 1, Delta: 1e-5}, {Epsilon: 4, Delta: 1e-5}, {Epsilon: 1}, {Epsilon: 4}} {
				if b.Delta == 0 && !slices.Contains(a.Info().PureModes, m) {
					continue
				}
				if err := t.rows(a, m, b); err != nil {
					return err
				}
			}
		}
	}
	for _, v := range streams() {
		if t.only != "" && t.only != v.a.Info().Name {
			continue
		}
		for _, b := range []privacy.Budget{{Epsilon: 1, Delta: 1e-5}, {Epsilon: 4, Delta: 1e-5}} {
			if err := t.streamRows(v, b); err != nil {
				return err
			}
		}
	}
	if t.refuted > 0 {
		return fmt.Errorf("%d rows refute a claim", t.refuted)
	}
	return nil
}

// rows audits one algorithm in one mode at one budget.
func (t *table) rows(a algorithms.Algorithm, m algorithms.Mode, b privacy.Budget) error {
	for _, loss := range []engine.Loss{audit.Linear{}, engine.Logistic{}, audit.LinearMetric{}, engine.MahalanobisLogistic{}} {
		radius, n, runs, whole := 1.0, t.n, t.runs, t.whole
		switch loss.(type) {
		case engine.Logistic:
			radius = algorithms.DefaultRadius(t.n, t.d, b, m)
		case engine.MetricLoss:
			n, runs, whole = t.few, t.metric, t.metric/2
		}
		p, err := t.plan(a, loss, m, b, n, t.d, radius)
		if err != nil {
			return err
		}
		if p == nil {
			continue
		}
		seed := t.seedOf(a.Info().Name, m, loss.Name(), b)
		target, err := audit.Worst(t.ctx, a, p, seed)
		if err != nil {
			return err
		}
		for _, o := range []audit.Options{
			{Access: audit.WhiteBox, Runs: runs}, {Access: audit.BlackBox, Runs: whole},
		} {
			o.Confidence, o.Seed = t.confidence, seed
			r, err := audit.Run(t.ctx, target, o)
			if err != nil {
				return err
			}
			t.print(r)
		}
	}
	p, err := t.plan(a, audit.Linear{}, m, b, 4*t.canaries, t.canaries, 1)
	if err != nil || p == nil {
		return err
	}
	r, err := audit.Canaries(t.ctx, a, p, audit.CanaryOptions{Confidence: t.confidence, Seed: t.seedOf(a.Info().Name, m, "canaries", b)})
	if err != nil {
		return err
	}
	t.print(r)
	return nil
}

// seedOf makes the rows independent of each other.
func (t *table) seedOf(label ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, t.seed, label)
	return h.Sum64()
}

// plan is nil, with a comment line, where the algorithm refuses.
func (t *table) plan(a algorithms.Algorithm, loss engine.Loss, m algorithms.Mode, b privacy.Budget, n, d int, radius float64) (*algorithms.Plan, error) {
	l2 := 0.0
	if a.Info().NeedsL2 {
		l2 = 0.001
		if m == algorithms.Paper {
			l2 = 0.1 // the papers' number of steps grows with 1/alpha
		}
	}
	spec, err := algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius}, l2, b, m)
	if err != nil {
		return nil, err
	}
	p, err := a.Plan(spec)
	if errors.Is(err, algorithms.ErrAssumption) {
		fmt.Printf("# %s, %s mode, %s loss, n = %d: %v\n", a.Info().Name, m, loss.Name(), n, err)
		return nil, nil
	}
	return p, err
}

func (t *table) print(r *audit.Report) {
	if !r.Holds() {
		t.refuted++
	}
	for _, b := range r.Bounds {
		shift, move := "", ""
		if r.Shift != nil {
			shift = fmt.Sprintf("%.4f", r.Shift.Mu)
		}
		if r.Runs > 1 {
			move = fmt.Sprintf("%.4g", r.Move)
		}
		fmt.Printf("%s,%s,%s,%s,%d,%d,%s,%d,%.6g,%g,%.4f,%s,%s,%s,%.4f,%d,%d,%t\n", r.Algorithm, r.Mode, quoted(r.Variant), r.Loss, r.Records, r.Features, r.Access, r.Runs,
			r.Epsilon, r.Delta, b.Epsilon, quoted(b.Method), move, shift, r.Mu, r.OffGrid, r.Repeated, r.Holds())
	}
}

// quoted is a CSV field.
func quoted(s string) string { return `"` + s + `"` }
