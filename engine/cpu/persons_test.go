package cpu_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// TestPersonSumsMatchBruteForce: every method, with every number of workers, is within Roundoff
// of the sum over pairs of persons in twice the precision.
func TestPersonSumsMatchBruteForce(t *testing.T) {
	sizes.NotShort(t, "slow")
	score := []engine.ScoreLoss{engine.Logistic{}, enginetest.SmoothHinge{}}
	var pieces []engine.ScoreLoss
	for _, p := range []enginetest.Pieces{enginetest.Hinge(), enginetest.SquaredHinge(), enginetest.Zigzag()} {
		pieces = append(pieces, engine.Score{Of: p})
	}
	metric := []engine.MetricLoss{engine.MahalanobisLogistic{}, engine.Metric{Of: enginetest.Hinge()}, engine.Metric{Of: enginetest.Zigzag()}}
	for _, c := range []struct {
		method cpu.Method
		losses []engine.ScoreLoss
		metric []engine.MetricLoss
	}{
		{cpu.Auto, score, metric}, {cpu.Direct, append(score, pieces...), noMetric}, {cpu.NearLinear, score, noMetric}, {cpu.Sorted, pieces, noMetric},
	} {
		for _, v := range []kernels.Variant{kernels.Generic, kernels.Best} {
			if v == kernels.Generic && !sizes.Full() && (c.method == cpu.NearLinear || c.method == cpu.Sorted) {
				continue // the two other methods have both variants
			}
			t.Run(fmt.Sprintf("%v/%v", c.method, v), func(t *testing.T) {
				opts := enginetest.Options{
					Losses: c.losses, MetricLosses: c.metric, Persons: true, PerPair: 2e-11,
					Sizes: []int{3}, Groups: [][]int{}, Radii: []float64{1},
					WithWorkers: func(k int) engine.Backend { return cpu.Backend{Workers: k, Method: c.method, Variant: v} },
				}
				if v == kernels.Best {
					opts.Radii = sizes.Of([]float64{6}, []float64{0.3, 6})
				}
				if c.method == cpu.NearLinear {
					opts.Unsupported = onlyAnyLabels(t)
				}
				enginetest.Run(t, cpu.Backend{Method: c.method, Variant: v}, opts)
			})
		}
	}
}

// family are records of persons; rows of person k are x[k], y[k].
type family struct {
	x [][]float64
	y [][]float64
}

func (f family) records(t *testing.T, d, most int, b engine.Bounds) *engine.Records {
	t.Helper()
	var x, y []float64
	var of []int32
	for k := range f.y {
		x, y = append(x, f.x[k]...), append(y, f.y[k]...)
		for range f.y[k] {
			of = append(of, int32(k))
		}
	}
	return must.Get(must.Get(engine.NewRecords(x, y, d, b))(t).GroupPersons(of, len(f.y), most))(t)
}

func (f family) sum(t *testing.T, b cpu.Backend, p engine.Problem, w []float64) (dst []float64, roundoff float64) {
	t.Helper()
	p.N = len(f.y)
	return sumOver(t, b, p, f.records(t, p.D, p.PersonRows, p.Bounds), w, p.Pairs())
}

// TestPersonPositionsAreTheirOwn: where the last bit of a slope decides a jump, the sum is
// that of the terms of two persons each, computed from a data set of these two, so neither the
// position of a row nor how many rows others have is in a term.
func TestPersonPositionsAreTheirOwn(t *testing.T) {
	const d, cap = 3, 6
	rng := rand.New(rand.NewPCG(53, 26))
	for trial := range 8 {
		metric := trial%2 == 1
		var f family
		for range 9 {
			x, y := fewScores(rng, 1+rng.IntN(cap), d, false)
			f.x, f.y = append(f.x, x), append(f.y, y)
		}
		w, at := make([]float64, d), 0.0
		if metric {
			w, at = make([]float64, d*(d+1)/2), 1
		}
		if trial >= 4 {
			w[0] = 0.5
			if at = 1; metric {
				at = 0.5
			}
		}
		losses := []engine.Loss{}
		for _, phi := range kinksAt(t, at, []float64{2.8, 0.2, 1.1, 0.7}[trial/2]) {
			if losses = append(losses, engine.Score{Of: phi}); metric {
				losses[len(losses)-1] = engine.Metric{Of: phi}
			}
		}
		methods := []cpu.Method{cpu.Direct}
		if !metric {
			losses, methods = append(losses, engine.Score{Of: enginetest.Hinge()}, engine.Score{Of: enginetest.Zigzag()}), append(methods, cpu.Sorted)
		}
		for _, loss := range losses {
			for _, method := range methods {
				p := problem(2, d, 1)
				p.Loss, p.PersonRows = loss, cap
				b := cpu.Backend{Method: method}
				if _, err := b.Plan(p); err != nil && method == cpu.Sorted {
					continue // no pieces
				}
				whole, limit := f.sum(t, b, p, w)
				total := make([]float64, len(w))
				for i := range f.y {
					for j := i + 1; j < len(f.y); j++ {
						two := family{[][]float64{f.x[i], f.x[j]}, [][]float64{f.y[i], f.y[j]}}
						pair, r := two.sum(t, b, p, w)
						limit += r
						for k := range total {
							total[k] += pair[k]
						}
					}
				}
				must.Within(t, distance(whole, total), 0, limit+0x1p-40, "%s, %v: the sum is ... from that of its persons, limit %v", loss.Name(), method, limit)
			}
		}
	}
}

// TestPersonsReplaced attacks the certificate of one gradient: whole persons are replaced, with
// other numbers of rows, features and labels, by random and by extreme ones. The sums move by at
// most 2 (P-1) PairDiameter and the rounding, and nearly as much is reached. The same search
// catches a sum over all pairs of rows of different persons, divided by their mean number, and
// one that counts the pairs within a person with P (P-1) pairs.
func TestPersonsReplaced(t *testing.T) {
	sizes.NotShort(t, "slow")
	const cap = 12
	for _, c := range []struct {
		loss   engine.Loss
		method cpu.Method
		least  float64
	}{
		{engine.Logistic{}, cpu.NearLinear, 0.4}, {engine.Logistic{}, cpu.Direct, 0.4},
		{engine.Score{Of: enginetest.Hinge()}, cpu.Sorted, 0.9}, {engine.Score{Of: enginetest.Hinge()}, cpu.Direct, 0.9},
		{engine.MahalanobisLogistic{}, cpu.Auto, 0.1}, {engine.Metric{Of: enginetest.Hinge()}, cpu.Auto, 0.3},
	} {
		rng := rand.New(rand.NewPCG(7, uint64(c.method)))
		p := problem(2, 2, 1)
		p.Loss, p.PersonRows = c.loss, cap
		constants := must.Get(c.loss.Constants(p.Bounds, p.Radius))(t)
		var worst float64
		for trial := range 150 {
			f, g := neighbours(rng, trial, 4+rng.IntN(5), cap)
			w := make([]float64, c.loss.ParamDim(p.D))
			if trial%3 > 0 {
				w[0] = rng.Float64()
			}
			b := cpu.Backend{Method: c.method}
			s, rho := f.sum(t, b, p, w)
			z, _ := g.sum(t, b, p, w)
			worst = max(worst, (distance(s, z)-2*rho)/(2*float64(len(f.y)-1)*constants.PairDiameter))
		}
		t.Logf("%s, %v: moved at most %.4g of what is certified", c.loss.Name(), c.method, worst)
		must.Within(t, worst, c.least, 1, "%s, %v: moved ... of what is certified, want %.4g to 1", c.loss.Name(), c.method, c.least)
	}
}

// neighbours are two data sets that differ in all rows of one person.
func neighbours(rng *rand.Rand, trial, persons, cap int) (f, g family) {
	person := func(extreme int) (x, y []float64) {
		for range 1 + rng.IntN(cap) {
			switch a := 2 * math.Pi * rng.Float64(); extreme {
			case 0:
				x, y = append(x, math.Cos(a), math.Sin(a)), append(y, math.Copysign(1, rng.Float64()-0.5))
			default:
				x, y = append(x, float64(extreme), 0), append(y, float64(extreme))
			}
		}
		return x, y
	}
	extreme := 1 - trial%2 // of all others
	for range persons {
		x, y := person(extreme)
		f.x, f.y = append(f.x, x), append(f.y, y)
	}
	g.x, g.y = append(g.x, f.x...), append(g.y, f.y...)
	k := rng.IntN(persons)
	g.x[k], g.y[k] = person(-extreme)
	return f, g
}

// TestPersonDefectsAreCaught: the search of TestPersonsReplaced finds neighbours for which wrong
// means move further than is certified for persons: of the logistic loss, and of <w, x + x'>,
// whose gradients move by Dg = 2R.
func TestPersonDefectsAreCaught(t *testing.T) {
	const cap = 12
	logistic := engine.Logistic{}
	p := problem(2, 2, 1)
	c := must.Get(logistic.Constants(p.Bounds, p.Radius))(t)
	linear := func(dst, _ []float64, z, zp engine.Record) {
		for k := range dst {
			dst[k] += z.X[k] + zp.X[k]
		}
	}
	addGrad, diameter := logistic.AddGrad, c.PairDiameter
	// mean sums l over pairs of rows with the given weights, by the definition.
	mean := func(f family, w []float64, weight func(p, q int) float64) []float64 {
		dst, one := make([]float64, len(w)), make([]float64, len(w))
		for p := range f.y {
			for q := range f.y {
				clear(one)
				for i, yi := range f.y[p] {
					for j, yj := range f.y[q] {
						if p != q || i != j {
							addGrad(one, w, engine.Record{X: f.x[p][2*i:][:2], Y: yi}, engine.Record{X: f.x[q][2*j:][:2], Y: yj})
						}
					}
				}
				for k := range dst {
					dst[k] += one[k] * weight(p, q)
				}
			}
		}
		return dst
	}
	rows := func(f family) (n int) {
		for _, y := range f.y {
			n += len(y)
		}
		return n
	}
	defects := map[string]func(f family, w []float64) []float64{
		"a mean over pairs of rows": func(f family, w []float64) []float64 {
			n := float64(rows(f))
			return mean(f, w, func(p, q int) float64 { return 1 / (n * (n - 1)) })
		},
		"pairs within a person counted, with P(P-1)": func(f family, w []float64) []float64 {
			P := float64(len(f.y))
			return mean(f, w, func(p, q int) float64 { return 1 / (P * (P - 1) * float64(len(f.y[p])*len(f.y[q]))) })
		},
	}
	right := func(f family, w []float64) []float64 {
		P := float64(len(f.y))
		return mean(f, w, func(p, q int) float64 {
			if p == q {
				return 0
			}
			return 1 / (P * (P - 1) * float64(len(f.y[p])*len(f.y[q])))
		})
	}
	moved := func(sum func(f family, w []float64) []float64) (worst float64) {
		rng := rand.New(rand.NewPCG(7, 9))
		for trial := range 200 {
			f, g := neighbours(rng, trial, 2+rng.IntN(6), cap)
			if trial%4 == 0 { // a person with labels of both classes at opposite places
				k := rng.IntN(len(f.y))
				f.x[k], f.y[k] = []float64{1, 0, -1, 0}, []float64{1, -1}
				g.x, g.y = append([][]float64(nil), f.x...), append([][]float64(nil), f.y...)
				g.x[k], g.y[k] = []float64{-1, 0, 1, 0}, []float64{1, -1}
				for q := range f.y {
					if q != k {
						f.x[q], f.y[q] = []float64{1, 0}, []float64{float64(2*(q%2) - 1)}
						g.x[q], g.y[q] = f.x[q], f.y[q]
					}
				}
			}
			for _, w := range [][]float64{{0, 0}, {1, 0}, {-1, 0}} {
				d := distance(sum(f, w), sum(g, w))
				worst = max(worst, d/(2*diameter/float64(len(f.y))))
			}
		}
		return worst
	}
	caught := map[string]float64{}
	for range 2 {
		must.Within(t, moved(right), 0, 1+1e-12, "the right mean moves ... of its certificate")
		for name, sum := range defects {
			caught[name] = max(caught[name], moved(sum))
		}
		addGrad, diameter = linear, 2
	}
	for name, got := range caught {
		if t.Logf("%s moves %.4g of the certificate for persons", name, got); !(got > 1.01) {
			t.Errorf("%s is not caught", name)
		}
	}
}

// TestPersonRefusals: what has no weighted sums says so.
func TestPersonRefusals(t *testing.T) {
	p := problem(5, 3, 1)
	p.PersonRows = 4
	must.Err((cpu.Backend{Float32: true}).Plan(p))(t, "float32 takes persons")
	own := ownProblem(5, 3, cosineLoss{})
	own.PersonRows = 4
	must.Err((cpu.Backend{}).Plan(own))(t, "losses of other packages take persons")
	k := must.Get(cpu.Backend{}.Plan(p))(t)
	if r := k.Bounds(engine.Query{Pairs: engine.PrefixPairs{T: 2}}).Sum; !math.IsInf(r, 1) {
		t.Errorf("Roundoff of prefix pairs is %v", r)
	}
	r := adoptRecords(t, make([]float64, 15), make([]float64, 5), 3)
	must.Err(k.Bind(r))(t, "records without persons are bound to a problem with persons")
	five := must.Get(r.GroupPersons([]int32{0, 1, 2, 3, 4}, 5, 4))(t)
	e := must.Get(k.Bind(five))(t)
	must.ErrDo(t, e.Sum(context.Background(), make([]float64, 3), engine.Gradient(make([]float64, 3), engine.PrefixPairs{T: 2})), "prefix pairs of persons are summed")
	p.PersonRows = 0
	k = must.Get((cpu.Backend{}).Plan(p))(t)
	must.Err(k.Bind(five))(t, "records of persons are bound to a problem without")
	p.PersonRows, p.N = 1<<20, 1<<12
	must.Err((cpu.Backend{}).Plan(p))(t, "2^32 rows are planned")
}

// TestPersonWithManyRowsStops: the pairs within one person take as many steps as the square of
// its rows, so that a sum asks between rows whether it is to stop.
func TestPersonWithManyRowsStops(t *testing.T) {
	sizes.NotShort(t, "slow")
	rows := sizes.Of(5_000, 12_000)
	of := make([]int32, rows)
	of[rows-1] = 1
	r := must.Get(benchRecords(t, rows, 2).GroupPersons(of, 2, rows))(t)
	for _, method := range []cpu.Method{cpu.NearLinear, cpu.Sorted} {
		p := engine.Problem{N: 2, D: 2, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 1, PersonRows: rows}
		if method == cpu.Sorted {
			p.Loss = engine.Score{Of: enginetest.Hinge()}
		}
		k := must.Get(cpu.Backend{Workers: 1, Method: method}.Plan(p))(t)
		e := must.Get(k.Bind(r))(t)
		ctx := &countedContext{Context: context.Background(), last: 1 << 30}
		must.Do(t, e.Sum(ctx, make([]float64, 2), engine.Gradient(inBall(2, 1), p.Pairs())))
		if ctx.asked < rows/64 {
			t.Errorf("%v: asked %d times in a person of %d rows", method, ctx.asked, rows)
		}
		ctx = &countedContext{Context: context.Background(), last: rows / 128}
		must.Equal(t, e.Sum(ctx, make([]float64, 2), engine.Gradient(inBall(2, 1), p.Pairs())), context.Canceled, "%v", method)
		must.Do(t, e.Close())
	}
}
