package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
)

// simScore compares three gradient sums, at three w, with the definition. From the second one on
// resident near-linear sums of records are replayed as a graph. The rows may be those of persons.
func simScore(method Method, n, d, labels int, panels bool, persons ...int) func(*testing.T, Backend, map[string]int) ([]simLine, error) {
	return func(t *testing.T, b Backend, calls map[string]int) (lines []simLine, err error) {
		rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
		n := n + rng.IntN(40)
		x, y, w := make([]float64, n*d), make([]float64, n), make([]float64, d)
		for i := range n {
			row := x[i*d : (i+1)*d]
			fillUnit(rng, row, math.Pow(rng.Float64(), 0.3))
			y[i] = 2*float64(rng.IntN(labels))/float64(labels-1) - 1
		}
		p := engine.Problem{Loss: engine.Logistic{}, N: n, D: d, Bounds: engine.UnitBounds(), Radius: 1.7, LabelValues: labels}
		fillUnit(rng, w, 0.99*p.Radius)
		r, err := engine.NewRecords(slices.Clone(x), slices.Clone(y), d, p.Bounds)
		if err != nil {
			return nil, err
		}
		person, weight := make([]int, n), slices.Repeat([]float64{1}, n)
		for i := range person {
			person[i] = i
		}
		if len(persons) > 0 {
			p, r = personsOf(t, p, r, persons...)
			weight = weightsOf(r)
			for k := range r.Units() {
				for i, to := r.UnitRows(k); i < to; i++ {
					person[i] = k
				}
			}
		}
		b.Method = method
		if panels {
			b.Memory = driverBytes + 64<<20 + uint64(17*n+2*512*8*d+8*d*(n/tileRows+3))
		}
		k, err := b.Plan(p)
		if err != nil {
			return nil, err
		}
		if k.(*kernel).grid.resident == panels {
			return nil, fmt.Errorf("resident %v", !panels)
		}
		e, err := k.Bind(r)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, e.Close()) }()
		for call := range 3 {
			got, want, replayed := make([]float64, d), definition(x, y, w, weight, person), calls["LaunchGraph"]
			if err := e.Sum(context.Background(), got, engine.Gradient(w, p.Pairs())); err != nil {
				return lines, err
			}
			how := "launched"
			if calls["LaunchGraph"] > replayed {
				how = "replayed"
			}
			// A bound of rounding errors of float32 is far from what they are: a hundredth of it is asked for.
			allowed := min(k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum, 1e-6*norm2(want))
			lines = append(lines, simLine{fmt.Sprintf("n = %d, d = %d, sum %d, %s", n, d, call+1, how), apartBy(got, want) / allowed})
			for j := range w { // a replayed graph must see it
				w[j] *= -0.7
			}
		}
		return lines, nil
	}
}

func norm2(v []float64) (size float64) {
	for _, a := range v {
		size = math.Hypot(size, a)
	}
	return size
}

func apartBy(got, want []float64) (away float64) {
	for k := range want {
		away = math.Hypot(away, got[k]-want[k])
	}
	return away
}

// fillUnit draws a vector of this length.
func fillUnit(rng *rand.Rand, v []float64, length float64) {
	for k := range v {
		v[k] = rng.NormFloat64()
	}
	size := norm2(v)
	for k := range v {
		v[k] *= length / size
	}
}

// definition is the sum over all ordered pairs of rows of different persons of phi'(dy ds) dy dx of
// the logistic loss, with their weights.
func definition(x, y, w, weight []float64, person []int) []float64 {
	n, d := len(y), len(w)
	s, sum := make([]float64, n), make([]float64, d)
	for i := range s {
		for k, v := range w {
			s[i] += x[i*d+k] * v
		}
	}
	for i := range y {
		for j := range y {
			if person[i] == person[j] {
				continue
			}
			dy := y[i] - y[j]
			slope := -dy / (1 + math.Exp(dy*(s[i]-s[j]))) * weight[i] * weight[j]
			for k := range sum {
				sum[k] += slope * (x[i*d+k] - x[j*d+k])
			}
		}
	}
	return sum
}

// simMoments compares passes of three kinds with sums over x~ that are written out. The rows are
// those of persons with these numbers of them, in turn, or records, stored in float32 or float64.
func simMoments(n, d int, narrow bool, persons ...int) func(*testing.T, Backend, map[string]int) ([]simLine, error) {
	return func(t *testing.T, b Backend, _ map[string]int) (lines []simLine, err error) {
		rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
		x, y := make([]float64, n*d), make([]float64, n)
		centre, model := make([]float64, d), make([]float64, d)
		for i := range y {
			fillUnit(rng, x[i*d:(i+1)*d], 0.6*rng.Float64())
			y[i] = float64(2*rng.IntN(2) - 1)
		}
		fillUnit(rng, centre, 0.1)
		fillUnit(rng, model, 3)
		p := engine.Problem{Loss: engine.Logistic{}, N: n, D: d, Bounds: engine.Bounds{FeatureNorm: 10, LabelAbs: 1}, Radius: 1}
		r, err := engine.NewRecords(slices.Clone(x), slices.Clone(y), d, p.Bounds)
		if err != nil {
			return nil, err
		}
		if narrow {
			var wide *engine.Records
			r, wide = narrowed(t, p, r)
			for i := range n {
				wide.Row(i, x[i*d:(i+1)*d])
			}
		}
		weight := slices.Repeat([]float64{1}, n)
		if len(persons) > 0 {
			p, r = personsOf(t, p, r, persons...)
			weight = weightsOf(r)
		}
		for _, m := range []engine.Query{
			{Radius: 0.3, Centre: centre, Signed: true, Offset: 0.1, Second: engine.FullSecond},
			{Radius: 0.3, Centre: centre, W: model, Intercept: 0.2},
			{Radius: 0.5, Centre: centre, Class: 1, Second: engine.DiagonalSecond},
		} {
			got, k, err := momentsOf(b, p, r, m)
			if err != nil {
				return lines, err
			}
			sum, second := momentDefinition(x, y, weight, m)
			bound := k.Bounds(m)
			name := fmt.Sprintf("n = %d, d = %d, ", n, d)
			// The clipped records differ by a few units in the last place, those of these sums too.
			slack := float64(n) * m.Radius * float64(d+60) * 0x1p-52
			lines = append(lines, simLine{name + "sums", apartBy(got.Sum, sum) / (bound.Sum + slack)})
			if m.Second != engine.NoSecond {
				lines = append(lines, simLine{name + "second moments", apartBy(got.Second, second) / (bound.Second + 2*slack)})
			}
		}
		return lines, nil
	}
}

func momentDefinition(x, y, weight []float64, m engine.Query) (sum, second []float64) {
	d := len(m.Centre)
	sum, second = make([]float64, d), make([]float64, m.Second.Len(d))
	z := make([]float64, d)
	for i, label := range y {
		if m.Class != 0 && label != m.Class {
			continue
		}
		for k := range z {
			z[k] = x[i*d+k] - m.Centre[k]
		}
		scale, score := min(1, m.Radius/norm2(z)), m.Intercept
		for k := range z {
			if z[k] *= scale; m.W != nil {
				score += z[k] * m.W[k]
			}
		}
		a := 1.0
		switch {
		case m.W != nil:
			a = 1/(1+math.Exp(-score)) - (1+label)/2
		case m.Signed:
			a = (label - m.Offset) / (1 + math.Abs(m.Offset))
		}
		at := 0
		for k := range z {
			sum[k] += weight[i] * a * z[k]
			switch m.Second {
			case engine.DiagonalSecond:
				second[k] += weight[i] * z[k] * z[k]
			case engine.FullSecond:
				for l := k; l < d; l++ {
					root := 1.0
					if l > k {
						root = math.Sqrt2
					}
					second[at] += weight[i] * root * z[k] * z[l]
					at++
				}
			}
		}
	}
	return sum, second
}

// simPairs compares batches of labelled pairs with the CPU.
func simPairs(t *testing.T, b Backend, _ map[string]int) (lines []simLine, err error) {
	for _, c := range []struct {
		rows, d int
		loss    embedding.ListLoss
		how     embedding.Clip
	}{{3, 5, embedding.Contrastive{Margin: 1}, embedding.WholeMatrix}, {1, 33, embedding.BradleyTerry{}, embedding.WholeMatrix}, {9, 4, embedding.Contrastive{Margin: 2}, embedding.RowByRow}} {
		data := pairData(t, 40, c.d, 100, embedding.L2)
		gpu, err := b.Sums(data, c.loss, c.rows)
		if err != nil {
			return lines, err
		}
		onCPU, err := embedding.CPU{}.Sums(data, c.loss, c.rows)
		if err != nil {
			return lines, err
		}
		w := weights(c.rows*c.d, 0.5)
		for _, clip := range []float64{0.01, 1e30} {
			got, want := make([]float64, len(w)), make([]float64, len(w))
			err := errors.Join(gpu.Sum(context.Background(), got, w, upTo(0, 100), clip, c.how), onCPU.Sum(context.Background(), want, w, upTo(0, 100), clip, c.how))
			if err != nil {
				return lines, errors.Join(err, gpu.Close())
			}
			lines = append(lines, simLine{fmt.Sprintf("%d x %d, %s, clip %g", c.rows, c.d, c.loss.Name(), clip), relative(got, want) / 1e-12})
		}
		if err := gpu.Close(); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// simMetric compares sums of Mahalanobis losses in float32 with the CPU. The rows may be those of persons.
func simMetric(persons ...int) func(*testing.T, Backend, map[string]int) ([]simLine, error) {
	return func(t *testing.T, b Backend, _ map[string]int) (lines []simLine, err error) {
		b.Precision = FP32
		for _, size := range [][2]int{{67, 9}, {180, 20}} {
			p, r, _ := measured(t, size[0], size[1], 2)
			p, w := metricMeasured(p)
			if len(persons) > 0 {
				p, r = personsOf(t, p, r, persons...)
			}
			got, err := sumOf(b, p, r, w)
			if err != nil {
				return lines, err
			}
			want, err := sumOf(cpu.Backend{}, p, r, w)
			if err != nil {
				return lines, err
			}
			lines = append(lines, simLine{fmt.Sprintf("n = %d, d = %d", size[0], size[1]), relative(got, want) / metricError[FP32]})
		}
		return lines, nil
	}
}
