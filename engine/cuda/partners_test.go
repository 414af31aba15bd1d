package cuda

import (
	"context"
	"math/bits"
	"math/rand/v2"
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
	if moved := movedBy(8, partners); moved != partnersMoved(8) {
		t.Errorf("8 records: at most %d have another partner, the claim is %d", moved, partnersMoved(8))
	}
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
