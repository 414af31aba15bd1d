package cuda

import (
	"dyad/engine"
)

// networkWork counts the fused operations in float32 and in float64, and the bytes read and written, of a record.
func networkWork(net dense) (single, double, bytes float64) {
	in, out := float64(net.in+1), float64(net.out)
	for l, units := range net.units() {
		u := float64(units)
		single += in * u
		double += in * u
		if l > 0 { // what comes back of every output, its norm, and its sum over outputs
			single += out * (in - 1) * u
			double += 2*out*(in-1) + in
			bytes += 4*out*(3*u+4*in) + 12*in
		}
		tiles := float64(chunksOf(units, networkSide))
		bytes += 4*in*2*tiles + 4*(4*u) + 8*2*u
		in = u + 1
	}
	double += 4 * (in - 1) * out
	return single, double, bytes + 4*in*out + 24*out
}

// networkMethod is the method of the predicted times of networks: PerRecord is the time of a fused operation in float32, PerPair in float64, and
// PerNumber of a byte that is read or written.
const networkMethod = "networks"

// predictedNetwork is the time of an Embed and a Pull of rows records on a GPU with a data sheet, 0 on others.
func predictedNetwork(gpu string, net dense, rows float64) float64 {
	gpus, err := readNamed()
	if err != nil {
		return 0
	}
	for _, g := range gpus {
		if m, ok := g.predicted(networkMethod); ok && g.Name == gpu {
			single, double, bytes := networkWork(net)
			copies := (16*float64(net.out) + 8) / (linkShare * g.Link)
			return m.Fixed + rows*(single*m.PerRecord+double*m.PerPair+bytes*m.PerNumber+copies)
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
