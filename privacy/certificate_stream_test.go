package privacy

import (
	"errors"
	"math"
	"path/filepath"
	"testing"
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
							c, err := s.Certify()
							if err != nil {
								t.Fatal(err)
							}
							want := math.Sqrt(bruteStream(s))
							if got := c.Sensitivity(); !(got >= want*(1-1e-15) && got <= want*(1+1e-11)) {
								t.Errorf("%+v: %.15g, by the definition %.15g", s, got, want)
							}
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
	if tried < 200 {
		t.Errorf("only %d cases", tried)
	}
}

// The table of privacy.md 2.2 and of reference/04_online.out (n = 4096).
func TestPairwiseStreamTable(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic on one goroutine")
	}
	for _, row := range []struct {
		burnIn    int
		want, any float64
	}{{1, 1.6447, math.Pi * math.Pi / 6}, {2, 1.3947, 1.3950}, {7, 1.1329, 1.1332}, {16, 1.0603, 1.0606}, {64, 1.0153, 1.0155}} {
		c, err := PairwiseStream{PairDiameter: 2, Horizon: 4096, Batch: 1, BurnIn: row.burnIn}.Certify()
		if err != nil {
			t.Fatal(err)
		}
		every, err := PairwiseStream{PairDiameter: 2, Batch: 1, BurnIn: row.burnIn}.Certify()
		if err != nil {
			t.Fatal(err)
		}
		s, bound := c.Sensitivity()*c.Sensitivity()/4, every.Sensitivity()*every.Sensitivity()/4
		if math.Abs(s-row.want) > 5e-5 {
			t.Errorf("T1 = %d: S = %.6f, the reference has %.4f", row.burnIn, s, row.want)
		}
		if !(bound > s) || math.Abs(bound-row.any) > 1e-4 {
			t.Errorf("T1 = %d: for any n S = %.6f, want about %.4f and more than %.6f", row.burnIn, bound, row.any, s)
		}
		if every.Releases() != math.MaxInt {
			t.Errorf("any n: %d releases", every.Releases())
		}
	}
	fifo := PairwiseStream{PairDiameter: 1, Batch: 4, BurnIn: 3, Buffer: 10}
	every, err := fifo.Certify()
	if err != nil {
		t.Fatal(err)
	}
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
		if c, err := s.Certify(); !errors.Is(err, errCertificate) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if _, err := good.Certify(); err != nil {
		t.Error(err)
	}
}

// The simple recursion of privacy.md 2.1 for every record, by the definition.
func TestStreamOutputsIsTheRecursion(t *testing.T) {
	curvature := Curvature{PairDiameter: 1.5, Smoothness: 0.3, StrongConvexity: 0.2, Convex: true, Diameter: 3}
	eta := []float64{0, 0, 1, 0.9, 0.8, 0.4, 0.5, 0.1}
	rho := []float64{0, 0, .01, .02, .01, .01, .005, .01}
	n := len(eta) - 1
	c, scale, err := StreamOutputs{Curvature: curvature, Eta: eta, UpdateError: rho, Radius: 1.5}.Certify()
	if err != nil {
		t.Fatal(err)
	}
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
			if math.Abs(scale[step]-top) > 1e-12 {
				t.Errorf("scale %d is %v, want %v", step, scale[step], top)
			}
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

// The event of a stream is that of one Gaussian release of the joint sensitivity,
// counts its releases, and survives the ledger. Pure noise has no event for it.
func TestStreamEvent(t *testing.T) {
	c, err := PairwiseStream{PairDiameter: 1, Horizon: 4, Batch: 1, BurnIn: 1}.Certify()
	if err != nil {
		t.Fatal(err)
	}
	noise, err := CalibrateGaussian(c, Budget{Epsilon: 1, Delta: 1e-5}, 1)
	if err != nil {
		t.Fatal(err)
	}
	event := noise.Event(c)
	if event != (StreamEvent{Sensitivity: c.Sensitivity(), Sigma: noise.Sigma, Count: 3}) {
		t.Fatalf("event %v", event)
	}
	var account GDP
	if err := account.Compose(event); err != nil || !(account.Epsilon(1e-5) <= 1) || account.Epsilon(1e-5) < 0.999 {
		t.Errorf("epsilon %v, %v", account.Epsilon(1e-5), err)
	}
	for _, p := range []Mechanism{Laplace{Scale: 1, Coordinates: 2}, KNorm{Scale: 1}} {
		if err := new(GDP).Compose(p.Event(c)); err == nil {
			t.Errorf("%v has the event %v of a joint certificate", p, p.Event(c))
		}
	}
	if _, err := CalibratePure(c, 1, 2, KNormNoise); err == nil {
		t.Error("pure noise was calibrated to a joint certificate")
	}
	if _, err := CalibrateGaussian(c, Budget{Epsilon: 1, Delta: 1e-5}, 2); err == nil {
		t.Error("a joint certificate was used twice")
	}
	if _, err := NewPublicSession(NewSeededSource(1), []Event{event, event}); err == nil {
		t.Error("a plan with the same stream twice was accepted")
	}
	l, err := OpenLedger(filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	charge := Charge{DataID: "people", Algorithm: "a", Events: []Event{event}}
	s, err := l.Begin(charge, NewSeededSource(1))
	if err != nil {
		t.Fatal(err)
	}
	release := func(s Session) error { return s.Release([]float64{1, 2}, c, noise) }
	for i := range 4 {
		if err := release(s); (err == nil) != (i < 3) {
			t.Errorf("release %d: %v", i+1, err)
		}
	}
	run := s.Receipt().Run
	before, err := l.Summary("people", 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.ResumeStream(run, charge, 2, 1, NewSeededSource(2))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := release(again); (err == nil) != (i < 1) {
			t.Errorf("resumed after 2 of 3, release %d: %v", i+1, err)
		}
	}
	other := charge
	other.Events = []Event{StreamEvent{Sensitivity: c.Sensitivity(), Sigma: noise.Sigma * 0.5, Count: 3}}
	for name, try := range map[string]func() (*LiveSession, error){
		"an old copy":                   func() (*LiveSession, error) { return l.ResumeStream(run, charge, 1, 2, NewSeededSource(2)) },
		"a copy from before the resume": func() (*LiveSession, error) { return l.ResumeStream(run, charge, 2, 1, NewSeededSource(2)) },
		"a number that is ahead":        func() (*LiveSession, error) { return l.ResumeStream(run, charge, 2, 3, NewSeededSource(2)) },
		"less noise":                    func() (*LiveSession, error) { return l.ResumeStream(run, other, 2, 2, NewSeededSource(2)) },
		"more than all":                 func() (*LiveSession, error) { return l.ResumeStream(run, charge, 4, 2, NewSeededSource(2)) },
		"an unknown run":                func() (*LiveSession, error) { return l.ResumeStream("x", charge, 2, 1, NewSeededSource(2)) },
		"as a batch run":                func() (*LiveSession, error) { return l.Resume(run, charge, NewSeededSource(2)) },
		"a released batch":              func() (*LiveSession, error) { return l.ResumeStream(batchRun(t, l), charge, 0, 1, NewSeededSource(2)) },
	} {
		if _, err := try(); !errors.Is(err, ErrResume) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, err := l.Summary("people", 1e-5); err != nil || after.Mu != before.Mu && after.Runs == before.Runs {
		t.Errorf("resuming changed the total from %v to %v (%v)", before.Mu, after.Mu, err)
	}
	if err := l.Finish(run, "ended"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ResumeStream(run, charge, 3, 2, NewSeededSource(2)); !errors.Is(err, ErrResume) {
		t.Errorf("a finished stream was resumed: %v", err)
	}
}

// A stream without noise is charged as infinite, and goes on without a new charge.
func TestResumeStreamWithoutNoise(t *testing.T) {
	l, err := OpenLedger(filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	charge := Charge{DataID: "people", Algorithm: "a", Events: []Event{NonPrivateEvent{}}}
	s, err := l.Begin(charge, NewSeededSource(1))
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.ResumeStream(s.Receipt().Run, charge, 2, 1, NewSeededSource(2))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.ReleaseExact([]float64{1}); err != nil {
		t.Error(err)
	}
	if _, err := l.ResumeStream(s.Receipt().Run, charge, 1, 2, NewSeededSource(2)); !errors.Is(err, ErrResume) {
		t.Errorf("an old copy: %v", err)
	}
	private := Charge{DataID: "people", Algorithm: "a", Events: []Event{StreamEvent{1, 1, 3}}}
	if s, err = l.Begin(private, NewSeededSource(1)); err != nil {
		t.Fatal(err)
	}
	if again, err = l.ResumeStream(s.Receipt().Run, private, 1, 1, NewSeededSource(2)); err != nil {
		t.Fatal(err)
	}
	if err := again.ReleaseExact([]float64{1}); !errors.Is(err, ErrUnplanned) {
		t.Errorf("an exact release of a private stream: %v", err)
	}
}

// batchRun charges a run that promised to release nothing before its end.
func batchRun(t *testing.T, l *Ledger) string {
	s, err := l.Begin(Charge{DataID: "batch", Algorithm: "a", Resumable: true, Events: []Event{GaussianEvent{1, 1, 1}}}, NewSeededSource(1))
	if err != nil {
		t.Fatal(err)
	}
	return s.Receipt().Run
}
