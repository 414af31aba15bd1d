package cuda

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/driver"
	"dyad/internal/must"
)

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
		if strings.Contains(string(file), "Other GPU") != (what == "another GPU") {
			t.Errorf("%s:\n%s", what, file)
		}
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
