package cuda

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// compacted puts rows in pairs in their own order: the defect that partners avoids.
func compacted(n int, row func(int) bool) (pairs []uint32) {
	for i := range n {
		if row(i) {
			pairs = append(pairs, uint32(i))
		}
	}
	if len(pairs)%2 == 1 {
		pairs = append(pairs, none)
	}
	return pairs
}

// partnerOf is the partner of each record, none for those that are no rows, too.
func partnerOf(n int, pairs []uint32) []uint32 {
	of := slices.Repeat([]uint32{none}, n)
	for at, i := range pairs {
		if i != none {
			of[i] = pairs[at^1]
		}
	}
	return of
}

// movedBy is the most other records that have another partner when a record becomes a row, for
// every set of rows among n.
func movedBy(n int, pairing func(int, func(int) bool) []uint32) (most int) {
	of := make([][]uint32, 1<<n)
	for set := range of {
		of[set] = partnerOf(n, pairing(n, func(i int) bool { return set>>i&1 == 1 }))
	}
	for set := range of {
		for k := range n {
			moved := 0
			for i := range n {
				if i != k && of[set][i] != of[set^1<<k][i] {
					moved++
				}
			}
			most = max(most, moved)
		}
	}
	return most
}

// TestPartners: every row is in one pair, at most one pair has none, and for every set of rows
// among up to 11 records at most partnersMoved have another partner when one record becomes a
// row; one less does not hold. The control: pairs in the order of the rows move many more.
func TestPartners(t *testing.T) {
	for n := 1; n <= 11; n++ {
		for set := range 1 << n {
			pairs := partners(n, func(i int) bool { return set>>i&1 == 1 })
			rows := slices.DeleteFunc(slices.Sorted(slices.Values(pairs)), func(i uint32) bool { return i == none })
			want := compacted(n, func(i int) bool { return set>>i&1 == 1 })
			if len(pairs) != (bits.OnesCount(uint(set))+1)/2*2 || !slices.Equal(rows, want[:len(rows)]) {
				t.Fatalf("rows %b: pairs %v", set, pairs)
			}
		}
		if moved := movedBy(n, partners); moved > partnersMoved(n) {
			t.Errorf("%d records: %d have another partner, the claim is %d", n, moved, partnersMoved(n))
		}
	}
	must.Equal(t, movedBy(8, partners), partnersMoved(8), "8 records: at most ... have another partner")
	if moved := movedBy(8, compacted); moved <= partnersMoved(8) {
		t.Errorf("the control: only %d have another partner", moved)
	}
}

// pairTerms are the terms of all pairs of a row with a column, by their records, with rows in
// the order of a pairing.
func pairTerms(t *testing.T, b Backend, p engine.Problem, x, y []float64, pairing func(int, func(int) bool) []uint32) map[[2]uint32]int64 {
	t.Helper()
	e := bound(t, b, p, x, y)
	m := e.pairs.(*factored)
	cols, _, _ := sides(y)
	rows := pairing(len(y), func(i int) bool { return !slices.Contains(cols, uint32(i)) })
	first := paddedRows(m.cols)
	terms := map[[2]uint32]int64{}
	must.Do(t, b.Device.do(context.Background(), func(c *job) {
		c.copyWords(m.records+driver.Pointer(4*first), rows)
	}))
	coefficientsOf(t, e, []float64{0.9}) // the exponentials
	must.Do(t, b.Device.do(context.Background(), func(c *job) {
		all := make([]float32, first)
		c.copyBack(all, m.numbers)
		alone := slices.Repeat([]float32{padding}, factoredRows)
		for j := range cols {
			alone[0] = all[j]
			c.copyWords(m.numbers, alone)
			c.clear(m.sums, 8*(first+factoredRows))
			c.launch(m.module, "logistic_tiles", 1, 1, uint64(m.sums+driver.Pointer(8*first)), uint64(m.sums),
				uint64(m.numbers+driver.Pointer(4*first)), uint64(m.numbers), uint64(len(rows)), 1)
			out := make([]int64, len(rows))
			c.copyBack(out, m.sums+driver.Pointer(8*first))
			for r, i := range rows {
				if i != none {
					terms[[2]uint32{i, cols[j]}] = out[r]
				}
			}
		}
	}))
	return terms
}

// TestTermsOfOthersStay: when the label of a record flips, or its features change, at most
// partnersMoved of the other rows have terms with others that change, in the last bits, and
// some do. The control: with rows in pairs in their own order more do.
func TestTermsOfOthersStay(t *testing.T) {
	const n = 40
	b := openFake(t, newFake())
	b.Method = Direct
	p := engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	rng := rand.New(rand.NewPCG(3, 14))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = 2*rng.Float64()-1, float64(2*rng.IntN(2)-1)
	}
	changed := sizes.Of([]int{15, 39}, []int{0, 1, 13, 15, 16, 31, 32, 39})
	if testing.Short() {
		changed = []int{1, 15}
	}
	for name, pairing := range map[string]func(int, func(int) bool) []uint32{"partners": partners, "compacted": compacted} {
		before, most := pairTerms(t, b, p, x, y, pairing), 0
		for _, k := range changed {
			for _, flip := range []float64{1, -1} {
				other, labels := slices.Clone(x), slices.Clone(y)
				other[k], labels[k] = -0.3*other[k], flip*labels[k]
				moved := map[uint32]bool{}
				for pair, v := range pairTerms(t, b, p, other, labels, pairing) {
					if slices.Contains(pair[:], uint32(k)) || v == before[pair] {
						continue
					}
					moved[pair[0]] = true
					if d := v - before[pair]; d < -6 || d > 6 {
						t.Errorf("the term of %v changes by %d units", pair, d)
					}
				}
				most = max(most, len(moved))
			}
		}
		if limit := partnersMoved(n); most == 0 || (most > limit) != (name == "compacted") {
			t.Errorf("%s: the terms of %d other rows change, the claim is %d", name, most, limit)
		}
	}
}

// TestPartnersAttack: reciprocals within their documented error, which is a function of the operand, and places at
// which a flipped label moves a partner on every level: what the record changes is within NeighbourRoundoff, and
// beyond what it would be if no partners moved.
func TestPartnersAttack(t *testing.T) {
	const n, m = 1024, 10
	f, edits := newFake(), 0
	rcp := regexp.MustCompile(`rcp\.approx\.ftz\.f32\s+(%f\d+), (%f\d+);`)
	hex := func(v float64) string { return fmt.Sprintf("0f%08X", math.Float32bits(float32(v))) }
	f.edit = func(ptx string) string {
		return rcp.ReplaceAllStringFunc(ptx, func(s string) string {
			edits++
			r := rcp.FindStringSubmatch(s)
			return s + fmt.Sprintf(`
	{
	.reg .pred %%za<2>;
	.reg .f32 %%zf<3>;
	.reg .b32 %%zr<2>;
	setp.gt.f32 %%za0, %s, %s;
	setp.gt.f32 %%za1, %s, %s;
	mov.b32 %%zr0, %s;
	add.s32 %%zr1, %%zr0, 1;
	add.s32 %%zr0, %%zr0, -1;
	mov.b32 %%zf0, %%zr0;
	mov.b32 %%zf1, %%zr1;
	selp.f32 %%zf2, %%zf0, %%zf1, %%za0;
	selp.f32 %s, %%zf1, %%zf2, %%za1;
	}`, r[2], hex(6.87), r[2], hex(7.07), r[1], r[1])
		})
	}
	b := openFake(t, f)
	b.Method = Direct
	p := engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 0.3}
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = -1, -1
	}
	// Record 0 flips; one row in each half beside the path: at 1, 2, 4, ...
	x[0], y[0] = -1, 1
	kinds := []float64{1, 0.8} // s1 = b, s2 s3 = a, s4 s5 = b ...
	for h := range m {
		i := 1 << h
		y[i], x[i] = 1, kinds[1-(h+1)/2%2]
	}
	w := []float64{-0.3}
	distance := func(x, y []float64) float64 {
		e := bound(t, b, p, x, y)
		dst, exact := []float64{0}, []float64{0}
		must.Do(t, e.Sum(t.Context(), dst, engine.Gradient(w, engine.AllPairs{N: n})))
		for i := range n {
			for j := range n {
				if y[i] != y[j] {
					p.Loss.AddGrad(exact, w, engine.Record{X: x[i : i+1], Y: y[i]}, engine.Record{X: x[j : j+1], Y: y[j]})
				}
			}
		}
		return dst[0] - exact[0]
	}
	labels := slices.Clone(y)
	labels[0] = -1
	change := math.Abs(distance(x, y)-distance(x, labels)) / 2
	k := must.Get(b.Plan(p))(t)
	near := k.Bounds(engine.Query{Pairs: engine.AllPairs{N: n}}).OneRecord()
	r, a := k.(*kernel).ownError()
	alone := 4 * (n - 1) * (r*2 + a)
	if edits == 0 {
		t.Error("no reciprocal was disturbed")
	}
	if change > near || change <= alone {
		t.Errorf("change %g, bound %g, with b = 0 %g", change, near, alone)
	}
}
