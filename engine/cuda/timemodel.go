package cuda

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"dyad/engine"
	"dyad/engine/embedding"
)

// TimeModel is the time of a gradient sum over all pairs on a GPU by one method, in seconds:
//
//	Fixed + PerRecord n + PerNumber n d + PerPair v
//
// v is the number of pairs that are visited, for metrics times d, rounded up to tiles of 64.
type TimeModel struct {
	GPU    string `json:"gpu"` // name of the product
	Method string `json:"method"`
	// Programs are the hashes of the PTX that was measured, by name; none if it is predicted.
	Programs  map[string]string `json:"ptx_sha256,omitempty"`
	Fixed     float64           `json:"fixed_seconds"`
	PerRecord float64           `json:"seconds_per_record"`
	PerNumber float64           `json:"seconds_per_number"`
	PerPair   float64           `json:"seconds_per_pair"`
	// Cases is the number of measurements behind the fit, and Off its largest relative
	// distance from one of them; 0 if it is predicted.
	Cases int     `json:"cases,omitempty"`
	Off   float64 `json:"largest_relative_error,omitempty"`
}

// Seconds is the time of a sum of that work.
func (m TimeModel) Seconds(w work) float64 {
	return m.Fixed + m.PerRecord*w.records + m.PerNumber*w.numbers + m.PerPair*w.pairs
}

// work is what a TimeModel counts, from public numbers.
type work struct{ records, numbers, pairs float64 }

// Models are measured time models.
type Models []TimeModel

//go:embed auto.json
var measuredModels []byte

// Measured returns the models in this version, fitted to the results of bench/gpu. There are
// none until a GPU has been measured, and those of programs that have changed do not count.
func Measured() (Models, error) { return readModels(measuredModels, embeddedPTX()) }

func readModels(text []byte, embedded map[string]string) (current Models, err error) {
	var all Models
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("cuda: times of GPUs: %w", err)
	}
	for _, m := range all {
		if m.current(embedded) && min(m.Fixed, m.PerRecord, m.PerNumber, m.PerPair) >= 0 {
			current = append(current, m)
		}
	}
	return current, nil
}

func (m TimeModel) current(embedded map[string]string) bool {
	for name, hash := range m.Programs {
		if embedded[name] != hash {
			return false
		}
	}
	return len(m.Programs) > 0
}

// Of is the model of a method on a GPU.
func (all Models) Of(gpu, method string) (TimeModel, bool) {
	for _, m := range all {
		if m.GPU == gpu && m.Method == method {
			return m, true
		}
	}
	return TimeModel{}, false
}

// models are those that a backend goes by.
func (b Backend) models() (Models, error) {
	if b.Models != nil {
		return *b.Models, nil
	}
	return Measured()
}

// A Forecast is what a planned kernel takes on its GPU, from public numbers.
type Forecast struct {
	Device string // such as cuda:0, or cuda:h200
	GPU    string // name of the product
	Memory uint64 // bytes that are used there, at most, and
	Have   uint64 // bytes that it has
	// Seconds is the time of a gradient sum over all pairs, or with Moments of a pass that sums
	// moments, 0 if there is no model for it. If Measured is false it is predicted from counts of
	// instructions and the data sheet.
	Seconds  float64
	Measured bool
	Moments  bool
	// Copying is the time in which the records are copied to the GPU, predicted from the data sheet; 0 if
	// the GPU has none here. CopyingNarrow holds for records in float32, which moments copy as they are.
	// Panels: they do not fit, and are copied for every pass.
	Copying, CopyingNarrow float64
	Panels                 bool
}

// ForecastOf is the forecast of a kernel that this package planned; ok is false for others.
func ForecastOf(k engine.Kernel) (f Forecast, ok bool) {
	if r, both := k.(engine.Recentred); both {
		if f, ok = ForecastOf(r.Moments); ok {
			gradients, _ := ForecastOf(r.Kernel)
			f.Memory += gradients.Memory
		}
		return f, ok
	}
	if n, network := k.(interface{ Elsewhere() embedding.RowsKernel }); network {
		if rows, ok := n.Elsewhere().(*networkKernel); ok {
			return rows.forecast(k), true
		}
	}
	p, ok := k.(planned)
	if !ok {
		return Forecast{}, false
	}
	b := p.on()
	f = Forecast{Device: b.Name(), GPU: b.Device.Info().Name, Memory: p.bytes(), Have: b.memory()}
	w, method := p.work()
	_, f.Moments = k.(*momentsKernel)
	switch k := k.(type) {
	case *kernel:
		f.Panels = !k.grid.resident
	case *momentsKernel:
		f.Panels = !k.grid.resident
	}
	measured, err := b.models()
	m, found := measured.Of(f.GPU, method)
	if f.Measured = found && err == nil; f.Measured {
		f.Seconds = m.Seconds(w)
	}
	gpus, err := readNamed()
	if err != nil {
		return f, true
	}
	for _, g := range gpus {
		if g.Name == f.GPU {
			problem := p.Problem()
			f.Copying = 8 * float64(problem.N) * float64(problem.D) / (linkShare * g.Link)
			if f.CopyingNarrow = f.Copying; f.Moments {
				f.CopyingNarrow /= 2
			}
		}
		if m, found := g.predicted(method); found && g.Name == f.GPU && !f.Measured {
			f.Seconds = m.Seconds(w)
		}
	}
	return f, true
}

func secondsOf(k engine.Kernel, p engine.Pairs) float64 {
	if _, all := p.(engine.AllPairs); !all && p != nil {
		return 0
	}
	f, _ := ForecastOf(k)
	return f.Seconds
}
