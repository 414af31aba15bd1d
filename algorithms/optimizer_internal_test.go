package algorithms

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
)

// The variance of the noise is subtracted: where gradients are a small constant and noise, Adam with it
// goes along the constant at nearly the speed that it has without noise, and plain Adam at a small part
// of it, which is the known bias. And no step divides by less than the floor.
func TestAdamSubtractsNoise(t *testing.T) {
	const steps, sigma, signal, coordinates = 4000, 1.0, 1.0, 200
	source := rand.New(rand.NewPCG(3, 3))
	speed := func(noise privacy.Mechanism) float64 {
		o := Optimizer{Update: adam}.start(coordinates, steps, 1, noise)
		normal := make([]float64, coordinates)
		moved := 0.0
		for i := 1; i <= steps; i++ {
			for k := range normal {
				normal[k] = signal + sigma*source.NormFloat64()
			}
			o.apply(normal, i)
			for _, v := range normal {
				if i > steps/2 {
					moved += v / coordinates
				}
			}
		}
		return moved / (steps / 2)
	}
	corrected, biased := speed(privacy.Gaussian{Sigma: sigma}), speed(nil)
	if math.Abs(corrected-1) > 0.05 || math.Abs(biased-1/math.Sqrt2) > 0.05 {
		t.Errorf("moves %.3f a step with the correction and %.3f without, want 1 and %.3f", corrected, biased, 1/math.Sqrt2)
	}
	o := Optimizer{Update: adam}.start(1, 1, 1, privacy.Gaussian{Sigma: 2})
	g := []float64{1e-3}
	o.apply(g, 1)
	must.Near(t, 1e-3/(noiseFloor*2), g[0], 1e-15, "a gradient far below the noise becomes")
}

// Rates are as documented, and every decay keeps the path that it was given.
func TestDecays(t *testing.T) {
	for _, c := range []struct {
		decay string
		want  []float64 // of 8 steps
	}{
		{constant, []float64{1, 1, 1, 1, 1, 1, 1, 1}},
		{linear, []float64{1, 7. / 8, 6. / 8, 5. / 8, 4. / 8, 3. / 8, 2. / 8, 1. / 8}},
		{root, []float64{1, 1 / math.Sqrt(2), 1 / math.Sqrt(3), 0.5, 1 / math.Sqrt(5), 1 / math.Sqrt(6), 1 / math.Sqrt(7), 1 / math.Sqrt(8)}},
		{halves, []float64{1, 1, .5, .5, .25, .25, .125, .125}},
		{cosine, []float64{1, (1 + math.Cos(math.Pi/8)) / 2, (1 + math.Cos(math.Pi/4)) / 2, (1 + math.Cos(3*math.Pi/8)) / 2, .5, (1 + math.Cos(5*math.Pi/8)) / 2, (1 + math.Cos(3*math.Pi/4)) / 2, (1 + math.Cos(7*math.Pi/8)) / 2}},
	} {
		o, sum := Optimizer{Decay: c.decay}, 0.0
		for i, want := range c.want {
			got := o.rate(i+1, 8)
			if sum += got; math.Abs(got-want) > 1e-15 {
				t.Errorf("%s: step %d is %v, want %v", c.decay, i+1, got, want)
			}
		}
		if all, _ := o.rates(8); math.Abs(all-sum) > 1e-12 {
			t.Errorf("%s: the rates add up to %v, want %v", c.decay, all, sum)
		}
	}
	for _, o := range []Optimizer{{Update: "sgd"}, {Decay: "exponential"}, {Momentum: 0.5}, {Update: momentum, Momentum: 1}, {Update: adam, Momentum: math.NaN()}, {Tail: 1}, {Tail: -0.1}} {
		must.FailDo(t, o.validate("x"), ErrAssumption, o)
	}
}
