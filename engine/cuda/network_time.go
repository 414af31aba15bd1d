package cuda

import (
	"dyad/engine"
	"dyad/engine/embedding"
)

// Shares of the rates of a multiprocessor that kernels/cuda/network.cu reaches: estimates. For 16 fused operations of
// float64 a warp waits for 8 reads of shared memory of 8 bytes, two clocks each, twice the time of the operations.
const (
	networkFloat32 = 0.4
	networkFloat64 = 0.5 * 0.8
)

// networkWork are the fused operations in float32 and in float64, and the bytes read and written, of a record.
func networkWork(net embedding.MLP) (single, double, bytes float64) {
	in := float64(net.In + 1)
	for l, units := range net.Hidden {
		u := float64(units)
		single += in * u
		double += in * u
		if l == 1 {
			single += (in - 1) * u // what comes back
			bytes += 4*(3*u+2*in) + 12*in
		}
		tiles := float64(chunksOf(units, networkSide))
		bytes += 4*in*2*tiles + 4*(4*u) + 8*2*u
		in = u + 1
	}
	out := float64(net.Out)
	double += 4 * (in - 1) * out
	return single, double, bytes + 4*in*out + 24*out
}

// predictedNetwork is the time of an Embed and a Pull of rows records on a GPU with a data sheet, 0 on others.
func predictedNetwork(gpu string, net embedding.MLP, rows float64) float64 {
	gpus, err := readNamed()
	if err != nil {
		return 0
	}
	for _, g := range gpus {
		if g.Name == gpu {
			single, double, bytes := networkWork(net)
			clocks := g.Clock * float64(g.Multiprocessors)
			copies := (16*float64(net.Out) + 8) / (linkShare * g.Link)
			return metricTime + rows*(2*single/(float32s*networkFloat32*clocks)+double/(float64s*networkFloat64*clocks)+bytes/(memoryShare*g.Bandwidth)+copies)
		}
	}
	return 0
}

// forecast is that of the kernel of a loss whose network this is: sums over pairs are the CPU's.
func (k *networkKernel) forecast(whole engine.Kernel) Forecast {
	b, p := k.backend, whole.Problem()
	f := Forecast{Device: b.Name(), GPU: b.Device.Info().Name, Memory: k.bytes(), Have: b.memory()}
	if k.Seconds() > 0 {
		f.Seconds = whole.Bounds(engine.Query{Pairs: engine.AllPairs{N: p.N}}).Seconds
	}
	return f
}
