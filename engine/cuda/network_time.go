package cuda

// networkWork is the work for one record. single and double are the numbers of fused operations in float32 and
// float64. bytes is the number of bytes that are read and written. copied is the number of bytes that are copied to
// the host and back for all outputs.
type networkWork struct{ single, double, bytes, copied float64 }

// work returns the work of one Embed and one Pull.
func (n dense) work() (w networkWork) {
	in, out := float64(n.in+1), float64(n.out)
	for l, units := range n.units() {
		u := float64(units)
		w.single += in * u
		w.double += in * u
		if l > 0 { // the back-propagated values of every output, their norm, and their sum over outputs
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

// networkMethod is the name of the method in the predicted time models of networks. In these models, PerRecord is the
// time of a fused operation in float32. PerPair is the time of a fused operation in float64. PerNumber is the time of
// reading or writing a byte.
const networkMethod = "networks"

// seconds returns the time of the work for rows records on a GPU with a known data sheet, and 0 on other GPUs.
// Operations in float32 are faster than in the kernels by the factor faster.
func (w networkWork) seconds(gpu string, rows, faster float64) float64 {
	g, _ := dataSheet(gpu)
	if m, ok := g.predicted(networkMethod); ok {
		return m.Fixed + rows*(w.single*m.PerRecord/faster+w.double*m.PerPair+w.bytes*m.PerNumber+w.copied/(linkShare*g.Link))
	}
	return 0
}

// Seconds implements embedding.RowsKernel.
func (k *networkKernel) Seconds() float64 {
	return k.work().seconds(k.backend.Device.Info().Name, float64(k.rows), 1)
}
