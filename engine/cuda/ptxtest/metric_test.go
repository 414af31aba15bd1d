package ptxtest

import (
	"math/rand/v2"
	"testing"

	"dyad/kernels"
)

func fp32Tiles() *Tiles {
	return &Tiles{Name: "metric_tiles_fp32", PTX: WithLogistic(kernels.PTX("metric_fp32")), Rows: 64, Feature: 64, Align: 64, Grid: 0x1p-22,
		Most: 128, Tolerance: 1e-6, Products: 2*64 + 2, Others: 114}
}

func metricTiles() []*Tiles {
	bf16x3 := Tiles{Name: "metric_tiles_bf16x3_64", PTX: WithLogistic(kernels.PTX("metric_mma")), Operand: "bf16x3", Rows: 256, Feature: 64, Align: 256,
		Most: 128, Grid: 0x1p-17, Tolerance: 1e-4, Products: 2*64*3/64.0 + 2, Others: 31} // mma.sync does 16 8 16 products in 32 lanes
	wide := bf16x3
	wide.Name, wide.Rows, wide.Feature, wide.Most = "metric_tiles_bf16x3_128", 128, 128, 0 // one has the most features to do with
	if testing.Short() {
		return []*Tiles{fp32Tiles(), &bf16x3}
	}
	return []*Tiles{fp32Tiles(), &bf16x3, &wide}
}

func TestMetricTiles(t *testing.T) { CheckSums(t, metricTiles()) }

func TestMetricCoefficientsAreOwnOnly(t *testing.T) { CheckOwnOnly(t, metricTiles()) }

func TestMetricRecordChangesItsPartialsOnly(t *testing.T) { CheckPartials(t, metricTiles()) }

func TestMetricCounts(t *testing.T) { CheckCounts(t, metricTiles()) }

// TestBrokenMetricPTX is the control of these tests: defects put into the PTX are found.
func TestBrokenMetricPTX(t *testing.T) {
	m := NewRecords(rand.New(rand.NewPCG(9, 10)), 67, 3)
	f := fp32Tiles()
	z, sums := f.Sums(t, m, 2, 0)
	Broken(t, f.PTX, nil, f.Same(m, 2, z, sums),
		[3]string{"no barrier", "bar.sync \t0;", ""},
		[3]string{"not clamped above the diagonal", "selp.f32", "add.rn.f32"},
		[3]string{"three", "0f40400000", "0f40400001"},
		[3]string{"no reduction", "red.global.add.u64 ", "//"})
}
