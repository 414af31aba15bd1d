package pairgraph_test

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine/pairgraph"
	"dyad/internal/must"
)

type pairs = []pairgraph.Pair

func graph(t testing.TB, n int, p pairs) *pairgraph.Graph {
	t.Helper()
	return must.Get(pairgraph.New(n, p))(t)
}

func path(n int32) (p pairs) {
	for i := range n - 1 {
		p = append(p, pairgraph.Pair{A: i, B: i + 1})
	}
	return p
}

func star(n int32) (p pairs) {
	for i := int32(1); i < n; i++ {
		p = append(p, pairgraph.Pair{A: i})
	}
	return p
}

func complete(n int32) (p pairs) {
	for i := range n {
		for j := i + 1; j < n; j++ {
			p = append(p, pairgraph.Pair{A: i, B: j})
		}
	}
	return p
}

func TestNamedGraphs(t *testing.T) {
	cycle := append(path(8), pairgraph.Pair{A: 7, B: 0})
	tree := pairs{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}, {2, 6}}
	twoTriangles := pairs{{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}, {4, 2}}
	for _, c := range []struct {
		name                       string
		n                          int
		pairs                      pairs
		kappa, bound, intransitive int
		degree                     int
	}{
		{"no pairs", 3, nil, 0, 0, 0, 0},
		{"one pair and an isolated one", 3, pairs{{0, 2}}, 1, 1, 1, 1},
		{"path", 8, path(8), 1, 1, 1, 2},
		{"cycle", 8, cycle, 2, 2, 1, 2},
		{"star", 8, star(8), 1, 1, 1, 7},
		{"tree", 7, tree, 1, 1, 1, 3},
		{"two triangles in one point", 5, twoTriangles, 2, 3, 1, 4},
		{"complete", 5, complete(5), 4, 4, 3, 4},
	} {
		g := graph(t, c.n, c.pairs)
		kappa := must.Get(g.Kappa())(t)
		if got := []int{kappa, g.KappaBound(pairgraph.Transitive), g.KappaBound(pairgraph.Intransitive), g.MaxDegree()}; !slices.Equal(got, []int{c.kappa, c.bound, c.intransitive, c.degree}) {
			t.Errorf("%s: kappa, bound, intransitive, degree = %v, want %v", c.name, got, []int{c.kappa, c.bound, c.intransitive, c.degree})
		}
	}
}

// randomGraph has up to most individuals.
func randomGraph(r *rand.Rand, most int) (int, pairs) {
	n := 2 + r.IntN(most-1)
	density := r.Float64()
	var p pairs
	for _, e := range complete(int32(n)) {
		if r.Float64() < density {
			if r.IntN(2) == 0 {
				e.A, e.B = e.B, e.A
			}
			p = append(p, e)
		}
	}
	r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	return n, p
}

// plain is a graph for the definitions: adjacency by loops, no shared code.
type plain struct {
	n     int
	pairs pairs
}

// components counts the components among individuals other than skip that touch one
// of the neighbours of skip, with the pairs in the mask.
func (g plain) touched(skip int32, mask uint64) (degree, components int) {
	parent := make([]int32, g.n)
	for i := range parent {
		parent[i] = int32(i)
	}
	find := func(v int32) int32 {
		for parent[v] != v {
			v = parent[v]
		}
		return v
	}
	for i, p := range g.pairs {
		if mask&(1<<i) != 0 && p.A != skip && p.B != skip {
			parent[find(p.A)] = find(p.B)
		}
	}
	seen := map[int32]bool{}
	for i, p := range g.pairs {
		if mask&(1<<i) != 0 && (p.A == skip || p.B == skip) {
			degree++
			seen[find(p.A+p.B-skip)] = true
		}
	}
	return degree, len(seen)
}

// cut is the size of the smallest set of pairs that separates s from t: Menger.
func (g plain) cut(s, t int32, mask uint64) int {
	least := len(g.pairs)
	for side := range uint64(1) << g.n {
		if side&(1<<s) == 0 || side&(1<<t) != 0 {
			continue
		}
		crossing := 0
		for i, p := range g.pairs {
			if mask&(1<<i) != 0 && side>>p.A&1 != side>>p.B&1 {
				crossing++
			}
		}
		least = min(least, crossing)
	}
	return least
}

// kappa is equation 5 over all sets of pairs that a largest set of edge-disjoint
// paths can occupy, cycles beside the paths included: these cannot raise the value.
func (g plain) kappa() int {
	all := uint64(1)<<len(g.pairs) - 1
	best := 0
	for s := range int32(g.n) {
		for t := s + 1; t < int32(g.n); t++ {
			flow := g.cut(s, t, all)
			for used := range all + 1 {
				if !g.pathsFill(used, s, t, flow) {
					continue
				}
				ds, cs := g.touched(s, all&^used)
				dt, ct := g.touched(t, all&^used)
				best = max(best, flow+min(ds-cs, dt-ct))
			}
		}
	}
	return best
}

func (g plain) pathsFill(used uint64, s, t int32, flow int) bool {
	degree := make([]int, g.n)
	for i, p := range g.pairs {
		if used&(1<<i) != 0 {
			degree[p.A]++
			degree[p.B]++
		}
	}
	for v, d := range degree {
		if int32(v) == s || int32(v) == t {
			if d != flow {
				return false
			}
		} else if d%2 == 1 {
			return false
		}
	}
	return g.cut(s, t, used) == flow
}

func TestKappaEqualsBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	graphs := 300
	if testing.Short() {
		graphs = 40
	}
	for range graphs {
		n, p := randomGraph(r, 6)
		if len(p) > 9 {
			p = p[:9]
		}
		got := must.Get(graph(t, n, p).Kappa())(t)
		if want := (plain{n, p}).kappa(); got != want {
			t.Fatalf("%d individuals, pairs %v: kappa %d, want %d", n, p, got, want)
		}
	}
}

// kappa <= kappa' <= max degree, [Li20] Proposition 1, and the intransitive number
// against its definition.
func TestKappaBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	graphs, equal := 10000, 0
	if testing.Short() {
		graphs = 500
	}
	for range graphs {
		n, p := randomGraph(r, 6)
		g := graph(t, n, p)
		kappa, err := g.Kappa()
		if errors.Is(err, pairgraph.ErrTooLarge) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		bound := g.KappaBound(pairgraph.Transitive)
		if kappa > bound || bound > g.MaxDegree() {
			t.Fatalf("pairs %v: kappa %d, bound %d, degree %d", p, kappa, bound, g.MaxDegree())
		}
		if kappa == bound {
			equal++
		}
		if got, want := g.KappaBound(pairgraph.Intransitive), (plain{n, p}).intransitive(); got != want {
			t.Fatalf("pairs %v: intransitive %d, want %d", p, got, want)
		}
		// The bound by its definition: remove each individual and count.
		want := 0
		for v := range int32(n) {
			d, c := (plain{n, p}).touched(v, uint64(1)<<len(p)-1)
			want = max(want, d-max(0, c-1))
		}
		if bound != want {
			t.Fatalf("pairs %v: bound %d, want %d", p, bound, want)
		}
	}
	if equal < graphs/4 {
		t.Errorf("the bound is attained by %d of %d graphs only", equal, graphs)
	}
}

// intransitive is [Li20] Appendix B by its words.
func (g plain) intransitive() int {
	all := uint64(1)<<len(g.pairs) - 1
	best := 0
	for s := range int32(g.n) {
		for t := s + 1; t < int32(g.n); t++ {
			mask, extra := all, 0
			for i, p := range g.pairs {
				if min(p.A, p.B) == s && max(p.A, p.B) == t {
					mask, extra = all&^(1<<i), 1
				}
			}
			ds, cs := g.touched(s, mask)
			dt, ct := g.touched(t, mask)
			best = max(best, extra+min(ds-cs, dt-ct))
		}
	}
	return best
}

// docs/theory.md#pair-groups: one more pair doubles kappa, which is why it must not set noise.
func TestKappaDependsOnOnePair(t *testing.T) {
	before, _ := graph(t, 8, path(8)).Kappa()
	after, _ := graph(t, 8, append(path(8), pairgraph.Pair{A: 0, B: 7})).Kappa()
	if before != 1 || after != 2 {
		t.Errorf("path %d, cycle %d, want 1 and 2", before, after)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, p := range map[string]pairs{
		"unknown": {{0, 3}}, "negative": {{-1, 1}}, "self": {{1, 1}}, "twice": {{0, 1}, {1, 2}, {0, 1}}, "reversed": {{0, 1}, {1, 0}},
	} {
		must.Fail(pairgraph.New(3, p))(t, pairgraph.ErrPairs, name)
	}
	must.Fail(pairgraph.New(0, nil))(t, pairgraph.ErrPairs, "no individuals were accepted")
}

// Capped: nobody is in more than limit pairs, and adding a pair changes at most 3,
// where keeping greedily whatever still fits changes 21 (docs/theory.md#pair-groups).
func TestCappedIsStable(t *testing.T) {
	kept := func(n int, p pairs, limit int) map[pairgraph.Pair]bool {
		g := graph(t, n, p)
		m, degree := map[pairgraph.Pair]bool{}, make([]int, n)
		for _, i := range g.Capped(limit) {
			m[p[i]] = true
			degree[p[i].A]++
			degree[p[i].B]++
		}
		if slices.Max(degree) > limit {
			t.Fatalf("somebody is in %d pairs, limit %d", slices.Max(degree), limit)
		}
		return m
	}
	difference := func(a, b map[pairgraph.Pair]bool) (d int) {
		for p := range a {
			if !b[p] {
				d++
			}
		}
		for p := range b {
			if !a[p] {
				d++
			}
		}
		return d
	}
	r := rand.New(rand.NewPCG(5, 6))
	worst := 0
	for range 3000 {
		n, p := randomGraph(r, 9)
		if len(p) == 0 {
			continue
		}
		i, limit := r.IntN(len(p)), 1+r.IntN(3)
		worst = max(worst, difference(kept(n, p, limit), kept(n, slices.Delete(slices.Clone(p), i, i+1), limit)))
	}
	if worst != 3 {
		t.Errorf("one pair changed %d kept pairs at most, want 3", worst)
	}
	greedy := func(p pairs) map[pairgraph.Pair]bool {
		m, used := map[pairgraph.Pair]bool{}, map[int32]bool{}
		for _, e := range p {
			if !used[e.A] && !used[e.B] {
				m[e], used[e.A], used[e.B] = true, true, true
			}
		}
		return m
	}
	if d := difference(greedy(path(22)), greedy(path(22)[1:])); d < 20 {
		t.Errorf("greedy truncation changes %d pairs, the defect is gone from the test", d)
	}
}

func TestLargeGraphs(t *testing.T) {
	const n = 300_000
	if g := graph(t, n, path(n)); g.KappaBound(pairgraph.Transitive) != 1 || g.KappaBound(pairgraph.Intransitive) != 1 {
		t.Error("a long path has kappa 1")
	}
	must.Fail(graph(t, 100, path(100)).Kappa())(t, pairgraph.ErrTooLarge, "99 pairs")
	must.Fail(graph(t, 11, complete(11)).Kappa())(t, pairgraph.ErrTooLarge, "a complete graph of 11")
}

func BenchmarkKappaBound(b *testing.B) {
	const n, m = 500_000, 1_000_000
	r := rand.New(rand.NewPCG(7, 8))
	seen, p := map[uint64]bool{}, make(pairs, 0, m)
	for len(p) < m {
		a, c := r.Uint64N(n), r.Uint64N(n)
		if key := min(a, c)<<32 | max(a, c); a != c && !seen[key] {
			seen[key] = true
			p = append(p, pairgraph.Pair{A: int32(a), B: int32(c)})
		}
	}
	b.ResetTimer()
	for range b.N {
		g := must.Get(pairgraph.New(n, p))(b)
		if bits.Len(uint(g.KappaBound(pairgraph.Transitive))) == 0 {
			b.Fatal("kappa' is 0")
		}
	}
}

func TestDraw(t *testing.T) {
	p := must.Get(pairgraph.Draw(1000, 2, 6, 1))(t)
	g := graph(t, 1000, p)
	if len(p) != 2000 || g.MaxDegree() > 6 {
		t.Errorf("%d pairs of degree up to %d, want 2000 and at most 6", len(p), g.MaxDegree())
	}
	again, _ := pairgraph.Draw(1000, 2, 6, 1)
	other, _ := pairgraph.Draw(1000, 2, 6, 2)
	if !slices.Equal(p, again) || slices.Equal(p, other) {
		t.Error("the pairs are not a function of the seed")
	}
	if p, err := pairgraph.Draw(5, 2, 4, 1); err != nil || len(p) != 10 {
		t.Errorf("the complete graph of 5: %d pairs, %v", len(p), err)
	}
	for _, c := range []struct {
		n       int
		density float64
		limit   int
	}{{1000, 2, 3}, {1, 1, 1}, {10, 0, 3}, {10, 5, 20}, {10, math.NaN(), 3}, {10, 1, 0}} {
		must.Err(pairgraph.Draw(c.n, c.density, c.limit, 1))(t, "%+v was accepted", c)
	}
}
