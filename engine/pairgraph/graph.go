// Package pairgraph holds pairs of individuals and the graph that they form. It computes
// the number of pairs of an individual. It also computes the correlation number kappa of
// [Li20], which is a parameter of differential pairwise privacy.
//
// The scale of noise must not depend on a number that is computed from private pairs, because
// one more pair can change this number (docs/theory.md#pair-groups). Privacy code receives
// public numbers only: a degree cap that Capped enforces, or a kappa that is fixed in
// advance.
package pairgraph

import (
	"errors"
	"fmt"
	"math"
)

// ErrPairs is wrapped by the error of New if the pairs do not form a simple graph.
var ErrPairs = errors.New("pairgraph: not a simple graph")

// Pair is an unordered pair of two different individuals.
type Pair struct{ A, B int32 }

// Graph is an undirected simple graph on individuals 0..n-1. It is immutable.
type Graph struct {
	n     int
	pairs []Pair
	start []int32 // n+1 offsets into near and edge
	near  []int32 // neighbours
	edge  []int32 // number of the pair that leads to the neighbour
}

// New returns the graph of the pairs. It returns an error wrapping ErrPairs if an
// individual is unknown or paired with itself, or if a pair occurs twice in either order.
// The error contains the number of the first invalid pair, counted from 0.
func New(n int, pairs []Pair) (*Graph, error) {
	if n < 1 || n > math.MaxInt32 || len(pairs) > math.MaxInt32/2 {
		return nil, fmt.Errorf("%w: there are %d individuals and %d pairs; want at least 1 individual and at most "+
			"2^30 pairs", ErrPairs, n, len(pairs))
	}
	g := &Graph{n: n, pairs: pairs, start: make([]int32, n+1)}
	for i, p := range pairs {
		switch {
		case p.A < 0 || int(p.A) >= n || p.B < 0 || int(p.B) >= n:
			return nil, fmt.Errorf("%w: pair %d names an individual outside 0..%d", ErrPairs, i, n-1)
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

// findTwice returns an error for the first pair that repeats an earlier pair.
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
		return fmt.Errorf("%w: pair %d occurs twice; keep only one of the two lines", ErrPairs, second)
	}
	return nil
}

// Len returns the number of individuals.
func (g *Graph) Len() int { return g.n }

// Pairs returns the pairs in the given order. The caller must not change them.
func (g *Graph) Pairs() []Pair { return g.pairs }

// Degree returns the number of pairs that contain v.
func (g *Graph) Degree(v int) int { return int(g.start[v+1] - g.start[v]) }

// MaxDegree returns the largest Degree of all individuals.
func (g *Graph) MaxDegree() int {
	most := 0
	for v := range g.n {
		most = max(most, g.Degree(v))
	}
	return most
}

// Capped selects pairs so that no individual is in more than limit selected pairs, and
// returns the numbers of the selected pairs. A pair is selected if, for each of its two
// individuals, it is among the individual's first limit pairs in the given order. Adding
// or removing one pair changes at most 3 selected pairs: the pair itself and one pair of
// each of its individuals. Greedy truncation does not have this property
// (docs/theory.md#pair-groups). The property is about pairs and not about individuals.
//
// Proof. At each of its individuals, an added pair pushes at most one other pair out of
// the first limit pairs. So besides the added pair, the set of the first limit pairs of
// each of its two individuals changes by one pair. Only these pairs can become
// unselected. QED
func (g *Graph) Capped(limit int) []int32 {
	kept := make([]int32, 0, len(g.pairs))
	for i, p := range g.pairs {
		if g.rank(p.A, int32(i)) < limit && g.rank(p.B, int32(i)) < limit {
			kept = append(kept, int32(i))
		}
	}
	return kept
}

// rank returns the place of pair i among the pairs of v. The pairs of v are listed in
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
