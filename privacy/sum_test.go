package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// A sum is never below the real one, and next to it.
func TestUpSum(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var s upSum
		exact := new(big.Rat)
		for range 1 + r.IntN(200) {
			x, n := math.Ldexp(r.Float64(), r.IntN(60)-50), 1
			if r.IntN(2) == 0 {
				n = 1 + r.IntN(1_000_000)
			}
			s.addTimes(n, x)
			exact.Add(exact, new(big.Rat).Mul(new(big.Rat).SetInt64(int64(n)), new(big.Rat).SetFloat64(x)))
		}
		v := s.value()
		if new(big.Rat).SetFloat64(v).Cmp(exact) < 0 || new(big.Rat).SetFloat64(v*(1-0x1p-51)).Cmp(exact) > 0 {
			t.Fatalf("sum %v of %v", v, exact.FloatString(40))
		}
	}
	var s upSum
	s.add(1)
	s.addTimes(3, math.Inf(1))
	s.add(2)
	if !math.IsInf(s.value(), 1) {
		t.Errorf("with +Inf: %v", s.value())
	}
}

// Runs of a pure epsilon use up a cap as decimals add up, and no run more fits in: five of
// 0.2, ten of 0.1, a hundred of 0.01 at a cap of 1.
func TestLedgerCapsAreDecimals(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	c, err := CertificateForTest(0.02)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []PureNoise{KNormNoise, LaplaceNoise} {
		for _, b := range []struct {
			epsilon float64
			runs    int
		}{{0.2, 5}, {0.1, 10}, {0.01, 100}, {0.05, 20}, {0.125, 8}} {
			l, err := OpenLedger(filepath.Join(t.TempDir(), "ledger"))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.SetCap("d", Budget{Epsilon: 1, Delta: 1e-290}); err != nil {
				t.Fatal(err)
			}
			m, err := CalibratePure(c, b.epsilon, 3, kind)
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.runs + 1 {
				charge := testCharge("")
				charge.DataID, charge.Events = "d", []Event{m.Event(c)}
				_, err := l.Begin(charge, NewSeededSource(1))
				if (err == nil) != (i < b.runs) {
					t.Errorf("%v noise, run %d of %v at a cap of 1: %v", kind, i+1, b.epsilon, err)
					break
				}
			}
		}
	}
}
