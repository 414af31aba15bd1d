package cpu_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/objective"
	"dyad/internal/must"
	"dyad/internal/tasks"
)

// cosineLoss is a loss of another package: cosine similarity of scaled records against the
// labels, no function of one margin. lie multiplies its gradient, which its G does not know.
type cosineLoss struct{ lie, smoothness float64 }

func (cosineLoss) Name() string       { return "cosine" }
func (cosineLoss) Definition() string { return "(tanh(w.x w.x') - y y')^2 / 2" }
func (cosineLoss) ParamDim(d int) int { return d }
func (l cosineLoss) Constants(b engine.Bounds, r float64) (engine.Constants, error) {
	g := 4 * b.FeatureNorm * b.FeatureNorm * r
	return engine.Constants{Lipschitz: g, Smoothness: l.smoothness, PairDiameter: 2 * g, Origin: engine.Clipped}, nil
}

func (cosineLoss) Value(w []float64, z, zp engine.Record) float64 {
	e := math.Tanh(dot(w, z.X)*dot(w, zp.X)) - z.Y*zp.Y
	return e * e / 2
}

func (l cosineLoss) AddGrad(dst, w []float64, z, zp engine.Record) {
	s, t := dot(w, z.X), dot(w, zp.X)
	h := math.Tanh(s * t)
	c := l.lie * (h - z.Y*zp.Y) * (1 - h*h)
	for k := range dst {
		dst[k] += c * (t*z.X[k] + s*zp.X[k])
	}
}

func dot(a, b []float64) (s float64) {
	for k, v := range a {
		s += v * b[k]
	}
	return s
}

func ownProblem(n, d int, l cosineLoss) engine.Problem {
	return engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: l, Radius: 1}
}

func ownRecords(t *testing.T, rng *rand.Rand, n, d int) (x, y []float64) {
	t.Helper()
	x, y = make([]float64, n*d), make([]float64, n)
	for i := range n {
		var square float64
		for k := range d {
			if rng.IntN(3) > 0 {
				x[i*d+k] = rng.NormFloat64()
			}
			square += x[i*d+k] * x[i*d+k]
		}
		for k := range d {
			x[i*d+k] /= math.Sqrt(square+1e-9) * 1.001
		}
		y[i] = float64(2*rng.IntN(2) - 1)
	}
	return x, y
}

// TestOwnLoss: sums are those of clipped terms within Roundoff, dense and sparse, the same bits
// for every number of workers; all pairs and prefixes, also in an order.
func TestOwnLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{2, 3, 65, 300} {
		const d = 5
		x, y := ownRecords(t, rng, n, d)
		dense := must.Get(engine.AdoptRecords(slices.Clone(x), slices.Clone(y), d, engine.UnitBounds()))(t)
		sparse := sparsely(t, dense.Dense(), y, d, engine.UnitBounds())
		w := []float64{0.3, -0.2, 0.5, 0.1, -0.4}
		loss := cosineLoss{lie: 1, smoothness: math.Inf(1)}
		order := permuted(rng, n)
		for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}, engine.PrefixPairs{T: n / 2, Order: order}} {
			want := make([]float64, d)
			add := func(i, j int) {
				term := make([]float64, d)
				loss.AddGrad(term, w, engine.Record{X: dense.Dense()[i*d : i*d+d], Y: y[i]}, engine.Record{X: dense.Dense()[j*d : j*d+d], Y: y[j]})
				for k, v := range term {
					want[k] += v
				}
			}
			switch q := pairs.(type) {
			case engine.AllPairs:
				for i := range n {
					for j := range n {
						if i != j {
							add(i, j)
						}
					}
				}
			case engine.PrefixPairs:
				for i := range q.T {
					if q.Order == nil {
						add(q.T, i)
					} else {
						add(int(q.Order[q.T]), int(q.Order[i]))
					}
				}
			}
			var bits []float64
			for _, workers := range []int{1, 2, 7} {
				for _, r := range []*engine.Records{dense, sparse} {
					k := must.Get(cpu.Backend{Workers: workers}.Plan(ownProblem(n, d, loss)))(t)
					e := must.Get(k.Bind(r))(t)
					got := []float64{math.NaN(), 1, 2, 3, 4}
					must.Do(t, e.Sum(context.Background(), got, engine.Gradient(w, pairs)))
					if bits == nil {
						bits = slices.Clone(got)
					}
					must.Same(t, bits, got, "n = %d, %d workers, sparse %v: %v, want", n, workers, r.IsSparse(), got)
					off := distance(got, want)
					if bound := k.Bounds(engine.Query{Pairs: pairs}).Sum; !(off <= 2*bound) || !(bound < 1e-9*float64(pairs.Len())) {
						t.Errorf("n = %d, %T: off by %v, Roundoff %v", n, pairs, off, bound)
					}
					done, cancel := context.WithCancel(context.Background())
					cancel()
					must.FailDo(t, e.Sum(done, got, engine.Gradient(w, pairs)), context.Canceled, "cancelled")
				}
			}
		}
		must.Check(objective.Mean(context.Background(), loss, w, dense))(t)
	}
}

// TestOwnLossIsClipped: whatever AddGrad returns, a replaced record moves the sum by at most
// 2 (n-1) 2 G and roundings; the control is the same loss without the clip.
func TestOwnLossIsClipped(t *testing.T) {
	const n, d = 20, 3
	rng := rand.New(rand.NewPCG(5, 5))
	w := []float64{0.6, -0.7, 0.2}
	sum := func(l cosineLoss, x, y []float64) (out []float64, bound float64) {
		r := must.Get(engine.AdoptRecords(slices.Clone(x), slices.Clone(y), d, engine.UnitBounds()))(t)
		out, roundoff := sumOver(t, cpu.Backend{}, ownProblem(n, d, l), r, w, engine.AllPairs{N: n})
		c, _ := l.Constants(engine.UnitBounds(), 1)
		return out, 2*(n-1)*2*c.Lipschitz + 2*roundoff
	}
	for _, lie := range []float64{1, 1e6, 1e300, math.Inf(1), math.NaN()} {
		l := cosineLoss{lie: lie, smoothness: math.Inf(1)}
		var worst, bound, control float64
		for range 50 {
			x, y := ownRecords(t, rng, n, d)
			before, b := sum(l, x, y)
			far := slices.Clone(x)
			at := rng.IntN(n)
			for k := range d {
				far[at*d+k] *= -1
			}
			after, _ := sum(l, far, y)
			bound = b
			worst = max(worst, distance(after, before))
			control = max(control, math.Abs(dot(w, raw(l, w, far, y))-dot(w, raw(l, w, x, y))))
		}
		must.Within(t, worst, 0, bound, "a gradient times %v moves by", lie)
		if lie == 1e6 && worst < bound/10 {
			t.Errorf("the attack reaches %v of %v only", worst, bound)
		}
		if lie == 1e6 && control < bound {
			t.Errorf("without the clip %v would be within the bound %v: the control is too weak", control, bound)
		}
	}
}

// raw is the sum over all pairs without a clip.
func raw(l cosineLoss, w, x, y []float64) []float64 {
	sum, d := make([]float64, len(w)), len(w)
	for i := range y {
		for j := range y {
			if i != j {
				l.AddGrad(sum, w, engine.Record{X: x[i*d : i*d+d], Y: y[i]}, engine.Record{X: x[j*d : j*d+d], Y: y[j]})
			}
		}
	}
	return sum
}

// TestOwnLossRefusals: what the kernel cannot promise is refused with the remedy.
func TestOwnLossRefusals(t *testing.T) {
	rough := cosineLoss{lie: 1, smoothness: math.Inf(1)}
	for name, c := range map[string]struct {
		b cpu.Backend
		l cosineLoss
	}{
		"smooth": {cpu.Backend{}, cosineLoss{lie: 1, smoothness: 3}}, "near-linear": {cpu.Backend{Method: cpu.NearLinear}, rough},
		"sorted": {cpu.Backend{Method: cpu.Sorted}, rough}, "float32": {cpu.Backend{Float32: true}, rough},
	} {
		must.Fail(c.b.Plan(ownProblem(10, 2, c.l)))(t, engine.ErrUnsupported, name)
	}
	if k, err := (cpu.Backend{Method: cpu.Direct}).Plan(ownProblem(10, 2, rough)); err != nil || k.Method() != "pair by pair" || !math.IsInf(k.Bounds(engine.Query{Pairs: engine.AllPairs{N: 9}}).Sum, 1) || !math.IsInf(k.Bounds(engine.Query{Pairs: engine.SubsetPairs{N: 3}}).Sum, 1) {
		t.Errorf("%v", err)
	}
}

// tightLoss says that clipping enforces a diameter that it does not.
type tightLoss struct{ cosineLoss }

func (l tightLoss) Constants(b engine.Bounds, r float64) (engine.Constants, error) {
	c, err := l.cosineLoss.Constants(b, r)
	c.PairDiameter /= 200
	return c, err
}

func TestClippedTermsHaveTwiceTheirNorm(t *testing.T) {
	p := ownProblem(10, 2, cosineLoss{lie: 1, smoothness: math.Inf(1)})
	must.Get((cpu.Backend{}).Plan(p))(t)
	p.Loss = tightLoss{cosineLoss{lie: 1, smoothness: math.Inf(1)}}
	must.Fail((cpu.Backend{}).Plan(p))(t, "state Dg = 2 G", "a diameter below 2 G of a clipped loss")
}

// brokenLoss is a loss of somebody else's that panics at some record.
type brokenLoss struct{ cosineLoss }

func (brokenLoss) AddGrad(dst, _ []float64, z, _ engine.Record) {
	if z.Y > 0 {
		dst[len(dst)]++
	}
}

// A panic in a worker is the caller's.
func TestPanicOfAWorkerIsTheCallers(t *testing.T) {
	p := ownProblem(200, 3, cosineLoss{smoothness: math.Inf(1)})
	p.Loss = brokenLoss{cosineLoss{smoothness: math.Inf(1)}}
	kernel := must.Get(cpu.Backend{Workers: 4}.Plan(p))(t)
	y := make([]float64, p.N)
	y[150] = 1
	r := must.Get(engine.NewRecords(make([]float64, p.N*p.D), y, p.D, p.Bounds))(t)
	e := must.Get(kernel.Bind(r))(t)
	defer func() {
		if p, ok := recover().(*tasks.Panic); !ok {
			t.Errorf("%v is not the panic of a worker", p)
		}
	}()
	err := e.Sum(t.Context(), make([]float64, p.D), engine.Gradient(make([]float64, p.D), engine.AllPairs{N: p.N}))
	t.Errorf("no panic: %v", err)
}
