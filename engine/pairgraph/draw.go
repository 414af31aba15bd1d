package pairgraph

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Draw returns different pairs of the individuals 0 to n-1, in random order. The number
// of pairs is round(density n). The number of pairs of an individual is at most limit.
// The pairs depend on the arguments alone, so they reveal nothing about any record, and
// kappa' and the degrees are public. A guarantee for limit replaced pairs covers the
// replacement of one individual (docs/theory.md#pair-groups). Labels of the pairs may be
// computed from the records.
//
// Pairs are drawn uniformly. A pair is kept if it is new and each of its two individuals
// is in fewer than limit pairs. Draw fails if density is not positive. It also fails if
// density is above limit/2 or (n-1)/2, because no such graph exists, or so close to these
// numbers that the draw gets stuck.
func Draw(n int, density float64, limit int, seed uint64) ([]Pair, error) {
	m := math.Round(density * float64(n))
	most := min(float64(limit), float64(n-1)) * float64(n) / 2
	if n < 2 || n > math.MaxInt32 || limit < 1 || !(m >= 1) || m > most || m > 1<<30 {
		return nil, fmt.Errorf("pairgraph: density %v does not fit %d individuals with at most %d pairs each; want "+
			"2 individuals or more and 0 < density <= %g", density, n,
			limit, min(float64(limit), float64(n-1))/2)
	}
	r := rand.New(rand.NewPCG(seed, 0x6479616470616972))
	degree := make([]int32, n)
	taken := make(map[uint64]struct{}, int(m))
	pairs := make([]Pair, 0, int(m))
	for tries := 0; len(pairs) < int(m); tries++ {
		if tries > 1000*int(m)+1000 {
			return nil, fmt.Errorf("pairgraph: only %d of %d pairs fit, with at most %d pairs per individual; "+
				"lower the density or raise the limit", len(pairs), int(m), limit)
		}
		a, b := int32(r.IntN(n)), int32(r.IntN(n))
		key := uint64(min(a, b))<<32 | uint64(max(a, b))
		if _, twice := taken[key]; twice || a == b || int(degree[a]) >= limit || int(degree[b]) >= limit {
			continue
		}
		taken[key] = struct{}{}
		degree[a]++
		degree[b]++
		pairs = append(pairs, Pair{a, b})
	}
	return pairs, nil
}
