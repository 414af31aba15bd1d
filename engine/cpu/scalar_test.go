package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	power "dyad/internal/sizes"
)

// expression is a built-in loss, or a formula.
func expression(t testing.TB, text string, params map[string]float64) *engine.Expression {
	t.Helper()
	if l, ok := engine.LibraryByName(text); ok {
		return must.Get(l.Expression(engine.ExpressionOptions{Params: params}))(t)
	}
	return must.Get(engine.NewExpression(text, text, engine.ExpressionOptions{Params: params}))(t)
}

// TestScalarConformance covers every built-in expression and hand-written slopes with
// jumps, by every method that takes them.
func TestScalarConformance(t *testing.T) {
	sizes, radii, few := power.Of([]int{2, 65}, []int{2, 3, 17, 64, 129}), power.Of([]float64{1}, []float64{0.3, 1}), testing.Short()
	if few {
		sizes, radii = []int{33}, []float64{1}
	}
	run := func(name string, method cpu.Method, losses []engine.ScoreLoss, metric []engine.MetricLoss) {
		t.Run(fmt.Sprintf("%s/%v", name, method), func(t *testing.T) {
			enginetest.Run(t, cpu.Backend{Method: method}, enginetest.Options{
				Losses: losses, MetricLosses: metric, Sizes: sizes, Radii: radii, Groups: power.Of([][]int{{3, 1, 20}}, nil),
				WithWorkers: func(k int) engine.Backend { return cpu.Backend{Workers: k, Method: method} },
				PerPair:     2e-11, // steep slopes have margins that matter more than their size
			})
		})
	}
	var pieces []engine.ScoreLoss
	for _, p := range []enginetest.Pieces{enginetest.Hinge(), enginetest.SquaredHinge(), enginetest.Zigzag()} {
		pieces = append(pieces, engine.Score{Of: p})
	}
	run("pieces", cpu.Sorted, pieces, noMetric)
	run("pieces", cpu.Direct, pieces, []engine.MetricLoss{engine.Metric{Of: enginetest.Hinge()}, engine.Metric{Of: enginetest.Zigzag()}})
	var all []engine.ScoreLoss
	for i, l := range engine.Library() {
		if few && i%6 != 0 || !power.Full() && i%3 != 0 { // one code for all
			continue
		}
		all = append(all, engine.Score{Of: expression(t, l.Name, nil)})
	}
	var formulas []engine.ScoreLoss
	for i, text := range []string{
		"-log(normcdf(u))", "abs(u) + log1p(exp(-2*abs(u))) - log(2)", "u*atan(u) - log1p(u^2)/2", "1 - erf(u)", "normcdf(-u)",
		"where(abs(1 - u) <= 1, (1 - u)^2/2, abs(1 - u) - 1/2)", "max(0, -u) + log1p(exp(-abs(u)))",
	} {
		if few && i > 0 {
			break
		}
		formulas = append(formulas, engine.Score{Of: expression(t, text, nil)})
	}
	if !few {
		sizes = power.Of([]int{33}, []int{3, 64})
	}
	metric := []engine.MetricLoss{engine.Metric{Of: expression(t, "logistic", nil)}, engine.Metric{Of: expression(t, "contrastive", nil)}}
	normal := []engine.MetricLoss{engine.Metric{Of: expression(t, "-log(normcdf(u))", nil)}}
	if few {
		metric, normal = metric[:1], noMetric
	}
	run("formulas", cpu.Direct, formulas, normal)
	run("formulas", cpu.Auto, power.Of(formulas[:min(2, len(formulas))], formulas), noMetric)
	if !few {
		sizes = power.Of([]int{33}, []int{3, 64, 129})
	}
	run("library", cpu.Auto, all, metric)
}

// TestExpressionIsLogistic: the same gradients as the kernels of Logistic and of
// MahalanobisLogistic, within both bounds.
func TestExpressionIsLogistic(t *testing.T) {
	const n, d = 300, 4
	r := benchRecords(t, n, d)
	e := expression(t, "logistic", nil)
	pairs := engine.AllPairs{N: n}
	for _, c := range []struct{ hand, machine engine.Loss }{
		{engine.Logistic{}, engine.Score{Of: e}}, {engine.MahalanobisLogistic{}, engine.Metric{Of: e}},
	} {
		var sums [2][]float64
		var bound float64
		for i, loss := range []engine.Loss{c.hand, c.machine} {
			p := problem(n, d, 1)
			p.Loss = loss
			w := p.Domain().Start()
			if w[0] == 0 {
				copy(w, inBall(d, 1))
			}
			var roundoff float64
			sums[i], roundoff = sumOver(t, cpu.Backend{}, p, r, w, pairs)
			bound += roundoff
		}
		diff, size := distance(sums[0], sums[1]), distance(sums[0], make([]float64, len(sums[0])))
		if diff > bound || size < 1e6*bound {
			t.Errorf("%s: sums of norm %v differ by %v, the bounds add up to %v", c.machine.Name(), size, diff, bound)
		}
	}
}

// TestSumsAreSumsOfPairs is the attack on the notion of Roundoff for losses that are not
// smooth. Many pairs sit at a kink, so that roundings decide their slopes. The sum must
// still be that of terms which depend on their two records alone: the gradients of the
// data sets of two records each. The labels are of two values, or of many, which changes
// the methods' ways.
func TestSumsAreSumsOfPairs(t *testing.T) {
	const n, d = 30, 6
	w := inBall(d, 1)
	crossed := 0
	for _, form := range []enginetest.Pieces{enginetest.Hinge(), enginetest.Zigzag()} {
		for _, method := range []cpu.Method{cpu.Direct, cpu.Sorted} {
			for trial := range 6 {
				rng := rand.New(rand.NewPCG(5, uint64(trial)))
				p := problem(n, d, 1)
				p.Loss = engine.Score{Of: form}
				x, y := atKinks(rng, n, d, w)
				if trial%2 == 1 {
					y[0], p.LabelValues = rng.Float64(), engine.AnyLabels
				}
				whole, bound := gradSum(t, method, p, x, y, w)
				differs := func(method cpu.Method) (diff, limit float64) {
					sum, total := make([]float64, d), bound
					for i := range n {
						for j := range i {
							one := p
							one.N = 2
							pair, b := gradSum(t, method, one, append(x[i*d:(i+1)*d:(i+1)*d], x[j*d:(j+1)*d]...), []float64{y[i], y[j]}, w)
							for k := range sum {
								sum[k] += pair[k]
							}
							total += b
						}
					}
					return distance(whole, sum), total + n*n*0x1p-44
				}
				if diff, limit := differs(method); diff > limit {
					t.Errorf("%s, %v, trial %d: the sum differs from the sum of its pairs by %v, limit %v", form.Label, method, trial, diff, limit)
				}
				// Control: the other method has another rule at a kink.
				if diff, limit := differs(cpu.Direct + cpu.Sorted - method); diff > limit {
					crossed++
				}
			}
		}
	}
	if crossed == 0 {
		t.Error("no pair is at a kink: two rules give the same sums")
	}
}

// atKinks makes records whose margins under w are at 1, 0, 0.3 or -0.7 up to rounding.
func atKinks(rng *rand.Rand, n, d int, w []float64) (x, y []float64) {
	x, y = make([]float64, n*d), make([]float64, n)
	var square float64
	for _, v := range w {
		square += v * v
	}
	for i := range n {
		y[i] = float64(2*(i%2) - 1)
		// The score, so that label difference 2 times score difference is a knot.
		score := []float64{0, 0.15, -0.35, 0.5}[rng.IntN(4)] / 2
		if y[i] < 0 {
			score = -score
		}
		noise := make([]float64, d)
		var along float64
		for k := range noise {
			noise[k] = rng.NormFloat64() / 10
			along += noise[k] * w[k]
		}
		for k := range d {
			x[i*d+k] = noise[k] + w[k]*(score-along)/square
		}
	}
	return x, y
}

// gradSum returns the sum over all pairs and its Roundoff.
func gradSum(t *testing.T, method cpu.Method, p engine.Problem, x, y, w []float64) (sum []float64, bound float64) {
	t.Helper()
	r := must.Get(engine.NewRecords(x, y, p.D, p.Bounds))(t)
	return sumOver(t, cpu.Backend{Method: method, Workers: 1}, p, r, w, engine.AllPairs{N: p.N})
}

func distance(x, y []float64) (sum float64) {
	for k := range x {
		sum = math.Hypot(sum, x[k]-y[k])
	}
	return sum
}

// outside computes slopes beyond its bounds, as an evaluator with a wrong branch would.
type outside struct{ engine.Scalar }

func (o outside) DPhi(u float64) float64 { return o.Scalar.DPhi(u) * 5 }
func (o outside) Slopes(u []float64) {
	for i, v := range u {
		u[i] = o.DPhi(v)
		if i%7 == 3 {
			u[i] = math.NaN()
		}
	}
}

// TestRoughSlopesAreClamped: whatever is computed for a loss that is not smooth, every
// pair gradient stays within the constants.
func TestRoughSlopesAreClamped(t *testing.T) {
	const n, d = 40, 3
	r := benchRecords(t, n, d)
	for _, loss := range []engine.Loss{engine.Score{Of: outside{enginetest.Hinge()}}, engine.Metric{Of: outside{enginetest.Hinge()}}} {
		p := problem(n, d, 1)
		p.Loss = loss
		c := must.Get(loss.Constants(p.Bounds, p.Radius))(t)
		for _, pairs := range []engine.Pairs{engine.AllPairs{N: n}, engine.PrefixPairs{T: n - 1}} {
			dst, roundoff := sumOver(t, cpu.Backend{}, p, r, p.Domain().Start(), pairs)
			norm := distance(dst, make([]float64, len(dst)))
			must.Within(t, norm, 0, float64(pairs.Len())*c.Lipschitz+roundoff, "%s over %T: norm", loss.Name(), pairs)
		}
	}
}

func TestPlanOfScalars(t *testing.T) {
	for _, c := range []struct {
		text   string
		method cpu.Method
		n      int
		want   string // "" if unsupported
	}{
		{"gompertz", cpu.Auto, 20, "direct"},
		{"gompertz", cpu.Auto, 2000, "near-linear"},
		{"hinge", cpu.Auto, 20, "sorted"},
		{"hinge", cpu.Auto, 2000, "sorted"},
		{"square", cpu.Auto, 2000, "near-linear"},
		{"square", cpu.Sorted, 2000, "sorted"},
		{"hinge", cpu.NearLinear, 2000, ""},
		{"gompertz", cpu.Sorted, 2000, ""},
		{"gompertz", cpu.Direct, 2000, "direct"},
		{"max(0, 1 - u)^3", cpu.Sorted, 2000, ""},
	} {
		p := problem(c.n, 5, 1)
		p.Loss = engine.Score{Of: expression(t, c.text, nil)}
		k, err := cpu.Backend{Method: c.method}.Plan(p)
		switch {
		case c.want == "" && !errors.Is(err, engine.ErrUnsupported):
			t.Errorf("%s, %v: %v, want ErrUnsupported", c.text, c.method, err)
		case c.want != "" && (err != nil || k.Method() != c.want):
			t.Errorf("%s, %v, n = %d: %v, %v, want %s", c.text, c.method, c.n, k, err, c.want)
		}
	}
}

// TestMillionRecords: a thousand copies of a thousand records have 10^6 times their
// gradient sum, because copies of one record have no gradient. So the methods for large
// n are compared with the direct sum over the thousand, within both bounds.
func TestMillionRecords(t *testing.T) {
	power.NotShort(t, "takes a few seconds")
	const base, copies, d = 1000, 1000, 3
	w := inBall(d, 1)
	small := benchRecords(t, base, d)
	x, y := make([]float64, 0, base*copies*d), make([]float64, 0, base*copies)
	row := make([]float64, d)
	for range copies {
		for i := range base {
			small.Row(i, row)
			x, y = append(x, row...), append(y, small.Label(i))
		}
	}
	for name, method := range map[string]string{"gompertz": "near-linear", "1 - tanh(u)": "near-linear", "squared-hinge": "sorted", "huberised-hinge": "sorted"} {
		p := problem(base, d, 1)
		p.Loss = engine.Score{Of: expression(t, name, nil)}
		want, bound := sumOver(t, cpu.Backend{Method: cpu.Direct}, p, small, w, engine.AllPairs{N: base})
		bound *= copies * copies
		for k := range want {
			want[k] *= copies * copies
		}
		p.N = base * copies
		got, b := gradSum(t, cpu.Auto, p, x, y, w)
		must.Equal(t, must.Get((cpu.Backend{}).Plan(p))(t).Method(), method, "%s", name)
		diff, size := distance(got, want), distance(want, make([]float64, d))
		t.Logf("%s, %s: |error| = %.2g of %.3g, bounds %.2g and %.2g", name, method, diff, size, b, bound)
		if diff > bound+b || bound+b > 1e-9*size {
			t.Errorf("%s, %s: sums of norm %v differ by %v, the bounds are %v and %v", name, method, size, diff, b, bound)
		}
	}
}

// BenchmarkDirectPairs compares the block evaluator of an expression with the plain
// exponential path of the logistic loss.
func BenchmarkDirectPairs(b *testing.B) {
	const n, d = 4096, 2
	r := benchRecords(b, n, d)
	w := inBall(d, 1)
	for name, loss := range map[string]engine.Loss{
		"exponential path": scoreOnly{engine.Logistic{}},
		"expression":       engine.Score{Of: expression(b, "logistic", nil)},
		"gompertz":         engine.Score{Of: expression(b, "gompertz", nil)},
	} {
		b.Run(name, func(b *testing.B) {
			p := problem(n, d, 1)
			p.Loss = loss
			e := mustBind(b, cpu.Backend{Workers: 1, Method: cpu.Direct}, p, r)
			dst := make([]float64, d)
			for b.Loop() {
				must.Do(b, e.Sum(context.Background(), dst, engine.Gradient(w, engine.AllPairs{N: n})))
			}
		})
	}
}
