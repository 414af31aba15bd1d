package cuda

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"dyad/engine"
	"dyad/engine/embedding"
)

// TimeModel models the time of a gradient sum over all pairs on a GPU by one method, in seconds:
//
//	Fixed + PerRecord n + PerNumber n d + PerPair v
//
// n is the number of records, d is the number of features, and v is the number of pairs that are visited. For
// metrics, v is the number of visited pairs times d, where d is rounded up to tiles of 64.
type TimeModel struct {
	GPU    string `json:"gpu"` // product name of the GPU
	Method string `json:"method"`
	// Programs holds the hashes of the measured PTX programs by name. It is empty if the model is predicted.
	Programs  map[string]string `json:"ptx_sha256,omitempty"`
	Fixed     float64           `json:"fixed_seconds"`
	PerRecord float64           `json:"seconds_per_record"`
	PerNumber float64           `json:"seconds_per_number"`
	PerPair   float64           `json:"seconds_per_pair"`
	// Cases is the number of measurements behind the fit. Off is the largest relative distance of the fit from
	// a measurement. Both are 0 if the model is predicted.
	Cases int     `json:"cases,omitempty"`
	Off   float64 `json:"largest_relative_error,omitempty"`
}

// Seconds returns the time of a sum with work w.
func (m TimeModel) Seconds(w work) float64 {
	return m.Fixed + m.PerRecord*w.records + m.PerNumber*w.numbers + m.PerPair*w.pairs
}

// work holds the counts that a TimeModel uses. They follow from public numbers.
type work struct{ records, numbers, pairs float64 }

// Models is a list of measured time models.
type Models []TimeModel

//go:embed auto.json
var measuredModels []byte

// Measured returns the models of this version, which are fitted to the results of bench/gpu. Models of programs
// that have changed since the measurement are left out. The list is empty until a GPU has been measured.
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

// Of returns the model of a method on a GPU. The second result is false if there is no such model.
func (all Models) Of(gpu, method string) (TimeModel, bool) {
	for _, m := range all {
		if m.GPU == gpu && m.Method == method {
			return m, true
		}
	}
	return TimeModel{}, false
}

// models returns the time models that the backend uses.
func (b Backend) models() (Models, error) {
	if b.Models != nil {
		return *b.Models, nil
	}
	return Measured()
}

// A Forecast is the predicted memory and time of a planned kernel on its GPU. It follows from public numbers.
type Forecast struct {
	Device string // such as cuda:0, or cuda:h200
	GPU    string // product name of the GPU
	Memory uint64 // largest number of bytes that the kernel uses on the GPU
	Have   uint64 // number of bytes that a plan may use on the GPU
	// Seconds is the time of a gradient sum over all pairs. If Moments is true, it is the time of a pass that
	// sums moments. It is 0 if there is no time model. If Measured is false, Seconds is predicted from counts
	// of instructions and the data sheet.
	Seconds  float64
	Measured bool
	Moments  bool
	// Copying is the time of copying the records to the GPU in seconds, predicted from the data sheet. It is 0
	// if the package has no data sheet of the GPU. CopyingNarrow is the same time for records in float32, which
	// moments copy as they are. Panels is true if the records do not fit on the GPU and are copied for every
	// pass.
	Copying, CopyingNarrow float64
	Panels                 bool
}

// ForecastOf returns the forecast of a kernel that this package planned. For other kernels ok is false.
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
