package main

import (
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

func normals(seed uint64, n int, mean float64) []float64 {
	r, out := rand.New(rand.NewPCG(seed, 1)), make([]float64, n)
	for i := range out {
		out[i] = mean + r.NormFloat64()
	}
	return out
}

// TestBound: samples far apart give the most that their number can show, in either direction, and the same distribution
// gives less than the claim of a weak mechanism.
func TestBound(t *testing.T) {
	zero, far := normals(1, 600, 0), normals(2, 600, 20)
	up, down := bound(far, zero, 1e-5, 0.01), bound(zero, far, 1e-5, 0.01)
	if up != down || up < 3.5 {
		t.Errorf("far apart: %g and %g", up, down)
	}
	if same := bound(zero, normals(3, 600, 0), 1e-5, 0.01); same > 0.1 {
		t.Errorf("the same distribution: %g", same)
	}
	// N(0, 1) against N(1, 1): epsilon(1e-5) is 4.9.
	if b := bound(normals(4, 20000, 1), normals(5, 20000, 0), 1e-5, 0.01); b > 4.9 || b < 1 {
		t.Errorf("one standard deviation: %g", b)
	}
	chosen := append(normals(6, 300, 20), normals(7, 300, 0)...) // the first halves are apart, the others are not
	if b := bound(chosen, zero, 1e-5, 0.01); b > 0.1 {
		t.Errorf("judged by the samples of the choice: %g", b)
	}
}

// TestAttacksSayWhatThePageSays: the claim of every loss that is a sum over records holds, as do those of pairs that the library cannot see
// and of a batch as one unit; those of pairs under per-sample clipping on the constructed neighbours, and where the only positive record
// of ordinary data goes, do not. Opacus says the same
// of both losses.
func TestAttacksSayWhatThePageSays(t *testing.T) {
	cases := must.Get(readAttacks("../results"))(t)
	// The noiseless moves in clips from which the claim is refuted.
	broken := map[string]float64{"opacus constructed": 100, "opacus constructed, batches": 100, "opacus ordinary, 1 positives": 4, "jax-privacy rest of the batch": 100}
	seen, warnings := 0, ""
	for _, c := range cases {
		name := c.Library + " " + c.Case
		if c.Claimed > 1.001 {
			t.Errorf("%s: claims %g", name, c.Claimed)
		}
		must.Equal(t, c.Bound > c.Claimed, broken[name] > 0, "%s: the bound is %g, the claim %g", name, c.Bound, c.Claimed)
		if least := broken[name]; least > 0 {
			seen++
			if c.Move < least {
				t.Errorf("%s: one record moves %g clips", name, c.Move)
			}
		}
		if c.Library == "opacus" {
			if c.Case == "control" {
				warnings = c.Warnings
			}
			if c.Warnings != warnings || warnings == "" {
				t.Errorf("%s warns: %s; the control: %s", name, c.Warnings, warnings)
			}
		}
	}
	if seen != len(broken) {
		t.Errorf("%d of %d cases are there", seen, len(broken))
	}
}
