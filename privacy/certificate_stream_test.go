package privacy

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// bruteStream is max_k sum_b s_b(k)^2 by the definition, over all records.
func bruteStream(s PairwiseStream) float64 {
	largest := 0.0
	for k := 1; k <= s.Horizon; k++ {
		sum := 0.0
		for b := 1; s.BurnIn+b*s.Batch <= s.Horizon; b++ {
			pairs, touched := 0.0, false
			for t := s.BurnIn + (b-1)*s.Batch + 1; t <= s.BurnIn+b*s.Batch; t++ {
				size := t - 1
				if s.Buffer > 0 {
					size = min(size, s.Buffer)
				}
				switch {
				case t == k:
					pairs, touched = pairs+1, true
				case t > k && (s.Buffer == 0 || s.Reservoir || t-k <= s.Buffer):
					pairs, touched = pairs+1/float64(size), true
				}
			}
			if !touched {
				continue
			}
			u := s.PairDiameter*pairs/float64(s.Batch)*weightOf(s, b) + 2*s.Roundoff
			sum += u * u
		}
		largest = max(largest, sum)
	}
	return largest
}

func weightOf(s PairwiseStream, b int) float64 {
	if s.Weights == nil {
		return 1
	}
	return s.Weights[b-1]
}

func TestPairwiseStreamIsTheMaximumOverRecords(t *testing.T) {
	tried := 0
	for _, n := range []int{2, 3, 9, 40, 101} {
		for _, m := range []int{1, 2, 5, 8} {
			for _, t1 := range []int{1, 2, 7} {
				for _, buffer := range []int{0, 1, 3, 10, 60} {
					for _, reservoir := range []bool{false, buffer > 0} {
						for _, rho := range []float64{0, 0.125} {
							s := PairwiseStream{PairDiameter: 1.5, Horizon: n, Batch: m, BurnIn: t1, Buffer: buffer, Reservoir: reservoir, Roundoff: rho}
							if s.Updates() < 1 {
								continue
							}
							if n == 40 {
								for b := range s.Updates() {
									s.Weights = append(s.Weights, 1+1/float64(b+1))
								}
							}
							c := must.Get(s.Certify())(t)
							want := math.Sqrt(bruteStream(s))
							must.Within(t, c.Sensitivity(), want*(1-1e-15), want*(1+1e-11),
								"%+v: by the definition %.15g", s, want)
							if c.Releases() != s.Updates() || rho > 0 && !(c.ExactSensitivity() < c.Sensitivity()) {
								t.Errorf("%+v: %d releases, exact %v of %v", s, c.Releases(), c.ExactSensitivity(), c.Sensitivity())
							}
							tried++
						}
					}
				}
			}
		}
	}
	must.AtLeast(t, tried, 200, "cases")
}

// A table from an independent computation (n = 4096).
func TestPairwiseStreamTable(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for _, row := range []struct {
		burnIn    int
		want, any float64
	}{{1, 1.6447, math.Pi * math.Pi / 6}, {2, 1.3947, 1.3950}, {7, 1.1329, 1.1332}, {16, 1.0603, 1.0606}, {64, 1.0153, 1.0155}} {
		c := must.Get(PairwiseStream{PairDiameter: 2, Horizon: 4096, Batch: 1, BurnIn: row.burnIn}.Certify())(t)
		every := must.Get(PairwiseStream{PairDiameter: 2, Batch: 1, BurnIn: row.burnIn}.Certify())(t)
		s, bound := c.Sensitivity()*c.Sensitivity()/4, every.Sensitivity()*every.Sensitivity()/4
		must.Near(t, s, row.want, 5e-5, "T1 = %d: S", row.burnIn)
		if !(bound > s) || math.Abs(bound-row.any) > 1e-4 {
			t.Errorf("T1 = %d: for any n S = %.6f, want about %.4f and more than %.6f", row.burnIn, bound, row.any, s)
		}
		must.Equal(t, every.Releases(), math.MaxInt, "any n: releases")
	}
	fifo := PairwiseStream{PairDiameter: 1, Batch: 4, BurnIn: 3, Buffer: 10}
	every := must.Get(fifo.Certify())(t)
	for _, n := range []int{50, 500} {
		fifo.Horizon = n
		if c, err := fifo.Certify(); err != nil || c.Sensitivity() > every.Sensitivity() || n == 500 && c.Sensitivity() < every.Sensitivity()*(1-1e-12) {
			t.Errorf("n = %d: %v above the bound for any n, %v (%v)", n, c.Sensitivity(), every.Sensitivity(), err)
		}
	}
}

func TestPairwiseStreamRefuses(t *testing.T) {
	good := PairwiseStream{PairDiameter: 1, Horizon: 10, Batch: 2, BurnIn: 1}
	for name, change := range map[string]func(*PairwiseStream){
		"no diameter":            func(s *PairwiseStream) { s.PairDiameter = 0 },
		"no batch":               func(s *PairwiseStream) { s.Batch = 0 },
		"no burn-in":             func(s *PairwiseStream) { s.BurnIn = 0 },
		"no update":              func(s *PairwiseStream) { s.BurnIn = 9 },
		"any n with roundoff":    func(s *PairwiseStream) { s.Horizon, s.Roundoff = 0, 1e-9 },
		"any n with a reservoir": func(s *PairwiseStream) { s.Horizon, s.Buffer, s.Reservoir = 0, 3, true },
		"a factor for any n":     func(s *PairwiseStream) { s.Horizon, s.Factor = 0, &ToeplitzFactor{} },
		"a factor and weights":   func(s *PairwiseStream) { s.Factor, s.Weights = &ToeplitzFactor{}, []float64{1, 1, 1, 1} },
		"a negative factor":      func(s *PairwiseStream) { s.Factor = &ToeplitzFactor{Weight: []float64{-1}, Decay: []float64{1}} },
		"an odd class buffer":    func(s *PairwiseStream) { s.Buffer, s.PerClass, s.Lipschitz = 3, true, 1 },
		"classes without G":      func(s *PairwiseStream) { s.Buffer, s.PerClass = 4, true },
		"classes for any n":      func(s *PairwiseStream) { s.Horizon, s.Buffer, s.PerClass, s.Lipschitz = 0, 4, true, 1 },
		"reservoir of no size":   func(s *PairwiseStream) { s.Reservoir = true },
		"increasing weights":     func(s *PairwiseStream) { s.Weights = []float64{1, 1, 1, 2} },
		"a weight too few":       func(s *PairwiseStream) { s.Weights = []float64{1, 1, 1} },
	} {
		s := good
		change(&s)
		must.Fail(s.Certify())(t, errCertificate, name)
	}
	must.Check(good.Certify())(t)
}

// The simple recursion of docs/theory.md#pairwise-recursion for every record, by the definition.
func TestStreamOutputsIsTheRecursion(t *testing.T) {
	curvature := Curvature{PairDiameter: 1.5, Smoothness: 0.3, StrongConvexity: 0.2, Convex: true, Diameter: 3}
	eta := []float64{0, 0, 1, 0.9, 0.8, 0.4, 0.5, 0.1}
	rho := []float64{0, 0, .01, .02, .01, .01, .005, .01}
	n := len(eta) - 1
	c, scale := must.Get2(StreamOutputs{Curvature: curvature, Eta: eta, UpdateError: rho, Radius: 1.5}.Certify())(t)
	delta := func(k, step int) float64 {
		d := 0.0
		for t := 2; t <= step; t++ {
			contract := max(math.Abs(1-eta[t]*0.2), math.Abs(1-eta[t]*0.5))
			switch {
			case t == k:
				d = 1.5*eta[t] + 2*rho[t]
			case t > k:
				d = contract*d + 1.5*eta[t]/float64(t-1) + 2*rho[t]
			}
			d = min(d, 3)
		}
		return d
	}
	want := 0.0
	for k := 1; k <= n; k++ {
		sum := 0.0
		for step := 2; step <= n; step++ {
			top := 0.0
			for j := 1; j <= step; j++ {
				top = max(top, delta(j, step))
			}
			must.Near(t, scale[step], top, 1e-12, "scale %d", step)
			if step >= k {
				u := delta(k, step) / top
				sum += u * u
			}
		}
		want = max(want, math.Sqrt(sum))
	}
	if got := c.Sensitivity(); !(got >= want && got < want*(1+1e-9)) || !(c.ExactSensitivity() < got) || c.Releases() != n-1 {
		t.Errorf("joint sensitivity %v of %d releases, want %v of %d", got, c.Releases(), want, n-1)
	}
	if _, _, err := (StreamOutputs{Curvature: curvature, Eta: []float64{0, 0, 1, 0}, Radius: 1}).Certify(); err == nil {
		t.Error("a step of 0 was accepted")
	}
}
