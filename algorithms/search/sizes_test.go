package search

import (
	"context"
	"fmt"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/privtest"
)

// tied are n records that all candidates score 0, half of them positive, but for the first few positives: these have the score 1
// of the best candidate. The unit scores as much as given with every candidate.
func tied(n, few, best, unit int, score float64, positive bool) Records {
	r := Records{Positive: make([]bool, n)}
	for i := range r.Positive {
		r.Positive[i] = i%2 == 0
	}
	r.Positive[unit] = positive
	r.Scores = func(_ context.Context, i int, _ []float64) ([]float64, error) {
		scores := make([]float64, n)
		for v, left := 0, few; i == best && v < n && left > 0; v++ {
			if r.Positive[v] && v != unit {
				scores[v] = 1
				left--
			}
		}
		scores[unit] = score
		return scores, nil
	}
	return r
}

// At all sizes a search chooses by the law of docs/theory.md#choice with the epsilon that it prints, wherever the best candidate
// stands. Everything goes through the session. Each candidate is a coordinate.
func TestChoicesOfEverySize(t *testing.T) {
	for _, c := range sizes.Cells(t, 1.2e6, 1) {
		k := min(max(c.D, 2), MaxCandidates)
		best := []int{0, k / 2, k - 1}[c.D%3]
		o := Options{Records: c.N, Budget: privacy.Budget{Epsilon: 4}}
		for i := range k {
			o.Models = append(o.Models, Model{Name: fmt.Sprint(i), Digest: fmt.Sprint(i)})
		}
		p := must.Get(New(o))(t)
		run := func(r Records, seed uint64) (*attack.Recorder, int) {
			live := must.Get(privacy.NewPublicSession(privacy.NewSeededSource(seed), p.Events()))(t)
			s := &attack.Recorder{Session: live}
			result := must.Get(p.Job(r).Train(context.Background(), s, algorithms.Tracker{}))(t)
			return s, int(result[0])
		}
		// The gap is about the logarithm of the number of candidates, in units of the noise: no probability is near 0 or 1.
		few := max(1, int(math.Round(2*math.Log(float64(k)))))
		data := tied(c.N, few, best, c.Unit, 0, false)
		trials, hits := 60+int(2e6)/(c.N*k), 0
		trials = min(trials, 2000)
		var sums []int64
		for seed := range trials {
			s, winner := run(data, uint64(seed))
			if sums = scores(s); winner == best {
				hits++
			}
		}
		gap := float64(sums[best] - sums[(best+1)%k])
		lower := math.Exp(-p.Options.Budget.Epsilon * gap / (2 * 2 * float64(c.N-1)))
		want := (1 - math.Pow(1-lower, float64(k))) / (float64(k) * lower)
		must.CheckDo(t, privtest.CheckBinomial(hits, trials, want, 1e-6), fmt.Sprintf("%v: the best of %d candidates is chosen in %d of %d runs, the law of the printed epsilon says %.3f", c, k, hits, trials, want))
	}
}
