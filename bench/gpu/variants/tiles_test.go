package variants

import (
	"os"
	"strconv"
	"testing"

	"dyad/engine/cuda/ptxtest"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// ptx is a program of this folder with the logistic loss.
func ptx(t *testing.T, name string) string {
	t.Helper()
	return ptxtest.WithLogistic(string(must.Get(os.ReadFile(name + ".ptx"))(t)))
}

func wgmmaTiles(t *testing.T, features int) *ptxtest.Tiles {
	t.Helper()
	return &ptxtest.Tiles{Name: "metric_tiles_wgmma_" + strconv.Itoa(features), PTX: ptx(t, "metric_wgmma_sm90a"), Extension: &asynchronous{},
		Operand: "wgmma", Rows: 128, Feature: features, Align: 256, Most: 64, Grid: 0x1p-17, Tolerance: 1e-4,
		Products: 64*3/512.0 + 64*3/256.0 + 2, Others: 32} // 64 64 16 products, and 64 32 16 for the second half of them, in 128 lanes
}

// allTiles are the tiles of this folder, or those of wgmma at 64 features alone if tests are short.
func allTiles(t *testing.T) []*ptxtest.Tiles {
	t.Helper()
	if testing.Short() {
		return []*ptxtest.Tiles{wgmmaTiles(t, 64)}
	}
	tf32 := ptxtest.Tiles{Name: "metric_tiles_tf32_64", PTX: ptx(t, "metric_tf32"), Extension: &asynchronous{}, Operand: "tf32", Rows: 256, Feature: 64, Align: 256,
		Most: 128, Grid: 0x1p-22, Tolerance: 2e-3, Products: 2*64/32.0 + 2, Others: 31} // 16 8 8 products in 32 lanes
	wide, wgmma := tf32, wgmmaTiles(t, 128)
	wide.Name, wide.Rows, wide.Feature = "metric_tiles_tf32_128", 128, 128
	wgmma.Most = 0 // one has the most features to do with
	return []*ptxtest.Tiles{wgmmaTiles(t, 64), wgmma, &tf32, &wide}
}

// wgmmaAlone returns the tiles that are cut in another way than the tiles of bf16x3, and with DYAD_FULL=1 all tiles. The
// tiles of tf32 have the cuts of bf16x3 and differ only in their products.
func wgmmaAlone(t *testing.T) []*ptxtest.Tiles {
	t.Helper()
	all := allTiles(t)
	if sizes.Full() {
		return all
	}
	return all[:min(2, len(all))]
}

func TestTilesOfVariants(t *testing.T) { ptxtest.CheckSums(t, allTiles(t)) }

func TestCoefficientsOfVariantsAreOwnOnly(t *testing.T) { ptxtest.CheckOwnOnly(t, wgmmaAlone(t)) }

func TestRecordChangesItsPartialsOfVariantsOnly(t *testing.T) {
	ptxtest.CheckPartials(t, wgmmaAlone(t))
}

func TestCountsOfVariants(t *testing.T) { ptxtest.CheckCounts(t, wgmmaAlone(t)) }
