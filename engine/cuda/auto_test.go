package cuda

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
)

// distil makes timings of results: those of score losses that both devices have, and those
// of Mahalanobis losses with both BF16x3 and Wgmma.
func distil(results []result) Timings {
	t := Timings{PTX: map[string]string{}, Timings: []Timing{}, Metric: []MetricTiming{}}
	for _, r := range results {
		maps.Copy(t.PTX, r.PTX)
		for _, g := range r.Measurements {
			if !strings.HasPrefix(g.Device, "cuda:") || g.Labels == 0 {
				continue
			}
			for _, c := range r.Measurements {
				if g.Method == "direct, bf16x3" && c.Method == "direct, wgmma" && c.N == g.N && c.D == g.D {
					t.Metric = append(t.Metric, MetricTiming{GPU: r.Device.Name, N: g.N, D: g.D, PortableSeconds: g.Seconds, WgmmaSeconds: c.Seconds})
				}
				if c.Device == "cpu" && c.N == g.N && c.D == g.D && c.Labels == g.Labels {
					t.Timings = append(t.Timings, Timing{GPU: r.Device.Name, N: g.N, D: g.D, Labels: g.Labels, CPUSeconds: c.Seconds, GPUSeconds: g.Seconds})
				}
			}
		}
	}
	return t
}

// TestAutoIsOfTheResults: auto.json is what the committed results of GPUs say: nothing
// while there are none. With DYAD_AUTO_OUT it is written there.
func TestAutoIsOfTheResults(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(results, "gpu-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []result
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var r result
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	want := distil(all)
	if out := os.Getenv("DYAD_AUTO_OUT"); out != "" {
		text, err := json.MarshalIndent(want, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(out, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got Timings
	if err := json.Unmarshal(measuredTimings, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("engine/cuda/auto.json is not of the files in bench/results/gpu: run this test with DYAD_AUTO_OUT=auto.json")
	}
}

// The sizes of madeUp.
var (
	gridN = []int{1e3, 1e4, 1e5, 1e6, 1e7}
	gridD = []int{8, 32, 128}
)

// madeUp is a result in which the GPU is slow for few records and fast for many, and for
// 1000 records of 128 features just faster.
func madeUp() result {
	r := result{PTX: embeddedPTX()}
	r.Device.Name = "PTX interpreter"
	for _, n := range gridN {
		for _, d := range gridD {
			size := float64(n) * float64(d)
			gpu := 1e-4 + size*1e-10
			if n == 1000 && d == 128 {
				gpu = 1e-6
			}
			r.Measurements = append(r.Measurements,
				measurement{N: n, D: d, Labels: 2, Device: "cuda:0", Seconds: gpu},
				measurement{N: n, D: d, Labels: 2, Device: "cpu", Seconds: size * 1e-9},
				measurement{N: n, D: d, Labels: 5, Device: "cuda:0", Seconds: gpu},
				measurement{N: n, D: d, Rows: 16, Device: "cuda:0", Seconds: 1e-9})
		}
	}
	return r
}

// TestAuto: without timings, with those of other PTX or of another GPU, the CPU is
// chosen; with a made-up file the faster device at every point of the grid.
func TestAuto(t *testing.T) {
	text, err := json.Marshal(distil([]result{madeUp()}))
	if err != nil {
		t.Fatal(err)
	}
	timings, err := readTimings(text, embeddedPTX())
	if err != nil || len(timings.Timings) != 15 {
		t.Fatalf("%d timings, %v", len(timings.Timings), err)
	}
	changed := embeddedPTX()
	changed["score"] = "another"
	stale, err := readTimings(text, changed)
	if err != nil || len(stale.Timings) != 0 {
		t.Errorf("timings of other PTX count: %v, %v", stale, err)
	}
	if _, err := readTimings([]byte("{"), nil); err == nil {
		t.Error("a broken file was accepted")
	}
	elsewhere := Timings{PTX: timings.PTX}
	for _, m := range timings.Timings {
		m.GPU = "another"
		elsewhere.Timings = append(elsewhere.Timings, m)
	}
	gpu := openFake(t, newFake())
	problem := func(n, d int) engine.Problem {
		return engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	}
	for name, none := range map[string]Timings{"none": {}, "stale": stale, "another GPU": elsewhere} {
		a := Auto{CPU: cpu.Backend{}, GPU: gpu, Timings: none}
		if _, device, why, err := a.Choose(problem(1e6, 32)); device != "cpu" || why == "" || err != nil {
			t.Errorf("%s: %s, %s, %v", name, device, why, err)
		}
	}
	a := Auto{CPU: cpu.Backend{}, GPU: gpu, Timings: timings}
	chosen := map[string]int{}
	for _, m := range timings.Timings {
		_, device, why, err := a.Choose(problem(m.N, m.D))
		if err != nil {
			t.Fatal(err)
		}
		chosen[device]++
		seconds := map[string]float64{"cpu": m.CPUSeconds, "cuda:0": m.GPUSeconds}[device]
		if best := min(m.CPUSeconds, m.GPUSeconds); seconds > 1.2*best {
			t.Errorf("n = %d, d = %d: %s takes %g s, the better device %g (%s)", m.N, m.D, device, seconds, best, why)
		}
	}
	if chosen["cpu"] < 3 || chosen["cuda:0"] < 3 {
		t.Errorf("chosen: %v", chosen)
	}
	// Points between those of the grid, labels without timings, another loss, and a GPU that
	// declines.
	for name, c := range map[string]struct {
		change func(*engine.Problem)
		want   string
	}{
		"near a large one": {func(p *engine.Problem) { p.N, p.D = 700_000, 40 }, "cuda:0"},
		"near a small one": {func(p *engine.Problem) { p.N, p.D = 2000, 9 }, "cpu"},
		"labels":           {func(p *engine.Problem) { p.LabelValues = 5 }, "cpu"},
		"loss":             {func(p *engine.Problem) { p.Loss = enginetest.SmoothHinge{} }, "cpu"},
		"groups":           {func(p *engine.Problem) { p.Groups = []int{5e5, 5e5} }, "cpu"},
	} {
		p := problem(1e6, 32)
		c.change(&p)
		k, device, why, err := a.Choose(p)
		if err != nil || device != c.want || why == "" {
			t.Errorf("%s: %s, %s, %v", name, device, why, err)
		}
		if again, err := a.Plan(p); err != nil || again.Method() != k.Method() {
			t.Errorf("%s: Plan disagrees with Choose: %v, %v", name, again, err)
		}
	}
	if _, err := a.Plan(engine.Problem{}); err == nil || errors.Is(err, engine.ErrUnsupported) {
		t.Errorf("an empty problem: %v", err)
	}
}

// TestWgmmaIsChosen: only on compute capability 9.0, and there only where it is asked for or
// where a timing of that GPU says that it is faster.
func TestWgmmaIsChosen(t *testing.T) {
	r := result{PTX: embeddedPTX()}
	r.Device.Name = "PTX interpreter"
	for n, seconds := range map[int]float64{1000: 2e-3, 100_000: 1e-3} {
		r.Measurements = append(r.Measurements,
			measurement{N: n, D: 64, Labels: 2, Method: "direct, bf16x3", Device: "cuda:0", Seconds: 1.5e-3},
			measurement{N: n, D: 64, Labels: 2, Method: "direct, wgmma", Device: "cuda:0", Seconds: seconds},
			measurement{N: n, D: 64, Labels: 2, Method: "direct, fp32", Device: "cuda:0", Seconds: 1e-9})
	}
	measured := distil([]result{r})
	if len(measured.Metric) != 2 || len(measured.Timings) != 0 {
		t.Fatalf("timings %+v", measured)
	}
	elsewhere := Timings{Metric: slices.Clone(measured.Metric)}
	for i := range elsewhere.Metric {
		elsewhere.Metric[i].GPU = "another"
	}
	for _, c := range []struct {
		name         string
		major, minor int
		precision    Precision
		timings      *Timings
		n            int
		want         string // of the method, "" if it is refused
	}{
		{"not measured", 9, 0, AutoPrecision, nil, 1e5, "direct, bf16x3"},
		{"measured to be faster", 9, 0, AutoPrecision, &measured, 7e4, "direct, wgmma"},
		{"measured to be slower", 9, 0, AutoPrecision, &measured, 2000, "direct, bf16x3"},
		{"measured on another GPU", 9, 0, AutoPrecision, &elsewhere, 1e5, "direct, bf16x3"},
		{"measured, of another capability", 8, 9, AutoPrecision, &measured, 1e5, "direct, bf16x3"},
		{"asked for", 9, 0, Wgmma, nil, 1e5, "direct, wgmma"},
		{"another one asked for", 9, 0, BF16x3, &measured, 1e5, "direct, bf16x3"},
		{"asked for on 8.0", 8, 0, Wgmma, &measured, 1e5, ""},
		{"asked for on 9.1", 9, 1, Wgmma, &measured, 1e5, ""},
		{"asked for on 10.0", 10, 0, Wgmma, &measured, 1e5, ""},
	} {
		f := newFake()
		f.major, f.minor = c.major, c.minor
		b := openFake(t, f)
		b.Precision, b.Timings = c.precision, c.timings
		k, err := b.Plan(engine.Problem{N: c.n, D: 64, Bounds: engine.UnitBounds(), Loss: engine.MahalanobisLogistic{}, Radius: 1})
		switch {
		case c.want == "" && !errors.Is(err, engine.ErrUnsupported):
			t.Errorf("%s: %v, %v", c.name, k, err)
		case c.want != "" && (err != nil || k.Method() != c.want):
			t.Errorf("%s: %v, %v, want %s", c.name, k, err, c.want)
		}
	}
}
