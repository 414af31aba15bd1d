package privacy

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/account"
)

// The noise of a release has the law of its mechanism in every coordinate, however many there are: its mean size, and no
// correlation with the coordinate before it or the first one.
func TestNoiseOfEveryCoordinate(t *testing.T) {
	euclidean := must.Get(ScoreSum{Levels: 1, Name: "score"}.Certify())(t)
	manhattan := must.Get(ScoreSum{Levels: 1, Manhattan: true, Name: "score"}.Certify())(t)
	const scale = 3
	for _, d := range sizes.Dims(t, math.Inf(1)) {
		releases := 2000
		if d > 10 {
			releases = 500
		}
		for _, c := range []struct {
			noise Mechanism
			of    Certificate
			size  float64 // of |noise| in a coordinate, on average
		}{
			{Gaussian{Sigma: scale}, euclidean, scale * math.Sqrt(2/math.Pi)},
			{Laplace{Scale: scale, Coordinates: d}, manhattan, scale},
			{KNorm{Scale: scale}, euclidean, scale * kNormSize(d)},
		} {
			s := sessionOf(t, 7, account.Repeat(c.noise.Event(c.of), releases))
			size, before, first := make([]float64, d), make([]float64, d), make([]float64, d)
			for range releases {
				x := make([]float64, d)
				must.Do(t, s.Release(x, c.of, c.noise))
				for i, v := range x {
					size[i] += math.Abs(v)
					before[i] += v * x[max(i-1, 0)]
					first[i] += v * x[0]
				}
			}
			n := float64(releases)
			for i := range d {
				if mean := size[i] / n / c.size; !(mean > 0.75 && mean < 1.3) {
					t.Errorf("%s, coordinate %d of %d: %v of the noise", c.noise.Name(), i, d, mean)
				}
				if limit := 0.4 * n * 2 * scale * scale * max(1, c.size*c.size/scale/scale); i > 0 && !(math.Abs(before[i]) < limit && math.Abs(first[i]) < limit) {
					t.Errorf("%s, coordinate %d of %d: its noise is that of another one", c.noise.Name(), i, d)
				}
			}
		}
	}
}

// kNormSize is the mean of |z_1| for a density proportional to exp(-||z||) in d dimensions: E||z|| = d times the mean of
// |u_1| on the sphere.
func kNormSize(d int) float64 {
	n := float64(d)
	up, _ := math.Lgamma(n / 2)
	down, _ := math.Lgamma((n + 1) / 2)
	return n * math.Exp(up-down) / math.Sqrt(math.Pi)
}

// Every record is in a secret batch as often as any other, in pairs as well, wherever it stands.
func TestBatchesOfEveryRecord(t *testing.T) {
	seen := map[int]bool{}
	for _, c := range sizes.Cells(t, math.Inf(1), 1) {
		n := c.N
		if seen[n] {
			continue
		}
		seen[n] = true
		const draws = 400
		for _, rate := range []float64{0.1, 0.5} {
			m := max(1, int(rate*float64(n)))
			s := sessionOf(t, 8, account.PureEvent{Epsilon: 1})
			poisson, fixed, with := make([]int, n), make([]int, n), make([]int, n)
			var batch []int32
			order := make([]int32, n)
			for i := range order {
				order[i] = int32(i)
			}
			for range draws {
				batch = must.Get(s.SamplePoisson(batch, n, rate))(t)
				in := make([]bool, n)
				for _, i := range batch {
					poisson[i]++
					in[i] = true
				}
				for i := range n {
					if in[i] && in[c.Unit] {
						with[i]++
					}
				}
				must.Do(t, s.Sample(order, m))
				for _, i := range order[:m] {
					fixed[i]++
				}
			}
			for i := range n {
				for what, of := range map[string]struct {
					count int
					rate  float64
				}{"Poisson batches": {poisson[i], rate}, "batches": {fixed[i], float64(m) / float64(n)}, "Poisson batches with another": {with[i], rate * rate}} {
					mean := draws * of.rate
					if off := math.Abs(float64(of.count) - mean); off > 6*math.Sqrt(mean*(1-of.rate))+4 && (what != "Poisson batches with another" || i != c.Unit) {
						t.Errorf("record %d of %d is in %d of %d %s of rate %v", i, n, of.count, draws, what, of.rate)
					}
				}
			}
		}
	}
}
