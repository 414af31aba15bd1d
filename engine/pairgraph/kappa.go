package pairgraph

import (
	"errors"
	"fmt"
)

// Relationship is the meaning of a pair's label.
type Relationship int

// Transitive and Intransitive are the relationships of [Li20] Section IV.
const (
	// Transitive means that a ~ b and b ~ c contain information about a and c. An example
	// is having the same disease.
	Transitive Relationship = iota
	// Intransitive means that a ~ b and b ~ c contain no information about a and c. An
	// example is being friends ([Li20] Appendix B).
	Intransitive
)

// KappaBound returns kappa' of [Li20] Proposition 1 for transitive relationships. This is
// the maximum over s of De(s) - Co_+(s), where De is the degree and Co_+ >= 0 is the
// number of additional components after s is removed. kappa' is at least Kappa. For
// intransitive relationships, KappaBound returns kappa itself. The result is at most
// MaxDegree. It takes O(V + E) operations.
//
// Proof of kappa <= kappa'. If removing s splits its component into k parts, then Co_+ =
// k - 1. Paths from s to t that visit s once stay in the part of t. The pairs from s to
// the other parts are in none of these paths, so in G - P they lead to at least k - 1
// components. Hence c_s <= (De(s) - |P|) - (k - 1). QED
//
// Intransitive relationships: c_s = De(s) - k(s) in G. If the pair (s, t) is removed, s
// loses one pair, and also one component if the pair is a bridge. So a bridge gives 1 +
// min(c_s, c_t). Every other two individuals, whether they form a pair or not, give
// min(c_s, c_t). The maximum is the larger of the best bridge and the second largest c.
// QED
func (g *Graph) KappaBound(r Relationship) int {
	c := g.cut()
	if r == Transitive {
		most := 0
		for v := range g.n {
			most = max(most, g.Degree(v)-max(0, int(c.parts[v])-1))
		}
		return most
	}
	cycle := func(v int32) int { return g.Degree(int(v)) - int(c.parts[v]) }
	best, first, second := 0, -1, -1
	for v := range int32(g.n) {
		switch k := cycle(v); {
		case k > first:
			first, second = k, first
		case k > second:
			second = k
		}
	}
	for i, p := range g.pairs {
		if c.bridge[i] {
			best = max(best, 1+min(cycle(p.A), cycle(p.B)))
		}
	}
	return max(best, second)
}

// MaxExactPairs is the largest number of pairs of a graph for which Kappa computes kappa.
const MaxExactPairs = 64

// ErrTooLarge is wrapped by the error of Kappa for graphs that are too large to search.
var ErrTooLarge = errors.New("pairgraph: the graph is too large for the exact kappa")

// Kappa returns kappa of [Li20] equation 5 for transitive relationships,
//
//	max over s != t of |P_st| + min(c_s, c_t),
//
// where P_st is a largest set of edge-disjoint paths. c_s is the largest number of pairs
// at s that G - P_st can lose while s stays connected to the same individuals. The paper
// does not choose among several largest sets. Kappa searches all and uses the one with
// the largest value. It returns an error wrapping ErrTooLarge if there are more than
// MaxExactPairs pairs or the search takes too many steps. KappaBound has no such limit.
func (g *Graph) Kappa() (int, error) {
	if len(g.pairs) > MaxExactPairs {
		return 0, fmt.Errorf("%w: %d pairs, at most %d; use KappaBound", ErrTooLarge, len(g.pairs), MaxExactPairs)
	}
	best := 0
	budget := 5_000_000
	for s := range int32(g.n) {
		for t := s + 1; t < int32(g.n); t++ {
			if min(g.Degree(int(s)), g.Degree(int(t))) <= best {
				continue // because the value is at most the smaller degree
			}
			x := pathSearch{g: g, s: s, t: t, budget: &budget, want: g.disjointPaths(s, t), onPath: make([]bool, g.n)}
			x.onPath[s] = true
			x.extend(s, 0, 0, 0)
			if budget <= 0 {
				return 0, fmt.Errorf("%w: the exact search takes too many steps; use KappaBound", ErrTooLarge)
			}
			best = max(best, x.want+x.best)
		}
	}
	return best, nil
}

// disjointPaths returns the largest number of edge-disjoint paths from s to t. It
// computes a unit flow by at most Degree augmenting paths.
func (g *Graph) disjointPaths(s, t int32) int {
	flow := make([]int8, len(g.pairs)) // +1 from A to B, -1 from B to A
	free := func(i int32, from int32) bool {
		if g.pairs[i].A == from {
			return flow[i] <= 0
		}
		return flow[i] >= 0
	}
	for count := 0; ; count++ {
		by := make([]int32, g.n) // 1 + pair that led here
		queue := []int32{s}
		for len(queue) > 0 && by[t] == 0 {
			v := queue[0]
			queue = queue[1:]
			for i := g.start[v]; i < g.start[v+1]; i++ {
				if u := g.near[i]; u != s && by[u] == 0 && free(g.edge[i], v) {
					by[u] = g.edge[i] + 1
					queue = append(queue, u)
				}
			}
		}
		if by[t] == 0 {
			return count
		}
		for v := t; v != s; {
			p := g.pairs[by[v]-1]
			if p.B == v {
				flow[by[v]-1]++
				v = p.A
			} else {
				flow[by[v]-1]--
				v = p.B
			}
		}
	}
}

// pathSearch enumerates the sets of want edge-disjoint simple paths from s to t. The
// first pairs of the paths are in ascending order, so each set occurs about once.
type pathSearch struct {
	g      *Graph
	s, t   int32
	want   int
	best   int // largest min(c_s, c_t)
	budget *int
	onPath []bool // individuals of the current path
}

// extend continues the current path at v. The bits of used are the pairs of all paths.
// done is the number of finished paths, and first is the lowest pair with which the next
// path may start.
func (x *pathSearch) extend(v int32, used uint64, done int, first int32) {
	if *x.budget--; *x.budget <= 0 {
		return
	}
	if done == x.want {
		x.best = max(x.best, min(x.g.beyond(x.s, used), x.g.beyond(x.t, used)))
		return
	}
	for i := x.g.start[v]; i < x.g.start[v+1]; i++ {
		u, e := x.g.near[i], x.g.edge[i]
		if x.onPath[u] || used&(1<<e) != 0 || v == x.s && e < first {
			continue
		}
		after := first
		if v == x.s {
			after = e + 1
		}
		if u != x.t {
			x.onPath[u] = true
			x.extend(u, used|1<<e, done, after)
			x.onPath[u] = false
			continue
		}
		path := x.onPath
		x.onPath = make([]bool, x.g.n)
		x.onPath[x.s] = true
		x.extend(x.s, used|1<<e, done+1, after)
		x.onPath = path
	}
}

// beyond returns c_v in the graph without the pairs in used. This is the number of
// remaining pairs of v minus the number of components to which these pairs lead if v is
// removed.
func (g *Graph) beyond(v int32, used uint64) int {
	reached := make([]bool, g.n)
	reached[v] = true
	pairs, components := 0, 0
	for i := g.start[v]; i < g.start[v+1]; i++ {
		if used&(1<<g.edge[i]) != 0 {
			continue
		}
		pairs++
		if reached[g.near[i]] {
			continue
		}
		components++
		reached[g.near[i]] = true
		for queue := []int32{g.near[i]}; len(queue) > 0; {
			a := queue[0]
			queue = queue[1:]
			for j := g.start[a]; j < g.start[a+1]; j++ {
				if b := g.near[j]; !reached[b] && used&(1<<g.edge[j]) == 0 {
					reached[b] = true
					queue = append(queue, b)
				}
			}
		}
	}
	return pairs - components
}
