package cuda

import (
	"context"
	"math"

	"dyad/engine/cuda/driver"
	"dyad/engine/embedding"
)

// step is a kernel to launch.
type step struct {
	of     *module
	kernel string
	x, y   int
	args   []uint64
}

// launchAll runs steps one after the other, until the context is done.
func (e *networkRows) launchAll(ctx context.Context, c *job, steps []step) {
	inTurn(ctx, c, steps, func(s step) { c.launch(s.of, s.kernel, s.x, s.y, s.args...) })
}

// Embed implements embedding.Rows.
func (e *networkRows) Embed(ctx context.Context, g, norms, theta []float64) error {
	if err := e.open("Embed"); err != nil {
		return err
	}
	return e.device.do(ctx, func(c *job) {
		e.setWeights(c, theta)
		e.compute(ctx, c, g, norms)
	})
}

// compute sets g and norms for the first len(norms) records.
func (e *networkRows) compute(ctx context.Context, c *job, g, norms []float64) {
	e.launchAll(ctx, c, e.forward())
	stride, n, m := e.stride(), len(norms), e.out
	for r := range m {
		c.copyOut(e.host[r*stride:][:n], e.g+driver.Pointer(8*r*stride))
	}
	if c.copyOut(norms, e.square); c.err != nil {
		return
	}
	for i, s := range norms {
		norms[i] = math.Sqrt(s) * networkRoundings
		for r := range m {
			g[i*m+r] = e.host[r*stride+i]
		}
	}
}

// networkRoundings is a factor that covers the relative errors of sums of fewer than 2^30 squares in float64, as on the
// CPU.
const networkRoundings = 1 + 0x1p-20

// setWeights copies theta in float32, in the layouts of the kernels.
func (e *networkRows) setWeights(c *job, theta []float64) {
	for l, layer := range e.layers {
		w, cols := theta[:layer.Len()], layer.Cols
		theta = theta[layer.Len():]
		if !layer.Bias {
			e.setLast(c, w, cols)
			return
		}
		width := roundUp(layer.Rows, networkSide)
		turned := make([]float32, roundUp(cols, networkDepth)*width)
		for k := range layer.Rows {
			for j, v := range w[k*cols:][:cols] {
				turned[j*width+k] = float32(v)
			}
		}
		c.copyWords(e.hidden[l].in, turned)
		if l == 0 {
			continue
		}
		in := cols - 1
		width = roundUp(in, networkSide)
		across := make([]float32, roundUp(layer.Rows, networkDepth)*width)
		for k := range layer.Rows {
			for j, v := range w[k*cols:][:in] {
				across[k*width+j] = float32(v)
			}
		}
		c.copyWords(e.hidden[l].across, across)
	}
}

// setLast copies the weights of the last layer and the squared norms of its columns.
func (e *networkRows) setLast(c *job, w []float64, cols int) {
	last, columns := make([]float32, len(w)), make([]float64, cols)
	for i, v := range w {
		last[i] = float32(v)
		columns[i%cols] += float64(last[i]) * float64(last[i])
	}
	c.copyWords(e.w, last)
	c.copyIn(e.columns, columns)
}

// forward returns the steps that compute g and the squared norms of Jacobians.
func (e *networkRows) forward() (steps []step) {
	stride := e.stride()
	wide := uint64(stride)
	layer := func(out, slope, in, w driver.Pointer, depth, units, kind int) {
		width := roundUp(units, networkSide)
		steps = append(steps, step{e.module, "network_layer", stride / networkSide, width / networkSide,
			[]uint64{uint64(out), uint64(slope), uint64(in), uint64(w), uint64(depth), uint64(units), uint64(width), wide,
				uint64(kind)}})
	}
	in, depth, last := e.x, e.in, len(e.kinds)-1
	var slope, before driver.Pointer
	beforeUnits := 0
	for l, units := range e.units() {
		h := e.hidden[l]
		layer(h.h, h.slope, in, h.in, depth+1, units, e.kinds[l])
		if slope = h.slope; l > 0 {
			before, beforeUnits = in, depth
		}
		in, depth = h.h, units
	}
	steps = append(steps, step{e.module, "network_output", stride / blockThreads, 1,
		[]uint64{uint64(e.g), uint64(e.square), uint64(in), uint64(slope), uint64(before), uint64(e.own),
			uint64(e.w), uint64(e.columns), uint64(e.out), uint64(depth), uint64(beforeUnits), wide}})
	for r := 0; r < e.out && last > 0; r++ {
		units := e.layers[last].Rows
		steps = append(steps, step{e.module, "network_turn", stride / blockThreads, units,
			[]uint64{uint64(e.turned), uint64(e.hidden[last].slope), uint64(e.w) + uint64(4*r*units), wide}})
		comes := e.turned
		for l := last; l > 0; l-- {
			from, to := e.layers[l].Rows, e.layers[l-1].Rows
			back := e.hidden[l-1].back + driver.Pointer(4*r*to*stride)
			layer(back, e.hidden[l-1].slope, comes, e.hidden[l].across, from, to, networkBack)
			comes = back
		}
	}
	for l := range max(last, 0) {
		norm := []uint64{uint64(e.square), uint64(e.hidden[l].back), 0, uint64(e.own),
			uint64(e.out * e.layers[l].Rows), 0, wide}
		if l > 0 {
			norm[2], norm[5] = uint64(e.hidden[l-1].h), uint64(e.layers[l-1].Rows)
		}
		steps = append(steps, step{e.module, "network_norm", stride / blockThreads, 1, norm})
	}
	return steps
}

// Pull implements embedding.Rows.
func (e *networkRows) Pull(ctx context.Context, grad, v []float64) error {
	if err := e.open("Pull"); err != nil {
		return err
	}
	return e.device.do(ctx, func(c *job) {
		e.setV(c, v)
		e.clearSums(c)
		e.launchAll(ctx, c, e.backward(e.gram))
		e.readSums(c, grad)
	})
}

// setV copies the rows of v to the GPU, and zeros for records without a row of v.
func (e *networkRows) setV(c *job, v []float64) {
	stride, m := e.stride(), e.out
	clear(e.host)
	for i := range len(v) / m {
		for r := range m {
			e.host[r*stride+i] = v[i*m+r]
		}
	}
	c.copyIn(e.v, e.host)
}

func (e *networkRows) clearSums(c *job) {
	for l, layer := range e.layers {
		c.clear(e.sums[l], 8*layer.Len())
	}
}

// readSums sets grad to the sums.
func (e *networkRows) readSums(c *job, grad []float64) {
	for l, layer := range e.layers {
		integers := make([]int64, layer.Len())
		if c.copyBack(integers, e.sums[l]); c.err != nil {
			return
		}
		for k, s := range integers {
			grad[k] = float64(s) * e.unit
		}
		grad = grad[layer.Len():]
	}
}

// gram returns the step that sums products of columns of a layer over records.
func (e *networkRows) gram(l int, left, in driver.Pointer) step {
	stride, chunk, layer := e.stride(), e.chunk(), e.layers[l]
	return step{e.module, "network_gram", tilesOf(layer), chunksOf(stride, chunk),
		[]uint64{uint64(e.sums[l]), uint64(left), uint64(in), uint64(layer.Rows), uint64(layer.Cols),
			uint64(stride), uint64(chunk), math.Float64bits(1 / e.unit)}}
}

// tilesOf returns the number of tiles of a layer.
func tilesOf(l embedding.Layer) int {
	return chunksOf(l.Rows, networkSide) * chunksOf(l.Cols, networkSide)
}

// backward returns the steps that compute the sums of layers from v, beginning with the last layer. product returns the
// step that processes the columns of a layer.
func (e *networkRows) backward(product func(l int, left, in driver.Pointer) step) (steps []step) {
	stride := e.stride()
	wide, m := uint64(stride), uint64(e.out)
	for l := len(e.layers) - 1; l >= 0; l-- {
		left, in, layer := e.left, e.x, e.layers[l]
		if l > 0 {
			in = e.hidden[l-1].h
		}
		switch last := len(e.layers) - 1; {
		case l == last:
			left = e.v
		case l == last-1:
			steps = append(steps, step{e.module, "network_weigh", stride / blockThreads, layer.Rows,
				[]uint64{uint64(left), uint64(e.v), uint64(e.w), uint64(e.hidden[l].slope), m, uint64(layer.Rows), wide}})
		default:
			steps = append(steps, step{e.module, "network_collect", stride / blockThreads, layer.Rows,
				[]uint64{uint64(left), uint64(e.v), uint64(e.hidden[l].back), m, uint64(layer.Rows), wide}})
		}
		steps = append(steps, product(l, left, in))
	}
	return steps
}
