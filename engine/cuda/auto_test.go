package cuda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/driver"
	"dyad/engine/enginetest"
	"dyad/internal/must"
)

// distil fits the time models to results: one for each GPU and method with cases of three sizes
// or more, of the logistic loss over all pairs of resident records.
func distil(results []result) Models {
	type key struct{ gpu, method string }
	times, seconds, programs := map[key][]work{}, map[key][]float64{}, map[key]map[string]string{}
	for _, r := range results {
		for _, m := range r.Measurements {
			if !strings.HasPrefix(m.Device, "cuda:") || m.Labels == 0 || m.Group > 0 || m.Loss != "" || m.Panels || m.Failed != "" || !(m.Seconds > 0) {
				continue
			}
			k, n, v := key{r.Device.Name, m.Method}, float64(m.N), float64(m.Visited)
			if slices.Contains(m.Programs, "metric") {
				v *= float64(roundUp(m.D, 64))
			}
			times[k] = append(times[k], work{n, n * float64(m.D), v})
			seconds[k] = append(seconds[k], m.Seconds)
			programs[k] = map[string]string{}
			for _, name := range m.Programs {
				programs[k][name] = r.PTX[name]
			}
		}
	}
	all := Models{}
	for k, w := range times {
		if m, ok := fit(w, seconds[k]); ok {
			m.GPU, m.Method, m.Programs = k.gpu, k.method, programs[k]
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b TimeModel) int {
		return cmp.Or(strings.Compare(a.GPU, b.GPU), strings.Compare(a.Method, b.Method))
	})
	return all
}

// TestFit: times that follow a model, off by up to 3 %, give it back, also between the sizes;
// a term that would be negative is left out.
func TestFit(t *testing.T) {
	want := TimeModel{Fixed: 8e-5, PerRecord: 2e-11, PerNumber: 4e-12, PerPair: 3e-13}
	var w []work
	var seconds []float64
	for i, n := range []float64{1e3, 1e4, 1e5, 1e6} {
		for j, d := range []float64{8, 32, 128} {
			w = append(w, work{n, n * d, n * n / 4})
			seconds = append(seconds, want.Seconds(w[len(w)-1])*(1+0.03*math.Sin(float64(7*i+3*j))))
		}
	}
	got, ok := fit(w, seconds)
	if !ok || got.Cases != 12 || !(got.Off < 0.06) {
		t.Fatalf("%+v, %v", got, ok)
	}
	for _, n := range []float64{3e3, 3e4, 3e5} {
		for _, d := range []float64{15, 60} {
			at := work{n, n * d, n * n / 4}
			if off := got.Seconds(at)/want.Seconds(at) - 1; math.Abs(off) > 0.06 {
				t.Errorf("n = %g, d = %g: off by %.2g", n, d, off)
			}
		}
	}
	if m, ok := fit([]work{{records: 1}, {records: 2}, {records: 3}}, []float64{3, 2, 1}); !ok || m.PerRecord != 0 {
		t.Errorf("times that fall: %+v, %v", m, ok)
	}
	if _, ok := fit(w[:2], seconds[:2]); ok {
		t.Error("two cases have a model")
	}
}

// TestAutoIsOfTheResults: auto.json is what the committed results of GPUs say: nothing
// while there are none. With DYAD_AUTO_OUT it is written there.
func TestAutoIsOfTheResults(t *testing.T) {
	files := must.Get(filepath.Glob(filepath.Join(results, "gpu-*.json")))(t)
	var all []result
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		var r result
		must.Do(t, json.Unmarshal(text, &r))
		all = append(all, r)
	}
	want := distil(all)
	if out := os.Getenv("DYAD_AUTO_OUT"); out != "" {
		text := must.Get(json.MarshalIndent(want, "", "\t"))(t)
		must.Do(t, os.WriteFile(out, append(text, '\n'), 0o644))
	}
	var got Models
	must.Do(t, json.Unmarshal(measuredModels, &got))
	must.Same(t, got, want, "engine/cuda/auto.json is not of the files in bench/results/gpu: run this test with DYAD_AUTO_OUT=auto.json")
}

// madeUp is a result in which the GPU has a fixed time and is ten times as fast as the CPU
// beyond it.
func madeUp() result {
	r := result{PTX: embeddedPTX()}
	r.Device.Name = "PTX interpreter"
	for _, n := range []int{1e3, 1e4, 1e5, 1e6, 1e7} {
		for _, d := range []int{8, 32, 128} {
			m := measurement{N: n, D: d, Labels: 2, Method: "near-linear", Device: "cuda:0", Seconds: 1e-3 + 1e-10*float64(n)*float64(d), Programs: []string{"rows", "nearlinear"}}
			r.Measurements = append(r.Measurements, m)
			for _, other := range []func(*measurement){
				func(m *measurement) { m.Device = "cpu" }, func(m *measurement) { m.Panels = true },
				func(m *measurement) { m.Failed = "off" }, func(m *measurement) { m.Group = 10 },
			} {
				m := m
				m.Seconds = 1
				other(&m)
				r.Measurements = append(r.Measurements, m)
			}
		}
	}
	return r
}

var _ paced = cpu.Backend{}

// timedCPU is a CPU whose kernels take a nanosecond for a feature of a record, and that is
// slower than its estimates by a factor.
type timedCPU struct {
	cpu.Backend
	pace float64
}

type timedKernel struct{ engine.Kernel }

func (k timedKernel) Bounds(engine.Query) engine.QueryBounds {
	return engine.QueryBounds{Seconds: 1e-9 * float64(k.Problem().N) * float64(k.Problem().D)}
}

func (b timedCPU) Plan(p engine.Problem) (engine.Kernel, error) {
	k, err := b.Backend.Plan(p)
	return timedKernel{k}, err
}

func (b timedCPU) Pace(engine.Problem) float64 { return b.pace }

// TestAuto: without a model, with that of changed programs or of another GPU, the CPU is
// chosen; otherwise the faster device, within a tenth, also between the measured sizes and on a
// machine whose CPU is slower or faster.
func TestAuto(t *testing.T) {
	text := must.Get(json.Marshal(distil([]result{madeUp()})))(t)
	models, err := readModels(text, embeddedPTX())
	if err != nil || len(models) != 1 || models[0].Cases != 15 {
		t.Fatalf("%+v, %v", models, err)
	}
	changed := embeddedPTX()
	changed["metric_mma"] = "another"
	must.Equal(t, len(must.Get(readModels(text, changed))(t)), 1, "a program that near-linear sums do not run makes its model stale")
	changed["rows"] = "another"
	stale, err := readModels(text, changed)
	if err != nil || len(stale) != 0 {
		t.Errorf("a model of another program counts: %v, %v", stale, err)
	}
	must.Err(readModels([]byte("{"), nil))(t, "a broken file was accepted")
	elsewhere := slices.Clone(models)
	elsewhere[0].GPU = "another"
	gpu := openFake(t, newFake())
	problem := func(n, d int) engine.Problem {
		return engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	}
	for name, none := range map[string]Models{"none": nil, "stale": stale, "another GPU": elsewhere} {
		a := Auto{CPU: cpu.Backend{}, GPU: gpu, Models: none}
		if _, device, why, err := a.Choose(problem(1e6, 32)); device != "cpu" || why == "" || err != nil {
			t.Errorf("%s: %s, %s, %v", name, device, why, err)
		}
	}
	for _, pace := range []float64{0.25, 1, 8} {
		a := Auto{CPU: timedCPU{pace: pace}, GPU: gpu, Models: models}
		chosen := map[string]int{}
		for _, n := range []int{1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6} {
			for _, d := range []int{8, 20, 60} {
				numbers := float64(n) * float64(d)
				seconds := map[string]float64{"cpu": pace * 1e-9 * numbers, "cuda:0": 1e-3 + 1e-10*numbers}
				_, device, why, err := a.Choose(problem(n, d))
				if err != nil || seconds[device] > 1.1*min(seconds["cpu"], seconds["cuda:0"]) {
					t.Errorf("n = %d, d = %d: %s of %v, %v (%s)", n, d, device, seconds, err, why)
				}
				chosen[device]++
			}
		}
		if chosen["cpu"] < 3 || chosen["cuda:0"] < 3 {
			t.Errorf("pace %g: %v", pace, chosen)
		}
	}
	// Labels without a model, another loss, groups.
	a := Auto{CPU: cpu.Backend{}, GPU: gpu, Models: models}
	for name, c := range map[string]struct {
		change func(*engine.Problem)
		want   string
	}{
		"large":  {func(p *engine.Problem) {}, "cuda:0"},
		"small":  {func(p *engine.Problem) { p.N, p.D = 2000, 9 }, "cpu"},
		"labels": {func(p *engine.Problem) { p.LabelValues = engine.AnyLabels }, "cpu"},
		"loss":   {func(p *engine.Problem) { p.Loss = enginetest.SmoothHinge{} }, "cpu"},
		"groups": {func(p *engine.Problem) { p.Groups = []int{5e6, 5e6} }, "cpu"},
	} {
		p := problem(1e7, 32)
		c.change(&p)
		k, device, why, err := a.Choose(p)
		if err != nil || device != c.want || why == "" {
			t.Errorf("%s: %s, %s, %v", name, device, why, err)
		}
		must.Equal(t, must.Get(a.Plan(p))(t).Method(), k.Method(), "%s: Plan disagrees with Choose", name)
	}
	if _, err := a.Plan(engine.Problem{}); err == nil || errors.Is(err, engine.ErrUnsupported) {
		t.Errorf("an empty problem: %v", err)
	}
}

// TestTuned: the first use measures, the second one takes what is kept, and times of other programs,
// of another GPU, or that cannot be read are measured again, while those of another GPU stay. The choice
// goes by them.
func TestTuned(t *testing.T) {
	var file []byte
	times := Kept{
		Read: func() ([]byte, error) {
			if file == nil {
				return nil, os.ErrNotExist
			}
			return file, nil
		},
		Write: func(text []byte) error { file = text; return nil },
	}
	sizes := [][2]int{{64, 1}, {600, 1}, {600, 4}, {1200, 2}}
	f := newFake()
	f.dry = true
	b := openFake(t, f)
	tuned := func() Models {
		t.Helper()
		f.calls = nil
		all := must.Get(b.Device.tuned(context.Background(), times, sizes))(t)
		if len(all) != 2 {
			t.Fatal(all)
		}
		return all
	}
	launches := func() int { return f.called("Launch") }
	first := tuned()
	if launches() == 0 {
		t.Error("nothing was measured")
	}
	for _, method := range []string{"near-linear", "direct, factored"} {
		if m, ok := first.Of(b.Device.Info().Name, method); !ok || m.Cases != len(sizes) || !m.current(embeddedPTX()) {
			t.Errorf("%s: %+v in %+v", method, m, first)
		}
	}
	if again := tuned(); launches() != 0 || again[0].Method != first[0].Method || again[1].Fixed != first[1].Fixed {
		t.Errorf("%d launches at the second use, and %+v", launches(), again)
	}
	whole := string(file)
	for what, text := range map[string]string{
		"another program": strings.Replace(whole, embeddedPTX()["rows"], "0", -1),
		"another GPU":     strings.ReplaceAll(whole, b.Device.Info().Name, "Other GPU"),
		"a broken file":   whole[:len(whole)/2],
	} {
		file = []byte(text)
		if tuned(); launches() == 0 {
			t.Errorf("%s: its times were taken", what)
		}
		must.Equal(t, strings.Contains(string(file), "Other GPU"), what == "another GPU", "%s:\n%s", what, file)
	}
	// A GPU that fails is an error, and nothing is kept of it.
	file = nil
	f.fail = f.failing("Launch logistic_tiles", 0, driver.Result(719))
	must.Fail(b.Device.tuned(context.Background(), times, sizes))(t, driver.Result(719), "a kernel that fails")
	if file != nil {
		t.Errorf("what is left: %s", file)
	}
	// By models that favour the GPU it is chosen, by those of a slow one it is not.
	p := engine.Problem{N: 100_000, D: 20, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2}
	for name, fixed := range map[string]float64{b.Name(): 1e-6, "cpu": 1e3} {
		models := slices.Clone(first)
		for i := range models {
			models[i].Fixed, models[i].PerRecord, models[i].PerNumber, models[i].PerPair = fixed, 0, 0, 0
		}
		if _, device, why, err := (Auto{CPU: cpu.Backend{}, GPU: b, Models: models}).Choose(p); err != nil || device != name {
			t.Errorf("a sum in %g s: %s, %s, %v", fixed, device, why, err)
		}
	}
}
