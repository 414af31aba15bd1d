package cuda

import (
	"dyad/engine"
)

// networkWork are fused operations in float32 and in float64, and bytes read and written, of a record, besides a copy to the host and back of
// what it has for every output.
type networkWork struct{ single, double, bytes, copied float64 }

// work is that of an Embed and a Pull.
func (n dense) work() (w networkWork) {
	in, out := float64(n.in+1), float64(n.out)
	for l, units := range n.units() {
		u := float64(units)
		w.single += in * u
		w.double += in * u
		if l > 0 { // what comes back of every output, its norm, and its sum over outputs
			w.single += out * (in - 1) * u
			w.double += 2*out*(in-1) + in
			w.bytes += 4*out*(3*u+4*in) + 12*in
		}
		tiles := float64(chunksOf(units, networkSide))
		w.bytes += 4*in*2*tiles + 4*(4*u) + 8*2*u
		in = u + 1
	}
	w.double += 4 * (in - 1) * out
	w.bytes += 4*in*out + 24*out
	w.copied = 16*out + 8
	return w
}

// tupleWork is that of a record in tuples of size: two passes over the entries of the gradient in place of one, and after each tuple a square of
// every entry, a product, a conversion at a quarter of the rate of float64, and an addition of 64 bits; columns in sectors of 32 bytes are gathered.
func (n dense) tupleWork(size float64) networkWork {
	w := n.work()
	for _, l := range n.layers {
		rows, cols := float64(l.Rows), float64(l.Cols)
		w.double += rows * cols * (1 + 8/size)
		w.bytes += 4*cols*float64(chunksOf(l.Rows, networkSide)) + 8*rows*float64(chunksOf(l.Cols, networkSide)) + 16*tupleLanes*float64(tilesOf(l))/size
	}
	w.bytes += 36 * float64(n.in+1)
	return w
}

// networkMethod is the method of the predicted times of networks: PerRecord is the time of a fused operation in float32, PerPair in float64, and
// PerNumber of a byte that is read or written.
const networkMethod = "networks"

// seconds is the time of the work of rows records on a GPU with a data sheet, 0 on others. faster is how much faster than the kernels
// operations in float32 are.
func (w networkWork) seconds(gpu string, rows, faster float64) float64 {
	gpus, err := readNamed()
	if err != nil {
		return 0
	}
	for _, g := range gpus {
		if m, ok := g.predicted(networkMethod); ok && g.Name == gpu {
			return m.Fixed + rows*(w.single*m.PerRecord/faster+w.double*m.PerPair+w.bytes*m.PerNumber+w.copied/(linkShare*g.Link))
		}
	}
	return 0
}

// forecast is the forecast for the kernel of a loss with this network: sums over pairs are the CPU's.
func (k *networkKernel) forecast(whole engine.Kernel) Forecast {
	b, p := k.backend, whole.Problem()
	f := Forecast{Device: b.Name(), GPU: b.Device.Info().Name, Memory: k.bytes(), Have: b.memory()}
	if k.Seconds() > 0 {
		f.Seconds = whole.Bounds(engine.Query{Pairs: engine.AllPairs{N: p.N}}).Seconds
	}
	return f
}
