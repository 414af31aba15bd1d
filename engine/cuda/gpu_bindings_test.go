//go:build gorgoniacu && cgo

package cuda

import (
	"testing"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/internal/must"
)

// TestGPUBindings: sums through gorgonia.org/cu have the bits of those through libcuda.
func TestGPUBindings(t *testing.T) {
	b, _ := openGPU(t)
	d := must.Get(driver.OpenGorgonia())(t)
	device := must.Get(Open(d, 0))(t)
	defer device.Close()
	for _, c := range []struct {
		labels int
		method Method
		loss   engine.Loss
	}{{2, NearLinear, engine.Logistic{}}, {2, Direct, engine.Logistic{}}, {5, Direct, engine.Logistic{}}, {2, AnyMethod, engine.MahalanobisLogistic{}}} {
		p, r, w := measured(t, 6007, 20, c.labels)
		if _, metric := c.loss.(engine.MetricLoss); metric {
			p, w = metricMeasured(p)
		}
		var sums [2][]float64
		for i, device := range []*Device{b.Device, device} {
			sums[i] = must.Get(sumOf(Backend{Device: device, Method: c.method}, p, r, w))(t)
		}
		must.Same(t, sums[0], sums[1], "%+v: the bindings differ by %.2g", c, relative(sums[1], sums[0]))
	}
	summary(t, "the bindings over libcuda and gorgonia.org/cu agree bit for bit")
}
