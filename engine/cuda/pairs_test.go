package cuda

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// pairData is m random pairs of n individuals; sizes of features vary.
func pairData(t *testing.T, n, d, m int, norm embedding.Norm) *embedding.Data {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	drawn := must.Get(pairgraph.Draw(n, float64(m)/float64(n), m, 7))(t)
	g := must.Get(pairgraph.New(n, drawn))(t)
	x, labels := make([]float64, n*d), make([]bool, m)
	for i := range x {
		x[i] = r.NormFloat64() * math.Exp2(float64(-r.IntN(6)))
	}
	for i := range labels {
		labels[i] = r.IntN(2) == 0
	}
	return must.Get(embedding.NewData(x, d, norm, 1, g, labels))(t)
}

func weights(n int, scale float64) []float64 {
	r := rand.New(rand.NewPCG(uint64(n), 9))
	w := make([]float64, n)
	for i := range w {
		w[i] = scale * r.NormFloat64()
	}
	return w
}

func openPairs(t *testing.T, b Backend, data *embedding.Data, loss embedding.ListLoss, rows int) *pairSums {
	t.Helper()
	s := must.Get(b.Sums(data, loss, rows))(t)
	t.Cleanup(func() {
		must.CheckDo(t, s.Close())
	})
	return s.(*pairSums)
}

func (s *pairSums) sumOf(t *testing.T, w []float64, pairs []int32, clip float64, how embedding.Clip) []float64 {
	t.Helper()
	dst := make([]float64, s.Len())
	must.Do(t, s.Sum(context.Background(), dst, w, pairs, clip, how))
	return dst
}

func normOf(norm embedding.Norm, x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		if norm == embedding.L1 {
			sum += math.Abs(v)
		} else {
			sum = math.Hypot(sum, v)
		}
	}
	return sum
}

// pairError bounds the distance between the GPU's and the CPU's term of one pair, in the
// norm of the data, where no square underflows. With u = 2^-53, g = gamma(d + 8), D = ||v||,
// p entries of W:
//
//   - v differs by at most 2 g sum_k |w_rk| |dx_k| in row r on each side, a in norm;
//   - the slope is Lipschitz in v with constant k: 1 for a similar pair, 1/4 for
//     Bradley-Terry, 2 m/D + 1 for a dissimilar one, in any norm up to sqrt(rows), and has
//     relative errors below 32 u on each side;
//   - clipping, radial or by rows, has Lipschitz constant at most 2, and its own error is
//     within slack + 16 u of the clip;
//   - the term is rounded towards zero by less than q an entry.
func pairError(s *pairSums, data *embedding.Data, w []float64, pair int32, clip, unit float64) float64 {
	e := data.Graph().Pairs()[pair]
	dx, v, spread := make([]float64, s.d), make([]float64, s.rows), make([]float64, s.rows)
	for k := range dx {
		dx[k] = data.Row(int(e.A))[k] - data.Row(int(e.B))[k]
	}
	g := engine.Gamma(s.d + 8)
	for r := range v {
		for k, t := range dx {
			v[r] += w[r*s.d+k] * t
			spread[r] += 2 * g * math.Abs(w[r*s.d+k]*t)
		}
	}
	k, root := 1.0, math.Sqrt(float64(s.rows))
	distance := normOf(embedding.L2, v)
	slope, label, link := make([]float64, s.rows), 0.0, s.loss.Link()
	if data.Label(int(pair)) {
		label = 1
	}
	origin := make([]float64, s.rows)
	link.Pull(slope, slices.Clone(v), v, origin, s.loss.DPhi(link.Of(v, origin), label, 0))
	if _, ok := s.loss.(embedding.Contrastive); ok && data.Label(int(pair)) {
		far := max(distance-normOf(embedding.L2, spread), 0)
		k = 2*s.margin/far + 1
	}
	length := normOf(s.norm, dx)
	change := (2*root*k*normOf(s.norm, spread) + 64*u64*normOf(s.norm, slope)) * length
	return 2*min(change, 2*clip*float64(s.rows)) + (s.slack()+32*u64)*clip*float64(s.rows) + float64(s.Len())*unit
}

// TestPairsAgainstCPU: sums of the GPU are those of engine/pairgraph, within the sum of
// the bounds of the terms, for both losses, norms and ways to clip, with partly filled
// tiles, slices and chunks.
func TestPairsAgainstCPU(t *testing.T) {
	pairsAgainstCPU(t, openFake(t, newFake()), testing.Short())
}

func pairsAgainstCPU(t *testing.T, b Backend, short bool) {
	t.Helper()
	cases := []struct {
		rows, d, m, batch int
		loss              embedding.ListLoss
		norm              embedding.Norm
		how               embedding.Clip
		scale             float64
	}{
		{1, 1, 5, 1, embedding.BradleyTerry{}, embedding.L2, embedding.WholeMatrix, 3},
		{1, 33, 130, 130, embedding.BradleyTerry{}, embedding.L1, embedding.WholeMatrix, 30},
		{3, 5, 100, 70, embedding.Contrastive{Margin: 1}, embedding.L2, embedding.WholeMatrix, 0.5},
		{9, 40, 70, 33, embedding.Contrastive{Margin: 0.7}, embedding.L1, embedding.WholeMatrix, 0.3},
		{17, 3, 64, 64, embedding.Contrastive{Margin: 2}, embedding.L1, embedding.RowByRow, 1},
		{2, 4, 40, 40, embedding.Contrastive{Margin: 2}, embedding.L2, embedding.RowByRow, 1e-3},
	}
	if short {
		cases = cases[2:4]
	}
	for _, c := range cases {
		name := fmt.Sprintf("%d x %d, %d of %d pairs, %s, %s", c.rows, c.d, c.batch, c.m, c.loss.Name(), c.norm)
		data := pairData(t, 40, c.d, c.m, c.norm)
		s := openPairs(t, b, data, c.loss, c.rows)
		cpu := must.Get(embedding.CPU{}.Sums(data, c.loss, c.rows))(t)
		w, batch := weights(s.Len(), c.scale), upTo(0, c.m)[c.m-c.batch:]
		for _, clip := range []float64{1e-3, 0.2, 1e30} {
			want := make([]float64, s.Len())
			must.Do(t, cpu.Sum(context.Background(), want, w, batch, clip, c.how))
			got := s.sumOf(t, w, batch, clip, c.how)
			h, unit := s.scale(w, len(batch), clip)
			bound := 2 * embedding.SumError(c.rows, c.d, len(batch), h*float64(c.rows))
			for _, i := range batch {
				bound += pairError(s, data, w, i, h, unit)
			}
			diff := make([]float64, len(got))
			for k := range diff {
				diff[k] = got[k] - want[k]
			}
			size := normOf(c.norm, want)
			if e := normOf(c.norm, diff); !(e <= bound) || size == 0 || bound > 1e-7*size {
				t.Errorf("%s, clip %g: off by %g of %g, the bound is %g", name, clip, e, size, bound)
			} else {
				t.Logf("%s, clip %g: relative difference %.2g, bound %.2g", name, clip, e/size, bound/size)
			}
			// Any order and any slices give the same bits.
			s.slice = 40
			shuffled := slices.Clone(batch)
			rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			must.Same(t, s.sumOf(t, w, shuffled, clip, c.how), got, "%s, clip %g: another order changes the sum", name, clip)
		}
	}
}

// exceeds says whether the exact norm of the integers times the unit is above h.
func exceeds(norm embedding.Norm, integers []int64, h, unit float64) bool {
	sum := new(big.Int)
	for _, v := range integers {
		t := big.NewInt(v)
		if norm == embedding.L1 {
			t.Abs(t)
		} else {
			t.Mul(t, t)
		}
		sum.Add(sum, t)
	}
	limit := new(big.Float).SetPrec(300).SetFloat64(h)
	limit.Quo(limit, big.NewFloat(unit)) // a power of two
	if norm == embedding.L2 {
		limit.Mul(limit, limit)
	}
	return new(big.Float).SetPrec(300).SetInt(sum).Cmp(limit) > 0
}

// violates says whether the exact norm of the term of one of some single pairs is above
// the clip, and returns the largest norm in units of the clip. slack, if not negative, replaces that of Sum.
func violates(t *testing.T, b Backend, slack float64, scale float64, loss embedding.ListLoss, norm embedding.Norm, rows, d, pairs int) (found bool, largest float64) {
	t.Helper()
	data := pairData(t, 20, d, 60, norm)
	s := openPairs(t, b, data, loss, rows)
	w := weights(s.Len(), scale)
	const clip = 0.3
	h, unit := s.scale(w, 1, clip)
	limit := h * (1 - s.slack())
	if slack >= 0 {
		limit = h * (1 - slack)
	}
	for i := range int32(pairs) {
		// The steps of Sum, with that limit.
		must.Do(t, s.device.do(context.Background(), func(c *job) {
			c.copyIn(s.w, w)
			c.clear(s.sums, 8*s.Len())
			s.add(c, []int32{i}, limit, 1/unit, embedding.WholeMatrix)
			c.copyBack(s.integers, s.sums)
		}))
		found = exceeds(norm, s.integers, h, unit)
		values := make([]float64, s.Len())
		for k, v := range s.integers {
			values[k] = float64(v) * unit
		}
		largest = max(largest, normOf(norm, values)/h)
		if found {
			break
		}
	}
	return found, largest
}

// disturbed is the interpreter with every operation off by that many units.
func disturbed(t *testing.T, ulps int) Backend {
	t.Helper()
	f := newFake()
	f.machine.Ulps = ulps
	return openFake(t, f)
}

// TestClipHoldsWhateverRoundingDoes: the exact norm of every computed term is at most the
// clip, in both norms, for matrices of any size, even if each operation is off by a unit
// in the last place to either side.
func TestClipHoldsWhateverRoundingDoes(t *testing.T) {
	scales, pairs := []float64{1e-200, 0.1, 1e3, 3e98}, sizes.Of(3, 12)
	if testing.Short() {
		scales, pairs = []float64{1e3}, 4
	}
	for _, ulps := range []int{0, 1} {
		clipHolds(t, disturbed(t, ulps), scales, pairs)
	}
	// Controls: without the slack ordinary rounding exceeds the clip, and with it errors of
	// 40 units in the last place do.
	contrastive := embedding.Contrastive{Margin: 1}
	if found, _ := violates(t, disturbed(t, 0), 0, 1e3, contrastive, embedding.L2, 3, 5, 30); !found {
		t.Error("without slack no term is above the clip: the test sees nothing")
	}
	if found, _ := violates(t, disturbed(t, 40), -1, 1e3, contrastive, embedding.L1, 1, 1, 60); !found {
		t.Error("errors of 40 ulps leave all terms below the clip: the test sees nothing")
	}
}

// clipHolds fails if a term is above the clip, or none attains it.
func clipHolds(t *testing.T, b Backend, scales []float64, pairs int) {
	t.Helper()
	clipped := 0
	for _, norm := range []embedding.Norm{embedding.L1, embedding.L2} {
		for _, scale := range scales {
			for _, c := range []struct {
				loss    embedding.ListLoss
				rows, d int
			}{{embedding.Contrastive{Margin: 1}, 1, 1}, {embedding.Contrastive{Margin: 1}, 3, 5}, {embedding.BradleyTerry{}, 1, 4}} {
				found, largest := violates(t, b, -1, scale, c.loss, norm, c.rows, c.d, pairs)
				if found || largest > 1 {
					t.Errorf("%s, %s, %d x %d, W of size %g: a term is above the clip, the largest norm is %v clips", c.loss.Name(), norm, c.rows, c.d, scale, largest)
				}
				if largest > 1-1e-13 {
					clipped++
				}
			}
		}
	}
	if clipped < 2 {
		t.Errorf("only %d cases attain the clip", clipped)
	}
}

// TestPairsRecordChangesItsTermsOnly: when one individual's features change, the sum
// changes by that individual's terms alone, to the last bit.
func TestPairsRecordChangesItsTermsOnly(t *testing.T) {
	const n, d, rows, who = 12, 4, 3, 5
	data := pairData(t, n, d, 30, embedding.L2)
	x, labels := data.Copy()
	for k := range d {
		x[who*d+k] = -x[who*d+k] / 2
	}
	other := must.Get(embedding.NewData(x, d, embedding.L2, 1, data.Graph(), labels))(t)
	loss, w := embedding.Contrastive{Margin: 1}, weights(rows*d, 0.5)
	var with, without []int32
	for i, p := range data.Graph().Pairs() {
		if p.A == who || p.B == who {
			with = append(with, int32(i))
		} else {
			without = append(without, int32(i))
		}
	}
	if len(with) == 0 || len(without) == 0 {
		t.Fatal("the pairs do not show anything")
	}
	var all, own, rest [2][]int64
	for k, data := range []*embedding.Data{data, other} {
		s := openPairs(t, openFake(t, newFake()), data, loss, rows)
		integers := func(pairs []int32) []int64 {
			h, unit := s.scale(w, len(pairs), 0.2)
			must.Do(t, s.device.do(context.Background(), func(c *job) {
				c.copyIn(s.w, w)
				c.clear(s.sums, 8*s.Len())
				s.add(c, pairs, h*(1-s.slack()), 1/unit, embedding.WholeMatrix)
				c.copyBack(s.integers, s.sums)
			}))
			return slices.Clone(s.integers)
		}
		all[k], own[k], rest[k] = integers(upTo(0, 30)), integers(with), integers(without)
	}
	if !slices.Equal(rest[0], rest[1]) || slices.Equal(own[0], own[1]) {
		t.Error("terms of other pairs changed, or none of its own did")
	}
	for k := range all[0] {
		must.Equal(t, all[0][k]-own[0][k], all[1][k]-own[1][k], "entry %d changed by more than its own terms", k)
	}
}

// TestPairsTermKnowsNoBatch: the term of a pair is the same alone and in any batch: sums
// are those of the terms, to the last bit. The size of a Poisson batch is no public number.
func TestPairsTermKnowsNoBatch(t *testing.T) {
	const m, rows = 30, 3
	data := pairData(t, 12, 4, m, embedding.L2)
	s := openPairs(t, openFake(t, newFake()), data, embedding.Contrastive{Margin: 1}, rows)
	w := weights(s.Len(), 0.5)
	for _, size := range []int{2, 7, m} {
		list, want := upTo(0, m)[:size], make([]int64, s.Len())
		for _, i := range list {
			s.sumOf(t, w, []int32{i}, 0.2, embedding.WholeMatrix)
			for k, v := range s.integers {
				want[k] += v
			}
		}
		s.sumOf(t, w, list, 0.2, embedding.WholeMatrix)
		must.Same(t, s.integers, want, "a batch of %d: the sum is not that of its terms", size)
		if want[0]++; slices.Equal(s.integers, want) {
			t.Error("one unit more makes no difference: the test sees nothing")
		}
	}
}

// TestPairDefectsAreFound is the control of TestPairsAgainstCPU.
func TestPairDefectsAreFound(t *testing.T) {
	data := pairData(t, 20, 5, 40, embedding.L2)
	loss, w := embedding.Contrastive{Margin: 1}, weights(15, 0.5)
	want := openPairs(t, openFake(t, newFake()), data, loss, 3).sumOf(t, w, upTo(0, 40), 0.2, embedding.WholeMatrix)
	for name, edit := range map[string][2]string{
		"sums, not differences": {"sub.rn.f64", "add.rn.f64"},
		"no barrier":            {"bar.sync \t0;", ""},
		"rounded, not cut":      {"cvt.rzi.s64.f64", "cvt.rni.s64.f64"},
		"not atomic":            {"red.global.add.u64", "st.global.u64"},
		"no root":               {"sqrt.rn.f64", "abs.f64"},
	} {
		f := defective(replacing(edit[0], edit[1]))
		s, err := openFake(t, f).Sums(data, loss, 3)
		if err == nil {
			s.(*pairSums).slice = 20
			got := make([]float64, 15)
			err = s.Sum(context.Background(), got, w, upTo(0, 40), 0.2, embedding.WholeMatrix)
			if err == nil && slices.Equal(got, want) {
				t.Errorf("%s: not found", name)
			}
			must.CheckDo(t, s.Close())
		}
		if !f.edited {
			t.Errorf("%s: the PTX has no %q", name, edit[0])
		}
	}
}
