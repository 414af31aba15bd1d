package cuda

import (
	"fmt"

	"dyad/engine"
)

// Sizes of kernels/cuda/rows.h.
const (
	tileRows = 256
	maxSpan  = 8 // tiles
	maxJobs  = 64
)

const (
	// maxChunks is the largest number of partial sums over rows.
	maxChunks = 1024
	// stagingBytes limits the size of each of two buffers in page-locked memory. A buffer is larger if a single
	// record, tile or chunk needs more.
	stagingBytes = 8 << 20
	// driverBytes is the number of bytes reserved for the driver and the programs.
	driverBytes = 512 << 20
)

// grid describes how the rows of X are cut into parts. The sums over rows follow from the size of a problem
// alone. The memory of the GPU only decides where the rows lie.
type grid struct {
	n, d     int  // rows on this GPU
	all      int  // rows of all ranks of a team, or of this process if there is no team
	first    int  // number among all rows of row 0 on this GPU
	spans    int  // spans of a partial sum of X^T c
	span     int  // tiles of a span
	logParts uint // as in the kernel weighted_sums
	resident bool // X stays on the GPU
	panel    int  // tiles per copy: whole chunks unless resident
	narrow   bool // X is in float32
}

// gridOf cuts the rows of a problem into parts. In a team, n is the largest number of rows of a rank, for this
// number of rows and for every smaller number. With c chunks of m rows, a rank has at most (c/size + 1) m rows,
// where c m < rows + m.
func gridOf(p engine.Problem, t engine.Team) grid {
	g := grid{n: p.N, all: p.N, d: p.D}
	g.spans, g.span = cut(p.N)
	for ; 2<<g.logParts <= g.span; g.logParts++ { // until the 8 warps have nearly the same amount of work
		jobs := min(p.D, maxJobs>>g.logParts) << g.logParts
		if 10*jobs >= 9*((jobs+7)/8*8) {
			break
		}
	}
	if t != nil {
		g.n = min(chunksOf(g.all, t.Size())+2*g.chunkRows(), g.all)
	}
	return g
}

// own returns g with the rows of this process. These rows are whole chunks, and there may be none.
func (g grid) own(t engine.Team) grid {
	from, to := engine.OwnShare(t, g.chunks())
	g.first = from * g.chunkRows()
	g.n = max(0, min(to*g.chunkRows(), g.all)-g.first)
	return g
}

// placed decides where the rows lie if other bytes are needed in addition to X.
func (g grid) placed(other, memory uint64) (grid, error) {
	tile := uint64(g.tileBytes())
	other += driverBytes + uint64(8*g.d*(g.chunks()+2))
	g.resident = uint64(g.tiles())*tile+other <= memory
	g.panel = min(max(1, int(stagingBytes/tile)), g.tiles())
	if !g.resident {
		chunk := g.spans * g.span
		fit := int((memory - min(memory, other)) / (2 * tile))
		g.panel = max(1, min(g.panel, fit)/chunk) * chunk
		if need := 2*uint64(g.panel)*tile + other; need > memory {
			return grid{}, fmt.Errorf("%w: %d records of %d features need at least %.1f GiB, but the GPU has only %.1f",
				engine.ErrUnsupported, g.n, g.d, gib(need), gib(memory))
		}
	}
	return g, nil
}

// cut returns the number of spans of a partial sum over n rows and the number of tiles of a span. The partial
// sums are as short as possible with at most maxChunks of them, so that even few rows keep many blocks busy. A
// sum must not depend on the GPU, so the result depends only on n.
func cut(n int) (spans, span int) {
	tiles := max(1, chunksOf(n, tileRows*maxChunks))
	for span = 1; span < min(tiles, maxSpan); span *= 2 {
	}
	return chunksOf(tiles, span), span
}

// bytes returns the GPU memory of a problem that needs other bytes in addition to X.
func (g grid) bytes(other uint64) uint64 {
	tiles := 2 * g.panel
	if g.resident {
		tiles = g.tiles()
	}
	return uint64(tiles)*uint64(g.tileBytes()) + other + driverBytes + uint64(8*g.d*(g.chunks()+2))
}

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }

func (g grid) tiles() int     { return (g.n + tileRows - 1) / tileRows }
func (g grid) tileBytes() int { return g.number() * tileRows * g.d }
func (g grid) number() int {
	if g.narrow {
		return 4
	}
	return 8
}
func (g grid) chunkRows() int { return g.spans * g.span * tileRows }
func (g grid) chunks() int    { return chunksOf(g.all, g.chunkRows()) }

// columns returns the number of columns of a block of weighted_sums.
func (g grid) columns() int { return maxJobs >> g.logParts }

// depth returns the depth of the sum X^T c, which the kernels weighted_sums and combine compute.
func (g grid) depth() int {
	parts := 1 << g.logParts
	return 8*g.span/parts + g.spans + 32*parts + combineDepth(g.chunks())
}

// combineDepth returns the depth of the kernel combine for count partial sums.
func combineDepth(count int) int { return (count+31)/32 + 6 }

func chunksOf(n, chunk int) int { return (n + chunk - 1) / chunk }

// blocksFor returns the number of blocks that have together a thread for each of n records.
func blocksFor(n int) int { return chunksOf(n, blockThreads) }

// blockThreads is the number of threads per block. All kernels use the same number.
const blockThreads = 256
