package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/algorithms/local"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/enginetest"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
	randomiser "dyad/privacy/local"
)

// standard is a budget where none is attacked.
var standard = privacy.Budget{Epsilon: 1, Delta: 1e-5}

// halved claims half of the constants of a linear loss, which are attained: every
// certificate that rests on them is too small by the factor 2.
type halved struct{ audit.Linear }

func (h halved) Constants(b engine.Bounds, radius float64) (engine.Constants, error) {
	c, err := h.Linear.Constants(b, radius)
	c.PairDiameter, c.Lipschitz = c.PairDiameter/2, c.Lipschitz/2
	return c, err
}

func try(t *testing.T, c configuration, tries int) finding {
	t.Helper()
	ready := must.Get(c.plan())(t, c.area, c.algorithm, c.options)
	return must.Get(ready(context.Background(), tries, rand.New(rand.NewPCG(1, 2))))(t, c.area, c.algorithm, c.options)
}

// drawn is a planned configuration.
func drawn(t *testing.T, draw func(rng *rand.Rand) configuration) configuration {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		c := draw(rng)
		if _, err := c.plan(); err == nil {
			return c
		} else if !errors.Is(err, errRefused) {
			t.Fatal(err)
		}
	}
	t.Fatal("no draw was planned")
	return configuration{}
}

// Every area finds a certificate or a claim that is too small by half, for every
// algorithm of the catalogues; the sound one is the control, and is nearly attained.
func TestHalvedCertificatesAreFound(t *testing.T) {
	sound := candidate{name: "linear", loss: audit.Linear{}, ranges: 1}
	broken := candidate{name: "halved", loss: halved{}, ranges: 1}
	attacks := map[string]func(c candidate, rng *rand.Rand) configuration{
		"gradient": func(c candidate, rng *rand.Rand) configuration { return gradient(c, draw(c, false, rng)) },
	}
	for _, a := range algorithms.Catalog() {
		if !ofMoments(a) && a.Info().Supports(algorithms.Certified) {
			attacks["batch "+a.Info().Name] = func(c candidate, rng *rand.Rand) configuration {
				t := draw(c, false, rng)
				t.l2 = 0
				return trained(a, c, t, rng)
			}
		}
	}
	for _, a := range algorithms.StreamCatalog() {
		if a.Info().Supports(algorithms.Certified) {
			attacks["stream "+a.Info().Name] = func(c candidate, rng *rand.Rand) configuration {
				t := draw(c, false, rng)
				o := drawOnline(a, &t, rng)
				return streamed(o, c, t, 1)
			}
		}
	}
	for name, make := range attacks {
		for _, c := range []candidate{sound, broken} {
			found := try(t, drawn(t, func(rng *rand.Rand) configuration { return make(c, rng) }), 40)
			r := result{finding: found, done: true}
			if wrong := c.name == broken.name; r.refutes() != wrong || found.ratio < 0.5 {
				t.Errorf("%s, loss %s: ratio %v, violation %q; want refuted %t", name, c.name, found.ratio, found.violation, wrong)
			}
		}
	}
}

// listed is a backend whose pair slopes depend on the length of the list that they are
// computed in, where the slope jumps: in lists of a multiple of four they take the other
// side of the jump. That is the defect of kernels whose last bits depend on the place.
func listed(b engine.Backend) engine.Backend {
	return enginetest.Altered{Backend: b, Sum: func(ctx context.Context, e engine.Evaluator, r *engine.Records, dst []float64, q engine.Query) error {
		if err := e.Sum(ctx, dst, q); err != nil {
			return err
		}
		loss := e.Kernel().Problem().Loss.(engine.ScoreLoss)
		d := r.Dim()
		x, z := make([]float64, d), make([]float64, d)
		for i := range r.Len() {
			var partners []int
			for j := range r.Len() {
				if r.Label(i) > r.Label(j) {
					partners = append(partners, j)
				}
			}
			if len(partners)%4 != 0 {
				continue
			}
			for _, j := range partners {
				dy := r.Label(i) - r.Label(j)
				r.Row(i, x)
				r.Row(j, z)
				u := 0.0
				for k := range x {
					u += dy * q.W[k] * (x[k] - z[k])
				}
				jump := loss.DPhi(u+1e-9) - loss.DPhi(u-1e-9)
				for k := range x {
					dst[k] += 2 * jump * dy * (x[k] - z[k])
				}
			}
		}
		return nil
	}}
}

// A slope that depends on where the pair is computed is found, and the sound backend is
// the control.
func TestSlopesThatDependOnThePlaceAreFound(t *testing.T) {
	hinge := must.Get(formula{text: "max(0, -u)", kinks: []float64{0}}.candidate(false))(t)
	hinge.ranges = 1
	for _, defect := range []bool{false, true} {
		worst := finding{}
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 9))
			work := draw(hinge, false, rng)
			work.n, work.problem.N, work.problem.LabelValues, work.levels = 40, 40, 0, 2
			work.backend.Method = 0
			spec := must.Get(algorithms.NewSpec(work.backend, work.problem, 0, standard, algorithms.Certified))(t)
			if defect {
				spec.Kernel = must.Get(listed(work.backend).Plan(work.problem))(t)
			}
			p := must.Get(algorithms.GradientPerturbation{Steps: 2}.Plan(spec))(t)
			found := must.Get(climb(func(i int, rng *rand.Rand) query { return work.query(i, hinge.kinks, rng) },
				func(q query, rng *rand.Rand) query { q.instance = work.change(q.instance, rng); return q },
				func(ctx context.Context, q query) (attempt, error) { return work.moved(ctx, p, q) })(context.Background(), 60, rng))(t)
			worst.add(attempt{ratio: found.ratio})
		}
		if refuted(worst.ratio) != defect {
			t.Errorf("defect %t: closest ratio %v", defect, worst.ratio)
		}
	}
}

// An individual in many pairs who is planned as one in a single pair, and a certificate
// of tuples of half its size, are found.
func TestDefectsOfPairsAreFound(t *testing.T) {
	star := []pairgraph.Pair{{A: 0, B: 1}, {A: 2, B: 0}, {A: 0, B: 3}, {A: 4, B: 0}}
	g := must.Get(pairgraph.New(5, star))(t)
	for _, sampling := range []pairs.Sampling{pairs.Fixed, pairs.Poisson} {
		for kappa := 1; kappa <= 4; kappa += 3 {
			s := pairs.Spec{Individuals: 5, Pairs: 4, Dim: 2, Bound: 1, Loss: embedding.Contrastive{Margin: 1e6}, Unit: pairs.Group, Kappa: kappa, Batch: 4, Epochs: 1, Clip: 1e-6, Sampling: sampling, Budget: standard}
			p := must.Get(s.Plan())(t)
			a := paired{p.Spec, p, g, 1}
			if sampling == pairs.Poisson && kappa == 1 {
				continue // what is counted are the pairs in a batch: see the accountants for kappa
			}
			found := must.Get(a.attack(pairs.Individual, 4)(context.Background(), 40, rand.New(rand.NewPCG(5, 6))))(t)
			if refuted(found.ratio) != (kappa == 1) || found.violation != "" {
				t.Errorf("%s batches, planned for kappa %d of 4: ratio %v %s", sampling, kappa, found.ratio, found.violation)
			}
		}
	}
	p := must.Get((pairs.Spec{Individuals: 6, Dim: 1, Bound: 1, Loss: embedding.Contrastive{Margin: 1e6}, Tuple: 3, Epochs: 1, Clip: 1e-6, Budget: standard}).Plan())(t)
	for _, factor := range []float64{1, 0.5} {
		found := must.Get(attackTuples(p, 1, factor*p.Certificate().Sensitivity())(context.Background(), 60, rand.New(rand.NewPCG(7, 8))))(t)
		must.Equal(t, refuted(found.ratio), factor < 1, "tuples, certificate times %v: ratio %v", factor, found.ratio)
	}
}

// A certificate of half its size is found for every theorem.
func TestHalvedTheoremsAreFound(t *testing.T) {
	for _, r := range certificates() {
		for _, factor := range []float64{1, 0.5} {
			short := recomputed{r.name, func(rng *rand.Rand) (exact, float64, error) {
				naive, certified, err := r.draw(rng)
				return naive, factor * certified, err
			}}
			found := must.Get(short.attack()(context.Background(), 3, rand.New(rand.NewPCG(1, 1))))(t)
			must.Equal(t, refuted(found.ratio), factor < 1, "%s times %v: ratio %v", r.name, factor, found.ratio)
		}
	}
}

// optimist is an accountant that forgets a tenth of epsilon.
type optimist struct{ account.Accountant }

func (o optimist) Delta(epsilon float64) float64 { return o.Accountant.Delta(epsilon * 1.1) }
func (o optimist) Epsilon(delta float64) float64 { return o.Accountant.Epsilon(delta) / 1.1 }

func TestOptimisticAccountantsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, e := range events() {
		for _, defect := range []bool{false, true} {
			fresh := func() account.Accountant {
				if defect {
					return optimist{&account.PLD{}}
				}
				return &account.PLD{}
			}
			found := must.Get(accountant(e.draw, fresh)(context.Background(), 2, rand.New(rand.NewPCG(2, 1))))(t)
			if refuted(found.ratio) != defect {
				t.Errorf("%s, epsilon over 1.1: %t, ratio %v", e.name, defect, found.ratio)
			}
		}
	}
}

// A printed epsilon that is a tenth too small is found for every algorithm.
func TestPrintedEpsilonsAreRefuted(t *testing.T) {
	for _, a := range algorithms.Catalog() {
		i := a.Info()
		if !i.Supports(algorithms.Certified) {
			continue
		}
		rng := rand.New(rand.NewPCG(4, 4))
		c := draw(candidate{loss: linearFor(i), ranges: 1}, false, rng)
		l2 := 0.0
		if i.NeedsL2 {
			l2 = 0.1
		}
		a, _ := set(a, map[string]any{"Steps": 3, "BatchRecords": 4})
		spec := must.Get(algorithms.NewSpec(c.backend, c.problem, l2, standard, algorithms.Certified))(t)
		p := must.Get(a.Plan(spec))(t)
		data, _ := must.Get2(c.records(c.propose(0, rng)))(t)
		ev := must.Get(p.Spec.Kernel.Bind(data))(t)
		session := must.Get(quietly(1))(t)
		watch := &attack.Recorder{Session: session}
		must.Get(a.Train(context.Background(), ev, p, watch, algorithms.Tracker{}))(t)
		for _, factor := range []float64{1, 0.9} {
			g := p.Guarantee
			g.Epsilon *= factor
			if ratio, err := printed(g, watch.Made(attack.Release, attack.Hidden), p.Releases[0].Part > 0); err != nil || refuted(ratio) != (factor < 1) {
				t.Errorf("%s, epsilon times %v: ratio %v, %v", i.Name, factor, ratio, err)
			}
		}
	}
}

// A client that spends twice what it claims is found for every method.
func TestDoubledLocalEpsilonsAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, method := range []local.Method{local.Prestige, local.PrestigeParticipation, local.PrestigeLabel, local.DJW} {
		linear := must.Get(engine.NewExpression("linear", "-u", engine.ExpressionOptions{}))(t)
		p, _ := must.Get2(protocol(method, 2, rng))(t)
		p.Loss, p.Pairs = linear, 1
		p.Dim, p.Threshold, p.ResponseShare, p.Bias = 1, 0.3, 0, 2
		found := try(t, messages(configuration{}, p), 20)
		if refuted(found.ratio) || !refuted(2*found.ratio) {
			t.Errorf("%s: ratio %v, twice of it is not above 1 or the ratio is", method, found.ratio)
		}
	}
}

// What a visit with participation spends is found exactly: all of epsilon where the direction
// gets it, and more where the split is the naive one. The law of candidates is that of the
// mechanism: in one dimension it gives the mean that its scale undoes.
func TestParticipationIsEnumerated(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 4} {
		for pairs := range 4 {
			for favoured := range pairs + 1 {
				m := randomiser.Direction{Dim: 1, Bound: 3, Epsilon: epsilon, Pairs: pairs + 1, Favoured: favoured + 1}
				c := must.Get(m.Channel())(t)
				f, o := directionLaw(m)
				if mean := float64(m.Favoured) * (f - o); math.Abs(mean-m.Bound/c.Scale()) > 1e-9*mean {
					t.Errorf("%+v: a sign has mean %v, its scale says %v", m, mean, m.Bound/c.Scale())
				}
				r, split := must.Get2(m.Participation(epsilon, 0))(t)
				if ratio := participation(r, split) / epsilon; refuted(ratio) || ratio < 1-1e-9 {
					t.Errorf("%+v, split: ratio %v, want 1", m, ratio)
				}
				if ratio := participation(randomiser.RandomizedResponse{Epsilon: epsilon}, c) / epsilon; !refuted(ratio) {
					t.Errorf("%+v, a response of all of epsilon: ratio %v, want more than 1", m, ratio)
				}
			}
		}
	}
}

// The table does not depend on the number of workers, and an interrupt writes what was
// found.
func TestTheTableIsReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	tables := map[int]string{}
	for _, workers := range []int{1, 3} {
		o := options{seed: 5, neighbours: 8, budget: 1, quick: true, workers: workers, areas: []string{"pairs", "tuples"}, log: io.Discard}
		var out bytes.Buffer
		must.Do(t, o.attack(context.Background(), &out, nil))
		tables[workers] = out.String()
	}
	if tables[1] != tables[3] || strings.Count(tables[1], "holds") < 100 {
		t.Errorf("two workers write another table, or rows are missing:\n%.2000s", tables[3])
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	o := options{seed: 5, neighbours: 8, budget: 1, quick: true, workers: 1, areas: []string{"pairs"}, log: io.Discard}
	if err := o.attack(ctx, &out, nil); err != nil || !strings.Contains(out.String(), "closest_ratio") {
		t.Errorf("interrupted: %v, %q", err, out.String())
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, o := range []options{{areas: []string{"none"}, workers: 1, neighbours: 1}, {areas: []string{"local"}, neighbours: 1}} {
		o.log = io.Discard
		if err := o.attack(context.Background(), io.Discard, nil); !errors.Is(err, errUsage) {
			t.Errorf("%+v: %v, want errUsage", o, err)
		}
	}
}

// A search of networks finds a certificate that is too small by half.
func TestHalvedNetworksAreFound(t *testing.T) {
	found := 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 2))
		c, drawn := must.Get2(drawNetwork(rng))(t)
		spec, err := algorithms.NewSpec(drawn.engine(), drawn.problem, 0, drawn.budget, algorithms.Certified)
		if err != nil {
			continue
		}
		spec.Constants.PairDiameter /= 2
		p := must.Get(algorithms.GradientPerturbation{Steps: 1}.Plan(spec))(t)
		for i := range 40 {
			a := must.Get(drawn.moved(context.Background(), p, drawn.query(i, c.kinks, rng)))(t)
			if a.ratio > 1 {
				found++
				break
			}
		}
	}
	if found == 0 {
		t.Error("no halved certificate of a network is found")
	}
}
