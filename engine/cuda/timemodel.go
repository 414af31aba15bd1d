package cuda

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"

	"dyad/kernels"
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

// fitted returns the models of this version, which are fitted to the results of bench/gpu. Models of programs
// that have changed since the measurement are left out. The list is empty until a GPU has been measured.
func fitted() (Models, error) { return readModels(measuredModels, embeddedPTX()) }

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

// Of returns the time model of the given method on the given GPU. The second result is false if there is none.
func (all Models) Of(gpu, method string) (TimeModel, bool) {
	for _, m := range all {
		if m.GPU == gpu && m.Method == method {
			return m, true
		}
	}
	return TimeModel{}, false
}

// embeddedPTX returns the hashes of the embedded programs by name.
func embeddedPTX() map[string]string {
	hashes := map[string]string{}
	for _, name := range kernels.PTXNames() {
		hashes[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(kernels.PTX(name))))
	}
	return hashes
}
