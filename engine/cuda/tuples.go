package cuda

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/engine/embedding"
	"dyad/kernels"
)

// Sizes of kernels/cuda/tuples.cu, and limits.
const (
	tupleLanes = 8
	// tupleRoom is approximately the largest number of records of a launch. tupleChunk is the smallest number of tuples
	// of a block.
	tupleRoom, tupleChunk = 1 << 16, 64
)

var _ embedding.TermAccelerator = Backend{}

// tupleRows sums gradients of a network on a GPU: gradients of tuples, each clipped as a whole, or gradients of single
// records without clipping (docs/theory.md#networks-on-a-gpu).
type tupleRows struct {
	*networkRows
	size, room, total int       // records of a tuple, largest number of tuples of a launch, records of the data
	theirs            []float64 // 1 + ||x||^2 of all records
	tuples, begun     int       // numbers of tuples in the last Embed and in all Embeds since Begin
	limit             float64   // the clipping norm, reduced by a factor of 1 - 2^-30
	products          *module

	all, list, part, scale driver.Pointer
}

// BindTerms implements embedding.TermAccelerator.
func (b Backend) BindTerms(p embedding.TermsProblem) (embedding.TermRows, error) {
	e, err := b.planTerms(p)
	if err != nil {
		return nil, orCPU(err)
	}
	return e, e.fill(b.Device, func(c *job) { e.load(c, p.X) })
}

func (b Backend) planTerms(p embedding.TermsProblem) (*tupleRows, error) {
	d, _ := p.Network.Dims()
	total := len(p.X) / d
	if p.Size < 1 || p.Size > total {
		return nil, fmt.Errorf("cuda: tuples of %d of %d records", p.Size, total)
	}
	room, least := min(total, max(tupleRoom, p.Size))/p.Size, 1
	if p.Size == 1 { // embedding.SinglesError
		room, least = roundUp(room, networkChunk), networkChunk
	}
	for ; ; room = max(room/2, least) {
		k, err := b.planNetwork(embedding.RowsProblem{Network: p.Network, Norm: p.Norm, Rows: room * p.Size, Most: 1})
		if err == nil {
			e := &tupleRows{networkRows: &networkRows{networkKernel: k, n: k.stride()}, size: p.Size, room: room, total: total,
				theirs: make([]float64, total)}
			need, have := bytesOf(append(k.blocks(&networkBuffers{}), e.more()...)), b.memory()
			if need <= have {
				return e, nil
			}
			err = fmt.Errorf("%w: %d records (tuples of %d, network %s) need %.1f GiB, but %s has %.1f GiB",
				engine.ErrUnsupported, total, p.Size, k.name, gib(need), b.Name(), gib(have))
		}
		if room == least {
			return nil, err
		}
	}
}

// parts returns the number of partial sums of the squares of a tuple.
func (e *tupleRows) parts() (sum int) {
	for _, l := range e.layers {
		sum += tupleLanes * tilesOf(l)
	}
	return sum
}

// more returns the memory blocks that are needed in addition to the blocks of the network.
func (e *tupleRows) more() []block {
	all := []block{{&e.all, 4 * (e.in + 1) * e.total}, {&e.list, 4 * e.room * e.size}}
	if e.size > 1 {
		all = append(all, block{&e.part, 8 * e.parts() * e.room}, block{&e.scale, 8 * e.room})
	}
	return all
}

func (e *tupleRows) load(c *job, x []float64) {
	e.products = e.device.load(c, kernels.PTX("tuples"))
	e.host = make([]float64, e.stride()*e.out)
	e.start(c, append(e.blocks(&e.networkBuffers), e.more()...))
	e.upload(c, e.all, e.total, e.theirs, func(i int, row []float64) { copy(row, x[i*e.in:]) })
	putOnes(c, e.all, e.in, e.total, e.total)
}

// Room implements embedding.TermRows.
func (e *tupleRows) Room() int { return e.room }

// Begin implements embedding.TermRows. It returns an error if clip is not between 2^-150 and 2^150.
func (e *tupleRows) Begin(ctx context.Context, theta []float64, clip float64) error {
	if err := e.open("tuples"); err != nil {
		return err
	}
	if !(clip >= smallestClip && clip <= 1/smallestClip) {
		return fmt.Errorf("cuda: the clip of tuples is %v, but it must be %g to %g", clip, float64(smallestClip),
			1/float64(smallestClip))
	}
	most := 1.01 * clip
	if e.size > 1 {
		most = clip * float64(e.total/e.size)
	}
	_, exponent := math.Frexp(most) // at most 2^exponent
	e.limit, e.unit, e.tuples, e.begun = clip*(1-0x1p-30), math.Ldexp(1, exponent-62), 0, 0
	return e.device.do(ctx, func(c *job) {
		e.setWeights(c, theta)
		e.clearSums(c)
	})
}

// Embed implements embedding.TermRows. It returns an error if the number of tuples since Begin exceeds the number of
// disjoint tuples that the data can have.
func (e *tupleRows) Embed(ctx context.Context, g, norms []float64, members []int32) error {
	if err := e.open("tuples"); err != nil {
		return err
	}
	if e.tuples = len(members) / e.size; e.tuples*e.size != len(members) || e.tuples < 1 || e.tuples > e.room {
		return fmt.Errorf("cuda: %d records in tuples of %d, want 1 to %d complete tuples",
			len(members), e.size, e.room)
	}
	if e.begun += e.tuples; e.size > 1 && e.begun > e.total/e.size {
		return fmt.Errorf("cuda: a sum of %d tuples of %d, and %d records have %d disjoint ones", e.begun, e.size, e.total,
			e.total/e.size)
	}
	own := make([]float64, e.stride())
	for i, at := range members {
		own[i] = e.theirs[at] // panics if a member is outside the data, as on the CPU
	}
	stride := e.stride()
	return e.device.do(ctx, func(c *job) {
		c.copyWords(e.list, members)
		c.copyIn(e.own, own)
		c.launch(e.products, "tuple_gather", stride/blockThreads, e.in+1, uint64(e.x), uint64(e.all), uint64(e.list),
			uint64(len(members)), uint64(e.total), uint64(stride))
		e.compute(ctx, c, g, norms[:len(members)])
	})
}

// chunkOf returns the number of tuples of a block. The number is small enough to give all multiprocessors work,
// but at least tupleChunk.
func (e *tupleRows) chunkOf(tiles int) int {
	blocks := max(8*e.backend.Device.Info().Multiprocessors/tiles, 1)
	return max(chunksOf(e.tuples, blocks), tupleChunk)
}

// Add implements embedding.TermRows.
//
// The kernels compute the gradient G_t of tuple t in two passes. Both passes use the same operations on the columns of
// this tuple alone. The first pass gives a norm N >= ||G_t||, which determines a scale. The second pass multiplies G_t
// by the scale, divides it by the unit, and truncates its entries to integers. For single records, J_i^T v_i is summed
// in the same way as in networkRows.
func (e *tupleRows) Add(ctx context.Context, v []float64) error {
	if err := e.open("tuples"); err != nil {
		return err
	}
	var steps []step
	if e.size > 1 {
		steps = e.clipped()
	} else {
		steps = e.backward(e.gram)
	}
	return e.device.do(ctx, func(c *job) {
		e.setV(c, v[:e.tuples*e.size*e.out])
		e.launchAll(ctx, c, steps)
	})
}

// clipped returns the steps of the two passes of Add.
func (e *tupleRows) clipped() []step {
	stride, at := uint64(e.stride()), e.part
	pass := func(kernel string, layer embedding.Layer, first []uint64, left, in driver.Pointer) step {
		chunk := e.chunkOf(tilesOf(layer))
		return step{e.products, kernel, tilesOf(layer), chunksOf(e.tuples, chunk),
			append(first, uint64(left), uint64(in), uint64(layer.Rows), uint64(layer.Cols),
				uint64(e.size), uint64(e.tuples), uint64(chunk), stride)}
	}
	steps := e.backward(func(l int, left, in driver.Pointer) step {
		to := at
		at += driver.Pointer(8 * tupleLanes * tilesOf(e.layers[l]) * e.tuples)
		return pass("tuple_squares", e.layers[l], []uint64{uint64(to)}, left, in)
	})
	steps = append(steps, step{e.products, "tuple_clip", blocksFor(e.tuples), 1,
		[]uint64{uint64(e.scale), uint64(e.part), uint64(e.parts()), uint64(e.tuples),
			math.Float64bits(e.limit), math.Float64bits(1 / e.unit)}})
	return append(steps, e.backward(func(l int, left, in driver.Pointer) step {
		return pass("tuple_sums", e.layers[l], []uint64{uint64(e.sums[l]), uint64(e.scale)}, left, in)
	})...)
}

// Sum implements embedding.TermRows.
func (e *tupleRows) Sum(ctx context.Context, dst []float64) error {
	if err := e.open("tuples"); err != nil {
		return err
	}
	return e.device.do(ctx, func(c *job) { e.readSums(c, dst) })
}
