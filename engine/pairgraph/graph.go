// Package pairgraph holds pairs of individuals and the graph that they form:
// how many pairs one individual can be in, and the correlation number kappa of
// [Li20] that differential pairwise privacy is stated for.
//
// A number that is computed from private pairs must not set noise: one more pair can
// change it (docs/theory.md#pair-groups). Privacy code receives public numbers only: a degree
// cap that New or Capped enforces, or a kappa fixed in advance.
package pairgraph

import (
	"errors"
	"fmt"
	"math"
)

// ErrPairs is wrapped by New for pairs that do not form a simple graph.
var ErrPairs = errors.New("pairgraph: not a simple graph")

// Pair is an unordered pair of two different individuals.
type Pair struct{ A, B int32 }

// Graph is an undirected simple graph on individuals 0..n-1. It is immutable.
type Graph struct {
	n     int
	pairs []Pair
	start []int32 // n+1 offsets into near and edge
	near  []int32 // neighbours
	edge  []int32 // number of the pair that leads there
}

// New returns the graph of the pairs. It wraps ErrPairs, with the number of the first
// offending pair from 0, if an individual is unknown, paired with itself, or a pair
// occurs twice in either order.
func New(n int, pairs []Pair) (*Graph, error) {
	if n < 1 || n > math.MaxInt32 || len(pairs) > math.MaxInt32/2 {
		return nil, fmt.Errorf("%w: %d individuals and %d pairs, want at least 1 individual and at most 2^30 pairs", ErrPairs, n, len(pairs))
	}
	g := &Graph{n: n, pairs: pairs, start: make([]int32, n+1)}
	for i, p := range pairs {
		switch {
		case p.A < 0 || int(p.A) >= n || p.B < 0 || int(p.B) >= n:
			return nil, fmt.Errorf("%w: pair %d names an individual outside of 0..%d", ErrPairs, i, n-1)
		case p.A == p.B:
			return nil, fmt.Errorf("%w: pair %d joins an individual with itself", ErrPairs, i)
		}
		g.start[p.A+1]++
		g.start[p.B+1]++
	}
	for v := range n {
		g.start[v+1] += g.start[v]
	}
	g.near, g.edge = make([]int32, 2*len(pairs)), make([]int32, 2*len(pairs))
	next := append([]int32(nil), g.start[:n]...)
	place := func(from, to int32, i int) {
		g.near[next[from]], g.edge[next[from]] = to, int32(i)
		next[from]++
	}
	for i, p := range pairs {
		place(p.A, p.B, i)
		place(p.B, p.A, i)
	}
	return g, g.findTwice()
}

// findTwice returns an error for the first pair that occurs again.
func (g *Graph) findTwice() error {
	seen := make([]int32, g.n) // 1 + the pair by which a neighbour was reached last
	owner := make([]int32, g.n)
	second := len(g.pairs)
	for v := range int32(g.n) {
		for i := g.start[v]; i < g.start[v+1]; i++ {
			u := g.near[i]
			if owner[u] == v+1 {
				second = min(second, int(max(g.edge[i], seen[u])))
			}
			owner[u], seen[u] = v+1, g.edge[i]
		}
	}
	if second < len(g.pairs) {
		return fmt.Errorf("%w: pair %d occurs twice; keep one line for each two individuals", ErrPairs, second)
	}
	return nil
}

// Len is the number of individuals.
func (g *Graph) Len() int { return g.n }

// Pairs are the pairs in the order given; the caller must not change them.
func (g *Graph) Pairs() []Pair { return g.pairs }

// Degree is the number of pairs that contain v.
func (g *Graph) Degree(v int) int { return int(g.start[v+1] - g.start[v]) }

// MaxDegree is the largest Degree.
func (g *Graph) MaxDegree() int {
	most := 0
	for v := range g.n {
		most = max(most, g.Degree(v))
	}
	return most
}

// Capped returns the numbers of the pairs to keep so that no individual is in more than
// limit of them: a pair stays if, at both of its ends, it is among the first limit in the
// order given. Adding or removing one pair changes at most 3 kept pairs (itself and one
// at each end), which greedy truncation does not offer (docs/theory.md#pair-groups); that
// is a property of pairs, not of individuals.
//
// Proof. At one end an added pair pushes at most one other out of the first limit.
// So the sets of the first limit change, besides the added pair, by one pair at each
// end, and only these can stop being kept. QED
func (g *Graph) Capped(limit int) []int32 {
	kept := make([]int32, 0, len(g.pairs))
	for i, p := range g.pairs {
		if g.rank(p.A, int32(i)) < limit && g.rank(p.B, int32(i)) < limit {
			kept = append(kept, int32(i))
		}
	}
	return kept
}

// rank is the place of pair i among those of v. The pairs of v are listed in
// ascending order.
func (g *Graph) rank(v, i int32) int {
	lo, hi := g.start[v], g.start[v+1]
	for lo < hi {
		if mid := (lo + hi) / 2; g.edge[mid] < i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int(lo - g.start[v])
}
