package influence

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/internal/must"
)

// records are n records of two classes in d features, the second class shifted.
func records(t *testing.T, n, d int, seed uint64) *engine.Records {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range n {
		y[i] = float64(2*(i%2) - 1)
		for k := range d {
			x[i*d+k] = (0.4*random.NormFloat64() + 0.2*y[i]*float64(k%2)) / math.Sqrt(float64(d))
		}
	}
	return must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
}

func objectiveOf(t *testing.T, loss engine.Loss, r *engine.Records, l2, radius float64) *Objective {
	t.Helper()
	var b engine.Backend = cpu.Backend{}
	if _, ok := loss.(embedding.Loss); ok {
		b = embedding.Backend{}
	}
	o := must.Get(NewObjective(b, loss, r, l2, radius))(t)
	t.Cleanup(func() { o.Close() })
	return o
}

// plain is the objective of a logistic score loss written from its definition, with an explicit Hessian.
type plain struct {
	x  [][]float64
	y  []float64
	l2 float64
}

func plainOf(r *engine.Records, without int, l2 float64) plain {
	p := plain{l2: l2}
	for i := range r.Len() {
		if i != without {
			x := make([]float64, r.Dim())
			r.Row(i, x)
			p.x, p.y = append(p.x, x), append(p.y, r.Label(i))
		}
	}
	return p
}

// derivatives are value, gradient and Hessian of log(1 + exp(-u)), u = (y - y') w.(x - x'), by definition.
func (p plain) derivatives(w []float64) (value float64, g *mat.VecDense, h *mat.SymDense) {
	d, n := len(w), len(p.x)
	g, h = mat.NewVecDense(d, nil), mat.NewSymDense(d, nil)
	pairs := float64(n * (n - 1))
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			v := mat.NewVecDense(d, nil)
			for k := range d {
				v.SetVec(k, (p.y[i]-p.y[j])*(p.x[i][k]-p.x[j][k]))
			}
			u := mat.Dot(v, mat.NewVecDense(d, w))
			sigma := 1 / (1 + math.Exp(u))
			value += math.Log1p(math.Exp(-u)) / pairs
			g.AddScaledVec(g, -sigma/pairs, v)
			h.SymRankOne(h, sigma*(1-sigma)/pairs, v)
		}
	}
	for k := range d {
		value += p.l2 / 2 * w[k] * w[k]
		g.SetVec(k, g.AtVec(k)+p.l2*w[k])
		h.SetSym(k, k, h.At(k, k)+p.l2)
	}
	return value, g, h
}

// minimum is by Newton's method, which converges from 0 for these records.
func (p plain) minimum(t *testing.T, d int) []float64 {
	w := make([]float64, d)
	for range 100 {
		_, g, h := p.derivatives(w)
		if mat.Norm(g, 2) < 1e-13 {
			return w
		}
		var step mat.VecDense
		must.Do(t, step.SolveVec(h, g))
		for k := range w {
			w[k] -= step.AtVec(k)
		}
	}
	t.Fatal("the oracle found no minimum")
	return nil
}

func distance(a, b []float64) float64 { return floats.Distance(a, b, 2) }

func TestObjectiveIsItsDefinition(t *testing.T) {
	ctx := context.Background()
	r := records(t, 24, 3, 1)
	o := objectiveOf(t, engine.Logistic{}, r, 0.01, 20)
	p := plainOf(r, -1, 0.01)
	w, v := []float64{0.7, -1.2, 2}, []float64{1, 0.5, -2}
	value, g, h := p.derivatives(w)
	if got, err := o.Value(ctx, w); err != nil || math.Abs(got-value) > 1e-12 {
		t.Errorf("F(w) = %v (%v), want %v", got, err, value)
	}
	dst := make([]float64, 3)
	if err := o.Gradient(ctx, dst, w); err != nil || distance(dst, g.RawVector().Data) > 1e-12 {
		t.Errorf("gradient %v (%v), want %v", dst, err, g.RawVector().Data)
	}
	var hv mat.VecDense
	hv.MulVec(h, mat.NewVecDense(3, v))
	if err := o.HessianVector(ctx, dst, w, v); err != nil || distance(dst, hv.RawVector().Data) > 1e-8 {
		t.Errorf("Hessian times v: %v (%v), want %v", dst, err, hv.RawVector().Data)
	}
}

// TestChangeAgainstDefinition compares minima, influences and refits with an oracle that has an explicit
// Hessian, and finds a mean over n(n-1) pairs in the place of (n-1)(n-2).
func TestChangeAgainstDefinition(t *testing.T) {
	ctx := context.Background()
	const n, d, l2 = 24, 3, 0.01
	r := records(t, n, d, 2)
	o := objectiveOf(t, engine.Logistic{}, r, l2, 100)
	all := plainOf(r, -1, l2)
	want := all.minimum(t, d)
	w := make([]float64, d)
	must.Do(t, o.Minimise(ctx, w))
	if distance(w, want) > 1e-6 {
		t.Fatalf("minimum %v, want %v", w, want)
	}
	_, _, h := all.derivatives(want)
	target := []float64{1, -2, 0.5}
	changes := must.Get(o.Changes(ctx, w, target))(t)
	got := make([]float64, d)
	var wrongIsFar bool
	for i := range n {
		// The Newton step of the objective without i, from the minimum of all, with the Hessian of all.
		_, g, _ := plainOf(r, i, l2).derivatives(want)
		var step mat.VecDense
		must.Do(t, step.SolveVec(h, g))
		step.ScaleVec(-1, &step)
		must.Do(t, o.Change(ctx, got, w, i))
		exact := step.RawVector().Data
		if e := distance(got, exact); e > 1e-5*floats.Norm(exact, 2)+1e-8 {
			t.Errorf("record %d: change %v, want %v", i, got, exact)
		}
		wrong := slices.Clone(exact) // the defect
		for k := range wrong {
			wrong[k] *= float64(n-2) / float64(n)
		}
		wrongIsFar = wrongIsFar || distance(got, wrong) > 1e-3*floats.Norm(exact, 2)
		if e := math.Abs(changes[i] - floats.Dot(target, exact)); e > 1e-5*floats.Norm(target, 2)*floats.Norm(exact, 2)+1e-8 {
			t.Errorf("record %d: change of the function %v, want %v", i, changes[i], floats.Dot(target, exact))
		}
		must.Do(t, o.Refit(ctx, got, w, i))
		if e := distance(got, plainOf(r, i, l2).minimum(t, d)); e > 1e-6 {
			t.Errorf("record %d: refit is %.3g from the minimum without it", i, e)
		}
	}
	if !wrongIsFar {
		t.Error("the test cannot tell a wrong number of pairs")
	}
}

// TestStabilityAgainstDefinition computes every coefficient from the definition, with refits of the oracle.
func TestStabilityAgainstDefinition(t *testing.T) {
	ctx := context.Background()
	const n, d, l2 = 14, 2, 0.05
	r := records(t, n, d, 3)
	o := objectiveOf(t, engine.Logistic{}, r, l2, 100)
	w := make([]float64, d)
	must.Do(t, o.Minimise(ctx, w))
	exact := must.Get(o.Stability(ctx, w, func(dst []float64, i int) error { return o.Refit(ctx, dst, w, i) }, Progress{}))(t)
	loss := func(w []float64, j, k int) float64 {
		x := make([]float64, 2*d)
		r.Row(j, x[:d])
		r.Row(k, x[d:])
		u := (r.Label(j) - r.Label(k)) * (w[0]*(x[0]-x[2]) + w[1]*(x[1]-x[3]))
		return math.Log1p(math.Exp(-u))
	}
	all := plainOf(r, -1, l2).minimum(t, d)
	uniform := 0.0
	var ofPair [n][n]float64
	for i := range n {
		without := plainOf(r, i, l2).minimum(t, d)
		largest, mean := 0.0, 0.0
		for j := range n {
			for k := range n {
				if j != k {
					change := math.Abs(loss(without, j, k) - loss(all, j, k))
					largest, mean = max(largest, change), mean+change/(n*(n-1))
					ofPair[j][k] += change / n
				}
			}
		}
		if math.Abs(exact.Elastic[i]-largest) > 1e-6 || math.Abs(exact.Mean[i]-mean) > 1e-6 {
			t.Errorf("record %d: beta %v and mean %v, want %v and %v", i, exact.Elastic[i], exact.Mean[i], largest, mean)
		}
		uniform = max(uniform, largest)
	}
	must.Near(t, exact.Uniform, uniform, 1e-6, "uniform stability")
	expected := 0.0
	for j := range n {
		expected = max(expected, slices.Max(ofPair[j][:]))
	}
	must.Near(t, exact.Expected, expected, 1e-6, "the pair that changes most changes by")
	// The mean of the largest changes is more than the largest mean: the test would see them mixed up.
	if mean := stat.Mean(exact.Elastic, nil); !(mean > expected+1e-4 && exact.Uniform > expected+1e-4) {
		t.Errorf("the mean of the largest changes is %v, the largest mean %v: the test cannot tell them apart", mean, expected)
	}
	c := must.Get(engine.Logistic{}.Constants(r.Bounds(), 100))(t)
	if bound := uniformBound(c.Lipschitz, l2, n); !(exact.Uniform <= bound) {
		t.Errorf("uniform stability %v is above its bound %v", exact.Uniform, bound)
	}
	var told []int // 0 for the estimate
	estimate := must.Get(o.Stability(ctx, w, func(dst []float64, i int) error {
		err := o.Change(ctx, dst, w, i)
		floats.AddScaledTo(dst, dst, 1, w)
		return err
	}, Progress{Estimate: func(seconds float64) {
		if told = append(told, 0); !(seconds > 0) {
			t.Errorf("estimate of %v s", seconds)
		}
	}, Step: func(done, total int) { told = append(told, done*total) }}))(t)
	for i, v := range told {
		if v != i*n || len(told) != n+1 {
			t.Fatalf("the estimate does not come first, or steps are missing: %v", told)
		}
	}
	if p := stat.Correlation(estimate.Elastic, exact.Elastic, nil); p < 0.95 {
		t.Errorf("estimated and exact coefficients correlate by %.3f", p)
	}
}

// TestUniformBoundIsReached finds records whose coefficient is a good part of the bound, so that a bound
// that is too small by much would fail: two groups at the ends of the ball, and one record that
// contradicts them.
func TestUniformBoundIsReached(t *testing.T) {
	ctx := context.Background()
	loss := engine.Logistic{}
	best := 0.0
	for _, l2 := range []float64{10, 100} {
		const n = 6
		x, y := []float64{1, -1, 1, -1, 1, 1}, []float64{1, -1, 1, -1, 1, -1}
		r := must.Get(engine.NewRecords(x, y, 1, engine.UnitBounds()))(t)
		o := objectiveOf(t, loss, r, l2, 100)
		w := make([]float64, 1)
		must.Do(t, o.Minimise(ctx, w))
		s := must.Get(o.Stability(ctx, w, func(dst []float64, i int) error { return o.Refit(ctx, dst, w, i) }, Progress{}))(t)
		c := must.Get(loss.Constants(r.Bounds(), 100))(t)
		share := s.Uniform / uniformBound(c.Lipschitz, l2, n)
		if share > 1 {
			t.Errorf("L2 %g: the coefficient is %.3f of its bound", l2, share)
		}
		best = max(best, share)
	}
	if best < 0.02 {
		t.Errorf("the largest coefficient found is %.4f of the bound: the bound may be far off", best)
	}
}

// TestPolyakLojasiewicz compares with the eigenvalues of a quadratic, for which the ratio along an
// eigenvector is its eigenvalue.
func TestPolyakLojasiewicz(t *testing.T) {
	ctx := context.Background()
	square := expression(t, "(1-u)^2/2")
	r := records(t, 24, 2, 4)
	o := objectiveOf(t, square, r, 0.02, 50)
	w := make([]float64, 2)
	must.Do(t, o.Minimise(ctx, w))
	h := mat.NewSymDense(2, nil)
	for k := range 2 {
		v, e := make([]float64, 2), make([]float64, 2)
		e[k] = 1
		must.Do(t, o.HessianVector(ctx, v, w, e))
		for j := range 2 {
			h.SetSym(min(j, k), max(j, k), v[j])
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(h, false) {
		t.Fatal("no eigenvalues")
	}
	values := eigen.Values(nil)
	got := must.Get(o.PolyakLojasiewicz(ctx, w, 1, 200, 7))(t)
	if got.Points < 1000 || got.Smallest < values[0]*(1-1e-6) || got.Smallest > values[0]*1.02 {
		t.Errorf("smallest ratio %v at %d points, the eigenvalues are %v", got.Smallest, got.Points, values)
	}
	must.Err(o.PolyakLojasiewicz(ctx, []float64{w[0] + 3, w[1]}, 4, 50, 7))(t, "weights that are no minimum were accepted")
}

func expression(t *testing.T, text string) engine.Score {
	t.Helper()
	e := must.Get(engine.NewExpression("test", text, engine.ExpressionOptions{}))(t)
	return engine.Score{Of: e}
}

// TestOtherLosses compares influence with refits for a metric and for a network.
func TestOtherLosses(t *testing.T) {
	ctx := context.Background()
	n := 30
	if testing.Short() {
		n = 12
	}
	r := records(t, n, 2, 5)
	mlp := must.Get(embedding.NewMLP(embedding.MLP{In: 2, Hidden: []int{3}, Out: 1, Radii: []float64{8, 8}}))(t)
	network := embedding.Loss{Model: embedding.Model{Network: mlp}, Pair: embedding.Score{Of: engine.Logistic{}}, Clip: 0.1}
	for name, c := range map[string]struct {
		loss  engine.Loss
		start []float64
		least float64
	}{
		"metric":  {engine.Metric{Of: engine.Logistic{}}, make([]float64, 3), 0.95},
		"network": {network, mlp.Start(3), 0.8},
	} {
		t.Run(name, func(t *testing.T) {
			o := objectiveOf(t, c.loss, r, 0.05, 20)
			w := c.start
			must.Do(t, o.Minimise(ctx, w))
			// The function is the mean loss itself.
			gradient := make([]float64, len(w))
			floats.AddScaledTo(gradient, gradient, -o.l2, w)
			predicted := must.Get(o.Changes(ctx, w, gradient))(t)
			mean := func(w []float64) float64 {
				v := must.Get(o.Value(ctx, w))(t)
				return v - o.l2/2*floats.Dot(w, w)
			}
			exact, dst := make([]float64, n), make([]float64, len(w))
			for i := range n {
				must.Do(t, o.Refit(ctx, dst, w, i))
				exact[i] = mean(dst) - mean(w)
				must.Do(t, o.Change(ctx, dst, w, i))
				if e := math.Abs(floats.Dot(gradient, dst) - predicted[i]); e > 1e-4*floats.Norm(gradient, 2)*floats.Norm(dst, 2)+1e-7 {
					t.Errorf("record %d: %v by its own system, %v by that of the function", i, floats.Dot(gradient, dst), predicted[i])
				}
			}
			if p := stat.Correlation(predicted, exact, nil); !(p >= c.least) {
				t.Errorf("Pearson correlation %.4f, want at least %v", p, c.least)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	r := records(t, 12, 2, 6)
	hinge := expression(t, "max(0, 1-u)")
	must.Err(NewObjective(cpu.Backend{}, hinge, r, 0.1, 10))(t, "a loss with a kink was accepted")
	must.Err(NewObjective(cpu.Backend{}, engine.Logistic{}, r.Subset([]int{1, 2, 3}), 0.1, 10))(t, "three records were accepted")
	must.Err(NewObjective(cpu.Backend{}, engine.Logistic{}, r, math.NaN(), 10))(t, "an L2 that is no number was accepted")
	o := objectiveOf(t, engine.Logistic{}, r, 1e-9, 1)
	must.FailDo(t, o.Minimise(context.Background(), make([]float64, 2)), ErrOutside, "a minimum outside of the ball")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	must.FailDo(t, o.Minimise(cancelled, make([]float64, 2)), context.Canceled, "a cancelled search")
}
