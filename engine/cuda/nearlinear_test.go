package cuda

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

// TestMomentError: the two claims of nearError about the errors of moments, with the
// recursion M_(32i+j) = 2 sum - M_(32i-j), its rounding and the bounds of the kernel.
func TestMomentError(t *testing.T) {
	// In units of N g(m) and of N u.
	var depth, own [maxTerms]float64
	for a := range own {
		i, j := a/groupTerms, a%groupTerms
		sigma := 341.5*float64(i*i) + float64(j*(j+1))/2
		depth[a], own[a] = 1, sigma
		if i > 0 && j > 0 {
			depth[a], own[a] = 2+depth[i*groupTerms-j], 2*sigma+own[i*groupTerms-j]+1
		}
		growth := float64(a+1) * float64(a+2) / 2
		must.Within(t, depth[a], 0, 1+growth/280, "a = %d: the sums count ... times", a)
		must.Within(t, own[a], 0, 4.2*growth, "a = %d: error ... u", a)
	}
	if own[224] < 1.2*224 { // the control: the claim is not one that anything meets
		t.Errorf("error %v of the 224th moment", own[224])
	}
}

// TestShortExpansion is a control of the suite: with half of the terms the error is far
// above Roundoff.
func TestShortExpansion(t *testing.T) {
	p, r, w := records(t, 200, 3, 2)
	want := must.Get(sumOf(cpu.Backend{Method: cpu.Direct}, p, r, w))(t)
	full := must.Get(openFake(t, newFake()).Plan(p))(t).(*kernel)
	short := *full
	short.expansion.Terms /= 2
	bound := full.Bounds(engine.Query{Pairs: engine.AllPairs{N: p.N}}).Sum
	for k, limit := range map[*kernel][2]float64{full: {0, bound}, &short: {10 * bound, math.Inf(1)}} {
		e := must.Get(k.Bind(r))(t)
		sum := make([]float64, p.D)
		must.Do(t, errors.Join(e.Sum(context.Background(), sum, engine.Gradient(w, engine.AllPairs{N: p.N})), e.Close()))
		if diff := apartBy(sum, want); diff < limit[0] || diff > limit[1] {
			t.Errorf("%d terms: error %g, Roundoff of all terms is %g", k.expansion.Terms, diff, bound)
		}
	}
}

// TestNearErrorHolds: with every rounding in float64 off by a unit in the last place more, up or
// down, sums are within Roundoff of those of the CPU, and other sums; TestShortExpansion is the control.
func TestNearErrorHolds(t *testing.T) {
	for _, labels := range []int{2, 5} {
		p, r, w := records(t, 300, 3, labels)
		want := must.Get(sumOf(cpu.Backend{Method: cpu.Direct}, p, r, w))(t)
		var exact []float64
		for _, ulps := range []int{0, 1} {
			f := newFake()
			f.machine.Ulps = ulps
			b := openFake(t, f)
			b.Method = NearLinear
			k := must.Get(b.Plan(p))(t)
			got := must.Get(sumOf(b, p, r, w))(t)
			part := apartBy(got, want) / k.Bounds(engine.Query{Pairs: engine.AllPairs{N: p.N}}).Sum
			if t.Logf("%d labels, %d ulps: %.2g of Roundoff", labels, ulps, part); !(part <= 1) || slices.Equal(got, exact) {
				t.Errorf("%d labels, %d ulps: %.2g of Roundoff", labels, ulps, part)
			}
			exact = got
		}
	}
}

// TestGrid: sums over rows are cut by public sizes alone, and a plan has room for the share of a rank of as many rows
// or of fewer, whose chunks may be others.
func TestGrid(t *testing.T) {
	for _, size := range []int{2, 3, 513, 600, 1023, 1024, 2000} {
		crew := enginetest.Members(size)[0]
		for _, rows := range []int{100, 262145, 300_000, 524_289, 6 * 1024 * 1024, 8*1024*1024*256 + 1} {
			most := gridOf(engine.Problem{N: rows, D: 1}, crew).n
			for _, fewer := range []int{rows, rows - 1, rows * 9 / 10, 262144, 1024 * 1024} {
				g := gridOf(engine.Problem{N: min(fewer, rows), D: 1}, nil)
				for _, rank := range []int{0, size / 2, size - 1} {
					from, to := engine.ShareOf(crew, rank, g.chunks())
					if own := min(to*g.chunkRows(), g.all) - from*g.chunkRows(); own > most {
						t.Errorf("%d ranks: rank %d has %d of %d rows, a plan for %d has room for %d", size, rank, own, g.all, rows, most)
					}
				}
			}
		}
	}
	for _, c := range []struct{ n, d, chunks, spans, span, logParts int }{
		{100_000_000, 20, 1018, 48, 8, 1}, {1_000_000, 8, 977, 1, 4, 0}, {1_000_000, 3, 977, 1, 4, 2}, {2_000_000, 3, 977, 1, 8, 3}, {3_000_000, 12, 733, 2, 8, 1},
		{1000, 1, 4, 1, 1, 0}, {262144, 3, 1024, 1, 1, 0}, {262145, 3, 513, 1, 2, 1}, {10, 1000, 1, 1, 1, 0},
	} {
		var first grid
		for i, memory := range []uint64{1 << 50, 1<<30 + uint64(8*c.n*c.d)/2} {
			g := must.Get(gridOf(engine.Problem{N: c.n, D: c.d}, nil).placed(0, memory))(t)
			if g.chunks() != c.chunks || g.spans != c.spans || g.span != c.span || int(g.logParts) != c.logParts {
				t.Errorf("%+v: %d chunks, %+v", c, g.chunks(), g)
			}
			if i == 0 {
				first = g
			}
			if g.depth() != first.depth() || !g.resident && g.panel*tileRows%g.chunkRows() != 0 {
				t.Errorf("%+v: %+v and %+v", c, first, g)
			}
		}
	}
}
