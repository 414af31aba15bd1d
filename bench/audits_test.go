package bench_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// auditTable attacks every algorithm of both catalogues, and training on pairs, tuples and all pairs.
type auditTable struct {
	ctx                          context.Context
	out                          io.Writer
	runs, whole, metric, streams int
	n, few, d, canaries          int
	confidence                   float64
	seed                         uint64
	only, mode, loss             string
	time                         time.Duration
	budgets                      []privacy.Budget
	full                         bool            // all losses, canaries, variants of streams and pairs
	attacked                     map[string]bool // algorithms of the catalogue
	refuted, loose               int
}

var (
	audits    = flag.String("audits", "", "file for the table of TestAudits in full, which takes hours without -audit-time")
	auditFull = auditFlags()
)

// auditFlags is the table in full, by flags.
func auditFlags() *auditTable {
	t := &auditTable{budgets: []privacy.Budget{{Epsilon: 1, Delta: 1e-5}, {Epsilon: 4, Delta: 1e-5}, {Epsilon: 1}, {Epsilon: 4}}, full: true}
	flag.DurationVar(&t.time, "audit-time", 0, "end every attack after that time, with the bound so far; 0: never")
	flag.IntVar(&t.runs, "audit-runs", 100_000, "runs on each of the two data sets, white-box")
	flag.IntVar(&t.whole, "audit-whole", 20_000, "runs on each of the two data sets, black-box")
	flag.IntVar(&t.metric, "audit-metric", 2000, "runs on each of the two data sets for metric losses, white-box; half as many black-box")
	flag.IntVar(&t.streams, "audit-streams", 4000, "runs on each of the two data sets for online algorithms, white-box; half as many black-box")
	flag.IntVar(&t.n, "audit-n", 64, "records")
	flag.IntVar(&t.few, "audit-few", 20, "records of a stream, and with a metric loss")
	flag.StringVar(&t.only, "audit-only", "", "attack these algorithms only, separated by commas")
	flag.StringVar(&t.mode, "audit-mode", "", "attack the algorithms of the offline catalogue in this mode only, and nothing else")
	flag.StringVar(&t.loss, "audit-loss", "", "attack on this loss only")
	flag.IntVar(&t.d, "audit-d", 4, "features")
	flag.IntVar(&t.canaries, "audit-canaries", 512, "canaries of a one-run audit, of four times as many records")
	flag.Float64Var(&t.confidence, "audit-confidence", 0.999, "confidence of each row")
	flag.Uint64Var(&t.seed, "audit-seed", 1, "seed of all randomness")
	return t
}

// TestAudits attacks every algorithm of both catalogues in every mode that claims privacy, on the losses that attain certificates and
// on those that are trained: a few runs each, of which no bound may exceed the claim and no exact vector may move by more than its
// certificate. No algorithm of a catalogue can be forgotten here. With -audits it takes many runs, also of canaries and of training on
// pairs, tuples and all pairs, writes the audited lower bounds next to the claims as CSV, and fails if the data sets of a known worst
// case show less than 0.9 of a claim; an interrupt ends it after the row that it is at.
//
//	go -C bench test . -run TestAudits -timeout 0 -audits results/audits.csv -audit-time 2s
func TestAudits(t *testing.T) {
	table := auditTable{
		ctx: t.Context(), out: io.Discard, runs: 100, whole: 50, metric: 100, streams: 100, n: 12, few: 8, d: 2, confidence: 1 - 1e-9, seed: 1,
		budgets: []privacy.Budget{{Epsilon: 2, Delta: 1e-5}, {Epsilon: 2}},
	}
	if *audits != "" {
		table = *auditFull
		ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
		defer stop()
		f := must.Get(os.Create(*audits))(t)
		defer f.Close()
		table.ctx, table.out = ctx, f
	}
	table.attacked = map[string]bool{}
	must.Do(t, table.write())
	if table.refuted > 0 || table.loose > 0 {
		t.Errorf("%d audits refute a claim, %d show less than 0.9 of one whose worst case is known", table.refuted, table.loose)
	}
	losses := must.Get(table.losses())(t)
	for _, a := range algorithms.Catalog() {
		if i := a.Info(); table.only+table.mode == "" && slices.Contains(i.Modes, algorithms.Certified) && !table.attacked[i.Name] && slices.ContainsFunc(losses, i.Learns) {
			t.Errorf("%s was never attacked", i.Name)
		}
	}
}

// write attacks, and writes the table.
func (t *auditTable) write() error {
	bench.Header(t.out, "go -C bench test . -run TestAudits", slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return strings.HasPrefix(a, "-test.") }))
	fmt.Fprintf(t.out, "# lower bounds hold with confidence %g, all methods of a row group together; \"claim holds\" means not refuted\n", t.confidence)
	fmt.Fprintln(t.out, "# pure: delta = 0; move: exact vectors over certificate; tightness: gap/sd over the claimed mu, or gap/scale over epsilon, with its standard error")
	fmt.Fprintln(t.out, "# half refuted: the control, whether half of the claim is; seconds: of both sides, without the choice of the data sets; plans refused by the algorithm are listed with the reason")
	fmt.Fprintln(t.out, "algorithm,mode,variant,loss,n,d,unit,access,runs,claimed_epsilon,delta,audited_epsilon,method,move,gap_over_sd,claimed_mu,tightness,standard_error,half_refuted,off_grid,repeated_noise,claim_holds,seconds")
	for _, a := range algorithms.Catalog() {
		if !t.wants(a.Info().Name) {
			continue
		}
		for _, m := range a.Info().Modes {
			if m == algorithms.NonPrivate || t.mode != "" && m.String() != t.mode {
				continue
			}
			for _, b := range t.budgets {
				if b.Delta == 0 && !slices.Contains(a.Info().PureModes, m) {
					continue
				}
				if err := t.rows(a, m, b); err != nil {
					return err
				}
			}
		}
	}
	if t.mode != "" {
		return nil
	}
	for _, v := range t.variants() {
		if !t.wants(v.a.Info().Name) {
			continue
		}
		for _, b := range t.budgets {
			if b.Delta == 0 {
				continue
			}
			if err := t.streamRows(v, b); err != nil {
				return err
			}
		}
	}
	if t.full {
		return t.pairRows()
	}
	return nil
}

// wants says that an algorithm is to be attacked.
func (t *auditTable) wants(name string) bool {
	return t.only == "" || slices.Contains(strings.Split(t.only, ","), name)
}

// audit attacks a target; known says that it is the worst case of its claim.
func (t *auditTable) audit(target audit.Target, o audit.Options, known bool) error {
	o.Time, o.Confidence = t.time, t.confidence
	r, err := audit.Run(t.ctx, target, o)
	if err != nil {
		return err
	}
	t.print(r)
	if known && t.full && r.Tightness != nil {
		if share, standardError := r.Tightness.Share(); share < 0.9-3*standardError {
			t.loose++
			fmt.Fprintf(t.out, "# loose: %s, %s, %s: %.3f +- %.3f of the claim\n", r.Algorithm, r.Variant, r.Loss, share, standardError)
		}
	}
	return nil
}

// rows audits one algorithm in one mode at one budget.
func (t *auditTable) rows(a algorithms.Algorithm, m algorithms.Mode, b privacy.Budget) error {
	losses, err := t.losses()
	if err != nil {
		return err
	}
	for i, loss := range losses {
		if t.loss != "" && loss.Name() != t.loss {
			continue
		}
		radius, n, runs, whole := 1.0, t.n, t.runs, t.whole
		switch loss.(type) {
		case engine.Logistic:
			radius = algorithms.DefaultRadius(a.Info().Name, t.n, t.d, b, m, loss)
		case engine.Score: // with a kink
			radius = 0.1
		case engine.MetricLoss:
			n, runs, whole = t.few, t.metric, t.metric/2
		}
		a := a
		if _, kinked := loss.(engine.Score); kinked {
			a = oneStep(a)
		}
		p, err := t.plan(a, loss, m, b, n, t.d, radius)
		if err != nil {
			return err
		}
		if p == nil {
			continue
		}
		t.attacked[a.Info().Name] = true
		seed := t.seedOf(a.Info().Name, m, i, b)
		target, err := audit.Worst(t.ctx, a, p, seed)
		if err != nil {
			return err
		}
		for _, o := range []audit.Options{
			{Access: audit.WhiteBox, Runs: runs}, {Access: audit.BlackBox, Runs: whole},
		} {
			o.Seed = seed
			// The other losses attain no certificate, and metrics only from their worst start.
			// An adversary who does not know the order of the records is weaker.
			known := loss == (audit.Linear{}) && m == algorithms.Certified && o.Access == audit.WhiteBox
			if err := t.audit(target, o, known); err != nil {
				return err
			}
			if target.Plan.Certificate().HiddenSteps() > 0 {
				break // it is black-box whatever is asked for
			}
			if batch, _ := target.Plan.Certificate().Batch(); batch > 0 {
				break
			}
		}
	}
	if !t.full || t.loss != "" {
		return nil
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

// losses are those that attain certificates, those that are trained, those with a kink that
// the first step meets, and metrics from their worst start.
func (t *auditTable) losses() ([]engine.Loss, error) {
	all := []engine.Loss{audit.Linear{}, engine.Logistic{}, audit.LinearMetric{}, engine.MahalanobisLogistic{}}
	switch {
	case testing.Short():
		return all[:1], nil
	case !t.full:
		return all, nil
	}
	for _, e := range attack.KinkLosses(0)[:2] {
		all = append(all, engine.Score{Of: e})
	}
	for _, l := range []engine.MetricLoss{audit.LinearMetric{}, engine.MahalanobisLogistic{}} {
		worst, err := audit.FromWorstStart(l, engine.UnitBounds(), t.d, 1)
		if err != nil {
			return nil, err
		}
		all = append(all, worst)
	}
	return all, nil
}

// oneStep is the algorithm with its first step alone, where it meets the kink with every
// pair; the noise of more steps would hide what it does.
func oneStep(a algorithms.Algorithm) algorithms.Algorithm {
	switch a.(type) {
	case algorithms.GradientPerturbation:
		return algorithms.GradientPerturbation{Steps: 1, StepSize: 1e-4}
	case algorithms.DPGDC2:
		return algorithms.DPGDC2{Steps: 1, StepSize: 1e-4}
	case algorithms.SubsampledDescent:
		return algorithms.SubsampledDescent{Steps: 1, StepSize: 1e-4}
	}
	return a
}

// seedOf makes the rows independent of each other.
func (t *auditTable) seedOf(label ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, t.seed, label)
	return h.Sum64()
}

// plan is nil, with a comment line, where the algorithm refuses.
func (t *auditTable) plan(a algorithms.Algorithm, loss engine.Loss, m algorithms.Mode, b privacy.Budget, n, d int, radius float64) (*algorithms.Plan, error) {
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
		fmt.Fprintf(t.out, "# %s, %s mode, %s loss, n = %d: %v\n", a.Info().Name, m, loss.Name(), n, err)
		return nil, nil
	}
	return p, err
}

func (t *auditTable) print(r *audit.Report) {
	if !r.Holds() || !t.full && r.Move > 1 {
		t.refuted++
	}
	for _, b := range r.Bounds {
		shift, move, tight, standardError := "", "", "", ""
		if r.Tightness != nil {
			share, se := r.Tightness.Share()
			tight, standardError = fmt.Sprintf("%.4f", share), fmt.Sprintf("%.4f", se)
		}
		if r.Shift != nil {
			shift = fmt.Sprintf("%.4f", r.Shift.Mu)
		}
		if r.Runs > 1 {
			move = fmt.Sprintf("%.4g", r.Move)
		}
		fmt.Fprintf(t.out, "%s,%s,%s,%s,%d,%d,%s,%s,%d,%.6g,%g,%.4f,%s,%s,%s,%.4f,%s,%s,%t,%d,%d,%t,%.2f\n", r.Algorithm, r.Mode, quoted(r.Variant), r.Loss, r.Records, r.Features, r.Unit, r.Access, r.Runs,
			r.Epsilon, r.Delta, b.Epsilon, quoted(b.Method), move, shift, r.Mu, tight, standardError, r.HalfRefuted, r.OffGrid, r.Repeated, r.Holds(), r.Seconds)
	}
}

// quoted is a CSV field.
func quoted(s string) string { return `"` + s + `"` }
