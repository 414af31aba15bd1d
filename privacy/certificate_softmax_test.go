package privacy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// softmaxOf is the sum over anchors and candidates as it is defined, for pairs 0..m-1 of similarities s and gradients g of one number; records
// 2i and 2i+1 are pair i, and s and g are symmetric.
func softmaxOf(s, g func(i, j int) float64, m int, t float64, symmetric bool) (sum float64) {
	w, step := 1/t, 2 // anchors are the even records
	if symmetric {
		w, step = 1/(2*t), 1
	}
	for i := 0; i < 2*m; i += step {
		total, row := 0.0, 0.0
		for j := range 2 * m {
			if j == i || !symmetric && j%2 == 0 {
				continue
			}
			e := math.Exp(s(i, j) / t)
			total += e
			row += e * g(i, j)
		}
		sum += w * (row/total - g(i, i^1))
	}
	return sum
}

// The sensitivity of a softmax is what adding a pair moves the sum of one number by at most, over all signs of similarities and
// gradients: tried all for two and three pairs of InfoNCE and two of NT-Xent, and searched for more. It is attained.
func TestSoftmaxSensitivityIsTheMaximumOverSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	temperatures := []float64{1, 0.3, 4}
	if testing.Short() {
		temperatures = temperatures[:1]
	}
	for _, temperature := range temperatures {
		for _, symmetric := range []bool{false, true} {
			for pairs := 2; pairs <= 6; pairs++ {
				n := 2 * pairs
				places := make([][]int, n) // the number of an unordered pair of records that are compared
				count := 0
				for i := range n {
					places[i] = make([]int, n)
					for j := range i {
						if symmetric || i%2 != j%2 {
							places[i][j], places[j][i] = count, count
							count++
						}
					}
				}
				moved := func(similar, gradient uint64) float64 {
					sign := func(bits uint64) func(i, j int) float64 {
						return func(i, j int) float64 { return 1 - 2*float64(bits>>places[i][j]&1) }
					}
					s, g := sign(similar), sign(gradient)
					return math.Abs(softmaxOf(s, g, pairs, temperature, symmetric) - softmaxOf(s, g, pairs-1, temperature, symmetric))
				}
				most := 0.0
				if count <= 9 {
					for similar := range uint64(1) << count {
						for gradient := range uint64(1) << count {
							most = max(most, moved(similar, gradient))
						}
					}
				} else {
					for range 60 {
						a, b := r.Uint64(), r.Uint64()
						for now, tries := moved(a, b), 0; tries < 3*count; tries++ { // climb
							c, d := a, b
							if k := uint64(1) << r.IntN(min(64, count)); r.IntN(2) == 0 {
								c ^= k
							} else {
								d ^= k
							}
							if v := moved(c, d); v >= now {
								a, b, now = c, d, v
							}
						}
						most = max(most, moved(a, b))
					}
				}
				bound := privacy.SoftmaxSample{Pairs: pairs, Temperature: temperature, Symmetric: symmetric}.Sensitivity()
				if most > bound*(1+1e-12) || count <= 9 && most < bound*(1-1e-9) || most < 0.5*bound {
					t.Errorf("temperature %g, symmetric %t, %d pairs: one moves the sum by %v, certified %v", temperature, symmetric, pairs, most, bound)
				}
				// The control: the new row alone, or others' shares alone.
				a, m := math.Exp(-2/temperature), float64(pairs-1)
				if count <= 9 && !symmetric && (most < 1.1*2/temperature*m/(m+a) || most < 1.1*2/temperature*m/(1+m*a)) {
					t.Errorf("temperature %g, %d pairs: a bound that forgets a part holds: %v", temperature, pairs, most)
				}
			}
		}
	}
}

// A replaced pair moves the sum of one number by Replaced at most, over all signs of similarities and gradients of both of its
// versions: tried all for two pairs of InfoNCE, and searched for more pairs and both losses. It is attained, and one that is added
// moves it by less.
func TestReplacedPairIsTheMaximumOverSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	temperatures := []float64{1, 0.3, 4}
	if testing.Short() {
		temperatures = temperatures[:1]
	}
	for _, temperature := range temperatures {
		for _, symmetric := range []bool{false, true} {
			for _, pairs := range []int{2, 3, 5} {
				n := 2 * pairs
				// Signs of similarities and gradients by unordered pair of records, those with the last pair once for each version.
				at := func(version, i, j int) int {
					if version > 0 && max(i, j) < n-2 {
						version = 0
					}
					return version*n*n + min(i, j)*n + max(i, j)
				}
				s, g := make([]float64, 2*n*n), make([]float64, 2*n*n)
				var places []int
				for version := range 2 {
					for j := range n {
						for i := range j {
							if (symmetric || i%2 != j%2) && (version == 0 || j >= n-2) {
								places = append(places, at(version, i, j))
							}
						}
					}
				}
				sum := func(version int) float64 {
					return softmaxOf(func(i, j int) float64 { return s[at(version, i, j)] }, func(i, j int) float64 { return g[at(version, i, j)] }, pairs, temperature, symmetric)
				}
				moved := func() float64 { return math.Abs(sum(0) - sum(1)) }
				q := privacy.SoftmaxSample{Pairs: pairs, Temperature: temperature, Symmetric: symmetric}
				bound, most := q.Replaced(), 0.0
				for start := 0; start < 6 || start < 2000 && most < bound*(1-1e-9); start++ {
					for _, k := range places {
						s[k], g[k] = float64(2*r.IntN(2)-1), float64(2*r.IntN(2)-1)
					}
					for now, left := moved(), 2*len(places); left > 0; { // climb until no turn of a sign helps
						of := [][]float64{s, g}[left%2]
						k := places[left/2%len(places)]
						of[k] *= -1
						if v := moved(); v > now {
							now, left = v, 2*len(places)
							most = max(most, v)
							continue
						}
						of[k] *= -1
						left--
					}
				}
				if most > bound*(1+1e-12) || most < bound*(1-1e-9) {
					t.Errorf("temperature %g, symmetric %t, %d pairs: a replaced one moves the sum by %v, certified %v", temperature, symmetric, pairs, most, bound)
				}
				if most <= q.Sensitivity()*(1+1e-9) || most > 2*q.Sensitivity() {
					t.Errorf("temperature %g, symmetric %t, %d pairs: a replaced one moves the sum by %v, one that is added by %v", temperature, symmetric, pairs, most, q.Sensitivity())
				}
			}
		}
	}
}

// The sensitivity grows with the pairs to its limit, and what is not a softmax in Poisson batches is refused.
func TestSoftmaxSample(t *testing.T) {
	good := privacy.SoftmaxSample{Group: 2, Pairs: 4000, Rate: 0.1, Expected: 400, Temperature: 1, Roundoff: 1e-9}
	c := must.Get(good.Certify())(t)
	must.Near(t, good.Sensitivity()/400+2e-9, c.Sensitivity(), 1e-15, "sensitivity")
	if e, ok := (privacy.Gaussian{Sigma: 1}).Event(c).(account.PoissonEvent); !ok || e.Group != 2 || e.Rate != 0.1 || math.Abs(e.Replaced-good.Replaced()/400-2e-9) > 1e-15 || e.Relation != account.ReplaceOne {
		t.Errorf("the event is %v", e)
	}
	for _, symmetric := range []bool{false, true} {
		last := 0.0
		for _, pairs := range []int{2, 3, 10, 1000, math.MaxInt32} {
			g := good
			g.Pairs, g.Symmetric = pairs, symmetric
			if v := g.Sensitivity(); v <= last || v > 2*(math.Exp(2)+1) {
				t.Errorf("%d pairs: %v after %v", pairs, v, last)
			} else {
				last = v
			}
		}
		if limit := 2 * (math.Exp(2) + 1); last < limit*(1-1e-6) {
			t.Errorf("the sensitivity of many pairs is %v, want %v", last, limit)
		}
	}
	for name, change := range map[string]func(*privacy.SoftmaxSample){
		"no group":    func(g *privacy.SoftmaxSample) { g.Group = 0 },
		"large group": func(g *privacy.SoftmaxSample) { g.Group = account.MaxGroup + 1 },
		"one pair":    func(g *privacy.SoftmaxSample) { g.Pairs = 1 },
		"rate 0":      func(g *privacy.SoftmaxSample) { g.Rate = 0 },
		"rate NaN":    func(g *privacy.SoftmaxSample) { g.Rate = math.NaN() },
		"expected":    func(g *privacy.SoftmaxSample) { g.Expected = 0 },
		"roundoff":    func(g *privacy.SoftmaxSample) { g.Roundoff = -1 },
		"temperature": func(g *privacy.SoftmaxSample) { g.Temperature = 0 },
		"NaN":         func(g *privacy.SoftmaxSample) { g.Temperature = math.NaN() },
	} {
		g := good
		change(&g)
		must.Err(g.Certify())(t, "%s: no error", name)
	}
}
