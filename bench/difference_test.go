package bench_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/internal/must"
	"dyad/privacy"
)

// TestCoverageOfDifferences measures the intervals of the difference of two AUCs.
func TestCoverageOfDifferences(t *testing.T) {
	c := claim{
		file: "difference-coverage.csv", keys: 5, columns: "law,n,positives,delta,runs,difference,covered,wide,width,error,noise",
		comments: "# shares of runs whose 95 % interval of the difference of two AUCs covers the truth; error: root mean square error; noise: mean\n" +
			"# standard deviation of the noise as reported\n",
	}
	const runs = 1000
	for _, size := range []struct{ n, positives int }{{300, 20}, {1000, 50}, {1000, 500}, {3000, 150}} {
		for _, delta := range []float64{privacy.DefaultDelta(size.n), 0} {
			for _, l := range pairLaws {
				key := fmt.Sprintf("%q,%d,%d,%.3g,%d", l.name, size.n, size.positives, delta, runs)
				seed := uint64(crc32.ChecksumIEEE([]byte(fmt.Sprint(l.name, size, delta)))) << 20
				c.lines = append(c.lines, claimed{key, size.n == 300 && l.digits, func(t *testing.T) []float64 {
					p := must.Get(evaluate.New(evaluate.Options{Records: size.n, Budget: privacy.Budget{Epsilon: 1, Delta: delta}, Compared: "other"}))(t)
					return differences(t, l, p, size.positives, runs, seed)
				}})
			}
		}
	}
	c.check(t, 0.01, 0.005)
}

// pairLaw draws two scores of a record: normal, with the same part in both.
type pairLaw struct {
	name          string
	first, second float64 // distances of the class means, in deviations
	shared        float64 // part of the variance
	digits        bool    // scores rounded to whole numbers
}

var pairLaws = []pairLaw{
	{"the same model twice", 1, 1, 1, false},
	{"nearly the same", 1.1, 1, 0.95, false},
	{"related", 1.5, 1, 0.7, false},
	{"unrelated", 1, 1, 0, false},
	{"one is chance", 2, 0, 0, false},
	{"few scores", 1.5, 1, 0.7, true},
}

// auc is that of N(distance, 1) against N(0, 1), by numbers where scores are rounded.
func (l pairLaw) auc(distance float64) float64 {
	if !l.digits {
		return 0.5 * math.Erfc(-distance/2)
	}
	below := func(x, mean float64) float64 { return 0.5 * math.Erfc(-(x-mean)/math.Sqrt2) }
	sum := 0.0
	for k := -12.0; k <= 12; k++ {
		at := below(k+0.5, distance) - below(k-0.5, distance)
		sum += at * (below(k-0.5, 0) + (below(k+0.5, 0)-below(k-0.5, 0))/2)
	}
	return sum
}

func (l pairLaw) draw(rng *rand.Rand, n, positives int) (d evaluate.Data) {
	common, own := math.Sqrt(l.shared), math.Sqrt(1-l.shared)
	for i := range n {
		z, mean := rng.NormFloat64(), 0.0
		if i < positives {
			mean = 1
		}
		a, b := mean*l.first+common*z+own*rng.NormFloat64(), mean*l.second+common*z+own*rng.NormFloat64()
		if l.digits {
			a, b = math.Round(a), math.Round(b)
		}
		d.Scores, d.Other, d.Positive = append(d.Scores, a), append(d.Other, b), append(d.Positive, i < positives)
	}
	return d
}

// differences repeats a comparison on two goroutines; the numbers are those of TestCoverageOfDifferences.
func differences(t *testing.T, l pairLaw, p *evaluate.Plan, positives, runs int, first uint64) []float64 {
	truth := l.auc(l.first) - l.auc(l.second)
	var covered, wide, width, square, noise float64
	onTwo(t, runs, func(run uint64) (*evaluate.Figures, error) {
		d := l.draw(rand.New(rand.NewPCG(first+run, 1)), p.Options.Records, positives)
		out, err := algorithms.Execute(context.Background(), p.Job(func(context.Context) (evaluate.Data, error) { return d, nil }),
			algorithms.Options{Public: true, Source: privacy.NewSeededSource(first + run)})
		if err != nil {
			return nil, err
		}
		return p.Figures(out.Weights, 0.95)
	}, func(f *evaluate.Figures) {
		covered += float64(covers(*f.Difference, truth))
		if f.Wide {
			wide++
		}
		width += f.Difference.High - f.Difference.Low
		square += (f.Difference.Value - truth) * (f.Difference.Value - truth)
		noise += f.DifferenceNoise
	})
	n := float64(runs)
	return []float64{truth, covered / n, wide / n, width / n, math.Sqrt(square / n), noise / n}
}
