package cuda

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// Timing compares a GPU and the CPU, by its best method, on one gradient sum of a
// logistic score loss over all pairs.
type Timing struct {
	GPU        string  `json:"gpu"` // name of the product
	N          int     `json:"n"`
	D          int     `json:"d"`
	Labels     int     `json:"labels"` // different values
	CPUSeconds float64 `json:"cpu_seconds"`
	GPUSeconds float64 `json:"gpu_seconds"`
}

// MetricTiming compares, on one gradient sum of a Mahalanobis loss over all pairs, the
// precisions BF16x3 and Wgmma of a GPU.
type MetricTiming struct {
	GPU             string  `json:"gpu"` // name of the product
	N               int     `json:"n"`
	D               int     `json:"d"`
	PortableSeconds float64 `json:"portable_seconds"` // of BF16x3
	WgmmaSeconds    float64 `json:"wgmma_seconds"`
}

// Timings are measurements and the PTX that was measured.
type Timings struct {
	PTX     map[string]string `json:"ptx_sha256"` // by name
	Timings []Timing          `json:"timings"`
	Metric  []MetricTiming    `json:"metric"`
}

//go:embed auto.json
var measuredTimings []byte

// Measured returns the timings in this version, made from the files of bench/gpu. There
// are none until a GPU has been measured, and those of other PTX than the embedded do not
// count: then every choice is the CPU.
func Measured() (Timings, error) { return readTimings(measuredTimings, embeddedPTX()) }

func readTimings(text []byte, embedded map[string]string) (Timings, error) {
	var t Timings
	if err := json.Unmarshal(text, &t); err != nil {
		return Timings{}, fmt.Errorf("cuda: auto.json: %w", err)
	}
	if !maps.Equal(t.PTX, embedded) {
		return Timings{}, nil
	}
	return t, nil
}

// embeddedPTX are the hashes of the embedded programs.
func embeddedPTX() map[string]string {
	hashes := map[string]string{}
	for _, name := range kernels.PTXNames() {
		hashes[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(kernels.PTX(name))))
	}
	return hashes
}

// Nearest is the timing of a GPU for the problem's number of label values, two or more,
// whose n and d are nearest in ratio; false if there is none. It is a function of public
// numbers.
func (t Timings) Nearest(gpu string, p engine.Problem) (Timing, bool) {
	var best Timing
	least := math.Inf(1)
	for _, m := range t.Timings {
		if m.GPU != gpu || (m.Labels <= 2) != (p.LabelLimit() <= 2) || !(m.CPUSeconds > 0 && m.GPUSeconds > 0) {
			continue
		}
		if away := distance(m.N, m.D, p); away < least {
			best, least = m, away
		}
	}
	return best, !math.IsInf(least, 0)
}

// NearestMetric is the timing of a GPU whose n and d are nearest in ratio to the problem's;
// false if there is none.
func (t Timings) NearestMetric(gpu string, p engine.Problem) (MetricTiming, bool) {
	var best MetricTiming
	least := math.Inf(1)
	for _, m := range t.Metric {
		if m.GPU != gpu || !(m.PortableSeconds > 0 && m.WgmmaSeconds > 0) {
			continue
		}
		if away := distance(m.N, m.D, p); away < least {
			best, least = m, away
		}
	}
	return best, !math.IsInf(least, 0)
}

// distance is that of n and d from the problem's, in ratio.
func distance(n, d int, p engine.Problem) float64 {
	return math.Hypot(math.Log(float64(n)/float64(p.N)), math.Log(float64(d)/float64(p.D)))
}

// Auto is the backend that plans a problem on the GPU where the nearest timing says that
// it is faster, and on the CPU otherwise. Its choice is a function of public numbers and
// of the machine.
type Auto struct {
	CPU     engine.Backend
	GPU     Backend
	Timings Timings
}

var _ engine.MomentsBackend = Auto{}

// Name returns "auto".
func (Auto) Name() string { return "auto" }

// Plan implements engine.Backend.
func (a Auto) Plan(p engine.Problem) (engine.Kernel, error) {
	k, _, _, err := a.Choose(p)
	return k, err
}

// PlanMoments implements engine.MomentsBackend on the CPU: this version sums no moments on a
// GPU.
func (a Auto) PlanMoments(p engine.Problem) (engine.MomentsKernel, error) {
	if b, ok := a.CPU.(engine.MomentsBackend); ok {
		return b.PlanMoments(p)
	}
	return nil, fmt.Errorf("%w: moments on %s", engine.ErrUnsupported, a.CPU.Name())
}

// Choose plans a problem and says on which device and why.
func (a Auto) Choose(p engine.Problem) (k engine.Kernel, device, why string, err error) {
	gpu, why := a.faster(p)
	if gpu {
		if k, err = a.GPU.plan(p); !errors.Is(err, engine.ErrUnsupported) {
			return k, a.GPU.Name(), why, err
		}
		why = err.Error()
	}
	k, err = engine.Grouped{Backend: a.CPU}.Plan(p)
	return k, a.CPU.Name(), why, err
}

// faster says that the timings favour the GPU, and why.
func (a Auto) faster(p engine.Problem) (gpu bool, why string) {
	name := a.GPU.Device.Info().Name
	if _, ok := p.Loss.(engine.Logistic); !ok || len(p.Groups) > 0 {
		return false, name + " has timings for the logistic loss over pairs of all records only"
	}
	m, ok := a.Timings.Nearest(name, p)
	if !ok {
		return false, name + " has no timing in this version"
	}
	return m.GPUSeconds < m.CPUSeconds, fmt.Sprintf("at n = %d and d = %d, the nearest measured, %s takes %.3g s and the CPU %.3g s", m.N, m.D, name, m.GPUSeconds, m.CPUSeconds)
}
