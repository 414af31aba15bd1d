package gpu

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"dyad/engine/cuda"
	"dyad/internal/must"
)

// sheet is what predictions need of a data sheet in engine/cuda/gpus.json.
type sheet struct {
	Name            string  `json:"name"`
	Multiprocessors int     `json:"multiprocessors"`
	Clock           float64 `json:"clock_hz"` // that it keeps under load
	Bandwidth       float64 `json:"bytes_per_second"`
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
	launchTime  = 1e-4 // of the launches, copies and waits of a sum of scores
	// graphTime is the time of a near-linear sum: 6 us to the thread of the GPU and back, 6 us for
	// the launch of the graph, 7 steps of 1.5 us and 3 us for the wait.
	graphTime   = 2.5e-5
	metricTime  = 2e-4 // likewise of metrics
	memoryShare = 0.8  // of the data sheet's bandwidth that a pass over X reaches
)

// predicted are the time models of a GPU that no kernel has been measured on: counts from the
// machine code that NVIDIA's assembler makes for compute capability 9.0, over the rates of the
// data sheet, times the share of them that such kernels reach. The shares are estimates.
func (g sheet) predicted() cuda.Models {
	clocks := g.Clock * float64(g.Multiprocessors)
	at := func(count, rate, share float64) float64 { return count / (rate * share * clocks) }
	x := 16 / (memoryShare * g.Bandwidth)       // both passes over X, of a number
	vectors := 48 / (memoryShare * g.Bandwidth) // scores, coefficients, sums of a record
	scores := func(method string, pair float64) cuda.TimeModel {
		return cuda.TimeModel{Method: method, Fixed: launchTime, PerRecord: vectors, PerNumber: x, PerPair: pair}
	}
	metric := func(p cuda.Precision, products, rate, share float64) cuda.TimeModel {
		return cuda.TimeModel{Method: "direct, " + p.String(), Fixed: metricTime, PerNumber: at(1330, float64s, 1), PerPair: at(4*products, rate, share)}
	}
	// For 16 products, fused operations of two entries, a thread reads 8 numbers of shared memory. A
	// warp's read of 8 bytes takes 2 clocks, and 4 where two rows of 33 numbers meet in a bank: 3 on
	// average, in which 4 times as many operations of float64 could be done as there are.
	moments := scores("moments", at(3*8./16, sharedLanes, 1))
	moments.PerRecord, moments.PerNumber = 24/(memoryShare*g.Bandwidth), 8/(memoryShare*g.Bandwidth)
	// Its 182 operations of float64 a record take a sixth of the time of the loads of 20 features,
	// and other blocks, and the next row, are loaded meanwhile. Nothing but the score is stored.
	near := cuda.TimeModel{Method: "near-linear", Fixed: graphTime, PerRecord: 16 / (memoryShare * g.Bandwidth), PerNumber: x}
	all := cuda.Models{
		moments,
		near,
		// The loops of bench/results/gpu/sass.csv: one for 64 pairs; and a tile without masks
		// of 32 pairs, in which the loop of 134 runs three times and that of 169 does not.
		scores("direct, factored", at(324./64, issued, 0.75)),
		scores("direct", at((495.-169+2*134)/32, issued, 0.78)),
		metric(cuda.FP32, 1, float32s, 0.4),
		metric(cuda.BF16x3, 3, bfloat16s, 0.36),
		// Of operations and bytes of kernels/cuda/network.cu. For 16 fused operations of float64 a warp waits for 8 reads of shared memory of 8
		// bytes, two clocks each, twice the time of the operations.
		{Method: "networks", Fixed: metricTime, PerRecord: at(2, float32s, 0.4), PerPair: at(1, float64s, 0.5*0.8), PerNumber: 1 / (memoryShare * g.Bandwidth)},
	}
	for i := range all {
		all[i].GPU = g.Name
	}
	return all
}

// TestPredictedTimes: engine/cuda/predicted.json has the predictions for the data sheets. DYAD_PREDICTED_OUT names the file to write it to.
func TestPredictedTimes(t *testing.T) {
	text := must.Get(os.ReadFile("../../engine/cuda/gpus.json"))(t)
	var sheets []sheet
	must.Do(t, json.Unmarshal(text, &sheets))
	var all cuda.Models
	for _, g := range sheets {
		all = append(all, g.predicted()...)
	}
	want := must.Get(json.MarshalIndent(all, "", "\t"))(t)
	want = append(want, '\n')
	if out := os.Getenv("DYAD_PREDICTED_OUT"); out != "" {
		must.Do(t, os.WriteFile(out, want, 0o644))
		return
	}
	if got, err := os.ReadFile("../../engine/cuda/predicted.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("engine/cuda/predicted.json is not what the models predict: run this with DYAD_PREDICTED_OUT (%v)", err)
	}
}
