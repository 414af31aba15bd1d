package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

const w32 = 0x1p-24

// narrow rounds numbers to float32.
func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func TestMetricBlock32(t *testing.T) {
	sizes.NotShort(t, "slow")
	rng := rand.New(rand.NewPCG(14, 15))
	variants(t, func(t *testing.T, set *Set) {
		var worst float64
		for _, d := range []int{1, 2, 7, 33, 260} {
			block := set.NewMetricBlock32(96, d)
			for _, m := range []int{0, 1, 7, 23, 47, 48, 49, 67, 96} {
				for _, n := range []int{0, 1, 3, 47, 48, 67, 130, 2*MetricSpan32 + 5} {
					if m*n*d > 100000 {
						continue
					}
					for at, skip := range []int{-m, 1, -5, n} {
						if (m+n+at)%3 != 0 && !sizes.Full() {
							continue
						}
						worst = max(worst, checkMetricBlock32(t, fmt.Sprintf("m=%d n=%d d=%d skip=%d", m, n, d, skip), rng, block, m, n, d, skip))
						if t.Failed() {
							return
						}
					}
				}
			}
		}
		t.Logf("largest error %.2g of its bound", worst)
		if worst < 0.02 {
			t.Errorf("largest error %v of its bound: the bounds say nothing", worst)
		}
	})
}

// checkMetricBlock32 compares with sums in float64 and returns the largest error in units
// of the bound that MetricBlock32 states.
func checkMetricBlock32(t *testing.T, name string, rng *rand.Rand, b MetricBlock32, m, n, d, skip int) (worst float64) {
	t.Helper()
	g := func(n int) *guarded { return newGuarded(uniform(n, -1, 1), rng.IntN(4)) }
	g32 := func(n int) *guardedOf[float32] { return newGuarded(narrow(uniform(n, -1, 1)), rng.IntN(4)) }
	xw, s, y := g(m*d), g(m), g(m)
	x, tt, z := g32(n*d), g32(n), g32(n)
	cx, row, col := g(m*d), g(m), g(n)
	wantCX, wantRow, wantCol := append([]float64(nil), cx.data...), append([]float64(nil), row.data...), append([]float64(nil), col.data...)
	errCX, errRow, errCol := make([]float64, m*d), make([]float64, m), make([]float64, n)
	for i := range m {
		for j := max(i+skip, 0); j < n; j++ {
			c, size := 1-(s.data[i]+float64(tt.data[j])), 1+math.Abs(s.data[i])+math.Abs(float64(tt.data[j]))
			for a := range d {
				v := 2 * xw.data[i*d+a] * float64(x.data[j*d+a])
				c, size = c+v, size+math.Abs(v)
			}
			p := y.data[i] * float64(z.data[j])
			v := p / (1 + math.Exp(c*p))
			e := math.Abs(p) * (math.Abs(p)*size*float64(MetricMarginDepth(d))*w32/4 + 10*w32)
			wantRow[i] += v
			wantCol[j] += v
			errRow[i] += e + MetricTileCols*w32*math.Abs(v)
			errCol[j] += e + float64(m/8+8)*w32*math.Abs(v)
			for a := range d {
				xa := float64(x.data[j*d+a])
				wantCX[a*m+i] += v * xa
				errCX[a*m+i] += (e + (MetricTileCols+MetricSpan32/MetricTileCols+1)*w32*math.Abs(v)) * math.Abs(xa)
			}
		}
	}
	b.Start(xw.data, s.data, y.data)
	half := n / 2
	b.Add(col.data, x.data, tt.data[:half], z.data[:half], skip)
	b.Add(col.data[half:], x.data[half*d:], tt.data[half:], z.data[half:], skip-half)
	b.Sums(cx.data, row.data)
	for what, c := range map[string][3][]float64{"cx": {cx.data, wantCX, errCX}, "row": {row.data, wantRow, errRow}, "col": {col.data, wantCol, errCol}} {
		for k, want := range c[1] {
			diff := math.Abs(c[0][k] - want)
			bound := c[2][k] + 1e-13
			if !(diff <= bound) {
				t.Errorf("%s: %s[%d] is %v, want %v within %v", name, what, k, c[0][k], want, bound)
				return
			}
			worst = max(worst, diff/bound)
		}
	}
	kept(t, name, []guard{cx, row, col}, xw, s, y, x, tt, z)
	return worst
}

// TestMetricBlock32Pairs checks what NeighbourRoundoff of package cpu rests on: the
// coefficient of a pair has the same bits whatever the other rows and columns are. The
// control: a sum of several pairs has not.
func TestMetricBlock32Pairs(t *testing.T) {
	variants(t, func(t *testing.T, set *Set) {
		const m, n, d = 53, 131, 5
		rng := rand.New(rand.NewPCG(3, 1))
		b := set.NewMetricBlock32(96, d)
		sum := 0
		for range 200 {
			// Only column at has a feature, so cx is one coefficient times it.
			i, at := rng.IntN(m), rng.IntN(n)
			var bits [3][2]float64
			xw, s, y, own := uniform(m*d, -1, 1), uniform(m, -1, 1), uniform(m, -1, 1), narrow(uniform(n, -1, 1))
			z, x := narrow(uniform(n, -1, 1)), make([]float32, n*d)
			x[at*d] = 1
			for k := range bits {
				cx, row, col := make([]float64, m*d), make([]float64, m), make([]float64, n)
				b.Start(xw, s, y)
				b.Add(col, x, own, z, -m)
				b.Sums(cx, row)
				bits[k] = [2]float64{cx[i], row[i]}
				for j := range n {
					if j != at {
						own[j], z[j] = rng.Float32(), rng.Float32()
					}
				}
				for j := range m {
					if j != i {
						s[j], y[j], xw[j*d] = rng.Float64(), rng.Float64(), rng.Float64()
					}
				}
			}
			if bits[0][0] != bits[1][0] || bits[0][0] != bits[2][0] {
				t.Fatalf("the coefficient of row %d and column %d is %v, %v and %v", i, at, bits[0][0], bits[1][0], bits[2][0])
			}
			if bits[0][1] != bits[1][1] {
				sum++
			}
		}
		if sum < 190 {
			t.Errorf("the control is equal %d times in 200", 200-sum)
		}
	})
}

// BenchmarkMetricBlock32 counts 4 d operations a pair.
func BenchmarkMetricBlock32(b *testing.B) {
	const m, n = 96, 480
	for _, d := range []int{8, 32, 128} {
		for _, v := range Variants() {
			b.Run(fmt.Sprintf("d=%d/%v", d, v), func(b *testing.B) {
				set := must.Get(Select(v))(b)
				k := set.NewMetricBlock32(m, d)
				xw, s, y := uniform(m*d, -.1, .1), uniform(m, -1, 1), uniform(m, -1, 1)
				x, t, z, col := narrow(uniform(n*d, -.1, .1)), narrow(uniform(n, -1, 1)), narrow(uniform(n, -1, 1)), make([]float64, n)
				k.Start(xw, s, y)
				for b.Loop() {
					k.Add(col, x, t, z, -m)
				}
				b.ReportMetric(4*float64(m*n*d)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
			})
		}
	}
}

// Products of equal numbers whose low bits are lost in the same direction at every addition show the depth of the sum over a span: added one after the other
// they would be off by more than twice the bound.
func TestMetricBlock32AddsTilesThenSpans(t *testing.T) {
	const n, depth = MetricSpan32, MetricTileCols + MetricSpan32/MetricTileCols + 1
	variants(t, func(t *testing.T, set *Set) {
		block := set.NewMetricBlock32(8, 1)
		v := 1 / (1 + math.E)
		p := (1 + 0.49*0x1p-15) / 4 // half a unit is lost where a sum is between 64 and 128
		x, zero, ones := make([]float32, n), make([]float32, n), make([]float32, n)
		for j := range x {
			x[j], ones[j] = float32(p/v), 1
		}
		cx, row, col := []float64{0}, []float64{0}, make([]float64, n)
		block.Start([]float64{0}, []float64{0}, []float64{1})
		block.Add(col, x, zero, ones, -n)
		block.Sums(cx, row)
		want := row[0] * float64(x[0])
		if off := math.Abs(cx[0]-want) / want; !(off <= depth*w32) || want == 0 {
			t.Errorf("the sum over a span is off by %.3g units, and at most %d are allowed", off/w32, depth)
		}
	})
}
