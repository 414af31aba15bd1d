package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
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
			if nodes[n-1-k] != -x {
				t.Errorf("n=%d: node %d is not the negative of its mirror", n, k)
			}
			// The node is a zero of T_n: T_n(x) is its error times |T_n'(x)|,
			// which is n/sin(theta) at a zero.
			slope := float64(n) / math.Sqrt(1-x*x)
			if err := offBy(0, bigT(n, x)) / slope; err > 8*0x1p-53 {
				t.Errorf("n=%d: node %d is off by %v", n, k, err)
			}
			for a := range n {
				// T_a of the stored node differs from that of the exact one by
				// at most 8 u |T_a'| <= 8 u a / sin(theta).
				tol := 8*0x1p-53 + 8*0x1p-53*float64(a)/math.Sqrt(1-x*x)
				if err := offBy(table[k*n+a], bigT(a, x)); err > tol {
					t.Errorf("n=%d: T_%d(x_%d) is off by %v, limit %v", n, a, k, err, tol)
				}
			}
		}
	}
}

func TestLocate(t *testing.T) { variants(t, testLocate) }

func testLocate(t *testing.T, kernel *Set) {
	const lo, bins, terms = -2.0, 8, 5
	rng := rand.New(rand.NewPCG(14, 14))
	special := []float64{-2, -1.999, -1.5, -1.25, 0, 0.3, 1.999999, 2, 2.5, -7, 1e9, -1e12, math.NaN()}
	for n := range 68 {
		s, class := newGuarded(make([]float64, n), n%4), make([]uint8, n)
		for j := range s.data {
			s.data[j], class[j] = special[rng.IntN(len(special))], uint8(rng.IntN(3))
		}
		pos := newGuarded(make([]float64, n), 1)
		off := make([]int32, n+2)
		off[n], off[n+1] = -9, -9
		kernel.Locate(pos.data, off[:n], s.data, class, lo, bins/4.0, bins, terms)
		for j, v := range s.data {
			first := int32(int(class[j]) * bins * terms)
			bin := (off[j] - first) / terms
			if bin < 0 || bin >= bins || (off[j]-first)%terms != 0 {
				t.Errorf("score %v: offset %d of class %d", v, off[j], class[j])
				continue
			}
			if math.IsNaN(v) {
				if !math.IsNaN(pos.data[j]) || bin != 0 {
					t.Errorf("NaN score has position %v in bin %d", pos.data[j], bin)
				}
				continue
			}
			back := lo + (float64(bin)+(pos.data[j]+1)/2)*0.5
			if want := min(max(v, -2), 2); math.Abs(back-want) > 1e-15 || math.Abs(pos.data[j]) > 1 {
				t.Errorf("score %v is at position %v of bin %d, which is %v", v, pos.data[j], bin, back)
			}
		}
		if !pos.intact() || off[n] != -9 || off[n+1] != -9 {
			t.Fatalf("n=%d: wrote outside pos and off", n)
		}
	}
}

func TestChebyshevMoments(t *testing.T) { variants(t, testChebyshevMoments) }

func testChebyshevMoments(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(6, 6))
	for terms := 2; terms < 35; terms++ {
		for _, n := range []int{0, 1, 2, 3, 17, 67} {
			pos := newGuarded(make([]float64, n), terms%4)
			off := make([]int32, n)
			for j := range pos.data {
				pos.data[j] = 2*rng.Float64() - 1
				off[j] = int32(rng.IntN(3) * PaddedTerms(terms))
			}
			if n > 2 {
				pos.data[0], pos.data[1], pos.data[2] = 1, -1, 0
			}
			pos.copy = append([]float64(nil), pos.data...)
			row := PaddedTerms(terms)
			mom := newGuarded(make([]float64, 3*row), 1)
			kernel.ChebyshevMoments(mom.data, terms, pos.data, off)
			want := make([]float64, 3*row)
			for j, x := range pos.data {
				for a := range terms {
					v, _ := bigT(a, x).Float64()
					want[int(off[j])+a] += v
				}
			}
			for i := range want {
				if i%row >= terms {
					continue
				}
				a := float64(i % row)
				tol := (1.6*a*(a+1) + float64(n) + 2) * float64(n) * 0x1p-53
				if !(math.Abs(mom.data[i]-want[i]) <= tol) {
					t.Errorf("terms=%d n=%d: moment %d is %v, want %v", terms, n, i, mom.data[i], want[i])
				}
			}
			if !mom.intact() || !pos.unchanged() {
				t.Fatalf("terms=%d n=%d: wrote outside mom", terms, n)
			}
		}
	}
}

func TestClenshaw(t *testing.T) { variants(t, testClenshaw) }

func testClenshaw(t *testing.T, kernel *Set) {
	rng := rand.New(rand.NewPCG(7, 7))
	for terms := 2; terms < 35; terms++ {
		for _, n := range []int{0, 1, 2, 3, 17, 67} {
			pos, coef := newGuarded(make([]float64, n), 2), newGuarded(normals(rng, 3*PaddedTerms(terms)), terms%4)
			off := make([]int32, n)
			for j := range pos.data {
				pos.data[j] = 2*rng.Float64() - 1
				off[j] = int32(rng.IntN(3) * PaddedTerms(terms))
			}
			if n > 1 {
				pos.data[0], pos.data[1] = 1, -1
			}
			pos.copy = append([]float64(nil), pos.data...)
			dst := newGuarded(make([]float64, n), 1)
			kernel.Clenshaw(dst.data, coef.data, terms, pos.data, off)
			for j, x := range pos.data {
				c := coef.data[off[j]:][:terms]
				want := new(big.Float).SetPrec(200)
				var eta float64 // bound of sum |eta_a| of the doc comment
				for a, v := range c {
					term := new(big.Float).SetPrec(200).SetFloat64(v)
					want.Add(want, term.Mul(term, bigT(a, x)))
					eta += math.Abs(v) * (1 + 4*float64((a+1)*(a+2))/2)
				}
				if err := offBy(dst.data[j], want); !(err <= eta*0x1.01p-53) {
					t.Errorf("terms=%d: value at %v is off by %v, limit %v", terms, x, err, eta*0x1p-53)
				}
			}
			if !dst.intact() || !pos.unchanged() || !coef.unchanged() {
				t.Fatalf("terms=%d n=%d: wrote outside dst", terms, n)
			}
		}
	}
}
