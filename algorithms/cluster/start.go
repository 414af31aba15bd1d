package cluster

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The functions below choose centres from public seeds and from releases, so they have no privacy cost.

// firstRadius bounds the norm of the first centres, in units of the radius. firstDraws is the number of points drawn
// for each first centre.
const (
	firstRadius = 0.5
	firstDraws  = 16
)

// first returns m points of a ball that are far from each other. For each point, first draws several uniform
// points and keeps the draw that is farthest from the earlier points. The points do not depend on records.
func first(rng *rand.Rand, m, r int) [][]float64 {
	centres := make([][]float64, 0, m)
	for range m {
		var best []float64
		far := math.Inf(-1)
		for range firstDraws {
			x := direction(rng, r)
			length := firstRadius * math.Pow(rng.Float64(), 1/float64(r))
			for j := range x {
				x[j] *= length
			}
			near := math.Inf(1)
			for _, c := range centres {
				near = min(near, distance(x, c))
			}
			if near > far {
				best, far = x, near
			}
		}
		centres = append(centres, best)
	}
	return centres
}

// restart puts each centre without records next to one of the centres with the most records. The centre with
// records moves by the same distance in the opposite direction.
func restart(rng *rand.Rand, centres [][]float64, counts []float64, held []int) {
	large := slices.Clone(held)
	slices.SortStableFunc(large, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	split := 0
	for c := range centres {
		if slices.Contains(held, c) {
			continue
		}
		if split == len(large) {
			return
		}
		from := centres[large[split]]
		split++
		reach := 1.0 // distance to the nearest other centre that has records
		for _, other := range held {
			if d := distance(from, centres[other]); d > 0 {
				reach = min(reach, d)
			}
		}
		for j, v := range direction(rng, len(from)) {
			centres[c][j] = from[j] + reach/4*v
			from[j] -= reach / 4 * v
		}
		within(centres[c])
		within(from)
	}
}

// reductions is the number of starts that reduce tries. It is also the number of rounds after each start.
const reductions = 10

// reduce returns k centres computed from released centres, with the released numbers of records as weights. It
// takes the best of several runs of k-means, which read no record.
func reduce(rng *rand.Rand, centres [][]float64, counts []float64, held []int, k int) [][]float64 {
	if len(held) <= k { // centres without records start again
		out := make([][]float64, 0, k)
		for _, c := range held {
			out = append(out, centres[c])
		}
		for c := range centres {
			if len(out) < k && !slices.Contains(held, c) {
				out = append(out, centres[c])
			}
		}
		return out
	}
	var best [][]float64
	least := math.Inf(1)
	for range reductions {
		of := spread(rng, centres, counts, held, k)
		cost := 0.0
		for range reductions {
			cost = lloyd(of, centres, counts, held)
		}
		if cost < least {
			best, least = of, cost
		}
	}
	return best
}

// spread draws k of the centres. The probability of a centre is proportional to its weight times the squared
// distance to the centres drawn before [Arthur and Vassilvitskii 2007, k-means++].
func spread(rng *rand.Rand, centres [][]float64, counts []float64, held []int, k int) (of [][]float64) {
	weight, near := make([]float64, len(held)), make([]float64, len(held))
	for len(of) < k {
		total := 0.0
		for i, c := range held {
			if weight[i] = counts[c]; len(of) > 0 {
				d := distance(centres[c], of[len(of)-1])
				if len(of) == 1 || d < near[i] {
					near[i] = d
				}
				weight[i] *= near[i] * near[i]
			}
			total += weight[i]
		}
		at := rng.Float64() * total
		place := 0
		for place < len(held)-1 && at >= weight[place] {
			at -= weight[place]
			place++
		}
		of = append(of, slices.Clone(centres[held[place]]))
	}
	return of
}

// lloyd moves each centre in of to the weighted mean of the centres that are nearest to it. It returns the weighted sum
// of squared distances before the move.
func lloyd(of, centres [][]float64, counts []float64, held []int) (cost float64) {
	sum, total := make([][]float64, len(of)), make([]float64, len(of))
	for _, c := range held {
		x := centres[c]
		to := nearest(of, x)
		d := distance(x, of[to])
		cost += counts[c] * d * d
		if total[to] += counts[c]; sum[to] == nil {
			sum[to] = make([]float64, len(x))
		}
		for j, v := range x {
			sum[to][j] += counts[c] * v
		}
	}
	for to, s := range sum {
		for j := range s {
			of[to][j] = s[j] / total[to]
		}
	}
	return cost
}

// direction returns a uniformly random unit vector.
func direction(rng *rand.Rand, r int) []float64 {
	for {
		x := make([]float64, r)
		var square float64
		for j := range x {
			x[j] = rng.NormFloat64()
			square += x[j] * x[j]
		}
		if square > 0 {
			for j := range x {
				x[j] /= math.Sqrt(square)
			}
			return x
		}
	}
}

func distance(a, b []float64) (d float64) {
	for j := range a {
		d += (a[j] - b[j]) * (a[j] - b[j])
	}
	return math.Sqrt(d)
}

// within shortens x to a norm of at most 1.
func within(x []float64) {
	norm := 0.0
	for _, v := range x {
		norm = math.Hypot(norm, v)
	}
	if norm > 1 {
		for j := range x {
			x[j] *= 1 / norm
		}
	}
}

// nearest returns the index of the centre with the smallest distance to x, and the first index if several are
// nearest. It is a function of x and the centres alone.
func nearest(centres [][]float64, x []float64) (place int) {
	least := math.Inf(1)
	for c, of := range centres {
		var d float64
		for j, v := range of {
			d += (x[j] - v) * (x[j] - v)
		}
		if d < least {
			least, place = d, c
		}
	}
	return place
}
