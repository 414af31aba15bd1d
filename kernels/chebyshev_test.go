package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

// bigT is T_a(x) in 200 bits.
func bigT(a int, x float64) *big.Float {
	t0, t1 := big.NewFloat(1).SetPrec(200), new(big.Float).SetPrec(200).SetFloat64(x)
	if a == 0 {
		return t0
	}
	for range a - 1 {
		next := new(big.Float).SetPrec(200).Mul(t1, new(big.Float).SetFloat64(2*x))
		t0, t1 = t1, next.Sub(next, t0)
	}
	return t1
}

func offBy(got float64, want *big.Float) float64 {
	d := new(big.Float).SetPrec(200).SetFloat64(got)
	v, _ := d.Sub(d, want).Float64()
	return math.Abs(v)
}

func TestChebyshevNodes(t *testing.T) {
	for n := 1; n <= 40; n++ {
		nodes, table := ChebyshevNodes(n)
		if len(nodes) != n || len(table) != n*n {
			t.Fatalf("n=%d: lengths %d and %d", n, len(nodes), len(table))
		}
		for k, x := range nodes {
			must.Equal(t, nodes[n-1-k], -x, "n=%d: node %d is not the negative of its mirror", n, k)
			// The node is a zero of T_n: T_n(x) is its error times |T_n'(x)|,
			// which is n/sin(theta) at a zero.
			slope := float64(n) / math.Sqrt(1-x*x)
			must.Within(t, offBy(0, bigT(n, x))/slope, 0, 8*0x1p-53, "n=%d: node %d is off by", n, k)
			for a := range n {
				// T_a of the stored node differs from that of the exact one by
				// at most 8 u |T_a'| <= 8 u a / sin(theta).
				tol := 8*0x1p-53 + 8*0x1p-53*float64(a)/math.Sqrt(1-x*x)
				must.Within(t, offBy(table[k*n+a], bigT(a, x)), 0, tol, "n=%d: T_%d(x_%d) is off by", n, a, k)
			}
		}
	}
}

func TestChebyshevPowers(t *testing.T) {
	const n = 42
	table := ChebyshevPowers(n)
	for a := range n {
		var sum float64
		row := table[a*n : (a+1)*n]
		for i, v := range row {
			sum += math.Abs(v)
			if math.Abs(v) >= 1<<53 || v != 0 && (i > a || (a-i)%2 == 1) {
				t.Errorf("T_%d has the coefficient %v of x^%d", a, v, i)
			}
		}
		if limit := math.Pow(1+math.Sqrt2, float64(a)) * (1 + 1e-12); sum > limit || sum < limit/2.5 {
			t.Errorf("T_%d: the coefficients add up to %v, the limit is %v", a, sum, limit)
		}
		for _, x := range []float64{-1, 0, 0.3, 0.9, 1} {
			want, got := bigT(a, x), new(big.Float).SetPrec(200)
			for i := a; i >= 0; i-- {
				got.Mul(got, big.NewFloat(x))
				got.Add(got, big.NewFloat(row[i]))
			}
			must.Within(t, offBy(0, got.Sub(got, want)), 0, 1e-30, "T_%d(%v) is off by", a, x)
		}
	}
}

func TestLocate(t *testing.T) { variants(t, testLocate) }

func testLocate(t *testing.T, kernel *Set) {
	const bins = 8
	rng := rand.New(rand.NewPCG(14, 14))
	special := []float64{-1, -0.999, -0.75, -0.6, 0, 0.15, 0.9999999, 1, 1.25, -7, 1e9, -1e12, math.NaN()}
	for n := range 68 {
		x, class := newGuarded(make([]float64, n), n%4), make([]uint8, n)
		for j := range x.data {
			x.data[j], class[j] = special[rng.IntN(len(special))], uint8(rng.IntN(3))
		}
		pos := newGuarded(make([]float64, n), 1)
		key := make([]int32, n+2)
		key[n], key[n+1] = -9, -9
		kernel.Locate(pos.data, key[:n], x.data, class, bins)
		for j, v := range x.data {
			bin := key[j] - int32(class[j])*bins
			if bin < 0 || bin >= bins {
				t.Errorf("%v: key %d of class %d", v, key[j], class[j])
				continue
			}
			if math.IsNaN(v) {
				if !math.IsNaN(pos.data[j]) || bin != 0 {
					t.Errorf("NaN has position %v in bin %d", pos.data[j], bin)
				}
				continue
			}
			back := -1 + (float64(bin)+(pos.data[j]+1)/2)*2/bins
			if want := min(max(v, -1), 1); math.Abs(back-want) > 1e-15 || math.Abs(pos.data[j]) > 1 {
				t.Errorf("%v is at position %v of bin %d, which is %v", v, pos.data[j], bin, back)
			}
		}
		if !pos.intact() || key[n] != -9 || key[n+1] != -9 {
			t.Fatalf("n=%d: wrote outside pos and key", n)
		}
	}
}
