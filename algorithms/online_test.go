package algorithms

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

func streamSpec(t testing.TB, o StreamOptions, l2 float64, m Mode) Spec {
	t.Helper()
	s := must.Get(NewStreamSpec(cpu.Backend{}, engine.Problem{
		N: 2, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1,
	}, o, l2, privacy.Budget{Epsilon: 1, Delta: 1e-5}, m))(t)
	return s
}

// record is deterministic record number t of 2 features.
func streamRecord(t int) ([]float64, float64) {
	y := float64(2*(t*7%3%2) - 1)
	return []float64{0.5 * y * math.Cos(float64(t)), 0.3 * math.Sin(3*float64(t))}, y
}

func openStream(t testing.TB, p *Plan, seed uint64) *privacy.LiveSession {
	t.Helper()
	return must.Get(privacy.NewPublicSession(privacy.NewSeededSource(seed), p.Events()))(t)
}

// feedStream steps from record o.Count()+1 to record last, and returns the releases.
func feedStream(t testing.TB, o *Online, last int) (out [][]float64) {
	t.Helper()
	for o.Count() < last {
		x, y := streamRecord(o.Count() + 1)
		w := must.Get(o.Step(context.Background(), x, y))(t)
		if w != nil {
			out = append(out, w)
		}
	}
	return out
}

// savedStream is the state of a stream of a plan after some records.
func savedStream(t testing.TB, p *Plan, records int) []byte {
	t.Helper()
	o := must.Get(NewStream(p, openStream(t, p, 1)))(t)
	feedStream(t, o, records)
	var b bytes.Buffer
	must.Do(t, o.Save(&b))
	return b.Bytes()
}

// The guarantee is S = 1.645 and not n releases of their own: the noise does not
// grow with the horizon, and every release of the plan is made.
func TestStreamNoiseDoesNotGrowWithTheHorizon(t *testing.T) {
	var sigma [2]float64
	for i, n := range []int{100, 10_000} {
		p := must.Get(OnPairC{}.Plan(streamSpec(t, StreamOptions{Horizon: n, Buffer: n - 1}, 0, Certified)))(t)
		sigma[i] = p.Noise().(privacy.Gaussian).Sigma
		want := p.Spec.Constants.PairDiameter * math.Sqrt(math.Pi*math.Pi/6) / account.GDPMu(1, 1e-5)
		must.Within(t, sigma[i], 0.99*want, want*(1+1e-6), "n = %d: sigma, want just below %v", n, want)
		if p.Schedule.Steps != n-1 || !(p.Guarantee.Epsilon <= 1) || p.Guarantee.Epsilon < 0.999 {
			t.Errorf("n = %d: %d updates, %v", n, p.Schedule.Steps, p.Guarantee)
		}
	}
	must.Below(t, sigma[0], sigma[1], "sigma %v: more records must not need less noise", sigma)
	p := must.Get(OnPairC{}.Plan(streamSpec(t, StreamOptions{Horizon: 100}, 0, Certified)))(t)
	o := must.Get(NewStream(p, openStream(t, p, 1)))(t)
	if out := feedStream(t, o, 100); len(out) != 99 || o.Updates() != 99 {
		t.Errorf("%d releases", len(out))
	}
	must.Fail(o.Step(context.Background(), []float64{0, 0}, 1))(t, ErrStreamEnd, "a record after the horizon")
}

func TestPrintedStreamsRefuseWithNumbers(t *testing.T) {
	for _, c := range []struct {
		a    Stream
		o    StreamOptions
		l2   float64
		m    Mode
		want []string
	}{
		{OnPairStrC{}, StreamOptions{Horizon: 100}, 0.1, Paper, []string{"T1", "of n = 100", "sigma = ", "n >= ", "alpha above"}},
		{OnPairC{}, StreamOptions{Horizon: 1_000_000, Buffer: 999_999}, 0, Paper, []string{"buffer"}},
		{OnPairC{}, StreamOptions{Horizon: 5000}, 0, Paper, []string{"never takes a step", "c > 4(L+alpha) = ", "here c = 1"}},
		{OnPairStrC{}, StreamOptions{Horizon: 100}, 0, Certified, []string{"alpha > 0"}},
		{OnPairC{Reading: SecretState}, StreamOptions{Horizon: 100, Batch: 2}, 0, Certified, []string{"batch 1"}},
		{OnPairC{Reading: SecretState}, StreamOptions{Horizon: 20_000}, 0, Certified, []string{"at most 16384"}},
		{OnPairC{}, StreamOptions{Horizon: 100}, 0, NonPrivate, []string{"nonprivate"}},
		{OnGIGA{}, StreamOptions{Horizon: 100}, 0, Certified, []string{"no certified mode"}},
		{DPFTRL{}, StreamOptions{Horizon: 100}, 0, Paper, []string{"no paper mode"}},
		{DPFTRL{}, StreamOptions{Horizon: 2}, 0, Certified, []string{"with 1 updates", "2 to 16777216"}},
		{DPFTRL{}, StreamOptions{Horizon: 20_000_000, Buffer: 10}, 0, Certified, []string{"19999999 rows", "more records per update"}},
		{OnPairC{Reading: SecretState}, StreamOptions{Horizon: 100, Buffer: 4, PerClass: true}, 0, Certified, []string{"no buffer"}},
	} {
		p, err := c.a.Plan(streamSpec(t, c.o, c.l2, c.m))
		if !errors.Is(err, ErrAssumption) {
			t.Errorf("%+v %+v: %v, %v", c.a, c.o, p, err)
			continue
		}
		for _, w := range c.want {
			must.Contain(t, err.Error(), w)
		}
	}
	pure := streamSpec(t, StreamOptions{Horizon: 100}, 0, Certified)
	pure.Budget.Delta = 0
	must.Fail((OnPairC{}).Plan(pure))(t, ErrAssumption, "delta = 0")
	must.Fail((DPFTRL{}).Plan(pure))(t, ErrAssumption, "delta = 0")
	for _, o := range []StreamOptions{{Horizon: 100, PerClass: true}, {Horizon: 100, Buffer: 5, PerClass: true}, {Horizon: 100, Buffer: 4, PerClass: true, Reservoir: true}} {
		must.Fail(NewStreamSpec(cpu.Backend{}, engine.Problem{N: 2, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}, o, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, Certified))(t, ErrAssumption, o)
	}
	// c just above 4(L+alpha) steps.
	n := 5000
	for _, f := range []float64{0.97, 1.05} {
		s := streamSpec(t, StreamOptions{Horizon: n}, 0, Paper)
		c := f * 4 * s.Constants.Smoothness / (1 - 4/math.Sqrt(float64(n)))
		_, err := OnPairC{PaperAlpha: c}.Plan(s)
		must.Equal(t, err == nil, f > 1, "c = %v: %v", c, err)
	}
}

func TestNamesOfStreams(t *testing.T) {
	for _, a := range StreamCatalog() {
		name := a.Info().Name
		must.Equal(t, must.Get(StreamByName(name))(t).Info().Name, name, "Name")
		must.Fail(ByName(name))(t, "dyad online", name, " as a batch algorithm")
	}
	must.Fail(StreamByName("dpgdsc"))(t, "dpftrl", "dpgdsc as an online algorithm")
}

// The printed noise is valid and far too large (docs/theory.md#onpair).
func TestPrintedNoiseIsTooLarge(t *testing.T) {
	s := streamSpec(t, StreamOptions{Horizon: 600}, 1, Paper)
	s.L2 = 4 * s.Constants.Smoothness / math.Sqrt(255) // T1 = 255 or 256
	p := must.Get(OnPairStrC{}.Plan(s))(t)
	l := math.Log(1e5)
	nominal := math.Sqrt2 * (math.Sqrt(l+1) - math.Sqrt(l)) // sqrt(2 rho)
	// 36.9 in 04_online.out (n = 600, T1 = 256) is for Dg = 2G.
	ratio := nominal / p.Guarantee.Mu * p.Spec.Constants.PairDiameter / (2 * p.Spec.Constants.Lipschitz)
	if !p.Guarantee.Claim.Holds || math.Abs(ratio-36.9) > 0.2 {
		t.Errorf("the printed noise is %.4g times the needed one, want 36.9; claim holds: %v", ratio, p.Guarantee.Claim.Holds)
	}
}

// A stream that is saved and resumed makes the releases that it would have made,
// given the same noise: nothing is lost from the state.
func TestStreamResumes(t *testing.T) {
	for _, c := range []struct {
		a Stream
		o StreamOptions
	}{
		{OnPairC{}, StreamOptions{Horizon: 40}},
		{OnPairC{}, StreamOptions{Horizon: 40, Batch: 4, Buffer: 6}},
		{OnPairC{Reading: SecretState}, StreamOptions{Horizon: 40}},
		{OnPairC{}, StreamOptions{Horizon: 40, Batch: 3, Buffer: 6, PerClass: true}},
		{DPFTRL{}, StreamOptions{Horizon: 40}},
		{DPFTRL{}, StreamOptions{Horizon: 40, Batch: 4, Buffer: 6}},
		{OnGIGA{}, StreamOptions{Horizon: 40, Batch: 2, Buffer: 6}},
	} {
		p := must.Get(c.a.Plan(streamSpec(t, c.o, 0, c.a.Info().Modes[0])))(t)
		session := openStream(t, p, 5)
		whole := must.Get(NewStream(p, session))(t)
		want := feedStream(t, whole, 39)
		for _, stop := range []int{0, 1, 7, 8, 22} {
			session := openStream(t, p, 5)
			o := must.Get(NewStream(p, session))(t)
			o.Run = "run"
			got := feedStream(t, o, stop)
			var saved bytes.Buffer
			must.Do(t, o.Save(&saved))
			state := must.Get(ReadStreamState(bytes.NewReader(saved.Bytes())))(t)
			again := must.Get(ResumeStream(p, session, state))(t)
			got = append(got, feedStream(t, again, 39)...)
			if !slices.EqualFunc(got, want, slices.Equal[[]float64]) || again.Run != "run" || !slices.Equal(again.Average(), whole.Average()) {
				t.Errorf("%+v stopped after %d: the releases differ", c.o, stop)
			}
		}
	}
}

// A buffer that is no reservoir holds the last records, oldest first, whatever its size and that of a batch.
func TestStreamHoldsTheLastRecords(t *testing.T) {
	for _, buffer := range []int{1, 6, 40} {
		for _, batch := range []int{1, 4, 9} {
			p := must.Get(OnPairC{}.Plan(streamSpec(t, StreamOptions{Horizon: 90, Batch: batch, Buffer: buffer}, 0, Certified)))(t)
			o := must.Get(NewStream(p, openStream(t, p, 5)))(t)
			for last := 1; last <= 90; last++ {
				feedStream(t, o, last)
				if len(o.fresh) > 0 {
					continue
				}
				if want := min(last, buffer); len(o.held) != want {
					t.Fatalf("buffer %d, batch %d: %d records are held after %d", buffer, batch, len(o.held), last)
				}
				for i, row := range o.held {
					x, y := streamRecord(last - len(o.held) + i + 1)
					if at := int(row) * len(x); !slices.Equal(o.x[at:at+len(x)], x) || o.y[row] != y {
						t.Fatalf("buffer %d, batch %d: after %d records, number %d of the buffer is another one", buffer, batch, last, i+1)
					}
				}
			}
		}
	}
}

func TestPlansOfRecordsAreNoStreams(t *testing.T) {
	planned := 0
	for _, a := range Catalog() {
		p, err := a.Plan(streamSpec(t, StreamOptions{Horizon: 40, Batch: 4, Buffer: 6}, 0.1, Certified))
		if err != nil {
			continue
		}
		planned++
		must.Err(NewStream(p, openStream(t, p, 5)))(t, "%s: NewStream takes its plan", a.Info().Name)
	}
	if planned == 0 {
		t.Error("no algorithm of the catalogue has a plan")
	}
}

func TestResumeStreamRefuses(t *testing.T) {
	o := StreamOptions{Horizon: 40, Batch: 4, Buffer: 6}
	p := must.Get(OnPairC{}.Plan(streamSpec(t, o, 0, Certified)))(t)
	stream := must.Get(NewStream(p, openStream(t, p, 5)))(t)
	feedStream(t, stream, 21)
	var saved bytes.Buffer
	must.Do(t, stream.Save(&saved))
	for name, change := range map[string]func(*StreamState){
		"algorithm":             func(s *StreamState) { s.Algorithm = "onpairstrc" },
		"reading":               func(s *StreamState) { s.Reading = SecretState.String() },
		"options":               func(s *StreamState) { s.Options.Batch = 2 },
		"noise":                 func(s *StreamState) { s.Event.Sigma /= 2 },
		"fewer releases":        func(s *StreamState) { s.Updates-- },
		"fewer records":         func(s *StreamState) { s.Count-- },
		"a short iterate":       func(s *StreamState) { s.W = s.W[:1] },
		"a short buffer":        func(s *StreamState) { s.Held = s.Held[1:] },
		"a row twice":           func(s *StreamState) { s.Held[0] = s.Held[1] },
		"rows in another order": func(s *StreamState) { s.Held[0], s.Held[1] = s.Held[1], s.Held[0] },
		"an endless average":    func(s *StreamState) { s.Played[0] = math.MaxFloat64 },
		"a row too large":       func(s *StreamState) { s.Held[0] = 1000 },
		"lost features":         func(s *StreamState) { s.X = s.X[1:] },
		"no average":            func(s *StreamState) { s.Played = nil },
		"prefix sums":           func(s *StreamState) { s.Total = s.W },
		"gradient sums":         func(s *StreamState) { s.Gradients = s.W },
	} {
		state := must.Get(ReadStreamState(bytes.NewReader(saved.Bytes())))(t)
		must.Get(ResumeStream(p, openStream(t, p, 1), state))(t, "the state itself")
		change(state)
		must.Err(ResumeStream(p, openStream(t, p, 1), state))(t, "%s: resumed", name)
	}
	o.PerClass = true
	classes := must.Get(OnPairC{}.Plan(streamSpec(t, o, 0, Certified)))(t)
	stream = must.Get(NewStream(classes, openStream(t, classes, 5)))(t)
	feedStream(t, stream, 21)
	var one bytes.Buffer
	must.Do(t, stream.Save(&one))
	for _, same := range []bool{false, true} {
		state := must.Get(ReadStreamState(bytes.NewReader(one.Bytes())))(t)
		for i := range state.Y {
			if same {
				state.Y[i] = 1
			}
		}
		if _, err := ResumeStream(classes, openStream(t, classes, 1), state); (err != nil) != same {
			t.Errorf("all of one class: %v, error %v", same, err)
		}
	}
	must.Err(ReadStreamState(strings.NewReader(`{"format":"x"}`)))(t, "another format was read")
	for size := range saved.Len() {
		must.Err(ReadStreamState(strings.NewReader(saved.String()[:size])))(t, "%d of %d bytes of a state were read", size, saved.Len())
	}
	for _, edit := range [][2]string{{`"releases":4`, `"releases":3`}, {`"w":[`, `"w":[1`}, {`"session":0`, `"session":1`}} {
		edited := strings.Replace(saved.String(), edit[0], edit[1], 1)
		if _, err := ReadStreamState(strings.NewReader(edited)); err == nil || edited == saved.String() {
			t.Errorf("a state with %s was read", edit[1])
		}
	}
	var raw map[string]any
	if err := json.NewDecoder(&saved).Decode(&raw); err != nil || len(raw["y"].([]any)) != 6+1 {
		t.Errorf("the state has %d records (%v), want the buffer of 6 and the batch of 1", len(raw["y"].([]any)), err)
	}
}

// A stream without the session of its plan releases nothing and stays over.
func TestStreamStopsAtARefusedRelease(t *testing.T) {
	p := must.Get(OnPairC{}.Plan(streamSpec(t, StreamOptions{Horizon: 10}, 0, Certified)))(t)
	other := must.Get(OnPairC{}.Plan(streamSpec(t, StreamOptions{Horizon: 12}, 0, Certified)))(t)
	o := must.Get(NewStream(p, openStream(t, other, 1)))(t)
	x, y := streamRecord(1)
	must.Get(o.Step(context.Background(), x, y))(t)
	for range 2 {
		if w, err := o.Step(context.Background(), x, y); !errors.Is(err, privacy.ErrUnplanned) || w != nil {
			t.Errorf("%v, %v", w, err)
		}
	}
	must.ErrDo(t, o.Save(new(bytes.Buffer)), "a stream that is over was saved")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	o = must.Get(NewStream(p, openStream(t, p, 1)))(t)
	if _, err := o.Step(cancelled, x, y); !errors.Is(err, context.Canceled) || o.Count() != 0 {
		t.Errorf("cancelled: %v, %d records taken", err, o.Count())
	}
	if _, err := o.Step(context.Background(), []float64{math.NaN(), 1}, y); err != nil || o.Save(new(bytes.Buffer)) != nil {
		t.Errorf("a record that is not finite: %v", err)
	}
}

// The reservoir holds a uniform sample: each record is in it with chance s/n.
// Exact false-alarm rate below 1e-9 by Hoeffding: |mean - s/n| <= sqrt(ln(2 n/1e-9)/(2 runs)).
func TestReservoirIsUniform(t *testing.T) {
	const n, size, runs = 20, 4, 2000
	p := must.Get(OnPairC{}.Plan(streamSpec(t, StreamOptions{Horizon: n + 1, Buffer: size, Reservoir: true, Batch: 3}, 0, Certified)))(t)
	var kept [n]int
	for seed := range uint64(runs) {
		o := newOnline(p, openStream(t, p, seed+1))
		for k := range n {
			o.hold(int32(k), k+1) // any label of a record
		}
		for _, r := range o.held {
			kept[r]++
		}
	}
	margin := math.Sqrt(math.Log(2*n/1e-9) / (2 * runs))
	first := float64(runs) // control: keeping the first records is noticed
	if math.Abs(first/runs-float64(size)/n) <= margin {
		t.Fatalf("the margin %v notices nothing", margin)
	}
	for k, c := range kept {
		must.Near(t, float64(c)/runs, float64(size)/n, margin, "record %d is kept in %d of %d runs, want about %d", k+1,
			c, runs, runs*size/n)
	}
}
