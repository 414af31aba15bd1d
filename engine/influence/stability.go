package influence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"dyad/internal/tasks"
)

// Stability holds measures of the change of pair losses if a record is left out ([Kang21] definitions 6 and 7,
// evaluated on the pairs of the records themselves).
type Stability struct {
	// Elastic holds beta(., ., z_i) for every record i. This is the largest |l(w; z, z') - l(w_i; z, z')| over
	// the pairs of records. Here w_i are the weights without record i. Mean holds the mean over the pairs
	// instead of the largest value.
	Elastic, Mean []float64
	// Uniform is the largest value in Elastic.
	Uniform float64
	// Expected is the maximum over the pairs (z, z') of the mean of beta(z, z', .) over the records. [Kang21] Theorem
	// 3 uses Expected where earlier theorems use Uniform. Expected is at most Uniform.
	Expected float64
}

// Progress receives reports on the progress of Stability. Its functions can be nil.
type Progress struct {
	// Estimate is called once, after part of the first record's pairs was evaluated, with the estimated time in
	// seconds for all records.
	Estimate func(seconds float64)
	// Step is called with the number of completed records and the number of all records.
	Step func(done, total int)
}

// measuredPairs is the number of pairs that are timed for Estimate. They take a fraction of a second.
const measuredPairs = 1 << 22

// Stability evaluates every pair with the weights obtained when each record is left out. The function without(dst, i)
// computes these weights, either by Refit or by adding the result of Change to w. Stability calls this function n
// times and computes n^3 values of the loss, on all processors. It needs memory for n^2 numbers.
func (o *Objective) Stability(ctx context.Context, w []float64, without func(dst []float64, i int) error,
	p Progress) (Stability, error) {
	n, workers := o.Len(), runtime.GOMAXPROCS(0)
	s := Stability{Elastic: make([]float64, n), Mean: make([]float64, n)}
	before, err := o.pairValues(w)
	if err != nil {
		return s, err
	}
	changed, largest, sums, ofPair := make([]float64, len(w)), make([]float64, n), make([]float64, n), make([]float64, n*n)
	for i := range n {
		began := time.Now()
		if err := errors.Join(ctx.Err(), without(changed, i)); err != nil {
			return s, err
		}
		after, err := o.pairValues(changed)
		if err != nil {
			return s, err
		}
		rows := func(from, to int) error {
			return tasks.Each(ctx, workers, to-from, func(_, k int) {
				j := from + k
				largest[j], sums[j] = 0, 0
				for k := range n {
					if j != k {
						change := math.Abs(after(j, k) - before(j, k))
						largest[j] = max(largest[j], change)
						sums[j] += change
						ofPair[j*n+k] += change
					}
				}
			})
		}
		first := 0
		if i == 0 && p.Estimate != nil {
			alone := time.Since(began)
			first = min(n, max(workers, measuredPairs/n))
			began = time.Now()
			if err := rows(0, first); err != nil {
				return s, err
			}
			p.Estimate(float64(n) * (alone.Seconds() + time.Since(began).Seconds()*float64(n)/float64(first)))
		}
		if err := rows(first, n); err != nil {
			return s, err
		}
		s.Elastic[i] = slices.Max(largest)
		for _, sum := range sums {
			s.Mean[i] += sum / float64(n*(n-1))
		}
		s.Uniform = max(s.Uniform, s.Elastic[i])
		if p.Step != nil {
			p.Step(i+1, n)
		}
	}
	s.Expected = slices.Max(ofPair) / float64(n)
	return s, nil
}

// uniformBound returns 4 G^2/(L2 (n-2)), a bound on the change of any pair's loss if a record is left out of
// the objective. It holds for a convex loss with Lipschitz constant g, l2 > 0 and n > 2
// (docs/theory.md#influence). The orders assumed in [Kang21] Lemma 1 have no constants; this bound is explicit.
func uniformBound(g, l2 float64, n int) float64 { return 4 * g * g / (l2 * float64(n-2)) }

// PL holds observations of the Polyak-Lojasiewicz condition ||grad F(w)||^2 >= 2 mu (F(w) - F*).
type PL struct {
	// Smallest is the smallest ||grad F||^2/(2 (F - F*)) over the points that were evaluated. mu is at most
	// Smallest. It is +Inf if every point was at the minimum.
	Smallest float64
	// Points is the number of points at which F exceeds F* by more than its rounding error. Only these
	// points count.
	Points int
	// Distance is the distance between the minimum and the point at which Smallest was found.
	Distance float64
}

// PolyakLojasiewicz evaluates the objective around its minimum w. The points are in random directions, at the
// distances reach, reach/2, ..., reach/128 from w. rays is the number of directions, which depend on seed alone.
// The result bounds mu (see PL) only from above. For a convex loss, L2 is a lower bound on mu. If the objective
// is smaller at a point than at w, w is not a minimum, and the function returns an error.
func (o *Objective) PolyakLojasiewicz(ctx context.Context, w []float64, reach float64, rays int,
	seed uint64) (PL, error) {
	const halvings = 8
	least, err := o.Value(ctx, w)
	if err != nil {
		return PL{}, err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	out := PL{Smallest: math.Inf(1)}
	direction, at, g := make([]float64, len(w)), make([]float64, len(w)), make([]float64, len(w))
	for range rays {
		for k := range direction {
			direction[k] = random.NormFloat64()
		}
		length := floats.Norm(direction, 2)
		for far, k := reach, 0; k < halvings; far, k = far/2, k+1 {
			floats.AddScaledTo(at, w, far/length, direction)
			if o.within(at) != nil {
				continue
			}
			value, err := o.Value(ctx, at)
			if err != nil {
				return out, err
			}
			gap, rounding := value-least, 1e-11*max(1, math.Abs(least))
			if gap < -rounding {
				return out, fmt.Errorf("influence: the weights are not a minimum; at distance %.3g, the objective "+
					"is smaller", far)
			}
			if gap <= 100*rounding {
				continue
			}
			if err := o.Gradient(ctx, g, at); err != nil {
				return out, err
			}
			out.Points++
			if ratio := floats.Dot(g, g) / (2 * gap); ratio < out.Smallest {
				out.Smallest, out.Distance = ratio, far
			}
		}
	}
	return out, nil
}
