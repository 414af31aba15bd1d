package sampler_test

import (
	"dyad/privacy"
	"dyad/privacy/internal/sampler"
)

// scripted is a source that yields words, then the stream of seed.
func scripted(words []uint64, seed uint64) *sampler.Bits {
	rest := privacy.NewSeededSource(seed)
	return sampler.BitsFrom(func() uint64 {
		if len(words) == 0 {
			return rest.Uint64()
		}
		word := words[0]
		words = words[1:]
		return word
	})
}

// seeded is the stream of a seed.
func seeded(seed uint64) *sampler.Bits { return privacy.NewSeededSource(seed).Bits }

// addNoise is what a session does with a planned release.
func addNoise(m privacy.Mechanism, x []float64, src *sampler.Bits) { addNoiseWidth(m, x, src, 64) }

// addNoiseWidth is addNoise with digits of width bits.
func addNoiseWidth(m privacy.Mechanism, x []float64, src *sampler.Bits, width uint) {
	switch m := m.(type) {
	case privacy.Gaussian:
		sampler.AddGaussian(x, m.Sigma, m.GridSize(), src, width)
	case privacy.Laplace:
		sampler.AddLaplace(x, m.Scale, m.GridSize(), src, width)
	case privacy.KNorm:
		sampler.AddKNorm(x, m.Scale, m.GridSize(), src, width)
	}
}
