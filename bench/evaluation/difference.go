package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"log"
	"math"
	"math/rand/v2"
	"sync"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/privacy"
)

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

// differences measures the intervals of the difference of two AUCs.
func differences(epsilon float64, runs int) {
	fmt.Println("# shares of runs whose 95 % interval of the difference of two AUCs covers the truth; error: root mean square error; noise: mean")
	fmt.Println("# standard deviation of the noise as reported")
	fmt.Println("law,n,positives,delta,runs,difference,covered,wide,width,error,noise")
	for _, size := range []struct{ n, positives int }{{300, 20}, {1000, 50}, {1000, 500}, {3000, 150}} {
		for _, delta := range []float64{privacy.DefaultDelta(size.n), 0} {
			p, err := evaluate.New(evaluate.Options{Records: size.n, Budget: privacy.Budget{Epsilon: epsilon, Delta: delta}, Compared: "other"})
			if err != nil {
				log.Fatal("evaluation: ", err)
			}
			for _, l := range pairLaws {
				truth := l.auc(l.first) - l.auc(l.second)
				var covered, wide, width, square, noise float64
				var mu sync.Mutex
				var wg sync.WaitGroup
				first := uint64(crc32.ChecksumIEEE([]byte(fmt.Sprint(l.name, size, delta)))) << 20
				for worker := range 2 {
					wg.Go(func() {
						for run := worker; run < runs; run += 2 {
							d := l.draw(rand.New(rand.NewPCG(first+uint64(run), 1)), size.n, size.positives)
							out, err := algorithms.Execute(context.Background(), p.Job(func(context.Context) (evaluate.Data, error) { return d, nil }),
								algorithms.Options{Public: true, Source: privacy.NewSeededSource(first + uint64(run))})
							if err != nil {
								log.Fatal("evaluation: ", err)
							}
							f, err := p.Figures(out.Weights, 0.95)
							if err != nil {
								log.Fatal("evaluation: ", err)
							}
							mu.Lock()
							covered += float64(covers(*f.Difference, truth))
							if f.Wide {
								wide++
							}
							width += f.Difference.High - f.Difference.Low
							square += (f.Difference.Value - truth) * (f.Difference.Value - truth)
							noise += f.DifferenceNoise
							mu.Unlock()
						}
					})
				}
				wg.Wait()
				n := float64(runs)
				fmt.Printf("%q,%d,%d,%.3g,%d,%.4f,%.4f,%.4f,%.5f,%.5f,%.5f\n", l.name, size.n, size.positives, delta, runs, truth, covered/n, wide/n, width/n, math.Sqrt(square/n), noise/n)
			}
		}
	}
}
