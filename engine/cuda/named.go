package cuda

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"dyad/engine/cuda/driver"
)

// named is a GPU that runs can be planned for without having it: its data sheet.
type named struct {
	Key             string  `json:"key"`
	Name            string  `json:"name"`
	Memory          uint64  `json:"memory_bytes"`
	Major           int     `json:"major"`
	Minor           int     `json:"minor"`
	Multiprocessors int     `json:"multiprocessors"`
	Clock           float64 `json:"clock_hz"` // that it keeps under load
	Bandwidth       float64 `json:"bytes_per_second"`
	Link            float64 `json:"link_bytes_per_second"` // of copies from the host, one way
}

//go:embed gpus.json
var namedGPUs []byte

func readNamed() ([]named, error) {
	var all []named
	if err := json.Unmarshal(namedGPUs, &all); err != nil {
		return nil, fmt.Errorf("cuda: gpus.json: %w", err)
	}
	return all, nil
}

// ErrNamed says that a GPU that is only a name for plans was asked to compute.
var ErrNamed = errors.New("cuda: this GPU is a name to plan for, not one that is here; name one that is, such as cuda:0")

// OpenNamed returns the GPU with a name such as h200, for plans: whatever would compute on it
// fails with ErrNamed. An unknown name is an error that has the known ones.
func OpenNamed(key string) (*Device, error) {
	all, err := readNamed()
	if err != nil {
		return nil, err
	}
	var known []string
	for _, g := range all {
		if g.Key == key {
			return &Device{name: "cuda:" + key, info: driver.Device{Name: g.Name, TotalMemory: g.Memory, Major: g.Major, Minor: g.Minor, Multiprocessors: g.Multiprocessors}}, nil
		}
		known = append(known, "cuda:"+g.Key)
	}
	return nil, fmt.Errorf("cuda: no GPU is known by the name %q; plans take %s, or cuda:N for a GPU that is here", key, strings.Join(known, ", "))
}

// Rates of a multiprocessor of compute capability 9.0 in a clock:
// instructions of a thread, float64 operations, and operations on tensor cores or, for fp32, on
// ordinary ones.
const (
	issued      = 128
	float64s    = 64
	float32s    = 256
	sharedLanes = 32 // threads that read 4 bytes of shared memory each
	bfloat16s   = 4096
	tensor32s   = 2048
	launchTime  = 1e-4 // of the launches, copies and waits of a sum of scores
	// graphTime is that of a near-linear sum: 6 us to the thread of the GPU and back, 6 us for the
	// launch of the graph, 7 steps of 1.5 us and 3 us for the wait.
	graphTime   = 2.5e-5
	metricTime  = 2e-4 // likewise of metrics
	linkShare   = 0.8  // of the data sheet's rate of copies from page-locked memory
	memoryShare = 0.8  // of the data sheet's bandwidth that a pass over X reaches
)

// predicted are the time models of a GPU that no kernel has been measured on: counts from the
// machine code that NVIDIA's assembler makes for compute capability 9.0, over the rates of the
// data sheet, times the share of them that such kernels reach. The shares are estimates.
func (g named) predicted() []TimeModel {
	clocks := g.Clock * float64(g.Multiprocessors)
	at := func(count, rate, share float64) float64 { return count / (rate * share * clocks) }
	x := 16 / (memoryShare * g.Bandwidth)       // both passes over X, of a number
	vectors := 48 / (memoryShare * g.Bandwidth) // scores, coefficients, sums of a record
	scores := func(method string, pair float64) TimeModel {
		return TimeModel{Method: method, Fixed: launchTime, PerRecord: vectors, PerNumber: x, PerPair: pair}
	}
	metric := func(p Precision, products, rate, share float64) TimeModel {
		return TimeModel{Method: "direct, " + p.String(), Fixed: metricTime, PerNumber: at(1330, float64s, 1), PerPair: at(4*products, rate, share)}
	}
	// For 16 products, fused operations of two entries, a thread reads 8 numbers of shared memory. A
	// warp's read of 8 bytes takes 2 clocks, and 4 where two rows of 33 numbers meet in a bank: 3 on
	// average, in which 4 times as many operations of float64 could be done as there are.
	moments := scores("moments", at(3*8./16, sharedLanes, 1))
	moments.PerRecord, moments.PerNumber = 24/(memoryShare*g.Bandwidth), 8/(memoryShare*g.Bandwidth)
	// Its 182 operations of float64 a record take a sixth of the time of the loads of 20 features,
	// and other blocks, and the next row, are loaded meanwhile. Nothing but the score is stored.
	near := TimeModel{Method: "near-linear", Fixed: graphTime, PerRecord: 16 / (memoryShare * g.Bandwidth), PerNumber: x}
	all := []TimeModel{
		moments,
		near,
		// The loops of bench/results/gpu/sass.csv: one for 64 pairs; and a tile without masks
		// of 32 pairs, in which the loop of 134 runs three times and that of 169 does not.
		scores("direct, factored", at(324./64, issued, 0.75)),
		scores("direct", at((495.-169+2*134)/32, issued, 0.78)),
		metric(FP32, 1, float32s, 0.4),
		metric(BF16x3, 3, bfloat16s, 0.36),
		metric(TF32, 1, tensor32s, 0.3),
		metric(Wgmma, 3, bfloat16s, 0.45),
	}
	for i := range all {
		all[i].GPU = g.Name
	}
	return all
}
