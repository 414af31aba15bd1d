package privacy

import "math/big"

// Doors for the tests of the noise, which live outside the package because
// privtest imports it.

// NewScriptedSource returns a source that yields words, then the stream of seed.
func NewScriptedSource(words []uint64, seed uint64) *Source {
	rest := NewSeededSource(seed)
	return &Source{next: sourceBuffer, fill: func(buf *[sourceBuffer]uint64) {
		n := copy(buf[:], words)
		words = words[n:]
		for i := n; i < sourceBuffer; i++ {
			buf[i] = rest.Uint64()
		}
	}}
}

// Uint64n is uint64n.
func (s *Source) Uint64n(n uint64) uint64 { return s.uint64n(n) }

// Normal draws with digits of width bits and returns sign, k and x to 64 bits
// or more.
func (s *Source) Normal(width uint) (negative bool, k uint64, x float64) {
	z := karney{src: s, width: width}.normal()
	scale, x := 1.0, 0.0
	for i := -1; i < 64/int(width); i++ {
		d := z.x.head
		if i >= 0 {
			d = karney{src: s, width: width}.digitAt(&z.x, i)
		}
		scale /= float64(uint64(1)<<(width-1)) * 2
		x += float64(d) * scale
	}
	return z.negative, z.k, x
}

// AddNoise is what a session does with a planned release.
func AddNoise(m Mechanism, x []float64, src *Source) error { return m.add(x, src) }

// AddNoiseWidth is AddNoise with digits of width bits.
func AddNoiseWidth(m Mechanism, x []float64, src *Source, width uint) {
	switch m := m.(type) {
	case Gaussian:
		m.addDigits(x, karney{src: src, width: width})
	case Laplace:
		m.addDigits(x, karney{src: src, width: width})
	case KNorm:
		m.addDigits(x, karney{src: src, width: width})
	}
}

// MillsStart, Mills and MillsDrop are the functions of mills.go.
func MillsStart(t float64) int          { return millsStart(t) }
func Mills(t float64) float64           { return mills(t) }
func MillsDrop(t, h float64) float64    { return millsDrop(t, h) }
func HockeyStick(p, mu float64) float64 { return hockeyStick(p, mu) }

// GDPMuClosedForm is gdpMuClosedForm.
func GDPMuClosedForm(epsilon, delta float64) float64 { return gdpMuClosedForm(epsilon, delta) }

// CertificateForTest is a certificate with the given sensitivity.
func CertificateForTest(sensitivity float64) (Certificate, error) {
	return newCertificate(sensitivity, sensitivity, "test vector", "given")
}

// CellCase is one decision of a grid cell: x + sigma Z, with Z given by its
// sign, k and the digits drawn so far.
type CellCase struct {
	X, Sigma, Grid float64
	Negative       bool
	K              uint64
	Digits         []uint64 // 64 bits each, at least one
}

// Fast is the 128-bit decision from the first digit.
func (c CellCase) Fast() (m int64, ok bool) {
	r := newRounder(c.Sigma, c.Grid, karney{width: 64})
	return r.fast(c.X, &lazyReal{negative: c.Negative, k: c.K, x: urand{head: c.Digits[0]}})
}

// Slow is the decision in big integers; digits beyond Digits come from src. It
// returns the number of digits used, at least len(Digits).
func (c CellCase) Slow(src *Source) (m *big.Int, digits int) {
	r := newRounder(c.Sigma, c.Grid, karney{src: src, width: 64})
	z := lazyReal{negative: c.Negative, k: c.K, x: urand{head: c.Digits[0], tail: c.Digits[1:]}}
	m = r.slow(c.X, &z)
	return m, 1 + len(z.x.tail)
}
